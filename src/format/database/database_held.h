/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values that a builder has been given, until they are written: a part in memory, the rest in
 * runs in a file without a name, each by profile. They leave as blocks (format/writer/writer.h).
 *
 * Adding is single-threaded. Whatever is added, in any order, the blocks are the same.
 */
#pragma once

#include "base/spill.h"
#include "database_major.h"

/* Values by profile: those of profile p are starts[p] .. starts[p + 1] - 1. */
struct sn_db_run {
	uint64_t offset; /* in the file */
	uint64_t *starts;
	uint32_t profile_count; /* later ones have none */
};

/* How large a metric's values are. */
struct sn_db_extent {
	uint64_t count;
	double max; /* of the sums, without their signs */
	bool is_fractional;
};

struct sn_db_values {
	size_t limit;	/* of values in memory */
	bool is_sorted; /* what is in memory is the last run */
	struct sn_db_value *items;
	struct sn_spill file;
	struct sn_db_run *runs;
	uint64_t *context_counts;     /* [context]: values */
	struct sn_db_extent *extents; /* [metric] */
	size_t item_count, run_count, context_count, metric_count;
	size_t item_capacity, run_capacity, context_capacity, metric_capacity;
};

void sn_db_values_init(struct sn_db_values *values);
void sn_db_values_release(struct sn_db_values *values);
/* All numbers are finite. 0 or SN_ERR_MEMORY; a run that could not be written is reported by
 * sn_db_values_write. */
int sn_db_values_add(struct sn_db_values *values, const struct sn_db_value *value);

struct sn_db_writer;
struct sn_db_ordered;
struct sn_db_builder;
/* All values into the file that the writer has open. The builder has been put in order. 0 or a
 * negative enum sn_err. */
int sn_db_values_write(struct sn_db_values *values, const struct sn_db_builder *builder,
		       struct sn_db_ordered *ordered, struct sn_db_writer *writer);
