/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: calls of a thread that are captured, and device operations that one launch replays.
 *
 * Between the begin and the end of a capture, each launching call of the thread adds a node. A
 * launch of the graph runs all nodes; its operations carry the numbers of their nodes, which ascend
 * in the order of creation, or none. So the operations of a launch, in the order of their nodes or
 * else of their start, are matched with the calls of that capture which explains most of them: by
 * the kernel's name where calls contain it (ROCm), else one by one if both have as many of each
 * kind. Both are inferred and marked as such. Operations that no capture explains stay below the
 * launch and are counted.
 *
 * A file whose captures another file of the same process replays, and which launched none of its
 * graphs more than once, was recorded for its captures: the database says so, and the program's
 * time is that of the other file (timeline/evidence.h).
 */
#include "track_sink_internal.h"

#include "base/sort_by.h"
#include "base/vec.h"
#include "format/database/database.h"
#include "format/measurement/measurement.h"

#include <stdio.h>
#include <string.h>

#define REPLAYED "[as captured]"

unsigned sn_sink_graph_traits(const char *text)
{
	return (strstr(text, "GraphLaunch") ? SN_TRAIT_GRAPH_LAUNCH : 0) |
	       (strstr(text, "StreamBeginCapture") ? SN_TRAIT_BEGINS_CAPTURE : 0) |
	       (strstr(text, "StreamEndCapture") ? SN_TRAIT_ENDS_CAPTURE : 0);
}

static int begin_capture(struct sn_sink_graphs *graphs, uint32_t context, uint32_t *capture)
{
	if (sn_vec_reserve(&graphs->captures, &graphs->capture_capacity,
			   graphs->capture_count + 1) < 0)
		return SN_ERR_MEMORY;
	*capture = (uint32_t)graphs->capture_count++;
	graphs->captures[*capture] = (struct sn_sink_capture){
	    (uint32_t)graphs->captured_count, 0, context, (uint32_t)graphs->file_count - 1};
	graphs->files[graphs->file_count - 1].captured++;
	return 0;
}

/* ---- files ---- */

int sn_sink_graph_file(struct sn_track_sink *sink)
{
	struct sn_sink_graph_file file = {.rank = sink->rank, .pid = sink->pid, .run = sink->run};
	return sn_vec_push(&sink->graphs.files, &sink->graphs.file_capacity,
			   &sink->graphs.file_count, file)
		   ? SN_ERR_MEMORY
		   : 0;
}

static bool is_of_process(const struct sn_sink_graph_file *one,
			  const struct sn_sink_graph_file *other)
{
	return one->rank == other->rank && (one->rank >= 0 || one->pid == other->pid);
}

/* The file of the same process that replays what `file` captured, or NULL. */
static const struct sn_sink_graph_file *find_replaying(const struct sn_sink_graphs *graphs,
						       const struct sn_sink_graph_file *file)
{
	for (size_t i = 0; i < graphs->file_count; i++) {
		const struct sn_sink_graph_file *one = graphs->files + i;
		if (one != file && one->replays_others && is_of_process(one, file))
			return one;
	}
	return NULL;
}

void sn_sink_graph_finish(struct sn_track_sink *sink)
{
	const struct sn_sink_graphs *graphs = &sink->graphs;
	for (size_t i = 0; i < graphs->file_count; i++) {
		const struct sn_sink_graph_file *file = graphs->files + i, *replaying;
		char key[64], value[64];
		if (!file->captured || file->launched > file->captured || file->replays_others ||
		    !(replaying = find_replaying(graphs, file)))
			continue;
		snprintf(key, sizeof(key), SN_EVIDENCE_PROPERTY, file->run, (int)file->rank);
		snprintf(value, sizeof(value), "graphs that run %u replays", replaying->run);
		sn_db_builder_property(sink->builder, key, value);
	}
}

/* ---- captures ---- */

/* The category of the operation that a call would start, or SN_ACTIVITY_OTHER if it starts none. */
static uint32_t category_of(const char *name)
{
	if (strstr(name, "Launch"))
		return SN_ACTIVITY_KERNEL;
	if (strstr(name, "Memcpy") || strstr(name, "memcpy"))
		return SN_ACTIVITY_COPY;
	if (strstr(name, "Memset") || strstr(name, "memset"))
		return SN_ACTIVITY_FILL;
	return SN_ACTIVITY_OTHER;
}

