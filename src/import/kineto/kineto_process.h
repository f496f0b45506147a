/* SPDX-License-Identifier: Apache-2.0 */
/* What a file of Chrome's JSON says of its processes beside their events: their names. */
#ifndef SN_IMPORT_KINETO_PROCESS_H
#define SN_IMPORT_KINETO_PROCESS_H

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
/* The process of that number, new where it is; NULL without memory. Valid until the next. */
struct sn_kineto_process *sn_kineto_processes_add(struct sn_kineto_processes *processes,
						  int64_t pid);
/* The same, NULL where it is not known. */
const struct sn_kineto_process *
sn_kineto_processes_find(const struct sn_kineto_processes *processes, int64_t pid);
/*
 * Tells the tracks of a file what is known of their processes, and forgets these. The program of
 * the whole is that of the process with most events.
 */
void sn_kineto_processes_apply(struct sn_kineto_processes *processes, struct sn_track_sink *sink);

#endif
