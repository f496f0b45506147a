/* SPDX-License-Identifier: Apache-2.0 */
/* The container of perf.data: header, events, features, and the records. Each length in the file is
 * checked where it is used. */
#include "perf_file.h"

#include "base/progress/progress.h"
#include "base/vec.h"
#include "import/core/importer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef SN_HAVE_ZSTD
#include <zstd.h>
#endif

#define MAGIC_SWAPPED "2ELIFREP"

enum { UPDATE_NAME = 2 };

#define COMMAND_MAX   4096
#define ATTR_IDS_SIZE 16

bool sn_perf_is_file(const unsigned char *head, size_t length)
{
	return length >= 16 && (!memcmp(head, SN_PERF_MAGIC, 8) || !memcmp(head, MAGIC_SWAPPED, 8));
}

static int damaged(const struct sn_perf_file *file, const char *what, struct sn_error *error)
{
	return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': damaged (%s)", file->path, what);
}

/* A cursor over a part of the file; failed if the part is not inside the file. */
static struct sn_cursor part(const struct sn_perf_file *file, uint64_t offset, uint64_t length)
{
	return sn_cursor_at(sn_bytes_slice(file->bytes, offset, length), 0);
}

/* The rest of a cursor as a text, up to its first NUL. NULL without memory. */
static const char *copy_text(struct sn_perf_file *file, const struct sn_cursor *cursor)
{
	const char *text = (const char *)cursor->at;
	return sn_arena_copy(&file->texts, text, strnlen(text, sn_cursor_left(cursor)));
}

/* A string: u32 length, text padded with zeroes. NULL if it is damaged, or without memory. */
static const char *read_string(struct sn_perf_file *file, struct sn_cursor *cursor)
{
	struct sn_cursor text = sn_cursor_slice(cursor, sn_cursor_u32(cursor));
	return text.failed ? NULL : copy_text(file, &text);
}

/* ---- events ---- */

/* Adds an event with its ids. */
static int add_event(struct sn_perf_file *file, struct sn_cursor attr, struct sn_cursor ids)
{
	struct sn_perf_event event = {.name = NULL};
	size_t length = sn_cursor_left(&attr);
	memcpy(&event.attr, attr.at, length < sizeof(event.attr) ? length : sizeof(event.attr));
	if (sn_vec_push(&file->events, &file->event_capacity, &file->event_count, event))
		return SN_ERR_MEMORY;
	while (sn_cursor_left(&ids) >= 8)
		if (sn_table_put(&file->ids, sn_cursor_u64(&ids), (uint32_t)file->event_count - 1))
			return SN_ERR_MEMORY;
	return 0;
}

uint32_t sn_perf_file_event(const struct sn_perf_file *file, uint64_t id)
{
	return sn_table_find(&file->ids, id);
}

static int read_attrs(struct sn_perf_file *file, uint64_t offset, uint64_t length,
		      uint64_t attr_bytes, struct sn_error *error)
{
	struct sn_cursor attrs = part(file, offset, length);
	if (attr_bytes < PERF_ATTR_SIZE_VER0 + ATTR_IDS_SIZE || attrs.failed || !length)
		return damaged(file, "events", error);
	while (sn_cursor_left(&attrs) >= attr_bytes) {
		struct sn_cursor attr = sn_cursor_slice(&attrs, attr_bytes - ATTR_IDS_SIZE);
		uint64_t ids_offset = sn_cursor_u64(&attrs), ids_bytes = sn_cursor_u64(&attrs);
		struct sn_cursor ids = part(file, ids_offset, ids_bytes);
		if (ids.failed)
			return damaged(file, "events", error);
		if (add_event(file, attr, ids))
			return sn_fail_memory(error);
	}
	return 0;
}

