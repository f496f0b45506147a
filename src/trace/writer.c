/* SPDX-License-Identifier: Apache-2.0 */
/* From sorted events to tracks; see writer.h. */
#include "writer.h"

#include "base/spill.h"
#include "base/vec.h"
#include "block.h"
#include "lanes.h"
#include "pyramid.h"
#include "sorter.h"

#include <errno.h>
#include <string.h>

/* A track being written. */
struct lane {
	struct sonde_track track;
	struct sn_block block;
	struct sn_block_attribute *attributes; /* of the block */
	struct sn_block_entry *entries;	       /* of the track's blocks so far */
	size_t attribute_count, attribute_capacity, entry_count, entry_capacity;
	struct sn_pyramid pyramid;
};

struct sn_trace_writer {
	struct sn_db_events events; /* first: what the builder knows of this */
	struct sn_sorter *sorter;
	struct sonde_attribute_key *keys;
	size_t key_count, key_capacity;
	int failed;
	/* while finishing */
	const struct sn_db_numbers *numbers;
	struct sn_block_codec codec;
	struct sn_buffer encoded;
	struct sn_spill data, summaries;
	struct sn_lanes lanes;
	struct lane *open[SN_LANES_MAX + 1];
	struct sonde_track *tracks;
	struct sn_block_entry *entries;
	size_t track_count, track_capacity, entry_count, entry_capacity;
	uint64_t put_count;
};

static int make_sections(struct sn_db_events *events, const struct sn_db_numbers *numbers,
			 struct sn_db_section *sections, struct sn_error *error);
static void free_events(struct sn_db_events *events);

struct sn_trace_writer *sn_trace_writer_new(size_t memory_bytes, const char *folder)
{
	struct sn_trace_writer *writer = calloc(1, sizeof(*writer));
	if (!writer)
		return NULL;
	writer->events.sections = make_sections;
	writer->events.free = free_events;
	writer->data.fd = writer->summaries.fd = -1;
	writer->sorter = sn_sorter_new(memory_bytes, folder);
	if (!writer->sorter) {
		free(writer);
		return NULL;
	}
	writer->data.folder = writer->summaries.folder = sn_sorter_folder(writer->sorter);
	return writer;
}

static void lane_free(struct lane *lane)
{
	if (!lane)
		return;
	free(lane->attributes);
	free(lane->entries);
	free(lane->pyramid.summaries);
	free(lane);
}

void sn_trace_writer_free(struct sn_trace_writer *writer)
{
	if (!writer)
		return;
	for (unsigned i = 0; i <= SN_LANES_MAX; i++)
		lane_free(writer->open[i]);
	sn_block_codec_release(&writer->codec);
	sn_buffer_release(&writer->encoded);
	sn_spill_close(&writer->data);
	sn_spill_close(&writer->summaries);
	sn_sorter_free(writer->sorter);
	free(writer->keys);
	free(writer->tracks);
	free(writer->entries);
	free(writer);
}

static void free_events(struct sn_db_events *events)
{
	sn_trace_writer_free((struct sn_trace_writer *)events);
}

uint32_t sn_trace_writer_key(struct sn_trace_writer *writer, uint32_t name, uint32_t unit,
			     enum sonde_attribute_type type)
{
	for (uint32_t i = 0; i < writer->key_count; i++)
		if (writer->keys[i].name == name && writer->keys[i].type == type)
			return i;
	if (sn_vec_reserve(&writer->keys, &writer->key_capacity, writer->key_count + 1) < 0) {
		writer->failed = SN_ERR_MEMORY;
		return SONDE_NONE;
	}
	writer->keys[writer->key_count] = (struct sonde_attribute_key){name, unit, type};
	return (uint32_t)writer->key_count++;
}

void sn_trace_writer_add(struct sn_trace_writer *writer, const struct sn_event *event)
{
	sn_sorter_add(writer->sorter, event);
}

uint64_t sn_trace_writer_count(const struct sn_trace_writer *writer)
{
	return sn_sorter_count(writer->sorter);
}

void sn_trace_writer_attach(struct sn_trace_writer *writer, struct sn_db_builder *builder)
{
	sn_db_builder_set_events(builder, &writer->events);
}

