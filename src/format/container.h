/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container both of Sonde's file formats share: a table of typed, checksummed sections.
 *
 * Little endian, fixed width, every offset relative to the container's first byte and a multiple
 * of 8. Readers skip sections of a type they do not know and reject a known section whose version
 * is newer than theirs. See docs/format/container.md.
 *
 * This header is included by libsonde.so and therefore depends on libc alone.
 */
#pragma once

#include <stdint.h>

#define SN_SECTION_ALIGN 8u

/* Written at the start of a container. */
struct sn_container_header {
	uint8_t magic[8];	 /* names the format; see measurement.h and database.h */
	uint16_t version_major;	 /* readers reject another major version */
	uint16_t version_minor;	 /* readers accept any minor version */
	uint32_t section_count;	 /* entries in the section table */
	uint64_t table_offset;	 /* of the section table, bytes */
	uint64_t length;	 /* of the whole container, bytes */
	uint64_t table_checksum; /* XXH64, seed 0, of the section table */
	uint64_t checksum;	 /* XXH64, seed 0, of the preceding bytes of this header */
};
_Static_assert(sizeof(struct sn_container_header) == 48, "container header is on disk");

enum sn_section_flags {
	/* Written by several at once and read in parts: its checksum is 0, and those of its parts
	 * lie in another section, as the format's page says. */
	SN_SECTION_INDEXED = 1,
};

/* One entry of the section table. */
struct sn_section_entry {
	uint32_t type;	   /* enum of the format */
	uint16_t version;  /* of the section's layout, from 1 */
	uint16_t flags;	   /* enum sn_section_flags */
	uint32_t index;	   /* which one of several of this type, e.g. the thread; else 0 */
	uint32_t reserved; /* 0 */
	uint64_t offset;   /* bytes from the container's first byte */
	uint64_t length;   /* bytes, without padding */
	uint64_t checksum; /* XXH64, seed 0, of the section's bytes */
};
_Static_assert(sizeof(struct sn_section_entry) == 40, "section entry is on disk");
