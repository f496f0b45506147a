/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that recur in each iteration: by node, the bytes for each iteration and the share of its
 * time. A copy belongs to the iteration in which it starts.
 */
#pragma once

#include "timeline/answers.h"
#include "timeline/devices/copies.h"

/* What a node copies in one direction in the iterations of one context and thread. */
struct sn_iteration_copy {
	uint32_t context, node;
	enum sn_copy_direction direction;
	double iterations, of;			/* how many of them have such copies, of how many */
	double count, bytes, time_ns, whole_ns; /* whole_ns: of all these iterations */
};

struct sn_iteration_copies {
	struct sn_iteration_copy *items; /* of each context and direction the longest first */
	size_t count, capacity;
};

/* 0 or a negative enum sn_err; free the items in either case. */
int sn_iteration_copies(const struct sn_answers *answers, struct sn_iteration_copies *copies,
			struct sn_error *error);