static int end_block(struct sn_trace_writer *writer, struct lane *lane)
{
	struct sn_block_entry entry;
	if (!lane->block.count)
		return 0;
	writer->encoded.count = 0;
	if (sn_vec_reserve(&lane->entries, &lane->entry_capacity, lane->entry_count + 1) < 0 ||
	    sn_block_encode(&writer->codec, &lane->block, sonde_track_lasts(lane->track.kind),
			    lane->attributes, lane->attribute_count, &writer->encoded, &entry) < 0)
		return SN_ERR_MEMORY;
	entry.offset = writer->data.length;
	sn_spill_write(&writer->data, writer->encoded.bytes, writer->encoded.count);
	lane->entries[lane->entry_count++] = entry;
	lane->block.count = lane->attribute_count = 0;
	return 0;
}

/* The directory's part of a track that is complete. */
static int end_track(struct sn_trace_writer *writer, struct lane *lane)
{
	struct sonde_track *track = &lane->track;
	if (end_block(writer, lane) || sn_pyramid_finish(&lane->pyramid) ||
	    sn_vec_reserve(&writer->tracks, &writer->track_capacity, writer->track_count + 1) < 0 ||
	    sn_vec_reserve(&writer->entries, &writer->entry_capacity,
			   writer->entry_count + lane->entry_count) < 0)
		return SN_ERR_MEMORY;
	track->first_block = writer->entry_count;
	track->block_count = (uint32_t)lane->entry_count;
	track->first_summary = writer->summaries.length / sizeof(struct sn_summary);
	track->summary_count = (uint32_t)lane->pyramid.count;
	memcpy(writer->entries + writer->entry_count, lane->entries,
	       lane->entry_count * sizeof(*lane->entries));
	writer->entry_count += lane->entry_count;
	sn_spill_write(&writer->summaries, lane->pyramid.summaries,
		       lane->pyramid.count * sizeof(*lane->pyramid.summaries));
	writer->tracks[writer->track_count++] = *track;
	lane->entry_count = lane->pyramid.count = 0;
	track->event_count = 0;
	return 0;
}

static int end_tracks(struct sn_trace_writer *writer)
{
	for (unsigned i = 0; i <= SN_LANES_MAX; i++) {
		struct lane *lane = writer->open[i];
		if (lane && lane->track.event_count && end_track(writer, lane))
			return SN_ERR_MEMORY;
	}
	writer->lanes.count = 0;
	return 0;
}

/* The lane for an event in final numbers, ready to take it. NULL without memory. */
static struct lane *open_lane(struct sn_trace_writer *writer, const struct sn_event *event)
{
	uint32_t number = 0;
	if (sonde_track_lasts(event->kind))
		number = sn_lanes_place(&writer->lanes, event->start_ns, event->end_ns);
	if (!writer->open[number])
		writer->open[number] = calloc(1, sizeof(struct lane));
	struct lane *lane = writer->open[number];
	if (!lane || lane->track.event_count)
		return lane;
	lane->track = (struct sonde_track){
	    .profile = event->profile,
	    .kind = event->kind,
	    .flags = number == SN_LANES_MAX ? SONDE_TRACK_OVERLAPS : 0,
	    .metric = event->metric,
	    .lane = number,
	    .start_ns = event->start_ns,
	};
	lane->pyramid.kind = event->kind;
	return lane;
}

static int put_attributes(const struct sn_trace_writer *writer, struct lane *lane,
			  const struct sn_event *event)
{
	if (sn_vec_reserve(&lane->attributes, &lane->attribute_capacity,
			   lane->attribute_count + event->attribute_count) < 0)
		return SN_ERR_MEMORY;
	for (unsigned i = 0; i < event->attribute_count; i++) {
		const struct sn_attribute *attribute = event->attributes + i;
		bool is_string = writer->keys[attribute->key].type == SONDE_ATTRIBUTE_STRING;
		lane->attributes[lane->attribute_count++] = (struct sn_block_attribute){
		    .key = attribute->key,
		    .place = (uint32_t)lane->block.count,
		    .value =
			is_string ? writer->numbers->strings[attribute->value] : attribute->value,
		};
	}
	return 0;
}

static int put_event(struct sn_trace_writer *writer, const struct sn_event *event)
{
	struct lane *lane = open_lane(writer, event);
	if (!lane)
		return SN_ERR_MEMORY;
	struct sn_block *block = &lane->block;
	if (block->count == SN_BLOCK_EVENTS && end_block(writer, lane))
		return SN_ERR_MEMORY;
	if (event->attribute_count && put_attributes(writer, lane, event))
		return SN_ERR_MEMORY;
	block->starts_ns[block->count] = event->start_ns;
	block->ends_ns[block->count] = event->end_ns;
	block->links[block->count] = event->link;
	block->contexts[block->count++] = event->context;
	lane->track.event_count++;
	writer->put_count++;
	if (event->end_ns > lane->track.end_ns)
		lane->track.end_ns = event->end_ns;
	return sn_pyramid_add(&lane->pyramid, event->start_ns, event->end_ns, event->context);
}

