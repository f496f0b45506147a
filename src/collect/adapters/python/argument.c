/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the argument of a running Python function, if it is a code object: a compiler written in
 * Python (torch.compile) is told that way what it compiles. Like frames, arguments are read without
 * the interpreter.
 */
#include "walk.h"

#include <errno.h>

#define CELL_CONTENT 16u
/* Up to 3.10 an argument that inner functions use is moved to a cell behind the locals. */
#define OLD_SLOTS    128u

static uintptr_t type_of(const struct sn_python_layout *layout, struct sn_guard *guard,
			 uintptr_t object)
{
	if (!object || (object & 7) || !sn_guard_readable(guard, object, CELL_CONTENT + 8))
		return 0;
	return sn_python_pointer(object, layout->object_type);
}

/* The object in a local variable, or in the cell there, with its type; 0 if it cannot be read. */
static uintptr_t object_in(const struct sn_python_layout *layout, struct sn_guard *guard,
			   uintptr_t slot, uintptr_t *type)
{
	uintptr_t object = sn_python_pointer(slot, 0) & layout->pointer_mask;
	*type = type_of(layout, guard, object);
	if (*type && *type == layout->cell_type) {
		object = sn_python_pointer(object, CELL_CONTENT);
		*type = type_of(layout, guard, object);
	}
	return *type ? object : 0;
}

uintptr_t sn_python_read_first_argument(const struct sn_python_layout *layout,
					struct sn_guard *guard, uintptr_t frame)
{
	uintptr_t slot = frame + layout->frame_locals, type;
	return sn_guard_readable(guard, slot, sizeof(uintptr_t))
		   ? object_in(layout, guard, slot, &type)
		   : 0;
}

ssize_t sn_python_read_code_argument(const struct sn_python_layout *layout, struct sn_guard *guard,
				     uintptr_t frame, char *name, size_t capacity)
{
	uint32_t slots = 1;
	if (layout->frames == SN_FRAMES_OBJECTS) {
		uintptr_t own = sn_python_pointer(frame, layout->bytes_length);
		slots = own < OLD_SLOTS ? (uint32_t)own : OLD_SLOTS;
	}
	uintptr_t first = frame + layout->frame_locals;
	for (uint32_t index = 0; index < slots; index++) {
		uintptr_t slot = first + index * sizeof(uintptr_t);
		if (!sn_guard_readable(guard, slot, sizeof(uintptr_t)))
			return -EFAULT;
		uintptr_t type, code = object_in(layout, guard, slot, &type);
		if (code && type == layout->code_type &&
		    sn_guard_readable(guard, code, layout->code_bytes))
			return sn_python_text(layout, guard,
					      sn_python_pointer(code, layout->code_name), name,
					      capacity);
	}
	return -ENOENT;
}
