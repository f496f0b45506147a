/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's protobuf (protos/perfetto/trace of google/perfetto): packets of track events.
 *
 * Each profile is a sequence of packets: a clock that counts from the packet before, names and
 * texts once each, and its tracks. Slices of one Perfetto track must nest, so an interval goes to
 * the first of the profile's tracks in which it does; those after the first have one name and one
 * parent, which viewers draw as one row: concurrent kernels of a stream lie side by side. Docs:
 * docs/design/trace-formats.md.
 */
#include "export/exporter.h"

#include "base/intern.h"
#include "base/table.h"
#include "base/vec.h"
#include "export/event_walk.h"
#include "format/measurement/measurement.h"
#include "perfetto_stack.h"
#include "export/protobuf.h"
#include "export/shown_callers.h"

#include <stdlib.h>
#include <string.h>

/* Fields of messages, named MESSAGE_FIELD. */
enum {
	TRACE_PACKET = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_DESCRIPTOR = 60,
	PACKET_PERF_SAMPLE = 66,
	PACKET_ATTRIBUTES = 126,
	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_COUNTER_DOUBLE = 44,
	EVENT_FLOW = 47,
	EVENT_CALLSTACK_IID = 56,
	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_ANNOTATION_NAME = 3,
	INTERNED_STRING_VALUE = 29,
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UNSIGNED = 3,
	ANNOTATION_SIGNED = 4,
	ANNOTATION_REAL = 5,
	ANNOTATION_STRING_IID = 17,
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_DESCRIPTION = 14,
};
enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };
enum { CLOCK_REALTIME = 1, CLOCK_BOOTTIME = 6, CLOCK_OWN = 64 };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2 };

/* Tracks of a profile in which slices nest. Beyond it slices may overlap. */
#define STACKS_MAX 256u
#define NAME_CHARS 8192

struct open_slice {
	uint64_t end_ns;
	uint32_t context;
	bool is_caller; /* others may lie in it: a kernel does not call the one beside it */
};

/* A track of nested slices. */
struct stack {
	uint64_t uuid;
	struct open_slice *open; /* the innermost last */
	size_t count, capacity;
};

struct perfetto {
	const struct sonde_db *db;
	FILE *out;
	struct sn_trace_export export;
	struct sn_buffer packet, event, part, annotation, interned;
	uint32_t sequence;
	uint64_t next_uuid, last_ns; /* of the sequence */
	uint64_t *process_uuids, *device_uuids;
	struct sn_table names, strings, keys; /* numbers in the sequence, less 1, by frame, ... */
	struct sn_intern categories;
	struct sn_perfetto_stack callstacks;
	struct sn_shown_callers callers;
	uint64_t *counter_uuids; /* by metric, of the profile */
	/* of the profile */
	const struct sonde_db_profile *profile;
	const struct sn_trace_place *place;
	uint64_t track;
	bool is_device;
	struct stack *stacks; /* of calls, then of what is beside them */
	size_t stack_count, stack_capacity;
};

/* ---- packets ---- */

/* Writes the packet and empties it for the next one. */
static int end_packet(struct perfetto *perfetto)
{
	struct sn_buffer *packet = &perfetto->packet, *head = &perfetto->part;
	sn_protobuf_number(packet, PACKET_SEQUENCE, perfetto->sequence);
	sn_buffer_varint(head, TRACE_PACKET << 3 | 2);
	sn_buffer_varint(head, packet->count);
	if (packet->failed || head->failed || perfetto->event.failed ||
	    perfetto->annotation.failed || perfetto->interned.failed)
		return SN_ERR_MEMORY;
	fwrite(head->bytes, 1, head->count, perfetto->out);
	fwrite(packet->bytes, 1, packet->count, perfetto->out);
	head->count = packet->count = 0;
	return ferror(perfetto->out) ? SN_ERR_IO : 0;
}

/* A clock of the sequence's own, which ticks from one packet to the next; the same instant by the
 * clocks that viewers know. */
