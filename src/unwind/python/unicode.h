/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Characters as UTF-8, and those of CPython's strings (PEP 393).
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Encodes a character as UTF-8; returns the number of bytes. */
static inline size_t sn_utf8_encode(uint32_t character, char bytes[4])
{
	static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
	unsigned more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
	bytes[0] = (char)(lead[more] | (character >> 6 * more & (more ? 0x3f : 0x7f)));
	for (unsigned i = 1; i <= more; i++)
		bytes[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
	return more + 1;
}

/* Stores `length` characters of 1, 2 or 4 bytes (`kind`) each, cut where out[0..capacity) is full, without a terminator; returns the number of bytes. Bytes of file names that
 * are not UTF-8 (PEP 383) are restored. */
size_t sn_python_encode(const void *data, unsigned kind, size_t length, char *out, size_t capacity);
