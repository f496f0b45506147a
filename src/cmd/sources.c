/* SPDX-License-Identifier: Apache-2.0 */
/* See sources.h. */
#include "sources.h"

#include "command.h"

#include <stdlib.h>

int sn_sources_parse(void *roots, const struct sn_options *options, const char *folder)
{
	struct sn_error error = {""};
	return sn_source_roots_add(roots, folder, &error) ? sn_command_fail("%s", error.text) : 0;
}

void sn_sources_add_usual(struct sn_source_roots *roots)
{
	sn_source_roots_add_working_tree(roots);
	sn_source_roots_add_list(roots, getenv("SONDE_SOURCE"));
}

void sn_sources_tell_outside(const struct sn_source_roots *roots)
{
	if (roots->outside_count == 0 || !roots->first_outside)
		return;
	if (roots->outside_count == 1)
		sn_command_warn("lines of '%s' are not shown: it lies outside of the folder you "
				"are in (--source DIR)",
				roots->first_outside);
	else
		sn_command_warn("lines of '%s' and %zu more files are not shown: they lie outside "
				"of the folder you are in (--source DIR)",
				roots->first_outside, roots->outside_count - 1);
}
