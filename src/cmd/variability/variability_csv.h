/* SPDX-License-Identifier: Apache-2.0 */
/* The table of launches as a file. */
#pragma once

#include "variability/launch_table.h"

#include <stdio.h>

struct sn_error;

/* Causes, then the one target: no other one, because all are functions of the duration; and without what the target is made of. For
 * sn_command_write_file; `context` is a struct sn_feature_file. */
struct sn_feature_file {
	const struct sn_features *features;
	enum sn_feature target;
};
int sn_variability_csv(void *context, FILE *out, struct sn_error *error);
