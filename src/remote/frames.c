/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks Python frames from outside. The walk of the collector (src/collect/adapters/python/walk.c) is of a thread that is stopped; here it is not. So a frame is read in one piece, and after the
 * walk the newest frame must lie where it lay: else it is walked again.
 */
#include "frames.h"

#include "base/intern.h"

#include <string.h>

enum {
	FRAME_BYTES =
	    512, /* as many as interpreter.c lets a frame without locals, and a code object, have */
	HASHED_BYTES = 256, /* of a table of lines */
	TRIES = 3,
	NOT_BEGUN = -2,
	CODE_UNIT = 2,
};

static uintptr_t word_at(const unsigned char *bytes, size_t offset)
{
	uintptr_t word;
	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static int32_t int_at(const unsigned char *bytes, size_t offset)
{
	int32_t number;
	memcpy(&number, bytes + offset, sizeof(number));
	return number;
}

static bool is_shim(const struct sn_python_layout *layout, const unsigned char *frame)
{
	return layout->frames == SN_FRAMES_SHIMMED &&
	       frame[layout->frame_owner] >= layout->shim_owner;
}

/* The newest frame's address, 0 where there is none. */
static bool newest(struct sn_remote *remote, const struct sn_python_layout *layout, uintptr_t state,
		   uintptr_t *frame)
{
	if (!sn_remote_word(remote, state + layout->thread_frame, frame))
		return false;
	return !*frame || !layout->through_cframe ||
	       sn_remote_word(remote, *frame + layout->cframe_frame, frame);
}

static int32_t offset_of(const struct sn_python_layout *layout, const unsigned char *frame,
			 const unsigned char *code, uintptr_t address)
{
	if (layout->frames == SN_FRAMES_OBJECTS) {
		int32_t last = int_at(frame, layout->frame_instruction);
		/* 3.10 counts instructions, 3.9 bytes */
		return last < 0				      ? NOT_BEGUN
		       : layout->lines == SN_LINETABLE_RANGES ? last * CODE_UNIT
							      : last;
	}
	uintptr_t start = address + layout->code_start;
	int64_t bytes = (int64_t)(word_at(frame, layout->frame_instruction) - start);
	int64_t length = (int64_t)word_at(code, layout->bytes_length) * CODE_UNIT;
	return bytes < 0 || bytes >= length || bytes > INT32_MAX ? NOT_BEGUN : (int32_t)bytes;
}

/* Code that is made anew may lie, with all its parts, where freed code was. */
static bool hash_lines(struct sn_remote *remote, const struct sn_python_layout *layout,
		       struct sn_remote_code *code)
{
	unsigned char lines[HASHED_BYTES];
	uintptr_t length;
	if (!sn_remote_word(remote, code->lines + layout->bytes_length, &length))
		return false;
	size_t count = length < sizeof(lines) ? length : sizeof(lines);
	if (!sn_remote_read(remote, code->lines + layout->bytes_data, lines, count))
		return false;
	code->table = sn_intern_hash(lines, count) ^ length << 1;
	return true;
}

/* False where it has no code object: it is half made or half gone. */
static bool read_code(struct sn_remote *remote, const struct sn_python_layout *layout,
		      const unsigned char *frame, struct sn_remote_frame *found)
{
	unsigned char code[FRAME_BYTES];
	uintptr_t address = word_at(frame, layout->frame_code) & layout->pointer_mask;
	if (!address || address & 7 || !sn_remote_read(remote, address, code, layout->code_bytes) ||
	    word_at(code, layout->object_type) != layout->code_type)
		return false;
	found->code = (struct sn_remote_code){
	    .code = address,
	    .file = word_at(code, layout->code_file),
	    .name = word_at(code, layout->code_name),
	    .lines = word_at(code, layout->code_lines),
	    .first_line = (uint32_t)int_at(code, layout->code_first_line),
	    .version = layout->code_version ? (uint32_t)int_at(code, layout->code_version) : 0,
	};
	if (!found->code.version && !hash_lines(remote, layout, &found->code))
		return false;
	found->offset = offset_of(layout, frame, code, address);
	return true;
}

static int walk(struct sn_remote *remote, const struct sn_python_layout *layout, uintptr_t address,
		struct sn_remote_frame *frames)
{
	unsigned char frame[FRAME_BYTES];
	uint32_t count = 0;
	for (uint32_t steps = 0; address; steps++) {
		if (count == SN_REMOTE_FRAMES_MOST)
			return (int)count;
		if (address & 7 || steps == 2 * SN_REMOTE_FRAMES_MOST ||
		    !sn_remote_read(remote, address, frame, layout->frame_bytes))
			return -1;
		address = word_at(frame, layout->frame_previous);
		if (is_shim(layout, frame)) {
			if (count)
				frames[count - 1].is_entry = true;
			continue;
		}
		frames[count].is_entry =
		    layout->frames == SN_FRAMES_OBJECTS || !address ||
		    (layout->frames == SN_FRAMES_FLAGGED && frame[layout->frame_is_entry]);
		/* the newest frame may be half made */
		if (read_code(remote, layout, frame, &frames[count]))
			count++;
		else if (count)
			return -1;
	}
	return (int)count;
}

int sn_remote_frames(struct sn_remote *remote, const struct sn_python_layout *layout,
		     uintptr_t state, struct sn_remote_frame *frames)
{
	for (int time = 0; time < TRIES; time++) {
		uintptr_t before, after;
		if (!newest(remote, layout, state, &before))
			return -1;
		int count = before ? walk(remote, layout, before, frames) : 0;
		if (count >= 0 && newest(remote, layout, state, &after) && after == before)
			return count;
	}
	return -1;
}
