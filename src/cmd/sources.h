/* SPDX-License-Identifier: Apache-2.0 */
/* From where commands read source files that a database names; show/source/source_roots.h. */
#ifndef SN_CMD_SOURCES_H
#define SN_CMD_SOURCES_H

#include "show/source/source_roots.h"

struct sn_options;

/* --source DIR, for a struct sn_option; `roots` is a struct sn_source_roots. Prints what is wrong
 * and returns SN_EXIT_FAILED, else 0. */
int sn_sources_parse(void *roots, const struct sn_options *options, const char *folder);
/* What needs no option: the working tree, and the folders of SONDE_SOURCE. */
void sn_sources_add_usual(struct sn_source_roots *roots);
/* A line about files that are not shown because they lie elsewhere, if there are any. */
void sn_sources_tell_outside(const struct sn_source_roots *roots);

#endif
