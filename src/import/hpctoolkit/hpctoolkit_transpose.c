/* SPDX-License-Identifier: Apache-2.0 */
/* Compares profile.db and cct.db by sums of hashes of their values. */
#include "hpctoolkit_transpose.h"

enum { SECTION = 0x18 };

/* Where the values are in each of the files: a list of records (profiles, or contexts), each with
 * its values and an index of where those of each context or metric begin. */
struct layout {
	uint64_t record_bytes; /* least size */
	unsigned count_bytes;  /* size of the number of index entries */
	unsigned key_bytes;    /* of an entry's context or metric; 8 bytes follow */
	unsigned other_bytes;  /* of a value's metric or profile; 8 bytes follow */
	bool has_summaries;
};
static const struct layout profile_layout = {0x2c, 4, 4, 2, true};
static const struct layout context_layout = {0x20, 2, 2, 4, false};

struct digest {
	struct sn_bytes file;
	const struct layout *layout;
	uint64_t count, sum;
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

/* Adds the values of one index entry; -1 if the file cannot hold as many. */
static int add_values(struct digest *digest, uint64_t record, uint64_t key, uint64_t at,
		      uint64_t count)
{
	unsigned other_bytes = digest->layout->other_bytes;
	struct sn_cursor values = sn_cursor_at(digest->file, at);
	/* a file of this size cannot hold more values without counting some twice */
	if (count > digest->file.size / (other_bytes + 8) - digest->count)
		return -1;
	for (; count && !values.failed; count--) {
		uint64_t other = sn_cursor_uint(&values, other_bytes);
		uint64_t bits = sn_cursor_u64(&values);
		if (digest->layout->has_summaries)
			add(digest, record, key, other, bits);
		else
			add(digest, other, record, key, bits);
	}
	return values.failed ? -1 : 0;
}

static int add_record(struct digest *digest, uint64_t at, uint64_t number)
{
	const struct layout *layout = digest->layout;
	struct sn_cursor cursor = sn_cursor_at(digest->file, at);
	uint64_t count = sn_cursor_u64(&cursor), values = sn_cursor_u64(&cursor);
	uint64_t entries = sn_cursor_uint(&cursor, layout->count_bytes);
	sn_cursor_skip(&cursor, 8 - layout->count_bytes);
	struct sn_cursor index = sn_cursor_at(digest->file, sn_cursor_u64(&cursor));
	if (layout->has_summaries) {
		sn_cursor_skip(&cursor, 8);
		if (sn_cursor_u32(&cursor) & 1)
			entries = 0;
	}
	if (entries == 0)
		return cursor.failed ? -1 : 0;
	uint64_t key = sn_cursor_uint(&index, layout->key_bytes), first = sn_cursor_u64(&index);
	for (uint64_t i = 1; i <= entries; i++) {
		uint64_t next = i < entries ? sn_cursor_uint(&index, layout->key_bytes) : 0;
		uint64_t end = i < entries ? sn_cursor_u64(&index) : count;
		if (cursor.failed || index.failed || first > end || end > count ||
		    add_values(digest, number, key, values + (layout->other_bytes + 8) * first,
			       end - first) < 0)
			return -1;
		key = next;
		first = end;
	}
	return 0;
}

/* Adds all records of the first section. */
static int add_all(struct digest *digest)
{
	struct sn_cursor cursor = sn_cursor_at(digest->file, SECTION);
	struct sn_cursor section = sn_cursor_at(digest->file, sn_cursor_u64(&cursor));
	uint64_t at = sn_cursor_u64(&section), count = sn_cursor_u32(&section);
	uint64_t size = sn_cursor_u8(&section), length = digest->file.size;
	if (cursor.failed || section.failed || (count && size < digest->layout->record_bytes) ||
	    at > length || (count && count > (length - at) / size))
		return -1;
	for (uint64_t i = 0; i < count; i++)
		if (add_record(digest, at + i * size, i) < 0)
			return -1;
	return 0;
}

int sn_hpct_transpose_check(struct sn_bytes by_profile, struct sn_bytes by_context,
			    const char *path, struct sn_error *error)
{
	struct digest profiles = {by_profile, &profile_layout, 0, 0};
	struct digest contexts = {by_context, &context_layout, 0, 0};
	if (add_all(&contexts) < 0)
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': damaged values", path);
	if (add_all(&profiles) < 0 || profiles.count != contexts.count ||
	    profiles.sum != contexts.sum)
		return sn_fail(error, SN_ERR_FORMAT,
			       "cannot read '%s': its values are not those of profile.db", path);
	return 0;
}
