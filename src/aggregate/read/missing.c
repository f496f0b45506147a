/* SPDX-License-Identifier: Apache-2.0 */
/* Images into processes, processes into a forest, and what is not in it; see missing.h. */
#include "missing.h"

#include "base/error.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* What a process uses behind its last snapshot, until the kernel has taken it and its memory down:
 * seldom more than this, a part of what it used before, and so much for each page. */
#define END_NS	      2000000u
#define END_SHARE     50u
#define END_PAGE_NS   250u
#define PAGE_BYTES    4096u
/* CPU time for which no process is known counts as one from here on, and from this part of all. */
#define UNKNOWN_NS    20000000u
#define UNKNOWN_SHARE 50u

#define NONE SIZE_MAX

struct sn_missing_image {
	uint32_t run, host;
	uint64_t pid, ppid;
	uint64_t start_ns, end_ns;	  /* CLOCK_MONOTONIC */
	uint64_t cpu_ns, children_cpu_ns; /* of the process until the end of this image */
	uint64_t resident_bytes;	  /* at most */
	uint64_t started, unwritable, unseen;
	bool is_final, is_exec, is_confined, is_stopped; /* how it ended */
	bool began_by_exec;
};

struct sn_missing_run {
	uint32_t run, host;
	bool is_measured; /* the program itself */
	struct sn_run_record record;
};

/* Images of one process that follow each other. */
struct process {
	const struct sn_missing_image *first, *last;
	uint64_t started;
	size_t parent;	       /* NONE: `sonde run`, or one that is not measured */
	uint64_t found;	       /* children that came without fork and have a file */
	uint64_t waited_ns;    /* all that children account for that were waited for */
	uint64_t allowance_ns; /* for their ends */
};

static bool is_text(const struct sn_measurement *measurement, const char *key, const char *text)
{
	const char *value = sn_measurement_property(measurement, key);
	return value && !strcmp(value, text);
}

void sn_missing_release(struct sn_missing *missing)
{
	free(missing->images);
	free(missing->runs);
	sn_intern_release(&missing->hosts);
	*missing = (struct sn_missing){0};
}

int sn_missing_add(struct sn_missing *missing, const struct sn_measurement *measurement,
		   uint32_t run)
{
	const char *host = sn_measurement_property(measurement, "host");
	if (measurement->is_trace || !host ||
	    !sn_measurement_property(measurement, "process_cpu_ns"))
		return 0; /* of an older version */
	uint32_t known = sn_intern_add(&missing->hosts, host, strlen(host) + 1);
	uint64_t start_ns = sn_measurement_number(measurement, "start_monotonic_ns");
	const uint32_t *losses = measurement->losses.counts;
	struct sn_missing_image image = {
	    .run = run,
	    .host = known,
	    .pid = sn_measurement_number(measurement, "pid"),
	    .ppid = sn_measurement_number(measurement, "ppid"),
	    .start_ns = start_ns,
	    .end_ns = start_ns + sn_measurement_number(measurement, "duration_ns"),
	    .cpu_ns = sn_measurement_number(measurement, "process_cpu_ns"),
	    .children_cpu_ns = sn_measurement_number(measurement, "children_cpu_ns"),
	    .resident_bytes = sn_measurement_number(measurement, "resident_bytes"),
	    .started = losses[SN_LOSS_STARTED],
	    .unwritable = losses[SN_LOSS_UNWRITABLE],
	    .unseen = losses[SN_LOSS_UNSEEN],
	    .is_final = measurement->is_final,
	    .is_exec = is_text(measurement, "exit", "exec"),
	    .is_confined = is_text(measurement, "exit", "confined"),
	    .is_stopped = is_text(measurement, "exit", "stopped"),
	    .began_by_exec = is_text(measurement, "began", "exec"),
	};
	bool has_failed =
	    known == SN_INTERN_NONE ||
	    sn_vec_push(&missing->images, &missing->image_capacity, &missing->image_count, image);
	return has_failed ? SN_ERR_MEMORY : 0;
}

int sn_missing_add_run(struct sn_missing *missing, const struct sn_run_record *record, uint32_t run)
{
	uint32_t host = sn_intern_add(&missing->hosts, record->host, strlen(record->host) + 1);
	struct sn_missing_run added = {run, host, false, *record};
	bool has_failed =
	    host == SN_INTERN_NONE ||
	    sn_vec_push(&missing->runs, &missing->run_capacity, &missing->run_count, added);
	return has_failed ? SN_ERR_MEMORY : 0;
}

/* ---- processes ---- */

/* By process, then by time. */
SN_SORT_BY(sort_images, struct sn_missing_image, const void *,
	   SN_ORDER_BY(a, b, run, host, pid, start_ns));

