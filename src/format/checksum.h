/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH64 (Yann Collet's specification, seed 0) over bytes in memory, for section checksums.
 *
 * Written here, on libc alone, because libsonde.so computes it inside other people's processes; the
 * unit test compares it with libxxhash on every length up to 4,096.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* State for data that comes in pieces. Pieces may have any length. */
struct sn_checksum {
	uint64_t lanes[4];
	uint64_t total;
	unsigned char tail[32];
	uint32_t tail_bytes;
};

void sn_checksum_init(struct sn_checksum *state);
void sn_checksum_update(struct sn_checksum *state, const void *data, size_t length);
uint64_t sn_checksum_final(const struct sn_checksum *state);
/* All at once. AS-safe: yes. */
uint64_t sn_checksum(const void *data, size_t length);
