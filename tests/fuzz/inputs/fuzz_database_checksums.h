/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes all checksums of a database right again after its bytes have changed, those in the indexes
 * of values first (database.h), as far as everything lies within the bytes.
 */
#ifndef SN_TESTS_FUZZ_DATABASE_CHECKSUMS_H
#define SN_TESTS_FUZZ_DATABASE_CHECKSUMS_H

#include "format/database/database_blocks.h"
#include "fuzz_checksums.h"

#include <string.h>

struct fuzz_section {
	uint8_t *bytes;
	uint64_t length;
};

/* The first section of that type; empty where there is none. */
static inline struct fuzz_section fuzz_find_section(uint8_t *bytes, size_t size, unsigned type)
{
	const struct sn_container_header *header = (const void *)bytes;
	struct fuzz_section none = {bytes, 0};
	uint64_t table_bytes = header->section_count * (uint64_t)sizeof(struct sn_section_entry);
	if (header->table_offset % SN_SECTION_ALIGN || header->table_offset > size ||
	    table_bytes > size - header->table_offset)
		return none;
	const struct sn_section_entry *table = (const void *)(bytes + header->table_offset);
	for (uint32_t i = 0; i < header->section_count; i++)
		if (table[i].type == type && table[i].offset % SN_SECTION_ALIGN == 0 &&
		    table[i].offset <= size && table[i].length <= size - table[i].offset)
			return (struct fuzz_section){bytes + table[i].offset, table[i].length};
	return none;
}

/* The checksum behind a block. */
static inline void fuzz_patch_block(uint8_t *data, uint64_t first, uint64_t words)
{
	uint64_t checksum = sn_checksum(data + 4 * first, 4 * words);
	if (sn_block_is_large(words))
		memcpy(data + 4 * (first + words), &checksum, sizeof(checksum));
}

/* Those of the large blocks of one profile, context or metric, and then that of all of it. */
static inline uint64_t fuzz_patch_planes(const struct sn_planes *planes, uint8_t *data)
{
	struct sn_plane_place place = {0};
	uint64_t checksum;
	for (uint64_t i = 0; i < planes->entry_count; i++) {
		struct sn_database_summary entry = sn_planes_entry(planes, i);
		if (sn_planes_place(planes, &entry, place.end, &place))
			break;
		if (place.has_ids)
			fuzz_patch_block(data, place.ids, place.ids_words);
		fuzz_patch_block(data, place.values, place.value_words);
	}
	sn_planes_checksum(planes, NULL, &checksum);
	return checksum;
}

static inline void fuzz_patch_index(uint8_t *bytes, size_t size, unsigned type, size_t entry_bytes)
{
	struct fuzz_section at = fuzz_find_section(bytes, size, type);
	struct fuzz_section entries = fuzz_find_section(bytes, size, type + 1);
	struct fuzz_section data = fuzz_find_section(bytes, size, type + 2);
	struct sn_database_index *index = (void *)at.bytes;
	for (uint64_t i = 0; i + 1 < at.length / sizeof(*index); i++) {
		uint64_t first = index[i].first, end = index[i + 1].first;
		if (first > end || end > entries.length / entry_bytes || index[i].data % 4 ||
		    index[i].data > index[i + 1].data || index[i + 1].data > data.length)
			return;
		struct sn_planes planes = {
		    .entries = entries.bytes + first * entry_bytes,
		    .data = data.bytes + index[i].data,
		    .entry_count = end - first,
		    .data_bytes = index[i + 1].data - index[i].data,
		    .scopes = entry_bytes == sizeof(struct sn_database_plane) ? 1 : 3};
		index[i].checksum = fuzz_patch_planes(&planes, data.bytes + index[i].data);
	}
}

static inline void fuzz_patch_database(uint8_t *bytes, size_t size)
{
	if (size < sizeof(struct sn_container_header))
		return;
	fuzz_patch_index(bytes, size, SN_DATABASE_PLANE_INDEX, sizeof(struct sn_database_plane));
	fuzz_patch_index(bytes, size, SN_DATABASE_ROW_INDEX, sizeof(struct sn_database_plane));
	fuzz_patch_index(bytes, size, SN_DATABASE_SUMMARY_INDEX,
			 sizeof(struct sn_database_summary));
	fuzz_patch_container(bytes, size);
}

#endif
