/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks of a Perfetto trace: which thread, stream or other row each of them is, and the slices on
 * them.
 *
 * A slice is complete when it ends. But of two slices that begin and end together, the sink needs
 * the outer one first. So ended slices wait until it is known whether the slice around them ends at
 * the same time.
 */
#include "perfetto.h"

#include "base/vec.h"

#include <stdio.h>
#include <string.h>

#define ANCESTORS_MAX 32
/* Open slices in all tracks; valid traces have only as many as calls nest. */
#define OPEN_MAX      (1u << 20)

struct sn_perfetto_track *sn_perfetto_track(struct sn_perfetto *perfetto, uint64_t uuid)
{
	uint32_t number = sn_intern_item(&perfetto->track_ids, &uuid, sizeof(uuid),
					 &perfetto->tracks, &perfetto->track_capacity,
					 {.uuid = uuid,
					  .pid = -1,
					  .tid = -1,
					  .name = SONDE_NONE,
					  .unit = SONDE_NONE,
					  .multiplier = 1,
					  .number = SONDE_NONE,
					  .metric = SONDE_NONE});
	return number == SN_INTERN_NONE ? NULL : perfetto->tracks + number;
}

static struct sn_perfetto_track *find_track(const struct sn_perfetto *perfetto, uint64_t uuid)
{
	uint32_t number = sn_intern_find(&perfetto->track_ids, &uuid, sizeof(uuid));
	return number == SN_INTERN_NONE ? NULL : perfetto->tracks + number;
}

static struct sn_perfetto_process *process_of(struct sn_perfetto *perfetto, int64_t pid)
{
	uint32_t number =
	    sn_intern_item(&perfetto->process_ids, &pid, sizeof(pid), &perfetto->processes,
			   &perfetto->process_capacity, {SONDE_NONE});
	return number == SN_INTERN_NONE ? NULL : perfetto->processes + number;
}

static struct sn_perfetto_thread *thread_of(struct sn_perfetto *perfetto, int64_t pid, int64_t tid)
{
	int64_t key[2] = {pid, tid};
	uint32_t number =
	    sn_intern_item(&perfetto->thread_ids, key, sizeof(key), &perfetto->threads,
			   &perfetto->thread_capacity, {SONDE_NONE, -1});
	return number == SN_INTERN_NONE ? NULL : perfetto->threads + number;
}

struct sn_perfetto_thread *sn_perfetto_thread(struct sn_perfetto *perfetto, int64_t tid)
{
	return thread_of(perfetto, INT64_MIN, tid);
}

/* Names a thread by its descriptor; the thread's number may be unique only within its process. */
static int name_thread(struct sn_perfetto *perfetto, int64_t pid, int64_t tid,
		       const struct sn_proto_field *name)
{
	int64_t pids[] = {INT64_MIN, pid};
	for (int i = 0; i < 2; i++) {
		struct sn_perfetto_thread *thread = thread_of(perfetto, pids[i], tid);
		if (!thread)
			return SN_ERR_MEMORY;
		thread->pid = pid;
		if (name->bytes && name->length)
			thread->name = sn_perfetto_string(perfetto, name);
	}
	return 0;
}

/* ---- descriptors ---- */

static int read_process(struct sn_perfetto *perfetto, struct sn_proto descriptor, int64_t *pid)
{
	struct sn_proto_field field, name = {0};
	*pid = -1;
	while (sn_proto_next(&descriptor, &field)) {
		if (field.number == 1)
			*pid = (int32_t)field.value;
		else if (field.number == 6 || (field.number == 2 && !name.bytes))
			name = field;
	}
	struct sn_perfetto_process *process = process_of(perfetto, *pid);
	if (!process)
		return SN_ERR_MEMORY;
	if (name.bytes && name.length)
		process->name = sn_perfetto_string(perfetto, &name);
	return 0;
}

int sn_perfetto_describe_thread(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
				struct sn_proto descriptor, int64_t *pid, int64_t *tid)
{
	struct sn_proto_field fields[7]; /* 1 pid, 2 tid, 5 name, 6 time of old events */
	SN_PROTO_FIELDS(descriptor, fields);
	*pid = (int32_t)sn_proto_or(fields + 1, *pid);
	*tid = sn_proto_or(fields + 2, *tid);
	if (fields[6].value) {
		sequence->legacy_us = (int64_t)fields[6].value;
		sequence->has_legacy_time = true;
	}
	return name_thread(perfetto, *pid, *tid, fields + 5);
}