static int write_clock(struct perfetto *perfetto)
{
	static const unsigned clocks[] = {CLOCK_BOOTTIME, CLOCK_REALTIME, CLOCK_OWN};
	struct sn_buffer *snapshot = &perfetto->event, *part = &perfetto->part;
	for (unsigned i = 0; i < 3; i++) {
		sn_protobuf_number(part, 1, clocks[i]);
		sn_protobuf_number(part, 2, perfetto->export.origin_ns);
		sn_protobuf_number(part, 3, clocks[i] == CLOCK_OWN);
		sn_protobuf_message(snapshot, 1, part);
	}
	sn_protobuf_number(snapshot, 2, CLOCK_REALTIME);
	sn_protobuf_message(&perfetto->packet, PACKET_CLOCK_SNAPSHOT, snapshot);
	sn_protobuf_number(&perfetto->packet, PACKET_FLAGS, STATE_CLEARED);
	/* packets of this sequence use that clock and this track */
	sn_protobuf_number(part, 58, CLOCK_OWN);
	sn_protobuf_number(snapshot, 11, perfetto->track);
	sn_protobuf_message(part, 11, snapshot);
	sn_protobuf_message(&perfetto->packet, PACKET_DEFAULTS, part);
	perfetto->last_ns = perfetto->export.origin_ns;
	return end_packet(perfetto);
}

static int write_attributes(struct perfetto *perfetto)
{
	static const char *const keys[] = {"program", "command", "host", "rank"};
	struct sn_buffer *all = &perfetto->event, *part = &perfetto->part;
	for (unsigned i = 0; i < 5; i++) {
		const char *key = i ? keys[i - 1] : "sonde";
		const char *value = i ? sonde_db_property(perfetto->db, key) : SN_VERSION;
		if (!value)
			continue;
		sn_protobuf_text(part, 1, key);
		sn_protobuf_text(part, 3, value);
		sn_protobuf_message(all, 1, part);
	}
	sn_protobuf_message(&perfetto->packet, PACKET_ATTRIBUTES, all);
	return end_packet(perfetto);
}

/* ---- tracks ---- */

/* The descriptor that lies in perfetto->event. */
static int write_descriptor(struct perfetto *perfetto)
{
	sn_protobuf_message(&perfetto->packet, PACKET_DESCRIPTOR, &perfetto->event);
	return end_packet(perfetto);
}

static uint64_t begin_descriptor(struct perfetto *perfetto, uint64_t parent, const char *name)
{
	uint64_t uuid = ++perfetto->next_uuid;
	sn_protobuf_number(&perfetto->event, TRACK_UUID, uuid);
	sn_protobuf_number(&perfetto->event, TRACK_PARENT, parent);
	if (name && *name)
		sn_protobuf_text(&perfetto->event, TRACK_NAME, name);
	return uuid;
}

static int write_process(struct perfetto *perfetto, uint32_t number)
{
	char label[512];
	struct sn_buffer *part = &perfetto->part;
	uint64_t *uuid = perfetto->process_uuids + perfetto->place->process;
	if (*uuid)
		return 0;
	*uuid = begin_descriptor(perfetto, 0, NULL);
	sn_protobuf_varint_field(part, 1, perfetto->place->pid);
	sn_protobuf_text(part, 6, sonde_db_string(perfetto->db, perfetto->profile->program));
	sn_trace_export_label(&perfetto->export, number, label, sizeof(label));
	if (*label)
		sn_protobuf_text(part, 8, label);
	sn_protobuf_message(&perfetto->event, TRACK_PROCESS, part);
	return write_descriptor(perfetto);
}

