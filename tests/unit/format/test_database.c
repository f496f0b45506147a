/* SPDX-License-Identifier: Apache-2.0 */
/* Databases: what is written is what is read, in one order only, and damage is always noticed. */
#include "../whole_file.h"
#include "../db_fixture.h"

#include "../../fuzz/inputs/fuzz_database_checksums.h"
#include "format/checksum.h"
#include "format/database/database_builder.h"
#include "format/measurement/measurement.h"

#include <dirent.h>
#include <float.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MS FIXTURE_MS

static char folder[] = "/tmp/sonde-test-database-XXXXXX";
static char path[128];

static void write_whole(const void *bytes, size_t length)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

static void write_builder(struct sn_db_builder *builder)
{
	struct sn_error error = {""};
	assert_non_null(builder);
	assert_int_equal(sn_db_builder_write(builder, path, &error), 0);
	sn_db_builder_free(builder);
}

static struct sonde_db *open_whole(void)
{
	struct sonde_db *db = NULL;
	struct sonde_db_error error = {""};
	if (sonde_db_open(path, &db, &error))
		fail_msg("%s", error.text);
	return db;
}

static struct sonde_db *open_small(void)
{
	write_builder(db_fixture_small());
	return open_whole();
}

static struct sonde_db_summary summary_of(const struct sonde_db *db, uint32_t context,
					  uint32_t metric)
{
	struct sonde_db_summary summary;
	sonde_db_summary(db, context, metric, &summary);
	return summary;
}

static uint32_t find_context(const struct sonde_db *db, const char *name)
{
	for (uint32_t c = 0; c < sonde_db_context_count(db); c++) {
		uint32_t frame = sonde_db_context(db, c)->frame;
		if (!strcmp(sonde_db_string(db, sonde_db_frame(db, frame)->name), name))
			return c;
	}
	fail_msg("no context %s", name);
	return SONDE_NONE;
}

static void known_tree(void **state)
{
	struct sonde_db *db = open_small();
	assert_int_equal(sonde_db_context_count(db), 15);
	assert_int_equal(sonde_db_profile_count(db), 3);
	assert_int_equal(sonde_db_metric_by_name(db, "cpu-time"), 0);
	assert_int_equal(sonde_db_metric_by_name(db, "gpu-time"), 1);
	assert_int_equal(sonde_db_metric_by_name(db, "none"), SONDE_NONE);
	uint32_t kernel = find_context(db, "sgemm_nn");
	const char *const callers[] = {"clEnqueueNDRangeKernel", "aten::linear", "train",
				       "<module>", "train.py"};
	for (size_t i = 0; i < 5; i++) {
		kernel = sonde_db_context(db, kernel)->parent;
		assert_int_equal(kernel, find_context(db, callers[i]));
	}
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, find_context(db, "AddmmBackward0"))->frame);
	assert_int_equal(frame->kind, SN_FRAME_OPERATOR);
	assert_int_equal(frame->flags, SN_FRAME_BACKWARD);
	frame = sonde_db_frame(db, sonde_db_context(db, find_context(db, "worker_main"))->frame);
	assert_string_equal(sonde_db_string(db, frame->file), "/src/worker.c");
	assert_int_equal(frame->line, 20);
	assert_int_equal(frame->function_line, 18);
	assert_string_equal(sonde_db_string(db, sonde_db_module(db, frame->module)->path),
			    "/usr/lib/worker.so");
	assert_string_equal(sonde_db_property(db, "command"), "python3 train.py");
	assert_null(sonde_db_property(db, "nothing"));
	assert_int_equal(sonde_db_drop_count(db), 2);
	sonde_db_close(db);
}

static void known_sums(void **state)
{
	struct sonde_db *db = open_small();
	struct sonde_db_summary root = summary_of(db, 0, 0);
	assert_true(root.exclusive.count == 0 && root.inclusive.count == 100);
	assert_true(root.inclusive.sum == 500 * MS);
	assert_true(root.across.count == 3 && root.across.sum == 500 * MS);
	assert_true(root.across.min == 100 * MS && root.across.max == 300 * MS);
	struct sonde_db_summary train = summary_of(db, find_context(db, "train"), 0);
	assert_true(train.exclusive.sum == 10 * MS && train.inclusive.sum == 345 * MS);
	assert_true(train.across.count == 2 && train.across.max == 245 * MS);
	struct sonde_db_summary gpu = summary_of(db, find_context(db, "train"), 1);
	assert_true(gpu.inclusive.count == 3 && gpu.inclusive.min == 50 * MS);
	assert_true(gpu.inclusive.max == 150 * MS && gpu.exclusive.count == 0);
	assert_true(sonde_db_stat_mean(&gpu.inclusive) == 100 * MS);
	/* 50, 100, 150: variance 5000 / 3 */
	double deviation = sonde_db_stat_deviation(&gpu.inclusive) / MS;
	assert_true(deviation > 40.8248 && deviation < 40.8249);
	assert_false(sonde_db_summary(db, find_context(db, "load_batch"), 1, &root));
	assert_true(root.inclusive.count == 0);
	sonde_db_close(db);
}

/* Every subtree's inclusive sum, computed the slow way. */
static void inclusive_is_the_sum_of_the_subtree(void **state)
{
	write_builder(db_fixture_big(2000, 5, 30));
	struct sonde_db *db = open_whole();
	assert_int_equal(sonde_db_context_count(db), 2000);
	for (uint32_t c = 0; c < 2000; c++) {
		double sum = 0, count = 0;
		for (uint32_t d = c; d < sonde_db_context(db, c)->end; d++) {
			struct sonde_db_summary part = summary_of(db, d, 0);
			sum += part.exclusive.sum;
			count += part.exclusive.count;
		}
		struct sonde_db_summary whole = summary_of(db, c, 0);
		assert_true(whole.inclusive.sum == sum);
		assert_true(whole.inclusive.count == count);
		assert_true(whole.across.sum == sum);
	}
	sonde_db_close(db);
}

