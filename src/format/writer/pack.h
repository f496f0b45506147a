/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serialisation between ranks of the same program. One function describes a struct for both
 * directions (as in XDR, RFC 4506): it appends the members to a buffer, or fills them in.
 *
 *	struct sn_pack pack = {.to = &buffer};		or sn_unpack(bytes, length)
 *	sn_pack_member(&pack, table.depth);
 *	sn_pack_array(&pack, &table.items, &table.item_count);
 *	if (buffer.failed) ...				or pack.from.failed: fewer bytes than
 *							were to be filled in; arrays are empty
 */
#pragma once

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/intern.h"

struct sn_pack {
	struct sn_buffer *to;  /* NULL: it is filled in, */
	struct sn_cursor from; /* of these */
};

static inline struct sn_pack sn_unpack(const void *bytes, size_t length)
{
	return (struct sn_pack){.from = sn_cursor_at((struct sn_bytes){bytes, length}, 0)};
}

void sn_pack_bytes(struct sn_pack *pack, void *bytes, size_t length);
#define sn_pack_member(pack, member) sn_pack_bytes(pack, &(member), sizeof(member))

/* An array from malloc, and its count, which may have any type. The one that is filled in replaces
 * what was there; it is never NULL, unless the pack has failed. */
uint64_t sn_pack_items(struct sn_pack *pack, void **items, uint64_t count, size_t item_bytes);
#define sn_pack_array(pack, items, count)                                                          \
	(*(count) = (__typeof__(*(count)))sn_pack_items(pack, (void **)(uintptr_t)(items),         \
							*(count), sizeof(**(items))))
/* Filled in it must be an empty table. */
void sn_pack_intern(struct sn_pack *pack, struct sn_intern *intern);
