/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that were recorded to explain others. If one file has the capture of a program's graphs and
 * another one their replays (import/core/track_graph.c), the first tells which code the operations
 * of the second belong to. Time in the first is not the program's, so no analysis counts it; the
 * database keeps its events.
 */
#pragma once

#include "base/error.h"
#include "sonde/trace.h"

/* What a profile of such a run explains: "graphs that run 1 replays"; NULL for any other run. */
const char *sn_evidence(const struct sonde_db *db, uint32_t profile);
/* Leaves the tracks of such runs out of the trace, unless there are no others. 0 or a negative enum
 * sn_err. */
int sn_evidence_leave_out(const struct sonde_db *db, struct sonde_trace *trace,
			  struct sn_error *error);
