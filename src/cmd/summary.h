/* SPDX-License-Identifier: Apache-2.0 */
/* The few lines `sonde run` ends with. */
#ifndef SN_CMD_SUMMARY_H
#define SN_CMD_SUMMARY_H

#include <stdio.h>

struct sonde_db;
struct sn_source_roots;

/* What was measured, the hottest places, what is missing, and the next command to try. */
void sn_summary_print(const struct sonde_db *db, const char *path, struct sn_source_roots *sources,
		      FILE *out);

#endif
