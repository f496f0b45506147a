/* SPDX-License-Identifier: Apache-2.0 */
/* What exporters of traces call things; see event_walk.h. */
#include "event_walk.h"

#include "base/intern.h"
#include "base/progress/progress.h"
#include "base/sort.h"
#include "base/vec.h"
#include "format/measurement/measurement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sn_context_use { USE_PLAIN = 1, USE_RANGE, USE_COPY, USE_FILL, USE_GRAPH };
enum { METRIC_RANGE, METRIC_COPY, METRIC_FILL, METRIC_GRAPH };

/* ---- links ---- */

/* How links are numbered: importers put the file's number above 48 bits of a correlation. */
static int measure_links(struct sn_trace_export *export, struct sn_error *error)
{
	uint64_t low = 1, least = UINT64_MAX, most = 0;
	export->origin_ns = UINT64_MAX;
	for (uint32_t i = 0; i < sonde_trace_track_count(export->trace); i++) {
		struct sonde_event_cursor *cursor =
		    sonde_event_cursor_new(export->trace, i, 0, UINT64_MAX, 0);
		struct sonde_event_block block;
		struct sonde_db_error why;
		int result = cursor ? 1 : SN_ERR_MEMORY;
		if (sonde_trace_track(export->trace, i)->start_ns < export->origin_ns)
			export->origin_ns = sonde_trace_track(export->trace, i)->start_ns;
		while (result > 0 && (result = sonde_event_cursor_next(cursor, &block, &why)) > 0)
			for (size_t j = 0; block.links && j < block.count; j++) {
				uint64_t link = block.links[j];
				if (!link)
					continue;
				low |= link & ((1ull << 48) - 1);
				least = link >> 48 < least ? link >> 48 : least;
				most = link >> 48 > most ? link >> 48 : most;
			}
		sonde_event_cursor_free(cursor);
		if (result < 0)
			return cursor ? sn_fail(error, result, "%s", why.text)
				      : sn_fail_memory(error);
	}
	export->link_group = least == UINT64_MAX ? 0 : least;
	/* links of one group stay as they are */
	export->link_bits = most > export->link_group ? 64 - (unsigned)__builtin_clzll(low) : 48;
	return 0;
}

uint64_t sn_trace_export_link(const struct sn_trace_export *export, uint64_t link)
{
	if (!link)
		return 0;
	uint64_t low = link & ((1ull << 48) - 1), group = (link >> 48) - export->link_group;
	uint64_t number = (group << export->link_bits | low) & ((1ull << 48) - 1);
	return number ? number : 1ull << 47;
}

/* ---- places ---- */

#define SPARE 1000000000ull /* beyond all numbers of processes and threads of Linux */

/* `wanted`, or a number that no other has: of the keys in `used`, which are a group and a number.
 */
static uint64_t unique(struct sn_intern *used, uint64_t group, uint64_t wanted)
{
	for (uint64_t number = wanted, spare = SPARE;; number = spare++) {
		uint64_t key[2] = {group, number};
		uint32_t before = used->count;
		uint32_t found = sn_intern_add(used, key, sizeof(key));
		if (found == SN_INTERN_NONE || found == before)
			return number;
	}
}

struct process_key {
	uint64_t pid;
	uint32_t run, host, program, device;
	int32_t rank;
	uint32_t reserved;
};

struct placing {
	struct sn_intern processes, devices, pids, tids;
	uint64_t *process_pids, *device_pids;
	uint32_t *process_programs; /* of its first thread */
};

/* A program that another was executed by has that one's numbers: its threads are of a process of
 * their own, of which the label tells the number, and keep theirs. */
static void place_thread(const struct sonde_db_profile *profile, struct process_key *key,
			 struct sn_trace_place *place, struct placing *placing)
{
	uint64_t wanted = profile->tid & INT32_MAX;
	place->tid = unique(&placing->tids, place->process, wanted);
	if (place->tid == wanted || placing->process_programs[place->process] == profile->program)
		return;
	key->program = profile->program;
	uint32_t before = placing->processes.count;
	uint32_t other = sn_intern_add(&placing->processes, key, sizeof(*key));
	if (other == SN_INTERN_NONE)
		return;
	if (other == before) {
		placing->process_pids[other] = unique(&placing->pids, 0, SPARE);
		placing->process_programs[other] = profile->program;
	}
	place->process = other;
	place->pid = placing->process_pids[other];
	place->tid = unique(&placing->tids, other, wanted);
}

