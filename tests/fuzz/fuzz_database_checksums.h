/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes all checksums of a database right again after its bytes have changed, those in the indexes
 * of values first (database.h), as far as everything lies within the bytes.
 */
#ifndef SN_TESTS_FUZZ_DATABASE_CHECKSUMS_H
#define SN_TESTS_FUZZ_DATABASE_CHECKSUMS_H

#include "format/database.h"
#include "fuzz_checksums.h"

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

static inline void fuzz_patch_index(uint8_t *bytes, size_t size, unsigned type, size_t entry_bytes)
{
	struct fuzz_section at = fuzz_find_section(bytes, size, type);
	struct fuzz_section entries = fuzz_find_section(bytes, size, type + 1);
	struct fuzz_section data = fuzz_find_section(bytes, size, type + 2);
	struct sn_database_index *index = (void *)at.bytes;
	for (uint64_t i = 0; i + 1 < at.length / sizeof(*index); i++) {
		struct sn_checksum state;
		uint64_t first = index[i].first, end = index[i + 1].first;
		if (first > end || end > entries.length / entry_bytes ||
		    index[i].data > index[i + 1].data || index[i + 1].data > data.length)
			return;
		sn_checksum_init(&state);
		sn_checksum_update(&state, entries.bytes + first * entry_bytes,
				   (end - first) * entry_bytes);
		sn_checksum_update(&state, data.bytes + index[i].data,
				   index[i + 1].data - index[i].data);
		index[i].checksum = first < end ? sn_checksum_final(&state) : 0;
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
