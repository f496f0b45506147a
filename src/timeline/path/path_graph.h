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
#pragma once

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

/* Whether the whole lasts until an activity ends: not if it only waits, and not surely if it is an
 * annotation or a function of Python, which may do so. Where none is sure, these count. */
enum sn_path_end { SN_PATH_END_WAITS, SN_PATH_END_MAY_WAIT, SN_PATH_END_SURE };

struct sn_path_activity {
	uint64_t start_ns, end_ns;
	uint64_t begun_ns; /* of devices: the operation's begin; start_ns is later if it
			      first waited for other ranks */
	uint32_t context;  /* SONDE_NONE: a point where others wait for each other */
	uint32_t profile;
	uint32_t node;
	uint8_t kind;
	uint8_t rank; /* orders those that start at one time */
	uint8_t ends; /* enum sn_path_end */
};

struct sn_path_edge {
	uint32_t from, to;
	int64_t lag_ns; /* before settling the least possible; then the observed one */
	int64_t least_ns;
	uint8_t kind;	 /* of the lag */
	bool from_start; /* of `from`, not its end */
};

struct sn_path_graph {
	struct sn_path_activity *activities;
	size_t count, capacity;
	struct sn_path_edge *edges; /* settled: by `to` */
	size_t edge_count, edge_capacity;
	uint32_t *first_edges; /* settled: of each activity, then edge_count */
	uint32_t *binding; /* settled: of each activity the edge that let it start, or SONDE_NONE */
	uint32_t last;	   /* settled: of those with the greatest `ends`, the last */
};

/* All zeroes is an empty graph. The number of an activity or SONDE_NONE without memory. */
uint32_t sn_path_graph_add(struct sn_path_graph *graph, const struct sn_path_activity *activity);
/* 0 or SN_ERR_MEMORY; edges from SONDE_NONE are none. */
int sn_path_graph_edge(struct sn_path_graph *graph, const struct sn_path_edge *edge);
void sn_path_graph_release(struct sn_path_graph *graph);

/* Orders activities by start, drops edges against that order, and computes lags. Numbers returned
 * before become invalid. 0 or SN_ERR_MEMORY. */
int sn_path_graph_settle(struct sn_path_graph *graph);

/*
 * The time from the start of the first activity to the end of all, if all activities of `node`
 * (SONDE_NONE: of none) and all lags of `lag_kind` (SN_PATH_KINDS: of none) took `factor` of their
 * time. `ends` has room for one time per activity.
 */
double sn_path_graph_play(const struct sn_path_graph *graph, uint32_t node,
			  enum sn_path_kind lag_kind, double factor, double *starts, double *ends);
