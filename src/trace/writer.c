/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes sorted events as tracks.
 *
 * Profiles are work items: each thread makes tracks of its own (struct worker), and what it writes
 * for a profile is a piece of them. Pieces are joined in the order of profiles, so that the result
 * does not depend on which thread made them.
 */
#include "writer.h"

#include "base/pool.h"
#include "base/progress/progress.h"
#include "base/sort_by.h"
#include "base/spill.h"
#include "base/vec.h"
#include "format/events/block.h"
#include "format/events/pyramid.h"
#include "lanes.h"
#include "sorter.h"

#include <errno.h>
#include <string.h>

/* A track being written. */
struct lane {
	struct sonde_track track;
	struct sn_block block;
	struct sn_block_attribute *attributes; /* of the current block */
	struct sn_block_entry *entries;	       /* the track's blocks so far */
	size_t attribute_count, attribute_capacity, entry_count, entry_capacity;
	struct sn_pyramid pyramid;
};

/* The output of one thread. */
struct worker {
	struct sn_trace_writer *writer;
	struct sn_sorter_reader *reader;
	struct sn_error error;
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

/* A position in a worker's output. */
struct place {
	size_t track, entry;
	uint64_t data, summaries; /* bytes */
};

/* A worker's output for one profile. */
struct piece {
	const struct worker *worker; /* NULL: no output */
	struct place begin, end;
};

struct sn_trace_writer {
	struct sn_db_events events; /* first, because the builder refers to it */
	struct sn_sorter *sorter;
	struct sonde_attribute_key *keys;
	size_t key_count, key_capacity;
	int failed;
	/* while finishing */
	const struct sn_db_numbers *numbers;
	struct worker *workers;
	unsigned worker_count;
	struct piece *pieces; /* [final profile] */
	struct sonde_track *tracks;
	struct sn_block_entry *entries;
	size_t track_count, entry_count;
	struct sn_db_extract *data, *summaries;
	size_t data_count, summary_count;
};

static int make_sections(struct sn_db_events *events, const struct sn_db_numbers *numbers,
			 unsigned threads, struct sn_db_section *sections, struct sn_error *error);
static void free_events(struct sn_db_events *events);

struct sn_trace_writer *sn_trace_writer_new(size_t memory_bytes, const char *folder)
{
	struct sn_trace_writer *writer = calloc(1, sizeof(*writer));
	if (!writer)
		return NULL;
	writer->events.sections = make_sections;
	writer->events.free = free_events;
	writer->sorter = sn_sorter_new(memory_bytes, folder);
	if (!writer->sorter) {
		free(writer);
		return NULL;
	}
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

static void release_worker(struct worker *worker)
{
	for (unsigned i = 0; i <= SN_LANES_MAX; i++)
		lane_free(worker->open[i]);
	sn_sorter_reader_free(worker->reader);
	sn_block_codec_release(&worker->codec);
	sn_buffer_release(&worker->encoded);
	sn_spill_close(&worker->data);
	sn_spill_close(&worker->summaries);
	free(worker->tracks);
	free(worker->entries);
}

void sn_trace_writer_free(struct sn_trace_writer *writer)
{
	if (!writer)
		return;
	for (unsigned i = 0; i < writer->worker_count; i++)
		release_worker(writer->workers + i);
	sn_sorter_free(writer->sorter);
	free(writer->workers);
	free(writer->pieces);
	free(writer->keys);
	free(writer->tracks);
	free(writer->entries);
	free(writer->data);
	free(writer->summaries);
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
	if (sn_vec_push(&writer->keys, &writer->key_capacity, &writer->key_count,
			(struct sonde_attribute_key){name, unit, type})) {
		writer->failed = SN_ERR_MEMORY;
		return SONDE_NONE;
	}
	return (uint32_t)writer->key_count - 1;
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

static int end_block(struct worker *worker, struct lane *lane)
{
	struct sn_block_entry entry;
	if (!lane->block.count)
		return 0;
	worker->encoded.count = 0;
	if (sn_vec_reserve(&lane->entries, &lane->entry_capacity, lane->entry_count + 1) < 0 ||
	    sn_block_encode(&worker->codec, &lane->block, sonde_track_lasts(lane->track.kind),
			    lane->attributes, lane->attribute_count, &worker->encoded, &entry) < 0)
		return SN_ERR_MEMORY;
	entry.offset = worker->data.length;
	sn_spill_write(&worker->data, worker->encoded.bytes, worker->encoded.count);
	lane->entries[lane->entry_count++] = entry;
	sn_progress_add(lane->block.count);
	lane->block.count = lane->attribute_count = 0;
	return 0;
}

/* Completes a track's entry in the directory. */
static int end_track(struct worker *worker, struct lane *lane)
{
	struct sonde_track *track = &lane->track;
	if (end_block(worker, lane) || sn_pyramid_finish(&lane->pyramid) ||
	    sn_vec_reserve(&worker->tracks, &worker->track_capacity, worker->track_count + 1) < 0 ||
	    sn_vec_reserve(&worker->entries, &worker->entry_capacity,
			   worker->entry_count + lane->entry_count) < 0)
		return SN_ERR_MEMORY;
	track->first_block = worker->entry_count;
	track->block_count = (uint32_t)lane->entry_count;
	track->first_summary = worker->summaries.length / sizeof(struct sn_summary);
	track->summary_count = (uint32_t)lane->pyramid.count;
	memcpy(worker->entries + worker->entry_count, lane->entries,
	       lane->entry_count * sizeof(*lane->entries));
	worker->entry_count += lane->entry_count;
	sn_spill_write(&worker->summaries, lane->pyramid.summaries,
		       lane->pyramid.count * sizeof(*lane->pyramid.summaries));
	worker->tracks[worker->track_count++] = *track;
	lane->entry_count = lane->pyramid.count = 0;
	track->event_count = 0;
	return 0;
}

static int end_tracks(struct worker *worker)
{
	for (unsigned i = 0; i <= SN_LANES_MAX; i++) {
		struct lane *lane = worker->open[i];
		if (lane && lane->track.event_count && end_track(worker, lane))
			return SN_ERR_MEMORY;
	}
	worker->lanes.count = 0;
	return 0;
}

/* The lane for an event, whose numbers are final, ready to take it. NULL without memory. */
static struct lane *open_lane(struct worker *worker, const struct sn_event *event)
{
	uint32_t number = 0;
	if (sonde_track_lasts(event->kind))
		number = sn_lanes_place(&worker->lanes, event->start_ns, event->end_ns);
	if (!worker->open[number])
		worker->open[number] = calloc(1, sizeof(struct lane));
	struct lane *lane = worker->open[number];
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

static int put_event(struct worker *worker, const struct sn_event *event)
{
	struct lane *lane = open_lane(worker, event);
	if (!lane)
		return SN_ERR_MEMORY;
	struct sn_block *block = &lane->block;
	if (block->count == SN_BLOCK_EVENTS && end_block(worker, lane))
		return SN_ERR_MEMORY;
	if (event->attribute_count && put_attributes(worker->writer, lane, event))
		return SN_ERR_MEMORY;
	block->starts_ns[block->count] = event->start_ns;
	block->ends_ns[block->count] = event->end_ns;
	block->links[block->count] = event->link;
	block->contexts[block->count++] = event->context;
	lane->track.event_count++;
	worker->put_count++;
	if (event->end_ns > lane->track.end_ns)
		lane->track.end_ns = event->end_ns;
	return sn_pyramid_add(&lane->pyramid, event->start_ns, event->end_ns, event->context);
}

/* Replaces an event's numbers by final ones; false if it refers to an unknown context or metric. */
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

static int put_profile(struct worker *worker, uint32_t profile, struct sn_error *error)
{
	struct sn_event event;
	unsigned kind = 0;
	uint32_t metric = SONDE_NONE;
	int result = sn_sorter_reader_begin(worker->reader, profile, error);
	while (!result && (result = sn_sorter_reader_next(worker->reader, &event, error)) > 0) {
		if (!renumber(worker->writer, &event))
			return sn_fail(error, SN_ERR_ARGUMENT, "an event refers to nothing");
		result = 0;
		if (event.kind != kind || event.metric != metric)
			result = end_tracks(worker);
		kind = event.kind;
		metric = event.metric;
		if (!result)
			result = put_event(worker, &event);
		if (result)
			return sn_fail_code(error, result);
	}
	if (!result && end_tracks(worker))
		return sn_fail_memory(error);
	return result;
}

static struct place place_of(const struct worker *worker)
{
	return (struct place){worker->track_count, worker->entry_count, worker->data.length,
			      worker->summaries.length};
}

static int write_profile(void *context, unsigned number, size_t profile)
{
	struct sn_trace_writer *writer = context;
	struct worker *worker = writer->workers + number;
	struct place begin = place_of(worker);
	int result = put_profile(worker, writer->numbers->profile_at[profile], &worker->error);
	if (worker->track_count > begin.track)
		writer->pieces[profile] = (struct piece){worker, begin, place_of(worker)};
	return result;
}

static int start_workers(struct sn_trace_writer *writer, unsigned threads)
{
	writer->workers = calloc(threads, sizeof(*writer->workers));
	writer->pieces = calloc(writer->numbers->profile_count + 1ull, sizeof(*writer->pieces));
	if (!writer->workers || !writer->pieces)
		return SN_ERR_MEMORY;
	for (; writer->worker_count < threads; writer->worker_count++) {
		struct worker *worker = writer->workers + writer->worker_count;
		worker->writer = writer;
		worker->data.fd = worker->summaries.fd = -1;
		worker->data.folder = worker->summaries.folder = sn_sorter_folder(writer->sorter);
		worker->reader = sn_sorter_reader_new(writer->sorter);
		if (!worker->reader)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int write_profiles(struct sn_trace_writer *writer, unsigned threads, struct sn_error *error)
{
	uint64_t put_count = 0;
	if (start_workers(writer, threads))
		return sn_fail_memory(error);
	sn_progress_begin("writing events", sn_sorter_count(writer->sorter));
	int result = sn_pool_run(threads, writer->numbers->profile_count, write_profile, writer);
	for (unsigned i = 0; i < threads; i++) {
		struct worker *worker = writer->workers + i;
		if (*worker->error.text)
			return sn_fail_again(error, result, &worker->error);
		put_count += worker->put_count;
	}
	if (put_count != sn_sorter_count(writer->sorter))
		return sn_fail(error, SN_ERR_ARGUMENT, "an event refers to nothing");
	for (unsigned i = 0; i < 2 * threads && !result; i++)
		result = sn_spill_finish(i % 2 ? &writer->workers[i / 2].summaries
					       : &writer->workers[i / 2].data,
					 error);
	return result;
}

SN_SORT_BY(sort_tracks, struct sonde_track, const void *,
	   SN_ORDER(a->profile, b->profile) ?: SN_ORDER(a->kind, b->kind) ?:
	   SN_ORDER(a->metric, b->metric) ?: SN_ORDER(a->lane, b->lane));

/* Appends a range of a file's bytes. */
static void add_extract(struct sn_db_extract *extracts, size_t *count, int fd, uint64_t begin,
			uint64_t end)
{
	struct sn_db_extract *last = *count ? extracts + *count - 1 : NULL;
	if (last && last->fd == fd && last->offset + last->length == begin)
		last->length += end - begin;
	else if (end > begin)
		extracts[(*count)++] = (struct sn_db_extract){fd, begin, end - begin};
}

/* Appends a profile's tracks to those of the profiles before, whose data and summaries
 * have these sizes. */
static void join_piece(struct sn_trace_writer *writer, const struct piece *piece, uint64_t data,
		       uint64_t summaries)
{
	const struct worker *worker = piece->worker;
	const struct place *begin = &piece->begin, *end = &piece->end;
	uint64_t first_summary = begin->summaries / sizeof(struct sn_summary);
	for (size_t i = begin->track; i < end->track; i++) {
		struct sonde_track *track = writer->tracks + writer->track_count++;
		*track = worker->tracks[i];
		track->first_block += writer->entry_count - begin->entry;
		track->first_summary += summaries / sizeof(struct sn_summary) - first_summary;
	}
	for (size_t i = begin->entry; i < end->entry; i++) {
		struct sn_block_entry *entry = writer->entries + writer->entry_count++;
		*entry = worker->entries[i];
		entry->offset += data - begin->data;
	}
	add_extract(writer->data, &writer->data_count, worker->data.fd, begin->data, end->data);
	add_extract(writer->summaries, &writer->summary_count, worker->summaries.fd,
		    begin->summaries, end->summaries);
}

static int join_pieces(struct sn_trace_writer *writer, struct place *all)
{
	uint32_t profiles = writer->numbers->profile_count;
	size_t tracks = 0, entries = 0, pieces = 0;
	for (unsigned i = 0; i < writer->worker_count; i++) {
		tracks += writer->workers[i].track_count;
		entries += writer->workers[i].entry_count;
	}
	for (uint32_t i = 0; i < profiles; i++)
		pieces += writer->pieces[i].worker != NULL;
	writer->tracks = malloc((tracks + 1) * sizeof(*writer->tracks));
	writer->entries = malloc((entries + 1) * sizeof(*writer->entries));
	writer->data = malloc((pieces + 1) * sizeof(*writer->data));
	writer->summaries = malloc((pieces + 1) * sizeof(*writer->summaries));
	if (!writer->tracks || !writer->entries || !writer->data || !writer->summaries)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < profiles; i++) {
		const struct piece *piece = writer->pieces + i;
		if (!piece->worker)
			continue;
		join_piece(writer, piece, all->data, all->summaries);
		all->data += piece->end.data - piece->begin.data;
		all->summaries += piece->end.summaries - piece->begin.summaries;
	}
	sort_tracks(writer->tracks, writer->track_count, NULL);
	return 0;
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
			 unsigned threads, struct sn_db_section *sections, struct sn_error *error)
{
	struct sn_trace_writer *writer = (struct sn_trace_writer *)events;
	struct place all = {0};
	writer->numbers = numbers;
	int result =
	    writer->failed ? sn_fail_memory(error) : sn_sorter_finish(writer->sorter, error);
	if (!result)
		result = write_profiles(writer, threads, error);
	if (result)
		return result;
	if (join_pieces(writer, &all))
		return sn_fail_memory(error);
	renumber_keys(writer);
	sections[SN_DB_EVENT_TRACKS] = (struct sn_db_section){
	    .data = writer->tracks, .length = writer->track_count * sizeof(*writer->tracks)};
	sections[SN_DB_EVENT_KEYS] = (struct sn_db_section){
	    .data = writer->keys, .length = writer->key_count * sizeof(*writer->keys)};
	sections[SN_DB_EVENT_BLOCKS] = (struct sn_db_section){
	    .data = writer->entries, .length = writer->entry_count * sizeof(*writer->entries)};
	sections[SN_DB_EVENT_DATA] =
	    (struct sn_db_section){.extracts = writer->data, .length = all.data};
	sections[SN_DB_EVENT_SUMMARIES] =
	    (struct sn_db_section){.extracts = writer->summaries, .length = all.summaries};
	return 0;
}
