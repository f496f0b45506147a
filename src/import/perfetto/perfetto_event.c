/* SPDX-License-Identifier: Apache-2.0 */
/* Track events of a Perfetto trace with their annotations, and samples. */
#include "perfetto.h"

#include "import/core/activity_category.h"

#include <stdio.h>
#include <string.h>

#define NESTED_MAX 4

enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER, STATE };

/* The fields of a track event. */
struct read_event {
	unsigned type;
	uint64_t track;
	bool has_track;
	uint32_t name, category_text; /* builder's; SONDE_NONE */
	enum sn_activity_category category;
	uint32_t stream; /* the sink's, of rocprofv3's kernels and copies; else SONDE_NONE */
	uint64_t flow, callstack;
	uint64_t value; /* a counter's */
	bool has_value, is_real;
	uint64_t extra_tracks[16];
	size_t extra_track_count;
	uint64_t extra_values[16];
	size_t extra_value_count;
	int64_t legacy_us;
	unsigned legacy_time; /* 0 none, 1 since the event before, 2 absolute */
	char phase;	      /* of a legacy event, else 0 */
	int64_t duration_us;
	int64_t pid, tid; /* the thread of a legacy event, if it is another; -1 */
	struct sn_perfetto_attributes attributes;
};

/* ---- annotations ---- */

void sn_perfetto_add_attribute(struct sn_perfetto *perfetto,
			       struct sn_perfetto_attributes *attributes, uint32_t key,
			       uint64_t value)
{
	bool is_there = key == SONDE_NONE || attributes->count == SN_PERFETTO_ATTRIBUTES_MAX;
	for (unsigned i = 0; i < attributes->count && !is_there; i++)
		is_there = attributes->items[i].key == key;
	if (is_there)
		perfetto->annotations_lost++;
	else
		attributes->items[attributes->count++] = (struct sn_attribute){key, 0, value};
}

/* The attribute key for an annotation's name, cached in the interned name. */
static uint32_t key_of(struct sn_perfetto *perfetto, struct sn_perfetto_item *item,
		       const char *name, enum sonde_attribute_type type)
{
	if (item && item->keys[type])
		return item->keys[type] - 1;
	uint32_t key = sn_track_sink_key(perfetto->sink, name, strlen(name), type);
	if (item)
		item->keys[type] = key + 1;
	return key;
}

static int read_annotation(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
			   struct sn_proto message, const char *within, unsigned depth,
			   struct read_event *event);

/* Entries of dictionaries become NAME.KEY, elements of arrays NAME[0]. */
static int read_entries(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
			struct sn_proto message, const char *name, unsigned depth,
			struct read_event *event)
{
	struct sn_proto_field field;
	unsigned index = 0;
	int result = 0;
	while (!result && sn_proto_next(&message, &field)) {
		char within[512];
		if (field.number != 11 && field.number != 12)
			continue;
		if (depth == NESTED_MAX) {
			perfetto->annotations_lost++;
			continue;
		}
		if (field.number == 11)
			snprintf(within, sizeof(within), "%.400s.", name);
		else
			snprintf(within, sizeof(within), "%.400s[%u]", name, index++);
		result = read_annotation(perfetto, sequence, sn_proto_enter(&field), within,
					 depth + 1, event);
	}
	return result;
}

