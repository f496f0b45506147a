/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of tracepoints; see perf_tracepoint.h. The list is that of trace-cmd's trace.dat, version
 * 0.6, of which perf writes the part that describes events. */
#include "perf_tracepoint.h"

#include "base/vec.h"
#include "import/core/cursor.h"

#include <stdio.h>
#include <string.h>

void sn_perf_tracepoints_release(struct sn_perf_tracepoints *tracepoints)
{
	free(tracepoints->items);
}

/* One whose text cannot be read is left out: its samples have no fields then. */
static int add_format(struct sn_perf_tracepoints *tracepoints, const char *system,
		      struct sn_import_cursor *cursor)
{
	uint64_t length = sn_import_cursor_number(cursor, 8);
	const unsigned char *text = sn_import_cursor_take(cursor, length);
	struct sn_error unused;
	if (!text)
		return 0;
	if (sn_vec_reserve(&tracepoints->items, &tracepoints->capacity, tracepoints->count + 1) < 0)
		return SN_ERR_MEMORY;
	struct sn_perf_tracepoint *tracepoint = tracepoints->items + tracepoints->count;
	if (!sn_tracepoint_parse((const char *)text, length, &tracepoint->format, &unused))
		tracepoints->count++;
	snprintf(tracepoint->system, sizeof(tracepoint->system), "%s", system);
	return 0;
}

static const char *take_name(struct sn_import_cursor *cursor)
{
	const unsigned char *begin = cursor->bytes + cursor->at;
	const unsigned char *end =
	    cursor->failed ? NULL : memchr(begin, 0, cursor->length - cursor->at);
	if (!end)
		cursor->failed = true;
	else
		cursor->at += (size_t)(end - begin) + 1;
	return end ? (const char *)begin : "";
}

int sn_perf_tracepoints_read(struct sn_perf_tracepoints *tracepoints,
			     const struct sn_perf_file *file)
{
	static const unsigned char magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	*tracepoints = (struct sn_perf_tracepoints){0};
	struct sn_import_cursor cursor = {.bytes = file->tracing.bytes,
					  .length = file->tracing.length};
	if (!cursor.bytes || cursor.bytes < file->bytes ||
	    cursor.length > file->length - (size_t)(cursor.bytes - file->bytes))
		return 0;
	const unsigned char *begin = sn_import_cursor_take(&cursor, sizeof(magic));
	if (!begin || memcmp(begin, magic, sizeof(magic)) != 0)
		return 0;
	take_name(&cursor);			 /* version */
	if (sn_import_cursor_number(&cursor, 1)) /* big-endian */
		return 0;
	sn_import_cursor_number(&cursor, 1); /* of a long */
	sn_import_cursor_number(&cursor, 4); /* of a page */
	for (int i = 0; i < 2; i++) {	     /* header_page, header_event */
		take_name(&cursor);
		sn_import_cursor_take(&cursor, sn_import_cursor_number(&cursor, 8));
	}
	uint32_t count = (uint32_t)sn_import_cursor_number(&cursor, 4);
	int result = 0;
	for (uint32_t i = 0; i < count && !cursor.failed && !result; i++)
		result = add_format(tracepoints, "ftrace", &cursor);
	uint32_t systems = (uint32_t)sn_import_cursor_number(&cursor, 4);
	for (uint32_t i = 0; i < systems && !cursor.failed && !result; i++) {
		const char *system = take_name(&cursor);
		count = (uint32_t)sn_import_cursor_number(&cursor, 4);
		for (uint32_t k = 0; k < count && !cursor.failed && !result; k++)
			result = add_format(tracepoints, system, &cursor);
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