static void rows_are_the_transpose_of_planes(void **state)
{
	write_builder(db_fixture_big(3000, 7, 40));
	struct sonde_db *db = open_whole();
	size_t in_planes = 0, in_rows = 0;
	for (uint32_t metric = 0; metric < 2; metric++) {
		for (uint32_t profile = 0; profile < 7; profile++) {
			struct sonde_db_plane plane = sonde_db_profile_plane(db, profile, metric);
			for (size_t i = 0; i < plane.count; i++) {
				struct sonde_db_plane row =
				    sonde_db_context_row(db, plane.ids[i], metric);
				size_t position = sonde_db_plane_find(&row, profile);
				struct sonde_db_stat one, other;
				assert_true(position < row.count);
				sonde_db_plane_stat(&plane, i, &one);
				sonde_db_plane_stat(&row, position, &other);
				assert_memory_equal(&one, &other, sizeof(one));
				assert_true(sonde_db_plane_sum(&plane, i) == one.sum);
			}
			in_planes += plane.count;
		}
		for (uint32_t c = 0; c < sonde_db_context_count(db); c++)
			in_rows += sonde_db_context_row(db, c, metric).count;
	}
	assert_true(in_planes > 1000);
	assert_int_equal(in_planes, in_rows);
	sonde_db_close(db);
}

/* Statistics of every kind that columns have forms for, in two metrics that lie together. */
static const struct sonde_db_stat hard_stats[][4] = {
    {{1, 7, 7, 7, 49}, {1, 300, 300, 300, 90000}, {1, 0, 0, 0, 0}}, /* single */
    {{3, 15e6, 5e6, 5e6, 75e12}, {1, 5e6, 5e6, 5e6, 25e12}},	    /* sampled */
    {{2, 15e6, 5e6, 10e6, 125e12}},				    /* multiples */
    {{7, 70, 1, 20, 900}, {70000, 1e6, 0, 66000, 1e9}},		    /* whole, 1 to 4 bytes */
    {{3, 0.1 + 0.2, 0.1, 0.1, 0.03}, {2, -5, -4, -1, 17}},	    /* neither */
    {{1, 4294967295.0, 4294967295.0, 4294967295.0, 18446744065119617025.0}},
    {{1, 4294967296.0, 4294967296.0, 4294967296.0, 18446744073709551616.0}},
    {{1, -0.0, -0.0, -0.0, 0.0}, {1e300, 1e300, 1, 1, 1e300}},
    {{2, 255, 0, 255, 65025}, {2, 256, 0, 256, 65536}}, /* the last of a width, and the first */
    {{2, 65535, 0, 65535, 1}, {2, 65534, 0, 65534, 1}},
    {{2, 65536, 0, 65536, 1}, {2, 65534, 0, 65534, 1}},
    {{2, 255 * 5e6, 0, 5e6, 1}, {2, 256 * 5e6, 0, 5e6, 1}},
    {{2, 65535 * 5e6, 0, 5e6, 1}},
    {{2, 65536 * 5e6, 0, 5e6, 1}},
    {{5, 25e6, 5e6, 5e6, 125e12 + 0.03125}}, /* all but the last are implied */
};

static void every_form_gives_the_same_bits(void **state)
{
	enum { KINDS = sizeof(hard_stats) / sizeof(*hard_stats) };
	struct sn_db_builder *builder = db_fixture_small();
	uint32_t contexts[KINDS][4];
	for (uint32_t i = 0; i < KINDS; i++)
		for (uint32_t j = 0; j < 4 && hard_stats[i][j].count > 0; j++) {
			char name[32];
			snprintf(name, sizeof(name), "hard-%u-%u", i, j);
			contexts[i][j] = sn_db_builder_context(
			    builder, 0, sn_db_builder_named_frame(builder, SN_FRAME_REGION, name));
			/* one plane of one kind for each profile, and all kinds in one plane */
			uint32_t profile = sn_db_builder_profile(
			    builder, &(struct sonde_db_profile){.tid = 10000 + i});
			sn_db_builder_value(builder, profile, contexts[i][j], 0, hard_stats[i] + j);
			sn_db_builder_value(builder, 0, contexts[i][j], 0, hard_stats[i] + j);
			sn_db_builder_value(builder, 0, contexts[i][j], 1, hard_stats[i] + j);
		}
	write_builder(builder);
	struct sonde_db *db = open_whole();
	struct sonde_db_error error = {""};
	if (sonde_db_verify(db, &error))
		fail_msg("%s", error.text);
	for (uint32_t i = 0; i < KINDS; i++)
		for (uint32_t j = 0; j < 4 && hard_stats[i][j].count > 0; j++) {
			char name[32];
			snprintf(name, sizeof(name), "hard-%u-%u", i, j);
			for (uint32_t metric = 0; metric < 2; metric++) {
				struct sonde_db_plane row =
				    sonde_db_context_row(db, find_context(db, name), metric);
				assert_int_equal(row.count, 2 - metric);
				for (size_t k = 0; k < row.count; k++) {
					struct sonde_db_stat stat;
					double parts[SONDE_DB_PART_COUNT];
					sonde_db_plane_stat(&row, k, &stat);
					assert_memory_equal(&stat, hard_stats[i] + j, sizeof(stat));
					for (int part = 0; part < SONDE_DB_PART_COUNT; part++)
						sonde_db_plane_numbers(&row, part, k, 1,
								       parts + part);
					assert_memory_equal(parts, &stat, sizeof(stat));
				}
			}
		}
	sonde_db_close(db);
}

