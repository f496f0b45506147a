/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activities and their dependencies: an acyclic graph, from which the longest path follows, and the
 * total time if some activities were faster.
 *
 * An edge says: `to` starts no earlier than the end (or the start) of `from` plus a lag.
 * sn_path_graph_settle computes lags such that a simulation of the graph gives exactly the observed
 * times: the edge that allowed an activity to start last gets the missing time. A simulation with
 * shorter activities gives the hypothetical times, if only these activities get faster and
 * everything else keeps its order.
 *
 * An activity may seem to continue slightly before the one it waited for ends, because clocks
 * differ and are rounded: the lag is then negative, and the edge stands for the part of `from`
 * before it.
 */
#ifndef SN_TIMELINE_PATH_GRAPH_H
#define SN_TIMELINE_PATH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_path_kind {
	SN_PATH_THREAD, /* activities */
	SN_PATH_COMPUTE,
	SN_PATH_COMMUNICATION,
	SN_PATH_COPY,
	SN_PATH_LAUNCH,	    /* lags: from a call to the start of what it launched */
	SN_PATH_HELD,	    /* the same, longer than it usually takes */
	SN_PATH_UNRECORDED, /* a thread between two recorded calls */
	SN_PATH_HANDOVER,   /* from a thread to another one that goes on in its place */
	SN_PATH_KINDS
};

struct sn_path_activity {
	uint64_t start_ns, end_ns;
	uint64_t begun_ns; /* of devices: when the operation did; start_ns may be the part behind
			      a wait for other ranks */
	uint32_t context;  /* SONDE_NONE: a meeting of others */
	uint32_t profile;
	uint32_t node;
	uint8_t kind;
	uint8_t rank; /* of those that start at one time, which goes first */
	bool ends;    /* all is over only when this is: perhaps others merely wait */
};

struct sn_path_edge {
	uint32_t from, to;
	int64_t lag_ns; /* as given: the least; settled: the one observed */
	int64_t least_ns;
	uint8_t kind;	 /* of the lag */
	bool from_start; /* of `from`, not its end */
};

struct sn_path_graph {
	struct sn_path_activity *activities;
	size_t count, capacity;
	struct sn_path_edge *edges; /* settled: by `to` */
	size_t edge_count, edge_capacity;
	uint32_t *first_edges; /* settled: of each activity, and one more */
	uint32_t *binding;     /* settled: the edge that it started by, SONDE_NONE */
	uint32_t last;	       /* settled: of those that end all, the last */
};

/* All zeroes is an empty graph. The number of an activity or SONDE_NONE without memory. */
uint32_t sn_path_graph_add(struct sn_path_graph *graph, const struct sn_path_activity *activity);
/* 0 or SN_ERR_MEMORY; edges from SONDE_NONE are none. */
int sn_path_graph_edge(struct sn_path_graph *graph, const struct sn_path_edge *edge);
void sn_path_graph_release(struct sn_path_graph *graph);

/* Orders activities by start, drops edges against it, and finds lags. Numbers that were given out
 * are invalid from then on. 0 or SN_ERR_MEMORY. */
int sn_path_graph_settle(struct sn_path_graph *graph);

/*
 * When all has ended, from the start of the first activity, had all activities of `node`
 * (SONDE_NONE: of none) taken `factor` of their time, and all lags of `lag_kind` (SN_PATH_KINDS: of
 * none) as well. `ends` has place for a time for each activity.
 */
double sn_path_graph_play(const struct sn_path_graph *graph, uint32_t node,
			  enum sn_path_kind lag_kind, double factor, double *starts, double *ends);

#endif