static int write_thread(struct perfetto *perfetto)
{
	struct sn_buffer *part = &perfetto->part;
	perfetto->track =
	    begin_descriptor(perfetto, perfetto->process_uuids[perfetto->place->process], NULL);
	sn_protobuf_varint_field(part, 1, perfetto->place->pid);
	sn_protobuf_varint_field(part, 2, perfetto->place->tid);
	if (perfetto->profile->thread != SONDE_NONE)
		sn_protobuf_text(part, 5, sonde_db_string(perfetto->db, perfetto->profile->thread));
	sn_protobuf_message(&perfetto->event, TRACK_THREAD, part);
	return write_descriptor(perfetto);
}

/* Which stream it is, for people and for `sonde import`. */
static void stream_description(const struct perfetto *perfetto, char *text, size_t size)
{
	snprintf(text, size, "device %u, context %u, stream %u", perfetto->profile->device,
		 perfetto->profile->device_context, perfetto->profile->stream);
}

static uint64_t begin_stream(struct perfetto *perfetto)
{
	char text[96], name[64];
	const char *own = sonde_db_string(perfetto->db, perfetto->profile->thread);
	snprintf(name, sizeof(name), "stream %u", perfetto->profile->stream);
	uint64_t uuid = begin_descriptor(perfetto, perfetto->device_uuids[perfetto->place->device],
					 *own ? own : name);
	stream_description(perfetto, text, sizeof(text));
	sn_protobuf_text(&perfetto->event, TRACK_DESCRIPTION, text);
	return uuid;
}

static int write_stream(struct perfetto *perfetto)
{
	char name[64];
	uint64_t *device = perfetto->device_uuids + perfetto->place->device;
	int result = 0;
	if (!*device) {
		snprintf(name, sizeof(name), "GPU %u", perfetto->profile->device);
		*device = begin_descriptor(perfetto,
					   perfetto->process_uuids[perfetto->place->process], name);
		result = write_descriptor(perfetto);
	}
	perfetto->track = begin_stream(perfetto);
	return result ? result : write_descriptor(perfetto);
}

/* A further track of slices beside those of the profile's own. */
static int write_beside(struct perfetto *perfetto, uint64_t *uuid)
{
	if (perfetto->is_device)
		*uuid = begin_stream(perfetto);
	else
		*uuid = begin_descriptor(perfetto, perfetto->track, "overlapping");
	return write_descriptor(perfetto);
}

static int write_counter_track(struct perfetto *perfetto, uint32_t number)
{
	const struct sonde_db_metric *metric = sonde_db_metric(perfetto->db, number);
	const char *unit = sonde_db_string(perfetto->db, metric->unit);
	struct sn_buffer *part = &perfetto->part;
	char text[96];
	unsigned known = !strcmp(unit, "ns")	  ? 1u
			 : !strcmp(unit, "1")	  ? 2u
			 : !strcmp(unit, "bytes") ? 3u
						  : 0;
	perfetto->counter_uuids[number] = begin_descriptor(
	    perfetto, perfetto->track, sonde_db_string(perfetto->db, metric->name));
	sn_protobuf_number(part, 3, known);
	if (!known)
		sn_protobuf_text(part, 6, unit);
	sn_protobuf_message(&perfetto->event, TRACK_COUNTER, part);
	if (perfetto->is_device) {
		stream_description(perfetto, text, sizeof(text));
		sn_protobuf_text(&perfetto->event, TRACK_DESCRIPTION, text);
	}
	return write_descriptor(perfetto);
}

/* ---- names ---- */

/* An interned text: {iid, text} in perfetto->interned. */
static void put_interned(struct perfetto *perfetto, unsigned field, uint32_t iid, const char *text)
{
	sn_protobuf_number(&perfetto->part, 1, iid);
	sn_protobuf_text(&perfetto->part, 2, text);
	sn_protobuf_message(&perfetto->interned, field, &perfetto->part);
}

/* The number of what `key` stands for, from 1; its text is written where it is new. */
static uint32_t iid_of(struct perfetto *perfetto, struct sn_table *table, uint32_t key,
		       unsigned field, const char *text)
{
	uint32_t before = table->count, number = sn_table_add(table, key);
	perfetto->event.failed |= number == SN_TABLE_NONE;
	if (number == before)
		put_interned(perfetto, field, number + 1, text);
	return number + 1;
}