static int read_annotation(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
			   struct sn_proto message, const char *within, unsigned depth,
			   struct read_event *event)
{
	struct sn_proto all = message;
	struct sn_proto_field field, value = {0};
	struct sn_perfetto_item *item = NULL;
	struct sn_db_builder *builder = perfetto->builder;
	char name[1024];
	int used = snprintf(name, sizeof(name), "%s", within);
	bool has_entries = false;
	while (sn_proto_next(&message, &field)) {
		if (field.number == 1 && field.wire == SN_PROTO_VARINT) {
			item = sn_perfetto_item(sequence, SN_PERFETTO_ANNOTATION, field.value);
			snprintf(name + used, sizeof(name) - (size_t)used, "%.500s",
				 item && item->value != SONDE_NONE
				     ? sn_db_builder_text(builder, item->value)
				     : "");
		} else if (field.number == 10 && field.bytes) {
			snprintf(name + used, sizeof(name) - (size_t)used, "%.*s",
				 (int)(field.length < 500 ? field.length : 500), field.bytes);
		} else if (field.number == 11 || field.number == 12) {
			has_entries = true;
		} else if ((field.number >= 2 && field.number <= 9) || field.number == 17) {
			value = field;
		}
	}
	if (has_entries)
		return read_entries(perfetto, sequence, all, name, depth, event);
	static const uint8_t types[] = {
	    [2] = SONDE_ATTRIBUTE_SIGNED, [3] = SONDE_ATTRIBUTE_UNSIGNED,
	    [4] = SONDE_ATTRIBUTE_SIGNED, [5] = SONDE_ATTRIBUTE_REAL,
	    [6] = SONDE_ATTRIBUTE_STRING, [7] = SONDE_ATTRIBUTE_UNSIGNED,
	    [9] = SONDE_ATTRIBUTE_STRING, [17] = SONDE_ATTRIBUTE_STRING};
	uint64_t bits = value.value;
	enum sonde_attribute_type type = types[value.number]; /* 0: a message of the producer */
	if (value.number == 17)
		bits = sn_perfetto_text(perfetto, sequence, SN_PERFETTO_STRING, bits, "");
	else if (type == SONDE_ATTRIBUTE_STRING)
		bits = sn_perfetto_string(perfetto, &value);
	if (!type || !*name || (type == SONDE_ATTRIBUTE_STRING && bits == SONDE_NONE)) {
		perfetto->annotations_lost++;
		return 0;
	}
	/* the cache is for the name alone, not for one inside a dictionary */
	uint32_t key = key_of(perfetto, *within ? NULL : item, name, type);
	sn_perfetto_add_attribute(perfetto, &event->attributes, key, bits);
	return 0;
}

/* ---- fields ---- */

static void read_category(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
			  const struct sn_proto_field *field, struct read_event *event)
{
	const struct sn_perfetto_item *item = NULL;
	if (field->number == 3) {
		item = sn_perfetto_item(sequence, SN_PERFETTO_CATEGORY, field->value);
		if (!item)
			return;
	}
	enum sn_activity_category category =
	    item ? item->category : sn_activity_category((const char *)field->bytes, field->length);
	if (event->category_text == SONDE_NONE)
		event->category_text = item ? item->value : sn_perfetto_string(perfetto, field);
	if (event->category == SN_ACTIVITY_OTHER)
		event->category = category;
}

static void read_legacy(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
			struct sn_proto message, struct read_event *event)
{
	/* 1 name, 2 phase, 3 duration, 8 a flow's number, 18 pid, 19 tid */
	struct sn_proto_field fields[20];
	SN_PROTO_FIELDS(message, fields);
	if (fields[1].number)
		event->name =
		    sn_perfetto_text(perfetto, sequence, SN_PERFETTO_NAME, fields[1].value, "");
	event->phase = (char)sn_proto_or(fields + 2, event->phase);
	event->duration_us = sn_proto_or(fields + 3, event->duration_us);
	if (fields[8].number)
		event->flow = fields[8].value;
	event->pid = (int32_t)sn_proto_or(fields + 18, event->pid);
	event->tid = (int32_t)sn_proto_or(fields + 19, event->tid);
}

/* The numbers of a repeated field, packed or not. */
static size_t read_numbers(const struct sn_proto_field *field, uint64_t *numbers, size_t count)
{
	struct sn_proto all = {0};
	uint64_t value;
	while (count < 16 && sn_proto_number(field, &all, &value))
		numbers[count++] = value;
	return count;
}

