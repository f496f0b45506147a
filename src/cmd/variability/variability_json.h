/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `sonde variability`. */
#pragma once

#include "variability_causes.h"

#include "show/json.h"

/* What is told beside the statistics. */
struct sn_variability_told {
	const struct sn_page *page; /* its sentences */
	const struct sn_variability_causes *causes;
	const char *unit;   /* of durations: "ns"; "1": nobody knows */
	uint64_t row_count; /* launches */
	bool of_table;	    /* of counters; else the causes are of the result's features */
};

/* All results as one object; bins as far as `top` of each order. */
void sn_variability_json(const struct sn_variability *result,
			 const struct sn_variability_request *request,
			 const struct sn_variability_told *told, struct sn_json *json);