/* In a pipe: the attribute has its size as a field, and the ids follow. */
static int read_attr(struct sn_perf_file *file, const struct sn_perf_raw *record)
{
	struct sn_cursor cursor = sn_perf_cursor(record, 0), size = cursor;
	sn_cursor_skip(&size, 4);
	uint32_t bytes = sn_cursor_u32(&size);
	if (bytes < PERF_ATTR_SIZE_VER0 || bytes > record->length)
		return SN_ERR_FORMAT;
	struct sn_cursor attr = sn_cursor_slice(&cursor, bytes);
	return add_event(file, attr, cursor);
}

static int read_update(struct sn_perf_file *file, const struct sn_perf_raw *record)
{
	struct sn_cursor cursor = sn_perf_cursor(record, 0);
	uint64_t type = sn_cursor_u64(&cursor), id = sn_cursor_u64(&cursor);
	uint32_t event = sn_perf_file_event(file, id);
	if (type != UPDATE_NAME || cursor.failed || event == UINT32_MAX)
		return 0;
	file->events[event].name = copy_text(file, &cursor);
	return file->events[event].name ? 0 : SN_ERR_MEMORY;
}

/* ---- features ---- */

static int read_build_id(struct sn_perf_file *file, struct sn_cursor cursor, uint16_t misc)
{
	struct sn_perf_build_id id = {.length = sizeof(id.bytes)};
	sn_cursor_skip(&cursor, 4);
	struct sn_cursor bytes = sn_cursor_slice(&cursor, 20);
	uint8_t length = sn_cursor_u8(&cursor);
	sn_cursor_skip(&cursor, 3);
	if (cursor.failed || !sn_cursor_left(&cursor))
		return 0;
	memcpy(id.bytes, bytes.at, sizeof(id.bytes));
	if (misc & SN_PERF_MISC_BUILD_ID_SIZE && length <= sizeof(id.bytes))
		id.length = length;
	id.path = copy_text(file, &cursor);
	if (!id.path ||
	    sn_vec_push(&file->build_ids, &file->build_id_capacity, &file->build_id_count, id))
		return SN_ERR_MEMORY;
	return 0;
}

static int read_build_ids(struct sn_perf_file *file, struct sn_cursor *cursor)
{
	struct perf_event_header header;
	int result = 0;
	while (!result && sn_cursor_left(cursor) >= sizeof(header)) {
		memcpy(&header, cursor->at, sizeof(header));
		sn_cursor_skip(cursor, sizeof(header));
		if (header.size < sizeof(header))
			return 0;
		struct sn_cursor body = sn_cursor_slice(cursor, header.size - sizeof(header));
		if (body.failed)
			return 0;
		result = read_build_id(file, body, header.misc);
	}
	return result;
}

const struct sn_perf_build_id *sn_perf_file_build_id(const struct sn_perf_file *file,
						     const char *path)
{
	for (size_t i = 0; i < file->build_id_count; i++)
		if (!strcmp(file->build_ids[i].path, path))
			return file->build_ids + i;
	return NULL;
}

static int read_event_names(struct sn_perf_file *file, struct sn_cursor *cursor)
{
	uint32_t count = sn_cursor_u32(cursor), attr_bytes = sn_cursor_u32(cursor);
	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		sn_cursor_skip(cursor, attr_bytes);
		uint32_t ids = sn_cursor_u32(cursor);
		const char *name = read_string(file, cursor);
		uint32_t event = i < file->event_count ? i : UINT32_MAX;
		for (uint32_t k = 0; k < ids && !cursor->failed; k++) {
			uint32_t found = sn_perf_file_event(file, sn_cursor_u64(cursor));
			event = found == UINT32_MAX ? event : found;
		}
		if (name && *name && event != UINT32_MAX)
			file->events[event].name = name;
	}
	return 0;
}

static int read_command(struct sn_perf_file *file, struct sn_cursor *cursor)
{
	char *line = sn_arena_allocate(&file->texts, COMMAND_MAX);
	uint32_t count = sn_cursor_u32(cursor);
	size_t used = 0;
	if (!line)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count && !cursor->failed && used < COMMAND_MAX; i++) {
		const char *word = read_string(file, cursor);
		used += (size_t)snprintf(line + used, COMMAND_MAX - used, "%s%s", i ? " " : "",
					 word ? word : "");
	}
	file->command = line;
	return 0;
}

