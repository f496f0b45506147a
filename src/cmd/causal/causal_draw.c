/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a graph as files; see causal_asked.h. */
#include "causal_asked.h"

static int write_svg(void *drawing, FILE *out, struct sn_error *error)
{
	return sn_fail_code(error, sn_causal_svg(drawing, out));
}

static int write_dot(void *drawing, FILE *out, struct sn_error *error)
{
	(void)error;
	sn_causal_dot(drawing, out);
	return 0;
}

int sn_causal_asked_draw(const struct sn_causal_asked *asked,
			 const struct sn_causal_drawing *drawing, struct sn_error *error)
{
	int result = 0;
	if (asked->svg)
		result = sn_command_write_file(asked->svg, write_svg, (void *)drawing, error);
	if (!result && asked->dot)
		result = sn_command_write_file(asked->dot, write_dot, (void *)drawing, error);
	return result;
}
