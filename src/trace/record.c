/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes records as bytes, with differences to the record before. */
#include "record.h"

/* The greatest size of a record without attributes, and of an attribute. */
#define RECORD_BYTES	(sizeof(uint16_t) + 5 * sizeof(uint64_t))
#define ATTRIBUTE_BYTES (sizeof(uint8_t) + 2 * sizeof(uint64_t))
/* Zero bytes at the end, so that reading checks the size only once a record and once
 * an attribute. */
#define PADDING		RECORD_BYTES

/*
 * A number is stored in as many bytes as it needs, lowest first; three bits in front of the record
 * give their number (7 means 8). Unlike continuation bits, that needs no branch in decoding. Eight
 * bytes are always written and read, of which only those count.
 */
static inline unsigned width_of(unsigned code)
{
	return code + (code == 7);
}

static inline unsigned char *put(unsigned char *to, uint64_t value, unsigned *head)
{
	unsigned highest_bit = 63 ^ (unsigned)__builtin_clzll(value | 1);
	unsigned bytes = highest_bit / 8 + (value != 0), code = bytes < 7 ? bytes : 7;
	memcpy(to, &value, sizeof(value));
	*head = *head << 3 | code;
	return to + width_of(code);
}

/* Maps small positive and negative differences to small numbers (zigzag encoding). */
static uint64_t fold(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unfold(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

static inline unsigned char *put_record(unsigned char *to, const struct sn_record *record,
					const struct sn_record *last)
{
	unsigned char *begin = to;
	unsigned head = 0;
	to = put(to + sizeof(uint16_t), record->start_ns - last->start_ns, &head);
	to = put(to, record->end_ns - record->start_ns, &head);
	to = put(to, fold((uint64_t)record->context - last->context), &head);
	to = put(to, fold(record->link - last->link), &head);
	to = put(to, record->attribute_count, &head);
	memcpy(begin, &(uint16_t){(uint16_t)head}, sizeof(uint16_t));
	return to;
}

/* First one byte for each attribute with the lengths of its numbers, then the numbers; so their
 * positions are known before any is decoded. */
static inline unsigned char *put_attributes(unsigned char *to,
					    const struct sn_attribute *attributes, unsigned count)
{
	unsigned char *heads = to;
	to += count;
	for (unsigned i = 0; i < count; i++) {
		unsigned head = 0;
		to = put(to, attributes[i].key, &head);
		to = put(to, attributes[i].value, &head);
		heads[i] = (unsigned char)head;
	}
	return to;
}

uint32_t sn_records_encode(const struct sn_record *records, size_t count,
			   const struct sn_attribute *attributes, struct sn_buffer *buffer)
{
	static const struct sn_record none;
	uint32_t attribute_count = 0;
	for (size_t i = 0; i < count; i++)
		attribute_count += records[i].attribute_count;
	size_t bound = count * RECORD_BYTES + attribute_count * ATTRIBUTE_BYTES + PADDING;
	unsigned char *room = sn_buffer_room(buffer, bound), *to = room;
	if (!room)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct sn_record *record = records + i;
		to = put_record(to, record, i ? record - 1 : &none);
		to = put_attributes(to, attributes + record->first_attribute,
				    record->attribute_count);
	}
	memset(to, 0, PADDING);
	buffer->count -= bound - (size_t)(to + PADDING - room);
	return attribute_count;
}

/* Reads the number whose length is at `place` in the head, counted from the last. */
static inline uint64_t get(const unsigned char **at, unsigned head, unsigned place)
{
	static const uint64_t masks[8] = {
	    0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, UINT64_MAX,
	};
	unsigned code = head >> 3 * place & 7;
	uint64_t value;
	memcpy(&value, *at, sizeof(value));
	*at += width_of(code);
	return value & masks[code];
}

/* Turns the record before into the next one. */
static inline const unsigned char *get_record(const unsigned char *at, struct sn_record *record)
{
	uint16_t head;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	record->start_ns += get(&at, head, 4);
	record->end_ns = record->start_ns + get(&at, head, 3);
	record->context += (uint32_t)unfold(get(&at, head, 2));
	record->link += unfold(get(&at, head, 1));
	record->attribute_count = (uint16_t)get(&at, head, 0);
	return at;
}

/* NULL if there are too few bytes. */
static inline const unsigned char *get_attributes(const unsigned char *at, const unsigned char *end,
						  struct sn_attribute *attributes, unsigned count)
{
	const unsigned char *heads = at;
	if ((size_t)(end - at) < count)
		return NULL;
	at += count;
	for (unsigned i = 0; i < count; i++) {
		if ((size_t)(end - at) < 2 * sizeof(uint64_t))
			return NULL;
		attributes[i].key = (uint32_t)get(&at, heads[i], 1);
		attributes[i].reserved = 0;
		attributes[i].value = get(&at, heads[i], 0);
	}
	return at;
}

bool sn_records_decode(struct sn_span bytes, struct sn_record *records, size_t count,
		       struct sn_attribute *attributes, size_t attribute_count)
{
	const unsigned char *at = bytes.bytes, *end = at + bytes.count;
	struct sn_record last = {0};
	size_t taken = 0;
	for (size_t i = 0; i < count; i++) {
		if ((size_t)(end - at) < RECORD_BYTES)
			return false;
		at = get_record(at, &last);
		unsigned own = last.attribute_count;
		if (own > attribute_count - taken ||
		    !(at = get_attributes(at, end, attributes + taken, own)))
			return false;
		last.first_attribute = taken;
		records[i] = last;
		taken += own;
	}
	return taken == attribute_count && (size_t)(end - at) == PADDING;
}
