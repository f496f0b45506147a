/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of reading, merging, expanding and writing fails once, one after the other: the
 * failure is reported, nothing is left behind, and under a sanitizer nothing leaks.
 */
#include "../allocation_faults.h"
#include "../db_fixture.h"
#include "../measurement_fixture.h"

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
	struct sn_process_totals totals = sn_process_totals(measurement, builder);
	if (!result)
		result = sn_provenance_add(provenance, measurement, &totals, 0);
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

static void remove_output(void)
{
	unlink(output);
}

static void expect_no_output(void)
{
	assert_int_not_equal(access(output, F_OK), 0);
}

static const struct failing leaves_no_output = {remove_output, expect_no_output};
static const struct failing leaves_output;

static void analysis_reports_each_failure(void **state)
{
	/* more than one for each table that grows */
	assert_true(fail_each(analyze, &leaves_no_output) > 60);
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
	assert_true(fail_each(write_small, &leaves_no_output) > 30);
}

static int open_small(void)
{
	long still_allowed = allowed;
	allowed = -1;
	unlink(output);
	write_small();
	allowed = still_allowed;
	return open_database();
}

static void opening_reports_each_failure(void **state)
{
	/* the database; of its three directories what is known of majors and of large blocks */
	assert_int_equal(fail_each(open_small, &leaves_output), 7);
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
	assert_true(fail_each(list_measurements, &leaves_output) >= 1);
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
