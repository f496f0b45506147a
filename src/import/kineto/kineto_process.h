/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of processes in a file of Chrome's JSON.
 */
#pragma once

#include "base/table.h"
#include "import/core/track_sink.h"
#include "import/json/trace_json.h"

struct sn_kineto_process {
	uint32_t program; /* builder's, SONDE_NONE */
};

/* All zeroes is an empty one. */
struct sn_kineto_processes {
	struct sn_kineto_process *items;
	struct sn_table pids; /* as in the file */
	size_t capacity;
	bool has_devices; /* one of them is a GPU of XLA: kineto_xla.h */
};

void sn_kineto_processes_release(struct sn_kineto_processes *processes);
/* The process of that number, added if missing; NULL without memory. Valid until the next call. */
struct sn_kineto_process *sn_kineto_processes_add(struct sn_kineto_processes *processes,
						  int64_t pid);
/* The same, NULL if it is not known. */
const struct sn_kineto_process *
sn_kineto_processes_find(const struct sn_kineto_processes *processes, int64_t pid);
/*
 * Passes the processes' names to the tracks of a file, and removes the processes. The program of
 * the database is that of the process with most events.
 */
void sn_kineto_processes_apply(struct sn_kineto_processes *processes, struct sn_track_sink *sink);
