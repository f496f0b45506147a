/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock frequency of devices over time, where a counter of the trace tells it: of `sonde run --gpu-metrics` for example. A value holds from its
 * time to the next one.
 */
#pragma once

#include "source.h"

struct sn_clock_value {
	uint32_t place;
	int64_t start_ns; /* from the begin of the range */
	double hz;
};

struct sn_clock_values {
	struct sn_clock_value *items; /* by place, then start; owned */
	size_t count, capacity;
};

/* Which tracks tell it: at most one of each place. 0 or SN_ERR_MEMORY. */
int sn_vary_clocks_find(struct sn_vary_source *source);
/* Adds the values of a part of the time; what the first launch needs may lie before it. 0 or a negative enum sn_err. */
int sn_vary_clocks_read(const struct sn_vary_source *source, uint64_t from_ns, uint64_t to_ns,
			struct sn_clock_values *values, struct sn_error *error);
/* NAN: not known. */
double sn_vary_clock_at(const struct sn_clock_values *values, uint32_t place, int64_t at_ns);
