/* SPDX-License-Identifier: Apache-2.0 */
/* Reading measurement files: the newest whole snapshot is found, and damage never gets through. */
#include "../whole_file.h"
#include "../measurement_fixture.h"

#include "format/checksum.h"
#include "format/measurement/measurement_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/sonde-test-measurement-XXXXXX";
static char path[128];

/* Two threads; the second has one context with `samples` samples of 5 ms. */
static struct measurement_fixture *make(uint64_t samples)
{
	struct measurement_fixture *f = measurement_fixture_new();
	measurement_fixture_property(f, "program=/usr/bin/python3");
	measurement_fixture_property(f, "command=python3 train.py");
	measurement_fixture_module(f, "/usr/lib/libc.so.6", 0x7f0000000000, "\1\2\3", 3);
	measurement_fixture_metric(f, "cpu-time", "ns", SN_METRIC_TIME, 5000000);
	measurement_fixture_drop(f, "sample-busy", 3);
	measurement_fixture_thread(f, "main", (struct sn_thread_record){.tid = 10, .flags = 1});
	uint32_t thread =
	    measurement_fixture_thread(f, "worker", (struct sn_thread_record){.tid = 11});
	uint32_t code = measurement_fixture_code(f, thread, "/src/a.py", "work", 5);
	uint32_t node = measurement_fixture_node(
	    f, thread, 0, (struct sn_frame){.kind = SN_FRAME_PYTHON, .id = code, .value = 7});
	node = measurement_fixture_named(f, thread, node, SN_FRAME_OPERATOR, 0, "aten::add");
	node = measurement_fixture_node(
	    f, thread, node, (struct sn_frame){.kind = SN_FRAME_NATIVE, .id = 0, .value = 0x1234});
	measurement_fixture_value(f, thread, node, 0, samples, 5000000);
	return f;
}

static struct sn_measurement *open_whole(void)
{
	struct sn_measurement *m = NULL;
	struct sn_error error = {""};
	if (sn_measurement_open(path, &m, &error))
		fail_msg("%s", error.text);
	return m;
}

static uint64_t samples_of(const struct sn_measurement *m)
{
	assert_int_equal(m->thread_count, 2);
	assert_int_equal(m->threads[1].value_count, 1);
	return m->threads[1].values[0].count;
}

static void assert_string(const struct sn_measurement_strings *strings, uint32_t id,
			  const char *expected)
{
	size_t length;
	const char *text = sn_measurement_string(strings, id, &length);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(text, expected, length);
}

static void what_is_written_is_read(void **state)
{
	struct measurement_fixture *f = make(4);
	unlink(path);
	measurement_fixture_commit(f, path, true);
	measurement_fixture_free(f);
	struct sn_measurement *m = open_whole();
	assert_true(m->is_final && !m->is_fallback);
	assert_int_equal(samples_of(m), 4);
	assert_string_equal(sn_measurement_property(m, "command"), "python3 train.py");
	assert_null(sn_measurement_property(m, "comman"));
	const struct sn_measurement_thread *thread = m->threads + 1;
	assert_int_equal(thread->record->tid, 11);
	assert_string(&thread->strings, thread->record->name, "worker");
	assert_int_equal(thread->node_count, 4);
	assert_string(&thread->strings, thread->codes[0].name, "work");
	assert_string(&thread->strings, thread->nodes[2].frame.id, "aten::add");
	assert_int_equal(thread->nodes[3].frame.value, 0x1234);
	assert_string(&m->strings, m->modules[0].path, "/usr/lib/libc.so.6");
	assert_string(&m->strings, m->drops[0].cause, "sample-busy");
	sn_measurement_free(m);
}

/* Since 1.1 a profile may be a device's queue; one without the section is a thread. */
static void a_stream_is_told_from_a_thread(void **state)
{
	struct measurement_fixture *f = make(4);
	measurement_fixture_stream(f, 1, (struct sn_stream_record){2, 1, 7, 0});
	unlink(path);
	measurement_fixture_commit(f, path, true);
	measurement_fixture_free(f);
	struct sn_measurement *m = open_whole();
	assert_null(m->threads[0].stream);
	assert_non_null(m->threads[1].stream);
	assert_int_equal(m->threads[1].stream->device, 2);
	assert_int_equal(m->threads[1].stream->device_context, 1);
	assert_int_equal(m->threads[1].stream->stream, 7);
	assert_int_equal(m->threads[1].record->tid, 11);
	sn_measurement_free(m);
}

static void the_newest_snapshot_counts(void **state)
{
	struct measurement_fixture *f = make(4);
	unlink(path);
	for (uint64_t i = 1; i <= 5; i++) {
		measurement_fixture_value(f, 0, 0, 0, i, 1);
		measurement_fixture_commit(f, path, false);
		struct sn_measurement *m = open_whole();
		assert_int_equal(m->sequence, i);
		assert_int_equal(m->threads[0].value_count, i);
		assert_false(m->is_final || m->is_fallback);
		sn_measurement_free(m);
	}
	measurement_fixture_free(f);
}

