/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a trace file: opened as a measurement that is nothing else, merged, and all
 * its events read. Every number of an event must lie in its table. The header's checksum is made
 * right first, and chunks are small, so that short inputs hold several. See fuzz.sh.
 */
#include "aggregate/unify/merge.h"
#include "format/checksum.h"
#include "format/measurement/measurement_trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_file(const char *path, const uint8_t *data, size_t size)
{
	struct sn_trace_file_header header;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (size >= sizeof(header) && size % 8 != 7) {
		memcpy(&header, data, sizeof(header));
		header.checksum =
		    sn_checksum(&header, offsetof(struct sn_trace_file_header, checksum));
		if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header))
			abort();
	}
	close(fd);
}

static void check_event(const struct sn_trace_directory *all, const struct sn_trace_event *event)
{
	bool is_right = event->stream < all->stream_count && event->end_ns >= event->start_ns &&
			event->kind >= SN_TRACE_SAMPLE && event->kind <= SN_TRACE_SYSTEM &&
			event->attribute_count <= SN_TRACE_ATTRIBUTES_MAX;
	if (event->kind == SN_TRACE_COUNTER)
		is_right &= event->counter < all->counter_count;
	if (event->owner == SN_ID_NONE)
		is_right &= event->context < all->name_count;
	for (uint32_t i = 0; is_right && i < event->attribute_count; i++)
		is_right = event->attributes[i].key < all->key_count;
	if (!is_right)
		abort();
}

static void read_events(struct sn_measurement *measurement)
{
	struct sn_trace_event event;
	struct sn_error error;
	const struct sn_trace_directory *all = sn_trace_reader_directory(measurement->trace);
	while (sn_trace_reader_next(measurement->trace, &event, &error) > 0)
		check_event(all, &event);
}

static void merge(const struct sn_measurement *measurement)
{
	struct sn_db_builder *builder = sn_db_builder_new();
	struct sn_merge merge;
	if (builder && !sn_merge_init(&merge, builder)) {
		sn_merge_add(&merge, measurement);
		sn_merge_release(&merge);
	}
	sn_db_builder_free(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct sn_measurement *measurement;
	struct sn_error error = {""};
	snprintf(path, sizeof(path), "/tmp/fuzz-%d" SN_TRACE_FILE_SUFFIX, (int)getpid());
	write_file(path, data, size);
	if (!sn_measurement_open(path, &measurement, &error)) {
		merge(measurement);
		read_events(measurement);
		sn_measurement_free(measurement);
	} else if (!*error.text) {
		abort();
	}
	unlink(path);
	return 0;
}