int sn_sink_graph_call(struct sn_track_sink *sink, const struct sn_event *event, uint32_t context,
		       uint32_t *capture)
{
	struct sn_sink_graphs *graphs = &sink->graphs;
	if (sn_sink_is(sink, event->context, SN_TRAIT_BEGINS_CAPTURE))
		return begin_capture(graphs, context, capture);
	if (sn_sink_is(sink, event->context, SN_TRAIT_ENDS_CAPTURE))
		*capture = SONDE_NONE;
	bool is_launch = sn_sink_is(sink, event->context, SN_TRAIT_GRAPH_LAUNCH);
	graphs->files[graphs->file_count - 1].launched += is_launch;
	if (*capture == SONDE_NONE || is_launch)
		return 0;
	uint64_t name = SONDE_NONE;
	uint32_t category =
	    category_of(sn_db_builder_text(sink->builder, sn_sink_name(sink, event->context).text));
	if (category == SN_ACTIVITY_OTHER)
		return 0;
	sn_sink_value(event, graphs->kernel_key, &name);
	if (sn_vec_push(&graphs->captured, &graphs->captured_capacity, &graphs->captured_count,
			(struct sn_sink_captured){context, (uint32_t)name, category}))
		return SN_ERR_MEMORY;
	graphs->captures[*capture].count++;
	return 0;
}

/* ---- replays ---- */

int sn_sink_replay_add(struct sn_sink_replay *replay, const struct sn_event *event)
{
	struct sn_event *copy = sn_sink_copy(&replay->memory, event);
	return !copy || sn_vec_push(&replay->events, &replay->capacity, &replay->count, copy)
		   ? SN_ERR_MEMORY
		   : 0;
}

void sn_sink_replay_release(struct sn_sink_replay *replay)
{
	free(replay->events);
	free(replay->used);
	sn_arena_release(&replay->memory);
	*replay = (struct sn_sink_replay){0};
}

struct numbered {
	uint64_t node;
	uint32_t event;
};

SN_SORT_BY(sort_nodes, struct numbered, const void *, SN_ORDER_BY(a, b, node, event));

/* Puts the operations in the order of capture: by node if all have one, else by start. Returns
 * whether nodes were used. */
static bool order_events(const struct sn_track_sink *sink, const struct sn_sink_replay *replay,
			 struct numbered *order)
{
	size_t with_node = 0;
	for (uint32_t i = 0; i < replay->count; i++) {
		order[i] = (struct numbered){0, i};
		with_node +=
		    sn_sink_value(replay->events[i], sink->graphs.node_key, &order[i].node);
	}
	if (with_node < replay->count)
		for (uint32_t i = 0; i < replay->count; i++)
			order[i].node = 0;
	sort_nodes(order, replay->count, NULL);
	return with_node == replay->count;
}

struct match {
	struct sn_track_sink *sink;
	struct sn_sink_replay *replay;
	const struct numbered *order;
	uint32_t *found; /* by event: its position in the capture, or SONDE_NONE */
	uint32_t *best;
	bool *used; /* by position in the capture */
};

static bool knows_names(const struct sn_sink_graphs *graphs, const struct sn_sink_capture *capture)
{
	for (uint32_t i = 0; i < capture->count; i++) {
		const struct sn_sink_captured *one = graphs->captured + capture->first + i;
		if (one->category == SN_ACTIVITY_KERNEL && one->name == SONDE_NONE)
			return false;
	}
	return true;
}

static bool fits(const struct match *match, const struct sn_event *event,
		 const struct sn_sink_captured *captured, bool by_name)
{
	struct sn_track_name name = sn_sink_name(match->sink, event->context);
	return name.category == captured->category &&
	       (!by_name || name.category != SN_ACTIVITY_KERNEL || name.text == captured->name);
}

/* Matches each operation with the next call that fits. Parallel branches may run in another order
 * than captured, so unused calls before that place are tried as well. */