static void place_profile(struct sn_trace_export *export, uint32_t number, struct placing *placing)
{
	const struct sonde_db_profile *profile = sonde_db_profile(export->db, number);
	struct sn_trace_place *place = export->places + number;
	struct process_key key = {.pid = profile->pid,
				  .run = profile->run,
				  .host = profile->host,
				  .rank = profile->rank,
				  .program = SONDE_NONE,
				  .device = SONDE_NONE};
	uint32_t before = placing->processes.count;
	place->process = sn_intern_add(&placing->processes, &key, sizeof(key));
	place->device = SONDE_NONE;
	if (place->process == SN_INTERN_NONE)
		return;
	if (place->process == before) {
		placing->process_pids[place->process] =
		    unique(&placing->pids, 0, profile->pid & INT32_MAX);
		placing->process_programs[place->process] = profile->program;
	}
	place->pid = placing->process_pids[place->process];
	if (profile->kind != SONDE_PROFILE_STREAM) {
		place_thread(profile, &key, place, placing);
		return;
	}
	key.device = profile->device;
	before = placing->devices.count;
	place->device = sn_intern_add(&placing->devices, &key, sizeof(key));
	if (place->device == SN_INTERN_NONE)
		return;
	if (place->device == before)
		placing->device_pids[place->device] =
		    UINT64_MAX; /* once all processes have theirs */
	place->tid = unique(&placing->tids, (1ull << 32) + place->device, profile->stream);
}

static int place_profiles(struct sn_trace_export *export)
{
	uint32_t count = sonde_db_profile_count(export->db);
	struct sn_arena arena = {0};
	struct placing placing = {.process_pids = sn_arena_array(&arena, uint64_t, count + 1ull),
				  .device_pids = sn_arena_array(&arena, uint64_t, count + 1ull),
				  .process_programs =
				      sn_arena_array(&arena, uint32_t, count + 1ull)};
	export->places = sn_arena_array(&export->arena, struct sn_trace_place, count + 1ull);
	bool failed = arena.failed || export->arena.failed;
	for (uint32_t i = 0; i < count && !failed; i++) {
		place_profile(export, i, &placing);
		failed = export->places[i].process == SN_INTERN_NONE;
	}
	for (uint32_t i = 0; i < count && !failed; i++) {
		struct sn_trace_place *place = export->places + i;
		if (place->device == SONDE_NONE)
			continue;
		uint64_t *pid = placing.device_pids + place->device;
		if (*pid == UINT64_MAX)
			*pid = unique(&placing.pids, 0, sonde_db_profile(export->db, i)->device);
		place->device_pid = *pid;
	}
	export->process_count = placing.processes.count;
	export->device_count = placing.devices.count;
	sn_intern_release(&placing.processes);
	sn_intern_release(&placing.devices);
	sn_intern_release(&placing.pids);
	sn_intern_release(&placing.tids);
	sn_arena_release(&arena);
	return failed ? SN_ERR_MEMORY : 0;
}

void sn_trace_export_label(const struct sn_trace_export *export, uint32_t number, char *text,
			   size_t size)
{
	const struct sonde_db_profile *profile = sonde_db_profile(export->db, number);
	const struct sn_trace_place *place = export->places + number;
	const char *host = sonde_db_string(export->db, profile->host);
	size_t used = 0;
	text[0] = 0;
	if (profile->rank >= 0)
		used += (size_t)snprintf(text, size, ", rank %d", (int)profile->rank);
	if (used < size && profile->pid && place->pid != profile->pid)
		used += (size_t)snprintf(text + used, size - used, ", pid %llu",
					 (unsigned long long)profile->pid);
	if (used < size && *host)
		used += (size_t)snprintf(text + used, size - used, ", host %s", host);
	if (used)
		memmove(text, text + 2, strlen(text) - 1);
}

/* ---- events ---- */

static bool has_metric(const struct sn_trace_export *export, uint32_t context, unsigned metric)
{
	struct sonde_db_summary summary;
	return export->metrics[metric] != SONDE_NONE &&
	       sonde_db_summary(export->db, context, export->metrics[metric], &summary) &&
	       summary.exclusive.count > 0;
}

static enum sn_context_use find_use(const struct sn_trace_export *export, uint32_t context)
{
	const struct sonde_db_frame *frame = sn_trace_export_frame(export, context);
	const char *name = sonde_db_string(export->db, frame->name);
	if (frame->kind == SN_FRAME_REGION)
		return has_metric(export, context, METRIC_RANGE) ? USE_RANGE : USE_PLAIN;
	if (frame->kind != SN_FRAME_GPU_OP)
		return USE_PLAIN;
	if (has_metric(export, context, METRIC_FILL) || strcasestr(name, "memset"))
		return USE_FILL;
	if (has_metric(export, context, METRIC_COPY) || strcasestr(name, "memcpy"))
		return USE_COPY;
	return has_metric(export, context, METRIC_GRAPH) ? USE_GRAPH : USE_PLAIN;
}

