/* SPDX-License-Identifier: Apache-2.0 */
/* Members and arrays, both ways; see pack.h. */
#include "pack.h"

#include <stdlib.h>
#include <string.h>

void sn_pack_bytes(struct sn_pack *pack, void *bytes, size_t length)
{
	if (pack->to) {
		sn_buffer_put(pack->to, bytes, length);
		return;
	}
	struct sn_cursor slice = sn_cursor_slice(&pack->from, length);
	memset(bytes, 0, length);
	memcpy(bytes, slice.at, sn_cursor_left(&slice));
}

uint64_t sn_pack_items(struct sn_pack *pack, void **items, uint64_t count, size_t item_bytes)
{
	sn_pack_member(pack, count);
	if (!pack->to) {
		free(*items);
		if (count > sn_cursor_left(&pack->from) / item_bytes)
			sn_cursor_fail(&pack->from);
		*items = pack->from.failed ? NULL : malloc(count * item_bytes + 1);
		if (!*items) {
			sn_cursor_fail(&pack->from);
			return 0;
		}
	}
	sn_pack_bytes(pack, *items, count * item_bytes);
	return count;
}

void sn_pack_intern(struct sn_pack *pack, struct sn_intern *intern)
{
	bool is_packing = pack->to;
	uint32_t count = intern->count;
	uint64_t *ends = is_packing ? intern->ends : NULL, length = count ? ends[count - 1] : 0;
	unsigned char *bytes = is_packing ? intern->bytes : NULL;
	sn_pack_array(pack, &ends, &count);
	sn_pack_array(pack, &bytes, &length);
	if (is_packing)
		return;
	for (uint32_t i = 0; i < count && !pack->from.failed; i++) {
		uint64_t start = i ? ends[i - 1] : 0;
		if (sn_intern_add(intern, bytes + start, ends[i] - start) == SN_INTERN_NONE)
			sn_cursor_fail(&pack->from);
	}
	free(ends);
	free(bytes);
}