/* What is small must lie small: the whole point of forms and of ids that metrics share. */
static void sampled_values_take_five_bytes(void **state)
{
	struct sn_db_builder *builder = db_fixture_small();
	struct sonde_db_stat stat = {2, 10e6, 5e6, 5e6, 50e12};
	struct sonde_db_stat once = {1, 77, 77, 77, 77 * 77};
	uint32_t profile = sn_db_builder_profile(builder, &(struct sonde_db_profile){.tid = 10000});
	for (uint32_t i = 0; i < 1000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "context-%u", i);
		uint32_t context = sn_db_builder_context(
		    builder, 0, sn_db_builder_named_frame(builder, SN_FRAME_REGION, name));
		sn_db_builder_value(builder, profile, context, 0, &stat);
		sn_db_builder_value(builder, profile, context, 1, &once);
	}
	write_builder(builder);
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	const struct sn_section_entry *table =
	    (const void *)(bytes + ((const struct sn_container_header *)bytes)->table_offset);
	/* ids once, one byte for each value of each metric; the small fixture's own are few */
	assert_in_range(table[SN_DATABASE_PLANE_DATA - 1].length, 6000, 6500);
	free(bytes);
}

/* Copies a database into a builder, everything in a random order. */
static struct sn_db_builder *shuffled(const struct sonde_db *db, unsigned seed)
{
	struct sn_db_builder *b = sn_db_builder_new();
	uint32_t count = sonde_db_context_count(db), *made = malloc(count * sizeof(*made));
	uint32_t profiles = sonde_db_profile_count(db), *profile_of = malloc(profiles * 4);
	memset(made, 0xff, count * sizeof(*made));
	made[0] = 0;
	srand(seed);
#define TEXT(string) ((string) == SONDE_NONE ? NULL : sonde_db_string(db, string))
	for (uint32_t done = 1, c = 0; done < count; c = (uint32_t)rand() % count) {
		const struct sonde_db_context *context = sonde_db_context(db, c);
		if (made[c] != SONDE_NONE || made[context->parent] == SONDE_NONE)
			continue;
		struct sonde_db_frame frame = *sonde_db_frame(db, context->frame);
		if (frame.module != SONDE_NONE) {
			struct sonde_db_module module = *sonde_db_module(db, frame.module);
			module.build_id = sn_db_builder_string(b, TEXT(module.build_id));
			module.path = sn_db_builder_string(b, TEXT(module.path));
			frame.module = sn_db_builder_module(b, &module);
		}
		frame.file = sn_db_builder_string(b, TEXT(frame.file));
		frame.name = sn_db_builder_string(b, TEXT(frame.name));
		made[c] =
		    sn_db_builder_context(b, made[context->parent], sn_db_builder_frame(b, &frame));
		done++;
	}
	const struct sonde_db_frame *root = sonde_db_frame(db, sonde_db_context(db, 0)->frame);
	sn_db_builder_set_root(b, sn_db_builder_named_frame(b, root->kind, TEXT(root->name)));
	for (uint32_t i = profiles; i--;) {
		struct sonde_db_profile profile = *sonde_db_profile(db, i);
		profile.thread = sn_db_builder_string(b, TEXT(profile.thread));
		profile.program = sn_db_builder_string(b, TEXT(profile.program));
		profile.host = sn_db_builder_string(b, TEXT(profile.host));
		profile_of[i] = sn_db_builder_profile(b, &profile);
	}
	for (uint32_t i = sonde_db_metric_count(db); i--;) {
		struct sonde_db_metric metric = *sonde_db_metric(db, i);
		metric.source = sn_db_builder_string(b, TEXT(metric.source));
		metric.unit = sn_db_builder_string(b, TEXT(metric.unit));
		metric.name = sn_db_builder_string(b, TEXT(metric.name));
		uint32_t number = sn_db_builder_metric(b, &metric);
		for (uint32_t c = count; c--;) {
			struct sonde_db_plane row = sonde_db_context_row(db, c, i);
			for (size_t j = row.count; j--;) {
				struct sonde_db_stat stat;
				sonde_db_plane_stat(&row, j, &stat);
				sn_db_builder_value(b, profile_of[row.ids[j]], made[c], number,
						    &stat);
			}
		}
	}
	for (uint32_t i = sonde_db_property_count(db); i--;)
		sn_db_builder_property(b, sonde_db_property_key(db, i),
				       sonde_db_property_value(db, i));
	for (uint32_t i = sonde_db_drop_count(db); i--;)
		sn_db_builder_drop(b, TEXT(sonde_db_drop(db, i)->cause),
				   TEXT(sonde_db_drop(db, i)->text), sonde_db_drop(db, i)->count);
	free(made);
	free(profile_of);
	return b;
}

static void order_of_insertion_does_not_matter(void **state)
{
	for (unsigned seed = 1; seed <= 3; seed++) {
		write_builder(seed == 1 ? db_fixture_small() : db_fixture_big(1500, 6, 25));
		size_t length, again_length;
		unsigned char *bytes = read_whole(path, &length);
		struct sonde_db *db = open_whole();
		struct sn_db_builder *copy = shuffled(db, seed);
		sonde_db_close(db);
		write_builder(copy);
		unsigned char *again = read_whole(path, &again_length);
		assert_int_equal(length, again_length);
		assert_memory_equal(bytes, again, length);
		free(bytes);
		free(again);
	}
}

