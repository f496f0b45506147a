/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of launches for an analysis of causes: what each was, how it was launched, when, beside what, and which copy it was linked to
 * (the paper's Table 1), and what may be explained of it.
 *
 * The copy linked to a launch is the one of its device that runs beside it longest; where none does, the last one that ended on its stream
 * since the launch before it on that stream began. Most launches have none, and then no value of what is computed of it.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_feature_role {
	SN_FEATURE_CAUSE,
	SN_FEATURE_COPY_TIME, /* a cause as well, but a part of the targets that are made of the linked copy's time */
	/* Targets; all but the first two are functions of the duration, so that no two may be in one graph. */
	SN_FEATURE_TARGET,
};

/* A column as tables for an analysis of causes have it. */
struct sn_feature_column {
	const char *name;
	const char *unit; /* NULL: none, or told by the name */
	enum sn_feature_role role;
	double *values;	 /* of each row: a number, or the number of a category; NAN: missing */
	size_t missing;	 /* rows */
	uint32_t levels; /* categories; 0: the column is numeric */
	const char **level_names;
};

struct sn_launch_features {
	struct sn_arena arena;
	struct sn_feature_column *columns;
	uint32_t column_count;
	size_t row_count;
	uint64_t launch_count; /* from which the rows were taken */
};

/* In the order of columns: causes, then targets. */
enum sn_feature {
	SN_FEATURE_KERNEL,
	SN_FEATURE_PLACE,
	SN_FEATURE_STREAM,
	SN_FEATURE_GRID_X,
	SN_FEATURE_GRID_Y,
	SN_FEATURE_GRID_Z,
	SN_FEATURE_BLOCK_X,
	SN_FEATURE_BLOCK_Y,
	SN_FEATURE_BLOCK_Z,
	SN_FEATURE_SHARED,
	SN_FEATURE_REGISTERS,
	SN_FEATURE_START,	   /* ns since the begin of the range */
	SN_FEATURE_SINCE_PREVIOUS, /* ns since the begin of the launch before it on its stream */
	SN_FEATURE_GAP,		   /* ns since its end; 0 where it has not ended */
	SN_FEATURE_CONCURRENT,	   /* launches that run on the device at its start */
	SN_FEATURE_CLOCK,	   /* the device's clock frequency at its start, Hz; see clock.h */
	SN_FEATURE_COPY_KIND,
	SN_FEATURE_COPY_BYTES,
	SN_FEATURE_COPY_NS,
	SN_FEATURE_COPY_RATE,	   /* bytes/s */
	SN_FEATURE_PERF_VARIATION, /* |d - mean of the configuration|, the paper's kernel variability */
	SN_FEATURE_MEMORY_STALL, /* |d - the linked copy's duration|, the paper's */
	SN_FEATURE_DURATION,
	SN_FEATURE_LOG_DURATION, /* location */
	SN_FEATURE_LOG_SQUARED_RESIDUAL, /* scale: ln of the square of ln d less its mean in the configuration, at least half a ns */
	SN_FEATURE_EXPOSED_COPY, /* ns of the linked copy in which no kernel runs on its device */
	SN_FEATURES
};
/* Of a column, as in files: "gridX". */
const char *sn_feature_name(enum sn_feature feature);
/* Where the name does not end in it: "ns", "bytes/s", "Hz"; else NULL. */
const char *sn_feature_unit(enum sn_feature feature);
enum sn_feature_role sn_feature_role(enum sn_feature feature);
/* Whether it tells how launches of one configuration differ: one that was launched once has no value, as it is its own mean. */
bool sn_feature_is_of_differences(enum sn_feature feature);
/* Whether it may stand beside that target: a cause of which the target is not made, or the target itself, and no other one, as all are functions of
 * the duration. */
bool sn_feature_is_beside(enum sn_feature feature, enum sn_feature target);

void sn_launch_features_release(struct sn_launch_features *features);
