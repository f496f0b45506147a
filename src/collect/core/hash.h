/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of tables and keys within one process (message.h has those on which all processes agree).
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Combines `hash`, of the values before, with one more value. */
static inline uint64_t sn_hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
	return hash ^ hash >> 29;
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static inline uint64_t sn_hash_text(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return hash;
}