/* `same_squares`: where nothing but the sums themselves can say in which order they are added. */
static void check_merging(bool same_squares)
{
	double sums[2];
	for (int order = 0; order < 2; order++) {
		struct sn_db_builder *builder = db_fixture_small();
		uint32_t context = sn_db_builder_context(
		    builder, 0, sn_db_builder_named_frame(builder, SN_FRAME_REGION, "step"));
		for (int i = 0; i < 3; i++) {
			/* 1e17 + 1 - 1e17 and 1e17 - 1e17 + 1 differ */
			static const double values[] = {1e17, 1, -1e17};
			double value = values[order && i ? 3 - i : i];
			struct sonde_db_stat stat = {1, value, value, value,
						     same_squares ? 1e34 : value * value};
			sn_db_builder_value(builder, 0, context, 0, &stat);
		}
		write_builder(builder);
		struct sonde_db *db = open_whole();
		struct sonde_db_summary summary = summary_of(db, find_context(db, "step"), 0);
		assert_true(summary.exclusive.count == 3);
		assert_true(summary.exclusive.min == -1e17 && summary.exclusive.max == 1e17);
		sums[order] = summary.exclusive.sum;
		sonde_db_close(db);
	}
	assert_true(sums[0] == sums[1]);
}

static void equal_keys_are_merged(void **state)
{
	check_merging(false);
	check_merging(true);
}

static void misuse_is_reported_by_write(void **state)
{
	struct sonde_db_stat stat = {1, 1, 1, 1, 1};
	struct sn_error error = {""};
	for (int i = 0; i < 4; i++) {
		struct sn_db_builder *builder = db_fixture_small();
		if (i == 0)
			sn_db_builder_value(builder, 3, 0, 0, &stat);
		if (i == 1)
			sn_db_builder_value(builder, 0, 100, 0, &stat);
		if (i == 2)
			assert_int_equal(sn_db_builder_context(builder, 100, 0), SONDE_NONE);
		if (i == 3) {
			stat.sum = 0.0 / 0.0;
			sn_db_builder_value(builder, 0, 0, 0, &stat);
		}
		unlink(path);
		assert_int_equal(sn_db_builder_write(builder, path, &error), SN_ERR_ARGUMENT);
		assert_int_not_equal(access(path, F_OK), 0);
		sn_db_builder_free(builder);
	}
}

static void touch_all_values(const struct sonde_db *db)
{
	struct sonde_db_stat stat;
	for (uint32_t metric = 0; metric < sonde_db_metric_count(db); metric++) {
		for (uint32_t profile = 0; profile < sonde_db_profile_count(db); profile++) {
			struct sonde_db_plane plane = sonde_db_profile_plane(db, profile, metric);
			for (size_t i = 0; i < plane.count; i++) {
				assert_non_null(sonde_db_context(db, plane.ids[i]));
				sonde_db_plane_stat(&plane, i, &stat);
			}
		}
		for (uint32_t c = 0; c < sonde_db_context_count(db); c++) {
			struct sonde_db_plane row = sonde_db_context_row(db, c, metric);
			for (size_t i = 0; i < row.count; i++) {
				assert_non_null(sonde_db_profile(db, row.ids[i]));
				sonde_db_plane_stat(&row, i, &stat);
			}
			summary_of(db, c, metric);
		}
	}
}

/* Refused on opening; or, where the damage is in values, safe to use and found by looking for it.
 */
static void assert_unreadable(const char *why)
{
	struct sonde_db *db = NULL;
	struct sonde_db_error error = {""};
	if (sonde_db_open(path, &db, &error)) {
		assert_null(db);
	} else {
		touch_all_values(db);
		assert_true(sonde_db_verify(db, &error) < 0);
		sonde_db_close(db);
	}
	if (!strstr(error.text, why))
		fail_msg("'%s' does not say '%s'", error.text, why);
	assert_null(strchr(error.text, '\n'));
}

static void foreign_files_are_refused(void **state)
{
	unlink(path);
	assert_unreadable("No such file");
	write_whole("", 0);
	assert_unreadable("empty file");
	write_whole("SON", 3);
	assert_unreadable("bad magic");
	write_whole("#!/bin/sh\nexit 0\n", 17);
	assert_unreadable("not a Sonde database (bad magic)");
	write_whole("SONDEMSR12345678", 16);
	assert_unreadable("sonde analyze");
	struct sonde_db *db;
	struct sonde_db_error error;
	assert_true(sonde_db_open("/tmp", &db, &error) < 0);
	assert_non_null(strstr(error.text, "folder"));
	assert_true(sonde_db_open("/dev/null", &db, &error) < 0);
	assert_non_null(strstr(error.text, "not a regular file"));
}

static void newer_versions_are_refused(void **state)
{
	sonde_db_close(open_small());
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	struct sn_container_header *header = (void *)bytes;
	header->version_minor += 7;
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
	write_whole(bytes, length);
	sonde_db_close(open_whole());
	header->version_major++;
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
	write_whole(bytes, length);
	assert_unreadable("version 4");
	header->version_major = 2;
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
	write_whole(bytes, length);
	assert_unreadable("version 2 of the format, this program reads version 3: make it again");
	free(bytes);
}

static void every_cut_is_noticed(void **state)
{
	sonde_db_close(open_small());
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	for (size_t cut = 0; cut < length; cut += cut < 900 ? 1 : 97) {
		write_whole(bytes, cut);
		assert_unreadable("cannot read");
	}
	free(bytes);
}