static void write_whole(const void *bytes, size_t length)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

/* Every byte of the newer snapshot, of its slot, and every cut through it: the older one is read.
 */
static void the_older_snapshot_is_the_fallback(void **state)
{
	struct measurement_fixture *f = make(4);
	unlink(path);
	measurement_fixture_commit(f, path, false);
	measurement_fixture_value(f, 0, 0, 0, 1, 1);
	uint64_t start = measurement_fixture_commit(f, path, true);
	measurement_fixture_free(f);
	size_t length, fallbacks = 0;
	unsigned char *bytes = read_whole(path, &length);
	for (size_t i = start; i < length; i++) {
		bytes[i] ^= 0x10;
		struct sn_measurement *m = NULL;
		struct sn_error error;
		assert_int_equal(sn_measurement_parse(bytes, length, "x", &m, &error), 0);
		if (m->is_fallback) {
			fallbacks++;
			assert_int_equal(m->threads[0].value_count, 0);
			assert_false(m->is_final); /* as the older slot says */
		}
		sn_measurement_free(m);
		bytes[i] ^= 0x10;
		assert_int_equal(sn_measurement_parse(bytes, i, "x", &m, &error), 0);
		assert_true(m->is_fallback);
		sn_measurement_free(m);
	}
	/* only padding may change unnoticed: at most 7 bytes for each of 15 sections */
	assert_true(fallbacks + 15 * 7 >= length - start);
	/* a torn slot */
	bytes[SN_COMMIT_SLOT_OFFSET(0) + 8] ^= 1;
	struct sn_measurement *m = NULL;
	assert_int_equal(sn_measurement_parse(bytes, length, "x", &m, NULL), 0);
	assert_int_equal(m->sequence, 1);
	sn_measurement_free(m);
	free(bytes);
}

static void assert_unreadable(const char *why)
{
	struct sn_measurement *m = NULL;
	struct sn_error error = {""};
	assert_true(sn_measurement_open(path, &m, &error) < 0);
	assert_null(m);
	if (!strstr(error.text, why))
		fail_msg("'%s' does not say '%s'", error.text, why);
	assert_memory_equal(error.text, "cannot read '", 13);
}

static void foreign_files_are_refused(void **state)
{
	unlink(path);
	assert_unreadable("No such file");
	write_whole("", 0);
	assert_unreadable("empty file");
	write_whole("SONDEXY\0 and more, and more, and more", 37);
	assert_unreadable("bad magic");
	write_whole("SONDEDB\0 and more, and more, and more", 37);
	assert_unreadable("a Sonde database already");
	struct measurement_fixture *f = make(1);
	unlink(path);
	measurement_fixture_commit(f, path, true);
	measurement_fixture_free(f);
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	write_whole(bytes, 2000);
	assert_unreadable("truncated");
	memset(bytes + SN_COMMIT_SLOT_OFFSET(0), 0, 1024);
	write_whole(bytes, length);
	assert_unreadable("nothing was recorded");
	bytes[8] = 2;
	write_whole(bytes, length);
	assert_unreadable("version 2");
	free(bytes);
}

/* One 32-bit word of a section changed, all checksums right again. */
static void forge(unsigned char *bytes, uint32_t type, uint32_t index, size_t offset, uint32_t word)
{
	unsigned char *snapshot = bytes + SN_MEASUREMENT_PAGE_BYTES;
	struct sn_container_header *header = (void *)snapshot;
	struct sn_section_entry *table = (void *)(snapshot + header->table_offset);
	for (uint32_t i = 0; i < header->section_count; i++) {
		if (table[i].type != type || table[i].index != index)
			continue;
		assert_true(offset + sizeof(word) <= table[i].length);
		memcpy(snapshot + table[i].offset + offset, &word, sizeof(word));
		table[i].checksum = sn_checksum(snapshot + table[i].offset, table[i].length);
	}
	header->table_checksum = sn_checksum(table, header->section_count * sizeof(*table));
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
}

/* Written by another version of this program, and whole: nothing of it is guessed. */
static void other_versions_are_told(void **state)
{
	struct measurement_fixture *f = make(1);
	unlink(path);
	measurement_fixture_commit(f, path, true);
	measurement_fixture_free(f);
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	struct sn_container_header *header = (void *)(bytes + SN_MEASUREMENT_PAGE_BYTES);
	struct sn_section_entry *table =
	    (void *)(bytes + SN_MEASUREMENT_PAGE_BYTES + header->table_offset);
	table->version = 7;
	header->table_checksum = sn_checksum(table, header->section_count * sizeof(*table));
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
	write_whole(bytes, length);
	assert_unreadable("has version 7");
	header->version_major = 5;
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
	write_whole(bytes, length);
	assert_unreadable("version 5 of the format");
	free(bytes);
}

