/* SPDX-License-Identifier: Apache-2.0 */
/* Events through every stage of src/trace, and what a damaged block does. */
#include "../whole_file.h"
#include "base/vec.h"
#include "lib/db/database_access.h"
#include "format/events/block.h"
#include "trace/lanes.h"
#include "format/events/pyramid.h"
#include "trace/sorter.h"
#include "trace/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* A generator with a known sequence: xorshift64*. */
static uint64_t random_number(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717u;
}

/* Encodes and decodes; returns the bytes it took. */
static size_t round_trip(const uint64_t *values, size_t count)
{
	struct sn_buffer buffer = {0};
	uint64_t got[SN_COLUMN_MAX];
	sn_column_encode(values, count, &buffer);
	assert_false(buffer.failed);
	struct sn_span span = {buffer.bytes, buffer.count};
	assert_true(sn_column_decode(&span, got, count));
	assert_int_equal(span.count, 0);
	assert_memory_equal(got, values, count * sizeof(*values));
	struct sn_span skipped = {buffer.bytes, buffer.count};
	assert_true(sn_column_skip(&skipped, count));
	assert_int_equal(skipped.count, 0);
	for (size_t cut = 0; cut < buffer.count; cut++) {
		struct sn_span shorter = {buffer.bytes, cut}, skipping = shorter;
		assert_false(sn_column_decode(&shorter, got, count));
		assert_false(sn_column_skip(&skipping, count));
	}
	size_t bytes = buffer.count;
	sn_buffer_release(&buffer);
	return bytes;
}

static void columns_come_back(void **unused)
{
	uint64_t values[SN_COLUMN_MAX], state = 1;
	for (size_t count = 1; count <= 300; count += 13) {
		for (size_t i = 0; i < count; i++)
			values[i] = 42;
		assert_int_equal(round_trip(values, count), 16);
		for (size_t i = 0; i < count; i++)
			values[i] = UINT64_MAX - i * 1000000;
		round_trip(values, count);
		for (size_t i = 0; i < count; i++)
			values[i] = random_number(&state);
		round_trip(values, count);
		for (size_t i = 0; i < count; i++)
			values[i] = random_number(&state) % 3 << 60;
		round_trip(values, count);
	}
}

/* Each encoding where it is the one for the job: bytes a value. */
static void columns_are_small(void **unused)
{
	static uint64_t values[SN_COLUMN_MAX];
	uint64_t state = 7;
	for (size_t i = 0; i < SN_COLUMN_MAX; i++)
		values[i] = 1700000000000000000u + i * 5000000 + random_number(&state) % 200;
	assert_true(round_trip(values, 512) <= 512 * 2 + 32); /* delta: two bytes of jitter */
	for (size_t i = 0; i < SN_COLUMN_MAX; i++)
		values[i] = 1000000 + random_number(&state) % 256;
	assert_true(round_trip(values, 512) <= 512 + 16); /* plain */
	for (size_t i = 0; i < SN_COLUMN_MAX; i++)
		values[i] = (random_number(&state) % 50) * 1000003;
	assert_true(round_trip(values, 512) <= 512 + 50 * 4 + 16); /* dictionary */
}

/* A place beyond the dictionary's values. */
static void damaged_dictionaries_are_refused(void **unused)
{
	uint64_t values[512], got[512];
	struct sn_buffer buffer = {0};
	for (size_t i = 0; i < 512; i++)
		values[i] = (i * 7 % 50) * 1000003;
	sn_column_encode(values, 512, &buffer);
	struct sn_span span = {buffer.bytes, buffer.count};
	buffer.bytes[buffer.count - 1] = 49;
	assert_true(sn_column_decode(&span, got, 512));
	assert_int_equal(got[511], 49 * 1000003);
	span = (struct sn_span){buffer.bytes, buffer.count};
	buffer.bytes[buffer.count - 1] = 50;
	assert_false(sn_column_decode(&span, got, 512));
	sn_buffer_release(&buffer);
}

/* `has_ends`: intervals one after the other; else instants. */
static void fill_block(struct sn_block *block, size_t count, bool has_ends, uint64_t *state)
{
	uint64_t time = 1700000000000000000u;
	block->count = count;
	for (size_t i = 0; i < count; i++) {
		time += random_number(state) % 5000;
		block->starts_ns[i] = time;
		if (has_ends)
			time += random_number(state) % 90000;
		block->ends_ns[i] = time;
		block->contexts[i] = (uint32_t)(random_number(state) % 40);
		block->links[i] = i % 3 ? i + 77 : 0;
	}
}

