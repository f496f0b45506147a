/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's or a stream's values, and dividing those that were measured without a call stack among
 * the calling contexts in which they can have been measured.
 *
 * Samples of a GPU's program counter have no call stack. Where a kernel was launched is known (the
 * root), and how often. aggregate/gpu_context/gpu_context.h has the contexts between a kernel and a
 * sampled address and their shares, by HPCToolkit's rule for recursion; here these become contexts
 * of the tree, and shares are scaled by launches measured over launches sampled where both are
 * known. On devices that sample a range of launches as one (a group), samples are also divided
 * among the launches in it. HPCToolkit paper, section 6.3; docs/design/hpctoolkit.md.
 */
#pragma once

#include "hpctoolkit_code.h"

#include "aggregate/gpu_context/gpu_call_graph.h"
#include "base/table.h"
#include "sums.h"

#define SN_HPCT_NO_CALLERS UINT32_MAX

/* The address of samples without a call stack. */
struct sn_hpct_address {
	uint64_t address;
	uint32_t module;
	uint32_t function; /* of the module's structure; SN_HPCT_NO_CALLERS where nothing is known
			      of its callers */
};

/* Calls between the functions of a module. */
struct sn_hpct_calls {
	bool is_read;
	struct sn_gpu_call_graph *graph; /* NULL where there are none to rely on */
	uint32_t *path_counts;		 /* by function: of paths that lead to it */
};

/* Data shared by all threads. */
struct sn_hpct_reconstruction {
	struct sn_hpct_code *code;
	struct sn_hpct_calls *calls; /* by module */
	size_t call_capacity;
	struct sn_hpct_address *addresses;
	size_t address_count, address_capacity;
	struct sn_intern address_keys; /* number of an address by module and address */
	struct sn_intern samples;      /* numbers of pairs: address, and context that is the root */
	uint64_t unresolved;	       /* addresses with too many callers, or with damaged calls */
	/* builder's metrics, SONDE_NONE where they were not measured */
	uint32_t sample_metric, launch_metric, sampled_launch_metric;
};

/* A launch that belongs to a group. */
struct sn_hpct_launch {
	uint32_t module, function; /* that was launched; SONDE_NONE where it is not known */
	uint32_t root;		   /* context below which it was */
};

struct sn_hpct_group {
	struct sn_sums launches; /* by context of the function launched and metric */
	struct sn_sums samples; /* by address and metric; metric SONDE_NONE, value 0: it occurred */
	struct sn_hpct_launch *roots;
	size_t root_count, root_capacity;
};

struct sn_hpct_thread {
	uint32_t profile;	/* builder's */
	struct sn_sums values;	/* by context and metric */
	struct sn_sums samples; /* by sample and metric; SONDE_NONE as above */
	struct sn_hpct_group *groups;
	struct sn_table group_ids; /* number of a group by its id */
	size_t group_count, group_capacity;
	uint64_t lost; /* values of groups in which nothing was launched */
};

void sn_hpct_reconstruction_release(struct sn_hpct_reconstruction *reconstruction);
void sn_hpct_thread_release(struct sn_hpct_thread *thread);

/* The number of an address of a loaded module; SN_HPCT_NO_CALLERS where nothing is known of its
 * callers. 0 or SN_ERR_MEMORY. */
int sn_hpct_reconstruct_address(struct sn_hpct_reconstruction *reconstruction, uint32_t module,
				uint64_t address, uint32_t *number);
/* The number of an address below a root, under which the thread's samples are added. 0 or
 * SN_ERR_MEMORY. */
int sn_hpct_thread_sample(struct sn_hpct_thread *thread,
			  struct sn_hpct_reconstruction *reconstruction, uint32_t address,
			  uint32_t root, uint32_t *sample);

/* The group of that id, made if there is none; NULL without memory. Valid until the next one. */
struct sn_hpct_group *sn_hpct_thread_group(struct sn_hpct_thread *thread, uint64_t id);
int sn_hpct_group_launch(struct sn_hpct_group *group, struct sn_hpct_launch launch);

/* Divides the samples, so that all values are in thread->values. 0 or SN_ERR_MEMORY. */
int sn_hpct_thread_finish(struct sn_hpct_thread *thread,
			  struct sn_hpct_reconstruction *reconstruction);
