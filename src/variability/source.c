/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts to kernels and copies, profiles to places; then blocks of events to launches. */
#include "clock.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "frame/context_frame.h"
#include "format/measurement/measurement.h"
#include "lib/db/trace_reader.h"
#include "timeline/devices/copies.h"
#include "timeline/devices/operations.h"
#include "timeline/track_blocks.h"

#include <stdio.h>
#include <string.h>

static const struct sn_attribute_wish wishes[SN_LAUNCH_SIZES + 1] = {
    [SN_LAUNCH_GRID_X] = {"grid.x", SONDE_ATTRIBUTE_SIGNED},
    [SN_LAUNCH_GRID_Y] = {"grid.y", SONDE_ATTRIBUTE_SIGNED},
    [SN_LAUNCH_GRID_Z] = {"grid.z", SONDE_ATTRIBUTE_SIGNED},
    [SN_LAUNCH_BLOCK_X] = {"block.x", SONDE_ATTRIBUTE_SIGNED},
    [SN_LAUNCH_BLOCK_Y] = {"block.y", SONDE_ATTRIBUTE_SIGNED},
    [SN_LAUNCH_BLOCK_Z] = {"block.z", SONDE_ATTRIBUTE_SIGNED},
    [SN_LAUNCH_SHARED] = {"shared memory", SONDE_ATTRIBUTE_SIGNED},
    [SN_LAUNCH_REGISTERS] = {"registers per thread", SONDE_ATTRIBUTE_SIGNED},
    [SN_LAUNCH_SIZES] = {"bytes", SONDE_ATTRIBUTE_SIGNED},
};

/* ---- kernels ---- */

/* An instruction of a program that a device runs by itself counts if it contains no other one. */
static bool is_kernel(const struct sonde_db *db, uint32_t context)
{
	unsigned kind = sn_context_frame(db, context)->kind;
	enum sn_device_work work = sn_device_work(db, context);
	if ((kind != SN_FRAME_KERNEL && kind != SN_FRAME_GRAPH_NODE) ||
	    (work != SN_WORK_COMPUTE && work != SN_WORK_COMMUNICATION))
		return false;
	if (kind == SN_FRAME_KERNEL)
		return true;
	for (uint32_t below = context + 1; below < sonde_db_context(db, context)->end; below++)
		if (sn_context_frame(db, below)->kind == SN_FRAME_GRAPH_NODE)
			return false;
	return true;
}

static int find_contexts(struct sn_vary_sources *sources, struct sn_vary_source *source)
{
	const struct sonde_db *db = source->input->db;
	uint32_t count = sonde_db_context_count(db);
	source->kernels = malloc((count + 1ull) * sizeof(*source->kernels));
	source->copies = calloc(count + 1ull, 1);
	if (!source->kernels || !source->copies)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		bool is_wanted = !source->input->contexts || source->input->contexts[i];
		const char *name = sn_context_name(db, i);
		source->kernels[i] = SONDE_NONE;
		if (is_wanted && is_kernel(db, i)) {
			source->kernels[i] =
			    sn_intern_add_text(&sources->names, name, strlen(name));
			if (source->kernels[i] == SN_INTERN_NONE)
				return SN_ERR_MEMORY;
		} else if (sn_device_work(db, i) == SN_WORK_COPY) {
			source->copies[i] = (uint8_t)(1 + sn_copy_direction(db, i));
		}
	}
	return 0;
}

SN_SORT_BY(sort_names, uint32_t, const char **, strcmp(of[*a], of[*b]));