static void blocks_come_back(void **unused)
{
	static struct sn_block block, got;
	struct sn_block_codec codec = {0};
	struct sn_buffer buffer = {0};
	uint64_t state = 3;
	for (size_t count = 1; count <= SN_BLOCK_EVENTS; count = count * 3 + 1) {
		struct sn_block_attribute attributes[] = {
		    {9, 0, 4096}, {2, 0, 5}, {2, (uint32_t)count - 1, 6}};
		size_t attribute_count = count > 1 ? 3 : 2;
		struct sn_block_entry entry;
		struct sn_block_rest rest;
		uint64_t values[SN_BLOCK_EVENTS];
		bool is_present[SN_BLOCK_EVENTS];
		bool has_ends = count % 2;
		fill_block(&block, count, has_ends, &state);
		buffer.count = 0;
		assert_int_equal(sn_block_encode(&codec, &block, has_ends, attributes,
						 attribute_count, &buffer, &entry),
				 0);
		assert_int_equal(entry.count, count);
		assert_int_equal(entry.start_ns, block.starts_ns[0]);
		assert_int_equal(entry.end_ns, block.ends_ns[count - 1]);
		assert_int_equal(sn_block_decode(&codec, &entry, buffer.bytes, &got), 0);
		assert_memory_equal(got.starts_ns, block.starts_ns, count * 8);
		assert_memory_equal(got.ends_ns, block.ends_ns, count * 8);
		assert_memory_equal(got.contexts, block.contexts, count * 4);
		assert_int_equal(sn_block_decode_rest(&codec, &entry, buffer.bytes, &got, &rest),
				 0);
		assert_int_equal(rest.has_links, count > 1);
		if (rest.has_links)
			assert_memory_equal(got.links, block.links, count * 8);
		assert_int_equal(sn_block_attribute(&rest, 9, count, values, is_present), 1);
		assert_int_equal(values[0], 4096);
		assert_true(is_present[0]);
		assert_true(count == 1 || !is_present[1]);
		assert_int_equal(sn_block_attribute(&rest, 2, count, values, is_present), 1);
		assert_int_equal(values[count - 1], count > 1 ? 6 : 5);
		assert_int_equal(sn_block_attribute(&rest, 3, count, values, is_present), 0);
	}
	sn_buffer_release(&buffer);
	sn_block_codec_release(&codec);
}

static void damaged_blocks_are_refused(void **unused)
{
	static struct sn_block block, got;
	struct sn_block_codec codec = {0};
	struct sn_buffer buffer = {0};
	struct sn_block_entry entry;
	uint64_t state = 3;
	fill_block(&block, 100, true, &state);
	assert_int_equal(sn_block_encode(&codec, &block, true, NULL, 0, &buffer, &entry), 0);
	for (size_t i = 0; i < buffer.count; i++) {
		buffer.bytes[i] ^= 0x10;
		assert_int_equal(sn_block_decode(&codec, &entry, buffer.bytes, &got),
				 SN_ERR_FORMAT);
		buffer.bytes[i] ^= 0x10;
	}
	assert_int_equal(sn_block_decode(&codec, &entry, buffer.bytes, &got), 0);
	sn_buffer_release(&buffer);
	sn_block_codec_release(&codec);
}

/* Of the overflowing lane: where an event lies within the one before it. */
static void a_block_ends_with_its_longest_event(void **unused)
{
	static struct sn_block block, got;
	struct sn_block_codec codec = {0};
	struct sn_buffer buffer = {0};
	struct sn_block_entry entry;
	block.count = 2;
	block.starts_ns[0] = 1000;
	block.ends_ns[0] = 9000;
	block.starts_ns[1] = 2000;
	block.ends_ns[1] = 3000;
	assert_int_equal(sn_block_encode(&codec, &block, true, NULL, 0, &buffer, &entry), 0);
	assert_int_equal(entry.end_ns, 9000);
	assert_int_equal(sn_block_decode(&codec, &entry, buffer.bytes, &got), 0);
	assert_int_equal(got.starts_ns[1], 2000);
	assert_int_equal(got.ends_ns[1], 3000);
	sn_buffer_release(&buffer);
	sn_block_codec_release(&codec);
}

/* The checksum is right, but what it is of is not. */
static void events_that_end_before_they_start_are_refused(void **unused)
{
	static struct sn_block block, got;
	struct sn_block_codec codec = {0};
	struct sn_buffer buffer = {0};
	struct sn_block_entry entry;
	uint64_t state = 3;
	fill_block(&block, 10, true, &state);
	block.ends_ns[5] = block.starts_ns[5] - 1;
	assert_int_equal(sn_block_encode(&codec, &block, true, NULL, 0, &buffer, &entry), 0);
	assert_int_equal(sn_block_decode(&codec, &entry, buffer.bytes, &got), SN_ERR_FORMAT);
	sn_buffer_release(&buffer);
	sn_block_codec_release(&codec);
}

