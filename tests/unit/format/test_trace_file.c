/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file: what is written is read back, bounded, while it is written, and from any bytes.
 */
#include "format/checksum.h"
#include "format/trace_file/trace_file_reader.h"
#include "format/trace_file/trace_file_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define SECOND 1000000000ull

static char folder[] = "/tmp/sonde-test-trace-XXXXXX";
static char path[512];
static struct sn_trace_file *file;
static struct sn_trace_reader *reader;

static void create(uint64_t limit_bytes)
{
	struct sn_error error = {""};
	struct dirent *entry;
	int at = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(sn_trace_file_create(at, 0600, "prog", limit_bytes, &file, &error), 0);
	close(at);
	DIR *all = opendir(folder);
	while ((entry = readdir(all)))
		if (strstr(entry->d_name, SN_TRACE_FILE_SUFFIX))
			snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
	closedir(all);
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	sn_trace_reader_free(reader);
	sn_trace_file_close(file);
	reader = NULL;
	file = NULL;
	unlink(path);
	return rmdir(folder);
}

static const struct sn_trace_directory *open_reader(void)
{
	struct sn_error error = {""};
	sn_trace_reader_free(reader);
	reader = NULL;
	sn_trace_file_flush(file);
	assert_int_equal(sn_trace_reader_open(path, &reader, &error), 0);
	return sn_trace_reader_directory(reader);
}

static struct sn_trace_event next(void)
{
	struct sn_trace_event event;
	struct sn_error error = {""};
	assert_int_equal(sn_trace_reader_next(reader, &event, &error), 1);
	return event;
}

static void assert_end(void)
{
	struct sn_trace_event event;
	struct sn_error error = {""};
	assert_int_equal(sn_trace_reader_next(reader, &event, &error), 0);
}

static uint32_t stream(const char *name, uint64_t tid)
{
	struct sn_trace_stream made = {.kind = SN_TRACE_STREAM_THREAD,
				       .thread = SN_ID_NONE,
				       .pid = 7,
				       .tid = tid,
				       .device = SN_ID_NONE,
				       .device_context = SN_ID_NONE,
				       .queue = 3,
				       .name = name,
				       .name_length = (uint32_t)strlen(name)};
	return sn_trace_file_stream(file, &made);
}

static void test_definitions(void **state)
{
	(void)state;
	create(0);
	assert_int_equal(stream("main", 7), 0);
	assert_int_equal(stream("worker", UINT64_MAX), 1);
	assert_int_equal(sn_trace_file_name(file, SN_FRAME_OS, SN_ID_NONE, "blocked"), 0);
	assert_int_equal(sn_trace_file_name(file, SN_FRAME_OS, 0, "futex"), 1);
	assert_int_equal(sn_trace_file_counter(file, SN_METRIC_BYTES, "in use", "bytes"), 0);
	assert_int_equal(sn_trace_file_key(file, 1, "bytes", ""), 0);
	const struct sn_trace_directory *all = open_reader();
	assert_string_equal(all->header.program, "prog");
	assert_int_equal(all->stream_count, 2);
	assert_int_equal(all->streams[1].tid, UINT64_MAX);
	assert_int_equal(all->streams[1].device, SN_ID_NONE);
	assert_int_equal(all->streams[1].queue, 3);
	assert_memory_equal(all->streams[1].name, "worker", 6);
	assert_int_equal(all->name_count, 2);
	assert_int_equal(all->names[1].parent, 0);
	assert_int_equal(all->counters[0].unit_length, 5);
	assert_int_equal(all->keys[0].type, 1);
	assert_end();
}

/* Their frames have numbers of modules and code, which a name has not: what says so is damaged. */
static void test_names_of_code(void **state)
{
	static const uint32_t kinds[] = {SN_FRAME_NATIVE, SN_FRAME_GPU_INSTRUCTION,
					 SN_FRAME_PYTHON};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		create(0);
		stream("main", 7);
		sn_trace_file_name(file, kinds[i], SN_ID_NONE, "code");
		assert_int_equal(open_reader()->name_count, 0);
		teardown(state);
		setup(state);
	}
}

static void add_all_kinds(uint64_t at)
{
	const struct sn_trace_attribute attributes[] = {{0, 0, 4096}, {1, 0, 1}};
	sn_trace_file_add(file,
			  &(struct sn_trace_event){
			      .kind = SN_TRACE_SAMPLE, .stream = 0, .context = 1, .start_ns = at});
	sn_trace_file_add(file, &(struct sn_trace_event){.kind = SN_TRACE_INTERVAL,
							 .stream = 1,
							 .start_ns = at + 100,
							 .end_ns = at + 300,
							 .link = SN_TRACE_LINK_CALL + 5,
							 .attributes = attributes,
							 .attribute_count = 2});
	/* that began before the one before it ended */
	sn_trace_file_add(file, &(struct sn_trace_event){.kind = SN_TRACE_INTERVAL,
							 .stream = 0,
							 .start_ns = at + 10,
							 .end_ns = at + 20});
	sn_trace_file_add(file, &(struct sn_trace_event){.kind = SN_TRACE_COUNTER,
							 .stream = 0,
							 .context = 1,
							 .start_ns = at + 400,
							 .value = -17});
	sn_trace_file_add(file, &(struct sn_trace_event){
				    .kind = SN_TRACE_INSTANT, .stream = 1, .start_ns = at + 500});
}