/* Gives an event final numbers; false where it refers to nothing. */
static bool renumber(const struct sn_trace_writer *writer, struct sn_event *event)
{
	const struct sn_db_numbers *numbers = writer->numbers;
	bool is_counter = event->kind == SONDE_TRACK_COUNTER;
	if (event->context >= numbers->context_count || event->end_ns < event->start_ns ||
	    (is_counter && event->metric >= numbers->metric_count))
		return false;
	event->profile = numbers->profiles[event->profile];
	event->context = numbers->contexts[event->context];
	event->metric = is_counter ? numbers->metrics[event->metric] : SONDE_NONE;
	if (!sonde_track_lasts(event->kind))
		event->end_ns = event->start_ns;
	for (unsigned i = 0; i < event->attribute_count; i++) {
		const struct sn_attribute *attribute = event->attributes + i;
		if (attribute->key >= writer->key_count ||
		    (writer->keys[attribute->key].type == SONDE_ATTRIBUTE_STRING &&
		     attribute->value >= numbers->string_count))
			return false;
	}
	return true;
}

static int put_profile(struct sn_trace_writer *writer, uint32_t profile, struct sn_error *error)
{
	struct sn_event event;
	unsigned kind = 0;
	uint32_t metric = SONDE_NONE;
	int result = sn_sorter_begin(writer->sorter, profile, error);
	while (!result && (result = sn_sorter_next(writer->sorter, &event, error)) > 0) {
		if (!renumber(writer, &event))
			return sn_fail(error, SN_ERR_ARGUMENT, "an event refers to nothing");
		result = 0;
		if (event.kind != kind || event.metric != metric)
			result = end_tracks(writer);
		kind = event.kind;
		metric = event.metric;
		if (!result)
			result = put_event(writer, &event);
		if (result)
			return sn_fail(error, result, "out of memory");
	}
	if (!result && end_tracks(writer))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return result;
}

static int compare_tracks(const void *left, const void *right)
{
	const struct sonde_track *a = left, *b = right;
	if (a->profile != b->profile)
		return a->profile < b->profile ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	return (a->lane > b->lane) - (a->lane < b->lane);
}

static void renumber_keys(struct sn_trace_writer *writer)
{
	const struct sn_db_numbers *numbers = writer->numbers;
	for (size_t i = 0; i < writer->key_count; i++) {
		struct sonde_attribute_key *key = writer->keys + i;
		key->name = numbers->strings[key->name];
		key->unit = key->unit == SONDE_NONE ? SONDE_NONE : numbers->strings[key->unit];
	}
}

static int make_sections(struct sn_db_events *events, const struct sn_db_numbers *numbers,
			 struct sn_db_section *sections, struct sn_error *error)
{
	struct sn_trace_writer *writer = (struct sn_trace_writer *)events;
	writer->numbers = numbers;
	int result = writer->failed;
	if (result)
		return sn_fail(error, result, "out of memory");
	result = sn_sorter_finish(writer->sorter, error);
	for (uint32_t i = 0; i < numbers->profile_count && !result; i++)
		result = put_profile(writer, numbers->profile_at[i], error);
	if (!result && writer->put_count != sn_sorter_count(writer->sorter))
		result = sn_fail(error, SN_ERR_ARGUMENT, "an event refers to nothing");
	if (!result)
		result = sn_spill_finish(&writer->data, error);
	if (!result)
		result = sn_spill_finish(&writer->summaries, error);
	if (result)
		return result;
	if (writer->track_count)
		qsort(writer->tracks, writer->track_count, sizeof(*writer->tracks), compare_tracks);
	renumber_keys(writer);
	sections[SN_DB_EVENT_TRACKS] = (struct sn_db_section){
	    writer->tracks, -1, writer->track_count * sizeof(*writer->tracks)};
	sections[SN_DB_EVENT_KEYS] =
	    (struct sn_db_section){writer->keys, -1, writer->key_count * sizeof(*writer->keys)};
	sections[SN_DB_EVENT_BLOCKS] = (struct sn_db_section){
	    writer->entries, -1, writer->entry_count * sizeof(*writer->entries)};
	sections[SN_DB_EVENT_DATA] =
	    (struct sn_db_section){NULL, writer->data.fd, writer->data.length};
	sections[SN_DB_EVENT_SUMMARIES] =
	    (struct sn_db_section){NULL, writer->summaries.fd, writer->summaries.length};
	return 0;
}
