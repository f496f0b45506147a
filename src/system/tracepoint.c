/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the formats of tracepoints as tracefs shows them. */
#include "tracepoint.h"

#include <stdlib.h>
#include <string.h>

/* A line of the text, or a part of a line between semicolons. */
struct part {
	const char *begin, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct part trim(struct part part)
{
	while (part.begin < part.end && is_blank(*part.begin))
		part.begin++;
	while (part.begin < part.end && is_blank(part.end[-1]))
		part.end--;
	return part;
}

/* Takes the next part, up to `stop`, from `rest`. False at the end. */
static bool next_part(struct part *rest, char stop, struct part *part)
{
	if (rest->begin >= rest->end)
		return false;
	const char *found = memchr(rest->begin, stop, (size_t)(rest->end - rest->begin));
	*part = (struct part){rest->begin, found ? found : rest->end};
	rest->begin = found ? found + 1 : rest->end;
	return true;
}

/* The rest of a part that begins with "KEY:". */
static bool after_key(struct part part, const char *key, struct part *value)
{
	size_t length = strlen(key);
	part = trim(part);
	if ((size_t)(part.end - part.begin) < length || memcmp(part.begin, key, length))
		return false;
	*value = trim((struct part){part.begin + length, part.end});
	return true;
}

static bool to_number(struct part part, uint64_t most, uint64_t *number)
{
	if (part.begin == part.end)
		return false;
	for (*number = 0; part.begin < part.end; part.begin++) {
		if (*part.begin < '0' || *part.begin > '9' || *number > most)
			return false;
		*number = *number * 10 + (uint64_t)(*part.begin - '0');
	}
	return *number <= most;
}

static bool to_name(struct part part, char name[SN_TRACEPOINT_NAME])
{
	size_t length = (size_t)(part.end - part.begin);
	if (!length || length >= SN_TRACEPOINT_NAME)
		return false;
	memcpy(name, part.begin, length);
	name[length] = 0;
	return true;
}

/* The name in a declaration: "unsigned long args[6]" is "args", "__data_loc char[]
 * name" is "name". */
static bool read_declaration(struct part part, struct sn_tracepoint_field *field)
{
	struct part type;
	static const char here[] = "__data_loc", relative[] = "__rel_loc";
	field->is_relative = after_key(part, relative, &type);
	field->is_elsewhere = field->is_relative || after_key(part, here, &type);
	bool is_array = part.end > part.begin && part.end[-1] == ']';
	if (is_array)
		while (part.end > part.begin && part.end[-1] != '[')
			part.end--;
	if (part.end > part.begin && part.end[-1] == '[')
		part.end--;
	part = trim(part);
	const char *name = part.end;
	while (name > part.begin && !is_blank(name[-1]) && name[-1] != '*')
		name--;
	field->is_text = (is_array || field->is_elsewhere) &&
			 memmem(part.begin, (size_t)(name - part.begin), "char", 4);
	return to_name((struct part){name, part.end}, field->name);
}

/* field:TYPE NAME;	offset:N;	size:N;	signed:N; */
static bool read_field(struct part line, struct sn_tracepoint_field *field)
{
	struct part part, value;
	uint64_t number;
	unsigned have = 0;
	while (next_part(&line, ';', &part)) {
		if (after_key(part, "field:", &value) && read_declaration(value, field)) {
			have |= 1;
		} else if (after_key(part, "offset:", &value) &&
			   to_number(value, UINT16_MAX, &number)) {
			field->offset = (uint32_t)number;
			have |= 2;
		} else if (after_key(part, "size:", &value) &&
			   to_number(value, UINT16_MAX, &number)) {
			field->bytes = (uint32_t)number;
			have |= 4;
		} else if (after_key(part, "signed:", &value) && to_number(value, 1, &number)) {
			field->is_signed = number;
		}
	}
	return have == 7;
}

int sn_tracepoint_parse(const char *text, size_t length, struct sn_tracepoint *tracepoint,
			struct sn_error *error)
{
	struct part rest = {text, text + length}, line, value;
	bool has_name = false, has_id = false;
	*tracepoint = (struct sn_tracepoint){0};
	while (next_part(&rest, '\n', &line)) {
		if (after_key(line, "name:", &value)) {
			has_name = to_name(value, tracepoint->name);
		} else if (after_key(line, "ID:", &value)) {
			has_id = to_number(value, INT32_MAX, &tracepoint->id);
		} else if (after_key(line, "print fmt:", &value)) {
			break; /* the rest is C code for printing */
		} else if (after_key(line, "field:", &value) &&
			   tracepoint->field_count < SN_TRACEPOINT_FIELDS) {
			struct sn_tracepoint_field field = {0};
			if (!read_field(line, &field))
				return sn_fail(error, SN_ERR_FORMAT,
					       "format of a tracepoint: not a field: '%.*s'",
					       (int)(line.end - line.begin), line.begin);
			tracepoint->fields[tracepoint->field_count++] = field;
		}
	}
	if (!has_name || !has_id)
		return sn_fail(error, SN_ERR_FORMAT, "format of a tracepoint: no %s",
			       has_name ? "number" : "name");
	return 0;
}

const struct sn_tracepoint_field *sn_tracepoint_field(const struct sn_tracepoint *tracepoint,
						      const char *name)
{
	for (uint32_t i = 0; i < tracepoint->field_count; i++)
		if (!strcmp(tracepoint->fields[i].name, name))
			return tracepoint->fields + i;
	return NULL;
}

bool sn_tracepoint_holds(const struct sn_tracepoint_field *field, size_t length)
{
	return field->bytes && (size_t)field->offset + field->bytes <= length;
}

int64_t sn_tracepoint_number(const struct sn_tracepoint_field *field, const unsigned char *record,
			     size_t length)
{
	uint32_t bytes = field->bytes < 8 ? field->bytes : 8;
	uint64_t value = 0;
	if ((size_t)field->offset + bytes > length || !bytes)
		return 0;
	/* little-endian, as all supported processors are; for common sizes compilers
	 * make this a load */
	if (bytes == 8)
		memcpy(&value, record + field->offset, 8);
	else if (bytes == 4)
		memcpy(&value, record + field->offset, 4);
	else
		memcpy(&value, record + field->offset, bytes);
	if (field->is_signed && bytes < 8 && value >> (bytes * 8 - 1))
		value |= UINT64_MAX << (bytes * 8);
	return (int64_t)value;
}

const char *sn_tracepoint_text(const struct sn_tracepoint_field *field, const unsigned char *record,
			       size_t length, size_t *text_length)
{
	size_t offset = field->offset, bytes = field->bytes;
	*text_length = 0;
	if (field->is_elsewhere) {
		uint64_t place = (uint64_t)sn_tracepoint_number(field, record, length);
		offset = place & 0xffff;
		offset += field->is_relative ? field->offset + field->bytes : 0;
		bytes = place >> 16 & 0xffff;
	}
	if (offset > length || bytes > length - offset)
		return "";
	*text_length = strnlen((const char *)record + offset, bytes);
	return (const char *)record + offset;
}