static int read_field(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
		      const struct sn_proto_field *field, struct read_event *event)
{
	switch (field->number) {
	case 1:
	case 16:
		event->legacy_us = (int64_t)field->value;
		event->legacy_time = field->number == 1 ? 1 : 2;
		break;
	case 3:
	case 22:
		read_category(perfetto, sequence, field, event);
		break;
	case 4:
		return read_annotation(perfetto, sequence, sn_proto_enter(field), "", 0, event);
	case 6:
		read_legacy(perfetto, sequence, sn_proto_enter(field), event);
		break;
	case 9:
		event->type = (unsigned)field->value;
		break;
	case 10:
		event->name = sn_perfetto_text(perfetto, sequence, SN_PERFETTO_NAME, field->value,
					       "[name lost]");
		break;
	case 11:
		event->track = field->value;
		event->has_track = true;
		break;
	case 12:
		event->extra_value_count =
		    read_numbers(field, event->extra_values, event->extra_value_count);
		break;
	case 23:
		event->name = sn_perfetto_string(perfetto, field);
		break;
	case 30:
	case 44:
		event->value = field->value;
		event->has_value = true;
		event->is_real = field->number == 44;
		break;
	case 31:
		event->extra_track_count =
		    read_numbers(field, event->extra_tracks, event->extra_track_count);
		break;
	case 36:
	case 42:
	case 47:
	case 48: /* one event has one link */
		if (!event->flow && field->wire != SN_PROTO_BYTES)
			event->flow = field->value;
		break;
	case 56:
		event->callstack = field->value;
		break;
	default:
		break;
	}
	return 0;
}

/* ---- events ---- */

static enum sn_activity_category suited(const struct sn_perfetto_track *track,
					enum sn_activity_category category)
{
	if (category >= SN_ACTIVITY_KERNEL || category == SN_ACTIVITY_INSTANT)
		return track->is_beside ? SN_ACTIVITY_RANGE : SN_ACTIVITY_OTHER;
	/* an event of a known category is a call, whatever its track */
	if (track->is_beside && category == SN_ACTIVITY_OTHER)
		return SN_ACTIVITY_RANGE;
	return category;
}

static int make_event(struct sn_perfetto *perfetto, const struct sn_perfetto_track *track,
		      struct read_event *read, enum sn_activity_category category, uint64_t time_ns,
		      struct sn_track_event *event)
{
	uint32_t number;
	struct sn_db_builder *builder = perfetto->builder;
	const char *name = read->name == SONDE_NONE ? "" : sn_db_builder_text(builder, read->name);
	if (read->category == SN_ACTIVITY_OTHER && read->category_text != SONDE_NONE &&
	    *sn_db_builder_text(builder, read->category_text))
		sn_perfetto_add_attribute(
		    perfetto, &read->attributes,
		    key_of(perfetto, NULL, "category", SONDE_ATTRIBUTE_STRING),
		    read->category_text);
	name = read->name == SONDE_NONE ? "" : sn_db_builder_text(builder, read->name);
	if (sn_track_sink_name(perfetto->sink, category, name, strlen(name), &number))
		return SN_ERR_MEMORY;
	*event = (struct sn_track_event){
	    .track = read->stream != SONDE_NONE ? read->stream : track->number,
	    .name = number,
	    .start_ns = (int64_t)time_ns,
	    .end_ns = (int64_t)time_ns,
	    .link = read->flow & ((1ull << 48) - 1),
	    .attributes = read->attributes.items,
	    .attribute_count = read->attributes.count,
	};
	return 0;
}

static uint32_t metric_of(struct sn_perfetto *perfetto, struct sn_perfetto_track *track,
			  uint32_t event_name)
{
	char unit[64];
	uint32_t name = track->name != SONDE_NONE ? track->name : event_name;
	if (track->metric != SONDE_NONE)
		return track->metric;
	if (name == SONDE_NONE)
		name = sn_db_builder_string(perfetto->builder, "counter");
	/* a copy, because the builder's texts move when a string is added */
	snprintf(unit, sizeof(unit), "%s",
		 track->unit == SONDE_NONE ? "1"
					   : sn_db_builder_text(perfetto->builder, track->unit));
	return track->metric = sn_track_sink_metric(perfetto->sink, name, unit);
}

