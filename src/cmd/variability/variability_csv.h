/* SPDX-License-Identifier: Apache-2.0 */
/* The table of launches as a file. */
#pragma once

#include "variability_causes.h"

/*
 * Causes, then the one target: no other one, because all are functions of the duration; and without what the target is made of. At last the stretch of each
 * launch that was compared, if launches were compared by stretches. Categories are those that were compared, of which all but the most frequent are one. So
 * `sonde causal` gives the same answer to it.
 *
 * For sn_command_write_file; `context` is a struct sn_feature_file.
 */
struct sn_feature_file {
	const struct sn_launch_features *features;
	const struct sn_variability_causes *causes;
};
int sn_variability_csv(void *context, FILE *out, struct sn_error *error);
/* The same of tables of counters: `context` is the struct sn_causal_table that was compared. */
int sn_variability_csv_of_table(void *context, FILE *out, struct sn_error *error);