/* Kernels by name, so that their numbers do not depend on the order of databases. */
static int sort_kernels(struct sn_vary_sources *sources)
{
	uint32_t count = sources->names.count;
	const char **names = sn_arena_array(sources->arena, const char *, count + 1);
	uint32_t *order = malloc((count + 1) * sizeof(*order)),
		 *numbers = malloc((count + 1) * sizeof(*numbers));
	sources->kernels = sn_arena_array(sources->arena, const char *, count + 1);
	sources->are_communication = sn_arena_array(sources->arena, bool, count + 1);
	for (uint32_t i = 0; i < count && names && order; i++) {
		names[i] = sn_arena_text(sources->arena, sn_intern_at(&sources->names, i, NULL));
		order[i] = i;
	}
	bool has_memory = order && numbers && !sources->arena->failed;
	if (has_memory)
		sort_names(order, count, names);
	for (uint32_t i = 0; i < count && has_memory; i++) {
		numbers[order[i]] = i;
		sources->kernels[i] = names[order[i]];
	}
	for (size_t s = 0; s < sources->count && has_memory; s++) {
		const struct sonde_db *db = sources->items[s].input->db;
		for (uint32_t i = 0; i < sonde_db_context_count(db); i++) {
			uint32_t *kernel = sources->items[s].kernels + i;
			if (*kernel == SONDE_NONE)
				continue;
			*kernel = numbers[*kernel];
			sources->are_communication[*kernel] |=
			    sn_device_work(db, i) == SN_WORK_COMMUNICATION;
		}
	}
	sources->kernel_count = count;
	free(order);
	free(numbers);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

/* ---- places ---- */

static uint32_t find_place(const struct sn_vary_sources *sources,
			   const struct sn_variability_place *wanted)
{
	for (size_t i = 0; i < sources->place_count; i++) {
		const struct sn_variability_place *one = sources->places + i;
		if (one->input == wanted->input && one->run == wanted->run &&
		    one->rank == wanted->rank && one->pid == wanted->pid &&
		    one->device == wanted->device)
			return (uint32_t)i;
	}
	return SONDE_NONE;
}

static int find_places(struct sn_vary_sources *sources, struct sn_vary_source *source)
{
	const struct sonde_db *db = source->input->db;
	uint32_t count = sonde_db_profile_count(db), last = 0;
	source->places = malloc((count + 1ull) * sizeof(*source->places));
	if (!source->places)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, i);
		source->places[i] = SONDE_NONE;
		if (profile->kind != SONDE_PROFILE_STREAM)
			continue;
		struct sn_variability_place place = {.input = (uint32_t)(source - sources->items),
						     .run = profile->run,
						     .device = profile->device,
						     .rank = profile->rank,
						     .pid = profile->rank < 0 ? profile->pid : 0};
		/* streams of one place mostly follow each other */
		const struct sn_variability_place *before = sources->places + last;
		bool is_last = sources->place_count && before->input == place.input &&
			       before->run == place.run && before->device == place.device &&
			       before->rank == place.rank && before->pid == place.pid;
		source->places[i] = is_last ? last : find_place(sources, &place);
		if (source->places[i] == SONDE_NONE) {
			source->places[i] = (uint32_t)sources->place_count;
			if (sn_vec_push(&sources->places, &sources->place_capacity,
					&sources->place_count, place))
				return SN_ERR_MEMORY;
		}
		last = source->places[i];
	}
	return 0;
}

/* The same device of the same rank, in another database, run or process. */
static bool is_alike(const struct sn_variability_place *a, const struct sn_variability_place *b)
{
	return a->rank == b->rank && a->device == b->device;
}

static void name_place(struct sn_vary_sources *sources, size_t number)
{
	struct sn_variability_place *place = sources->places + number;
	bool has_alike = false, has_alike_here = false;
	for (size_t i = 0; i < sources->place_count; i++) {
		const struct sn_variability_place *other = sources->places + i;
		has_alike |= i != number && is_alike(other, place);
		has_alike_here |=
		    i != number && is_alike(other, place) && other->input == place->input;
	}
	char rank[24] = "", more[48] = "";
	if (place->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %d ", place->rank);
	if (has_alike_here && place->pid)
		snprintf(more, sizeof(more), ", process %llu of run %u",
			 (unsigned long long)place->pid, place->run);
	else if (has_alike_here)
		snprintf(more, sizeof(more), ", run %u", place->run);
	bool is_plain = !has_alike || sources->count == 1;
	place->name = sn_arena_print(sources->arena, "%sdevice %u%s%s%s", rank,
				     place->device == SONDE_NONE ? 0 : place->device, more,
				     is_plain ? "" : " of ",
				     is_plain ? "" : sources->items[place->input].input->name);
}

/* ---- all of a database ---- */

static int find_tracks(struct sn_vary_source *source)
{
	const struct sonde_trace *trace = source->input->trace;
	uint32_t count = sonde_trace_track_count(trace);
	source->tracks = malloc((count + 1ull) * sizeof(*source->tracks));
	if (!source->tracks)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->kind == SONDE_TRACK_INTERVALS &&
		    source->places[track->profile] != SONDE_NONE)
			source->tracks[source->track_count++] = i;
	}
	return 0;
}

int sn_vary_sources_init(struct sn_vary_sources *sources, const struct sn_variability_input *inputs,
			 size_t count, struct sn_arena *arena, struct sn_error *error)
{
	int result = 0;
	*sources = (struct sn_vary_sources){
	    .arena = arena, .items = calloc(count + 1, sizeof(*sources->items)), .count = count};
	if (!sources->items)
		return sn_fail_memory(error);
	for (size_t i = 0; i < count && !result; i++) {
		struct sn_vary_source *source = sources->items + i;
		*source = (struct sn_vary_source){.input = inputs + i, .start_ns = UINT64_MAX};
		result = find_contexts(sources, source);
		result = result ?: find_places(sources, source);
		result = result ?: find_tracks(source);
		result = result ?: sn_vary_clocks_find(source);
	}
	result = result ?: sort_kernels(sources);
	for (size_t i = 0; i < sources->place_count && !result; i++)
		name_place(sources, i);
	return result || arena->failed ? sn_fail_memory(error) : 0;
}

void sn_vary_sources_release(struct sn_vary_sources *sources)
{
	for (size_t i = 0; i < sources->count && sources->items; i++) {
		free(sources->items[i].kernels);
		free(sources->items[i].copies);
		free(sources->items[i].places);
		free(sources->items[i].tracks);
		free(sources->items[i].clocks);
	}
	free(sources->items);
	free(sources->places);
	sn_intern_release(&sources->names);
	*sources = (struct sn_vary_sources){0};
}

/* ---- reading ---- */

