/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of planes; see database_blocks.h. */
#include "database_blocks.h"

#include "format/checksum.h"
#include "database_plane.h"

#include <string.h>

size_t sn_planes_entry_bytes(unsigned scopes)
{
	return scopes == 1 ? sizeof(struct sn_database_plane) : sizeof(struct sn_database_summary);
}

struct sn_database_summary sn_planes_entry(const struct sn_planes *planes, uint64_t number)
{
	/* a plane's entry is the beginning of a summary's */
	size_t bytes = sn_planes_entry_bytes(planes->scopes);
	struct sn_database_summary entry = {0};
	memcpy(&entry, planes->entries + number * bytes, bytes);
	return entry;
}

enum { CHECKSUM_WORDS = sizeof(uint64_t) / 4 };

bool sn_block_is_large(uint64_t words)
{
	return words >= SN_DATABASE_LARGE_BLOCK / 4;
}

bool sn_block_is_sound(const struct sn_planes *planes, uint64_t first, uint64_t words)
{
	uint64_t length = planes->data_bytes / 4, checksum;
	if (first > length || words + CHECKSUM_WORDS > length - first)
		return false;
	memcpy(&checksum, planes->data + 4 * (first + words), sizeof(checksum));
	return checksum == sn_checksum(planes->data + 4 * first, 4 * words);
}

/* Words of all columns; UINT64_MAX where their forms are none. */
static uint64_t column_words(const struct sn_planes *planes,
			     const struct sn_database_summary *entry)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < planes->scopes; i++) {
		uint64_t more = sn_plane_bytes(entry->forms[i], entry->count);
		if (more == UINT64_MAX)
			return more;
		bytes += more;
	}
	return (bytes + 3) / 4;
}

static uint64_t block_words(uint64_t words)
{
	return words + (sn_block_is_large(words) ? CHECKSUM_WORDS : 0);
}

const char *sn_planes_place(const struct sn_planes *planes, const struct sn_database_summary *entry,
			    uint64_t begin, struct sn_plane_place *place)
{
	uint64_t length = planes->data_bytes / 4;
	*place = (struct sn_plane_place){.ids = entry->ids,
					 .ids_words = entry->count,
					 .values = entry->values,
					 .value_words = column_words(planes, entry),
					 .has_ids = entry->values != begin};
	uint64_t ids_end = place->ids + block_words(place->ids_words);
	if (!entry->count || place->value_words == UINT64_MAX)
		return "count or forms";
	if (place->has_ids && (place->ids != begin || place->values != ids_end))
		return "a gap";
	if (place->values > length || ids_end > place->values ||
	    block_words(place->value_words) > length - place->values)
		return "outside its section";
	place->end = place->values + block_words(place->value_words);
	return NULL;
}

/* Bytes that are summed up in runs, between large blocks. */
struct sum {
	struct sn_checksum state;
	void (*expect)(const unsigned char *bytes, uint64_t length);
	const unsigned char *data;
	uint64_t from; /* word */
};

/* All up to the word `first`, and not the words up to `next`. */
static void sum_up_to(struct sum *sum, uint64_t first, uint64_t next)
{
	const unsigned char *bytes = sum->data + 4 * sum->from;
	uint64_t length = 4 * (first - sum->from);
	if (length && sum->expect)
		sum->expect(bytes, length);
	if (length)
		sn_checksum_update(&sum->state, bytes, length);
	sum->from = next;
}

const char *sn_planes_checksum(const struct sn_planes *planes,
			       void (*expect)(const unsigned char *bytes, uint64_t length),
			       uint64_t *checksum)
{
	struct sum sum = {.expect = expect, .data = planes->data};
	struct sn_plane_place place = {0};
	*checksum = 0;
	if (!planes->entry_count)
		return planes->data_bytes ? "length" : NULL;
	sn_checksum_init(&sum.state);
	sn_checksum_update(&sum.state, planes->entries,
			   planes->entry_count * sn_planes_entry_bytes(planes->scopes));
	for (size_t i = 0; i < planes->entry_count; i++) {
		struct sn_database_summary entry = sn_planes_entry(planes, i);
		const char *wrong = sn_planes_place(planes, &entry, place.end, &place);
		if (wrong)
			return wrong;
		if (place.has_ids && sn_block_is_large(place.ids_words))
			sum_up_to(&sum, place.ids, place.values);
		if (sn_block_is_large(place.value_words))
			sum_up_to(&sum, place.values, place.end);
	}
	if (place.end != planes->data_bytes / 4)
		return "length";
	sum_up_to(&sum, place.end, place.end);
	*checksum = sn_checksum_final(&sum.state);
	return NULL;
}
