/* SPDX-License-Identifier: Apache-2.0 */
/* Reads formats of tracepoints: a list as in trace-cmd's trace.dat, version 0.6, of which perf
 * writes the part that describes events. */
#include "perf_tracepoint.h"

#include "base/vec.h"

#include <stdio.h>
#include <string.h>

void sn_perf_tracepoints_release(struct sn_perf_tracepoints *tracepoints)
{
	free(tracepoints->items);
}

/* Adds a format. One that cannot be read is left out; its samples then have no fields. */
static int add_format(struct sn_perf_tracepoints *tracepoints, const char *system,
		      struct sn_cursor *cursor)
{
	struct sn_cursor text = sn_cursor_slice(cursor, sn_cursor_u64(cursor));
	struct sn_error unused;
	if (text.failed)
		return 0;
	if (sn_vec_reserve(&tracepoints->items, &tracepoints->capacity, tracepoints->count + 1) < 0)
		return SN_ERR_MEMORY;
	struct sn_perf_tracepoint *tracepoint = tracepoints->items + tracepoints->count;
	if (!sn_tracepoint_parse((const char *)text.at, sn_cursor_left(&text), &tracepoint->format,
				 &unused))
		tracepoints->count++;
	snprintf(tracepoint->system, sizeof(tracepoint->system), "%s", system);
	return 0;
}

/* u32 count, formats. */
static int add_formats(struct sn_perf_tracepoints *tracepoints, const char *system,
		       struct sn_cursor *cursor)
{
	uint32_t count = sn_cursor_u32(cursor);
	int result = 0;
	for (uint32_t i = 0; i < count && !cursor->failed && !result; i++)
		result = add_format(tracepoints, system, cursor);
	return result;
}

int sn_perf_tracepoints_read(struct sn_perf_tracepoints *tracepoints,
			     const struct sn_perf_file *file)
{
	static const unsigned char magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	const uint8_t *begin = file->tracing.data;
	*tracepoints = (struct sn_perf_tracepoints){0};
	if (!begin || begin < file->bytes.data ||
	    file->tracing.size > file->bytes.size - (size_t)(begin - file->bytes.data))
		return 0;
	struct sn_cursor cursor = sn_cursor_at(file->tracing, 0);
	sn_cursor_skip(&cursor, sizeof(magic));
	if (cursor.failed || memcmp(begin, magic, sizeof(magic)) != 0)
		return 0;
	sn_cursor_string(&cursor); /* version */
	if (sn_cursor_u8(&cursor)) /* big-endian */
		return 0;
	sn_cursor_skip(&cursor, 1 + 4); /* sizes of a long and of a page */
	for (int i = 0; i < 2; i++) {	/* header_page, header_event */
		sn_cursor_string(&cursor);
		sn_cursor_skip(&cursor, sn_cursor_u64(&cursor));
	}
	int result = add_formats(tracepoints, "ftrace", &cursor);
	uint32_t systems = sn_cursor_u32(&cursor);
	for (uint32_t i = 0; i < systems && !cursor.failed && !result; i++) {
		const char *system = sn_cursor_string(&cursor);
		result = add_formats(tracepoints, system ? system : "", &cursor);
	}
	return result;
}

const struct sn_perf_tracepoint *
sn_perf_tracepoint_find(const struct sn_perf_tracepoints *tracepoints, uint64_t id)
{
	for (size_t i = 0; i < tracepoints->count; i++)
		if (tracepoints->items[i].format.id == id)
			return tracepoints->items + i;
	return NULL;
}
