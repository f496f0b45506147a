/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External merge sort of events.
 *
 * Each stream (a profile's events of one kind and metric) has an array of records. A record that
 * comes slightly late, as that of a kernel that ended before an earlier one, is moved to its place
 * at once; a stream that is out of order by more is sorted when memory is full, or at the end. When
 * memory is full, all streams are written to one file, in frames that are read back one at a time.
 * What a stream writes at once is a run; the last run stays in memory. Among equal records that of
 * the older run comes first.
 */
#include "sorter.h"

#include "base/intern.h"
#include "base/sort_by.h"
#include "base/spill.h"
#include "base/vec.h"
#include "record.h"

#define MEMORY_BYTES  (256u << 20)
#define FRAME_RECORDS 1024u
#define LATE_MAX      32u /* places by which a late record is moved at most */
#define NEAR_MAX      8	  /* recently used streams of a profile that are tried before hashing */

/* Records that are written and read back together. */
struct frame {
	uint64_t offset;
	uint32_t bytes, count, attribute_count;
	uint32_t reserved;
};

/* Consecutive frames in the file. */
struct run {
	size_t first_frame, frame_count;
};

struct stream {
	uint32_t profile, metric;
	uint16_t kind;
	bool is_disordered;
	uint32_t next; /* next stream of the profile, + 1; 0: none */
	struct sn_record *records;
	struct sn_attribute *attributes;
	size_t record_count, record_capacity, attribute_count, attribute_capacity;
	struct run *runs;
	size_t run_count, run_capacity;
};

/* A run being read: the frames left, and the records of the current one. */
struct source {
	struct run left;
	struct sn_record *records;
	struct sn_attribute *attributes;
	size_t at, count;
	size_t record_capacity, attribute_capacity;
	bool owns_buffers; /* otherwise they belong to the stream */
};

/* A profile being read: its streams in order, and the runs of the current one. */
struct sn_sorter_reader {
	struct sn_sorter *sorter;
	int failed;
	struct sn_error why;
	struct sn_buffer bytes; /* one frame */
	uint32_t *queue;
	size_t queue_at, queue_count, queue_capacity;
	const struct stream *stream;
	struct source *sources;
	struct source **order; /* sources with records left, sorted by their heads */
	size_t source_count, source_capacity, ordered_count, order_capacity;
};

struct sn_sorter {
	int failed;
	struct sn_error why;
	char *folder;
	size_t memory_bytes, used_bytes;
	uint64_t total;
	struct stream *streams;
	size_t stream_count, stream_capacity;
	struct sn_intern keys;	 /* by profile, metric and kind: index in streams */
	uint32_t *first_streams; /* by profile: the stream used last, + 1 */
	size_t profile_count, profile_capacity;
	struct sn_spill file;
	struct frame *frames;
	size_t frame_count, frame_capacity;
	struct sn_buffer bytes; /* one frame */
	struct sn_sorter_reader own;
};

struct sn_sorter *sn_sorter_new(size_t memory_bytes, const char *folder)
{
	struct sn_sorter *sorter = calloc(1, sizeof(*sorter));
	if (!sorter)
		return NULL;
	sorter->folder = strdup(sn_spill_folder(folder));
	sorter->memory_bytes = memory_bytes ? memory_bytes : MEMORY_BYTES;
	if (!sorter->folder) {
		free(sorter);
		return NULL;
	}
	sorter->own.sorter = sorter;
	sorter->file = (struct sn_spill){.folder = sorter->folder, .fd = -1};
	return sorter;
}

static void end_sources(struct sn_sorter_reader *reader)
{
	for (size_t i = 0; i < reader->source_count; i++) {
		if (!reader->sources[i].owns_buffers)
			continue;
		free(reader->sources[i].records);
		free(reader->sources[i].attributes);
	}
	reader->source_count = reader->ordered_count = 0;
}

static void release_reader(struct sn_sorter_reader *reader)
{
	end_sources(reader);
	sn_buffer_release(&reader->bytes);
	free(reader->queue);
	free(reader->sources);
	free(reader->order);
}

static void forget_records(struct stream *stream)
{
	free(stream->records);
	free(stream->attributes);
	stream->records = NULL;
	stream->attributes = NULL;
	stream->record_count = stream->record_capacity = 0;
	stream->attribute_count = stream->attribute_capacity = 0;
	stream->is_disordered = false;
}

void sn_sorter_free(struct sn_sorter *sorter)
{
	if (!sorter)
		return;
	release_reader(&sorter->own);
	for (size_t i = 0; i < sorter->stream_count; i++) {
		forget_records(sorter->streams + i);
		free(sorter->streams[i].runs);
	}
	sn_spill_close(&sorter->file);
	sn_buffer_release(&sorter->bytes);
	free(sorter->streams);
	free(sorter->first_streams);
	sn_intern_release(&sorter->keys);
	free(sorter->frames);
	free(sorter->folder);
	free(sorter);
}

uint64_t sn_sorter_count(const struct sn_sorter *sorter)
{
	return sorter->total;
}

const char *sn_sorter_folder(const struct sn_sorter *sorter)
{
	return sorter->folder;
}

static int no_memory(struct sn_sorter *sorter)
{
	if (!sorter->failed)
		sorter->failed = sn_fail_memory(&sorter->why);
	return sorter->failed;
}

/* ---- order ---- */

/* Whether b, which came later, belongs before a. Of intervals with the same start the
 * longer comes first. */
static inline bool is_before(const struct sn_record *b, const struct sn_record *a,
			     bool are_intervals)
{
	if (a->start_ns != b->start_ns)
		return b->start_ns < a->start_ns;
	return are_intervals && b->end_ns > a->end_ns;
}

SN_MERGE_SORT(sort_records, struct sn_record, bool, is_before(b, a, of));

static int sort(struct stream *stream)
{
	if (sort_records(&stream->records, stream->record_count, sonde_track_lasts(stream->kind)))
		return SN_ERR_MEMORY;
	stream->record_capacity = stream->record_count;
	stream->is_disordered = false;
	return 0;
}

/* ---- adding ---- */

static struct stream *new_stream(struct sn_sorter *sorter, const struct sn_event *event)
{
	size_t old_count = sorter->profile_count, profile = event->profile;
	uint32_t key[3] = {event->profile, event->metric, event->kind};
	if (sn_vec_reserve(&sorter->streams, &sorter->stream_capacity, sorter->stream_count + 1) ||
	    sn_vec_reserve(&sorter->first_streams, &sorter->profile_capacity, profile + 1) < 0 ||
	    sn_intern_add(&sorter->keys, key, sizeof(key)) != sorter->stream_count) {
		no_memory(sorter);
		return NULL;
	}
	if (profile >= old_count) {
		memset(sorter->first_streams + old_count, 0,
		       (profile + 1 - old_count) * sizeof(*sorter->first_streams));
		sorter->profile_count = profile + 1;
	}
	struct stream *stream = sorter->streams + sorter->stream_count++;
	*stream = (struct stream){.profile = event->profile,
				  .metric = event->metric,
				  .kind = event->kind,
				  .next = sorter->first_streams[profile]};
	sorter->first_streams[profile] = (uint32_t)sorter->stream_count;
	return stream;
}

/* Finds or creates the event's stream and moves it to the front, because the next event is likely
 * its own as well. */
static struct stream *stream_of(struct sn_sorter *sorter, const struct sn_event *event)
{
	if (event->profile >= sorter->profile_count)
		return new_stream(sorter, event);
	uint32_t *link = sorter->first_streams + event->profile;
	for (int near = 0; *link && near < NEAR_MAX; near++) {
		struct stream *stream = sorter->streams + *link - 1;
		if (stream->kind == event->kind && stream->metric == event->metric) {
			uint32_t found = *link;
			*link = stream->next;
			stream->next = sorter->first_streams[event->profile];
			sorter->first_streams[event->profile] = found;
			return stream;
		}
		link = &stream->next;
	}
	uint32_t key[3] = {event->profile, event->metric, event->kind};
	uint32_t number = *link ? sn_intern_find(&sorter->keys, key, sizeof(key)) : SN_INTERN_NONE;
	return number == SN_INTERN_NONE ? new_stream(sorter, event) : sorter->streams + number;
}

/* Writes the records that a stream has in memory as a run. */
static int write_run(struct sn_sorter *sorter, struct stream *stream)
{
	if (stream->is_disordered && sort(stream))
		return no_memory(sorter);
	if (sn_vec_reserve(&stream->runs, &stream->run_capacity, stream->run_count + 1) < 0)
		return no_memory(sorter);
	struct run *run = stream->runs + stream->run_count++;
	*run = (struct run){.first_frame = sorter->frame_count};
	for (size_t first = 0; first < stream->record_count; first += FRAME_RECORDS) {
		size_t left = stream->record_count - first;
		const struct sn_record *records = stream->records + first;
		struct frame frame = {
		    .offset = sorter->file.length,
		    .count = (uint32_t)(left < FRAME_RECORDS ? left : FRAME_RECORDS),
		};
		sorter->bytes.count = 0;
		frame.attribute_count =
		    sn_records_encode(records, frame.count, stream->attributes, &sorter->bytes);
		if (sorter->bytes.failed || sn_vec_reserve(&sorter->frames, &sorter->frame_capacity,
							   sorter->frame_count + 1) < 0)
			return no_memory(sorter);
		frame.bytes = (uint32_t)sorter->bytes.count;
		sn_spill_write(&sorter->file, sorter->bytes.bytes, frame.bytes);
		sorter->frames[sorter->frame_count++] = frame;
		run->frame_count++;
	}
	stream->record_count = stream->attribute_count = 0;
	return 0;
}

/* Writes all streams. They keep their memory for the next records, except those that had none. */
static void spill(struct sn_sorter *sorter)
{
	for (size_t i = 0; i < sorter->stream_count && !sorter->failed; i++) {
		if (sorter->streams[i].record_count)
			write_run(sorter, sorter->streams + i);
		else
			forget_records(sorter->streams + i);
	}
	sorter->used_bytes = 0;
	if (sorter->file.failed && !sorter->failed)
		sorter->failed = sn_spill_finish(&sorter->file, &sorter->why);
}

static int make_room(struct sn_sorter *sorter, struct stream *stream, size_t attribute_count)
{
	if (sn_vec_reserve(&stream->records, &stream->record_capacity, stream->record_count + 1) ||
	    (attribute_count && sn_vec_reserve(&stream->attributes, &stream->attribute_capacity,
					       stream->attribute_count + attribute_count) < 0))
		return no_memory(sorter);
	/* arrays may have half as much again in reserve, and sorting needs the records twice */
	sorter->used_bytes +=
	    2 * sizeof(*stream->records) + attribute_count * (sizeof(*stream->attributes) * 3 / 2);
	return 0;
}

/* Moves the last record, which came late, to its place, unless that is too far. */
static void put_in_order(struct stream *stream)
{
	struct sn_record *records = stream->records, late = records[stream->record_count - 1];
	bool are_intervals = sonde_track_lasts(stream->kind);
	size_t place = stream->record_count - 1, stop = place < LATE_MAX ? 0 : place - LATE_MAX;
	while (place > stop && is_before(&late, records + place - 1, are_intervals))
		place--;
	if (place && is_before(&late, records + place - 1, are_intervals)) {
		stream->is_disordered = true;
		return;
	}
	memmove(records + place + 1, records + place,
		(stream->record_count - 1 - place) * sizeof(*records));
	records[place] = late;
}

void sn_sorter_add(struct sn_sorter *sorter, const struct sn_event *event)
{
	if (sorter->used_bytes >= sorter->memory_bytes && !sorter->failed)
		spill(sorter);
	if (sorter->failed)
		return;
	struct stream *stream = stream_of(sorter, event);
	if (!stream || make_room(sorter, stream, event->attribute_count))
		return;
	struct sn_record *record = stream->records + stream->record_count++;
	*record = (struct sn_record){
	    .start_ns = event->start_ns,
	    .end_ns = event->end_ns,
	    .link = event->link,
	    .first_attribute = stream->attribute_count,
	    .context = event->context,
	    .attribute_count = event->attribute_count,
	};
	if (event->attribute_count)
		memcpy(stream->attributes + stream->attribute_count, event->attributes,
		       event->attribute_count * sizeof(*event->attributes));
	stream->attribute_count += event->attribute_count;
	sorter->total++;
	/* the place of the stream's next records, while other streams have their turns */
	__builtin_prefetch(record + 3, 1);
	if (stream->record_count > 1 && !stream->is_disordered &&
	    is_before(record, record - 1, sonde_track_lasts(stream->kind)))
		put_in_order(stream);
}

int sn_sorter_finish(struct sn_sorter *sorter, struct sn_error *error)
{
	if (!sorter->failed)
		sorter->failed = sn_spill_finish(&sorter->file, &sorter->why);
	return sn_fail_again(error, sorter->failed, &sorter->why);
}

/* ---- reading ---- */

static int lacks_memory(struct sn_sorter_reader *reader)
{
	if (!reader->failed)
		reader->failed = sn_fail_memory(&reader->why);
	return reader->failed;
}

/* Reads the next frame of a run; none if it has been read completely. */
static int refill(struct sn_sorter_reader *reader, struct source *source)
{
	source->at = source->count = 0;
	if (!source->left.frame_count)
		return 0;
	const struct frame *frame = reader->sorter->frames + source->left.first_frame++;
	source->left.frame_count--;
	reader->bytes.count = 0;
	unsigned char *bytes = sn_buffer_room(&reader->bytes, frame->bytes);
	if (!bytes ||
	    sn_vec_reserve(&source->records, &source->record_capacity, frame->count) < 0 ||
	    sn_vec_reserve(&source->attributes, &source->attribute_capacity,
			   frame->attribute_count) < 0)
		return lacks_memory(reader);
	reader->failed =
	    sn_spill_read(&reader->sorter->file, bytes, frame->bytes, frame->offset, &reader->why);
	if (!reader->failed &&
	    !sn_records_decode((struct sn_span){bytes, frame->bytes}, source->records, frame->count,
			       source->attributes, frame->attribute_count))
		reader->failed =
		    sn_fail(&reader->why, SN_ERR_IO, "cannot read a temporary file: it is damaged");
	if (reader->failed)
		return reader->failed;
	source->count = frame->count;
	return 0;
}

/* Moves the source at `place` back until its head is in order. Among equal heads the older run,
 * which is first among the sources, comes first. Few runs overlap, so the way is short. */
static void settle(struct sn_sorter_reader *reader, size_t place)
{
	bool are_intervals = sonde_track_lasts(reader->stream->kind);
	struct source **order = reader->order, *moved = order[place];
	const struct sn_record *head = moved->records + moved->at;
	for (; place + 1 < reader->ordered_count; place++) {
		const struct source *next = order[place + 1];
		const struct sn_record *other = next->records + next->at;
		if (next > moved ? !is_before(other, head, are_intervals)
				 : is_before(head, other, are_intervals))
			break;
		order[place] = order[place + 1];
	}
	order[place] = moved;
}

static void order_sources(struct sn_sorter_reader *reader)
{
	reader->ordered_count = 0;
	for (size_t i = reader->source_count; i--;) {
		if (reader->sources[i].at == reader->sources[i].count)
			continue;
		memmove(reader->order + 1, reader->order,
			reader->ordered_count++ * sizeof(*reader->order));
		reader->order[0] = reader->sources + i;
		settle(reader, 0);
	}
}

static int begin_stream(struct sn_sorter_reader *reader, struct stream *stream)
{
	end_sources(reader);
	reader->stream = stream;
	if (sn_vec_reserve(&reader->sources, &reader->source_capacity, stream->run_count + 1) < 0 ||
	    sn_vec_reserve(&reader->order, &reader->order_capacity, stream->run_count + 1) < 0)
		return lacks_memory(reader);
	for (size_t i = 0; i < stream->run_count && !reader->failed; i++) {
		struct source *source = reader->sources + reader->source_count++;
		*source = (struct source){.left = stream->runs[i], .owns_buffers = true};
		refill(reader, source);
	}
	if (stream->is_disordered && !reader->failed && sort(stream))
		lacks_memory(reader);
	if (stream->record_count)
		reader->sources[reader->source_count++] =
		    (struct source){.records = stream->records,
				    .attributes = stream->attributes,
				    .count = stream->record_count};
	if (!reader->failed)
		order_sources(reader);
	return reader->failed;
}

SN_SORT_BY(sort_numbers, uint32_t, const struct stream *,
	   SN_ORDER(of[*a].kind, of[*b].kind) ?: SN_ORDER(of[*a].metric, of[*b].metric));

int sn_sorter_reader_begin(struct sn_sorter_reader *reader, uint32_t profile,
			   struct sn_error *error)
{
	end_sources(reader);
	reader->queue_at = reader->queue_count = 0;
	uint32_t next =
	    profile < reader->sorter->profile_count ? reader->sorter->first_streams[profile] : 0;
	for (; next && !reader->failed; next = reader->sorter->streams[next - 1].next)
		if (sn_vec_push(&reader->queue, &reader->queue_capacity, &reader->queue_count,
				next - 1))
			lacks_memory(reader);
	sort_numbers(reader->queue, reader->queue_count, reader->sorter->streams);
	return sn_fail_again(error, reader->failed, &reader->why);
}

/* Moves past the record that was returned; only its source has a new head. */
static void advance(struct sn_sorter_reader *reader)
{
	struct source *current = reader->order[0];
	current->at++;
	if (current->at == current->count && refill(reader, current))
		return;
	if (current->at < current->count)
		settle(reader, 0);
	else
		memmove(reader->order, reader->order + 1,
			--reader->ordered_count * sizeof(*reader->order));
}

int sn_sorter_reader_next(struct sn_sorter_reader *reader, struct sn_event *event,
			  struct sn_error *error)
{
	if (reader->ordered_count)
		advance(reader);
	while (!reader->ordered_count && reader->queue_at < reader->queue_count && !reader->failed)
		begin_stream(reader, reader->sorter->streams + reader->queue[reader->queue_at++]);
	if (reader->failed)
		return sn_fail_again(error, reader->failed, &reader->why);
	if (!reader->ordered_count)
		return 0;
	const struct source *source = reader->order[0];
	const struct sn_record *record = source->records + source->at;
	bool has_attributes = record->attribute_count;
	*event = (struct sn_event){
	    .start_ns = record->start_ns,
	    .end_ns = record->end_ns,
	    .link = record->link,
	    .profile = reader->stream->profile,
	    .context = record->context,
	    .metric = reader->stream->metric,
	    .kind = reader->stream->kind,
	    .attribute_count = record->attribute_count,
	    .attributes = has_attributes ? source->attributes + record->first_attribute : NULL,
	};
	return 1;
}

struct sn_sorter_reader *sn_sorter_reader_new(struct sn_sorter *sorter)
{
	struct sn_sorter_reader *reader = calloc(1, sizeof(*reader));
	if (reader)
		reader->sorter = sorter;
	return reader;
}

void sn_sorter_reader_free(struct sn_sorter_reader *reader)
{
	if (reader)
		release_reader(reader);
	free(reader);
}

int sn_sorter_begin(struct sn_sorter *sorter, uint32_t profile, struct sn_error *error)
{
	return sorter->failed ? sn_fail_again(error, sorter->failed, &sorter->why)
			      : sn_sorter_reader_begin(&sorter->own, profile, error);
}

int sn_sorter_next(struct sn_sorter *sorter, struct sn_event *event, struct sn_error *error)
{
	return sn_sorter_reader_next(&sorter->own, event, error);
}