/* Of one given twice the last value counts, and the others stay where they are. */
static void attributes_given_twice(void **unused)
{
	static struct sn_block block, got;
	struct sn_block_attribute attributes[] = {{9, 0, 1}, {9, 0, 2}, {9, 7, 3}};
	struct sn_block_codec codec = {0};
	struct sn_buffer buffer = {0};
	struct sn_block_entry entry;
	struct sn_block_rest rest;
	uint64_t state = 3, values[SN_BLOCK_EVENTS];
	bool is_present[SN_BLOCK_EVENTS];
	fill_block(&block, 10, true, &state);
	assert_int_equal(sn_block_encode(&codec, &block, true, attributes, 3, &buffer, &entry), 0);
	assert_int_equal(sn_block_decode_rest(&codec, &entry, buffer.bytes, &got, &rest), 0);
	assert_int_equal(sn_block_attribute(&rest, 9, 10, values, is_present), 1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(is_present[i], i == 0 || i == 7);
	assert_int_equal(values[0], 2);
	assert_int_equal(values[7], 3);
	sn_buffer_release(&buffer);
	sn_block_codec_release(&codec);
}

/* Kernels of a stream: what the format is meant for costs as little as is promised. */
static void kernels_take_few_bytes(void **unused)
{
	static struct sn_block block;
	struct sn_block_codec codec = {0};
	struct sn_buffer buffer = {0};
	struct sn_block_entry entry;
	uint64_t state = 5, time = 1700000000000000000u;
	block.count = SN_BLOCK_EVENTS;
	for (size_t i = 0; i < SN_BLOCK_EVENTS; i++) {
		time += 800 + random_number(&state) % 400;
		block.starts_ns[i] = time;
		time += 3000 + random_number(&state) % 20000;
		block.ends_ns[i] = time;
		block.contexts[i] = 1000 + (uint32_t)(i % 60) * 17;
		block.links[i] = 5000 + i * 3 + random_number(&state) % 2;
	}
	assert_int_equal(sn_block_encode(&codec, &block, true, NULL, 0, &buffer, &entry), 0);
	assert_in_range(entry.core_bytes + entry.rest_bytes, 1, 6 * SN_BLOCK_EVENTS);
	sn_buffer_release(&buffer);
	sn_block_codec_release(&codec);
}

static void lanes_never_overlap(void **unused)
{
	struct sn_lanes lanes = {0};
	/* nested calls by depth */
	assert_int_equal(sn_lanes_place(&lanes, 0, 100), 0);
	assert_int_equal(sn_lanes_place(&lanes, 0, 50), 1);
	assert_int_equal(sn_lanes_place(&lanes, 10, 20), 2);
	assert_int_equal(sn_lanes_place(&lanes, 20, 50), 2);
	assert_int_equal(sn_lanes_place(&lanes, 50, 100), 1);
	assert_int_equal(sn_lanes_place(&lanes, 100, 101), 0);
	/* more at once than there are lanes */
	struct sn_lanes full = {0};
	for (unsigned i = 0; i < SN_LANES_MAX; i++)
		assert_int_equal(sn_lanes_place(&full, i, 1000), i);
	assert_int_equal(sn_lanes_place(&full, 500, 1000), SN_LANES_MAX);
	assert_int_equal(sn_lanes_place(&full, 1000, 1001), 0);
}

static void pyramids_sum_up(void **unused)
{
	struct sn_pyramid pyramid = {.kind = SONDE_TRACK_INTERVALS};
	struct sn_pyramid_shape shape;
	const unsigned count = 32 * 9 + 5;
	/* 10 ns each, half of it busy; context 7 two times of three */
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(sn_pyramid_add(&pyramid, i * 10, i * 10 + 5, i % 3 ? 7 : 8), 0);
	assert_int_equal(sn_pyramid_finish(&pyramid), 0);
	sn_pyramid_shape(SONDE_TRACK_INTERVALS, count, &shape);
	assert_int_equal(shape.level_count, 3);
	assert_int_equal(shape.counts[0], 10);
	assert_int_equal(shape.counts[1], 2);
	assert_int_equal(shape.total, 13);
	assert_int_equal(pyramid.count, 13);
	const struct sn_summary *top = pyramid.summaries + 12;
	assert_int_equal(top->start_ns, 0);
	assert_int_equal(top->end_ns, (count - 1) * 10 + 5);
	assert_int_equal(top->context, 7);
	assert_in_range(top->busy_share, SN_PYRAMID_ONE * 49 / 100, SN_PYRAMID_ONE * 52 / 100);
	assert_in_range(top->context_share, SN_PYRAMID_ONE * 64 / 100, SN_PYRAMID_ONE * 68 / 100);
	free(pyramid.summaries);
}

/* Samples and counters last until the next one, so that they are busy all the time. */
static void pyramids_of_samples(void **unused)
{
	struct sn_pyramid pyramid = {.kind = SONDE_TRACK_SAMPLES};
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(sn_pyramid_add(&pyramid, i * 10ull, i * 10ull, i % 4 ? 7 : 8), 0);
	assert_int_equal(sn_pyramid_finish(&pyramid), 0);
	const struct sn_summary *top = pyramid.summaries + pyramid.count - 1;
	assert_in_range(top->busy_share, SN_PYRAMID_ONE * 99 / 100, SN_PYRAMID_ONE);
	assert_in_range(top->context_share, SN_PYRAMID_ONE * 73 / 100, SN_PYRAMID_ONE * 77 / 100);
	assert_int_equal(top->context, 7);
	free(pyramid.summaries);
}

/* Events of several profiles by turns, partly out of order, with attributes, spilled or not. */
static void check_sorter(size_t memory_bytes, const char *folder)
{
	const unsigned count = 20000, profiles = 7;
	struct sn_sorter *sorter = sn_sorter_new(memory_bytes, folder);
	struct sn_error error = {""};
	uint64_t state = 11;
	for (unsigned i = 0; i < count; i++) {
		struct sn_attribute attribute = {3, 0, i};
		struct sn_event event = {
		    .start_ns = i / 50 * 50 + random_number(&state) % 500,
		    .link = i, /* the order of arrival */
		    .profile = i % profiles,
		    .context = i % 100,
		    .metric = SONDE_NONE,
		    .kind = i % 11 ? SONDE_TRACK_INTERVALS : SONDE_TRACK_INSTANTS,
		    .attribute_count = i % 4 == 0,
		    .attributes = &attribute,
		};
		event.end_ns = event.start_ns + random_number(&state) % 30;
		sn_sorter_add(sorter, &event);
	}
	assert_int_equal(sn_sorter_count(sorter), count);
	assert_int_equal(sn_sorter_finish(sorter, &error), 0);
	unsigned seen = 0;
	for (unsigned profile = profiles; profile--;) {
		struct sn_event event, last = {0};
		assert_int_equal(sn_sorter_begin(sorter, profile, &error), 0);
		while (sn_sorter_next(sorter, &event, &error) == 1) {
			assert_int_equal(event.profile, profile);
			assert_true(event.kind >= last.kind);
			if (event.kind == last.kind) {
				assert_true(event.start_ns >= last.start_ns);
				bool is_tie = event.start_ns == last.start_ns;
				if (is_tie && event.kind == SONDE_TRACK_INTERVALS)
					assert_true(event.end_ns <= last.end_ns);
				if (is_tie && event.end_ns == last.end_ns)
					assert_true(event.link > last.link);
			}
			assert_int_equal(event.context, event.link % 100);
			assert_int_equal(event.attribute_count, event.link % 4 == 0);
			if (event.attribute_count)
				assert_int_equal(event.attributes->value, event.link);
			last = event;
			seen++;
		}
	}
	assert_int_equal(seen, count);
	sn_sorter_free(sorter);
}

static void sorting_in_memory(void **unused)
{
	check_sorter(0, NULL);
}

static void sorting_by_spilling(void **unused)
{
	check_sorter(200000, NULL);
}

static void spilling_nowhere_fails(void **unused)
{
	struct sn_sorter *sorter = sn_sorter_new(1000, "/proc/nowhere");
	struct sn_event event = {.kind = SONDE_TRACK_INSTANTS, .metric = SONDE_NONE};
	struct sn_error error = {""};
	for (unsigned i = 0; i < 1000; i++)
		sn_sorter_add(sorter, &event);
	assert_int_equal(sn_sorter_finish(sorter, &error), SN_ERR_IO);
	assert_non_null(strstr(error.text, "/proc/nowhere"));
	sn_sorter_free(sorter);
}

/* A database with two profiles, the second of which comes first in the file; opened. */
struct traced {
	char path[64];
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	uint32_t profiles[2], contexts[3], metric, bytes, note;
	struct sonde_db *db;
	struct sonde_trace *trace;
};

static void begin(struct traced *traced)
{
	*traced = (struct traced){.builder = sn_db_builder_new(),
				  .writer = sn_trace_writer_new(100000, NULL)};
	struct sn_db_builder *builder = traced->builder;
	uint32_t host = sn_db_builder_string(builder, "host");
	for (int i = 0; i < 2; i++) {
		struct sonde_db_profile profile = {.host = host,
						   .program = host,
						   .thread = SONDE_NONE,
						   .rank = -1,
						   .pid = 1,
						   .tid = 9 - (uint64_t)i};
		traced->profiles[i] = sn_db_builder_profile(builder, &profile);
	}
	static const char *const names[] = {"zebra", "ape", "mole"};
	for (int i = 0; i < 3; i++)
		traced->contexts[i] = sn_db_builder_context(
		    builder, 0, sn_db_builder_named_frame(builder, 4, names[i]));
	struct sonde_db_metric metric = {sn_db_builder_string(builder, "in-use"),
					 sn_db_builder_string(builder, "bytes"), host, 3, 0};
	traced->metric = sn_db_builder_metric(builder, &metric);
	traced->bytes = sn_trace_writer_key(traced->writer, sn_db_builder_string(builder, "bytes"),
					    SONDE_NONE, SONDE_ATTRIBUTE_UNSIGNED);
	traced->note = sn_trace_writer_key(traced->writer, sn_db_builder_string(builder, "note"),
					   SONDE_NONE, SONDE_ATTRIBUTE_STRING);
}

static void add(struct traced *traced, int profile, unsigned kind, uint64_t start, uint64_t end,
		int context, const struct sn_attribute *attribute)
{
	struct sn_event event = {
	    .start_ns = start,
	    .end_ns = end,
	    .link = start % 2 ? start : 0,
	    .profile = traced->profiles[profile],
	    .context = traced->contexts[context],
	    .metric = kind == SONDE_TRACK_COUNTER ? traced->metric : SONDE_NONE,
	    .kind = (uint16_t)kind,
	    .attribute_count = attribute != NULL,
	    .attributes = attribute,
	};
	sn_trace_writer_add(traced->writer, &event);
}

static void write_and_open(struct traced *traced)
{
	struct sn_error error = {""};
	struct sonde_db_error why = {""};
	snprintf(traced->path, sizeof(traced->path), "/tmp/sonde-test-trace-%d.sdb", (int)getpid());
	sn_trace_writer_attach(traced->writer, traced->builder);
	int result = sn_db_builder_write(traced->builder, traced->path, &error);
	assert_string_equal(error.text, "");
	assert_int_equal(result, 0);
	assert_int_equal(sonde_db_open(traced->path, &traced->db, &why), 0);
	assert_int_equal(sonde_trace_open(traced->db, &traced->trace, &why), 0);
}

static void end(struct traced *traced)
{
	sonde_trace_close(traced->trace);
	sonde_db_close(traced->db);
	sn_db_builder_free(traced->builder);
	unlink(traced->path);
}

static const char *context_name(const struct traced *traced, uint32_t context)
{
	const struct sonde_db_context *found = sonde_db_context(traced->db, context);
	return sonde_db_string(traced->db, sonde_db_frame(traced->db, found->frame)->name);
}

static void events_through_a_database(void **unused)
{
	struct traced traced;
	begin(&traced);
	struct sn_attribute bytes = {traced.bytes, 0, 4096};
	struct sn_attribute note = {traced.note, 0,
				    sn_db_builder_string(traced.builder, "aardvark")};
	/* zebra [1000, 2000) holds ape [1100, 1500), which holds mole [1200, 1300); and [1600,
	 * 1700) */
	add(&traced, 0, SONDE_TRACK_INTERVALS, 1200, 1300, 2, &bytes);
	add(&traced, 0, SONDE_TRACK_INTERVALS, 1000, 2000, 0, NULL);
	add(&traced, 0, SONDE_TRACK_INTERVALS, 1601, 1700, 2, &note);
	add(&traced, 0, SONDE_TRACK_INTERVALS, 1100, 1500, 1, NULL);
	add(&traced, 0, SONDE_TRACK_COUNTER, 1250, 1250, 2, &bytes);
	add(&traced, 1, SONDE_TRACK_SAMPLES, 1000, 1000, 0, NULL);
	add(&traced, 1, SONDE_TRACK_SAMPLES, 2000, 2000, 1, NULL);
	write_and_open(&traced);

	assert_int_equal(sonde_trace_event_count(traced.trace), 7);
	assert_int_equal(sonde_trace_track_count(traced.trace), 5);
	/* the profile of the lower thread number is the first of the file */
	static const struct {
		uint32_t profile, kind, lane, count;
	} expected[] = {{0, SONDE_TRACK_SAMPLES, 0, 2},
			{1, SONDE_TRACK_INTERVALS, 0, 1},
			{1, SONDE_TRACK_INTERVALS, 1, 2},
			{1, SONDE_TRACK_INTERVALS, 2, 1},
			{1, SONDE_TRACK_COUNTER, 0, 1}};
	for (uint32_t i = 0; i < 5; i++) {
		const struct sonde_track *track = sonde_trace_track(traced.trace, i);
		assert_int_equal(track->profile, expected[i].profile);
		assert_int_equal(track->kind, expected[i].kind);
		assert_int_equal(track->lane, expected[i].lane);
		assert_int_equal(track->event_count, expected[i].count);
	}
	assert_int_equal(sonde_trace_first_track(traced.trace, 1), 1);

	struct sonde_event_cursor *cursor =
	    sonde_event_cursor_new(traced.trace, 2, 0, UINT64_MAX, 0);
	struct sonde_event_block block;
	struct sonde_attribute_column column;
	struct sonde_db_error why;
	assert_int_equal(sonde_event_cursor_next(cursor, &block, &why), 1);
	assert_int_equal(block.count, 2);
	assert_int_equal(block.starts_ns[0], 1100);
	assert_int_equal(block.ends_ns[1], 1700);
	assert_string_equal(context_name(&traced, block.contexts[0]), "ape");
	assert_string_equal(context_name(&traced, block.contexts[1]), "mole");
	assert_int_equal(block.links[0], 0);
	assert_int_equal(block.links[1], 1601);
	uint32_t key = sonde_trace_key_by_name(traced.trace, "note");
	assert_true(sonde_event_cursor_attribute(cursor, key, &column));
	assert_false(column.is_present[0]);
	assert_string_equal(sonde_db_string(traced.db, (uint32_t)column.values[1]), "aardvark");
	key = sonde_trace_key_by_name(traced.trace, "bytes");
	assert_false(sonde_event_cursor_attribute(cursor, key, &column));
	assert_int_equal(sonde_event_cursor_next(cursor, &block, &why), 0);
	sonde_event_cursor_free(cursor);

	/* ten pixels of 100 ns: ape in four of them, a mole in one */
	struct sonde_pixel pixels[10];
	assert_int_equal(sonde_trace_draw(traced.trace, 2, 1000, 2000, pixels, 10, &why), 0);
	for (int i = 0; i < 10; i++) {
		const char *name = i >= 1 && i < 5 ? "ape" : i == 6 ? "mole" : NULL;
		if (name)
			assert_string_equal(context_name(&traced, pixels[i].context), name);
		else
			assert_int_equal(pixels[i].context, SONDE_NONE);
	}
	assert_true(pixels[6].busy > 0.98f && pixels[6].busy < 1);
	/* a sample lasts until the next one */
	assert_int_equal(sonde_trace_draw(traced.trace, 0, 1000, 3000, pixels, 10, &why), 0);
	assert_string_equal(context_name(&traced, pixels[4].context), "zebra");
	assert_string_equal(context_name(&traced, pixels[5].context), "ape");
	assert_int_equal(pixels[6].context, SONDE_NONE);
	end(&traced);
}

/* Every window and width: busy time as a plain loop over the events gives it. */
static void pictures_tell_the_truth(void **unused)
{
	enum { COUNT = 30000, PIXELS = 500 };
	static uint64_t starts[COUNT], ends[COUNT];
	struct traced traced;
	struct sonde_db_error why;
	uint64_t state = 23, time = 1000;
	begin(&traced);
	for (int i = 0; i < COUNT; i++) {
		/* bursts within silence */
		time += i % 1000 ? random_number(&state) % 100 : 5000000;
		starts[i] = time;
		time += 1 + random_number(&state) % 300;
		ends[i] = time;
		add(&traced, 0, SONDE_TRACK_INTERVALS, starts[i], ends[i], i / 3000 % 3, NULL);
	}
	write_and_open(&traced);
	for (uint64_t length = time; length > 2000; length /= 3) {
		static struct sonde_pixel pixels[PIXELS];
		uint64_t from = (time - length) / 2, to = from + length;
		assert_int_equal(sonde_trace_draw(traced.trace, 0, from, to, pixels, PIXELS, &why),
				 0);
		double drawn = 0, busy = 0, pixel = (double)length / PIXELS;
		for (int i = 0; i < PIXELS; i++)
			drawn += pixels[i].busy * pixel;
		for (int i = 0; i < COUNT; i++) {
			uint64_t start = starts[i] > from ? starts[i] : from;
			uint64_t stop = ends[i] < to ? ends[i] : to;
			busy += stop > start ? (double)(stop - start) : 0;
		}
		/* a group at the window's edge is taken to be evenly busy */
		assert_true(drawn > busy - 2 * pixel - 1e-3 * busy);
		assert_true(drawn < busy + 2 * pixel + 1e-3 * busy);
	}
	/* windows are found without reading what is before them */
	struct sonde_event_cursor *cursor = sonde_event_cursor_new(
	    traced.trace, 0, starts[20000], starts[20001], SONDE_EVENTS_BRIEF);
	struct sonde_event_block block;
	assert_int_equal(sonde_event_cursor_next(cursor, &block, &why), 1);
	assert_int_equal(block.first, 20000 / 4096 * 4096);
	assert_int_equal(sonde_event_cursor_next(cursor, &block, &why), 0);
	sonde_event_cursor_free(cursor);
	end(&traced);
}

/* What begins with the window is in it, of a pixel's equal contexts the first is shown. */
static void pixels_at_the_edges(void **unused)
{
	struct traced traced;
	struct sonde_db_error why;
	struct sonde_pixel pixels[4];
	begin(&traced);
	add(&traced, 0, SONDE_TRACK_INTERVALS, 1000, 1020, 1, NULL);
	add(&traced, 0, SONDE_TRACK_INTERVALS, 1030, 1050, 0, NULL);
	add(&traced, 0, SONDE_TRACK_INTERVALS, 3000, 3300, 2, NULL);
	add(&traced, 1, SONDE_TRACK_INSTANTS, 2000, 2000, 2, NULL);
	write_and_open(&traced);
	assert_int_equal(sonde_trace_draw(traced.trace, 1, 900, 1300, pixels, 4, &why), 0);
	assert_int_equal(pixels[0].context, SONDE_NONE);
	assert_string_equal(context_name(&traced, pixels[1].context), "ape");
	assert_true(pixels[1].busy > 0.39f && pixels[1].busy < 0.41f);
	assert_int_equal(sonde_trace_draw(traced.trace, 0, 2000, 2400, pixels, 4, &why), 0);
	assert_string_equal(context_name(&traced, pixels[0].context), "mole");
	assert_int_equal(sonde_trace_draw(traced.trace, 0, 2001, 2400, pixels, 4, &why), 0);
	assert_int_equal(pixels[0].context, SONDE_NONE);
	end(&traced);
}

/* What takes most of a pixel is shown, also where it comes after many others. */
static void crowded_pixels(void **unused)
{
	enum { GROUPS = 400, EVENTS = 32, PIXEL_NS = 100, PIXELS = 10 };
	struct traced traced;
	struct sonde_db_error why;
	char name[16];
	begin(&traced);
	for (int i = 0; i < GROUPS * EVENTS; i++) {
		int place = i % EVENTS;
		bool is_long = place == EVENTS - 2, is_far = place == EVENTS - 1;
		snprintf(name, sizeof(name), is_long ? "long %d" : "f %d", i);
		struct sn_event event = {
		    .start_ns = 1000000 + i / EVENTS * PIXEL_NS * PIXELS +
				(is_far ? PIXEL_NS * (PIXELS - 1) : place),
		    .profile = traced.profiles[0],
		    .context = sn_db_builder_context(
			traced.builder, 0, sn_db_builder_named_frame(traced.builder, 4, name)),
		    .metric = SONDE_NONE,
		    .kind = SONDE_TRACK_INTERVALS,
		};
		event.end_ns = event.start_ns + (is_long ? 5 : 1);
		sn_trace_writer_add(traced.writer, &event);
	}
	write_and_open(&traced);
	for (int group = 0; group < GROUPS; group++) {
		uint64_t from = 1000000 + group * PIXEL_NS * PIXELS;
		struct sonde_pixel pixels[PIXELS];
		assert_int_equal(sonde_trace_draw(traced.trace, 0, from, from + PIXEL_NS * PIXELS,
						  pixels, PIXELS, &why),
				 0);
		snprintf(name, sizeof(name), "long %d", group * EVENTS + EVENTS - 2);
		assert_string_equal(context_name(&traced, pixels[0].context), name);
	}
	end(&traced);
}

/* The last sample of a block lasts until the first of the next, and is read with it. */
static void samples_across_blocks(void **unused)
{
	struct traced traced;
	struct sonde_db_error why;
	struct sonde_pixel pixels[4];
	struct sonde_event_block block;
	begin(&traced);
	for (uint64_t i = 0; i < SN_BLOCK_EVENTS + 10; i++)
		add(&traced, 0, SONDE_TRACK_SAMPLES, 1000 * i, 1000 * i, i % 2 ? 1 : 0, NULL);
	write_and_open(&traced);
	uint64_t last = 1000 * (SN_BLOCK_EVENTS - 1);
	assert_int_equal(sonde_trace_draw(traced.trace, 0, last + 400, last + 800, pixels, 4, &why),
			 0);
	for (int i = 0; i < 4; i++)
		assert_string_equal(context_name(&traced, pixels[i].context), "ape");
	struct sonde_event_cursor *cursor =
	    sonde_event_cursor_new(traced.trace, 0, last + 400, last + 800, SONDE_EVENTS_BRIEF);
	assert_int_equal(sonde_event_cursor_next(cursor, &block, &why), 1);
	assert_int_equal(block.first, 0);
	sonde_event_cursor_free(cursor);
	/* both ends of a cursor's window belong to it */
	cursor = sonde_event_cursor_new(traced.trace, 0, 0, last + 1000, SONDE_EVENTS_BRIEF);
	assert_int_equal(sonde_event_cursor_next(cursor, &block, &why), 1);
	assert_int_equal(sonde_event_cursor_next(cursor, &block, &why), 1);
	assert_int_equal(block.starts_ns[0], last + 1000);
	sonde_event_cursor_free(cursor);
	end(&traced);
}

/* Two counters of one profile are two tracks. */
static void counters_have_their_own_tracks(void **unused)
{
	struct traced traced;
	begin(&traced);
	uint32_t first = traced.metric;
	struct sonde_db_metric metric = {sn_db_builder_string(traced.builder, "waiting"),
					 sn_db_builder_string(traced.builder, "1"),
					 sn_db_builder_string(traced.builder, "host"), 3, 0};
	uint32_t second = sn_db_builder_metric(traced.builder, &metric);
	for (uint64_t i = 0; i < 10; i++) {
		struct sn_attribute value = {traced.bytes, 0, i};
		traced.metric = i % 2 ? second : first;
		add(&traced, 0, SONDE_TRACK_COUNTER, 1000 + i, 1000 + i, 0, &value);
	}
	write_and_open(&traced);
	assert_int_equal(sonde_trace_track_count(traced.trace), 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct sonde_track *track = sonde_trace_track(traced.trace, i);
		assert_int_equal(track->event_count, 5);
		const char *name =
		    sonde_db_string(traced.db, sonde_db_metric(traced.db, track->metric)->name);
		assert_int_equal(track->start_ns, strcmp(name, "waiting") ? 1000 : 1001);
	}
	end(&traced);
}

/* More at once than there are lanes: there a block may end long before one that comes earlier. */
static void events_that_overlap_are_found(void **unused)
{
	struct traced traced;
	struct sonde_db_error why;
	struct sonde_event_block block;
	begin(&traced);
	for (uint64_t i = 0; i < SN_LANES_MAX; i++)
		add(&traced, 0, SONDE_TRACK_INTERVALS, i, 10000000, 0, NULL);
	add(&traced, 0, SONDE_TRACK_INTERVALS, 1000, 9000000, 2, NULL);
	for (uint64_t i = 0; i < 3 * SN_BLOCK_EVENTS; i++)
		add(&traced, 0, SONDE_TRACK_INTERVALS, 2000 + 10 * i, 2005 + 10 * i, 1, NULL);
	write_and_open(&traced);
	uint32_t number = sonde_trace_track_count(traced.trace) - 1;
	const struct sonde_track *track = sonde_trace_track(traced.trace, number);
	assert_int_equal(track->lane, SN_LANES_MAX);
	assert_int_equal(track->event_count, 3 * SN_BLOCK_EVENTS + 1);
	assert_int_equal(track->end_ns, 9000000);
	struct sonde_event_cursor *cursor =
	    sonde_event_cursor_new(traced.trace, number, 8000000, 8500000, SONDE_EVENTS_BRIEF);
	assert_int_equal(sonde_event_cursor_next(cursor, &block, &why), 1);
	assert_int_equal(block.first, 0);
	assert_string_equal(context_name(&traced, block.contexts[0]), "mole");
	assert_int_equal(sonde_event_cursor_next(cursor, &block, &why), 0);
	sonde_event_cursor_free(cursor);
	end(&traced);
}

/* Overwrites the first summary of the file. */
static void damage(struct traced *traced, const struct sn_summary *old,
		   const struct sn_summary *wrong)
{
	static unsigned char bytes[1 << 20];
	FILE *file = fopen(traced->path, "r+");
	assert_non_null(file);
	size_t length = fread(bytes, 1, sizeof(bytes), file);
	unsigned char *found = memmem(bytes, length, old, sizeof(*old));
	assert_non_null(found);
	fseek(file, found - bytes, SEEK_SET);
	assert_int_equal(fwrite(wrong, sizeof(*wrong), 1, file), 1);
	fclose(file);
	sonde_trace_close(traced->trace);
	sonde_db_close(traced->db);
	assert_int_equal(sonde_db_open(traced->path, &traced->db, NULL), 0);
	assert_int_equal(sonde_trace_open(traced->db, &traced->trace, NULL), 0);
}

/* Summaries have no checksum: what they say is looked at when they are used. */
static void damaged_summaries_are_noticed(void **unused)
{
	struct traced traced;
	struct sonde_pixel pixels[10]; /* wide enough for the lowest summaries */
	struct sonde_db_error why = {""};
	uint64_t bytes;
	begin(&traced);
	for (uint64_t i = 0; i < 100; i++)
		add(&traced, 0, SONDE_TRACK_INTERVALS, 1000 + 10 * i, 1005 + 10 * i, 1, NULL);
	write_and_open(&traced);
	const struct sn_summary *all =
	    sn_db_section(traced.db, SN_DATABASE_EVENT_SUMMARIES, &bytes);
	struct sn_summary sound = *all, unknown = sound, backwards = sound;
	unknown.context = 77;
	backwards.start_ns = sound.end_ns + 1;
	damage(&traced, &sound, &unknown);
	assert_int_equal(sonde_trace_draw(traced.trace, 0, 1000, 2000, pixels, 10, &why),
			 SN_ERR_FORMAT);
	assert_non_null(strstr(why.text, "damaged"));
	damage(&traced, &unknown, &backwards);
	assert_int_equal(sonde_trace_draw(traced.trace, 0, 1000, 2000, pixels, 10, &why),
			 SN_ERR_FORMAT);
	damage(&traced, &backwards, &sound);
	assert_int_equal(sonde_trace_draw(traced.trace, 0, 1000, 2000, pixels, 10, &why), 0);
	end(&traced);
}

/* Twenty profiles, by one thread and by several: the same file. Memory is for a part of the events,
 * so that each profile has runs of several spills. */
static unsigned char *write_by(unsigned threads, size_t *length)
{
	enum { PROFILES = 20, EVENTS = 60000 };
	struct traced traced;
	uint32_t profiles[PROFILES];
	begin(&traced);
	for (uint64_t i = 0; i < PROFILES; i++)
		profiles[i] = sn_db_builder_profile(
		    traced.builder, &(struct sonde_db_profile){.host = SONDE_NONE,
							       .program = SONDE_NONE,
							       .thread = SONDE_NONE,
							       .tid = 1000 - i * i});
	for (uint64_t i = 0; i < EVENTS; i++) {
		struct sn_attribute bytes = {traced.bytes, 0, i};
		traced.profiles[0] = profiles[i * i % 7919 % PROFILES];
		add(&traced, 0, i % 3 ? SONDE_TRACK_INTERVALS : SONDE_TRACK_SAMPLES, 10 * i,
		    10 * i + i * 37 % 400, i % 3, i % 5 ? NULL : &bytes);
	}
	sn_db_builder_set_threads(traced.builder, threads);
	write_and_open(&traced);
	assert_int_equal(sonde_trace_event_count(traced.trace), EVENTS);
	unsigned char *bytes = read_whole(traced.path, length);
	end(&traced);
	return bytes;
}

static void threads_make_no_difference(void **state)
{
	size_t length, other_length;
	unsigned char *bytes = write_by(1, &length);
	(void)state;
	for (unsigned threads = 2; threads < 30; threads += 9) {
		unsigned char *other = write_by(threads, &other_length);
		assert_int_equal(other_length, length);
		assert_memory_equal(other, bytes, length);
		free(other);
	}
	free(bytes);
}

/* Of a profile that is not there, or that end before they start. */
static void events_of_nobody_are_refused(void **unused)
{
	for (int i = 0; i < 2; i++) {
		struct traced traced;
		struct sn_error error = {""};
		unlink("/tmp/sonde-never.sdb"); /* of a run that failed */
		begin(&traced);
		struct sn_event event = {
		    .start_ns = 10,
		    .end_ns = i ? 9 : 10,
		    .profile = i ? traced.profiles[0] : 7,
		    .kind = SONDE_TRACK_INTERVALS,
		    .metric = SONDE_NONE,
		};
		sn_trace_writer_add(traced.writer, &event);
		sn_trace_writer_attach(traced.writer, traced.builder);
		assert_int_equal(
		    sn_db_builder_write(traced.builder, "/tmp/sonde-never.sdb", &error),
		    SN_ERR_ARGUMENT);
		assert_int_equal(access("/tmp/sonde-never.sdb", F_OK), -1);
		sn_db_builder_free(traced.builder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(columns_come_back),
	    cmocka_unit_test(columns_are_small),
	    cmocka_unit_test(damaged_dictionaries_are_refused),
	    cmocka_unit_test(blocks_come_back),
	    cmocka_unit_test(damaged_blocks_are_refused),
	    cmocka_unit_test(a_block_ends_with_its_longest_event),
	    cmocka_unit_test(events_that_end_before_they_start_are_refused),
	    cmocka_unit_test(attributes_given_twice),
	    cmocka_unit_test(kernels_take_few_bytes),
	    cmocka_unit_test(lanes_never_overlap),
	    cmocka_unit_test(pyramids_sum_up),
	    cmocka_unit_test(pyramids_of_samples),
	    cmocka_unit_test(sorting_in_memory),
	    cmocka_unit_test(sorting_by_spilling),
	    cmocka_unit_test(spilling_nowhere_fails),
	    cmocka_unit_test(events_through_a_database),
	    cmocka_unit_test(pictures_tell_the_truth),
	    cmocka_unit_test(pixels_at_the_edges),
	    cmocka_unit_test(crowded_pixels),
	    cmocka_unit_test(samples_across_blocks),
	    cmocka_unit_test(counters_have_their_own_tracks),
	    cmocka_unit_test(events_that_overlap_are_found),
	    cmocka_unit_test(damaged_summaries_are_noticed),
	    cmocka_unit_test(threads_make_no_difference),
	    cmocka_unit_test(events_of_nobody_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
