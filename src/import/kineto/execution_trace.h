/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's execution traces. Times of nodes come from an importer of the profiler's trace of the
 * same program (track_match.c); without one the graph has no times.
 */
#pragma once

#include "import/core/importer.h"

struct sn_execution_trace;

/* An operator, in the order in which they began. */
struct sn_execution_node {
	int64_t record_function; /* of at::RecordFunction; 0 none */
	int64_t thread;		 /* the trace's own number */
	uint32_t name;		 /* builder's string; SONDE_NONE: no operator */
	uint32_t graph_node;	 /* builder's node, after the graph is built; SONDE_NONE */
};

/* Whether the importer of execution traces takes the file. */
bool sn_execution_trace_probe(const char *path);
/* Reads a file; close *trace if 0 is returned. */
int sn_execution_trace_open(const char *path, struct sn_db_builder *builder,
			    struct sn_execution_trace **trace, struct sn_error *error);
void sn_execution_trace_close(struct sn_execution_trace *trace);
int64_t sn_execution_trace_pid(const struct sn_execution_trace *trace);
/* Adds the model to the builder: `source` describes its data, rank and run as of profiles. */
int sn_execution_trace_make(struct sn_execution_trace *trace, const char *source, int32_t rank,
			    uint32_t run, struct sn_error *error);
size_t sn_execution_trace_count(const struct sn_execution_trace *trace);
struct sn_execution_node sn_execution_trace_node(const struct sn_execution_trace *trace, size_t i);