/* True where the byte is in the header, the table or a section, and not padding. */
static bool is_covered(const unsigned char *bytes, size_t position)
{
	const struct sn_container_header *header = (const void *)bytes;
	const struct sn_section_entry *table = (const void *)(bytes + header->table_offset);
	if (position < header->table_offset + header->section_count * sizeof(*table))
		return true;
	for (uint32_t i = 0; i < header->section_count; i++)
		if (position >= table[i].offset && position < table[i].offset + table[i].length)
			return true;
	return false;
}

static void every_flipped_byte_is_noticed(void **state)
{
	sonde_db_close(open_small());
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	for (size_t i = 0; i < length; i += i < 800 ? 1 : 13) {
		if (!is_covered(bytes, i))
			continue;
		/* the minor version is not checked by itself, but by the header's checksum */
		bytes[i] ^= 0x40;
		write_whole(bytes, length);
		bytes[i] ^= 0x40;
		assert_unreadable("cannot read");
	}
	free(bytes);
}

/* The file with one 32-bit word of a section changed and all checksums right again. */
static void forge(const unsigned char *original, size_t length, unsigned type, size_t offset,
		  uint32_t word)
{
	unsigned char *bytes = malloc(length);
	memcpy(bytes, original, length);
	struct fuzz_section section = fuzz_find_section(bytes, length, type);
	assert_true(offset + sizeof(word) <= section.length);
	memcpy(section.bytes + offset, &word, sizeof(word));
	fuzz_patch_database(bytes, length);
	write_whole(bytes, length);
	free(bytes);
}

static void forged_numbers_are_noticed(void **state)
{
	static const struct {
		unsigned type;
		size_t offset;
		uint32_t word;
		const char *part;
	} forgeries[] = {
	    {SN_DATABASE_STRINGS, 0, 1000000, "strings"},
	    {SN_DATABASE_STRINGS, 16, 0xffffff, "strings"},
	    {SN_DATABASE_MODULES, 0, 5000, "modules"},
	    {SN_DATABASE_FRAMES, 4, 5000, "frames"},
	    {SN_DATABASE_FRAMES, 12, 4, "frames"},
	    {SN_DATABASE_CONTEXTS, 8, 14, "contexts"},
	    {SN_DATABASE_CONTEXTS, 16, 15, "contexts"},
	    {SN_DATABASE_CONTEXTS, 16 + 4, 1, "contexts"},
	    {SN_DATABASE_CONTEXTS, 16 + 8, 1, "contexts"},
	    {SN_DATABASE_CONTEXTS, 16 + 8, 100, "contexts"},
	    {SN_DATABASE_CONTEXTS, 16 + 12, 2, "contexts"},
	    {SN_DATABASE_CONTEXTS, 14 * 16 + 8, 16, "contexts"},
	    {SN_DATABASE_METRICS, 4, 5000, "metrics"},
	    {SN_DATABASE_PROFILES, 8, 5000, "profiles"},
	    {SN_DATABASE_DROPS, 0, 5000, "drops"},
	    {SN_DATABASE_PROPERTIES, 4, 5000, "properties"},
	    {SN_DATABASE_PLANE_INDEX, 0, 1, "values by profile"},
	    {SN_DATABASE_PLANE_INDEX, 24, 100, "values by profile"},
	    {SN_DATABASE_PLANE_INDEX, 32, 0x7ffffffc, "values by profile"},
	    {SN_DATABASE_PLANE_INDEX, 32, 4, "values by profile: outside"},
	    {SN_DATABASE_PLANES, 0, 2, "values by profile: metrics"},
	    {SN_DATABASE_PLANES, 4, 0, "values by profile: count or forms"},
	    {SN_DATABASE_PLANES, 4, 100, "values by profile: a gap"},
	    {SN_DATABASE_PLANES, 8, 1, "values by profile: a gap"},
	    {SN_DATABASE_PLANES, 12, 100, "values by profile: a gap"},
	    {SN_DATABASE_PLANES, 16, 0x9, "values by profile: count or forms"},
	    {SN_DATABASE_PLANES, 20, 0, "values by profile: metrics"},
	    {SN_DATABASE_PLANE_DATA, 0, 15, "values by profile: ids"},
	    {SN_DATABASE_PLANE_DATA, 4, 0, "values by profile: ids"},
	    {SN_DATABASE_ROW_INDEX, 8, 4, "values by context"},
	    {SN_DATABASE_ROWS, 4, 2, "values by context: "},
	    {SN_DATABASE_ROW_DATA, 0, 3, "values by context: ids"},
	    {SN_DATABASE_SUMMARIES, 0, 2, "summaries: metrics"},
	    {SN_DATABASE_SUMMARIES, 20, 0xffffffff, "summaries: count or forms"},
	    {SN_DATABASE_SUMMARY_DATA, 4, 0, "summaries: ids"},
	    {SN_DATABASE_SUMMARY_DATA, 0, 15, "summaries: "},
	};
	sonde_db_close(open_small());
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	for (size_t i = 0; i < sizeof(forgeries) / sizeof(*forgeries); i++) {
		forge(bytes, length, forgeries[i].type, forgeries[i].offset, forgeries[i].word);
		assert_unreadable(forgeries[i].part);
	}
	free(bytes);
}

/* Opening does not look at values; using them does, and nothing but the damaged plane is lost. */
static void damage_is_told_once_it_is_met(void **state)
{
	sonde_db_close(open_small());
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	forge(bytes, length, SN_DATABASE_PLANE_DATA, 4, 0);
	free(bytes);
	struct sonde_db *db = open_whole();
	assert_null(sonde_db_damage(db));
	assert_true(sonde_db_profile_plane(db, 1, 0).count > 0);
	assert_null(sonde_db_damage(db));
	assert_int_equal(sonde_db_profile_plane(db, 0, 0).count, 0);
	assert_non_null(strstr(sonde_db_damage(db), "damaged (values by profile)"));
	assert_true(sonde_db_context_row(db, find_context(db, "train"), 0).count > 0);
	sonde_db_close(db);
}