/* The same process that has become another program; numbers are given again. */
static bool follows(const struct sn_missing_image *before, const struct sn_missing_image *image)
{
	return before->run == image->run && before->host == image->host &&
	       before->pid == image->pid && image->began_by_exec &&
	       (before->is_exec || !before->is_final);
}

static size_t join_images(const struct sn_missing *missing, struct process *processes)
{
	size_t count = 0;
	for (size_t i = 0; i < missing->image_count; i++) {
		const struct sn_missing_image *image = missing->images + i;
		if (!count || !follows(image - 1, image))
			processes[count++] = (struct process){.first = image, .parent = NONE};
		processes[count - 1].last = image;
		processes[count - 1].started += image->started;
	}
	return count;
}

/* The process of a number at a time, or NONE: the last one that began by then. */
static size_t process_at(const struct process *processes, size_t count,
			 const struct sn_missing_image *where, uint64_t pid)
{
	struct sn_missing_image wanted = *where;
	wanted.pid = pid;
	size_t later =
	    sn_search(i, count, sort_images_order(processes[i].first, &wanted, NULL) <= 0);
	if (!later)
		return NONE;
	const struct sn_missing_image *found = processes[later - 1].first;
	bool is_it = found->run == where->run && found->host == where->host && found->pid == pid;
	return is_it && found != where ? later - 1 : NONE;
}

/* The `sonde run` whose program an image is, or NULL. */
static struct sn_missing_run *run_of(const struct sn_missing *missing,
				     const struct sn_missing_image *image)
{
	for (size_t i = 0; i < missing->run_count; i++) {
		struct sn_missing_run *run = missing->runs + i;
		if (run->run == image->run && run->host == image->host &&
		    run->record.pid == image->pid && run->record.start_ns <= image->start_ns &&
		    image->start_ns <= run->record.end_ns)
			return run;
	}
	return NULL;
}

/* ---- time ---- */

/* All CPU time that a process accounts for: its own, and its children's by the larger of two
 * accounts. */
static uint64_t accounted_ns(const struct process *process)
{
	uint64_t children = process->last->children_cpu_ns;
	return process->last->cpu_ns +
	       (process->waited_ns > children ? process->waited_ns : children);
}

static uint64_t allowance_ns(const struct process *process)
{
	return END_NS + process->last->cpu_ns / END_SHARE +
	       process->last->resident_bytes / PAGE_BYTES * END_PAGE_NS;
}

static uint64_t beyond(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* The latest first: children before their parents. */
SN_SORT_BY(sort_latest, struct process *, const void *,
	   SN_ORDER((*b)->first->start_ns, (*a)->first->start_ns));

/* The process ended where its last image did, and not in another program or unseen. */
static bool is_over(const struct process *process)
{
	const struct sn_missing_image *last = process->last;
	return last->is_final && !last->is_exec && !last->is_confined && !last->is_stopped;
}

/* What a child accounts for goes to its parent, unless that cannot have waited for it. */
static void hand_up(struct process *parent, const struct process *child)
{
	if (is_over(parent) && child->last->end_ns > parent->last->end_ns)
		return;
	parent->waited_ns += accounted_ns(child);
	parent->allowance_ns += allowance_ns(child);
}

/* Whether the run accounts for the process. Of a program that is not measured the processes below
 * it are all there is. */
static bool is_of_run(const struct sn_missing_run *run, const struct process *process)
{
	const struct sn_missing_image *image = process->first;
	return process->parent == NONE && image->run == run->run && image->host == run->host &&
	       image->start_ns >= run->record.start_ns &&
	       process->last->end_ns <= run->record.end_ns &&
	       (!run->is_measured || image->pid == run->record.pid);
}

/* The whole time of a `sonde run`, and what its program does not account for. */
static void add_run(const struct sn_missing_run *run, const struct process *processes, size_t count,
		    struct sn_missing_found *found)
{
	uint64_t accounted_for = 0;
	for (size_t i = 0; i < count; i++)
		if (is_of_run(run, processes + i))
			accounted_for += accounted_ns(processes + i) + allowance_ns(processes + i);
	found->cpu_ns += run->record.cpu_ns;
	found->missing_cpu_ns += beyond(run->record.cpu_ns, accounted_for);
}

/* Time of processes whose parents are not measured: it is in the accounts of those above. */
static uint64_t strangers_ns(const struct sn_missing *missing, const struct process *processes,
			     size_t count)
{
	uint64_t total_ns = 0;
	for (size_t i = 0; i < count; i++) {
		bool is_below_run = missing->run_count == 0;
		for (size_t r = 0; r < missing->run_count; r++)
			is_below_run |= is_of_run(missing->runs + r, processes + i);
		if (processes[i].parent == NONE && !is_below_run)
			total_ns += accounted_ns(processes + i);
	}
	return total_ns;
}

static void add_time(const struct sn_missing *missing, struct process *processes, size_t count,
		     struct process **by_start, struct sn_missing_found *found)
{
	for (size_t i = 0; i < count; i++)
		by_start[i] = processes + i;
	sort_latest(by_start, count, NULL);
	for (size_t i = 0; i < count; i++)
		if (by_start[i]->parent != NONE)
			hand_up(processes + by_start[i]->parent, by_start[i]);
	for (size_t i = 0; i < count; i++) {
		const struct process *process = processes + i;
		found->missing_cpu_ns += beyond(process->last->children_cpu_ns,
						process->waited_ns + process->allowance_ns);
		if (!missing->run_count && process->parent == NONE)
			found->cpu_ns += accounted_ns(process);
	}
	found->missing_cpu_ns =
	    beyond(found->missing_cpu_ns, strangers_ns(missing, processes, count));
	for (size_t i = 0; i < missing->run_count; i++)
		add_run(missing->runs + i, processes, count, found);
}

/* ---- numbers ---- */

/* When the first of the processes ended that made children without a file; UINT64_MAX: none did. */
static uint64_t first_end_ns(const struct process *processes, size_t count)
{
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < count; i++)
		if (processes[i].started > processes[i].found && processes[i].last->end_ns < first)
			first = processes[i].last->end_ns;
	return first;
}

