/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that one rank puts together and another takes apart, both of the same program. */
#ifndef SN_FORMAT_PACK_H
#define SN_FORMAT_PACK_H

#include "base/intern.h"

#include <stdbool.h>
#include <stddef.h>

/* All zeroes is empty. */
struct sn_pack {
	unsigned char *bytes; /* from malloc */
	size_t length, capacity;
	bool failed; /* out of memory: what follows is ignored */
};

void sn_pack_release(struct sn_pack *pack);
void sn_pack_put(struct sn_pack *pack, const void *bytes, size_t length);
void sn_pack_number(struct sn_pack *pack, uint64_t number);
/* The count, then the array. */
void sn_pack_array(struct sn_pack *pack, const void *items, uint64_t count, size_t item_bytes);
void sn_pack_intern(struct sn_pack *pack, const struct sn_intern *intern);

struct sn_unpack {
	const unsigned char *at;
	size_t left;
	bool failed; /* something was not there, or there was no memory */
};

/* NULL where there are not as many bytes. Not aligned. */
const void *sn_unpack_take(struct sn_unpack *unpack, size_t length);
uint64_t sn_unpack_number(struct sn_unpack *unpack);
/* A copy from malloc, NULL where it failed; never NULL otherwise. */
void *sn_unpack_array(struct sn_unpack *unpack, uint64_t *count, size_t item_bytes);
/* Into an empty table. */
void sn_unpack_intern(struct sn_unpack *unpack, struct sn_intern *intern);

#endif
