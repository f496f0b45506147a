/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's or a stream's values, and sharing out those that were measured without a call stack
 * over the ways on which execution can have come to them (hpctoolkit_graph.h).
 *
 * Where a kernel was launched is known (the root), and how often. A sample in it at an address with
 * several ways is shared out over them: by what was sampled at the calls on each way, innermost
 * first, evenly where nothing was; and scaled by launches measured over launches sampled where both
 * are known. On devices that sample a range of launches as one (a group), samples are also shared
 * out over the launches in it. HPCToolkit paper, section 6.3.
 */
#ifndef SN_IMPORT_HPCTOOLKIT_RECONSTRUCT_H
#define SN_IMPORT_HPCTOOLKIT_RECONSTRUCT_H

#include "hpctoolkit_graph.h"
#include "import/core/sums.h"

/* The contexts of a graph's ways below one root. */
struct sn_hpct_reconstruction {
	uint32_t graph, root;
	uint32_t *entries, *finals; /* contexts, by way */
	uint32_t *calls;	    /* reconstructions, by the graph's calls */
};

struct sn_hpct_reconstructions {
	struct sn_hpct_graphs *graphs;
	struct sn_hpct_reconstruction *all;
	size_t count, capacity;
	struct sn_intern keys; /* number by graph and root */
	/* builder's metrics, SONDE_NONE where they were not measured */
	uint32_t samples, launches, sampled_launches;
};

/* A launch that belongs to a group. */
struct sn_hpct_launch {
	uint32_t module, function; /* that was launched; SONDE_NONE where it is not known */
	uint32_t root;		   /* context below which it was */
};

struct sn_hpct_group {
	uint64_t id;
	struct sn_sums launches; /* by context of the function launched and metric */
	struct sn_sums samples;	 /* by graph and metric */
	struct sn_hpct_launch *roots;
	size_t root_count, root_capacity;
	struct sn_intern graphs; /* met in it, with samples or without */
};

struct sn_hpct_thread {
	uint32_t profile;	/* builder's */
	struct sn_sums values;	/* by context and metric */
	struct sn_sums samples; /* by reconstruction and metric */
	struct sn_hpct_group *groups;
	struct sn_intern group_ids; /* number of a group by its id */
	size_t group_count, group_capacity;
	uint64_t lost; /* values of groups in which nothing was launched */
};

void sn_hpct_reconstructions_release(struct sn_hpct_reconstructions *reconstructions);
void sn_hpct_thread_release(struct sn_hpct_thread *thread);

/* Makes the contexts. 0 or SN_ERR_MEMORY. */
int sn_hpct_reconstruct(struct sn_hpct_reconstructions *reconstructions, uint32_t graph,
			uint32_t root, uint32_t *reconstruction);

/* The group of that id, new where there is none; NULL without memory. Valid until the next. */
struct sn_hpct_group *sn_hpct_thread_group(struct sn_hpct_thread *thread, uint64_t id);
int sn_hpct_group_launch(struct sn_hpct_group *group, struct sn_hpct_launch launch);
int sn_hpct_group_graph(struct sn_hpct_group *group, uint32_t graph);

/* Shares out the samples, so that all values are in thread->values. 0 or SN_ERR_MEMORY. */
int sn_hpct_thread_finish(struct sn_hpct_thread *thread,
			  struct sn_hpct_reconstructions *reconstructions);

#endif