static void add_programs(const struct sn_missing *missing, const struct process *processes,
			 size_t count, struct sn_missing_found *found)
{
	uint64_t without_file = 0, orphans = 0, end_ns = first_end_ns(processes, count);
	for (size_t i = 0; i < count; i++) {
		const struct process *process = processes + i;
		without_file += beyond(process->started, process->found);
		found->unmeasured_programs += process->last->is_exec;
		/* its parent had ended when it began, and so it does not know its number */
		orphans += process->parent == NONE && process->first->began_by_exec &&
			   process->first->start_ns >= end_ns && !run_of(missing, process->first);
	}
	without_file = beyond(without_file, orphans);
	found->unmeasured_programs += without_file;
	found->processes += without_file;
}

static void add_images(const struct sn_missing *missing, struct sn_missing_found *found)
{
	for (size_t i = 0; i < missing->image_count; i++) {
		const struct sn_missing_image *image = missing->images + i;
		found->unwritable += image->unwritable;
		found->unseen += image->unseen;
		found->confined += image->is_confined;
		found->stopped += image->is_stopped;
		found->unfinished += !image->is_final;
	}
	found->unreadable = missing->unreadable;
	found->processes += found->unwritable + found->unseen + found->unreadable;
}

/* Who started the program of a process: a `sonde run`, or its parent. */
static void note_starter(const struct sn_missing *missing, struct process *processes,
			 const struct process *process)
{
	struct process *parent = process->parent == NONE ? NULL : processes + process->parent;
	struct sn_missing_run *run = run_of(missing, process->first);
	if (run)
		run->is_measured = true;
	/* what began later was started by the program that the parent had become */
	if (parent && process->first->began_by_exec &&
	    (is_over(parent) || process->first->start_ns <= parent->last->end_ns))
		parent->found++;
}

static void add_up(struct sn_missing *missing, struct process *processes, struct process **by_start,
		   struct sn_missing_found *found)
{
	size_t count = join_images(missing, processes);
	for (size_t i = 0; i < count; i++) {
		struct process *process = processes + i;
		process->parent =
		    process_at(processes, count, process->first, process->first->ppid);
		note_starter(missing, processes, process);
	}
	found->processes = count;
	for (size_t i = 0; i < missing->run_count; i++) {
		found->processes += !missing->runs[i].is_measured;
		found->unmeasured_programs += !missing->runs[i].is_measured;
	}
	add_images(missing, found);
	add_programs(missing, processes, count, found);
	add_time(missing, processes, count, by_start, found);
	found->missing = found->unwritable + found->unseen + found->unmeasured_programs +
			 found->confined + found->stopped + found->unfinished + found->unreadable;
	bool is_much = found->missing_cpu_ns > UNKNOWN_NS &&
		       found->missing_cpu_ns > found->cpu_ns / UNKNOWN_SHARE;
	if (!found->missing && is_much) {
		found->unknown = found->missing = 1;
		found->processes++;
	}
	if (found->missing > found->processes)
		found->missing = found->processes;
	if (!found->missing)
		found->missing_cpu_ns = 0;
}

int sn_missing_find(struct sn_missing *missing, struct sn_missing_found *found)
{
	*found = (struct sn_missing_found){0};
	if (!missing->image_count)
		return 0;
	struct process *processes = calloc(missing->image_count, sizeof(*processes));
	struct process **by_start = calloc(missing->image_count, sizeof(*by_start));
	if (processes && by_start) {
		sort_images(missing->images, missing->image_count, NULL);
		add_up(missing, processes, by_start, found);
	}
	int result = processes && by_start ? 0 : SN_ERR_MEMORY;
	free(processes);
	free(by_start);
	return result;
}
