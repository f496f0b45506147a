/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64; see checksum.h. */
#include "checksum.h"

#include <string.h>

#define P1 0x9E3779B185EBCA87ull
#define P2 0xC2B2AE3D27D4EB4Full
#define P3 0x165667B19E3779F9ull
#define P4 0x85EBCA77C2B2AE63ull
#define P5 0x27D4EB2F165667C5ull

static uint64_t rotate_left(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

static uint64_t read64(const unsigned char *data)
{
	uint64_t value;
	memcpy(&value, data, sizeof(value));
	return value;
}

static uint64_t round_lane(uint64_t lane, uint64_t input)
{
	return rotate_left(lane + input * P2, 31) * P1;
}

static void consume_stripe(struct sn_checksum *state, const unsigned char *data)
{
	for (int lane = 0; lane < 4; lane++)
		state->lanes[lane] = round_lane(state->lanes[lane], read64(data + 8 * lane));
}

void sn_checksum_init(struct sn_checksum *state)
{
	*state = (struct sn_checksum){.lanes = {P1 + P2, P2, 0, 0 - P1}};
}

void sn_checksum_update(struct sn_checksum *state, const void *data, size_t length)
{
	const unsigned char *bytes = data;
	state->total += length;
	if (state->tail_bytes) {
		size_t missing = sizeof(state->tail) - state->tail_bytes;
		size_t taken = length < missing ? length : missing;
		memcpy(state->tail + state->tail_bytes, bytes, taken);
		state->tail_bytes += (uint32_t)taken;
		bytes += taken;
		length -= taken;
		if (state->tail_bytes < sizeof(state->tail))
			return;
		consume_stripe(state, state->tail);
		state->tail_bytes = 0;
	}
	for (; length >= 32; bytes += 32, length -= 32)
		consume_stripe(state, bytes);
	if (length)
		memcpy(state->tail, bytes, length);
	state->tail_bytes = (uint32_t)length;
}

static uint64_t merge_lanes(const struct sn_checksum *state)
{
	const uint64_t *lanes = state->lanes;
	uint64_t hash = rotate_left(lanes[0], 1) + rotate_left(lanes[1], 7) +
			rotate_left(lanes[2], 12) + rotate_left(lanes[3], 18);
	for (int lane = 0; lane < 4; lane++)
		hash = (hash ^ round_lane(0, lanes[lane])) * P1 + P4;
	return hash;
}

uint64_t sn_checksum_final(const struct sn_checksum *state)
{
	uint64_t hash = state->total >= 32 ? merge_lanes(state) : P5;
	hash += state->total;
	const unsigned char *data = state->tail;
	uint32_t left = state->tail_bytes;
	for (; left >= 8; data += 8, left -= 8)
		hash = rotate_left(hash ^ round_lane(0, read64(data)), 27) * P1 + P4;
	if (left >= 4) {
		uint32_t word;
		memcpy(&word, data, sizeof(word));
		hash = rotate_left(hash ^ word * P1, 23) * P2 + P3;
		data += 4;
		left -= 4;
	}
	for (; left; data++, left--)
		hash = rotate_left(hash ^ *data * P5, 11) * P1;
	hash = (hash ^ hash >> 33) * P2;
	hash = (hash ^ hash >> 29) * P3;
	return hash ^ hash >> 32;
}

uint64_t sn_checksum(const void *data, size_t length)
{
	struct sn_checksum state;
	sn_checksum_init(&state);
	sn_checksum_update(&state, data, length);
	return sn_checksum_final(&state);
}