static enum sn_context_use use_of(struct sn_trace_export *export, uint32_t context)
{
	if (!export->uses[context])
		export->uses[context] = (unsigned char)find_use(export, context);
	return export->uses[context];
}

bool sn_trace_export_is_range(struct sn_trace_export *export, const struct sn_walk_event *event)
{
	return event->kind != SONDE_TRACK_INTERVALS || use_of(export, event->context) == USE_RANGE;
}

const char *sn_trace_export_category(struct sn_trace_export *export,
				     const struct sn_walk_event *event, bool is_device)
{
	unsigned kind = sn_trace_export_frame(export, event->context)->kind;
	if (event->kind == SONDE_TRACK_INSTANTS)
		return "cpu_instant_event";
	if (event->kind == SONDE_TRACK_STATES)
		return "thread_state";
	if (event->kind == SONDE_TRACK_SYSTEM)
		return "system";
	if (is_device && kind == SN_FRAME_KERNEL)
		return "kernel";
	if (is_device && kind == SN_FRAME_GPU_OP) {
		enum sn_context_use use = use_of(export, event->context);
		return use == USE_COPY	  ? "gpu_memcpy"
		       : use == USE_FILL  ? "gpu_memset"
		       : use == USE_GRAPH ? "gpu_graph"
					  : "cuda_sync";
	}
	if (is_device)
		return "gpu_user_annotation";
	switch (kind) {
	case SN_FRAME_PYTHON:
		return "python_function";
	case SN_FRAME_OPERATOR:
		return "cpu_op";
	case SN_FRAME_GPU_API:
		return "cuda_runtime";
	case SN_FRAME_OS:
		return "overhead";
	case SN_FRAME_REGION:
		return use_of(export, event->context) == USE_RANGE ? "range" : "user_annotation";
	default:
		return sonde_frame_kind_name(kind);
	}
}

bool sn_trace_export_is_memory(const struct sn_trace_export *export,
			       const struct sn_walk_event *event)
{
	/* packets of the operating system have bytes as well */
	if (sn_trace_export_frame(export, event->context)->kind == SN_FRAME_OS)
		return false;
	if (event->kind != SONDE_TRACK_INSTANTS)
		return false;
	for (uint32_t i = 0; i < event->attribute_count; i++) {
		const struct sonde_attribute_key *key =
		    sonde_trace_key(export->trace, event->attributes[i].key);
		if (!strcmp(sonde_db_string(export->db, key->name), "bytes"))
			return true;
	}
	return false;
}

bool sn_trace_export_has_own_name(const struct sn_trace_export *export,
				  const struct sn_walk_event *event)
{
	return event->kind != SONDE_TRACK_STATES && event->kind != SONDE_TRACK_SYSTEM &&
	       !(sn_trace_export_frame(export, event->context)->flags & SN_FRAME_ITERATION) &&
	       !sn_trace_export_is_memory(export, event);
}

/* "blocked: interruptible": of what is no call the path is part of the name. */
static void join_path(const struct sn_trace_export *export, uint32_t context, char *text,
		      size_t size)
{
	const struct sonde_db_context *node = sonde_db_context(export->db, context);
	if (node->depth > 1 && node->depth < 16)
		join_path(export, node->parent, text, size);
	else
		text[0] = 0;
	size_t used = strlen(text);
	snprintf(text + used, size - used, "%s%s", used ? ": " : "",
		 sonde_db_string(export->db, sn_trace_export_frame(export, context)->name));
}

/* The iteration's own number, which the importer has stored as an attribute. */
static bool own_number(const struct sn_trace_export *export, const struct sn_walk_event *event,
		       uint64_t *number)
{
	for (uint32_t i = 0; i < event->attribute_count; i++) {
		const struct sonde_attribute_key *key =
		    sonde_trace_key(export->trace, event->attributes[i].key);
		const char *name = sonde_db_string(export->db, key->name);
		*number = event->attributes[i].value;
		if ((!strcmp(name, "iteration") || !strcmp(name, "step_num")) &&
		    (key->type == SONDE_ATTRIBUTE_SIGNED || key->type == SONDE_ATTRIBUTE_UNSIGNED))
			return true;
	}
	return false;
}

/* How many of that frame came before in the profile. Without memory: none. */
static uint64_t next_iteration(struct sn_trace_export *export, uint32_t frame)
{
	uint32_t before = export->iterated.count;
	uint32_t number = sn_table_add(&export->iterated, frame);
	if (number == SN_TABLE_NONE ||
	    sn_vec_reserve(&export->iterations, &export->iteration_capacity, number + 1ull) < 0)
		return 0;
	if (number == before)
		export->iterations[number] = 0;
	return ++export->iterations[number];
}

