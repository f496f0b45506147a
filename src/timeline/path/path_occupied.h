/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operation occupied a device at a time, on any stream. If an operation was held back and
 * nothing recorded says why, it shared the device with that one.
 */
#pragma once

#include "critical_path.h"

struct sn_path_occupied {
	const struct sn_path_graph *graph;
	uint32_t *of_profile; /* the device, or SONDE_NONE */
	uint32_t *order;      /* operations by device and begin */
	uint64_t *until_ns;   /* by position in the order: the latest end up to there */
	size_t count;
};

/* Of a settled graph, which must outlive it. 0 or SN_ERR_MEMORY; release in either case. */
int sn_path_occupied(const struct sn_answers *answers, const struct sn_path_graph *graph,
		     struct sn_path_occupied *occupied);
void sn_path_occupied_release(struct sn_path_occupied *occupied);

/* The operation that ran on the device of a stream right before that time, of several the one that
 * began first. SONDE_NONE: none ran; *ended_ns is then the end of the last one, 0 without any. */
uint32_t sn_path_occupied_by(const struct sn_path_occupied *occupied, uint32_t profile,
			     uint64_t time_ns, uint64_t *ended_ns);
