/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the next special character of JSON and reads digits, in as many bytes at a time as the
 * processor compares at once. No branch depends on the length of a text until it exceeds those.
 * SSE2 is part of x86-64; strings and numbers of events are too short to gain from wider registers.
 *
 * A text must be followed by SN_JSON_SLACK zeroes, as up to so many bytes behind it are read.
 */
#pragma once

#include <stdbool.h>
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

/* The first quote or backslash at or after `at`; not before `end` if there is none. */
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

/* The characters among sixteen bytes, a bit for each byte, the first the lowest. */
struct sn_json_bits {
	unsigned quotes, opening, closing;
	unsigned odd; /* backslashes and NULs, which make quotes and the text's end doubtful */
};

static inline struct sn_json_bits sn_json_bits(const char *at)
{
	__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
	/* brackets are braces without this bit, and nothing else is */
	__m128i braces = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
	return (struct sn_json_bits){
	    (unsigned)_mm_movemask_epi8(sn_json_equal(bytes, '"')),
	    (unsigned)_mm_movemask_epi8(sn_json_equal(braces, '{')),
	    (unsigned)_mm_movemask_epi8(sn_json_equal(braces, '}')),
	    (unsigned)_mm_movemask_epi8(
		_mm_or_si128(sn_json_equal(bytes, '\\'), sn_json_equal(bytes, 0))),
	};
}

/* Whether the bytes at `at` are those of `text`, which has zeroes up to the next multiple of 16. */
static inline bool sn_json_starts_with(const char *at, const char *text, unsigned length)
{
	for (unsigned i = 0;; i += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
		__m128i wanted = _mm_loadu_si128((const __m128i *)(const void *)(text + i));
		unsigned same = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted));
		if (length - i <= 16)
			return !(~same & ((1u << (length - i)) - 1));
		if (same != 0xffff)
			return false;
	}
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

struct sn_json_bits {
	unsigned quotes, opening, closing, odd;
};

static inline struct sn_json_bits sn_json_bits(const char *at)
{
	struct sn_json_bits bits = {0, 0, 0, 0};
	for (unsigned i = 0; i < 16; i++) {
		bits.quotes |= (unsigned)(at[i] == '"') << i;
		bits.opening |= (unsigned)(at[i] == '[' || at[i] == '{') << i;
		bits.closing |= (unsigned)(at[i] == ']' || at[i] == '}') << i;
		bits.odd |= (unsigned)(at[i] == '\\' || !at[i]) << i;
	}
	return bits;
}

static inline bool sn_json_starts_with(const char *at, const char *text, unsigned length)
{
	return !strncmp(at, text, length);
}

#endif

/* Which of sixteen bytes an odd number of quotes has come before, or is: those within strings. */
static inline unsigned sn_json_inside(unsigned quotes)
{
	quotes ^= quotes << 1;
	quotes ^= quotes << 2;
	quotes ^= quotes << 4;
	quotes ^= quotes << 8;
	return quotes & 0xffff;
}

/*
 * The value of up to eight decimal digits, and their number. Digits are moved to the upper end of a
 * word, below them zeroes, so that their number changes nothing; then neighbours are added up, as
 * pairs, fours and eight.
 */
static inline uint64_t sn_json_digits_8(const char *at, unsigned *count)
{
	const uint64_t pairs = 0x000000ff000000ffu;
	uint64_t word;
	memcpy(&word, at, sizeof(word));
	word ^= 0x3030303030303030u; /* digits become their values, all else more than 9 */
	uint64_t others = (word | (word + 0x7676767676767676u)) & 0x8080808080808080u;
	*count = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
	if (!*count)
		return 0;
	word <<= 64 - 8 * *count;
	word = 10 * word + (word >> 8);
	return ((word & pairs) * (100 + (1000000ull << 32)) +
		(word >> 16 & pairs) * (1 + (10000ull << 32))) >>
	       32;
}

/* Reads all decimal digits at *at; the value is exact for at most 19. */
static inline uint64_t sn_json_digits(const char **at, unsigned *count)
{
	static const uint32_t powers[] = {1,	  10,	   100,	     1000,     10000,
					  100000, 1000000, 10000000, 100000000};
	uint64_t value = 0;
	unsigned taken;
	*count = 0;
	do {
		uint64_t part = sn_json_digits_8(*at, &taken);
		value = powers[taken] * value + part;
		*at += taken;
		*count += taken;
	} while (taken == 8);
	return value;
}
