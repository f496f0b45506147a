/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.db of an HPCToolkit database: of each profile the context it was in from a time on. A
 * context of 0 is that it was in none; two of those never follow each other.
 *
 * Samples are that already. Intervals, of which a database of ours may have several on top of each
 * other, become the innermost one that is open at each time; counters and instants have no place.
 */
#include "hpctoolkit.h"

#include "base/sort_by.h"
#include "sonde/trace.h"

#include <stdlib.h>

struct point {
	uint64_t time_ns;
	uint32_t context; /* of the file */
};

struct line {
	struct point *points;
	size_t count, capacity;
};

/* An interval that is open while later ones are looked at. */
struct open_interval {
	uint64_t end_ns;
	uint32_t context;
};

struct interval {
	uint64_t start_ns, end_ns;
	uint32_t context, lane;
};

static int add_point(struct line *line, uint64_t time_ns, uint32_t context)
{
	if (context == 0 && line->count && line->points[line->count - 1].context == 0)
		return 0;
	return sn_vec_push(&line->points, &line->capacity, &line->count,
			   (struct point){time_ns, context});
}

/* What ends where the next begins leaves no time in nothing. */
static void drop_nothing(struct line *line, uint64_t time_ns)
{
	const struct point *last = line->points + line->count - 1;
	if (line->count && last->context == 0 && last->time_ns == time_ns)
		line->count--;
}

static uint32_t context_id(const struct sn_hpcx_out *out, uint32_t context)
{
	return context < sonde_db_context_count(out->db)
		   ? out->tree.nodes[out->tree.node_of[context]].id
		   : 0;
}

static int damaged(struct sn_error *error, const struct sonde_db_error *found)
{
	return sn_fail(error, SN_ERR_FORMAT, "%s", found->text);
}

static int add_samples(const struct sn_hpcx_out *out, struct sonde_event_cursor *cursor,
		       struct line *line, struct sn_error *error)
{
	struct sonde_event_block block;
	struct sonde_db_error found = {""};
	int more, code = 0;
	while ((more = sonde_event_cursor_next(cursor, &block, &found)) > 0)
		for (size_t i = 0; i < block.count && code == 0; i++)
			code =
			    add_point(line, block.starts_ns[i], context_id(out, block.contexts[i]));
	return more < 0 ? damaged(error, &found) : code;
}

static int collect_intervals(struct sonde_event_cursor *cursor, uint32_t lane,
			     struct interval **intervals, size_t *count, size_t *capacity,
			     struct sn_error *error)
{
	struct sonde_event_block block;
	struct sonde_db_error found = {""};
	int more;
	while ((more = sonde_event_cursor_next(cursor, &block, &found)) > 0) {
		if (sn_vec_reserve(intervals, capacity, *count + block.count) < 0)
			return SN_ERR_MEMORY;
		for (size_t i = 0; i < block.count; i++)
			(*intervals)[(*count)++] = (struct interval){
			    block.starts_ns[i], block.ends_ns[i], block.contexts[i], lane};
	}
	return more < 0 ? damaged(error, &found) : 0;
}

SN_SORT_BY(sort_intervals, struct interval, const void *,
	   SN_ORDER_BY(a, b, start_ns, lane) ?: SN_ORDER(b->end_ns, a->end_ns));

/* Closes what ends up to `time_ns`; what is below it goes on where it is still open. */
static int close_until(const struct sn_hpcx_out *out, struct line *line, struct open_interval *open,
		       size_t *depth, uint64_t time_ns)
{
	int code = 0;
	while (*depth && open[*depth - 1].end_ns <= time_ns && code == 0) {
		uint64_t end = open[--*depth].end_ns;
		while (*depth && open[*depth - 1].end_ns <= end)
			--*depth;
		code = add_point(line, end, *depth ? context_id(out, open[*depth - 1].context) : 0);
	}
	return code;
}

static int flatten(const struct sn_hpcx_out *out, struct interval *intervals, size_t count,
		   struct line *line)
{
	struct open_interval *open = malloc((count + 1) * sizeof(*open));
	size_t depth = 0;
	int code = open ? 0 : SN_ERR_MEMORY;
	sort_intervals(intervals, count, NULL);
	for (size_t i = 0; i < count && code == 0; i++) {
		code = close_until(out, line, open, &depth, intervals[i].start_ns);
		open[depth++] = (struct open_interval){intervals[i].end_ns, intervals[i].context};
		drop_nothing(line, intervals[i].start_ns);
		if (code == 0)
			code = add_point(line, intervals[i].start_ns,
					 context_id(out, intervals[i].context));
	}
	if (code == 0)
		code = close_until(out, line, open, &depth, UINT64_MAX);
	free(open);
	return code;
}