static size_t match_by_name(struct match *match, const struct sn_sink_capture *capture)
{
	const struct sn_sink_captured *captured = match->sink->graphs.captured + capture->first;
	size_t matched = 0;
	uint32_t next = 0, first_free = 0;
	for (size_t i = 0; i < match->replay->count; i++) {
		uint32_t event = match->order[i].event, at = next;
		const struct sn_event *read = match->replay->events[event];
		while (at < capture->count &&
		       (match->used[at] || !fits(match, read, captured + at, true)))
			at++;
		if (at == capture->count)
			for (at = first_free; at < next; at++)
				if (!match->used[at] && fits(match, read, captured + at, true))
					break;
		bool is_found = at < capture->count && !match->used[at] &&
				fits(match, read, captured + at, true);
		match->found[event] = is_found ? at : SONDE_NONE;
		if (!is_found)
			continue;
		match->used[at] = true;
		next = at + 1 > next ? at + 1 : next;
		while (first_free < capture->count && match->used[first_free])
			first_free++;
		matched++;
	}
	return matched;
}

/* Matches in order, if the numbers are equal and each operation fits its call. */
static size_t match_by_order(struct match *match, const struct sn_sink_capture *capture)
{
	const struct sn_sink_captured *captured = match->sink->graphs.captured + capture->first;
	if (capture->count != match->replay->count)
		return 0;
	for (uint32_t i = 0; i < capture->count; i++) {
		uint32_t event = match->order[i].event;
		if (!fits(match, match->replay->events[event], captured + i, false))
			return 0;
		match->found[event] = i;
	}
	return capture->count;
}

/* Marks the captured calls that operations on earlier streams of the same launch have used. */
static void recall_used(struct match *match, uint32_t number, uint32_t count)
{
	struct sn_sink_replay *replay = match->replay;
	memset(match->used, 0, count * sizeof(*match->used));
	if (replay->used_correlation == replay->correlation && replay->used_capture == number &&
	    replay->used)
		memcpy(match->used, replay->used, count * sizeof(*match->used));
}

static int keep_used(struct match *match, uint32_t number, uint32_t count)
{
	struct sn_sink_replay *replay = match->replay;
	if (sn_vec_reserve(&replay->used, &replay->used_capacity, count + 1ull) < 0)
		return SN_ERR_MEMORY;
	recall_used(match, number, count);
	for (size_t i = 0; i < replay->count; i++)
		if (match->best[i] != SONDE_NONE)
			match->used[match->best[i]] = true;
	memcpy(replay->used, match->used, count * sizeof(*match->used));
	replay->used_correlation = replay->correlation;
	replay->used_capture = number;
	return 0;
}

/* The capture that explains most operations, with their positions in match->best; SONDE_NONE if
 * none explains any. */
static uint32_t find_capture(struct match *match, bool *by_name)
{
	const struct sn_sink_graphs *graphs = &match->sink->graphs;
	const struct sn_sink_graph_file *file = graphs->files + graphs->file_count - 1;
	size_t most = 0, largest = 0;
	uint32_t best = SONDE_NONE;
	bool is_own = false; /* of the same process */
	for (uint32_t i = 0; i < graphs->capture_count; i++) {
		const struct sn_sink_capture *capture = graphs->captures + i;
		bool has_names = knows_names(graphs, capture);
		recall_used(match, i, capture->count);
		size_t matched =
		    has_names ? match_by_name(match, capture) : match_by_order(match, capture);
		bool is_of_own = is_of_process(graphs->files + capture->file, file);
		/* among captures that explain as many: one of the same process,
		 * then the smallest */
		if (!matched || matched < most ||
		    (matched == most && best != SONDE_NONE &&
		     (is_of_own != is_own ? is_own : capture->count >= largest)))
			continue;
		is_own = is_of_own;
		most = matched;
		largest = capture->count;
		best = i;
		*by_name = has_names;
		memcpy(match->best, match->found, match->replay->count * sizeof(*match->best));
	}
	return best;
}

/* ---- paths ---- */

enum { PATH_MAX_FRAMES = 4096 };

/* The frames from below the nearest common ancestor of both contexts down to `context`, innermost
 * first; returns their number. */
