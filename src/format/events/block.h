/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block: up to 4,096 consecutive events of a track as compressed columns.
 *
 * Two frames, each compressed by itself, so that drawing reads only the first: the times and
 * contexts; and whatever else events carry, which costs nothing where it is absent. The layout of
 * both is in docs/format/database.md.
 */
#pragma once

#include "base/error.h"
#include "column.h"

#define SN_BLOCK_EVENTS SN_COLUMN_MAX

/* Where a block is and what it spans: its entry in the directory of all blocks. */
struct sn_block_entry {
	uint64_t offset;     /* in the section of event data */
	uint64_t start_ns;   /* of the first event */
	uint64_t end_ns;     /* the last end of any */
	uint32_t count;	     /* events, 1 to SN_BLOCK_EVENTS */
	uint32_t core_bytes; /* of the first frame, */
	uint32_t rest_bytes; /* and of the second, which follows; 0: there is none */
	uint32_t checksum;   /* the lower half of XXH64 of both */
};
_Static_assert(sizeof(struct sn_block_entry) == 40, "block entry is on disk");

/* An attribute of the event at a place in a block. */
struct sn_block_attribute {
	uint32_t key, place;
	uint64_t value;
};

/* A block in memory. */
struct sn_block {
	size_t count;
	uint64_t starts_ns[SN_BLOCK_EVENTS];
	uint64_t ends_ns[SN_BLOCK_EVENTS];
	uint64_t links[SN_BLOCK_EVENTS];
	uint32_t contexts[SN_BLOCK_EVENTS];
};

/* What encoding and decoding need besides; all zeroes is ready for use. */
struct sn_block_codec {
	struct sn_buffer plain; /* a frame before compression; after decoding the second one */
	void *compressor, *decompressor;
	struct sn_block_attribute *ordered;
	uint32_t *begins; /* of each key in `ordered` */
	size_t ordered_capacity, begin_capacity;
};
void sn_block_codec_release(struct sn_block_codec *codec);

/*
 * Appends a block to `out` and fills in its entry, with the offset in `out`. `attributes` are by
 * place; keys should be small numbers. `has_ends`: the events are intervals. 0 or SN_ERR_MEMORY.
 */
int sn_block_encode(struct sn_block_codec *codec, const struct sn_block *block, bool has_ends,
		    const struct sn_block_attribute *attributes, size_t attribute_count,
		    struct sn_buffer *out, struct sn_block_entry *entry);

/* Decodes times and contexts of a block whose two frames are at `bytes`. 0, SN_ERR_MEMORY,
 * SN_ERR_FORMAT where it is damaged, SN_ERR_UNSUPPORTED without the decompressor. */
int sn_block_decode(struct sn_block_codec *codec, const struct sn_block_entry *entry,
		    const unsigned char *bytes, struct sn_block *block);

/* What the second frame holds, after sn_block_decode_rest. */
struct sn_block_rest {
	bool has_links;
	struct sn_span columns; /* of attributes */
	uint32_t column_count;
};

/* Decodes the second frame, with links into the block; it stays in the codec. As above. */
int sn_block_decode_rest(struct sn_block_codec *codec, const struct sn_block_entry *entry,
			 const unsigned char *bytes, struct sn_block *block,
			 struct sn_block_rest *rest);

/* Decodes the column of one attribute: values[entry->count], 0 and false where an event has none.
 * 1: it is there; 0: no event of the block has it; or SN_ERR_FORMAT. */
int sn_block_attribute(const struct sn_block_rest *rest, uint32_t key, size_t count,
		       uint64_t *values, bool *is_present);
/* Decodes the next remaining column of `rest` and gives its key, for reading all columns, each
 * once. */
int sn_block_attribute_next(struct sn_block_rest *rest, size_t count, uint32_t *key,
			    uint64_t *values, bool *is_present);