static void put_category(struct perfetto *perfetto, const struct sn_walk_event *event)
{
	const char *category =
	    sn_trace_export_category(&perfetto->export, event, perfetto->is_device);
	uint32_t before = perfetto->categories.count;
	uint32_t number = sn_intern_add(&perfetto->categories, category, strlen(category));
	if (number == SN_INTERN_NONE)
		perfetto->event.failed = true;
	else if (number == before)
		put_interned(perfetto, INTERNED_CATEGORY, number + 1, category);
	sn_protobuf_number(&perfetto->event, EVENT_CATEGORY_IID, number + 1ull);
}

static void put_name(struct perfetto *perfetto, const struct sn_walk_event *event)
{
	char name[NAME_CHARS];
	uint32_t frame = sonde_db_context(perfetto->db, event->context)->frame;
	if (!sn_trace_export_has_own_name(&perfetto->export, event)) {
		sn_trace_export_name(&perfetto->export, event, name, sizeof(name));
		sn_protobuf_text(&perfetto->event, EVENT_NAME, name);
		return;
	}
	if (sn_table_find(&perfetto->names, frame) == SN_TABLE_NONE)
		sn_trace_export_name(&perfetto->export, event, name, sizeof(name));
	sn_protobuf_number(&perfetto->event, EVENT_NAME_IID,
			   iid_of(perfetto, &perfetto->names, frame, INTERNED_NAME, name));
}

static void put_annotation(struct perfetto *perfetto, const struct sn_walk_attribute *attribute)
{
	const struct sonde_attribute_key *key =
	    sonde_trace_key(perfetto->export.trace, attribute->key);
	struct sn_buffer *annotation = &perfetto->annotation;
	sn_protobuf_number(annotation, ANNOTATION_NAME_IID,
			   iid_of(perfetto, &perfetto->keys, attribute->key,
				  INTERNED_ANNOTATION_NAME,
				  sonde_db_string(perfetto->db, key->name)));
	/* a value of 0 must be there: it is one of several fields */
	if (key->type == SONDE_ATTRIBUTE_REAL)
		sn_protobuf_fixed64(annotation, ANNOTATION_REAL, attribute->value);
	else if (key->type == SONDE_ATTRIBUTE_STRING)
		sn_protobuf_number(
		    annotation, ANNOTATION_STRING_IID,
		    iid_of(perfetto, &perfetto->strings, (uint32_t)attribute->value,
			   INTERNED_STRING_VALUE,
			   sonde_db_string(perfetto->db, (uint32_t)attribute->value)));
	else
		sn_protobuf_varint_field(annotation,
					 key->type == SONDE_ATTRIBUTE_SIGNED ? ANNOTATION_SIGNED
									     : ANNOTATION_UNSIGNED,
					 attribute->value);
	sn_protobuf_message(&perfetto->event, EVENT_ANNOTATION, annotation);
}

/* ---- events ---- */

static void begin_event(struct perfetto *perfetto, unsigned type, uint64_t uuid)
{
	sn_protobuf_number(&perfetto->event, EVENT_TYPE, type);
	if (uuid != perfetto->track)
		sn_protobuf_number(&perfetto->event, EVENT_TRACK, uuid);
}

static void put_time(struct perfetto *perfetto, uint64_t time_ns)
{
	/* there even when 0: a packet without a time has none */
	sn_protobuf_varint_field(&perfetto->packet, PACKET_TIMESTAMP, time_ns - perfetto->last_ns);
	perfetto->last_ns = time_ns;
}

static int end_event(struct perfetto *perfetto, unsigned field, uint64_t time_ns)
{
	put_time(perfetto, time_ns);
	sn_protobuf_message(&perfetto->packet, field, &perfetto->event);
	if (perfetto->interned.count)
		sn_protobuf_message(&perfetto->packet, PACKET_INTERNED, &perfetto->interned);
	sn_protobuf_number(&perfetto->packet, PACKET_FLAGS, STATE_NEEDED);
	return end_packet(perfetto);
}

