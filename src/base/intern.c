/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing over one buffer of bytes; see intern.h. */
#include "intern.h"

#include "vec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* wyhash's way (Wang Yi, github.com/wangyi-fudan/wyhash): the halves of a product of 128 bits, in
 * which every bit of both factors has a part. */
static uint64_t mix(uint64_t left, uint64_t right)
{
	unsigned __int128 product = (unsigned __int128)left * right;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t read_64(const unsigned char *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

static inline uint64_t read_32(const unsigned char *bytes)
{
	uint32_t word;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

#define KEY_1 0xA0761D6478BD642Full
#define KEY_2 0xE7037ED1A0B428DBull

/* Sixteen bytes at a time, and what is left as two words that may overlap. */
static inline uint64_t hash_bytes(const unsigned char *bytes, size_t length)
{
	length -= length && !bytes[length - 1];
	uint64_t hash = KEY_2 ^ length, first = 0, last = 0;
	for (; length > 16; bytes += 16, length -= 16)
		hash = mix(read_64(bytes) ^ KEY_1, read_64(bytes + 8) ^ hash);
	if (length >= 8) {
		first = read_64(bytes);
		last = read_64(bytes + length - 8);
	} else if (length >= 4) {
		first = read_32(bytes);
		last = read_32(bytes + length - 4);
	} else if (length) {
		first =
		    (uint64_t)bytes[0] << 16 | (uint64_t)bytes[length / 2] << 8 | bytes[length - 1];
	}
	return mix(KEY_1, mix(first ^ KEY_1, last ^ hash));
}

uint64_t sn_intern_hash(const void *bytes, size_t length)
{
	return hash_bytes(bytes, length);
}

static uint64_t start_of(const struct sn_intern *intern, uint32_t number)
{
	return number ? intern->ends[number - 1] : 0;
}

void sn_intern_release(struct sn_intern *intern)
{
	free(intern->bytes);
	free(intern->ends);
	free(intern->slots);
	*intern = (struct sn_intern){0};
}

/* Keys are short: they are compared as they are hashed. */
static inline bool are_equal(const unsigned char *a, const unsigned char *b, size_t length)
{
	if (length > 16 || length < 4)
		return !length || !memcmp(a, b, length); /* of nothing there may be no address */
	if (length >= 8)
		return !((read_64(a) ^ read_64(b)) |
			 (read_64(a + length - 8) ^ read_64(b + length - 8)));
	return !((read_32(a) ^ read_32(b)) | (read_32(a + length - 4) ^ read_32(b + length - 4)));
}

/* The slot that holds these bytes and `nuls` zeroes behind them, or the free one where they belong.
 */
static inline struct sn_intern_slot *probe(const struct sn_intern *intern, uint32_t hash,
					   const void *bytes, size_t length, size_t nuls)
{
	uint32_t mask = intern->slot_count - 1, place = hash & mask;
	for (;; place = (place + 1) & mask) {
		struct sn_intern_slot *slot = intern->slots + place;
		if (!slot->number)
			return slot;
		size_t known;
		if (slot->hash != hash)
			continue;
		const void *other = sn_intern_at(intern, slot->number - 1, &known);
		if (known == length + nuls && are_equal(other, bytes, length))
			return slot;
	}
}

uint32_t sn_intern_find(const struct sn_intern *intern, const void *bytes, size_t length)
{
	if (!intern->slot_count)
		return SN_INTERN_NONE;
	uint32_t hash = (uint32_t)hash_bytes(bytes, length);
	return probe(intern, hash, bytes, length, 0)->number - 1; /* 0 - 1 is SN_INTERN_NONE */
}

static int grow_slots(struct sn_intern *intern)
{
	struct sn_intern_slot *old = intern->slots;
	uint32_t old_count = intern->slot_count, slot_count = old_count ? 2 * old_count : 64;
	struct sn_intern_slot *slots = slot_count ? calloc(slot_count, sizeof(*slots)) : NULL;
	if (!slots)
		return -1;
	for (uint32_t i = 0; i < old_count; i++) {
		uint32_t place = old[i].hash & (slot_count - 1);
		if (!old[i].number)
			continue;
		while (slots[place].number)
			place = (place + 1) & (slot_count - 1);
		slots[place] = old[i];
	}
	intern->slots = slots;
	intern->slot_count = slot_count;
	free(old);
	return 0;
}

static inline uint32_t add(struct sn_intern *intern, const void *bytes, size_t length, size_t nuls)
{
	/* at most half full */
	if (intern->count >= intern->slot_count / 2 && grow_slots(intern) < 0)
		return SN_INTERN_NONE;
	uint32_t hash = (uint32_t)hash_bytes(bytes, length);
	struct sn_intern_slot *slot = probe(intern, hash, bytes, length, nuls);
	if (slot->number)
		return slot->number - 1;
	uint64_t start = start_of(intern, intern->count), end = start + length + nuls;
	size_t ends_capacity = intern->capacity;
	if (sn_vec_reserve(&intern->ends, &ends_capacity, intern->count + 1ull) < 0 ||
	    sn_vec_reserve(&intern->bytes, &intern->bytes_capacity, end) < 0)
		return SN_INTERN_NONE;
	intern->capacity = (uint32_t)ends_capacity;
	if (length)
		memcpy(intern->bytes + start, bytes, length);
	memset(intern->bytes + start + length, 0, nuls);
	intern->ends[intern->count] = end;
	*slot = (struct sn_intern_slot){hash, ++intern->count};
	return intern->count - 1;
}

uint32_t sn_intern_add(struct sn_intern *intern, const void *bytes, size_t length)
{
	return add(intern, bytes, length, 0);
}

uint32_t sn_intern_add_text(struct sn_intern *intern, const char *text, size_t length)
{
	return add(intern, text, length, 1);
}
