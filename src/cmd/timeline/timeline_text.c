/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and iterations of a trace as text; see timeline.h. */
#include "timeline.h"

#include "base/sort_by.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "format/measurement/measurement.h"
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

/* The nearest frame above a context that is of the user's language, for a reader to go to. */
static uint32_t python_above(const struct sonde_db *db, uint32_t context)
{
	for (; context; context = sonde_db_context(db, context)->parent) {
		const struct sonde_db_frame *frame =
		    sonde_db_frame(db, sonde_db_context(db, context)->frame);
		if (!strcmp(sonde_frame_kind_name(frame->kind), "python") &&
		    frame->file != SONDE_NONE)
			return sonde_db_context(db, context)->frame;
	}
	return SONDE_NONE;
}

/* Shares of contexts of one frame are one line: where a call comes from is said by the report. */
struct frame_share {
	uint32_t frame, context; /* the one of the largest part */
	double time_ns, largest_ns;
};

SN_SORT_BY(sort_frames, struct frame_share, const void *,
	   SN_ORDER(b->time_ns, a->time_ns) ?: SN_ORDER(a->frame, b->frame));

/* What a call is; of machine code, which samples meet, the function or what it belongs to. */
static uint32_t frame_of(const struct sn_answers *answers, uint32_t context)
{
	uint32_t frame = sonde_db_context(answers->db, context)->frame;
	unsigned kind = sonde_db_frame(answers->db, frame)->kind;
	bool is_code = kind == SN_FRAME_NATIVE || kind == SN_FRAME_INLINED ||
		       kind == SN_FRAME_LOOP || kind == SN_FRAME_LINE;
	return is_code ? sn_node_map_at(&answers->nodes, answers->nodes.of_context[context]).frame
		       : frame;
}

/* Those that have a share, the largest first; NULL without memory. */
static struct frame_share *by_frame(const struct sn_answers *answers, const struct sn_blame *blame,
				    size_t *count)
{
	uint32_t frame_count = sonde_db_frame_count(answers->db);
	struct frame_share *frames = calloc(frame_count + 1ull, sizeof(*frames));
	*count = 0;
	if (!frames)
		return NULL;
	for (size_t i = 0; i < blame->count; i++) {
		const struct sn_blame_share *share = blame->shares + i;
		uint32_t frame = frame_of(answers, share->context);
		frames[frame].frame = frame;
		frames[frame].time_ns += share->time_ns;
		if (share->time_ns > frames[frame].largest_ns) {
			frames[frame].largest_ns = share->time_ns;
			frames[frame].context = share->context;
		}
	}
	sort_frames(frames, frame_count, NULL);
	while (*count < frame_count && frames[*count].time_ns > 0)
		(*count)++;
	return frames;
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
	struct frame_share *frames = by_frame(answers, blame, &count);
	size_t shown = limit && count > limit ? limit : count;
	double rest = 0;
	if (frames && time->idle_ns && count)
		printf("\n  while it was idle, the host was in\n");
	else
		count = shown = 0;
	for (const struct frame_share *one = frames; one < frames + shown; one++) {
		char name[SN_LABEL_CHARS], above[SN_LABEL_CHARS] = "";
		sn_label_name(answers->db, SN_GROUP_AUTO, one->frame, name);
		uint32_t python = python_above(answers->db, one->context);
		if (python != SONDE_NONE && python != one->frame)
			sn_label_name(answers->db, SN_GROUP_AUTO, python, above);
		sn_utf8_cut(name, 48);
		sn_utf8_cut(above, 40);
		print_share(one->time_ns, time, name);
		printf("%s%s\n", *above ? "  in " : "", above);
	}
	for (size_t i = shown; i < count; i++)
		rest += frames[i].time_ns;
	if (rest > 0) {
		print_share(rest, time, "");
		printf("%zu more\n", count - shown);
	}
	if (count && blame->unblamed_ns > 0.005 * (double)time->idle_ns)
		print_share(blame->unblamed_ns, time, "no recorded call, or only waiting\n");
	free(frames);
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
