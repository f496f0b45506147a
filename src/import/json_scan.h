/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the next character of JSON that matters is: looked for in as many bytes at a time as the
 * processor compares at once. No branch depends on how long a text is until it exceeds those.
 *
 * A text must be followed by SN_JSON_SLACK zeroes, as up to so many bytes behind it are read.
 */
#ifndef SN_IMPORT_JSON_SCAN_H
#define SN_IMPORT_JSON_SCAN_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SN_JSON_SLACK 16u

#ifdef __SSE2__

static inline __m128i sn_json_equal(__m128i bytes, char character)
{
	return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(character));
}

/* The first quote or backslash at or after `at`; not before `end` where there is none. */
static inline const char *sn_json_special(const char *at, const char *end)
{
	for (; at < end; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		__m128i special =
		    _mm_or_si128(sn_json_equal(bytes, '"'), sn_json_equal(bytes, '\\'));
		unsigned found = (unsigned)_mm_movemask_epi8(special);
		if (found)
			return at + __builtin_ctz(found);
	}
	return at;
}

#else

/* Bytes of the word that are `byte` have their highest bit set in the result; so may bytes above
 * the lowest such one. */
static inline uint64_t sn_json_equal(uint64_t word, unsigned char byte)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t differences = word ^ (ones * byte);
	return (differences - ones) & ~differences & (ones << 7);
}

static inline const char *sn_json_special(const char *at, const char *end)
{
	for (; at < end; at += 8) {
		uint64_t word;
		memcpy(&word, at, sizeof(word));
		uint64_t found = sn_json_equal(word, '"') | sn_json_equal(word, '\\');
		if (found)
			return at + __builtin_ctzll(found) / 8;
	}
	return at;
}

#endif

#endif
