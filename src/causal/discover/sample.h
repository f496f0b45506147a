/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs of samples of the rows: what discover.c sums up, each by itself, so that threads and processes may divide them (discover.h). */
#pragma once

#include "discover.h"

#include "base/buffer.h"

/* Of one variable on another. */
struct sn_measured_effect {
	uint32_t from, to;
	double value, share, turning; /* as in struct sn_effect */
	bool has_way; /* of the totals: to the target; else it is of what was set from outside */
};

/* What one sample of the rows says; number 0 is all rows. */
struct sn_graph_sample {
	struct sn_pdag graph; /* completed; without rows of bits until it is found */
	double score;
	struct sn_measured_effect
	    *direct; /* of each edge of the directed graph, by `to`, then `from` */
	uint32_t direct_count;
	size_t direct_capacity;
	/* On the target, by `from`: of what leads to it, and of all that was set from outside. */
	struct sn_measured_effect *totals;
	uint32_t total_count;
	size_t total_capacity;
};

struct sn_discovering {
	const struct sn_prepared *prepared;
	const struct sn_discovery_options *options;
	struct sn_graph_sample *samples; /* options->samples and 1 */
	/* Of each number that was set from outside, else NULL: the groups of its rows, and how many these are. */
	uint8_t **levels;
	uint32_t *level_counts;
};

/* Finds sample `number` of the context, a struct sn_discovering, as sn_pool_work. 0 or SN_ERR_MEMORY. */
int sn_graph_sample_work(void *context, unsigned worker, size_t number);
/* Its cost, in a unit that all samples share. */
uint64_t sn_graph_sample_weight(const void *context, size_t number);
void sn_graph_sample_release(struct sn_graph_sample *sample);

/* For struct sn_peers_merging, of a struct sn_discovering: the samples that were found. */
void sn_graph_samples_pack(const void *context, struct sn_buffer *bytes);
int sn_graph_samples_add(void *context, struct sn_span bytes);
void sn_graph_samples_clear(void *context);