static size_t path_below(const struct sn_db_builder *builder, uint32_t context, uint32_t other,
			 uint32_t *frames)
{
	uint32_t others[PATH_MAX_FRAMES], parent, frame;
	size_t other_count = 0, count = 0;
	for (uint32_t at = other; other_count < PATH_MAX_FRAMES;) {
		others[other_count++] = at;
		if (!sn_db_builder_context_at(builder, at, &parent, &frame))
			break;
		at = parent;
	}
	for (uint32_t at = context; count < PATH_MAX_FRAMES;) {
		for (size_t i = 0; i < other_count; i++)
			if (others[i] == at)
				return count;
		if (!sn_db_builder_context_at(builder, at, &parent, &frame))
			break;
		frames[count++] = frame;
		at = parent;
	}
	return count;
}

/* The context of a replayed operation's caller: below the launch a frame that says "replayed", then
 * the path from the begin of the capture to the captured call. */
static uint32_t replayed_parent(struct sn_track_sink *sink, uint32_t launch, uint32_t captured,
				uint32_t began)
{
	struct sn_db_builder *builder = sink->builder;
	uint32_t frames[PATH_MAX_FRAMES];
	size_t count = path_below(builder, captured, began, frames);
	uint32_t at = sn_db_builder_context(
	    builder, launch, sn_db_builder_named_frame(builder, SN_FRAME_REGION, REPLAYED));
	while (count)
		at = sn_db_builder_context(builder, at, frames[--count]);
	return at;
}

static void mark(struct sn_track_sink *sink, struct sn_event *event, const char *how)
{
	struct sn_attribute *items = (struct sn_attribute *)event->attributes;
	items[event->attribute_count++] = (struct sn_attribute){
	    sink->graphs.how_key, 0, sn_db_builder_string(sink->builder, how)};
}

/* Notes that the file being read has an operation that the file `source` captured. */
static void note_source(struct sn_sink_graphs *graphs, uint32_t source)
{
	struct sn_sink_graph_file *file = graphs->files + graphs->file_count - 1;
	file->replays_others |=
	    source + 1 < graphs->file_count && is_of_process(graphs->files + source, file);
}

static void give_parents(struct match *match, uint32_t number, const char *how, uint32_t *parents)
{
	struct sn_track_sink *sink = match->sink;
	struct sn_sink_replay *replay = match->replay;
	for (size_t i = 0; i < replay->count; i++) {
		parents[i] = replay->launch;
		if (number == SONDE_NONE || match->best[i] == SONDE_NONE) {
			sink->graphs.unmatched++;
			continue;
		}
		const struct sn_sink_capture *capture = sink->graphs.captures + number;
		parents[i] =
		    replayed_parent(sink, replay->launch,
				    sink->graphs.captured[capture->first + match->best[i]].context,
				    capture->context);
		mark(sink, replay->events[i], how);
		sink->graphs.matched++;
		note_source(&sink->graphs, capture->file);
	}
}

int sn_sink_replay_match(struct sn_track_sink *sink, struct sn_sink_replay *replay,
			 uint32_t *parents)
{
	struct sn_arena *memory = &replay->memory;
	size_t most = 0;
	for (size_t i = 0; i < sink->graphs.capture_count; i++)
		if (sink->graphs.captures[i].count > most)
			most = sink->graphs.captures[i].count;
	struct numbered *order = sn_arena_array(memory, struct numbered, replay->count);
	struct match match = {sink,
			      replay,
			      order,
			      sn_arena_array(memory, uint32_t, replay->count),
			      sn_arena_array(memory, uint32_t, replay->count),
			      sn_arena_array(memory, bool, most + 1)};
	if (memory->failed)
		return SN_ERR_MEMORY;
	bool by_name = false, by_node = order_events(sink, replay, order);
	uint32_t number = find_capture(&match, &by_name);
	if (number != SONDE_NONE && keep_used(&match, number, sink->graphs.captures[number].count))
		return SN_ERR_MEMORY;
	give_parents(&match, number,
		     by_node   ? "graph node order"
		     : by_name ? "kernel names in order"
			       : "order of capture",
		     parents);
	return 0;
}