/* The clock of the records and the time of day, read at the same moment. */
static int read_clock(struct sn_perf_file *file, struct sn_cursor *cursor)
{
	uint32_t version = sn_cursor_u32(cursor);
	sn_cursor_skip(cursor, 4);
	uint64_t wall_ns = sn_cursor_u64(cursor), clock_ns = sn_cursor_u64(cursor);
	if (version == 1 && !cursor->failed && wall_ns >= clock_ns && wall_ns < 1ull << 62)
		file->epoch_ns = (int64_t)(wall_ns - clock_ns);
	return 0;
}

static int read_feature(struct sn_perf_file *file, unsigned feature, struct sn_cursor cursor)
{
	switch (feature) {
	case SN_PERF_FEATURE_TRACING_DATA:
		file->tracing = (struct sn_bytes){cursor.at, sn_cursor_left(&cursor)};
		return 0;
	case SN_PERF_FEATURE_BUILD_ID:
		return read_build_ids(file, &cursor);
	case SN_PERF_FEATURE_HOSTNAME:
		file->host = read_string(file, &cursor);
		return 0;
	case SN_PERF_FEATURE_OSRELEASE:
		file->release = read_string(file, &cursor);
		return 0;
	case SN_PERF_FEATURE_VERSION:
		file->version = read_string(file, &cursor);
		return 0;
	case SN_PERF_FEATURE_CPUDESC:
		file->processor = read_string(file, &cursor);
		return 0;
	case SN_PERF_FEATURE_CMDLINE:
		return read_command(file, &cursor);
	case SN_PERF_FEATURE_EVENT_DESC:
		return read_event_names(file, &cursor);
	case SN_PERF_FEATURE_CLOCK_DATA:
		return read_clock(file, &cursor);
	default:
		return 0;
	}
}

/* Behind the data are a position and a length for each feature whose bit is set in the header. A
 * file whose perf was killed has none. */
static int read_features(struct sn_perf_file *file, const unsigned char *bits,
			 struct sn_error *error)
{
	struct sn_cursor table = sn_cursor_at(file->bytes, file->data_end);
	for (unsigned feature = 0; feature < SN_PERF_FEATURE_COUNT; feature++) {
		if (!(bits[feature / 8] >> feature % 8 & 1))
			continue;
		uint64_t offset = sn_cursor_u64(&table), length = sn_cursor_u64(&table);
		if (table.failed)
			return 0;
		struct sn_cursor cursor = part(file, offset, length);
		if (cursor.failed)
			return damaged(file, "features", error);
		if (read_feature(file, feature, cursor))
			return sn_fail_memory(error);
	}
	return 0;
}

/* ---- the file and those beside it ---- */

static int map_bytes(const char *path, struct sn_bytes *mapped, struct sn_error *error)
{
	struct stat status = {.st_size = 0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0)
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	int reason = errno;
	if (fd >= 0)
		close(fd);
	*mapped = (struct sn_bytes){0};
	if (fd < 0 || (bytes == MAP_FAILED && status.st_size > 0))
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(reason));
	if (bytes != MAP_FAILED)
		*mapped = (struct sn_bytes){bytes, (size_t)status.st_size};
	return 0;
}

static int map_file(struct sn_perf_file *file, struct sn_error *error)
{
	int result = map_bytes(file->path, &file->bytes, error);
	return result ? result : file->bytes.size < 16 ? damaged(file, "header", error) : 0;
}

/* Maps the files data.0, data.1, ... beside this one, one for each thread of perf; they have
 * only records. */
static int map_parts(struct sn_perf_file *file, struct sn_error *error)
{
	char path[PATH_MAX];
	for (;;) {
		int length = snprintf(path, sizeof(path), "%s.%zu", file->path, file->part_count);
		if ((size_t)length >= sizeof(path) || access(path, F_OK))
			return 0;
		if (sn_vec_reserve(&file->parts, &file->part_capacity, file->part_count + 1) < 0)
			return sn_fail_memory(error);
		int result = map_bytes(path, file->parts + file->part_count, error);
		if (result)
			return result;
		file->part_count++;
	}
}