static void test_every_kind_comes_back(void **state)
{
	(void)state;
	create(0);
	stream("main", 7);
	stream("worker", 8);
	sn_trace_file_name(file, SN_FRAME_OS, SN_ID_NONE, "running");
	sn_trace_file_name(file, SN_FRAME_OS, SN_ID_NONE, "ready");
	sn_trace_file_counter(file, SN_METRIC_BYTES, "in use", "bytes");
	sn_trace_file_key(file, 1, "bytes", "");
	sn_trace_file_key(file, 4, "state", "");
	add_all_kinds(SECOND);
	open_reader();
	struct sn_trace_event event = next();
	assert_int_equal(event.kind, SN_TRACE_SAMPLE);
	assert_int_equal(event.context, 1);
	assert_true(event.start_ns <= SECOND && event.start_ns + 1024 > SECOND);
	event = next();
	assert_int_equal(event.kind, SN_TRACE_INTERVAL);
	assert_int_equal(event.stream, 1);
	assert_int_equal(event.start_ns, SECOND + 100);
	assert_int_equal(event.end_ns, SECOND + 300);
	assert_int_equal(event.context, 0);
	assert_int_equal(event.link, SN_TRACE_LINK_CALL + 5);
	assert_int_equal(event.attribute_count, 2);
	assert_int_equal(event.attributes[0].value, 4096);
	assert_int_equal(event.attributes[1].key, 1);
	event = next();
	assert_int_equal(event.end_ns, SECOND + 20);
	assert_int_equal(event.link, 0);
	event = next();
	assert_int_equal(event.kind, SN_TRACE_COUNTER);
	assert_int_equal(event.value, -17);
	assert_int_equal(event.start_ns, SECOND + 400);
	event = next();
	assert_int_equal(event.kind, SN_TRACE_INSTANT);
	assert_int_equal(event.start_ns, SECOND + 500);
	assert_end();
}

/* The newest events stay, the file stays bounded, and what went is counted. */
static void test_limit(void **state)
{
	enum { EVENTS = 200000, LIMIT = 4 * SN_TRACE_CHUNK_BYTES };
	(void)state;
	create(LIMIT);
	stream("main", 7);
	sn_trace_file_name(file, SN_FRAME_OS, SN_ID_NONE, "running");
	for (uint64_t i = 0; i < EVENTS; i++)
		sn_trace_file_add(file,
				  &(struct sn_trace_event){.kind = SN_TRACE_INTERVAL,
							   .start_ns = SECOND + i * 1000,
							   .end_ns = SECOND + i * 1000 + 500});
	const struct sn_trace_directory *all = open_reader();
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	/* the header and a chunk of definitions come on top */
	assert_true(status.st_size <= LIMIT + SN_TRACE_FILE_PAGE_BYTES + SN_TRACE_CHUNK_BYTES);
	uint64_t lost = all->losses.counts[SN_TRACE_LOST_OVERWRITTEN];
	assert_true(lost > 0 && lost < EVENTS);
	assert_int_equal(all->event_count, EVENTS - lost);
	for (uint64_t i = lost; i < EVENTS; i++)
		assert_int_equal(next().start_ns, SECOND + i * 1000);
	assert_end();
}

/* Written by another version of this program, and whole: refused, and why. */
static void test_another_version(void **state)
{
	(void)state;
	struct sn_trace_file_header header;
	struct sn_error error = {""};
	create(0);
	int fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	header.version_major = 6;
	header.checksum = sn_checksum(&header, offsetof(struct sn_trace_file_header, checksum));
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	close(fd);
	assert_int_equal(sn_trace_reader_open(path, &reader, &error), SN_ERR_VERSION);
	assert_non_null(strstr(error.text, "version 6 of the format"));
	assert_non_null(strstr(error.text, path));
}

/* Any one byte changed: an error or fewer events, and every number within its table. */
static void test_any_bytes(void **state)
{
	(void)state;
	create(0);
	stream("main", 7);
	stream("worker", 8);
	sn_trace_file_name(file, SN_FRAME_OS, SN_ID_NONE, "running");
	sn_trace_file_name(file, SN_FRAME_OS, SN_ID_NONE, "ready");
	sn_trace_file_counter(file, SN_METRIC_BYTES, "in use", "bytes");
	sn_trace_file_key(file, 1, "bytes", "");
	sn_trace_file_key(file, 4, "state", "");
	add_all_kinds(SECOND);
	struct stat status;
	stat(path, &status);
	int fd = open(path, O_RDWR);
	for (off_t at = 0; at<status.st_size; at += at % SN_TRACE_CHUNK_BYTES> 4300 ? 1021 : 1) {
		unsigned char byte, changed;
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		changed = byte ^ (unsigned char)(1 + at % 255);
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		struct sn_error error = {""};
		struct sn_trace_event event;
		if (!sn_trace_reader_open(path, &reader, &error)) {
			const struct sn_trace_directory *all = sn_trace_reader_directory(reader);
			while (sn_trace_reader_next(reader, &event, &error) > 0) {
				assert_true(event.stream < all->stream_count);
				assert_true(event.end_ns >= event.start_ns);
			}
			sn_trace_reader_free(reader);
			reader = NULL;
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_definitions, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_names_of_code, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_every_kind_comes_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_another_version, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_any_bytes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