static void read_counter(struct sn_perfetto *perfetto, struct sn_perfetto_track *track,
			 struct sn_proto descriptor)
{
	static const char *const units[] = {"1", "ns", "1", "bytes"};
	struct sn_proto_field fields[7]; /* 3 unit, 4 multiplier, 5 is incremental, 6 unit's name */
	SN_PROTO_FIELDS(descriptor, fields);
	track->is_counter = true;
	if (fields[6].number)
		track->unit = sn_perfetto_string(perfetto, fields + 6);
	else if (fields[3].number && fields[3].value < 4)
		track->unit = sn_db_builder_string(perfetto->builder, units[fields[3].value]);
	if (fields[4].value)
		track->multiplier = (int64_t)fields[4].value;
	if (fields[5].number)
		track->is_incremental = fields[5].value != 0;
}

int sn_perfetto_describe_track(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
			       struct sn_proto descriptor)
{
	static const unsigned names[] = {2, 10, 13};
	struct sn_proto_field fields[14]; /* 1 uuid, 3 process, 4 thread, 5 parent, 8 counter */
	SN_PROTO_FIELDS(descriptor, fields);
	struct sn_perfetto_track *track = sn_perfetto_track(perfetto, fields[1].value);
	int result = track ? 0 : SN_ERR_MEMORY;
	if (!result && fields[5].number)
		track->parent = fields[5].value;
	for (int i = 0; i < 3 && !result; i++)
		if (fields[names[i]].length)
			track->name = sn_perfetto_string(perfetto, fields + names[i]);
	if (!result && fields[3].number) {
		result = read_process(perfetto, sn_proto_enter(fields + 3), &track->pid);
		track->has_process = true;
	}
	if (!result && fields[4].number) {
		track->pid = track->tid = -1;
		result = sn_perfetto_describe_thread(perfetto, sequence, sn_proto_enter(fields + 4),
						     &track->pid, &track->tid);
		track->has_thread = true;
	}
	if (!result && fields[8].number)
		read_counter(perfetto, track, sn_proto_enter(fields + 8));
	return result;
}

static int read_tree_process(struct sn_perfetto *perfetto, struct sn_proto message)
{
	struct sn_proto_field field, name = {0};
	int64_t pid = -1;
	while (sn_proto_next(&message, &field)) {
		if (field.number == 1)
			pid = (int32_t)field.value;
		else if (field.number == 3 && !name.bytes)
			name = field;
	}
	struct sn_perfetto_process *process = process_of(perfetto, pid);
	struct sn_perfetto_thread *thread = process ? sn_perfetto_thread(perfetto, pid) : NULL;
	if (!thread)
		return SN_ERR_MEMORY;
	thread->pid = pid;
	if (name.bytes && process->name == SONDE_NONE)
		process->name = sn_perfetto_string(perfetto, &name);
	return 0;
}

static int read_tree_thread(struct sn_perfetto *perfetto, struct sn_proto message)
{
	struct sn_proto_field fields[4]; /* 1 tid, 2 name, 3 pid */
	SN_PROTO_FIELDS(message, fields);
	return name_thread(perfetto, (int32_t)sn_proto_or(fields + 3, -1),
			   (int32_t)sn_proto_or(fields + 1, -1), fields + 2);
}

int sn_perfetto_process_tree(struct sn_perfetto *perfetto, struct sn_proto tree)
{
	struct sn_proto_field field;
	int result = 0;
	while (!result && sn_proto_next(&tree, &field)) {
		if (field.number == 1)
			result = read_tree_process(perfetto, sn_proto_enter(&field));
		else if (field.number == 2)
			result = read_tree_thread(perfetto, sn_proto_enter(&field));
	}
	return result;
}

/* ---- places ---- */

uint32_t sn_perfetto_thread_track(struct sn_perfetto *perfetto, int64_t pid, int64_t tid)
{
	struct sn_track_place place = {0, pid, tid, 0, 0};
	return sn_track_sink_track(perfetto->sink, &place);
}

