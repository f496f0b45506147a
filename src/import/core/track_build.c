/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the contexts and events of a file after its end, track by track: threads before streams,
 * whose operations refer to calls; threads with forward passes before those with backward passes.
 *
 * Three stages work on batches of events (base/pool.h): the first reads events from the sorter, the
 * second determines their contexts (track_thread.c, track_device.c, track_nested.c), the third
 * passes them to the writer. Only the second uses the builder and the rest of the sink.
 */
#include "track_sink_internal.h"

#include "base/pool.h"
#include "base/progress/progress.h"
#include "base/sort_by.h"

#include <string.h>

enum { BATCH_EVENTS = 1024, BATCHES = 16, STAGES = 3 };

struct building {
	struct sn_track_sink *sink;
	uint32_t *order; /* the tracks with events */
	uint32_t count;
	struct sn_sink_batch batches[BATCHES];
	/* state of the reading stage */
	uint32_t at; /* in `order` */
	bool is_begun;
	struct sn_error why;
};

/* ---- reading ---- */

/* Attributes are copied first and pointed to at the end, because their array moves as it grows. */
static int copy_event(const struct sn_track_sink *sink, struct sn_sink_batch *batch,
		      const struct sn_event *read)
{
	if (sn_vec_reserve(&batch->attributes, &batch->attribute_capacity,
			   batch->attribute_count + read->attribute_count) < 0)
		return SN_ERR_MEMORY;
	if (read->attribute_count)
		memcpy(batch->attributes + batch->attribute_count, read->attributes,
		       read->attribute_count * sizeof(*read->attributes));
	batch->events[batch->event_count] = *read;
	if (read->kind == SONDE_TRACK_INTERVALS && read->metric == SONDE_NONE)
		batch->gradients[batch->event_count] = sn_sink_gradient(sink, read);
	batch->event_count++;
	batch->attribute_count += read->attribute_count;
	return 0;
}

static int read_batch(void *context, unsigned worker, size_t slot)
{
	struct building *building = context;
	struct sn_track_sink *sink = building->sink;
	struct sn_sink_batch *batch = building->batches + slot;
	struct sn_event event;
	int result = 0, found = 1;
	if (building->at == building->count)
		return SN_STAGES_END;
	batch->track = building->order[building->at];
	batch->is_first = !building->is_begun;
	batch->event_count = batch->attribute_count = batch->ready_count = 0;
	sn_arena_clear(&batch->more);
	if (!building->is_begun)
		result = sn_sorter_begin(sink->sorter, batch->track, &building->why);
	while (!result && batch->event_count < BATCH_EVENTS &&
	       (found = sn_sorter_next(sink->sorter, &event, &building->why)) > 0)
		result = copy_event(sink, batch, &event);
	const struct sn_attribute *attributes = batch->attributes;
	for (size_t i = 0; i < batch->event_count; i++) {
		batch->events[i].attributes = attributes;
		attributes += batch->events[i].attribute_count;
	}
	building->is_begun = batch->event_count == BATCH_EVENTS;
	batch->is_last = !building->is_begun;
	building->at += batch->is_last;
	return found < 0 ? found : result;
}

/* ---- contexts ---- */

/* Gives a call or operation without a correlation the one inferred from the order of launches
 * (track_order.c), and an operation an attribute that says so. */
static int infer_link(struct sn_track_sink *sink, struct sn_sink_batch *batch,
		      struct sn_event *event)
{
	uint32_t category = sn_sink_name(sink, event->context).category;
	bool is_operation = category >= SN_ACTIVITY_KERNEL && category <= SN_ACTIVITY_GRAPH;
	const struct sn_track *track = sink->tracks + batch->track;
	if (track->nests || is_operation != track->is_device ||
	    (!is_operation && category != SN_ACTIVITY_API))
		return 0;
	event->link =
	    sn_order_find(&sink->order, is_operation, batch->track, event->start_ns, event->end_ns);
	if (!event->link || !is_operation || event->attribute_count == UINT16_MAX)
		return 0;
	const struct sn_event *copy = sn_sink_copy(&batch->more, event);
	if (!copy)
		return SN_ERR_MEMORY;
	((struct sn_attribute *)copy->attributes)[event->attribute_count++] = (struct sn_attribute){
	    sink->graphs.how_key, 0, sn_db_builder_string(sink->builder, "order of launches")};
	event->attributes = copy->attributes;
	return 0;
}

