/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What path_build.c and path_devices.c share while they make the graph of a critical path: of one
 * process after the other the threads first, then the operations of its devices.
 */
#pragma once

#include "base/table.h"
#include "critical_path.h"
#include "path_operations.h"

/* The order of activities that start together: an arrival, their meeting, all else. */
enum { SN_PATH_RANK_ARRIVAL, SN_PATH_RANK_MEETING, SN_PATH_RANK_OTHER };

/* When an operation ended. */
struct sn_path_ending {
	uint64_t end_ns, link;
	uint32_t activity;
};

/* Which operations are arrivals at which collective. */
struct sn_path_meetings {
	uint32_t *activities;  /* by collective: its meeting, SONDE_NONE: not created yet */
	uint32_t *collectives; /* by arrival: its collective */
	uint32_t *arrivals;    /* by participant and own start */
};

struct sn_path_building {
	const struct sn_answers *answers;
	const struct sn_path_window *window; /* of the process being built */
	struct sn_path_graph *graph;
	/* of the process: their positions in sn_device_times, and their operations */
	const uint32_t *numbers;
	struct sn_path_operations *devices;
	size_t device_count;
	struct sn_table launchers; /* by link the activity of the call that launched it */
	struct sn_path_meetings meetings;
	struct sn_path_ending *ends; /* of the process's operations, ascending: what calls may wait
					for */
	size_t end_count, end_capacity;
	bool *is_sampled; /* by profile */
	uint8_t *natures; /* by context, for path_build.c */
	/* of its threads, for path_build.c */
	struct sn_path_part *parts;
	size_t part_count, part_capacity;
	struct sn_path_silence *silences; /* by start */
	size_t silence_count, silence_capacity;
};

/* A time of the process in the common time. */
static inline uint64_t sn_path_common(const struct sn_path_building *build, uint64_t time_ns)
{
	return time_ns + (uint64_t)build->window->offset_ns;
}

static inline int sn_path_edge(struct sn_path_building *build, uint32_t from, uint32_t to,
			       bool from_start, int64_t lag_ns, enum sn_path_kind kind)
{
	struct sn_path_edge edge = {
	    .from = from, .to = to, .lag_ns = lag_ns, .kind = kind, .from_start = from_start};
	return sn_path_graph_edge(build->graph, &edge);
}

/* The activity that a thread was in, or came from, right before that common time; SONDE_NONE. */
uint32_t sn_path_part_before(const struct sn_path_building *build, uint32_t profile,
			     uint64_t time_ns);
/* All of these: 0 or SN_ERR_MEMORY. */
int sn_path_meetings_init(struct sn_path_building *build);
void sn_path_meetings_release(struct sn_path_meetings *meetings);
/* Adds the operations in the window, their dependencies, and `ends`; threads have been added
 * before.
 */
int sn_path_add_operations(struct sn_path_building *build);
