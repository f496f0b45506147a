/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of CPython's structures: tables for 3.9 to 3.12, taken with offsetof from each version's
 * headers; from 3.13 on the table that the interpreter contains for debuggers (_Py_DebugOffsets,
 * first in _PyRuntime). All are of 64-bit builds with the global lock.
 */
#include "layout.h"

#include <errno.h>
#include <string.h>

#define VERSION_OLDEST	  0x0309
#define VERSION_NEWEST	  0x030e
#define RELEASE_CANDIDATE 0xc

/* Objects: the same in all versions, except that strings lost a pointer (wstr) in 3.12. */
#define OBJECT_FIELDS                                                                              \
	.object_type = 8, .bytes_length = 16, .bytes_data = 32, .text_length = 16,                 \
	.text_state = 32, .text_kind_shift = 2, .pointer_mask = UINTPTR_MAX
#define OLD_TEXT .text_ascii_bytes = 48, .text_compact_bytes = 72
#define NEW_TEXT .text_ascii_bytes = 40, .text_compact_bytes = 56
/* PyCodeObject and the frame pointers of threads, up to 3.10. */
#define OLD_CODE                                                                                   \
	.code_bytes = 176, .code_first_line = 40, .code_start = 48, .code_file = 104,              \
	.code_name = 112, .code_lines = 120, .frames = SN_FRAMES_OBJECTS, .frame_previous = 24,    \
	.frame_code = 32, .thread_frame = 24, .thread_id = 176, .runtime_key = 584

static const struct sn_python_layout tables[] = {
    {
	OBJECT_FIELDS,
	OLD_TEXT,
	OLD_CODE,
	.version = 0x0309,
	.lines = SN_LINETABLE_LNOTAB,
	.frame_bytes = 112,
	.frame_instruction = 104,
	.frame_locals = 360,
    },
    {
	OBJECT_FIELDS,
	OLD_TEXT,
	OLD_CODE,
	.version = 0x030a,
	.lines = SN_LINETABLE_RANGES,
	.frame_bytes = 104,
	.frame_instruction = 96,
	.frame_locals = 352,
    },
    {
	OBJECT_FIELDS,
	OLD_TEXT,
	.version = 0x030b,
	.frames = SN_FRAMES_FLAGGED,
	.lines = SN_LINETABLE_LOCATION,
	.runtime_key = 592,
	.thread_frame = 56, /* cframe */
	.through_cframe = true,
	.cframe_frame = 8,
	.cframe_previous = 16,
	.thread_bytes = 360,
	.generator_state = 5,
	.thread_id = 152,
	.frame_bytes = 72,
	.frame_locals = 72,
	.frame_code = 32,
	.frame_previous = 48,
	.frame_instruction = 56,
	.frame_is_entry = 68,
	.frame_owner = 69,
	.code_bytes = 184,
	.code_first_line = 72,
	.code_file = 112,
	.code_name = 128, /* co_qualname */
	.code_lines = 136,
	.code_start = 184,
    },
    {
	OBJECT_FIELDS,
	NEW_TEXT,
	.version = 0x030c,
	.frames = SN_FRAMES_SHIMMED,
	.lines = SN_LINETABLE_LOCATION,
	.runtime_key = 1544,
	.thread_frame = 56, /* cframe */
	.through_cframe = true,
	.cframe_frame = 0,
	.cframe_previous = 8,
	.thread_bytes = 288,
	.generator_state = 5,
	.thread_id = 136,
	.frame_bytes = 72,
	.frame_locals = 72,
	.frame_code = 0,
	.frame_previous = 8,
	.frame_instruction = 56,
	.frame_owner = 70,
	.shim_owner = 3, /* FRAME_OWNED_BY_CSTACK */
	.code_bytes = 192,
	.code_first_line = 68,
	.code_version = 92,
	.code_file = 112,
	.code_name = 128,
	.code_lines = 136,
	.code_start = 192,
    },
};

/* The fields that are read, by group of _Py_DebugOffsets, in its order. Before those are three words of the table's own, of the runtime its size, what
 * finalises, and its interpreters; of an interpreter its size, number, the next one, and its threads. */
enum { RUNTIME_INTERPRETERS = 3 + 2, INTERPRETER_NEXT = 3 + 3 + 2, INTERPRETER_THREADS };
enum { GROUP_SIZE = 0 };
enum { THREAD_PREV = 1, THREAD_NEXT, THREAD_INTERP, THREAD_FRAME, THREAD_ID, THREAD_FIELDS = 9 };
enum { FRAME_PREVIOUS = 1, FRAME_EXECUTABLE, FRAME_INSTRUCTION, FRAME_LOCALS, FRAME_OWNER };
enum {
	CODE_FILE = 1,
	CODE_NAME,
	CODE_QUALNAME,
	CODE_LINES,
	CODE_FIRST_LINE,
	CODE_LOCAL_NAMES = 7,
	CODE_START = 9
};
enum { OBJECT_TYPE = 1, OBJECT_FIELDS_COUNT };
enum { BYTES_LENGTH = 1, BYTES_DATA, BYTES_FIELDS };
enum { TEXT_STATE = 1, TEXT_LENGTH, TEXT_ASCII_BYTES };

