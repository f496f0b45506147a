/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The positions of the blocks of planes, and what each checksum covers (database.h), for writers
 * and readers. A reader's data may be damaged in any way.
 */
#pragma once

#include "database.h"

#include <stdbool.h>
#include <stddef.h>

/* The planes of one profile, context or metric. */
struct sn_planes {
	const unsigned char *entries, *data; /* data: aligned to 4 bytes */
	size_t entry_count;
	uint64_t data_bytes; /* a multiple of 4 */
	unsigned scopes;
};

/* Where the blocks of a plane lie: words from the data. */
struct sn_plane_place {
	uint64_t ids, ids_words, values, value_words;
	bool has_ids; /* its own ones; otherwise they are an earlier plane's */
	uint64_t end; /* of the plane, with the checksums of large blocks */
};

/* Bytes of an entry: of a plane of values (one scope) or a summary. */
size_t sn_planes_entry_bytes(unsigned scopes);
/* An entry; a plane of values has one scope, and 0 as the forms of others. */
struct sn_database_summary sn_planes_entry(const struct sn_planes *planes, uint64_t number);
/* Whether a block is followed by a checksum of its own, and whether that is right. */
bool sn_block_is_large(uint64_t words);
bool sn_block_is_sound(const struct sn_planes *planes, uint64_t first, uint64_t words);
/* Finds the blocks of a plane that begins at the word `begin`; NULL, or what is wrong with it. */
const char *sn_planes_place(const struct sn_planes *planes, const struct sn_database_summary *entry,
			    uint64_t begin, struct sn_plane_place *place);
/* The checksum for the index: NULL, or the text of an error in the places. Reads no large block.
 * `expect`, if not NULL, is called before bytes are read. */
const char *sn_planes_checksum(const struct sn_planes *planes,
			       void (*expect)(const unsigned char *bytes, uint64_t length),
			       uint64_t *checksum);
