/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads PEP 393 strings: one, two or four bytes per character, in the object itself, or, for legacy
 * strings, behind a pointer.
 */
#include "text.h"

#include "collect/core/line.h"

#include <errno.h>

#define LENGTH_MAX (1u << 20)

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

static size_t encode_all(const void *data, unsigned kind, size_t length, char *out, size_t capacity)
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
