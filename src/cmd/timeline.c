/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde timeline`: what a trace says about time. Devices first: what they did, what was not hidden
 * behind it, why they were idle and whose fault that was; then iterations.
 */
#include "command.h"

#include "analyze/blame.h"
#include "analyze/iterations.h"
#include "export/timeline_svg.h"
#include "report/json.h"
#include "report/label.h"
#include "report/number.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_LIMIT = 8, LIMIT_MAX = 1000000, PICTURE_WIDTH = 1400, PICTURE_ROWS = 120 };
enum option_code { OPTION_FORMAT = 256, OPTION_LIMIT, OPTION_LAUNCHED, OPTION_FROM, OPTION_TO };

static const struct option table[] = {
    {"output", required_argument, NULL, 'o'},
    {"from", required_argument, NULL, OPTION_FROM},
    {"to", required_argument, NULL, OPTION_TO},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"launched-only", no_argument, NULL, OPTION_LAUNCHED},
    SN_OPTION_HELP,
    {0},
};

static const char usage[] =
    "USAGE\n"
    "    sonde timeline [OPTIONS] DB\n\n"
    "    Says where the time of a trace went: what each device computed, communicated and copied,\n"
    "    what of that nothing better hid, why the device was idle in between, what the host did\n"
    "    meanwhile, and which iterations were unusual.\n\n"
    "    A trace comes from 'sonde import' of torch.profiler's files, for example.\n\n"
    "OPTIONS\n"
    "    -o, --output FILE.svg  also draw the timeline: a row for each lane of each stream and\n"
    "                    thread\n"
    "    --from SECONDS  begin of the picture, from the first event; default 0\n"
    "    --to SECONDS    end of the picture; default the last event\n"
    "    --limit N       lines of each list, 8 by default; 0 for all\n"
    "    --launched-only leave out operations of devices whose launch is not recorded\n"
    "    --format FORM   text (default) or json: nanoseconds, everything\n"
    "    -h, --help      this text\n\n"
    "WORDS\n"
    "    exposed         communication without computation beside it; copies without either\n"
    "    not queued      the device was idle and the call that launched its next operation had\n"
    "                    not begun: the host was late\n"
    "    launching       from the begin of that call to the operation's start\n"
    "    blame           the idle time, shared equally among the threads that were in some call,\n"
    "                    and charged to the innermost call of each\n\n"
    "EXAMPLES\n"
    "    sonde import trace.json.gz -o trace.sdb && sonde timeline trace.sdb\n"
    "    sonde timeline trace.sdb -o trace.svg --from 1.2 --to 1.25\n"
    "    sonde timeline trace.sdb --format json | jq '.devices[0].idle'\n";

struct timeline {
	const struct sonde_db *db;
	struct sonde_trace *trace;
	struct sn_device_times times;
	struct sn_blame *blames; /* of each device */
	struct sn_iterations iterations;
	size_t limit;
	const char *picture;
	double from_s, to_s; /* negative: not given */
	bool is_json, launched_only;
};

static const char *const work_names[] = {"computation", "communication", "copies"};
static const char *const work_keys[] = {"computation", "communication", "copy"};

static const char *duration(double ns)
{
	static char texts[8][SN_NUMBER_CHARS];
	static unsigned next;
	return sn_number_format(ns, "ns", texts[next++ % 8]);
}

/* "42.1%" of a device's time, in the width of a column. */
static const char *part(double ns, double whole)
{
	static char texts[4][SN_NUMBER_CHARS];
	static unsigned next;
	return sn_number_share(whole > 0 ? ns / whole : 0, texts[next++ % 4]);
}

static void print_row(const char *name, double ns, double whole, const char *note)
{
	printf("  %-24s %9s  %6s%s%s\n", name, duration(ns), part(ns, whole), *note ? "  " : "",
	       note);
}

static void device_title(const struct timeline *timeline, const struct sn_device_time *time)
{
	char count[SN_NUMBER_CHARS];
	uint64_t operations = 0;
	for (unsigned i = 0; i < SN_WORK_KINDS; i++)
		operations += time->operation_counts[i];
	bool is_bold = sn_terminal_has_color(stdout);
	printf("%s", is_bold ? "\033[1m" : "");
	if (timeline->times.devices[timeline->times.count - 1].run)
		printf("run %u · ", time->run);
	if (time->rank >= 0)
		printf("rank %d · ", (int)time->rank);
	printf("device %u%s: %s, %s operations on %u stream%s\n", time->device,
	       is_bold ? "\033[0m" : "", duration((double)(time->end_ns - time->start_ns)),
	       sn_number_count((double)operations, count), time->stream_count,
	       time->stream_count == 1 ? "" : "s");
}

static void print_work(const struct sn_device_time *time)
{
	double whole = (double)(time->end_ns - time->start_ns);
	char note[96];
	for (unsigned i = 0; i < SN_WORK_KINDS; i++) {
		if (!time->operation_counts[i])
			continue;
		note[0] = 0;
		if (i != SN_WORK_COMPUTE && time->work_ns[i] != time->exposed_ns[i])
			snprintf(note, sizeof(note), "of %s; the rest is hidden",
				 duration((double)time->work_ns[i]));
		char name[64];
		snprintf(name, sizeof(name), "%s%s", i == SN_WORK_COMPUTE ? "" : "exposed ",
			 work_names[i]);
		print_row(name, (double)time->exposed_ns[i], whole, note);
	}
	char gaps[SN_NUMBER_CHARS];
	snprintf(note, sizeof(note), "in %s gaps", sn_number_count((double)time->gap_count, gaps));
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

static int compare_frames(const void *left, const void *right)
{
	const struct frame_share *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static struct frame_share *by_frame(const struct timeline *timeline, const struct sn_blame *blame,
				    size_t *count)
{
	uint32_t frame_count = sonde_db_frame_count(timeline->db);
	struct frame_share *frames = calloc(frame_count + 1ull, sizeof(*frames));
	*count = 0;
	for (size_t i = 0; i < blame->count && frames; i++) {
		const struct sn_blame_share *share = blame->shares + i;
		uint32_t frame = sonde_db_context(timeline->db, share->context)->frame;
		frames[frame].frame = frame;
		frames[frame].time_ns += share->time_ns;
		if (share->time_ns > frames[frame].largest_ns) {
			frames[frame].largest_ns = share->time_ns;
			frames[frame].context = share->context;
		}
	}
	if (!frames)
		return NULL;
	qsort(frames, frame_count, sizeof(*frames), compare_frames);
	while (*count < frame_count && frames[*count].time_ns > 0)
		(*count)++;
	return frames;
}

static void print_blame(const struct timeline *timeline, const struct sn_device_time *time,
			const struct sn_blame *blame)
{
	size_t count;
	struct frame_share *frames = by_frame(timeline, blame, &count);
	size_t shown = timeline->limit && count > timeline->limit ? timeline->limit : count;
	double rest = 0;
	if (!frames || !time->idle_ns || !count) {
		free(frames);
		return;
	}
	printf("\n  while it was idle, the host was in\n");
	for (size_t i = 0; i < count; i++) {
		char name[SN_LABEL_CHARS], above[SN_LABEL_CHARS] = "";
		if (i >= shown) {
			rest += frames[i].time_ns;
			continue;
		}
		sn_label_name(timeline->db, SN_GROUP_AUTO, frames[i].frame, name);
		uint32_t python = python_above(timeline->db, frames[i].context);
		if (python != SONDE_NONE && python != frames[i].frame)
			sn_label_name(timeline->db, SN_GROUP_AUTO, python, above);
		printf("  %9s  %6s  %.48s%s%.40s\n", duration(frames[i].time_ns),
		       part(frames[i].time_ns, (double)time->idle_ns), name, *above ? "  in " : "",
		       above);
	}
	if (rest > 0)
		printf("  %9s  %6s  %zu more\n", duration(rest), part(rest, (double)time->idle_ns),
		       count - shown);
	if (blame->nobody_ns > 0.005 * (double)time->idle_ns)
		printf("  %9s  %6s  no recorded call, or only waiting\n",
		       duration(blame->nobody_ns), part(blame->nobody_ns, (double)time->idle_ns));
	free(frames);
}

static void print_iterations(const struct timeline *timeline)
{
	const struct sn_iterations *all = &timeline->iterations;
	for (size_t first = 0, next; first < all->count; first = next) {
		struct sn_iteration_sum sum;
		char name[SN_LABEL_CHARS];
		uint32_t context = all->items[first].context;
		for (next = first + 1; next < all->count; next++)
			if (all->items[next].context != context)
				break;
		sn_iterations_sum(all->items + first, next - first, &sum);
		sn_label_name(timeline->db, SN_GROUP_AUTO,
			      sonde_db_context(timeline->db, context)->frame, name);
		printf("\niterations of %s: %zu, %s on average (± %s), median %s, %s to %s\n", name,
		       sum.count, duration(sum.mean_ns), duration(sum.deviation_ns),
		       duration(sum.median_ns), duration(sum.min_ns), duration(sum.max_ns));
		size_t shown = 0;
		for (size_t i = first; i < next; i++) {
			const struct sn_iteration *one = all->items + i;
			if (!one->is_unusual || (timeline->limit && shown == timeline->limit))
				continue;
			double length = (double)(one->end_ns - one->start_ns);
			printf("  unusual: number %zu, %s, %.1f times the median\n", i - first + 1,
			       duration(length), length / sum.median_ns);
			shown++;
		}
	}
}

static void print_text(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->times.count; i++) {
		if (i)
			putchar('\n');
		device_title(timeline, timeline->times.devices + i);
		print_work(timeline->times.devices + i);
		print_blame(timeline, timeline->times.devices + i, timeline->blames + i);
	}
	if (!timeline->times.count)
		printf("no work on a device is recorded\n");
	print_iterations(timeline);
}

/* ---- JSON ---- */

static void put(struct sn_json *json, const char *key, double value)
{
	sn_json_key(json, key);
	sn_json_number(json, value);
}

static void put_time(struct sn_json *json, const char *key, uint64_t time_ns)
{
	sn_json_key(json, key);
	sn_json_unsigned(json, time_ns);
}

static void json_device(const struct timeline *timeline, size_t number, struct sn_json *json)
{
	const struct sn_device_time *time = timeline->times.devices + number;
	const struct sn_blame *blame = timeline->blames + number;
	char key[64];
	sn_json_begin(json, '{');
	put(json, "run", time->run);
	put(json, "rank", time->rank);
	put(json, "device", time->device);
	put(json, "streams", time->stream_count);
	put_time(json, "start_ns", time->start_ns);
	put(json, "total_ns", (double)(time->end_ns - time->start_ns));
	put(json, "busy_ns", (double)time->busy_ns);
	put(json, "idle_ns", (double)time->idle_ns);
	for (unsigned i = 0; i < SN_WORK_KINDS; i++) {
		snprintf(key, sizeof(key), "%s_ns", work_keys[i]);
		put(json, key, (double)time->work_ns[i]);
		snprintf(key, sizeof(key), "exposed_%s_ns", work_keys[i]);
		put(json, key, (double)time->exposed_ns[i]);
		snprintf(key, sizeof(key), "%s_count", work_keys[i]);
		put(json, key, (double)time->operation_counts[i]);
	}
	sn_json_key(json, "idle");
	sn_json_begin(json, '{');
	put(json, "gaps", (double)time->gap_count);
	put(json, "not_queued_ns", (double)time->not_queued_ns);
	put(json, "launching_ns", (double)time->launch_ns);
	put(json, "launch_not_recorded_ns", (double)time->unexplained_ns);
	put(json, "nobody_ns", blame->nobody_ns);
	sn_json_key(json, "blame");
	sn_json_begin(json, '[');
	for (size_t i = 0; i < blame->count; i++) {
		char name[SN_LABEL_CHARS];
		uint32_t context = blame->shares[i].context;
		sn_label_full(timeline->db, SN_GROUP_AUTO,
			      sonde_db_context(timeline->db, context)->frame, name);
		sn_json_begin(json, '{');
		put(json, "context", context);
		sn_json_key(json, "name");
		sn_json_string(json, name);
		put(json, "time_ns", blame->shares[i].time_ns);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
	sn_json_end(json, '}');
	sn_json_end(json, '}');
}

static void json_iterations(const struct timeline *timeline, struct sn_json *json)
{
	const struct sn_iterations *all = &timeline->iterations;
	sn_json_begin(json, '[');
	for (size_t i = 0; i < all->count; i++) {
		const struct sn_iteration *one = all->items + i;
		const struct sonde_db_frame *frame = sonde_db_frame(
		    timeline->db, sonde_db_context(timeline->db, one->context)->frame);
		sn_json_begin(json, '{');
		put(json, "context", one->context);
		sn_json_key(json, "name");
		sn_json_string(json, sonde_db_string(timeline->db, frame->name));
		put(json, "profile", one->profile);
		put_time(json, "start_ns", one->start_ns);
		put(json, "duration_ns", (double)(one->end_ns - one->start_ns));
		sn_json_key(json, "unusual");
		sn_json_bool(json, one->is_unusual);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void print_json(const struct timeline *timeline)
{
	struct sn_json json = {.out = stdout};
	sn_json_begin(&json, '{');
	put(&json, "events", (double)sonde_trace_event_count(timeline->trace));
	sn_json_key(&json, "devices");
	sn_json_begin(&json, '[');
	for (size_t i = 0; i < timeline->times.count; i++)
		json_device(timeline, i, &json);
	sn_json_end(&json, ']');
	sn_json_key(&json, "iterations");
	json_iterations(timeline, &json);
	sn_json_end(&json, '}');
	putchar('\n');
}

/* ---- the command ---- */

static int compute(struct timeline *timeline, struct sn_error *error)
{
	int result = sn_device_times(timeline->db, timeline->trace, timeline->launched_only,
				     &timeline->times, error);
	if (result)
		return result;
	timeline->blames = calloc(timeline->times.count + 1, sizeof(*timeline->blames));
	if (!timeline->blames)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < timeline->times.count && !result; i++)
		result = sn_blame(timeline->db, timeline->trace, timeline->times.devices + i,
				  timeline->blames + i, error);
	if (!result)
		result = sn_iterations(timeline->db, timeline->trace, &timeline->iterations, error);
	return result;
}

/* Draws the window that was asked for. */
static int draw(const struct timeline *timeline, struct sn_error *error)
{
	struct sn_timeline_picture picture = {UINT64_MAX, 0, PICTURE_WIDTH, PICTURE_ROWS};
	for (uint32_t i = 0; i < sonde_trace_track_count(timeline->trace); i++) {
		const struct sonde_track *track = sonde_trace_track(timeline->trace, i);
		picture.from_ns =
		    track->start_ns < picture.from_ns ? track->start_ns : picture.from_ns;
		picture.to_ns = track->end_ns > picture.to_ns ? track->end_ns : picture.to_ns;
	}
	uint64_t start = picture.from_ns;
	if (timeline->to_s >= 0)
		picture.to_ns = start + (uint64_t)(timeline->to_s * 1e9);
	if (timeline->from_s >= 0)
		picture.from_ns = start + (uint64_t)(timeline->from_s * 1e9);
	if (picture.to_ns <= picture.from_ns)
		return sn_fail(error, SN_ERR_ARGUMENT, "the picture ends before it begins");
	return sn_timeline_svg(timeline->db, timeline->trace, &picture, timeline->picture, error);
}

static void release(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->times.count && timeline->blames; i++)
		sn_blame_release(timeline->blames + i);
	free(timeline->blames);
	sn_device_times_release(&timeline->times);
	sn_iterations_release(&timeline->iterations);
	sonde_trace_close(timeline->trace);
}

static int show(struct timeline *timeline, const char *path)
{
	struct sonde_db_error why = {""};
	struct sn_error error = {""};
	if (sonde_trace_open(timeline->db, &timeline->trace, &why))
		return sn_command_fail("cannot read '%s': %s", path, why.text);
	int status = SN_EXIT_DONE;
	if (!sonde_trace_event_count(timeline->trace))
		status =
		    sn_command_fail("'%s' has no events: it is a profile without a trace", path);
	else if (compute(timeline, &error))
		status = sn_command_fail("cannot read '%s': %s", path, error.text);
	else if (timeline->picture && draw(timeline, &error))
		status = sn_command_fail("%s", error.text);
	else if (timeline->is_json)
		print_json(timeline);
	else
		print_text(timeline);
	release(timeline);
	return status;
}

static int run(int argc, char **argv)
{
	static const char *const forms[] = {"text", "json", NULL};
	struct sn_options options = {&sn_command_timeline, argc, argv, "o:", table};
	struct timeline timeline = {.limit = DEFAULT_LIMIT, .from_s = -1, .to_s = -1};
	for (int option; (option = sn_options_next(&options)) != -1;) {
		double number;
		int form;
		switch (option) {
		case SN_OPTION_STOP:
			return options.status;
		case OPTION_FORMAT:
			form = sn_options_choice(&options, "--format", optarg, forms);
			if (form < 0)
				return SN_EXIT_USAGE;
			timeline.is_json = form == 1;
			break;
		case 'o':
			timeline.picture = optarg;
			break;
		case OPTION_FROM:
			if (sn_options_number(&options, "--from", optarg, 0, 1e9, &timeline.from_s))
				return SN_EXIT_USAGE;
			break;
		case OPTION_TO:
			if (sn_options_number(&options, "--to", optarg, 0, 1e9, &timeline.to_s))
				return SN_EXIT_USAGE;
			break;
		case OPTION_LAUNCHED:
			timeline.launched_only = true;
			break;
		case OPTION_LIMIT:
			if (sn_options_number(&options, "--limit", optarg, 0, LIMIT_MAX, &number))
				return SN_EXIT_USAGE;
			timeline.limit = (size_t)number;
			break;
		}
	}
	const char *path = sn_options_operand(&options, "DB");
	struct sonde_db *db;
	if (!path)
		return SN_EXIT_USAGE;
	int status = sn_command_open(path, &db);
	if (status)
		return status;
	timeline.db = db;
	return sn_command_close(db, show(&timeline, path));
}

const struct sn_command sn_command_timeline = {
    .name = "timeline",
    .summary = "say where the time of a trace went, and what devices waited for",
    .usage = usage,
    .run = run,
};
