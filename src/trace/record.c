/* SPDX-License-Identifier: Apache-2.0 */
/* Records as bytes; see record.h. */
#include "record.h"

#define NUMBER_BYTES	10 /* of a 64-bit number, seven bits a byte */
#define RECORD_BYTES	(5 * NUMBER_BYTES)
#define ATTRIBUTE_BYTES (2 * NUMBER_BYTES)

static unsigned char *put(unsigned char *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	*to++ = (unsigned char)value;
	return to;
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

void sn_records_encode(const struct sn_record *records, size_t count,
		       const struct sn_attribute *attributes, struct sn_buffer *buffer)
{
	struct sn_record last = {0};
	for (size_t i = 0; i < count; i++) {
		const struct sn_record *record = records + i;
		size_t bound = RECORD_BYTES + record->attribute_count * ATTRIBUTE_BYTES;
		unsigned char *room = sn_buffer_room(buffer, bound), *to = room;
		if (!room)
			return;
		to = put(to, record->start_ns - last.start_ns);
		to = put(to, record->end_ns - record->start_ns);
		to = put(to, fold((uint64_t)record->context - last.context));
		to = put(to, fold(record->link - last.link));
		to = put(to, record->attribute_count);
		for (unsigned k = 0; k < record->attribute_count; k++) {
			to = put(to, attributes[record->first_attribute + k].key);
			to = put(to, attributes[record->first_attribute + k].value);
		}
		buffer->count -= bound - (size_t)(to - room);
		last = *record;
	}
}

static bool get(struct sn_span *span, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && span->count; shift += 7) {
		unsigned char byte = *span->bytes++;
		span->count--;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

bool sn_records_decode(struct sn_span bytes, struct sn_record *records, size_t count,
		       struct sn_attribute *attributes, size_t attribute_count)
{
	struct sn_record last = {0};
	uint64_t start, length, context, link, own, key, value, taken = 0;
	for (size_t i = 0; i < count; i++) {
		if (!get(&bytes, &start) || !get(&bytes, &length) || !get(&bytes, &context) ||
		    !get(&bytes, &link) || !get(&bytes, &own) || own > attribute_count - taken ||
		    own > UINT16_MAX)
			return false;
		last.start_ns += start;
		last.end_ns = last.start_ns + length;
		last.context += (uint32_t)unfold(context);
		last.link += unfold(link);
		last.first_attribute = taken;
		last.attribute_count = (uint16_t)own;
		records[i] = last;
		for (; own; own--, taken++) {
			if (!get(&bytes, &key) || !get(&bytes, &value))
				return false;
			attributes[taken] = (struct sn_attribute){(uint32_t)key, 0, value};
		}
	}
	return taken == attribute_count && !bytes.count;
}