static void put_details(struct perfetto *perfetto, const struct sn_walk_event *event)
{
	put_category(perfetto, event);
	put_name(perfetto, event);
	for (uint32_t i = 0; i < event->attribute_count; i++)
		put_annotation(perfetto, event->attributes + i);
	if (event->link)
		sn_protobuf_fixed64(&perfetto->event, EVENT_FLOW,
				    sn_trace_export_link(&perfetto->export, event->link));
	int needs_path = sn_shown_callers_needs_path(&perfetto->callers, &perfetto->export, event,
						     perfetto->is_device);
	if (needs_path > 0) /* 0 is of no call, and must be there */
		sn_protobuf_varint_field(&perfetto->event, EVENT_CALLSTACK_IID,
					 sn_perfetto_stack_iid(&perfetto->callstacks,
							       event->context,
							       &perfetto->interned));
	perfetto->event.failed |= needs_path < 0;
}

static int end_slice(struct perfetto *perfetto, struct stack *stack)
{
	begin_event(perfetto, SLICE_END, stack->uuid);
	return end_event(perfetto, PACKET_TRACK_EVENT, stack->open[--stack->count].end_ns);
}

static uint64_t last_end(const struct stack *stack)
{
	return stack->open[stack->count - 1].end_ns;
}

/* Ends what ended by then, in order of time. */
static int end_until(struct perfetto *perfetto, uint64_t time_ns)
{
	for (;;) {
		struct stack *first = NULL;
		for (size_t i = 0; i < perfetto->stack_count; i++) {
			struct stack *stack = perfetto->stacks + i;
			if (stack->count && last_end(stack) <= time_ns &&
			    (!first || last_end(stack) < last_end(first)))
				first = stack;
		}
		int result = first ? end_slice(perfetto, first) : 0;
		if (!first || result)
			return result;
	}
}

/* Whether the context is one of those below another. */
static bool is_below(const struct sonde_db *db, uint32_t context, uint32_t other)
{
	return context > other && context < sonde_db_context(db, other)->end;
}

static bool nests(const struct perfetto *perfetto, const struct stack *stack, uint64_t end_ns,
		  uint32_t context)
{
	const struct open_slice *last = stack->open + stack->count - 1;
	return !stack->count ||
	       (last->end_ns >= end_ns &&
		(last->is_caller || is_below(perfetto->db, context, last->context)));
}

/* The track for an interval; calls prefer the first, ranges never take it. NULL without memory. */
static struct stack *choose_stack(struct perfetto *perfetto, uint64_t end_ns, uint32_t context,
				  bool is_range)
{
	for (size_t i = is_range; i < perfetto->stack_count; i++)
		if (nests(perfetto, perfetto->stacks + i, end_ns, context) || i + 1 == STACKS_MAX)
			return perfetto->stacks + i;
	if (sn_vec_push(&perfetto->stacks, &perfetto->stack_capacity, &perfetto->stack_count,
			(struct stack){0}))
		return NULL;
	return perfetto->stacks + perfetto->stack_count - 1;
}

static int write_interval(struct perfetto *perfetto, const struct sn_walk_event *event)
{
	/* states and system calls do not nest in calls of the program */
	bool is_range =
	    event->kind != SONDE_TRACK_INTERVALS ||
	    (!perfetto->is_device && sn_trace_export_is_range(&perfetto->export, event));
	int result = end_until(perfetto, event->start_ns);
	struct stack *stack =
	    result ? NULL : choose_stack(perfetto, event->end_ns, event->context, is_range);
	if (!stack)
		return result ? result : SN_ERR_MEMORY;
	if (!stack->uuid)
		result = write_beside(perfetto, &stack->uuid);
	if (result)
		return result;
	unsigned kind = sn_trace_export_frame(&perfetto->export, event->context)->kind;
	struct open_slice open = {event->end_ns, event->context,
				  !perfetto->is_device || kind == SN_FRAME_REGION};
	if (sn_vec_push(&stack->open, &stack->capacity, &stack->count, open))
		return SN_ERR_MEMORY;
	begin_event(perfetto, SLICE_BEGIN, stack->uuid);
	put_details(perfetto, event);
	return end_event(perfetto, PACKET_TRACK_EVENT, event->start_ns);
}

