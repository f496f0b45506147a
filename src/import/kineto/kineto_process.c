/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a Chrome JSON file and their names. */
#include "kineto_process.h"

#include "base/vec.h"

#include <stdlib.h>

void sn_kineto_processes_release(struct sn_kineto_processes *processes)
{
	sn_table_release(&processes->pids);
	free(processes->items);
	*processes = (struct sn_kineto_processes){0};
}

struct sn_kineto_process *sn_kineto_processes_add(struct sn_kineto_processes *processes,
						  int64_t pid)
{
	uint32_t before = processes->pids.count;
	if (sn_vec_reserve(&processes->items, &processes->capacity, before + 1ull) < 0)
		return NULL;
	uint32_t number = sn_table_add(&processes->pids, (uint64_t)pid);
	if (number == SN_TABLE_NONE)
		return NULL;
	if (number == before)
		processes->items[number] = (struct sn_kineto_process){SONDE_NONE};
	return processes->items + number;
}

const struct sn_kineto_process *
sn_kineto_processes_find(const struct sn_kineto_processes *processes, int64_t pid)
{
	uint32_t number = sn_table_find(&processes->pids, (uint64_t)pid);
	return number == SN_TABLE_NONE ? NULL : processes->items + number;
}

void sn_kineto_processes_apply(struct sn_kineto_processes *processes, struct sn_track_sink *sink)
{
	for (uint32_t i = 0; i < sn_track_sink_count(sink); i++) {
		/* the "process" of a stream is its device */
		const struct sn_kineto_process *process =
		    sn_track_sink_at(sink, i)->is_device
			? NULL
			: sn_kineto_processes_find(processes, sn_track_sink_place(sink, i)->first);
		if (process)
			sn_track_sink_set_track_program(sink, i, process->program);
	}
	sn_track_sink_set_busiest_program(sink);
	sn_kineto_processes_release(processes);
}
