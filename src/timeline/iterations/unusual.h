/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes of unusual iterations: each node's exclusive time on threads and on devices in the
 * iteration, less that in the iteration of median length. Threads and devices overlap, so parts may
 * exceed the whole.
 */
#pragma once

#include "timeline/answers.h"

/* A node that contributes to the difference. */
struct sn_unusual {
	uint64_t number;	   /* of the iteration */
	double length_ns, more_ns; /* of the iteration; less the usual: may be negative */
	double node_more_ns;	   /* the node's part of more_ns */
	uint32_t node;
};

struct sn_unusuals {
	struct sn_unusual *items; /* the main causes of each iteration, for the first iterations */
	size_t count, capacity;
};

/* 0 or a negative enum sn_err; free the items in either case. */
int sn_unusuals(const struct sn_answers *answers, struct sn_unusuals *unusuals,
		struct sn_error *error);
