/* SPDX-License-Identifier: Apache-2.0 */
/* Records as bytes; see record.h. */
#include "record.h"

#define NUMBERS		5
#define RECORD_BYTES	(sizeof(uint16_t) + NUMBERS * sizeof(uint64_t))
#define ATTRIBUTE_BYTES (sizeof(uint8_t) + 2 * sizeof(uint64_t))

/*
 * A number has as many bytes as it needs, the lowest first, and three bits before the record say
 * how many: no branch depends on them, which is what bytes that say "and one more" cost. Eight
 * bytes are written and read at once, so the last number is followed by as many.
 */
static const uint8_t widths[8] = {0, 1, 2, 3, 4, 5, 6, 8};
static const uint64_t masks[8] = {
    0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, UINT64_MAX,
};

static unsigned char *put(unsigned char *to, uint64_t value, unsigned *head)
{
	unsigned bytes = value ? (71 - (unsigned)__builtin_clzll(value)) / 8 : 0;
	unsigned code = bytes < 7 ? bytes : 7;
	memcpy(to, &value, sizeof(value));
	*head = *head << 3 | code;
	return to + widths[code];
}

/* Small differences of either sign are small numbers. */
static uint64_t fold(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unfold(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

static unsigned char *put_attribute(unsigned char *to, const struct sn_attribute *attribute)
{
	unsigned head = 0;
	unsigned char *end = put(to + 1, attribute->key, &head);
	end = put(end, attribute->value, &head);
	*to = (unsigned char)head;
	return end;
}

uint32_t sn_records_encode(const struct sn_record *records, size_t count,
			   const struct sn_attribute *attributes, struct sn_buffer *buffer)
{
	struct sn_record last = {0};
	uint32_t attribute_count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct sn_record *record = records + i;
		size_t bound = RECORD_BYTES + record->attribute_count * ATTRIBUTE_BYTES;
		unsigned char *room = sn_buffer_room(buffer, bound), *to = room;
		unsigned head = 0;
		if (!room)
			return 0;
		to = put(to + sizeof(uint16_t), record->start_ns - last.start_ns, &head);
		to = put(to, record->end_ns - record->start_ns, &head);
		to = put(to, fold((uint64_t)record->context - last.context), &head);
		to = put(to, fold(record->link - last.link), &head);
		to = put(to, record->attribute_count, &head);
		memcpy(room, &(uint16_t){(uint16_t)head}, sizeof(uint16_t));
		for (unsigned k = 0; k < record->attribute_count; k++)
			to = put_attribute(to, attributes + record->first_attribute + k);
		buffer->count -= bound - (size_t)(to - room);
		attribute_count += record->attribute_count;
		last = *record;
	}
	sn_buffer_put(buffer, &(uint64_t){0}, sizeof(uint64_t));
	return attribute_count;
}

/* The number that the head says at `place`, counted from the last. */
static bool get(struct sn_span *span, unsigned head, unsigned place, uint64_t *value)
{
	unsigned code = head >> 3 * place & 7;
	if (span->count < sizeof(*value))
		return false;
	memcpy(value, span->bytes, sizeof(*value));
	*value &= masks[code];
	span->bytes += widths[code];
	span->count -= widths[code];
	return true;
}

static bool get_attribute(struct sn_span *span, struct sn_attribute *attribute)
{
	uint8_t head;
	uint64_t key, value;
	if (!sn_span_get(span, &head, sizeof(head)) || !get(span, head, 1, &key) ||
	    !get(span, head, 0, &value))
		return false;
	*attribute = (struct sn_attribute){(uint32_t)key, 0, value};
	return true;
}

bool sn_records_decode(struct sn_span bytes, struct sn_record *records, size_t count,
		       struct sn_attribute *attributes, size_t attribute_count)
{
	struct sn_record last = {0};
	uint64_t start, length, context, link, own, taken = 0;
	for (size_t i = 0; i < count; i++) {
		uint16_t head;
		if (!sn_span_get(&bytes, &head, sizeof(head)) || !get(&bytes, head, 4, &start) ||
		    !get(&bytes, head, 3, &length) || !get(&bytes, head, 2, &context) ||
		    !get(&bytes, head, 1, &link) || !get(&bytes, head, 0, &own) ||
		    own > attribute_count - taken || own > UINT16_MAX)
			return false;
		last.start_ns += start;
		last.end_ns = last.start_ns + length;
		last.context += (uint32_t)unfold(context);
		last.link += unfold(link);
		last.first_attribute = taken;
		last.attribute_count = (uint16_t)own;
		records[i] = last;
		for (; own; own--, taken++)
			if (!get_attribute(&bytes, attributes + taken))
				return false;
	}
	return taken == attribute_count && bytes.count == sizeof(uint64_t);
}