static int write_instant(struct perfetto *perfetto, const struct sn_walk_event *event)
{
	int result = end_until(perfetto, event->start_ns);
	if (result)
		return result;
	begin_event(perfetto, INSTANT, perfetto->track);
	put_details(perfetto, event);
	return end_event(perfetto, PACKET_TRACK_EVENT, event->start_ns);
}

static int write_counter(struct perfetto *perfetto, const struct sn_walk_event *event)
{
	int result = end_until(perfetto, event->start_ns);
	if (event->metric >= sonde_db_metric_count(perfetto->db))
		return result;
	if (!result && !perfetto->counter_uuids[event->metric])
		result = write_counter_track(perfetto, event->metric);
	if (result)
		return result;
	begin_event(perfetto, COUNTER, perfetto->counter_uuids[event->metric]);
	for (uint32_t i = 0; i < event->attribute_count; i++) {
		const struct sn_walk_attribute *attribute = event->attributes + i;
		const struct sonde_attribute_key *key =
		    sonde_trace_key(perfetto->export.trace, attribute->key);
		if (strcmp(sonde_db_string(perfetto->db, key->name), "value"))
			put_annotation(perfetto, attribute);
		else if (key->type == SONDE_ATTRIBUTE_REAL)
			sn_protobuf_fixed64(&perfetto->event, EVENT_COUNTER_DOUBLE,
					    attribute->value);
		else
			sn_protobuf_varint_field(&perfetto->event, EVENT_COUNTER_VALUE,
						 attribute->value);
	}
	return end_event(perfetto, PACKET_TRACK_EVENT, event->start_ns);
}

/* A sample of a thread: viewers make a flame graph of those of any stretch of time. */
static int write_sample(struct perfetto *perfetto, const struct sn_walk_event *event)
{
	struct sn_buffer *sample = &perfetto->event;
	int result = end_until(perfetto, event->start_ns);
	if (result)
		return result;
	sn_protobuf_varint_field(sample, 2, perfetto->place->pid);
	sn_protobuf_varint_field(sample, 3, perfetto->place->tid);
	uint32_t iid =
	    sn_perfetto_stack_iid(&perfetto->callstacks, event->context, &perfetto->interned);
	sn_protobuf_number(sample, 4, iid);
	sn_protobuf_number(sample, 5, 2); /* in user mode */
	return end_event(perfetto, PACKET_PERF_SAMPLE, event->start_ns);
}

static int write_event(void *context, const struct sn_walk_event *event)
{
	struct perfetto *perfetto = context;
	switch (event->kind) {
	case SONDE_TRACK_INTERVALS:
	case SONDE_TRACK_STATES:
	case SONDE_TRACK_SYSTEM:
		return write_interval(perfetto, event);
	case SONDE_TRACK_COUNTER:
		return write_counter(perfetto, event);
	case SONDE_TRACK_SAMPLES:
		if (!perfetto->is_device)
			return write_sample(perfetto, event);
		return write_instant(perfetto, event);
	default:
		return write_instant(perfetto, event);
	}
}

/* ---- profiles ---- */

/* Numbers of names begin anew with each sequence. */
static void forget_names(struct perfetto *perfetto)
{
	sn_table_clear(&perfetto->names);
	sn_table_clear(&perfetto->strings);
	sn_table_clear(&perfetto->keys);
	memset(perfetto->counter_uuids, 0,
	       sonde_db_metric_count(perfetto->db) * sizeof(*perfetto->counter_uuids));
	sn_intern_release(&perfetto->categories);
	sn_perfetto_stack_forget(&perfetto->callstacks);
}

