/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of reading, merging, expanding and writing fails once, one after the other: the
 * failure is reported, nothing is left behind, and under a sanitizer nothing leaks.
 *
 * The linker puts these functions in front of the C library's (tests/unit/meson.build).
 */
#include "db_fixture.h"
#include "measurement_fixture.h"

#include "aggregate/unify/expand.h"
#include "aggregate/unify/merge.h"
#include "aggregate/read/provenance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/sonde-test-allocation-XXXXXX";
static char measured[128], output[128];
/* How many allocations still succeed; negative: all. */
static long allowed = -1;
static unsigned long refused;
static bool only_one; /* fails; else all that follow as well */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

static bool is_refused(void)
{
	if (allowed < 0)
		return false;
	if (allowed-- > 0)
		return false;
	refused++;
	allowed = only_one ? -1 : 0;
	return true;
}

void *__wrap_malloc(size_t bytes)
{
	return is_refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return is_refused() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return is_refused() ? NULL : __real_realloc(memory, bytes);
}

/* Native frames are nameless; the table of locations itself is not under test. */
static const struct sn_symbol_location **nameless(const struct sn_merge *merge)
{
	static const struct sn_symbol_frame nothing;
	static const struct sn_symbol_location nowhere = {&nothing, 1, 0};
	const struct sn_symbol_location **locations =
	    __real_calloc(merge->frames.count + 1ull, sizeof(*locations));
	for (uint32_t i = 0; i < merge->frames.count; i++) {
		struct sn_frame frame;
		memcpy(&frame, sn_intern_at(&merge->frames, i, NULL), sizeof(frame));
		if (frame.kind == SN_FRAME_NATIVE && frame.id != SONDE_NONE)
			locations[i] = &nowhere;
	}
	return locations;
}

static int merge_and_write(struct sn_db_builder *builder, struct sn_merge *merge,
			   struct sn_provenance *provenance)
{
	struct sn_measurement *measurement;
	int result = sn_merge_init(merge, builder);
	if (!result)
		result = sn_measurement_open(measured, &measurement, NULL);
	if (result)
		return result;
	result = sn_merge_add(merge, measurement);
	if (!result)
		result = sn_provenance_add(provenance, measurement, 0, builder);
	if (!result)
		result = sn_provenance_finish(provenance, builder);
	sn_measurement_free(measurement);
	if (result)
		return result;
	struct sn_resolved resolved = {.locations = nameless(merge)};
	result = sn_expand(merge, &resolved);
	free(resolved.locations);
	return result ? result : sn_db_builder_write(builder, output, NULL);
}

static int analyze(void)
{
	struct sn_merge merge = {0};
	struct sn_provenance provenance;
	struct sn_db_builder *builder = sn_db_builder_new();
	sn_provenance_init(&provenance);
	int result = builder ? merge_and_write(builder, &merge, &provenance) : SN_ERR_MEMORY;
	sn_provenance_release(&provenance);
	sn_merge_release(&merge);
	sn_db_builder_free(builder);
	return result;
}

static int open_database(void)
{
	struct sonde_db *db;
	int result = sonde_db_open(output, &db, NULL);
	if (!result)
		sonde_db_close(db);
	return result;
}

static unsigned long fail_each_one_way(int (*action)(void), bool makes_output)
{
	for (long n = 0;; n++) {
		unlink(output);
		allowed = n;
		refused = 0;
		int result = action();
		allowed = -1;
		if (!refused) {
			assert_int_equal(result, 0);
			return (unsigned long)n;
		}
		if (result != SN_ERR_MEMORY)
			fail_msg("allocation %ld: result %d", n, result);
		if (makes_output)
			assert_int_not_equal(access(output, F_OK), 0);
	}
}

/* Fails each allocation of the action alone, then with all that follow; how many there are. */
static unsigned long fail_each(int (*action)(void), bool makes_output)
{
	only_one = true;
	unsigned long count = fail_each_one_way(action, makes_output);
	only_one = false;
	assert_int_equal(fail_each_one_way(action, makes_output), count);
	return count;
}

static void analysis_reports_each_failure(void **state)
{
	/* more than one for each table that grows */
	assert_true(fail_each(analyze, true) > 60);
}

static int write_small(void)
{
	struct sn_db_builder *builder = db_fixture_small();
	int result = builder ? sn_db_builder_write(builder, output, NULL) : SN_ERR_MEMORY;
	sn_db_builder_free(builder);
	return result;
}

static void writing_reports_each_failure(void **state)
{
	assert_true(fail_each(write_small, true) > 30);
}

static int open_small(void)
{
	long still_allowed = allowed;
	allowed = -1;
	write_small();
	allowed = still_allowed;
	return open_database();
}

static void opening_reports_each_failure(void **state)
{
	/* the database; of its three directories what is known of majors and of large blocks */
	assert_int_equal(fail_each(open_small, false), 7);
}

static int list_measurements(void)
{
	char **files;
	size_t count;
	int result = sn_measurement_list(folder, &files, &count, NULL);
	if (!result)
		sn_measurement_free_list(files);
	return result;
}

static void listing_reports_each_failure(void **state)
{
	assert_true(fail_each(list_measurements, false) >= 1);
}

static void write_measurement(void)
{
	struct measurement_fixture *f = measurement_fixture_new();
	measurement_fixture_property(f, "program=/usr/bin/python3");
	measurement_fixture_property(f, "adapter.python=CPython 3.11");
	measurement_fixture_metric(f, "cpu-time", "ns", SN_METRIC_TIME, 5000000);
	uint32_t module = measurement_fixture_module(f, "/lib/a.so", 0, "\1", 1);
	measurement_fixture_drop(f, "sample-busy", 3);
	uint32_t thread = measurement_fixture_thread(f, "main", (struct sn_thread_record){0});
	uint32_t code = measurement_fixture_code(f, thread, "/src/a.py", "work", 5);
	uint32_t node = measurement_fixture_node(
	    f, thread, 0, (struct sn_frame){.kind = SN_FRAME_PYTHON, .id = code, .value = 7});
	for (uint64_t i = 0; i < 40; i++) {
		node =
		    measurement_fixture_named(f, thread, node, SN_FRAME_OPERATOR, 0, "aten::add");
		struct sn_frame native = {
		    .kind = SN_FRAME_NATIVE, .flags = 4, .id = module, .value = 16 * i};
		node = measurement_fixture_node(f, thread, node, native);
		measurement_fixture_value(f, thread, node, 0, 1, 5);
	}
	measurement_fixture_commit(f, measured, true);
	measurement_fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(analysis_reports_each_failure),
	    cmocka_unit_test(writing_reports_each_failure),
	    cmocka_unit_test(opening_reports_each_failure),
	    cmocka_unit_test(listing_reports_each_failure),
	};
	if (!mkdtemp(folder))
		return 1;
	snprintf(measured, sizeof(measured), "%s/a.sonde-process", folder);
	snprintf(output, sizeof(output), "%s/out.sdb", folder);
	write_measurement();
	int failures = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(measured);
	unlink(output);
	rmdir(folder);
	return failures;
}