/* One context with two metrics of 20,000 profiles, the second without the last of them: ids and
 * columns are large blocks, of which the metrics share none. */
static void write_wide(void)
{
	enum { PROFILES = 20000 };
	struct sn_db_builder *builder = db_fixture_small();
	uint32_t context = sn_db_builder_context(
	    builder, 0, sn_db_builder_named_frame(builder, SN_FRAME_REGION, "wide"));
	for (uint32_t i = 0; i < PROFILES; i++) {
		struct sonde_db_stat stat = {3, i + 0.5, 0.25, i / 7.0, i * 1e3};
		uint32_t profile = sn_db_builder_profile(
		    builder, &(struct sonde_db_profile){.tid = 10000 + i, .start_ns = 1});
		sn_db_builder_value(builder, profile, context, 0, &stat);
		if (i + 1 < PROFILES)
			sn_db_builder_value(builder, profile, context, 1, &stat);
	}
	write_builder(builder);
}

/* Damages the word of the rows' data that holds metric `metric`'s ids or values in "wide", and
 * opens it. Checksums are as they were. */
static struct sonde_db *open_damaged_wide(uint32_t metric, bool in_ids)
{
	struct sonde_db *db = open_whole();
	uint32_t context = find_context(db, "wide");
	sonde_db_close(db);
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	struct fuzz_section index = fuzz_find_section(bytes, length, SN_DATABASE_ROW_INDEX);
	struct fuzz_section rows = fuzz_find_section(bytes, length, SN_DATABASE_ROWS);
	struct fuzz_section data = fuzz_find_section(bytes, length, SN_DATABASE_ROW_DATA);
	const struct sn_database_index *of = (struct sn_database_index *)index.bytes + context;
	const struct sn_database_plane *plane =
	    (struct sn_database_plane *)rows.bytes + of->first + metric;
	assert_int_equal(plane->metric, metric);
	data.bytes[of->data + 4ull * (in_ids ? plane->ids : plane->values) + 4000] ^= 1;
	write_whole(bytes, length);
	free(bytes);
	return open_whole();
}

/* One metric of a context with many profiles is read without the others. */
static void a_damaged_metric_leaves_the_others(void **state)
{
	for (int i = 0; i < 4; i++) {
		uint32_t bad = i % 2, good = 1 - bad;
		write_wide();
		struct sonde_db *db = open_damaged_wide(bad, i / 2);
		uint32_t context = find_context(db, "wide");
		assert_int_equal(sonde_db_context_row(db, context, good).count, 20000 - good);
		assert_null(sonde_db_damage(db));
		assert_int_equal(sonde_db_context_row(db, context, bad).count, 0);
		assert_non_null(strstr(sonde_db_damage(db), "damaged (values by context)"));
		assert_int_equal(sonde_db_context_row(db, context, bad).count, 0);
		sonde_db_close(db);
		assert_unreadable("values by context: checksum");
	}
}

/* The wide one, whole: both orders, every value; and with every checksum of large blocks right
 * again, ids that are none are noticed. */
static void large_blocks_hold_what_was_added(void **state)
{
	write_wide();
	struct sonde_db *db = open_whole();
	struct sonde_db_error error = {""};
	if (sonde_db_verify(db, &error))
		fail_msg("%s", error.text);
	struct sonde_db_plane row = sonde_db_context_row(db, find_context(db, "wide"), 1);
	assert_int_equal(row.count, 19999);
	for (uint32_t i = 0; i < row.count; i++)
		assert_true(sonde_db_plane_sum(&row, i) == i + 0.5);
	sonde_db_close(db);
	sonde_db_close(open_damaged_wide(0, true));
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	fuzz_patch_database(bytes, length);
	write_whole(bytes, length);
	free(bytes);
	assert_unreadable("values by context: ids");
}

/* A number of one order that is another in the other, with every checksum right. */
static void values_of_other_profiles_are_noticed(void **state)
{
	sonde_db_close(open_small());
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	struct fuzz_section rows = fuzz_find_section(bytes, length, SN_DATABASE_ROWS);
	struct fuzz_section data = fuzz_find_section(bytes, length, SN_DATABASE_ROW_DATA);
	const struct sn_database_plane *first = (const void *)rows.bytes;
	data.bytes[4 * first->values] ^= 1;
	fuzz_patch_database(bytes, length);
	write_whole(bytes, length);
	assert_unreadable("values by context: not those by profile");
	free(bytes);
}

static void set_length(unsigned char *bytes, unsigned type, uint64_t length)
{
	const struct sn_container_header *header = (const void *)bytes;
	struct sn_section_entry *table = (void *)(bytes + header->table_offset);
	for (uint32_t i = 0; i < header->section_count; i++)
		if (table[i].type == type)
			table[i].length = length;
}

/* A row that says another profile has the value, and a value that only its profile has: every
 * checksum is right. */