static int add_counter(struct sn_perfetto *perfetto, struct sn_perfetto_track *track, uint32_t name,
		       uint64_t time_ns, uint64_t value, bool is_real)
{
	if (!is_real) {
		value *= (uint64_t)track->multiplier;
		if (track->is_incremental)
			value = (uint64_t)(track->sum = (int64_t)((uint64_t)track->sum + value));
	}
	track->is_counter = true;
	int result = sn_perfetto_place_track(perfetto, track);
	if (!result)
		sn_track_sink_counter(perfetto->sink, track->number,
				      metric_of(perfetto, track, name), (int64_t)time_ns, is_real,
				      value);
	return result;
}

static int add_extra_counters(struct sn_perfetto *perfetto,
			      const struct sn_perfetto_sequence *sequence,
			      const struct read_event *read, uint64_t time_ns)
{
	const uint64_t *tracks =
	    read->extra_track_count ? read->extra_tracks : sequence->counter_tracks;
	size_t count =
	    read->extra_track_count ? read->extra_track_count : sequence->counter_track_count;
	int result = 0;
	for (size_t i = 0; i < read->extra_value_count && i < count && !result; i++) {
		struct sn_perfetto_track *track = sn_perfetto_track(perfetto, tracks[i]);
		result = track ? add_counter(perfetto, track, SONDE_NONE, time_ns,
					     read->extra_values[i], false)
			       : SN_ERR_MEMORY;
	}
	return result;
}

static int add_sample(struct sn_perfetto *perfetto, uint32_t track, uint32_t context,
		      uint64_t time_ns, const struct sn_perfetto_attributes *attributes)
{
	struct sn_track_event event = {
	    .track = track,
	    .name = context,
	    .start_ns = (int64_t)time_ns,
	    .end_ns = (int64_t)time_ns,
	    .attributes = attributes ? attributes->items : NULL,
	    .attribute_count = attributes ? attributes->count : 0,
	};
	if (track == SONDE_NONE)
		return SN_ERR_MEMORY;
	sn_track_sink_sample(perfetto->sink, &event);
	return 0;
}

static int add_instant(struct sn_perfetto *perfetto, const struct sn_perfetto_sequence *sequence,
		       struct sn_perfetto_track *track, struct read_event *read, uint64_t time_ns)
{
	struct sn_track_event event;
	const struct sn_perfetto_item *stack =
	    read->callstack ? sn_perfetto_item(sequence, SN_PERFETTO_CALLSTACK, read->callstack)
			    : NULL;
	if (stack)
		return add_sample(perfetto, track->number, stack->value, time_ns,
				  &read->attributes);
	int result = make_event(perfetto, track, read, SN_ACTIVITY_INSTANT, time_ns, &event);
	if (!result)
		sn_track_sink_event(perfetto->sink, &event);
	return result;
}

static int add_slice(struct sn_perfetto *perfetto, struct sn_perfetto_track *track,
		     struct read_event *read, uint64_t time_ns)
{
	struct sn_track_event event;
	enum sn_activity_category category =
	    read->stream == SONDE_NONE ? suited(track, read->category) : read->category;
	int result = make_event(perfetto, track, read, category, time_ns, &event);
	if (result)
		return result;
	if (read->phase != 'X')
		return sn_perfetto_slice_begin(perfetto, track, &event);
	if (read->duration_us > 0 && read->duration_us < INT64_MAX / 2000)
		event.end_ns += read->duration_us * 1000;
	sn_track_sink_event(perfetto->sink, &event);
	return 0;
}

/* The type of a legacy event, by its phase. */
static unsigned type_of(const struct read_event *read)
{
	if (read->type || !read->phase)
		return read->type;
	switch (read->phase) {
	case 'X':
	case 'B':
		return SLICE_BEGIN;
	case 'E':
		return SLICE_END;
	case 'I':
	case 'i':
	case 'R':
	case 'n':
		return INSTANT;
	default:
		return UINT32_MAX;
	}
}