/* Blocks before a time that are read as well. */
enum { BLOCKS_BEFORE = 2 };

uint64_t sn_vary_track_begin(const struct sn_vary_source *source, uint32_t track, uint64_t from_ns)
{
	const struct sonde_trace *trace = source->input->trace;
	const struct sonde_track *one = sonde_trace_track(trace, track);
	const struct sn_block_entry *blocks = trace->blocks + one->first_block;
	uint64_t block = sn_search(i, one->block_count, blocks[i].start_ns < from_ns);
	block = block > BLOCKS_BEFORE ? block - BLOCKS_BEFORE : 0;
	return block < one->block_count && blocks[block].start_ns < from_ns ? blocks[block].start_ns
									    : from_ns;
}

struct visit {
	struct sn_vary_reader *reader;
	const struct sn_vary_reading *reading;
	uint32_t track;
};

static int give_launch(const struct visit *visit, const struct sonde_track *track,
		       const struct sonde_event_block *block, size_t i)
{
	uint64_t sizes[SN_LAUNCH_SIZES];
	const struct sn_vary_source *source = visit->reader->source;
	const struct sn_attributes *attributes = &visit->reader->attributes;
	for (size_t s = 0; s < SN_LAUNCH_SIZES; s++)
		sizes[s] = s < attributes->count && attributes->is_there[s * SN_BLOCK_EVENTS + i]
			       ? attributes->values[s * SN_BLOCK_EVENTS + i]
			       : SN_SIZE_UNKNOWN;
	struct sn_vary_launch launch = {
	    .start_ns = block->starts_ns[i],
	    .end_ns = block->ends_ns[i],
	    .kernel = source->kernels[block->contexts[i]],
	    .place = source->places[track->profile],
	    .profile = track->profile,
	    .track = visit->track,
	    .sizes = sizes,
	    .link = block->links ? block->links[i] : 0,
	};
	return visit->reading->launch(visit->reading->data, &launch);
}

static int give_copy(const struct visit *visit, const struct sonde_track *track,
		     const struct sonde_event_block *block, size_t i)
{
	const struct sn_vary_source *source = visit->reader->source;
	uint64_t bytes = UINT64_MAX;
	if (visit->reader->detail == SN_VARY_FULL)
		sn_attributes_get(&visit->reader->attributes, SN_LAUNCH_SIZES, i, &bytes);
	struct sn_vary_copy copy = {
	    .start_ns = block->starts_ns[i],
	    .end_ns = block->ends_ns[i],
	    .bytes = bytes,
	    .place = source->places[track->profile],
	    .profile = track->profile,
	    .direction = (uint8_t)(source->copies[block->contexts[i]] - 1),
	};
	return visit->reading->copy(visit->reading->data, &copy);
}

static int visit_block(void *data, const struct sonde_track *track,
		       struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct visit *visit = data;
	const struct sn_vary_reading *reading = visit->reading;
	const struct sn_vary_source *source = visit->reader->source;
	bool is_read = false;
	int result = 0;
	for (size_t i = 0; i < block->count && !result; i++) {
		bool is_launch =
		    reading->launch && source->kernels[block->contexts[i]] != SONDE_NONE;
		bool is_copy = reading->copy && source->copies[block->contexts[i]];
		if ((!is_launch && !is_copy) || block->ends_ns[i] < reading->from_ns ||
		    block->starts_ns[i] > reading->to_ns)
			continue;
		if (!is_read)
			sn_attributes_read(&visit->reader->attributes, cursor, block->count);
		is_read = true;
		result = is_launch ? give_launch(visit, track, block, i)
				   : give_copy(visit, track, block, i);
	}
	return result;
}

void sn_vary_reader_release(struct sn_vary_reader *reader)
{
	sonde_event_cursor_free(reader->cursor);
	sn_attributes_release(&reader->attributes);
	*reader = (struct sn_vary_reader){0};
}

static int prepare(struct sn_vary_reader *reader, const struct sn_vary_source *source,
		   enum sn_vary_detail detail)
{
	static const size_t counts[] = {
	    [SN_VARY_CONFIGURATION] = SN_CONFIGURATION_SIZES, [SN_VARY_FULL] = SN_LAUNCH_SIZES + 1};
	if (reader->source == source && reader->detail == detail)
		return 0;
	sn_vary_reader_release(reader);
	reader->cursor = sn_event_reader_new(source->input->trace);
	int result = sn_attributes_init(&reader->attributes, source->input->db,
					source->input->trace, wishes, counts[detail]);
	reader->source = source;
	reader->detail = detail;
	return result || !reader->cursor ? SN_ERR_MEMORY : 0;
}

int sn_vary_read_track(struct sn_vary_reader *reader, const struct sn_vary_source *source,
		       uint32_t track, const struct sn_vary_reading *reading,
		       struct sn_error *error)
{
	if (prepare(reader, source, reading->detail))
		return sn_fail_memory(error);
	struct sn_event_window window = {
	    .from_ns = reading->from_ns, .to_ns = reading->to_ns, .reader = reader->cursor};
	struct visit visit = {reader, reading, track};
	return sn_track_blocks(source->input->trace, track, &window, visit_block, &visit, error);
}
