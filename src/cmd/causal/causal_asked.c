/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to what-if, and pictures; see causal_asked.h. */
#include "causal_asked.h"

#include "show/causal/causal_answer.h"

#include <stdlib.h>

int sn_causal_ask(const struct sn_causal_asked *asked, const struct sn_causal *causal,
		  const struct sn_prior *prior, struct sn_causal_settings *answers,
		  struct sn_page *page, struct sn_error *error)
{
	int result = 0;
	*answers =
	    (struct sn_causal_settings){calloc(asked->settings.count + 1, sizeof(struct sn_do)), 0};
	if (!answers->items)
		return sn_fail_memory(error);
	for (size_t number = 0; !result && number < asked->settings.count; number++) {
		struct sn_do *one = &answers->items[answers->count++];
		result = sn_causal_do(one, causal, prior, asked->settings.items[number], error);
		if (!result)
			sn_causal_say_do(causal, one, page);
	}
	return result;
}

void sn_causal_settings_release(struct sn_causal_settings *answers)
{
	for (size_t number = 0; number < answers->count; number++)
		sn_do_release(&answers->items[number]);
	free(answers->items);
	*answers = (struct sn_causal_settings){0};
}

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