/* ---- the header ---- */

static int read_header(struct sn_perf_file *file, struct sn_error *error)
{
	struct sn_cursor cursor = sn_cursor_at(file->bytes, 8);
	uint64_t size = sn_cursor_u64(&cursor), file_bytes = file->bytes.size;
	file->is_pipe = size == SN_PERF_PIPE_HEADER;
	if (file->is_pipe) {
		file->data = SN_PERF_PIPE_HEADER;
		file->data_end = file_bytes;
		return 0;
	}
	uint64_t attr_bytes = sn_cursor_u64(&cursor), attrs = sn_cursor_u64(&cursor);
	uint64_t attrs_length = sn_cursor_u64(&cursor);
	uint64_t data = sn_cursor_u64(&cursor), data_length = sn_cursor_u64(&cursor);
	sn_cursor_skip(&cursor, 16); /* event types, which are no longer written */
	const unsigned char *features = cursor.at;
	sn_cursor_skip(&cursor, SN_PERF_FEATURE_COUNT / 8);
	if (cursor.failed || size < (uint64_t)(cursor.at - file->bytes.data) || data > file_bytes)
		return damaged(file, "header", error);
	file->data = data;
	/* perf writes the length when it ends; it is 0 if perf was killed */
	file->data_end =
	    data_length && data_length <= file_bytes - data ? data + data_length : file_bytes;
	file->is_short = data_length > file_bytes - data;
	file->data_length = data_length;
	int result = read_attrs(file, attrs, attrs_length, attr_bytes, error);
	if (!result &&
	    features[SN_PERF_FEATURE_DIR_FORMAT / 8] >> SN_PERF_FEATURE_DIR_FORMAT % 8 & 1)
		result = map_parts(file, error);
	return result ? result : read_features(file, features, error);
}

/* ---- records ---- */

/* Two kinds of record are followed by data that perf_event_header.size does not include. */
static int skip_trailing(const struct sn_perf_raw *record, size_t *trailing)
{
	uint32_t tracing = 0;
	uint64_t auxiliary = 0;
	*trailing = 0;
	if (record->header.type == SN_PERF_HEADER_TRACING_DATA && record->length >= 4) {
		memcpy(&tracing, record->bytes, 4);
		*trailing = ((size_t)tracing + 7) & ~7ull;
	} else if (record->header.type == SN_PERF_AUXTRACE && record->length >= 8) {
		memcpy(&auxiliary, record->bytes, 8);
		if (auxiliary > SIZE_MAX / 2)
			return SN_ERR_FORMAT;
		*trailing = auxiliary;
	}
	return 0;
}

struct stream {
	const struct sn_perf_file *file;
	int (*read)(void *context, const struct sn_perf_raw *record);
	void *context;
	struct sn_error *error;
	bool is_packed; /* leaves out compressed records */
	/* compressed records form a stream that may be divided anywhere */
	unsigned char *plain;
	size_t plain_count, plain_capacity;
	void *decompressor;
};

static int each_record(struct stream *stream, const unsigned char *bytes, size_t length,
		       size_t *used);

#ifdef SN_HAVE_ZSTD
#define PLAIN_STEP (256u << 10)