static bool event_time(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet,
		       const struct read_event *read, uint64_t *time_ns)
{
	struct sn_perfetto_sequence *sequence = packet->sequence;
	if (!read->legacy_time)
		return sn_perfetto_packet_time(perfetto, packet, time_ns);
	/* the limit prevents overflow below */
	if (read->legacy_us > INT64_MAX / 4000 || read->legacy_us < INT64_MIN / 4000)
		return false;
	if (read->legacy_time == 1) {
		if (sequence->legacy_us > INT64_MAX / 4000)
			return false;
		sequence->legacy_us += read->legacy_us;
	}
	int64_t us = read->legacy_time == 1 ? sequence->legacy_us : read->legacy_us;
	return us >= 0 && sn_perfetto_time(perfetto, sequence, SN_PERFETTO_MONOTONIC,
					   (uint64_t)us * 1000, time_ns);
}

/* The track of an event: the one it names, the sequence's default, its thread's, or track 0. */
static struct sn_perfetto_track *track_of(struct sn_perfetto *perfetto,
					  const struct sn_perfetto_sequence *sequence,
					  const struct read_event *read)
{
	int64_t pid = read->pid >= 0 ? read->pid : sequence->pid;
	int64_t tid = read->tid >= 0 ? read->tid : sequence->tid;
	if (read->has_track && read->tid < 0)
		return sn_perfetto_track(perfetto, read->track);
	if (sequence->has_default_track && read->tid < 0)
		return sn_perfetto_track(perfetto, sequence->default_track);
	if (tid < 0)
		return sn_perfetto_track(perfetto, 0);
	/* track numbers are hashes of the producer; a collision with one of these is unlikely */
	struct sn_perfetto_track *track = sn_perfetto_track(
	    perfetto, 0x5afe000000000000u ^ ((uint64_t)pid << 32) ^ (uint64_t)tid);
	if (track && !track->has_thread) {
		track->has_thread = true;
		track->pid = pid;
		track->tid = tid;
	}
	return track;
}

static uint32_t callstack(const struct sn_perfetto_sequence *sequence, uint64_t iid)
{
	const struct sn_perfetto_item *item =
	    iid ? sn_perfetto_item(sequence, SN_PERFETTO_CALLSTACK, iid) : NULL;
	return item ? item->value : 0;
}

/* Finds out what rocprofv3 says of an event, and the stream of its kernels and copies. */
static int read_rocm(struct sn_perfetto *perfetto, struct sn_perfetto_track *track,
		     struct read_event *read)
{
	if (read->category != SN_ACTIVITY_OTHER || read->category_text == SONDE_NONE ||
	    read->type != SLICE_BEGIN)
		return 0;
	enum sn_activity_category category =
	    sn_perfetto_rocm_category(sn_db_builder_text(perfetto->builder, read->category_text));
	read->category = category;
	if (category < SN_ACTIVITY_KERNEL)
		return 0;
	char name[64];
	snprintf(name, sizeof(name), "%s",
		 read->name == SONDE_NONE ? "" : sn_db_builder_text(perfetto->builder, read->name));
	read->stream = sn_perfetto_rocm_track(perfetto, track, name, &read->attributes);
	if (read->stream == SONDE_NONE)
		return SN_ERR_MEMORY;
	if (track->number == SONDE_NONE)
		track->number = read->stream; /* so it is no row of its own */
	if (category == SN_ACTIVITY_COPY)
		sn_perfetto_rocm_copy(perfetto, &read->attributes);
	return 0;
}

