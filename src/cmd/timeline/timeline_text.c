/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and iterations of a trace as text; see timeline.h. */
#include "timeline.h"

#include "base/sort_by.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "format/measurement/measurement.h"
#include "show/timeline/names.h"
#include "timeline/devices/blame_rows.h"
#include "timeline/threads/thread_states.h"

#include <stdlib.h>
#include <string.h>

static void print_row(const char *name, double ns, double whole, const char *note)
{
	printf("  %-24s %9s  %6s%s%s\n", name, sn_number_time(ns).text,
	       sn_number_part(ns, whole).text, *note ? "  " : "", note);
}

static void device_title(const struct sn_answers *answers, const struct sn_device_time *time)
{
	struct sn_style style = sn_terminal_style(stdout);
	uint64_t operations = 0;
	for (unsigned i = 0; i < SN_WORK_KINDS; i++)
		operations += time->operation_counts[i];
	printf("%s", style.bold);
	if (answers->has_runs)
		printf("run %u · ", time->run);
	if (time->rank >= 0)
		printf("rank %d · ", (int)time->rank);
	printf("device %u%s: %s, %s operation%s on %s stream%s\n", time->device, style.plain,
	       sn_number_time((double)(time->end_ns - time->start_ns)).text,
	       sn_number_counted((double)operations).text, operations == 1 ? "" : "s",
	       sn_number_counted(time->stream_count).text, time->stream_count == 1 ? "" : "s");
}

static void print_work(const struct sn_device_time *time)
{
	static const char *const names[] = {"computation", "exposed communication",
					    "exposed copies"};
	double whole = (double)(time->end_ns - time->start_ns);
	char note[96];
	for (unsigned i = 0; i < SN_WORK_KINDS; i++) {
		if (!time->operation_counts[i])
			continue;
		note[0] = 0;
		if (i != SN_WORK_COMPUTE && time->work_ns[i] != time->exposed_ns[i])
			snprintf(note, sizeof(note), "of %s; the rest is hidden",
				 sn_number_time((double)time->work_ns[i]).text);
		print_row(names[i], (double)time->exposed_ns[i], whole, note);
	}
	snprintf(note, sizeof(note), "in %s gap%s", sn_number_counted((double)time->gap_count).text,
		 time->gap_count == 1 ? "" : "s");
	print_row("idle", (double)time->idle_ns, whole, time->gap_count ? note : "");
	if (!time->idle_ns)
		return;
	print_row("  nothing queued", (double)time->not_queued_ns, whole,
		  "the host had not begun to launch");
	print_row("  launching, waiting", (double)time->launch_ns, whole,
		  "launched, but not started yet");
	if (time->unexplained_ns)
		print_row("  launch not recorded", (double)time->unexplained_ns, whole, "");
}

static void print_share(double ns, const struct sn_device_time *time, const char *what)
{
	printf("  %9s  %6s  %s", sn_number_time(ns).text,
	       sn_number_part(ns, (double)time->idle_ns).text, what);
}

static void print_blame(const struct sn_answers *answers, size_t limit,
			const struct sn_device_time *time, const struct sn_blame *blame)
{
	size_t count;
	struct sn_blame_row *rows = sn_blame_rows(&answers->nodes, blame, 1, &count);
	size_t shown = limit && count > limit ? limit : count;
	double rest = 0;
	if (rows && time->idle_ns && count)
		printf("\n  while it was idle, the host was in\n");
	else
		count = shown = 0;
	for (const struct sn_blame_row *one = rows; one < rows + shown; one++) {
		struct sn_node_name name = sn_mention_blame(&answers->nodes, one->context);
		print_share(one->time_ns, time, name.text);
		putchar('\n');
	}
	for (size_t i = shown; i < count; i++)
		rest += rows[i].time_ns;
	if (rest > 0) {
		print_share(rest, time, "");
		printf("%zu more\n", count - shown);
	}
	if (count && blame->unblamed_ns > 0.005 * (double)time->idle_ns)
		print_share(blame->unblamed_ns, time,
			    "nothing that is recorded, or it only waited\n");
	free(rows);
}

static void print_iterations(const struct sn_answers *answers, size_t limit)
{
	const struct sn_iterations *all = &answers->iterations;
	for (size_t first = 0, next; first < all->count; first = next) {
		struct sn_iteration_sum sum;
		uint32_t context = all->items[first].context;
		next = sn_iterations_end_of_context(all, first);
		sn_iterations_sum(all->items + first, next - first, &sum);
		printf("\niterations of %s: %zu, %s on average (± %s), median %s, %s to %s\n",
		       sn_name_context(answers->db, context).text, sum.count,
		       sn_number_time(sum.mean_ns).text, sn_number_time(sum.deviation_ns).text,
		       sn_number_time(sum.median_ns).text, sn_number_time(sum.min_ns).text,
		       sn_number_time(sum.max_ns).text);
		size_t shown = 0;
		for (size_t i = first; i < next; i++) {
			const struct sn_iteration *one = all->items + i;
			if (!one->is_unusual || (limit && shown == limit))
				continue;
			double length = (double)(one->end_ns - one->start_ns);
			printf("  unusual: number %llu, %s, %.1f times the median\n",
			       (unsigned long long)one->number, sn_number_time(length).text,
			       length / sum.median_ns);
			shown++;
		}
	}
}

void sn_timeline_text(const struct sn_answers *answers, size_t limit)
{
	bool are_few = answers->times.count <= SN_FEW_DEVICES;
	for (size_t i = 0; i < answers->times.count && are_few; i++) {
		if (i)
			putchar('\n');
		device_title(answers, answers->times.devices + i);
		print_work(answers->times.devices + i);
		print_blame(answers, limit, answers->times.devices + i, answers->blames + i);
	}
	if (!answers->times.count && !sn_threads_are_known(answers->trace))
		printf("no work on a device is recorded\n");
	print_iterations(answers, limit);
}
