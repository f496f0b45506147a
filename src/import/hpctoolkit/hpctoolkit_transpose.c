/* SPDX-License-Identifier: Apache-2.0 */
/* See hpctoolkit_transpose.h. */
#include "hpctoolkit_transpose.h"

#include "import/core/cursor.h"

enum { SECTION = 0x18, PROFILE_VALUE_BYTES = 10, CONTEXT_VALUE_BYTES = 12 };

struct digest {
	const unsigned char *bytes;
	size_t length;
	uint64_t count, sum;
	uint64_t most; /* values that the file has room for: more are the same ones again */
};

/* The finalizer of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
 * OOPSLA 2014). */
static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

static void add(struct digest *digest, uint64_t profile, uint64_t context, uint64_t metric,
		uint64_t bits)
{
	uint64_t hash = mix(profile << 32 | context);
	hash = mix(hash + metric + 1);
	digest->sum += mix(hash + bits);
	digest->count++;
}

static struct sn_import_cursor cursor_at(const struct digest *digest, uint64_t at)
{
	struct sn_import_cursor cursor = {digest->bytes, digest->length, 0, false, false};
	sn_import_cursor_seek(&cursor, at);
	return cursor;
}

/* Looks whether values first .. end - 1 of a list of `count` can be; -1 where not. */
static int check_run(const struct digest *digest, uint64_t first, uint64_t end, uint64_t count)
{
	return first <= end && end <= count && end - first <= digest->most - digest->count ? 0 : -1;
}

/* A profile: its values, and from which of them on they are of which context. */
static int add_profile(struct digest *digest, uint64_t at, uint64_t number)
{
	struct sn_import_cursor cursor = cursor_at(digest, at);
	uint64_t count = sn_import_cursor_number(&cursor, 8),
		 values = sn_import_cursor_number(&cursor, 8);
	uint64_t contexts = sn_import_cursor_number(&cursor, 4);
	sn_import_cursor_number(&cursor, 4);
	struct sn_import_cursor index = cursor_at(digest, sn_import_cursor_number(&cursor, 8));
	sn_import_cursor_number(&cursor, 8);
	if ((sn_import_cursor_number(&cursor, 4) & 1) || contexts == 0)
		return cursor.failed ? -1 : 0; /* a summary */
	uint64_t context = sn_import_cursor_number(&index, 4),
		 first = sn_import_cursor_number(&index, 8);
	for (uint64_t i = 0; i < contexts; i++) {
		bool is_last = i + 1 == contexts;
		uint64_t next = is_last ? 0 : sn_import_cursor_number(&index, 4);
		uint64_t end = is_last ? count : sn_import_cursor_number(&index, 8);
		if (cursor.failed || index.failed || check_run(digest, first, end, count) < 0)
			return -1;
		struct sn_import_cursor run =
		    cursor_at(digest, values + PROFILE_VALUE_BYTES * first);
		for (; first < end; first++) {
			uint64_t metric = sn_import_cursor_number(&run, 2);
			add(digest, number, context, metric, sn_import_cursor_number(&run, 8));
		}
		if (run.failed)
			return -1;
		context = next;
	}
	return 0;
}

/* A context: its values, and from which of them on they are of which metric. */
static int add_context(struct digest *digest, uint64_t at, uint64_t number)
{
	struct sn_import_cursor cursor = cursor_at(digest, at);
	uint64_t count = sn_import_cursor_number(&cursor, 8),
		 values = sn_import_cursor_number(&cursor, 8);
	unsigned metrics = (unsigned)sn_import_cursor_number(&cursor, 2);
	sn_import_cursor_seek(&cursor, at + 0x18);
	struct sn_import_cursor index = cursor_at(digest, sn_import_cursor_number(&cursor, 8));
	if (metrics == 0)
		return cursor.failed ? -1 : 0;
	uint64_t metric = sn_import_cursor_number(&index, 2),
		 first = sn_import_cursor_number(&index, 8);
	for (unsigned i = 0; i < metrics; i++) {
		bool is_last = i + 1 == metrics;
		uint64_t next = is_last ? 0 : sn_import_cursor_number(&index, 2);
		uint64_t end = is_last ? count : sn_import_cursor_number(&index, 8);
		if (cursor.failed || index.failed || check_run(digest, first, end, count) < 0)
			return -1;
		struct sn_import_cursor run =
		    cursor_at(digest, values + CONTEXT_VALUE_BYTES * first);
		for (; first < end; first++) {
			uint64_t profile = sn_import_cursor_number(&run, 4);
			add(digest, profile, number, metric, sn_import_cursor_number(&run, 8));
		}
		if (run.failed)
			return -1;
		metric = next;
	}
	return 0;
}

/* All records of the list in the file's first section; each is at least `least` bytes long. */
static int add_all(struct digest *digest, uint64_t value_bytes, uint64_t least,
		   int (*add_one)(struct digest *, uint64_t, uint64_t))
{
	struct sn_import_cursor cursor = cursor_at(digest, SECTION);
	struct sn_import_cursor section = cursor_at(digest, sn_import_cursor_number(&cursor, 8));
	uint64_t at = sn_import_cursor_number(&section, 8),
		 count = sn_import_cursor_number(&section, 4);
	uint64_t size = sn_import_cursor_number(&section, 1);
	digest->most = digest->length / value_bytes;
	if (cursor.failed || section.failed || (count && size < least) || at > digest->length ||
	    (count && count > (digest->length - at) / size))
		return -1;
	for (uint64_t i = 0; i < count; i++)
		if (add_one(digest, at + i * size, i) < 0)
			return -1;
	return 0;
}

int sn_hpct_transpose_check(const unsigned char *by_profile, size_t by_profile_bytes,
			    const unsigned char *by_context, size_t by_context_bytes,
			    const char *path, struct sn_error *error)
{
	struct digest profiles = {by_profile, by_profile_bytes, 0, 0, 0};
	struct digest contexts = {by_context, by_context_bytes, 0, 0, 0};
	if (add_all(&contexts, CONTEXT_VALUE_BYTES, 0x20, add_context) < 0)
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': damaged values", path);
	if (add_all(&profiles, PROFILE_VALUE_BYTES, 0x2c, add_profile) < 0 ||
	    profiles.count != contexts.count || profiles.sum != contexts.sum)
		return sn_fail(error, SN_ERR_FORMAT,
			       "cannot read '%s': its values are not those of profile.db", path);
	return 0;
}
