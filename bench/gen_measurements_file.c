/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's measurement file: what its threads and streams visit of the universe, and the integers
 * they measure there. Laid out straight into one buffer: the generator must not be slower than the
 * disk.
 */
#include "gen_measurements.h"

#include "format/checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_PER_NODE = 8, SAMPLE_NS = 5000000, RUN_SECONDS = 600, STALL_FIRST = GEN_STALL_FETCH };
enum { STALLS = GEN_METRIC_COUNT - STALL_FIRST };

const struct gen_metric_info gen_metrics[GEN_METRIC_COUNT] = {
#define GEN_METRIC(id, name, unit, source, kind, period)                                           \
	[GEN_##id] = {name, unit, source, kind, period},
#include "gen_measurements_metrics.def"
#undef GEN_METRIC
};

/* A profile while it is written. */
struct profile {
	const struct gen_universe *universe;
	const struct gen_options *options;
	struct gen_buffer *buffer;
	struct gen_totals *totals;
	struct gen_random random;
	uint32_t rank, number; /* of the rank's profiles; its threads come first */
	uint64_t index;	       /* of all profiles */
	bool is_stream;
	uint32_t node_count;
	size_t values_at, value_count, samples;
};

struct layout {
	struct gen_buffer *buffer;
	size_t snapshot; /* where it begins */
	struct sn_section_entry *entries;
	uint32_t entry_count;
};

static void *reserve(struct gen_buffer *buffer, size_t bytes)
{
	size_t needed = buffer->length + bytes + SN_SECTION_ALIGN;
	if (needed > buffer->capacity) {
		buffer->capacity = needed + needed / 2;
		buffer->bytes = gen_must(realloc(buffer->bytes, buffer->capacity));
	}
	return buffer->bytes + buffer->length;
}

static void pad(struct gen_buffer *buffer)
{
	size_t rest = -buffer->length % SN_SECTION_ALIGN;
	memset(reserve(buffer, rest), 0, rest);
	buffer->length += rest;
}

static void put(struct gen_buffer *buffer, const void *bytes, size_t length)
{
	memcpy(reserve(buffer, length), bytes, length);
	buffer->length += length;
}

/* Notes the section that reaches from `start` to the buffer's end. */
static void end_section(struct layout *layout, uint32_t type, uint32_t index, size_t start,
			const uint64_t *checksum)
{
	struct gen_buffer *buffer = layout->buffer;
	size_t length = buffer->length - start;
	layout->entries[layout->entry_count++] = (struct sn_section_entry){
	    .type = type,
	    .version = 1,
	    .index = index,
	    .offset = start - layout->snapshot,
	    .length = length,
	    .checksum = checksum ? *checksum : sn_checksum(buffer->bytes + start, length),
	};
	pad(buffer);
}

static void put_section(struct layout *layout, uint32_t type, uint32_t index, const void *bytes,
			size_t length, const uint64_t *checksum)
{
	size_t start = layout->buffer->length;
	put(layout->buffer, bytes, length);
	end_section(layout, type, index, start, checksum);
}

/* ---- what a profile visits ---- */

/* Which of the chosen subtrees each profile takes. */
static void choose_units(struct profile *profile)
{
	uint64_t bound = (uint64_t)(profile->options->visit * 4294967296.0);
	for (uint32_t i = 0; i < profile->universe->unit_count; i++)
		profile->buffer->visited[i] = gen_next(&profile->random) >> 32 < bound;
}

static bool is_wanted(const struct profile *profile, const struct gen_node *node)
{
	if (profile->is_stream)
		return node->role >= GEN_KERNEL && profile->buffer->visited[node->unit];
	if (node->role > GEN_API)
		return false;
	return node->unit == UINT32_MAX || profile->buffer->visited[node->unit];
}

/* Numbers what is visited, with all that is above it. */
static void mark(struct profile *profile)
{
	const struct gen_universe *universe = profile->universe;
	uint32_t *local = profile->buffer->local, next = 0;
	memset(local, 0, universe->node_count * sizeof(*local));
	local[0] = 1;
	for (uint32_t i = universe->node_count; i-- > 1;)
		if (local[i] || is_wanted(profile, universe->nodes + i)) {
			local[i] = 1;
			local[universe->nodes[i].parent] = 1;
		}
	for (uint32_t i = 0; i < universe->node_count; i++)
		local[i] = local[i] ? next++ : SN_ID_NONE;
	profile->node_count = next;
}

/* A profile's own contexts hang below `exchange`'s parent, where everybody has been. */
enum { OWN_PARENT = 2 };

static void put_nodes(struct layout *layout, struct profile *profile)
{
	const struct gen_universe *universe = profile->universe;
	const uint32_t *local = profile->buffer->local;
	uint32_t own = profile->is_stream ? 0 : profile->options->own;
	size_t start = profile->buffer->length;
	struct sn_node_record *records =
	    reserve(profile->buffer, (profile->node_count + own) * sizeof(*records));
	uint32_t at = 0;
	for (uint32_t i = 0; i < universe->node_count; i++) {
		if (local[i] == SN_ID_NONE)
			continue;
		records[at] = universe->templates[i];
		records[at++].parent = local[universe->nodes[i].parent];
		profile->totals->visited[i] = true;
	}
	for (uint32_t i = 0; i < own; i++)
		records[at++] = (struct sn_node_record){
		    .parent = local[OWN_PARENT],
		    .frame = {.kind = SN_FRAME_NATIVE,
			      .value = (1ull << 40) + (profile->index * own + i) * 16}};
	profile->buffer->length += at * sizeof(*records);
	profile->totals->nodes += at;
	end_section(layout, SN_SNAPSHOT_NODES, profile->number, start, NULL);
}

/* ---- what it measures there ---- */

/* As much as columns can need: values of more than 32 bits that all differ. Totals still fit. */
static void widen(struct profile *profile, uint64_t *low, uint64_t *high, uint64_t *value,
		  uint64_t *step)
{
	uint64_t drawn = gen_next(&profile->random);
	*low = 1 + (drawn & 7);
	*high = 1 + (drawn >> 3 & 7);
	*value = (1ull << 32) + (drawn >> 32);
	*step = 1 + (gen_next(&profile->random) >> 32);
}

/* `low` times one value and `high` times one that is greater by `step`. */
static void measure(struct profile *profile, uint32_t node, uint32_t local, enum gen_metric metric,
		    uint64_t low, uint64_t high, uint64_t value, uint64_t step)
{
	if (profile->options->is_wide)
		widen(profile, &low, &high, &value, &step);
	uint64_t greater = value + step, least = low ? value : greater,
		 most = high ? greater : value;
	struct sn_value_record *record = reserve(profile->buffer, sizeof(*record));
	*record = (struct sn_value_record){
	    .node = local,
	    .metric = metric,
	    .count = low + high,
	    .sum = low * value + high * greater,
	    .min = least,
	    .max = most,
	    .sum_squares = (double)low * (double)value * (double)value +
			   (double)high * (double)greater * (double)greater,
	};
	profile->buffer->length += sizeof(*record);
	struct gen_total *totals[] = {
	    &profile->totals->metrics[metric],
	    profile->totals->contexts && node != SN_ID_NONE
		? &profile->totals->contexts[(size_t)node * GEN_METRIC_COUNT + metric]
		: NULL};
	for (int i = 0; i < 2 && totals[i]; i++) {
		struct gen_total *total = totals[i];
		total->min = !total->values || least < total->min ? least : total->min;
		total->max = most > total->max ? most : total->max;
		total->values++;
		total->count += record->count;
		total->sum += record->sum;
	}
}

static void measure_cpu(struct profile *profile, uint32_t node, uint32_t local, uint64_t samples)
{
	uint64_t drawn = gen_next(&profile->random);
	measure(profile, node, local, GEN_CPU_TIME, samples, 0, SAMPLE_NS, 0);
	profile->samples += samples;
	if (drawn & 3)
		measure(profile, node, local, GEN_CYCLES, samples, 0, 10000000, 0);
	if (drawn & 0xc)
		measure(profile, node, local, GEN_INSTRUCTIONS, 1 + samples / 2, 0, 10000000, 0);
	if (!(drawn & 0x30))
		measure(profile, node, local, GEN_CACHE_MISSES, 1 + samples / 4, 0, 100000, 0);
}

static void measure_kernel(struct profile *profile, uint32_t node, uint32_t local)
{
	const struct gen_node *kernel = profile->universe->nodes + node;
	uint64_t drawn = gen_next(&profile->random);
	uint64_t low = 1 + (drawn & 31), high = drawn >> 8 & 15, launches = low + high;
	/* what a kernel needs is the same whenever it is launched */
	uint32_t shape = kernel->frame.id * 2654435761u;
	uint64_t threads = 64ull << (shape >> 8 & 3), warps_max = 64;
	measure(profile, node, local, GEN_KERNEL_TIME, low, high, 2000 + (drawn >> 16 & 0xffff),
		drawn >> 32 & 0xffff);
	measure(profile, node, local, GEN_KERNEL_REGISTERS, launches, 0, 16 + (shape >> 16 & 63),
		0);
	if (shape & 1)
		measure(profile, node, local, GEN_KERNEL_SHARED, launches, 0,
			1024 * (1 + (shape >> 24 & 31)), 0);
	if (!(shape & 0xe))
		measure(profile, node, local, GEN_KERNEL_LOCAL, launches, 0, 256, 0);
	measure(profile, node, local, GEN_KERNEL_BLOCKS, launches, 0, 1 + (shape >> 10 & 4095), 0);
	measure(profile, node, local, GEN_KERNEL_THREADS, launches, 0, threads, 0);
	measure(profile, node, local, GEN_KERNEL_WARPS, launches, 0, warps_max - (shape >> 20 & 47),
		0);
	measure(profile, node, local, GEN_KERNEL_WARPS_MAX, launches, 0, warps_max, 0);
	measure(profile, node, local, GEN_SAMPLES_EXPECTED, 1, 0, 200 + launches * 16, 0);
}

static void measure_instruction(struct profile *profile, uint32_t node, uint32_t local)
{
	uint64_t drawn = gen_next(&profile->random);
	if (!(drawn & 3))
		return; /* was not sampled here */
	uint64_t samples = 1 + (drawn >> 2 & 15), stalled = samples * (drawn >> 6 & 7) / 8;
	measure(profile, node, local, GEN_SAMPLES, samples, 0, 1, 0);
	if (!stalled)
		return;
	measure(profile, node, local, GEN_SAMPLES_STALLED, stalled, 0, 1, 0);
	/* of a dozen reasons, one or two are why */
	uint32_t reason = (uint32_t)(drawn >> 12 & 0xff) % STALLS;
	uint64_t first = stalled > 1 ? stalled - stalled / 3 : stalled;
	measure(profile, node, local, STALL_FIRST + reason, first, 0, 1, 0);
	if (stalled > first)
		measure(profile, node, local, STALL_FIRST + (reason + 1) % STALLS, stalled - first,
			0, 1, 0);
}

static void measure_node(struct profile *profile, uint32_t node, uint32_t local)
{
	uint64_t drawn = gen_next(&profile->random);
	bool is_slow = profile->rank == profile->options->slow_rank;
	switch (profile->universe->nodes[node].role) {
	case GEN_UPPER:
		if (!profile->is_stream && node && !(drawn & 7))
			measure_cpu(profile, node, local, 1 + (drawn >> 8 & 7));
		break;
	case GEN_LEAF:
		measure_cpu(profile, node, local, 1 + (drawn >> 8 & 31));
		break;
	case GEN_EXCHANGE:
		measure_cpu(profile, node, local,
			    (uint64_t)((double)(100 + (drawn >> 8 & 3)) *
				       (is_slow ? profile->options->imbalance : 1)));
		break;
	case GEN_API:
		if (!profile->is_stream)
			measure(profile, node, local, GEN_API_TIME, 1 + (drawn & 15), 0,
				1000 + (drawn >> 8 & 8191), 0);
		break;
	case GEN_KERNEL:
		measure_kernel(profile, node, local);
		break;
	case GEN_INSTRUCTION:
		measure_instruction(profile, node, local);
		break;
	case GEN_COPY:
		measure(profile, node, local, GEN_COPY_TIME, 1 + (drawn & 15), drawn >> 4 & 7,
			1500 + (drawn >> 8 & 0xffff), 500);
		measure(profile, node, local, GEN_COPY_BYTES, 1 + (drawn & 15) + (drawn >> 4 & 7),
			0, 4096 << (drawn >> 40 & 7), 0);
		break;
	case GEN_SYNC:
		measure(profile, node, local, GEN_SYNC_TIME, 1 + (drawn & 7), 0,
			5000 + (drawn >> 8 & 0xffff), 0);
		break;
	}
}

static void put_values(struct layout *layout, struct profile *profile)
{
	const struct gen_universe *universe = profile->universe;
	const uint32_t *local = profile->buffer->local;
	size_t start = profile->buffer->length;
	for (uint32_t i = 0; i < universe->node_count; i++)
		if (local[i] != SN_ID_NONE)
			measure_node(profile, i, local[i]);
	for (uint32_t i = 0; !profile->is_stream && i < profile->options->own; i++)
		measure_cpu(profile, SN_ID_NONE, profile->node_count + i,
			    1 + gen_below(&profile->random, 4));
	profile->totals->values +=
	    (profile->buffer->length - start) / sizeof(struct sn_value_record);
	end_section(layout, SN_SNAPSHOT_VALUES, profile->number, start, NULL);
}

static void put_thread_record(struct layout *layout, const struct profile *profile, size_t at)
{
	uint64_t id = 1000 + profile->rank * 10000ull + profile->number;
	struct sn_thread_record record = {
	    .tid = id,
	    .start_ns = profile->number * 1000000ull,
	    .end_ns = RUN_SECONDS * 1000000000ull,
	    .cpu_ns = profile->samples * (uint64_t)SAMPLE_NS,
	    .name = SN_ID_NONE,
	    .flags = profile->number ? SN_THREAD_ENDED : SN_THREAD_FIRST | SN_THREAD_ENDED,
	    .samples = profile->samples,
	    .own_ns = profile->samples * 2000,
	};
	memcpy(profile->buffer->bytes + at, &record, sizeof(record));
	size_t end = profile->buffer->length;
	profile->buffer->length = at + sizeof(record);
	end_section(layout, SN_SNAPSHOT_THREAD, profile->number, at, NULL);
	profile->buffer->length = end;
}

static void put_profile(struct layout *layout, struct profile *profile)
{
	const struct gen_universe *universe = profile->universe;
	choose_units(profile);
	mark(profile);
	/* its record tells what was measured, and so comes last */
	size_t record_at = profile->buffer->length;
	reserve(profile->buffer, sizeof(struct sn_thread_record));
	profile->buffer->length += sizeof(struct sn_thread_record);
	put_section(layout, SN_SNAPSHOT_STRINGS, profile->number, universe->strings,
		    universe->strings_bytes, &universe->strings_checksum);
	put_section(layout, SN_SNAPSHOT_CODES, profile->number, universe->codes,
		    universe->codes_bytes, &universe->codes_checksum);
	put_nodes(layout, profile);
	put_values(layout, profile);
	put_thread_record(layout, profile, record_at);
	if (profile->is_stream) {
		uint32_t stream = profile->number - profile->options->threads;
		struct sn_stream_record record = {profile->rank % RANKS_PER_NODE, 1, 7 + stream, 0};
		put_section(layout, SN_SNAPSHOT_STREAM, profile->number, &record, sizeof(record),
			    NULL);
	}
}

/* ---- what is the process's ---- */

static void put_process(struct layout *layout, uint32_t rank)
{
	size_t start = layout->buffer->length;
	char text[512];
	int length = snprintf(text, sizeof(text),
			      "version=%s%cprogram=/gen/work%ccommand=work --big%chost=node%04u%c"
			      "pid=%u%crank=%u%cstart_realtime_ns=1700000000000000000%c"
			      "start_monotonic_ns=0%cduration_ns=%llu%cexit=0%c"
			      "events=cpu-time@200Hz%c",
			      SN_VERSION, 0, 0, 0, rank / RANKS_PER_NODE, 0, 1000 + rank * 10000, 0,
			      rank, 0, 0, 0, RUN_SECONDS * 1000000000ull, 0, 0, 0);
	put(layout->buffer, text, (size_t)length);
	end_section(layout, SN_SNAPSHOT_PROCESS, 0, start, NULL);
}

struct texts {
	char bytes[4096];
	uint32_t offsets[128];
	uint32_t count;
};

static uint32_t add_text(struct texts *texts, const char *text)
{
	for (uint32_t i = 0; i < texts->count; i++)
		if (texts->offsets[i + 1] - texts->offsets[i] == strlen(text) &&
		    !memcmp(texts->bytes + texts->offsets[i], text, strlen(text)))
			return i;
	uint32_t at = texts->offsets[texts->count];
	memcpy(texts->bytes + at, text, strlen(text));
	texts->offsets[++texts->count] = at + (uint32_t)strlen(text);
	return texts->count - 1;
}

static void put_shared(struct layout *layout, const struct gen_universe *universe,
		       const char *module_path)
{
	struct texts texts = {.count = 0};
	struct sn_module_record module = {
	    .start = 0x10000000,
	    .end = 0x7fff00000000,
	    .path = add_text(&texts, module_path ? module_path : "/gen/libwork.so"),
	    .build_id_bytes = (uint32_t)universe->build_id_bytes,
	};
	memcpy(module.build_id, universe->build_id, sizeof(module.build_id));
	struct sn_metric_record metrics[GEN_METRIC_COUNT];
	for (uint32_t i = 0; i < GEN_METRIC_COUNT; i++)
		metrics[i] = (struct sn_metric_record){add_text(&texts, gen_metrics[i].name),
						       add_text(&texts, gen_metrics[i].unit),
						       add_text(&texts, gen_metrics[i].source),
						       gen_metrics[i].kind, gen_metrics[i].period};
	struct sn_drop_record drop = {add_text(&texts, "sample-busy"), 0, 3};
	put_section(layout, SN_SNAPSHOT_MODULES, 0, &module, sizeof(module), NULL);
	put_section(layout, SN_SNAPSHOT_METRICS, 0, metrics, sizeof(metrics), NULL);
	put_section(layout, SN_SNAPSHOT_DROPS, 0, &drop, sizeof(drop), NULL);
	size_t start = layout->buffer->length;
	struct sn_strings_record record = {texts.count, 0};
	put(layout->buffer, &record, sizeof(record));
	put(layout->buffer, texts.offsets, (texts.count + 1) * sizeof(*texts.offsets));
	pad(layout->buffer);
	put(layout->buffer, texts.bytes, texts.offsets[texts.count]);
	end_section(layout, SN_SNAPSHOT_STRINGS, SN_ID_NONE, start, NULL);
}

/* The header page with its one commit, the section table and the snapshot's header. */
static void finish(struct layout *layout)
{
	struct gen_buffer *buffer = layout->buffer;
	size_t table = layout->entry_count * sizeof(*layout->entries), table_at = buffer->length;
	put(buffer, layout->entries, table);
	struct sn_container_header snapshot = {
	    .version_major = SN_MEASUREMENT_VERSION_MAJOR,
	    .version_minor = SN_MEASUREMENT_VERSION_MINOR,
	    .section_count = layout->entry_count,
	    .table_offset = table_at - layout->snapshot,
	    .length = buffer->length - layout->snapshot,
	    .table_checksum = sn_checksum(layout->entries, table),
	};
	memcpy(snapshot.magic, SN_SNAPSHOT_MAGIC, sizeof(snapshot.magic));
	snapshot.checksum = sn_checksum(&snapshot, offsetof(struct sn_container_header, checksum));
	memcpy(buffer->bytes + layout->snapshot, &snapshot, sizeof(snapshot));
	struct sn_measurement_header header = {
	    .version_major = SN_MEASUREMENT_VERSION_MAJOR,
	    .version_minor = SN_MEASUREMENT_VERSION_MINOR,
	    .page_bytes = SN_MEASUREMENT_PAGE_BYTES,
	};
	memcpy(header.magic, SN_MEASUREMENT_MAGIC, sizeof(header.magic));
	header.checksum = sn_checksum(&header, offsetof(struct sn_measurement_header, checksum));
	memcpy(buffer->bytes, &header, sizeof(header));
	struct sn_commit_slot slot = {1, layout->snapshot, snapshot.length, 1, 0};
	slot.checksum = sn_checksum(&slot, offsetof(struct sn_commit_slot, checksum));
	memcpy(buffer->bytes + SN_COMMIT_SLOT_OFFSET(1), &slot, sizeof(slot));
}

void gen_rank(const struct gen_universe *universe, const struct gen_options *options, uint32_t rank,
	      struct gen_buffer *buffer, struct gen_totals *totals)
{
	uint32_t profiles = options->threads + options->streams;
	struct layout layout = {.buffer = buffer, .snapshot = SN_MEASUREMENT_PAGE_BYTES};
	layout.entries = gen_must(calloc(8 + profiles * 6ull, sizeof(*layout.entries)));
	if (!buffer->local) {
		buffer->local = gen_must(malloc(universe->node_count * sizeof(*buffer->local)));
		buffer->visited = gen_must(malloc(universe->unit_count + 1));
	}
	buffer->length = 0;
	size_t head = SN_MEASUREMENT_PAGE_BYTES + sizeof(struct sn_container_header);
	memset(reserve(buffer, head), 0, head);
	buffer->length = head;
	put_process(&layout, rank);
	put_shared(&layout, universe, options->module);
	for (uint32_t i = 0; i < profiles; i++) {
		struct profile profile = {
		    .universe = universe,
		    .options = options,
		    .buffer = buffer,
		    .totals = totals,
		    .rank = rank,
		    .number = i,
		    .index = (uint64_t)rank * profiles + i,
		    .is_stream = i >= options->threads,
		};
		profile.random.state = options->seed ^ (profile.index + 1) * 0xD1342543DE82EF95ull;
		put_profile(&layout, &profile);
	}
	finish(&layout);
	totals->files++;
	totals->bytes += buffer->length;
	free(layout.entries);
}

void gen_rank_name(uint32_t rank, char *text, size_t size)
{
	snprintf(text, size, "node%04u-%u-1700000000" SN_MEASUREMENT_SUFFIX, rank / RANKS_PER_NODE,
		 1000 + rank * 10000);
}