/* Everything that was traced of a profile: its samples, else its intervals. */
static int read_line(const struct sn_hpcx_out *out, const struct sonde_trace *trace,
		     uint32_t profile, struct line *line, struct sn_error *error)
{
	struct interval *intervals = NULL;
	size_t count = 0, capacity = 0;
	int code = 0;
	for (uint32_t i = sonde_trace_first_track(trace, profile);
	     code == 0 && i < sonde_trace_track_count(trace); i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->profile != profile)
			break;
		if (track->kind != SONDE_TRACK_SAMPLES && track->kind != SONDE_TRACK_INTERVALS)
			continue;
		struct sonde_event_cursor *cursor =
		    sonde_event_cursor_new(trace, i, 0, UINT64_MAX, SONDE_EVENTS_BRIEF);
		if (!cursor)
			code = SN_ERR_MEMORY;
		else if (track->kind == SONDE_TRACK_SAMPLES)
			code = add_samples(out, cursor, line, error);
		else
			code = collect_intervals(cursor, track->lane, &intervals, &count, &capacity,
						 error);
		sonde_event_cursor_free(cursor);
	}
	if (code == 0 && line->count == 0 && count)
		code = flatten(out, intervals, count, line);
	free(intervals);
	return code;
}

/* The file: its table of lines, and their points. */
struct lines {
	struct sn_buffer head;
	struct sn_spill points;
	uint64_t from_ns, to_ns;
};

static void write_line(struct lines *lines, size_t entry, uint32_t profile, size_t points_at,
		       const struct line *line)
{
	sn_hpcx_spill_align(&lines->points, 8);
	sn_buffer_patch(&lines->head, entry, profile, 8);
	sn_buffer_patch(&lines->head, entry + 8, points_at + lines->points.length, 8);
	for (size_t i = 0; i < line->count; i++) {
		sn_hpcx_spill_number(&lines->points, line->points[i].time_ns, 8);
		sn_hpcx_spill_number(&lines->points, line->points[i].context, 4);
	}
	sn_buffer_patch(&lines->head, entry + 16, points_at + lines->points.length, 8);
	if (line->count && line->points[0].time_ns < lines->from_ns)
		lines->from_ns = line->points[0].time_ns;
	if (line->count && line->points[line->count - 1].time_ns > lines->to_ns)
		lines->to_ns = line->points[line->count - 1].time_ns;
}

static int write_lines(struct sn_hpcx_out *out, const struct sonde_trace *trace,
		       struct lines *lines, struct sn_error *error)
{
	enum { ENTRY_BYTES = 24 };
	struct sn_buffer *head = &lines->head;
	int code = 0;
	sn_hpcx_begin_file(head, "trce", 1);
	size_t start = head->count, entries = start + 32;
	sn_buffer_number(head, entries, 8);
	sn_buffer_number(head, out->profile_count, 4);
	sn_buffer_number(head, ENTRY_BYTES, 4);
	sn_hpcx_put_room(head, 16 + out->profile_count * ENTRY_BYTES);
	sn_hpcx_end_section(head, 0, start);
	sn_buffer_align(head, 8);
	for (size_t i = 0; i < out->profile_count && code == 0; i++) {
		struct line line = {0};
		code = read_line(out, trace, out->profiles[i].profile, &line, error);
		write_line(lines, entries + ENTRY_BYTES * i, (uint32_t)i + 1, head->count, &line);
		free(line.points);
	}
	sn_buffer_patch(head, start + 16, lines->from_ns == UINT64_MAX ? 0 : lines->from_ns, 8);
	sn_buffer_patch(head, start + 24, lines->to_ns, 8);
	return code;
}

static int save_lines(struct sn_hpcx_out *out, const struct sonde_trace *trace, const char *folder,
		      struct sn_error *error)
{
	struct lines lines = {.points = {.folder = folder, .fd = -1}, .from_ns = UINT64_MAX};
	const struct sn_spill *bodies[] = {&lines.points, NULL};
	int code = write_lines(out, trace, &lines, error);
	if (code == 0)
		code = sn_spill_finish(&lines.points, error);
	if (code == 0)
		code = sn_hpcx_save(folder, "trace.db", &lines.head, bodies, "trace.db", error);
	sn_spill_close(&lines.points);
	sn_buffer_release(&lines.head);
	return code;
}

int sn_hpcx_write_trace(struct sn_hpcx_out *out, const char *folder, struct sn_error *error)
{
	struct sonde_trace *trace;
	struct sonde_db_error found = {""};
	int code = 0;
	if (sonde_trace_open(out->db, &trace, &found) != 0)
		return damaged(error, &found);
	if (sonde_trace_event_count(trace) > 0)
		code = save_lines(out, trace, folder, error);
	sonde_trace_close(trace);
	return code;
}