static int begin_profile(struct perfetto *perfetto, uint32_t number)
{
	perfetto->sequence++;
	perfetto->profile = sonde_db_profile(perfetto->db, number);
	perfetto->place = perfetto->export.places + number;
	perfetto->is_device = sn_trace_export_is_device(&perfetto->export, number);
	for (size_t i = 0; i < perfetto->stack_count; i++)
		free(perfetto->stacks[i].open);
	perfetto->stack_count = 0;
	forget_names(perfetto);
	sn_trace_export_begin(&perfetto->export);
	sn_shown_callers_begin(&perfetto->callers);
	int result = write_process(perfetto, number);
	if (!result)
		result = perfetto->is_device ? write_stream(perfetto) : write_thread(perfetto);
	if (!result)
		result = write_clock(perfetto);
	struct stack *own = result ? NULL : choose_stack(perfetto, 0, 0, false);
	if (own)
		own->uuid = perfetto->track;
	return own ? 0 : result ? result : SN_ERR_MEMORY;
}

static int write_profile(struct perfetto *perfetto, uint32_t number, struct sn_error *error)
{
	int result = begin_profile(perfetto, number);
	if (!result)
		result = sn_event_walk(&perfetto->export, number, write_event, perfetto, error);
	if (!result)
		result = end_until(perfetto, UINT64_MAX);
	return sn_fail_code(error, result);
}

static int allocate(struct perfetto *perfetto, struct sn_error *error)
{
	struct sn_trace_export *export = &perfetto->export;
	perfetto->process_uuids =
	    sn_arena_array(&export->arena, uint64_t, export->process_count + 1ull);
	perfetto->device_uuids =
	    sn_arena_array(&export->arena, uint64_t, export->device_count + 1ull);
	perfetto->counter_uuids =
	    sn_arena_array(&export->arena, uint64_t, sonde_db_metric_count(export->db) + 1ull);
	return export->arena.failed ? sn_fail_memory(error) : 0;
}

static void release(struct perfetto *perfetto)
{
	for (size_t i = 0; i < perfetto->stack_count; i++)
		free(perfetto->stacks[i].open);
	free(perfetto->stacks);
	sn_table_release(&perfetto->names);
	sn_table_release(&perfetto->strings);
	sn_table_release(&perfetto->keys);
	sn_intern_release(&perfetto->categories);
	sn_perfetto_stack_release(&perfetto->callstacks);
	sn_shown_callers_release(&perfetto->callers);
	sn_buffer_release(&perfetto->packet);
	sn_buffer_release(&perfetto->event);
	sn_buffer_release(&perfetto->part);
	sn_buffer_release(&perfetto->annotation);
	sn_buffer_release(&perfetto->interned);
	sn_trace_export_close(&perfetto->export);
}

static int write_perfetto(const struct sn_export_request *request, FILE *out,
			  struct sn_error *error)
{
	struct perfetto perfetto = {
	    .db = request->db, .out = out, .sequence = 1, .callstacks.db = request->db};
	int result = sn_trace_export_open(&perfetto.export, request->db, request->path, error);
	if (result)
		return result;
	result = allocate(&perfetto, error);
	if (!result)
		result = write_attributes(&perfetto);
	for (uint32_t i = 0; i < sonde_db_profile_count(request->db) && !result; i++)
		if (sn_trace_export_has(&perfetto.export, i))
			result = write_profile(&perfetto, i, error);
	if (request->cut)
		*request->cut = perfetto.callstacks.cut;
	release(&perfetto);
	return result;
}

const struct sn_exporter sn_exporter_perfetto = {
    .name = "perfetto",
    .extension = "pftrace",
    .write = write_perfetto,
    .has_events = true,
};