/*
 * The numbers of fields in groups that differ between versions. Fields were inserted between 3.13
 * and 3.14, and the version alone does not distinguish a pre-release from a release.
 */
struct offsets_shape {
	uint32_t version;
	uint8_t interpreter, frame, code, before_bytes;
};
static const struct offsets_shape shapes[] = {
    /* before_bytes: the fields of type, tuple, list, (set,) dict, float and long */
    {0x030d, 13, 6, 10, 4 + 3 + 3 + 3 + 2 + 3},
    {0x030e, 16, 8, 11, 4 + 3 + 3 + 4 + 3 + 2 + 3},
    {0x030e, 14, 7, 10, 4 + 3 + 3 + 4 + 3 + 2 + 3},
};

struct offset_groups {
	const uint64_t *thread, *frame, *code, *object, *bytes, *text;
};

static void groups_place(struct offset_groups *groups, const uint64_t *table,
			 const struct offsets_shape *shape)
{
	groups->thread = table + 3 + 3 + shape->interpreter;
	groups->frame = groups->thread + THREAD_FIELDS;
	groups->code = groups->frame + shape->frame;
	groups->object = groups->code + shape->code;
	groups->bytes = groups->object + OBJECT_FIELDS_COUNT + shape->before_bytes;
	groups->text = groups->bytes + BYTES_FIELDS;
}

/* Checks what holds in every such table, whatever its offsets. */
static bool groups_plausible(const struct offset_groups *g)
{
	return g->thread[THREAD_PREV] == 0 && g->thread[THREAD_NEXT] == 8 &&
	       g->thread[THREAD_INTERP] == 16 && g->thread[THREAD_FRAME] < g->thread[GROUP_SIZE] &&
	       g->thread[THREAD_ID] < g->thread[GROUP_SIZE] && g->thread[GROUP_SIZE] < 4096 &&
	       g->frame[FRAME_OWNER] < g->frame[FRAME_LOCALS] && g->frame[FRAME_LOCALS] < 256 &&
	       g->frame[FRAME_INSTRUCTION] < g->frame[FRAME_OWNER] &&
	       g->code[CODE_QUALNAME] < g->code[CODE_START] &&
	       g->code[CODE_START] < g->code[GROUP_SIZE] && g->code[GROUP_SIZE] < 1024 &&
	       g->object[GROUP_SIZE] == 16 && g->object[OBJECT_TYPE] == 8 &&
	       g->bytes[BYTES_LENGTH] == 16 && g->bytes[BYTES_DATA] == 32 &&
	       g->text[TEXT_ASCII_BYTES] < 128 && g->text[TEXT_STATE] < g->text[TEXT_ASCII_BYTES];
}

/* The table does not name it: it is the last of the six numbers between the first line and the names of local variables. */
static uint16_t code_version(const uint64_t *code)
{
	uint64_t version = code[CODE_FIRST_LINE] + 6 * sizeof(uint32_t);
	return code[CODE_LOCAL_NAMES] == version + sizeof(uint32_t) ? (uint16_t)version : 0;
}

static void layout_from_groups(struct sn_python_layout *layout, const struct offset_groups *g)
{
	*layout = (struct sn_python_layout){
	    .frames = SN_FRAMES_SHIMMED,
	    .lines = SN_LINETABLE_LOCATION,
	    .thread_frame = (uint16_t)g->thread[THREAD_FRAME],
	    .thread_id = (uint16_t)g->thread[THREAD_ID],
	    .frame_bytes = (uint16_t)g->frame[FRAME_LOCALS],
	    .frame_locals = (uint16_t)g->frame[FRAME_LOCALS],
	    .frame_previous = (uint16_t)g->frame[FRAME_PREVIOUS],
	    .frame_code = (uint16_t)g->frame[FRAME_EXECUTABLE],
	    .frame_instruction = (uint16_t)g->frame[FRAME_INSTRUCTION],
	    .frame_owner = (uint16_t)g->frame[FRAME_OWNER],
	    .shim_owner = 3,
	    .code_bytes = (uint16_t)g->code[CODE_START],
	    .code_file = (uint16_t)g->code[CODE_FILE],
	    .code_name = (uint16_t)g->code[CODE_QUALNAME],
	    .code_lines = (uint16_t)g->code[CODE_LINES],
	    .code_first_line = (uint16_t)g->code[CODE_FIRST_LINE],
	    .code_version = code_version(g->code),
	    .code_start = (uint16_t)g->code[CODE_START],
	    .object_type = (uint16_t)g->object[OBJECT_TYPE],
	    .bytes_length = (uint16_t)g->bytes[BYTES_LENGTH],
	    .bytes_data = (uint16_t)g->bytes[BYTES_DATA],
	    .text_length = (uint16_t)g->text[TEXT_LENGTH],
	    .text_state = (uint16_t)g->text[TEXT_STATE],
	    .text_ascii_bytes = (uint16_t)g->text[TEXT_ASCII_BYTES],
	    /* utf8_length and utf8 follow the common part */
	    .text_compact_bytes = (uint16_t)g->text[TEXT_ASCII_BYTES] + 16,
	};
}

