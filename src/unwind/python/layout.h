/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets of fields in the structures of one CPython, in bytes, and the other differences between
 * versions. A layout is chosen by version and then verified on a real stack (python.c).
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include "linetable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_python_frames {
	SN_FRAMES_OBJECTS, /* 3.9, 3.10: a PyFrameObject for each call, each in a native call of its
			      own */
	SN_FRAMES_FLAGGED, /* 3.11: the outermost of a native evaluation call carries is_entry */
	SN_FRAMES_SHIMMED, /* from 3.12: a frame without code, on the native stack, lies below it */
};

struct sn_python_layout {
	uint32_t version; /* 0x030b for 3.11 */
	enum sn_python_frames frames;
	enum sn_linetable_format lines;
	/* runtime state: the pthread key under which a thread keeps its state, -1 if unknown */
	int32_t runtime_key;
	/* for who reads from outside: the first interpreter in the runtime, the next one in that, its first thread state; 0: not known */
	uint32_t interpreters_head, interpreter_next, threads_head;
	/* thread state: the newest frame, or in 3.11 and 3.12 the structure that points to it */
	uint16_t thread_frame, thread_id;
	bool through_cframe;
	uint16_t cframe_frame, cframe_previous;
	uint16_t thread_bytes;	 /* the outermost cframe lies within the thread state */
	uint8_t generator_state; /* bytes before a generator's frame; 0 if not used */
	/* frame */
	uint16_t frame_bytes, frame_previous, frame_code, frame_instruction, frame_owner,
	    frame_is_entry;
	uintptr_t pointer_mask; /* clears the tag bits of a frame's reference to its code */
	uint8_t shim_owner;	/* owners from this on are shims */
	uint16_t frame_locals;	/* the first argument, or a cell that holds it */
	/* code */
	uint16_t code_bytes, code_file, code_name, code_lines, code_first_line;
	uint16_t code_start; /* first instruction in the object; to 3.10 a bytes object that holds
				them */
	uint16_t
	    code_version; /* a number that no other code object has had, or 0 after 2^32 of them; to 3.11
				  there is none: 0 */
	/* objects */
	uint16_t object_type, bytes_length, bytes_data;
	uint16_t text_length, text_state, text_ascii_bytes, text_compact_bytes;
	uint8_t text_kind_shift; /* bits of `interned` before `kind` in the state word */
	/* types, filled in when the module is known */
	uintptr_t code_type, text_type, bytes_type, cell_type; /* the last one may be 0 */
};

static inline uintptr_t sn_python_pointer(uintptr_t object, size_t offset)
{
	return *(const uintptr_t *)(object + offset);
}

static inline int32_t sn_python_int(uintptr_t object, size_t offset)
{
	return *(const int32_t *)(object + offset);
}

/*
 * The layout of version `hex` (PY_VERSION_HEX); for 3.13 and later from the debug offsets at
 * `runtime`. 0, or -ENOTSUP with the reason, a constant, in `reason`.
 */
int sn_python_layout_find(struct sn_python_layout *layout, uint32_t hex, uintptr_t runtime,
			  size_t runtime_bytes, const char **reason);
/*
 * From 3.12 the runtime contains the interpreter's own names as static ASCII strings. They show the
 * width of the field before `kind`, which no offset gives and which differs between kinds of build. `runtime` may be a copy; the layout's types are known.
 */
void sn_python_layout_calibrate(struct sn_python_layout *layout, uintptr_t runtime,
				size_t runtime_bytes);