void sn_trace_export_name(struct sn_trace_export *export, const struct sn_walk_event *event,
			  char *text, size_t size)
{
	const struct sonde_db_frame *frame = sn_trace_export_frame(export, event->context);
	const char *name = sonde_db_string(export->db, frame->name);
	if (event->kind == SONDE_TRACK_STATES || event->kind == SONDE_TRACK_SYSTEM) {
		join_path(export, event->context, text, size);
	} else if (sn_trace_export_is_memory(export, event)) {
		snprintf(text, size, "[memory]");
	} else if (frame->kind == SN_FRAME_PYTHON && frame->file != SONDE_NONE) {
		snprintf(text, size, "%s(%u): %s", sonde_db_string(export->db, frame->file),
			 frame->function_line, name);
	} else if (frame->flags & SN_FRAME_ITERATION) {
		uint64_t number;
		if (!own_number(export, event, &number))
			number = next_iteration(
			    export, sonde_db_context(export->db, event->context)->frame);
		snprintf(text, size, "%s#%llu", name, (unsigned long long)number);
	} else {
		snprintf(text, size, "%s", name);
	}
}

/* ---- all of it ---- */

bool sn_trace_export_has(const struct sn_trace_export *export, uint32_t profile)
{
	return sonde_trace_first_track(export->trace, profile) != SONDE_NONE;
}

bool sn_trace_export_is_device(const struct sn_trace_export *export, uint32_t profile)
{
	return sonde_db_profile(export->db, profile)->kind == SONDE_PROFILE_STREAM;
}

void sn_trace_export_begin(struct sn_trace_export *export)
{
	sn_table_clear(&export->iterated);
}

void sn_trace_export_close(struct sn_trace_export *export)
{
	sonde_trace_close(export->trace);
	sn_table_release(&export->iterated);
	free(export->iterations);
	sn_arena_release(&export->arena);
	*export = (struct sn_trace_export){0};
}

static int compare_keys(const void *left, const void *right, void *context)
{
	const struct sn_trace_export *export = context;
	const struct sonde_attribute_key *a =
	    sonde_trace_key(export->trace, *(const uint32_t *)left);
	const struct sonde_attribute_key *b =
	    sonde_trace_key(export->trace, *(const uint32_t *)right);
	return sn_order_then(
	    strcmp(sonde_db_string(export->db, a->name), sonde_db_string(export->db, b->name)),
	    SN_ORDER(a->type, b->type));
}

static void order_keys(struct sn_trace_export *export)
{
	uint32_t count = sonde_trace_key_count(export->trace);
	for (uint32_t i = 0; i < count; i++)
		export->keys[i] = i;
	qsort_r(export->keys, count, sizeof(*export->keys), compare_keys, export);
	for (uint32_t i = 0; i < count; i++)
		export->key_places[export->keys[i]] = i;
}

static int prepare(struct sn_trace_export *export, struct sn_error *error)
{
	const struct sonde_db *db = export->db;
	uint32_t keys = sonde_trace_key_count(export->trace);
	export->metrics[METRIC_RANGE] = sonde_db_metric_by_name(db, "range-time");
	export->metrics[METRIC_COPY] = sonde_db_metric_by_name(db, "copy-time");
	export->metrics[METRIC_FILL] = sonde_db_metric_by_name(db, "fill-time");
	export->metrics[METRIC_GRAPH] = sonde_db_metric_by_name(db, "graph-time");
	export->uses =
	    sn_arena_array(&export->arena, unsigned char, sonde_db_context_count(db) + 1ull);
	export->keys = sn_arena_array(&export->arena, uint32_t, keys + 1ull);
	export->key_places = sn_arena_array(&export->arena, uint32_t, keys + 1ull);
	if (export->arena.failed)
		return sn_fail_memory(error);
	order_keys(export);
	return place_profiles(export) ? sn_fail_memory(error) : measure_links(export, error);
}

int sn_trace_export_open(struct sn_trace_export *export, const struct sonde_db *db,
			 const char *path, struct sn_error *error)
{
	struct sonde_db_error why;
	*export = (struct sn_trace_export){.db = db};
	if (sonde_trace_open(db, &export->trace, &why))
		return sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	int result =
	    sonde_trace_event_count(export->trace)
		? prepare(export, error)
		: sn_fail(error, SN_ERR_ARGUMENT,
			  "'%s' holds no events: measure with --trace, or import a trace", path);
	if (result)
		sn_trace_export_close(export);
	else
		sn_progress_begin("writing events", sonde_trace_event_count(export->trace));
	return result;
}
