/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PEP 393 strings: one, two or four bytes a character, in the object itself or, in what is left of
 * the older kind, behind a pointer.
 */
#include "text.h"

#include <errno.h>

#define LENGTH_MAX (1u << 20)

static size_t encode(uint32_t character, unsigned char out[4])
{
	if (character >= 0xdc80 && character <= 0xdcff) {
		out[0] = (unsigned char)(character - 0xdc00);
		return 1;
	}
	if ((character >= 0xd800 && character <= 0xdfff) || character > 0x10ffff)
		character = 0xfffd;
	if (character < 0x80) {
		out[0] = (unsigned char)character;
		return 1;
	}
	if (character < 0x800) {
		out[0] = (unsigned char)(0xc0 | character >> 6);
		out[1] = (unsigned char)(0x80 | (character & 63));
		return 2;
	}
	if (character < 0x10000) {
		out[0] = (unsigned char)(0xe0 | character >> 12);
		out[1] = (unsigned char)(0x80 | (character >> 6 & 63));
		out[2] = (unsigned char)(0x80 | (character & 63));
		return 3;
	}
	out[0] = (unsigned char)(0xf0 | character >> 18);
	out[1] = (unsigned char)(0x80 | (character >> 12 & 63));
	out[2] = (unsigned char)(0x80 | (character >> 6 & 63));
	out[3] = (unsigned char)(0x80 | (character & 63));
	return 4;
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

static size_t encode_all(const void *data, unsigned kind, size_t length, char *out, size_t capacity)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char bytes[4];
		size_t count = encode(character_at(data, kind, i), bytes);
		if (used + count > capacity)
			break;
		for (size_t k = 0; k < count; k++)
			out[used++] = (char)bytes[k];
	}
	return used;
}

ssize_t sn_python_text(const struct sn_python_layout *layout, struct sn_guard *guard,
		       uintptr_t object, char *out, size_t capacity)
{
	if (!sn_guard_readable(guard, object, layout->text_ascii_bytes))
		return -EFAULT;
	if (sn_python_pointer(object, layout->object_type) != layout->text_type)
		return -EINVAL;
	uint64_t length = sn_python_pointer(object, layout->text_length);
	uint32_t state =
	    *(const uint32_t *)(object + layout->text_state) >> layout->text_kind_shift;
	unsigned kind = state & 7;
	bool compact = state >> 3 & 1, ascii = state >> 4 & 1;

	if (length > LENGTH_MAX || (kind != 1 && kind != 2 && kind != 4) || (ascii && kind != 1))
		return -EINVAL;
	if (length > capacity)
		length = capacity; /* a character is at least one byte */
	uintptr_t data = object + layout->text_ascii_bytes;
	if (!compact || !ascii)
		data = object + layout->text_compact_bytes;
	if (!compact) {
		if (!sn_guard_readable(guard, data, sizeof(uintptr_t)))
			return -EFAULT;
		data = sn_python_pointer(data, 0);
	}
	if (!sn_guard_readable(guard, data, length * kind))
		return -EFAULT;
	return (ssize_t)encode_all((const void *)data, kind, length, out, capacity);
}
