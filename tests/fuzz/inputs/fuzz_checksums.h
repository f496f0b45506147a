/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the checksums of a container right after a fuzzer has changed it, so that what lies behind
 * them is reached. Of every second input (by its length) they are left as they are.
 */
#ifndef SN_TESTS_FUZZ_CHECKSUMS_H
#define SN_TESTS_FUZZ_CHECKSUMS_H

#include "format/checksum.h"
#include "format/container.h"

#include <stdbool.h>
#include <stddef.h>

static inline bool fuzz_should_patch(size_t size)
{
	return size % 8 != 7;
}

/* Patches as far as the container lies within the bytes. */
static inline void fuzz_patch_container(uint8_t *bytes, size_t size)
{
	struct sn_container_header *header = (void *)bytes;
	if (size < sizeof(*header))
		return;
	if (header->length > size)
		header->length = size;
	uint64_t table_bytes = header->section_count * (uint64_t)sizeof(struct sn_section_entry);
	if (header->table_offset % SN_SECTION_ALIGN == 0 && header->table_offset <= size &&
	    table_bytes <= size - header->table_offset) {
		struct sn_section_entry *table = (void *)(bytes + header->table_offset);
		for (uint32_t i = 0; i < header->section_count; i++)
			if (table[i].offset <= size && table[i].length <= size - table[i].offset)
				table[i].checksum =
				    sn_checksum(bytes + table[i].offset, table[i].length);
		header->table_checksum = sn_checksum(table, table_bytes);
	}
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
}

#endif
