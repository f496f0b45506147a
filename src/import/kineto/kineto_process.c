/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of Chrome's JSON; see kineto_process.h. */
#include "kineto_process.h"

#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sn_kineto_processes_release(struct sn_kineto_processes *processes)
{
	sn_intern_release(&processes->pids);
	free(processes->items);
	*processes = (struct sn_kineto_processes){0};
}

struct sn_kineto_process *sn_kineto_processes_add(struct sn_kineto_processes *processes,
						  int64_t pid)
{
	uint32_t before = processes->pids.count;
	uint32_t number = sn_intern_add(&processes->pids, &pid, sizeof(pid));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&processes->items, &processes->capacity, number + 1ull) < 0)
		return NULL;
	if (number == before)
		processes->items[number] =
		    (struct sn_kineto_process){-1, -1, SONDE_NONE, SONDE_NONE, -1};
	return processes->items + number;
}

static const struct sn_kineto_process *find(const struct sn_kineto_processes *processes,
					    int64_t pid)
{
	uint32_t number = sn_intern_find(&processes->pids, &pid, sizeof(pid));
	return number == SN_INTERN_NONE ? NULL : processes->items + number;
}

void sn_kineto_process_label(struct sn_kineto_process *process, struct sn_db_builder *builder,
			     struct sn_json_text label)
{
	char text[512];
	int length = (int)(label.length < sizeof(text) - 1 ? label.length : sizeof(text) - 1);
	snprintf(text, sizeof(text), "%.*s", length, label.text);
	for (char *part = text, *next; part; part = next) {
		long long number;
		next = strstr(part, ", ");
		if (next) {
			*next = 0;
			next += 2;
		}
		if (sscanf(part, "of %lld", &number) == 1)
			process->owner = number;
		else if (sscanf(part, "rank %lld", &number) == 1)
			process->rank = number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
		else if (sscanf(part, "pid %lld", &number) == 1)
			process->own_pid = number;
		else if (!strncmp(part, "host ", 5))
			process->host = sn_db_builder_string(builder, part + 5);
	}
}

static void apply(const struct sn_kineto_process *process, struct sn_recording_line *line)
{
	line->host = process->host;
	line->rank = process->rank;
	if (process->own_pid >= 0)
		line->pid = process->own_pid;
	else if (line->is_device)
		line->pid = process->owner;
}

void sn_kineto_processes_apply(struct sn_kineto_processes *processes,
			       struct sn_recording *recording, bool is_own)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < recording->places.count; i++) {
		struct sn_recording_line *line = recording->lines + i;
		const struct sn_recording_place *place = sn_intern_at(&recording->places, i, NULL);
		/* streams are "threads" of processes that are devices */
		if (line->is_device && !is_own)
			continue;
		const struct sn_kineto_process *process =
		    find(processes, line->is_device ? line->process : place->first);
		if (!process)
			continue;
		line->program = process->program;
		if (is_own)
			apply(process, line);
		if (line->event_count > most && !line->is_device &&
		    process->program != SONDE_NONE) {
			most = line->event_count;
			recording->program = process->program;
		}
	}
	sn_kineto_processes_release(processes);
}
