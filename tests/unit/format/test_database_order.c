/* SPDX-License-Identifier: Apache-2.0 */
/* What is alike in a database is told apart, and numbered the same whatever came first. */
#include "../whole_file.h"
#include "../db_fixture.h"

#include "format/database/database.h"
#include "format/measurement/measurement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static void write_builder(struct sn_db_builder *builder)
{
	struct sn_error error = {""};
	assert_non_null(builder);
	assert_int_equal(sn_db_builder_write(builder, path, &error), 0);
	sn_db_builder_free(builder);
}

static struct sonde_db *open_whole(void)
{
	struct sonde_db *db;
	struct sonde_db_error error = {""};
	if (sonde_db_open(path, &db, &error))
		fail_msg("%s", error.text);
	return db;
}

static uint32_t find_context(const struct sonde_db *db, const char *name)
{
	for (uint32_t i = 0; i < sonde_db_context_count(db); i++) {
		const struct sonde_db_frame *frame =
		    sonde_db_frame(db, sonde_db_context(db, i)->frame);
		if (!strcmp(sonde_db_string(db, frame->name), name))
			return i;
	}
	fail_msg("no context is called %s", name);
	return SONDE_NONE;
}

static double sum_of(const struct sonde_db *db, uint32_t context, uint32_t metric)
{
	struct sonde_db_summary summary;
	sonde_db_summary(db, context, metric, &summary); /* else all zeroes */
	return summary.exclusive.sum;
}

/* "ape" before "apes", whichever came first: all numbers follow from the order of names. */
static void names_that_begin_alike_have_an_order(void **state)
{
	static const char *const names[] = {"ape", "apes", "apes and", "ap"};
	unsigned char *bytes[2];
	size_t lengths[2];
	for (int order = 0; order < 2; order++) {
		struct sn_db_builder *builder = db_fixture_small();
		for (int i = 0; i < 4; i++)
			sn_db_builder_context(builder, 0,
					      sn_db_builder_named_frame(builder, SN_FRAME_REGION,
									names[order ? 3 - i : i]));
		write_builder(builder);
		bytes[order] = read_whole(path, &lengths[order]);
	}
	assert_int_equal(lengths[0], lengths[1]);
	assert_memory_equal(bytes[0], bytes[1], lengths[0]);
	free(bytes[0]);
	free(bytes[1]);
}

/* Frames and profiles that differ in one field alone, the last that is looked at. */
static void what_is_nearly_alike_has_an_order(void **state)
{
	unsigned char *bytes[2];
	size_t lengths[2];
	for (int order = 0; order < 2; order++) {
		struct sn_db_builder *builder = db_fixture_small();
		uint32_t name = sn_db_builder_string(builder, "again");
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t number = order ? 3 - i : i + 1;
			struct sonde_db_frame frame = {.kind = SN_FRAME_LOOP,
						       .name = name,
						       .linkage_name = SONDE_NONE,
						       .module = SONDE_NONE,
						       .file = SONDE_NONE,
						       .loop_number = (uint16_t)number};
			struct sonde_db_profile profile = {.host = name,
							   .program = name,
							   .thread = SONDE_NONE,
							   .rank = -1,
							   .kind = SONDE_PROFILE_STREAM,
							   .stream = number};
			struct sonde_db_stat stat = {1, number, number, number, number * number};
			uint32_t context =
			    sn_db_builder_context(builder, 0, sn_db_builder_frame(builder, &frame));
			sn_db_builder_value(builder, sn_db_builder_profile(builder, &profile),
					    context, 0, &stat);
		}
		write_builder(builder);
		bytes[order] = read_whole(path, &lengths[order]);
	}
	assert_int_equal(lengths[0], lengths[1]);
	assert_memory_equal(bytes[0], bytes[1], lengths[0]);
	free(bytes[0]);
	free(bytes[1]);
}

/* Metrics of one profile that lie in as many contexts, but in others, share no list of them. */
static void as_many_contexts_are_not_the_same(void **state)
{
	struct sn_db_builder *builder = db_fixture_small();
	uint32_t contexts[3];
	static const char *const names[] = {"one", "two", "three"};
	for (int i = 0; i < 3; i++)
		contexts[i] = sn_db_builder_context(
		    builder, 0, sn_db_builder_named_frame(builder, SN_FRAME_REGION, names[i]));
	struct sonde_db_profile profile = {
	    .host = 0, .program = 0, .thread = SONDE_NONE, .pid = 99};
	uint32_t number = sn_db_builder_profile(builder, &profile);
	for (uint32_t metric = 0; metric < 2; metric++)
		for (uint32_t i = 0; i < 2; i++)
			sn_db_builder_value(builder, number, contexts[i + metric], metric,
					    &(struct sonde_db_stat){1, 7, 7, 7, 49});
	write_builder(builder);
	struct sonde_db *db = open_whole();
	for (int i = 0; i < 3; i++)
		for (uint32_t metric = 0; metric < 2; metric++) {
			bool is_there = i == (int)metric || i == (int)metric + 1;
			uint32_t context = find_context(db, names[i]);
			struct sonde_db_plane row = sonde_db_context_row(db, context, metric);
			assert_int_equal(row.count, is_there);
			uint32_t profiles = sonde_db_profile_count(db), found = 0;
			for (uint32_t p = 0; p < profiles; p++) {
				struct sonde_db_plane plane = sonde_db_profile_plane(db, p, metric);
				found += sonde_db_plane_find(&plane, context) < plane.count;
			}
			assert_int_equal(found, is_there);
			assert_true(sum_of(db, context, metric) == (is_there ? 7 : 0));
		}
	assert_int_equal(sonde_db_verify(db, NULL), 0);
	sonde_db_close(db);
}

static void values_of_nothing_are_left_out(void **state)
{
	struct sn_db_builder *builder = db_fixture_small();
	uint32_t context = sn_db_builder_context(
	    builder, 0, sn_db_builder_named_frame(builder, SN_FRAME_REGION, "step"));
	sn_db_builder_value(builder, 0, context, 0, &(struct sonde_db_stat){0});
	write_builder(builder);
	struct sonde_db *db = open_whole();
	struct sonde_db_plane row = sonde_db_context_row(db, find_context(db, "step"), 0);
	assert_int_equal(row.count, 0);
	sonde_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_that_begin_alike_have_an_order),
	    cmocka_unit_test(what_is_nearly_alike_has_an_order),
	    cmocka_unit_test(as_many_contexts_are_not_the_same),
	    cmocka_unit_test(values_of_nothing_are_left_out),
	};
	snprintf(path, sizeof(path), "/tmp/sonde-test-order-%d.sdb", (int)getpid());
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
