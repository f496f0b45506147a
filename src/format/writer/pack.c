/* SPDX-License-Identifier: Apache-2.0 */
/* Appending and taking; see pack.h. */
#include "pack.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void sn_pack_release(struct sn_pack *pack)
{
	free(pack->bytes);
	*pack = (struct sn_pack){0};
}

void sn_pack_put(struct sn_pack *pack, const void *bytes, size_t length)
{
	if (pack->failed ||
	    sn_vec_reserve(&pack->bytes, &pack->capacity, pack->length + length) < 0) {
		pack->failed = true;
		return;
	}
	if (length)
		memcpy(pack->bytes + pack->length, bytes, length);
	pack->length += length;
}

void sn_pack_number(struct sn_pack *pack, uint64_t number)
{
	sn_pack_put(pack, &number, sizeof(number));
}

void sn_pack_array(struct sn_pack *pack, const void *items, uint64_t count, size_t item_bytes)
{
	sn_pack_number(pack, count);
	sn_pack_put(pack, items, count * item_bytes);
}

void sn_pack_intern(struct sn_pack *pack, const struct sn_intern *intern)
{
	uint64_t bytes = intern->count ? intern->ends[intern->count - 1] : 0;
	sn_pack_array(pack, intern->ends, intern->count, sizeof(*intern->ends));
	sn_pack_array(pack, intern->bytes, bytes, 1);
}

const void *sn_unpack_take(struct sn_unpack *unpack, size_t length)
{
	if (unpack->failed || length > unpack->left) {
		unpack->failed = true;
		return NULL;
	}
	const void *taken = unpack->at;
	unpack->at += length;
	unpack->left -= length;
	return taken;
}

uint64_t sn_unpack_number(struct sn_unpack *unpack)
{
	uint64_t number = 0;
	const void *bytes = sn_unpack_take(unpack, sizeof(number));
	if (bytes)
		memcpy(&number, bytes, sizeof(number));
	return number;
}

void *sn_unpack_array(struct sn_unpack *unpack, uint64_t *count, size_t item_bytes)
{
	*count = sn_unpack_number(unpack);
	if (*count > unpack->left / item_bytes)
		unpack->failed = true;
	const void *bytes = unpack->failed ? NULL : sn_unpack_take(unpack, *count * item_bytes);
	void *items = bytes ? malloc(*count * item_bytes + 1) : NULL;
	unpack->failed |= !items;
	if (items)
		memcpy(items, bytes, *count * item_bytes);
	else
		*count = 0;
	return items;
}

void sn_unpack_intern(struct sn_unpack *unpack, struct sn_intern *intern)
{
	uint64_t count, bytes_count;
	uint64_t *ends = sn_unpack_array(unpack, &count, sizeof(*ends));
	unsigned char *bytes = sn_unpack_array(unpack, &bytes_count, 1);
	for (uint64_t i = 0; i < count && !unpack->failed; i++) {
		uint64_t start = i ? ends[i - 1] : 0;
		if (sn_intern_add(intern, bytes + start, ends[i] - start) == SN_INTERN_NONE)
			unpack->failed = true;
	}
	free(ends);
	free(bytes);
}
