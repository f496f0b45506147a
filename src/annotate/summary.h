/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time goes: of all functions of an annotation together, by what they wait for; and what could not be looked into, by why.
 * The parts add up to the whole.
 */
#pragma once

#include "annotate.h"

/* Of what could not be analysed: why, and how much. */
struct sn_summary_reason {
	const char *why; /* constant, or the annotation's */
	double value;
};

/* The caller frees `reasons`. Values are of the metric. */
struct sn_annotate_summary {
	double value; /* all that fits; the sum of what follows */
	double parts[SN_CAUSE_COUNT];
	double rest;			   /* unexplained */
	struct sn_summary_reason *reasons; /* the largest first */
	size_t reason_count, reason_capacity;
};

/* Of what the request named. 0 or SN_ERR_MEMORY. */
int sn_annotate_sum_up(const struct sn_annotation *annotation,
		       const struct sn_annotate_request *request,
		       struct sn_annotate_summary *summary);