static void a_transpose_that_is_none_is_noticed(void **state)
{
	sonde_db_close(open_small());
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	struct fuzz_section rows = fuzz_find_section(bytes, length, SN_DATABASE_ROWS);
	struct fuzz_section index = fuzz_find_section(bytes, length, SN_DATABASE_ROW_INDEX);
	struct fuzz_section data = fuzz_find_section(bytes, length, SN_DATABASE_ROW_DATA);
	const struct sn_database_plane *first = (const void *)rows.bytes;
	assert_int_equal(first->count, 1);
	uint32_t id, other;
	memcpy(&id, data.bytes + 4 * first->ids, sizeof(id));
	other = id ? 0 : 1;
	memcpy(data.bytes + 4 * first->ids, &other, sizeof(other));
	fuzz_patch_database(bytes, length);
	write_whole(bytes, length);
	assert_unreadable("values by context: not those by profile");
	memcpy(data.bytes + 4 * first->ids, &id, sizeof(id));
	/* the last context that has a row has it no longer */
	struct sn_database_index *ends = (void *)index.bytes;
	size_t last = index.length / sizeof(*ends) - 1, context = last;
	while (ends[context].first == ends[last].first)
		context--;
	assert_int_equal(ends[last].first - ends[context].first, 1);
	set_length(bytes, SN_DATABASE_ROWS, ends[context].first * sizeof(*first));
	set_length(bytes, SN_DATABASE_ROW_DATA, ends[context].data);
	for (size_t i = context + 1; i <= last; i++) {
		ends[i].first = ends[context].first;
		ends[i].data = ends[context].data;
	}
	ends[context].checksum = 0; /* of nothing */
	fuzz_patch_database(bytes, length);
	write_whole(bytes, length);
	assert_unreadable("values by context: fewer than by profile");
	free(bytes);
}

static void a_full_disk_leaves_nothing(void **state)
{
	struct sn_db_builder *builder = db_fixture_small();
	struct sn_error error = {""};
	assert_int_equal(sn_db_builder_write(builder, "/dev/full", &error), SN_ERR_IO);
	assert_non_null(strstr(error.text, "No space left"));
	char missing[160];
	snprintf(missing, sizeof(missing), "%s/missing/out.sdb", folder);
	assert_int_equal(sn_db_builder_write(builder, missing, &error), SN_ERR_IO);
	assert_int_equal(sn_db_builder_write(builder, folder, &error), SN_ERR_IO);
	sn_db_builder_free(builder);
}

/* Values of 40 profiles at a chain of contexts with branches, each three times, whole numbers and
 * others, in an order that `step` makes. */
static struct sn_db_builder *build_many(uint32_t step, size_t limit)
{
	enum { PROFILES = 40, CONTEXTS = 30, METRICS = 3, ALL = PROFILES * CONTEXTS * METRICS };
	static const char *const names[METRICS] = {"time", "bytes", "ratio"};
	struct sn_db_builder *builder = sn_db_builder_new();
	uint32_t contexts[CONTEXTS] = {0}, metrics[METRICS], profiles[PROFILES];
	builder->values.limit = limit;
	for (uint32_t m = 0; m < METRICS; m++)
		metrics[m] = sn_db_builder_metric(
		    builder,
		    &(struct sonde_db_metric){.name = sn_db_builder_string(builder, names[m]),
					      .unit = SONDE_NONE,
					      .source = SONDE_NONE});
	for (uint32_t c = 1; c < CONTEXTS; c++) {
		char name[16];
		snprintf(name, sizeof(name), "f%u", c);
		contexts[c] = sn_db_builder_context(
		    builder, contexts[c % 3 ? c - 1 : c / 2],
		    sn_db_builder_named_frame(builder, SN_FRAME_NATIVE, name));
	}
	for (uint32_t p = 0; p < PROFILES; p++)
		profiles[p] =
		    sn_db_builder_profile(builder, &(struct sonde_db_profile){.host = SONDE_NONE,
									      .program = SONDE_NONE,
									      .thread = SONDE_NONE,
									      .tid = 100 - p});
	for (uint32_t i = 0, at = 0; i < ALL; i++, at = (at + step) % ALL) {
		uint32_t p = at % PROFILES, c = at / PROFILES % CONTEXTS, m = at % METRICS;
		double value = m == 2 ? 1 / (1.0 + at) : (double)at * at;
		struct sonde_db_stat stat = {1, value, value, value, value * value};
		if ((p + c) % 4)
			sn_db_builder_value(builder, profiles[p], contexts[c], metrics[m], &stat);
	}
	return builder;
}

/* However many values are in memory at once, in whatever order they come, by whatever threads. */
static void values_beyond_memory_are_the_same(void **state)
{
	static const struct {
		uint32_t step;
		size_t limit;
		unsigned threads;
	} ways[] = {{1, 1 << 20, 1}, {7, 1 << 20, 3}, {11, 100, 1}, {1, 64, 4}, {3599, 1, 2}};
	size_t length, first_length = 0;
	unsigned char *first = NULL;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct sn_db_builder *builder = build_many(ways[i].step, ways[i].limit);
		sn_db_builder_set_threads(builder, ways[i].threads);
		assert_int_equal(sn_db_builder_write(builder, path, NULL), 0);
		sn_db_builder_free(builder);
		unsigned char *bytes = read_whole(path, &length);
		if (first) {
			assert_int_equal(length, first_length);
			assert_memory_equal(bytes, first, length);
			free(bytes);
		} else {
			first = bytes;
			first_length = length;
		}
	}
	free(first);
}

static size_t files_in_folder(void)
{
	size_t count = 0;
	DIR *opened = opendir(folder);
	for (struct dirent *entry; (entry = readdir(opened));)
		count += entry->d_name[0] != '.';
	closedir(opened);
	return count;
}

