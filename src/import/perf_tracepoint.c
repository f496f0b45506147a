/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of tracepoints; see perf_tracepoint.h. The list is that of trace-cmd's trace.dat, version
 * 0.6, of which perf writes the part that describes events. */
#include "perf_tracepoint.h"

#include "base/vec.h"
#include "cursor.h"

#include <stdio.h>
#include <string.h>

void sn_perf_tracepoints_release(struct sn_perf_tracepoints *tracepoints)
{
	free(tracepoints->items);
}

/* "\tfield:unsigned int foo[4];\toffset:8;\tsize:4;\tsigned:0;" */
static bool read_field(const char *line, struct sn_perf_field *field)
{
	unsigned offset, bytes, is_signed = 0;
	const char *declaration = strstr(line, "field:");
	const char *end = declaration ? strchr(declaration, ';') : NULL;
	if (!end ||
	    sscanf(end, ";\toffset:%u;\tsize:%u;\tsigned:%u", &offset, &bytes, &is_signed) < 2)
		return false;
	declaration += 6;
	const char *bracket = memchr(declaration, '[', (size_t)(end - declaration));
	bool is_elsewhere = strstr(line, "__data_loc") || strstr(line, "__rel_loc");
	const char *name_end = bracket && !is_elsewhere ? bracket : end;
	const char *name = name_end;
	while (name > declaration && name[-1] != ' ' && name[-1] != '\t' && name[-1] != '*')
		name--;
	*field = (struct sn_perf_field){
	    .offset = offset,
	    .bytes = bytes,
	    .is_signed = is_signed,
	    .is_elsewhere = is_elsewhere,
	    .is_relative = strstr(line, "__rel_loc") != NULL,
	    .is_text = bracket && memmem(declaration, (size_t)(end - declaration), "char", 4),
	};
	snprintf(field->name, sizeof(field->name), "%.*s", (int)(name_end - name), name);
	return *field->name && strncmp(field->name, "common_", 7) != 0;
}

static void read_format(struct sn_perf_tracepoint *tracepoint, char *text)
{
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long id;
		if (!strncmp(line, "name: ", 6))
			snprintf(tracepoint->name, sizeof(tracepoint->name), "%s", line + 6);
		else if (sscanf(line, "ID: %llu", &id) == 1)
			tracepoint->id = id;
		else if (tracepoint->field_count < SN_PERF_FIELDS_MAX &&
			 read_field(line, tracepoint->fields + tracepoint->field_count))
			tracepoint->field_count++;
	}
}

static int add_format(struct sn_perf_tracepoints *tracepoints, const char *system,
		      struct sn_import_cursor *cursor)
{
	uint64_t length = sn_import_cursor_number(cursor, 8);
	const unsigned char *text = sn_import_cursor_take(cursor, length);
	if (!text)
		return 0;
	char *copy = strndup((const char *)text, length);
	if (!copy || sn_vec_reserve(&tracepoints->items, &tracepoints->capacity,
				    tracepoints->count + 1) < 0) {
		free(copy);
		return SN_ERR_MEMORY;
	}
	struct sn_perf_tracepoint *tracepoint = tracepoints->items + tracepoints->count++;
	*tracepoint = (struct sn_perf_tracepoint){0};
	snprintf(tracepoint->system, sizeof(tracepoint->system), "%s", system);
	read_format(tracepoint, copy);
	free(copy);
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
		if (tracepoints->items[i].id == id)
			return tracepoints->items + i;
	return NULL;
}

const struct sn_perf_field *sn_perf_field_find(const struct sn_perf_tracepoint *tracepoint,
					       const char *name)
{
	for (size_t i = 0; i < tracepoint->field_count; i++)
		if (!strcmp(tracepoint->fields[i].name, name))
			return tracepoint->fields + i;
	return NULL;
}

static uint64_t number_at(const unsigned char *bytes, uint32_t length)
{
	uint64_t value = 0;
	memcpy(&value, bytes, length);
	return value;
}

bool sn_perf_field_number(const struct sn_perf_field *field, struct sn_perf_bytes raw,
			  int64_t *number)
{
	bool is_number =
	    field->bytes == 1 || field->bytes == 2 || field->bytes == 4 || field->bytes == 8;
	if (!is_number || field->is_text || field->is_elsewhere || field->offset > raw.length ||
	    field->bytes > raw.length - field->offset)
		return false;
	uint64_t value = number_at(raw.bytes + field->offset, field->bytes);
	unsigned unused = 64 - 8 * field->bytes;
	*number = field->is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
	return true;
}

const char *sn_perf_field_text(const struct sn_perf_field *field, struct sn_perf_bytes raw,
			       size_t *length)
{
	uint32_t offset = field->offset, bytes = field->bytes;
	if (!field->is_text || offset > raw.length || bytes > raw.length - offset)
		return NULL;
	if (field->is_elsewhere) {
		if (bytes != 4)
			return NULL;
		uint32_t where = (uint32_t)number_at(raw.bytes + offset, 4);
		offset = (where & 0xffff) + (field->is_relative ? offset + 4 : 0);
		bytes = where >> 16;
	}
	if (offset > raw.length || bytes > raw.length - offset)
		return NULL;
	*length = strnlen((const char *)raw.bytes + offset, bytes);
	return (const char *)raw.bytes + offset;
}