static int layout_from_debug_offsets(struct sn_python_layout *layout, uint32_t hex,
				     uintptr_t runtime, size_t runtime_bytes, const char **reason)
{
	const uint64_t *table = (const uint64_t *)runtime;
	if (runtime_bytes < 1024 || memcmp(table, "xdebugpy", 8) != 0 || table[1] != hex) {
		*reason = "the interpreter carries no debug offsets of its version";
		return -ENOTSUP;
	}
	if (table[2]) {
		*reason = "free-threaded CPython is not supported";
		return -ENOTSUP;
	}
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct offset_groups groups;
		if (shapes[i].version != hex >> 16)
			continue;
		groups_place(&groups, table, &shapes[i]);
		if (!groups_plausible(&groups))
			continue;
		layout_from_groups(layout, &groups);
		layout->interpreters_head = (uint32_t)table[RUNTIME_INTERPRETERS];
		layout->interpreter_next = (uint32_t)table[INTERPRETER_NEXT];
		layout->threads_head = (uint32_t)table[INTERPRETER_THREADS];
		layout->version = hex >> 16;
		layout->text_kind_shift = 2;
		/* 3.14 tags references in their low bits */
		layout->pointer_mask = layout->version >= 0x030e ? ~(uintptr_t)7 : UINTPTR_MAX;
		layout->runtime_key = layout->version == 0x030d ? 2160 : 2336;
		return 0;
	}
	*reason = "the interpreter's debug offsets have an unknown shape";
	return -ENOTSUP;
}

int sn_python_layout_find(struct sn_python_layout *layout, uint32_t hex, uintptr_t runtime,
			  size_t runtime_bytes, const char **reason)
{
	uint32_t version = hex >> 16;
	if (version < VERSION_OLDEST) {
		*reason = "CPython is older than 3.9";
		return -ENOTSUP;
	}
	if (version > VERSION_NEWEST) {
		*reason = "CPython is newer than this Sonde knows (3.14)";
		return -ENOTSUP;
	}
	if ((hex >> 4 & 15) < RELEASE_CANDIDATE) {
		*reason = "a pre-release of CPython, whose layout may be any";
		return -ENOTSUP;
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		if (tables[i].version == version) {
			*layout = tables[i];
			return 0;
		}
	}
	return layout_from_debug_offsets(layout, hex, runtime, runtime_bytes, reason);
}

static bool kind_shift_fits(const struct sn_python_layout *layout, uintptr_t text, unsigned shift)
{
	uint32_t state = *(const uint32_t *)(text + layout->text_state) >> shift;
	uintptr_t length = sn_python_pointer(text, layout->text_length);
	const char *bytes = (const char *)(text + layout->text_ascii_bytes);
	return (state & 31) == (1 | 1 << 3 | 1 << 4) && length < 64 && strnlen(bytes, 64) == length;
}

void sn_python_layout_calibrate(struct sn_python_layout *layout, uintptr_t runtime,
				size_t runtime_bytes)
{
	static const uint8_t shifts[] = {2, 8, 16};
	unsigned votes[3] = {0}, seen = 0;
	/* of a string as much is looked at */
	size_t most = 64u + layout->text_ascii_bytes;
	uintptr_t end = runtime + (runtime_bytes > most ? runtime_bytes - most : 0);
	for (uintptr_t at = runtime; at < end && seen < 64; at += sizeof(uintptr_t)) {
		if (sn_python_pointer(at, layout->object_type) != layout->text_type)
			continue;
		seen++;
		for (unsigned i = 0; i < 3; i++)
			votes[i] += kind_shift_fits(layout, at, shifts[i]);
	}
	for (unsigned i = 0; i < 3; i++)
		if (votes[i] * 2 > seen && seen >= 8)
			layout->text_kind_shift = shifts[i];
}
