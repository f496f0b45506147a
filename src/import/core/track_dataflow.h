/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dataflow graph of a recording of PyTorch: the operators of an iteration.
 *
 * From a recording alone: an operator is a node, and so are those that it calls. It is the same
 * node in the next iteration (torch.profiler's step) if it has the same calling context, the same
 * calling node, and the same position among equal operators of that node. Without steps all
 * outermost operators of a context are one node. A backward node is identified by its forward node,
 * which the sequence number gives; a recording has no other edges.
 *
 * With an execution trace of the same process the graph is that one's, with its edges, and the
 * recording gives it times (track_match.c).
 */
#pragma once

#include "import/kineto/execution_trace.h"
#include "track_sink_internal.h"

/* The place in the graph of an event on a thread. */
struct sn_dataflow_place {
	uint32_t node;	   /* with an execution trace the operation; or SONDE_NONE */
	uint32_t module;   /* builder's string; SONDE_NONE */
	uint64_t instance; /* identifies the execution of the node; 0: none */
};
#define SN_DATAFLOW_NOWHERE ((struct sn_dataflow_place){SONDE_NONE, SONDE_NONE, 0})

/* An execution of an operator; kept only for execution traces. */
struct sn_dataflow_operation {
	int64_t record_function, external; /* 0 none */
	uint32_t name;			   /* builder's string */
	uint32_t track;
	double time_ns;
	struct sonde_db_stat device, copy;
};

void sn_dataflow_free(struct sn_dataflow *dataflow);

/* A step of the profiler in the file being read; times as in the sorter. */
void sn_dataflow_step(struct sn_dataflow *dataflow, uint64_t start_ns, uint64_t end_ns);

/* sn_sink_build calls them before and after the threads and devices of a file. */
void sn_dataflow_begin(struct sn_track_sink *sink);
int sn_dataflow_end(struct sn_track_sink *sink, struct sn_error *error);
/* An event of a thread in order of time. `place`: that of its caller; replaced by its own, which
 * differs if it is an operator or a module. 0 or SN_ERR_MEMORY. */
int sn_dataflow_event(struct sn_track_sink *sink, const struct sn_event *event, uint32_t track,
		      uint32_t context, uint32_t forward, struct sn_dataflow_place *place);
/* Adds an operation on a device that a call in that node started. */
void sn_dataflow_device(struct sn_dataflow *dataflow, uint32_t node, uint32_t category,
			double time_ns);

/* track_match.c: makes the model of the trace and gives its nodes the times of operations, in
 * the order in which they began on each track. *untimed: nodes without. */
int sn_dataflow_match(struct sn_track_sink *sink, struct sn_execution_trace *trace,
		      const struct sn_dataflow_operation *operations, size_t count,
		      uint64_t *untimed, struct sn_error *error);
