/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that were recorded to explain others: where a program captured its graphs and another file
 * has their replays (import/core/track_graph.c), the first says which code the operations of the
 * second are of. Its time is not that of the program, so that no analysis counts it; the database
 * keeps its events.
 */
#ifndef SN_TIMELINE_EVIDENCE_H
#define SN_TIMELINE_EVIDENCE_H

#include "base/error.h"
#include "sonde/trace.h"

/* Of a profile of such a run, what it has: "graphs that run 1 replays"; NULL of any other. */
const char *sn_evidence(const struct sonde_db *db, uint32_t profile);
/* Leaves the tracks of such runs out of the trace, unless there are no others. 0 or a negative enum
 * sn_err. */
int sn_evidence_leave_out(const struct sonde_db *db, struct sonde_trace *trace,
			  struct sn_error *error);

#endif