int sn_perfetto_track_event(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet)
{
	struct sn_perfetto_sequence *sequence = packet->sequence;
	struct sn_proto message = sn_proto_enter(&packet->data);
	struct sn_proto_field field;
	struct read_event read;
	uint64_t time_ns;
	memset(&read, 0, offsetof(struct read_event, attributes));
	read.attributes.count = 0;
	read.name = read.category_text = read.stream = SONDE_NONE;
	read.category = SN_ACTIVITY_OTHER;
	read.pid = read.tid = -1;
	int result = 0;
	while (!result && sn_proto_next(&message, &field))
		result = read_field(perfetto, sequence, &field, &read);
	if (result)
		return result;
	if (!event_time(perfetto, packet, &read, &time_ns)) {
		sn_track_sink_untimed(perfetto->sink, 1);
		return 0;
	}
	if (read.extra_value_count)
		result = add_extra_counters(perfetto, sequence, &read, time_ns);
	struct sn_perfetto_track *track = track_of(perfetto, sequence, &read);
	if (!track || result)
		return SN_ERR_MEMORY;
	unsigned type = type_of(&read);
	if (type == COUNTER)
		return read.has_value ? add_counter(perfetto, track, read.name, time_ns, read.value,
						    read.is_real)
				      : 0;
	if (type == 0 || type > STATE) { /* a packet with other fields, or flows of legacy events */
		sn_track_sink_unread(perfetto->sink, type != 0);
		return 0;
	}
	result = read_rocm(perfetto, track, &read) ?: sn_perfetto_place_track(perfetto, track);
	if (result)
		return result;
	switch (type) {
	case SLICE_BEGIN:
		return add_slice(perfetto, track, &read, time_ns);
	case SLICE_END:
		return sn_perfetto_slice_end(perfetto, track, time_ns, &read.attributes);
	case STATE: /* a state lasts until the next one */
		if (track->open)
			result = sn_perfetto_slice_end(perfetto, track, time_ns, NULL);
		return result || read.name == SONDE_NONE
			   ? result
			   : add_slice(perfetto, track, &read, time_ns);
	default:
		return add_instant(perfetto, sequence, track, &read, time_ns);
	}
}

/* ---- samples ---- */

int sn_perfetto_perf_sample(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet)
{
	struct sn_proto message = sn_proto_enter(&packet->data);
	struct sn_proto_field field;
	struct sn_perfetto_attributes attributes = {.count = 0};
	int64_t pid = -1, tid = -1;
	uint64_t iid = 0, time_ns;
	bool is_other = false; /* the sampler's own events, and skipped samples */
	while (sn_proto_next(&message, &field)) {
		if (field.number == 1)
			sn_perfetto_add_attribute(perfetto, &attributes, perfetto->cpu_key,
						  field.value);
		else if (field.number == 2)
			pid = (int64_t)(uint32_t)field.value;
		else if (field.number == 3)
			tid = (int64_t)(uint32_t)field.value;
		else if (field.number == 4)
			iid = field.value;
		else if (field.number >= 17)
			is_other = true;
	}
	if (is_other)
		return 0;
	if (!sn_perfetto_packet_time(perfetto, packet, &time_ns)) {
		sn_track_sink_untimed(perfetto->sink, 1);
		return 0;
	}
	return add_sample(perfetto, sn_perfetto_thread_track(perfetto, pid, tid),
			  callstack(packet->sequence, iid), time_ns, &attributes);
}

/* Reads a packet of samples of the sequence's own thread. */
int sn_perfetto_profile(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet)
{
	struct sn_proto numbers = sn_proto_enter(&packet->data), deltas = numbers;
	struct sn_proto_field number, delta;
	uint64_t time_ns;
	bool has_time = sn_perfetto_packet_time(perfetto, packet, &time_ns);
	if (!has_time)
		has_time = packet->sequence->has_legacy_time &&
			   packet->sequence->legacy_us < INT64_MAX / 4000 &&
			   sn_perfetto_time(perfetto, packet->sequence, SN_PERFETTO_MONOTONIC,
					    (uint64_t)packet->sequence->legacy_us * 1000, &time_ns);
	int result = 0;
	while (!result && sn_proto_next(&numbers, &number)) {
		if (number.number != 1 || number.wire != SN_PROTO_VARINT)
			continue;
		while (sn_proto_next(&deltas, &delta) && delta.number != 2)
			;
		if (delta.number == 2 && delta.value < (1ull << 40))
			time_ns += has_time ? delta.value * 1000 : 0;
		if (!has_time || time_ns > SN_TRACK_TIME_MAX) {
			sn_track_sink_untimed(perfetto->sink, 1);
			continue;
		}
		result = add_sample(perfetto,
				    sn_perfetto_thread_track(perfetto, packet->sequence->pid,
							     packet->sequence->tid),
				    callstack(packet->sequence, number.value), time_ns, NULL);
	}
	return result;
}
