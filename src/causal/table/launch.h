/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a profiler's table to observations: one for each launch, whether a row of the file is a launch or one metric of it. */
#pragma once

#include "build.h"
#include "role.h"

#include "base/buffer.h"

struct sn_table_launch;
struct sn_table_metric;

/* All zeroes, but for the first two. */
struct sn_table_launches {
	struct sn_table_builder *builder;
	const struct sn_roles *roles;
	uint32_t *columns; /* of each field of the file; UINT32_MAX: none */
	double *scales;	   /* of each column of the wide form, from its unit */
	struct sn_intern keys, metric_keys, base_keys;
	struct sn_buffer key;
	struct sn_table_launch *launches;
	struct sn_table_metric *metrics; /* of each key of a metric, with its unit */
	struct sn_table_metric *bases;	 /* of each, without */
	size_t launch_capacity, launch_count, metric_capacity, base_capacity;
};

/* Each: 0 or a negative enum sn_err, without a message. `fields` are those of a row, at least roles->least_count. */
int sn_table_launches_begin(struct sn_table_launches *launches, const char *const *names);
/* The second row of the wide form. */
int sn_table_launches_units(struct sn_table_launches *launches, const char *const *fields);
int sn_table_launches_add(struct sn_table_launches *launches, const char *const *fields);
/* Adds times and order, and names metrics that have one name. */
int sn_table_launches_end(struct sn_table_launches *launches);
void sn_table_launches_release(struct sn_table_launches *launches);