static int place_batch(void *context, unsigned worker, size_t slot)
{
	struct building *building = context;
	struct sn_track_sink *sink = building->sink;
	struct sn_sink_batch *batch = building->batches + slot;
	struct sn_track *track = sink->tracks + batch->track;
	int result = 0;
	sink->batch = batch;
	if (batch->is_first) {
		sn_sink_profile(sink, track);
		result = track->is_device ? sn_sink_device_begin(sink)
					  : sn_sink_thread_begin(sink, batch->track);
	}
	for (size_t i = 0; i < batch->event_count && !result; i++) {
		struct sn_event *event = batch->events + i;
		if (!event->link && event->kind == SONDE_TRACK_INTERVALS &&
		    (track->is_device || event->metric == SONDE_NONE) &&
		    infer_link(sink, batch, event))
			return SN_ERR_MEMORY;
		event->start_ns = sn_sink_time(sink, event->start_ns);
		event->end_ns = sn_sink_time(sink, event->end_ns);
		event->profile = track->profile;
		result = track->nests ? sn_sink_nested_event(sink, event)
			 : track->is_device
			     ? sn_sink_device_event(sink, event)
			     : sn_sink_thread_event(sink, event, batch->gradients[i]);
	}
	if (batch->is_last && !result) {
		result = track->nests	    ? sn_sink_nested_end(sink)
			 : track->is_device ? sn_sink_device_end(sink)
					    : sn_sink_thread_end(sink);
		sn_totals_flush(&sink->totals, sink->builder, track->profile);
	}
	return result;
}

void sn_sink_write(struct sn_track_sink *sink, const struct sn_event *event)
{
	struct sn_sink_batch *batch = sink->batch;
	batch->more.failed |=
	    sn_vec_push(&batch->ready, &batch->ready_capacity, &batch->ready_count, event) < 0;
}

struct sn_event *sn_sink_copy(struct sn_arena *arena, const struct sn_event *event)
{
	struct sn_event *copy = sn_arena_array(arena, struct sn_event, 1);
	struct sn_attribute *items =
	    sn_arena_array(arena, struct sn_attribute, event->attribute_count + 1u);
	if (!copy || !items)
		return NULL;
	if (event->attribute_count)
		memcpy(items, event->attributes, event->attribute_count * sizeof(*items));
	*copy = *event;
	copy->attributes = items;
	return copy;
}

/* ---- writing ---- */

static int write_batch(void *context, unsigned worker, size_t slot)
{
	struct building *building = context;
	const struct sn_sink_batch *batch = building->batches + slot;
	for (size_t i = 0; i < batch->ready_count; i++)
		sn_trace_writer_add(building->sink->writer, batch->ready[i]);
	sn_progress_add(batch->event_count);
	return batch->more.failed ? SN_ERR_MEMORY : 0;
}

/* ---- the file ---- */

SN_SORT_BY(sort_tracks, uint32_t, const struct sn_track *,
	   SN_ORDER(of[*a].is_device, of[*b].is_device)
	       ?: SN_ORDER(of[*b].forward_count, of[*a].forward_count)
	       ?: SN_ORDER(*a, *b));

static int run(struct building *building)
{
	static const struct sn_stage stages[STAGES] = {{read_batch, .stays = true},
						       {place_batch, .stays = true},
						       {write_batch, .stays = true}};
	struct sn_track_sink *sink = building->sink;
	for (int i = 0; i < BATCHES; i++) {
		struct sn_sink_batch *batch = building->batches + i;
		batch->events = calloc(BATCH_EVENTS, sizeof(*batch->events));
		batch->gradients = calloc(BATCH_EVENTS, sizeof(*batch->gradients));
		if (!batch->events || !batch->gradients)
			return SN_ERR_MEMORY;
	}
	for (uint32_t i = 0; i < sink->places.count; i++)
		/* a track without events or times has only a name */
		if (sink->tracks[i].event_count || sink->tracks[i].start_ns != UINT64_MAX)
			building->order[building->count++] = i;
	sort_tracks(building->order, building->count, sink->tracks);
	unsigned threads = sn_pool_threads(sink->jobs);
	return sn_stages_run(threads < STAGES ? threads : STAGES, stages, STAGES,
			     threads > 1 ? BATCHES : 1, building);
}

static void release(struct building *building)
{
	for (int i = 0; i < BATCHES; i++) {
		struct sn_sink_batch *batch = building->batches + i;
		free(batch->events);
		free(batch->gradients);
		free(batch->attributes);
		free(batch->ready);
		sn_arena_release(&batch->more);
	}
	free(building->order);
	free(building);
}

int sn_sink_build(struct sn_track_sink *sink, struct sn_error *error)
{
	struct building *building = calloc(1, sizeof(*building));
	if (!building)
		return sn_fail_memory(error);
	building->sink = sink;
	building->order = malloc((sink->places.count + 1ull) * sizeof(*building->order));
	struct sn_progress reading =
	    sn_progress_begin("ordering events", sn_sorter_count(sink->sorter));
	int result = sn_sorter_finish(sink->sorter, error);
	if (!result && (!building->order || sn_order_match(sink)))
		result = sn_fail_memory(error);
	if (!result && (result = run(building)))
		sn_fail(error, result, "%s",
			*building->why.text ? building->why.text : "out of memory");
	release(building);
	sn_progress_resume(&reading);
	return result;
}
