/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads PEP 393 strings: one, two or four bytes per character, in the object itself, or, for legacy
 * strings, behind a pointer.
 */
#include "text.h"

#include "unwind/python/unicode.h"

#include <errno.h>

#define LENGTH_MAX (1u << 20)

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
	return (ssize_t)sn_python_encode((const void *)data, kind, length, out, capacity);
}