/* The number of a row: tracks with the same parent and name share one, as in Perfetto's viewer. */
static uint32_t sibling(struct sn_perfetto *perfetto, const struct sn_perfetto_track *track)
{
	uint64_t key[3] = {track->parent, track->name, 0};
	if (track->name == SONDE_NONE)
		key[2] = track->uuid;
	uint32_t number =
	    sn_intern_item(&perfetto->siblings, key, sizeof(key), &perfetto->sibling_counts,
			   &perfetto->sibling_capacity, {0});
	return number == SN_INTERN_NONE ? SONDE_NONE : number;
}

int sn_perfetto_merge_tracks(struct sn_perfetto *perfetto)
{
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < perfetto->track_ids.count; i++) {
			struct sn_perfetto_track *track = perfetto->tracks + i;
			uint32_t number = sibling(perfetto, track);
			if (number == SONDE_NONE)
				return SN_ERR_MEMORY;
			if (pass == 0)
				perfetto->sibling_counts[number]++;
			else
				track->is_merged = perfetto->sibling_counts[number] > 1;
		}
	return 0;
}

/* Creates a row that is neither a thread nor a stream, of a process or of none. */
static int place_own(struct sn_perfetto *perfetto, struct sn_perfetto_track *track, int64_t pid)
{
	uint32_t number = sibling(perfetto, track);
	struct sn_track_place place = {0, pid, -2 - (int64_t)number, 1, 0};
	struct sn_perfetto_track *parent = find_track(perfetto, track->parent);
	if (track->is_counter) /* one row for all counters, which their metrics distinguish */
		place.second = -1;
	if (number != SONDE_NONE)
		track->number = sn_track_sink_track(perfetto->sink, &place);
	if (track->number == SONDE_NONE)
		return SN_ERR_MEMORY;
	track->is_beside = track->is_merged;
	if (track->is_counter || track->name == SONDE_NONE)
		return 0;
	if (parent && parent != track && !parent->has_process && parent->name != SONDE_NONE) {
		char name[512];
		struct sn_db_builder *builder = perfetto->builder;
		int used = snprintf(name, sizeof(name), "%.200s/",
				    sn_db_builder_text(builder, parent->name));
		snprintf(name + used, sizeof(name) - (size_t)used, "%.200s",
			 sn_db_builder_text(builder, track->name));
		sn_track_sink_name_track(perfetto->sink, track->number,
					 sn_db_builder_string(builder, name));
	} else {
		sn_track_sink_name_track(perfetto->sink, track->number, track->name);
	}
	return 0;
}

/* The thread or process in which a track is, or its outermost row; NULL: it is not described. */
static const struct sn_perfetto_track *owner_of(const struct sn_perfetto *perfetto,
						const struct sn_perfetto_track *track)
{
	for (int i = 0; i < ANCESTORS_MAX && track; i++) {
		if (track->has_thread || track->has_process || !track->parent)
			break;
		track = find_track(perfetto, track->parent);
	}
	return track;
}

int64_t sn_perfetto_track_pid(const struct sn_perfetto *perfetto,
			      const struct sn_perfetto_track *track)
{
	const struct sn_perfetto_track *owner = owner_of(perfetto, track);
	return owner ? owner->pid : -1;
}

int sn_perfetto_place_track(struct sn_perfetto *perfetto, struct sn_perfetto_track *track)
{
	if (track->number != SONDE_NONE)
		return 0;
	const struct sn_perfetto_track *at = owner_of(perfetto, track);
	int64_t pid = at ? at->pid : -1;
	if (!at || !at->has_thread)
		return place_own(perfetto, track, pid);
	track->number = sn_perfetto_thread_track(perfetto, pid, at->tid);
	if (track->number == SONDE_NONE)
		return SN_ERR_MEMORY;
	track->is_beside = at != track;
	return 0;
}

static void name_track(struct sn_perfetto *perfetto, uint32_t number)
{
	const struct sn_track *track = sn_track_sink_at(perfetto->sink, number);
	uint32_t process = sn_intern_find(&perfetto->process_ids, &track->pid, sizeof(track->pid));
	int64_t key[2] = {track->pid, track->tid};
	if (!track->is_device && track->name == SONDE_NONE && track->tid >= 0) {
		uint32_t thread = sn_intern_find(&perfetto->thread_ids, key, sizeof(key));
		if (thread != SN_INTERN_NONE)
			sn_track_sink_name_track(perfetto->sink, number,
						 perfetto->threads[thread].name);
	}
	if (process != SN_INTERN_NONE)
		sn_track_sink_set_track_program(perfetto->sink, number,
						perfetto->processes[process].name);
}

