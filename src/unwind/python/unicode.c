/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding the characters of CPython's strings; see unicode.h. */
#include "unicode.h"

static size_t encode(uint32_t character, char out[4])
{
	if (character >= 0xdc80 && character <= 0xdcff) {
		out[0] = (char)(character - 0xdc00);
		return 1;
	}
	if ((character >= 0xd800 && character <= 0xdfff) || character > 0x10ffff)
		character = 0xfffd;
	return sn_utf8_encode(character, out);
}

static uint32_t character_at(const void *data, unsigned kind, size_t index)
{
	switch (kind) {
	case 1:
		return ((const uint8_t *)data)[index];
	case 2:
		return ((const uint16_t *)data)[index];
	default:
		return ((const uint32_t *)data)[index];
	}
}

size_t sn_python_encode(const void *data, unsigned kind, size_t length, char *out, size_t capacity)
{
	size_t used = 0;
	for (size_t i = 0; i < length; i++) {
		char bytes[4];
		size_t count = encode(character_at(data, kind, i), bytes);
		if (used + count > capacity)
			break;
		for (size_t k = 0; k < count; k++)
			out[used++] = bytes[k];
	}
	return used;
}