/* A file that may not become as large as it should: what was there stays, and nothing beside it. */
static void a_cut_write_leaves_what_was_there(void **state)
{
	struct rlimit usual, small;
	struct sn_error error = {""};
	write_whole("what was there", 14);
	assert_int_equal(files_in_folder(), 1);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &usual);
	small = usual;
	small.rlim_cur = 4096;
	setrlimit(RLIMIT_FSIZE, &small);
	struct sn_db_builder *builder = db_fixture_small();
	int result = sn_db_builder_write(builder, path, &error);
	setrlimit(RLIMIT_FSIZE, &usual);
	sn_db_builder_free(builder);
	assert_int_equal(result, SN_ERR_IO);
	assert_non_null(strstr(error.text, "File too large"));
	assert_int_equal(files_in_folder(), 1);
	size_t length;
	unsigned char *bytes = read_whole(path, &length);
	assert_int_equal(length, 14);
	free(bytes);
}

static void the_output_may_be_a_link(void **state)
{
	char link[160];
	struct stat status;
	snprintf(link, sizeof(link), "%s/link.sdb", folder);
	sonde_db_close(open_small());
	assert_int_equal(symlink(path, link), 0);
	for (int is_shared = 0; is_shared < 2; is_shared++) {
		assert_int_equal(chmod(path, 0640), 0);
		struct sn_db_builder *builder = db_fixture_small();
		if (is_shared)
			sn_db_builder_share(builder);
		assert_int_equal(sn_db_builder_write(builder, link, NULL), 0);
		sn_db_builder_free(builder);
		assert_int_equal(lstat(link, &status), 0);
		assert_true(S_ISLNK(status.st_mode));
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_mode & 0777, is_shared ? 0644 : 0600);
	}
	unlink(link);
	assert_int_equal(files_in_folder(), 1);
}

static void an_empty_database_is_readable(void **state)
{
	write_builder(sn_db_builder_new());
	struct sonde_db *db = open_whole();
	assert_int_equal(sonde_db_context_count(db), 1);
	assert_int_equal(sonde_db_metric_count(db), 0);
	struct sonde_db_summary none;
	assert_false(sonde_db_summary(db, 0, 0, &none));
	assert_int_equal(sonde_db_context_row(db, 0, 0).count, 0);
	assert_int_equal(sonde_db_profile_plane(db, 0, 0).count, 0);
	assert_string_equal(sonde_db_string(db, SONDE_NONE), "");
	sonde_db_close(db);
}

static void squares_beyond_a_double_are_the_largest(void **state)
{
	struct sn_db_builder *builder = db_fixture_small();
	struct sonde_db_stat stat = {1, 1e200, 1e200, 1e200, 1e200 * 1e200}, seen;
	uint32_t profile = sn_db_builder_profile(builder, &(struct sonde_db_profile){.tid = 10001});
	uint32_t context = sn_db_builder_context(
	    builder, 0, sn_db_builder_named_frame(builder, SN_FRAME_REGION, "huge"));
	sn_db_builder_value(builder, profile, context, 0, &stat);
	write_builder(builder);
	struct sonde_db *db = open_whole();
	bool is_found = false;
	for (uint32_t i = 0; i < sonde_db_context_count(db); i++) {
		struct sonde_db_plane row = sonde_db_context_row(db, i, 0);
		for (size_t k = 0; k < row.count; k++) {
			sonde_db_plane_stat(&row, k, &seen);
			is_found |= seen.sum == 1e200 && seen.sum_squares == DBL_MAX;
		}
	}
	assert_true(is_found);
	sonde_db_close(db);
}

static void frame_kinds_have_names(void **state)
{
	assert_string_equal(sonde_frame_kind_name(SN_FRAME_GPU_API), "gpu-api");
	assert_string_equal(sonde_frame_kind_layer(SN_FRAME_KERNEL), "gpu");
	assert_string_equal(sonde_frame_kind_layer(SN_FRAME_INLINED), "native");
	assert_string_equal(sonde_frame_kind_name(200), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_tree),
	    cmocka_unit_test(known_sums),
	    cmocka_unit_test(inclusive_is_the_sum_of_the_subtree),
	    cmocka_unit_test(rows_are_the_transpose_of_planes),
	    cmocka_unit_test(every_form_gives_the_same_bits),
	    cmocka_unit_test(sampled_values_take_five_bytes),
	    cmocka_unit_test(damage_is_told_once_it_is_met),
	    cmocka_unit_test(a_damaged_metric_leaves_the_others),
	    cmocka_unit_test(large_blocks_hold_what_was_added),
	    cmocka_unit_test(values_of_other_profiles_are_noticed),
	    cmocka_unit_test(a_transpose_that_is_none_is_noticed),
	    cmocka_unit_test(order_of_insertion_does_not_matter),
	    cmocka_unit_test(equal_keys_are_merged),
	    cmocka_unit_test(misuse_is_reported_by_write),
	    cmocka_unit_test(foreign_files_are_refused),
	    cmocka_unit_test(newer_versions_are_refused),
	    cmocka_unit_test(every_cut_is_noticed),
	    cmocka_unit_test(every_flipped_byte_is_noticed),
	    cmocka_unit_test(forged_numbers_are_noticed),
	    cmocka_unit_test(values_beyond_memory_are_the_same),
	    cmocka_unit_test(a_full_disk_leaves_nothing),
	    cmocka_unit_test(a_cut_write_leaves_what_was_there),
	    cmocka_unit_test(the_output_may_be_a_link),
	    cmocka_unit_test(an_empty_database_is_readable),
	    cmocka_unit_test(squares_beyond_a_double_are_the_largest),
	    cmocka_unit_test(frame_kinds_have_names),
	};
	umask(022);
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/test.sdb", folder);
	int failures = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(folder);
	return failures;
}