static void forged_numbers_are_noticed(void **state)
{
	static const struct {
		uint32_t type, index;
		size_t offset;
		uint32_t word;
	} forgeries[] = {
	    {SN_SNAPSHOT_STRINGS, SN_ID_NONE, 0, 100000},
	    {SN_SNAPSHOT_STRINGS, 1, 8, 1},
	    {SN_SNAPSHOT_STRINGS, 1, 16, 0x7fffffff},
	    {SN_SNAPSHOT_MODULES, 0, 24, 1000},
	    {SN_SNAPSHOT_MODULES, 0, 32, 21},
	    {SN_SNAPSHOT_METRICS, 0, 0, 1000},
	    {SN_SNAPSHOT_DROPS, 0, 0, 1000},
	    {SN_SNAPSHOT_THREAD, 1, 32, 1000},
	    {SN_SNAPSHOT_CODES, 1, 0, 1000},
	    {SN_SNAPSHOT_CODES, 1, 4, 1000},
	    {SN_SNAPSHOT_NODES, 1, 0, 1},
	    {SN_SNAPSHOT_NODES, 1, 24, 1},
	    {SN_SNAPSHOT_NODES, 1, 24, 0x80000000},
	    {SN_SNAPSHOT_NODES, 1, 24 + 12, 1},
	    {SN_SNAPSHOT_NODES, 1, 48 + 12, 1000},
	    {SN_SNAPSHOT_NODES, 1, 72 + 12, 1},
	    {SN_SNAPSHOT_VALUES, 1, 0, 4},
	    {SN_SNAPSHOT_VALUES, 1, 4, 1},
	    {SN_SNAPSHOT_VALUES, 1, 44, 0x7ff00000},
	};
	struct measurement_fixture *f = make(1);
	unlink(path);
	measurement_fixture_commit(f, path, true);
	measurement_fixture_free(f);
	size_t length;
	unsigned char *bytes = read_whole(path, &length), *forged = malloc(length);
	for (size_t i = 0; i < sizeof(forgeries) / sizeof(*forgeries); i++) {
		struct sn_measurement *m = NULL;
		struct sn_error error = {""};
		memcpy(forged, bytes, length);
		forge(forged, forgeries[i].type, forgeries[i].index, forgeries[i].offset,
		      forgeries[i].word);
		if (!sn_measurement_parse(forged, length, "x", &m, &error))
			fail_msg("forgery %zu was not noticed", i);
		assert_non_null(strstr(error.text, "inconsistent"));
	}
	/* what is unknown is allowed */
	memcpy(forged, bytes, length);
	forge(forged, SN_SNAPSHOT_NODES, 1, 72 + 8, 200);
	forge(forged, SN_SNAPSHOT_NODES, 1, 72 + 12, 5000);
	struct sn_measurement *m = NULL;
	assert_int_equal(sn_measurement_parse(forged, length, "x", &m, NULL), 0);
	sn_measurement_free(m);
	free(bytes);
	free(forged);
}

static void folders_are_listed(void **state)
{
	char **files = NULL;
	size_t count;
	struct sn_error error = {""};
	unlink(path);
	assert_int_equal(sn_measurement_list(folder, &files, &count, &error), SN_ERR_MISSING);
	char names[3][128];
	static const char *const ends[] = {"b.sonde-process", "a.sonde-process", "c.txt"};
	for (int i = 0; i < 3; i++) {
		snprintf(names[i], sizeof(names[i]), "%s/%s", folder, ends[i]);
		fclose(fopen(names[i], "w"));
	}
	assert_int_equal(sn_measurement_list(folder, &files, &count, &error), 0);
	assert_int_equal(count, 2);
	assert_string_equal(files[0], names[1]);
	assert_string_equal(files[1], names[0]);
	sn_measurement_free_list(files);
	assert_int_equal(sn_measurement_list(names[0], &files, &count, &error), 0);
	assert_int_equal(count, 1);
	sn_measurement_free_list(files);
	for (int i = 0; i < 3; i++)
		unlink(names[i]);
	assert_int_equal(sn_measurement_list("/nowhere", &files, &count, &error), SN_ERR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_is_read),
	    cmocka_unit_test(a_stream_is_told_from_a_thread),
	    cmocka_unit_test(the_newest_snapshot_counts),
	    cmocka_unit_test(the_older_snapshot_is_the_fallback),
	    cmocka_unit_test(foreign_files_are_refused),
	    cmocka_unit_test(other_versions_are_told),
	    cmocka_unit_test(forged_numbers_are_noticed),
	    cmocka_unit_test(folders_are_listed),
	};
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/test.sonde-process", folder);
	int failures = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(folder);
	return failures;
}
