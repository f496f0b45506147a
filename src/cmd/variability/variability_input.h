/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde variability` reads: databases and files of other tools, or tables of counters. */
#pragma once

#include "cmd/command.h"
#include "show/tree/query.h"
#include "variability/counted/counted.h"

struct sn_variability_inputs {
	struct sn_variability_input *items; /* those with events */
	size_t count, capacity;
	bool
	    are_tables; /* then `counted` has their rows, whose statistics have no items where there are none */
	struct sn_counted counted;
};

struct sn_variability_wish {
	const char *const *paths;
	size_t path_count;
	const struct sn_query *const *queries; /* which kernels; of traces alone */
	size_t query_count;
	const char *target; /* as the user says it; NULL: does not */
	bool has_bins, has_sample;
};

/* Opens all of them. 0, or the exit status after having said why; close them in either case. */
int sn_variability_open(struct sn_variability_inputs *inputs,
			const struct sn_variability_wish *wish);
/* `status`, or that of damage that was found in a database. */
int sn_variability_close(struct sn_variability_inputs *inputs, int status);