void sn_perfetto_name_tracks(struct sn_perfetto *perfetto)
{
	for (uint32_t i = 0; i < perfetto->process_ids.count && !perfetto->has_program; i++)
		if (perfetto->processes[i].name != SONDE_NONE) {
			sn_track_sink_set_program(perfetto->sink, perfetto->processes[i].name);
			perfetto->has_program = true;
		}
	for (uint32_t i = 0; i < sn_track_sink_count(perfetto->sink); i++)
		name_track(perfetto, i);
}

/* ---- slices ---- */

/* Adds the ended slices, the outer ones first. */
static void flush(struct sn_perfetto *perfetto, struct sn_perfetto_track *track)
{
	for (size_t i = track->open; i < track->total; i++) {
		track->items[i].event.attributes = track->items[i].attributes;
		sn_track_sink_event(perfetto->sink, &track->items[i].event);
	}
	track->total = track->open;
}

static int set_attributes(struct sn_perfetto_slice *slice, const struct sn_attribute *attributes,
			  uint16_t count)
{
	uint16_t before = slice->event.attribute_count;
	if (sn_vec_reserve(&slice->attributes, &slice->capacity, before + count + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (count)
		memcpy(slice->attributes + before, attributes, count * sizeof(*attributes));
	slice->event.attribute_count = (uint16_t)(before + count);
	return 0;
}

int sn_perfetto_slice_begin(struct sn_perfetto *perfetto, struct sn_perfetto_track *track,
			    const struct sn_track_event *event)
{
	flush(perfetto, track);
	if (perfetto->open_count == OPEN_MAX) {
		sn_track_sink_unended(perfetto->sink, 1);
		return 0;
	}
	size_t before = track->capacity;
	if (sn_vec_reserve(&track->items, &track->capacity, track->open + 1) < 0)
		return SN_ERR_MEMORY;
	if (track->capacity > before)
		memset(track->items + before, 0,
		       (track->capacity - before) * sizeof(*track->items));
	struct sn_perfetto_slice *slice = track->items + track->open;
	slice->event = *event;
	slice->event.attribute_count = 0;
	if (set_attributes(slice, event->attributes, event->attribute_count))
		return SN_ERR_MEMORY;
	track->total = ++track->open;
	perfetto->open_count++;
	return 0;
}

int sn_perfetto_slice_end(struct sn_perfetto *perfetto, struct sn_perfetto_track *track,
			  uint64_t time_ns, const struct sn_perfetto_attributes *more)
{
	if (!track->open) {
		sn_track_sink_unpaired(perfetto->sink, 1);
		return 0;
	}
	if (track->total > track->open && track->ended_ns != time_ns)
		flush(perfetto, track);
	struct sn_perfetto_slice *slice = track->items + --track->open;
	perfetto->open_count--;
	slice->event.end_ns = slice->event.start_ns;
	if ((int64_t)time_ns > slice->event.start_ns)
		slice->event.end_ns = (int64_t)time_ns;
	track->ended_ns = time_ns;
	if (!more || !more->count || slice->event.attribute_count > UINT16_MAX / 2)
		return 0;
	return set_attributes(slice, more->items, more->count);
}

void sn_perfetto_end_slices(struct sn_perfetto *perfetto)
{
	int64_t end_ns = sn_track_sink_last(perfetto->sink);
	for (uint32_t i = 0; i < perfetto->track_ids.count; i++) {
		struct sn_perfetto_track *track = perfetto->tracks + i;
		for (size_t j = 0; j < track->open; j++) {
			struct sn_track_event *event = &track->items[j].event;
			event->end_ns = end_ns > event->start_ns ? end_ns : event->start_ns;
		}
		sn_track_sink_unended(perfetto->sink, track->open);
		perfetto->open_count -= track->open;
		track->open = 0;
		flush(perfetto, track);
	}
}

void sn_perfetto_tracks_release(struct sn_perfetto *perfetto)
{
	for (uint32_t i = 0; i < perfetto->track_ids.count; i++) {
		struct sn_perfetto_track *track = perfetto->tracks + i;
		for (size_t j = 0; j < track->capacity; j++)
			free(track->items[j].attributes);
		free(track->items);
	}
	sn_intern_release(&perfetto->track_ids);
	sn_intern_release(&perfetto->process_ids);
	sn_intern_release(&perfetto->thread_ids);
	sn_intern_release(&perfetto->siblings);
}