static int unpack(struct stream *stream, const unsigned char *bytes, size_t length)
{
	if (!stream->decompressor)
		stream->decompressor = ZSTD_createDStream();
	if (!stream->decompressor)
		return SN_ERR_MEMORY;
	ZSTD_inBuffer in = {bytes, length, 0};
	bool has_more = true;
	while (in.pos < in.size || has_more) {
		if (sn_vec_reserve(&stream->plain, &stream->plain_capacity,
				   stream->plain_count + PLAIN_STEP) < 0)
			return SN_ERR_MEMORY;
		ZSTD_outBuffer out = {stream->plain + stream->plain_count, PLAIN_STEP, 0};
		size_t at = in.pos;
		size_t got = ZSTD_decompressStream(stream->decompressor, &out, &in);
		if (ZSTD_isError(got))
			return SN_ERR_FORMAT;
		has_more = out.pos == out.size;
		if (!out.pos && in.pos == at)
			break;
		stream->plain_count += out.pos;
		size_t used;
		int result = each_record(stream, stream->plain, stream->plain_count, &used);
		if (result)
			return result;
		memmove(stream->plain, stream->plain + used, stream->plain_count - used);
		stream->plain_count -= used;
	}
	return 0;
}
#else
static int unpack(struct stream *stream, const unsigned char *bytes, size_t length)
{
	return sn_fail(stream->error, SN_ERR_UNSUPPORTED,
		       "cannot read '%s': it is compressed, and this build has no zstd",
		       stream->file->path);
}
#endif

static int read_compressed(struct stream *stream, const struct sn_perf_raw *record)
{
	const unsigned char *bytes = record->bytes;
	size_t length = record->length;
	if (record->header.type == SN_PERF_COMPRESSED2) { /* u64 length, then data and padding */
		uint64_t exact = 0;
		if (length < 8)
			return SN_ERR_FORMAT;
		memcpy(&exact, bytes, 8);
		bytes += 8;
		length = exact < length - 8 ? exact : length - 8;
	}
	return unpack(stream, bytes, length);
}

/* Passes all complete records at `bytes` on; *used is their size. */
static int each_record(struct stream *stream, const unsigned char *bytes, size_t length,
		       size_t *used)
{
	size_t at = 0, trailing;
	int result = 0;
	while (!result && length - at >= sizeof(struct perf_event_header)) {
		struct sn_perf_raw record;
		memcpy(&record.header, bytes + at, sizeof(record.header));
		if (record.header.size < sizeof(record.header))
			return SN_ERR_FORMAT;
		record.bytes = bytes + at + sizeof(record.header);
		record.length = record.header.size - sizeof(record.header);
		if (record.header.size > length - at)
			break;
		result = skip_trailing(&record, &trailing);
		if (result || trailing > length - at - record.header.size)
			break;
		/* perf writes no compressed records inside others */
		bool is_compressed =
		    bytes != stream->plain && (record.header.type == SN_PERF_COMPRESSED ||
					       record.header.type == SN_PERF_COMPRESSED2);
		if (!is_compressed)
			result = stream->read(stream->context, &record);
		else if (!stream->is_packed)
			result = read_compressed(stream, &record);
		at += record.header.size + trailing;
		if (bytes != stream->plain)
			sn_progress_add(record.header.size + trailing);
	}
	*used = at;
	return result;
}

/* Passes the records of one file on; its compressed records are one stream. */
static int each_part(struct stream *stream, const unsigned char *bytes, size_t length, bool *is_cut)
{
	size_t used;
	stream->plain_count = 0;
	int result = each_record(stream, bytes, length, &used);
	*is_cut |= used < length || stream->plain_count;
#ifdef SN_HAVE_ZSTD
	ZSTD_freeDStream(stream->decompressor);
	stream->decompressor = NULL;
#endif
	return result;
}

static int each(struct stream *stream, bool *is_cut)
{
	const struct sn_perf_file *file = stream->file;
	*stream->error->text = 0;
	*is_cut = file->is_short;
	int result =
	    each_part(stream, file->bytes.data + file->data, file->data_end - file->data, is_cut);
	for (size_t i = 0; i < file->part_count && !result; i++)
		result = each_part(stream, file->parts[i].data, file->parts[i].size, is_cut);
	free(stream->plain);
	if (result == SN_ERR_MEMORY)
		return sn_fail_memory(stream->error);
	return result && !*stream->error->text ? damaged(file, "records", stream->error) : result;
}

int sn_perf_file_each(const struct sn_perf_file *file, bool *is_cut,
		      int (*read)(void *context, const struct sn_perf_raw *record), void *context,
		      struct sn_error *error)
{
	return each(&(struct stream){file, read, context, error}, is_cut);
}

/* ---- opening ---- */

