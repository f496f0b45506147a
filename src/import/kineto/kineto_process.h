/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file of Chrome's JSON says of its processes beside their events: their names, and in files
 * of `sonde export` host, rank and whose a device is.
 */
#ifndef SN_IMPORT_KINETO_PROCESS_H
#define SN_IMPORT_KINETO_PROCESS_H

#include "import/core/recording.h"
#include "import/json/trace_json.h"

struct sn_kineto_process {
	int64_t own_pid;	/* where the file's is another; -1 */
	int64_t owner;		/* of a device: the file's number of the process it works for; -1 */
	uint32_t program, host; /* builder's, SONDE_NONE */
	int32_t rank;
};

/* All zeroes is an empty one. */
struct sn_kineto_processes {
	struct sn_kineto_process *items;
	struct sn_intern pids; /* as in the file */
	size_t capacity;
	bool has_devices; /* one of them is a GPU of XLA: kineto_xla.h */
};

void sn_kineto_processes_release(struct sn_kineto_processes *processes);
/* The process of that number, new where it is; NULL without memory. Valid until the next. */
struct sn_kineto_process *sn_kineto_processes_add(struct sn_kineto_processes *processes,
						  int64_t pid);
/* Takes "GPU 0, of 12, rank 3, pid 77, host node7". */
void sn_kineto_process_label(struct sn_kineto_process *process, struct sn_db_builder *builder,
			     struct sn_json_text label);
/*
 * Tells the lines of a file of what is known of their processes, and forgets these. The program of
 * the whole is that of the process with most events. `is_own`: the file is of `sonde export`.
 */
void sn_kineto_processes_apply(struct sn_kineto_processes *processes,
			       struct sn_recording *recording, bool is_own);

#endif