/* In a pipe, descriptions are records. */
static int read_about_record(void *context, const struct sn_perf_raw *record)
{
	struct sn_perf_file *file = context;
	struct sn_cursor cursor = sn_perf_cursor(record, 0);
	uint64_t feature;
	switch (record->header.type) {
	case SN_PERF_HEADER_ATTR:
		return read_attr(file, record);
	case SN_PERF_EVENT_UPDATE:
		return read_update(file, record);
	case SN_PERF_HEADER_BUILD_ID:
		return read_build_id(file, cursor, record->header.misc);
	case SN_PERF_HEADER_TRACING_DATA:
		if (record->length >= 4)
			file->tracing = (struct sn_bytes){record->bytes + record->length,
							  sn_cursor_u32(&cursor)};
		return 0;
	case SN_PERF_HEADER_FEATURE:
		feature = sn_cursor_u64(&cursor);
		return cursor.failed || feature >= SN_PERF_FEATURE_COUNT
			   ? 0
			   : read_feature(file, (unsigned)feature, cursor);
	default:
		return 0;
	}
}

/* The events for which perf writes no name: "cpu-clock", "cycles". */
static const char *usual_name(const struct perf_event_attr *attr)
{
	static const char *const hardware[] = {"cycles",
					       "instructions",
					       "cache-references",
					       "cache-misses",
					       "branches",
					       "branch-misses",
					       "bus-cycles",
					       "stalled-cycles-frontend",
					       "stalled-cycles-backend",
					       "ref-cycles"};
	static const char *const software[] = {
	    "cpu-clock",	"task-clock",	"page-faults",	"context-switches",
	    "cpu-migrations",	"minor-faults", "major-faults", "alignment-faults",
	    "emulation-faults", "dummy",	"bpf-output",	"cgroup-switches"};
	if (attr->type == PERF_TYPE_HARDWARE && attr->config < sizeof(hardware) / sizeof(*hardware))
		return hardware[attr->config];
	if (attr->type == PERF_TYPE_SOFTWARE && attr->config < sizeof(software) / sizeof(*software))
		return software[attr->config];
	return NULL;
}

static int name_events(struct sn_perf_file *file)
{
	for (size_t i = 0; i < file->event_count; i++) {
		struct sn_perf_event *event = file->events + i;
		if (!event->name)
			event->name = usual_name(&event->attr);
		if (!event->name)
			event->name =
			    sn_arena_print(&file->texts, "event-%u-%llx", event->attr.type,
					   (unsigned long long)event->attr.config);
		if (!event->name)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* Reads a pipe's descriptions, which are never compressed, so that texts may be pointed to. */
static int read_about(struct sn_perf_file *file, struct sn_error *error)
{
	bool is_cut;
	return file->is_pipe
		   ? each(&(struct stream){file, read_about_record, file, error, true}, &is_cut)
		   : 0;
}

int sn_perf_file_open(struct sn_perf_file *file, const char *path, struct sn_error *error)
{
	*file = (struct sn_perf_file){.path = path};
	int result = map_file(file, error);
	if (result)
		return result;
	if (!memcmp(file->bytes.data, MAGIC_SWAPPED, 8))
		return sn_fail(error, SN_ERR_UNSUPPORTED,
			       "cannot read '%s': recorded on a big-endian machine", path);
	result = read_header(file, error);
	if (!result)
		result = read_about(file, error);
	if (!result && !file->event_count)
		return damaged(file, "no events", error);
	if (!result && name_events(file))
		return sn_fail_memory(error);
	return result;
}

void sn_perf_file_close(struct sn_perf_file *file)
{
	free(file->events);
	free(file->build_ids);
	sn_table_release(&file->ids);
	sn_arena_release(&file->texts);
	for (size_t i = 0; i < file->part_count; i++)
		if (file->parts[i].data)
			munmap((void *)file->parts[i].data, file->parts[i].size);
	free(file->parts);
	if (file->bytes.data)
		munmap((void *)file->bytes.data, file->bytes.size);
	*file = (struct sn_perf_file){0};
}
