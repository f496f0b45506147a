/* SPDX-License-Identifier: Apache-2.0 */
/* Frames to groups, by the fields that matter; see group.h. */
#include "group.h"

#include "base/intern.h"
#include "format/measurement/measurement.h"
#include "frame/user_frame.h"

#include <stdlib.h>

enum { KEY_FIELDS = 8 };

struct key {
	uint32_t fields[KEY_FIELDS];
};

static bool is_native(const struct sonde_db_frame *frame)
{
	return frame->kind == SN_FRAME_NATIVE || frame->kind == SN_FRAME_INLINED;
}

static struct key function_key(const struct sonde_db_frame *frame)
{
	uint32_t kind = is_native(frame) ? SN_FRAME_NATIVE : frame->kind;
	uint32_t flags = frame->flags & (SN_FRAME_BACKWARD | SN_FRAME_ITERATION);
	uint32_t file = frame->kind == SN_FRAME_PYTHON ? frame->file : SONDE_NONE;
	struct key key = {
	    {kind | flags << 8, frame->name, frame->module, file, frame->function_line}};
	/* code without a symbol has nothing but its address */
	if (frame->name == SONDE_NONE) {
		key.fields[6] = (uint32_t)frame->offset;
		key.fields[7] = (uint32_t)(frame->offset >> 32);
	}
	return key;
}

/* Some tools have lines that were called: they stand for the unnamed function. */
bool sn_frame_lies_in_function(const struct sonde_db_frame *frame)
{
	switch (frame->kind) {
	case SN_FRAME_LOOP:
	case SN_FRAME_GPU_LOOP:
		return true;
	case SN_FRAME_LINE:
	case SN_FRAME_GPU_LINE:
	case SN_FRAME_GPU_INSTRUCTION:
		return !(frame->flags & SN_FRAME_CALLED);
	default:
		return false;
	}
}

static struct key line_key(const struct sonde_db_frame *frame)
{
	struct key key = function_key(frame);
	key.fields[3] = frame->file;
	key.fields[5] = frame->line;
	return key;
}

static bool is_device_work(const struct sonde_db_frame *frame)
{
	return frame->kind == SN_FRAME_KERNEL || frame->kind == SN_FRAME_GPU_OP;
}

/* An instruction of a device is of its line, which stands above it and has another name. */
static uint32_t name_in_line(const struct sonde_db_frame *frame)
{
	return frame->kind == SN_FRAME_GPU_LINE || frame->kind == SN_FRAME_GPU_INSTRUCTION
		   ? SONDE_NONE
		   : frame->name;
}

/* Writes the frame's key; false where this grouping leaves the frame out. */
static bool make_key(const struct sonde_db *db, enum sn_grouping grouping, uint32_t id,
		     struct key *key)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	bool is_code;
	switch (grouping) {
	case SN_GROUP_AUTO:
		*key = frame->kind == SN_FRAME_PYTHON ? line_key(frame) : function_key(frame);
		return true;
	case SN_GROUP_FUNCTION:
		*key = function_key(frame);
		return !sn_frame_lies_in_function(frame);
	case SN_GROUP_LINE:
		*key = line_key(frame);
		return true;
	case SN_GROUP_INSTRUCTION:
		*key = (struct key){{id}};
		return true;
	case SN_GROUP_SOURCE_LINE:
		*key = (struct key){{frame->file, frame->line, name_in_line(frame)}};
		return frame->file != SONDE_NONE && frame->line != 0 &&
		       frame->kind != SN_FRAME_LOOP;
	case SN_GROUP_USER_LINE:
		*key = (struct key){{frame->file, frame->line, name_in_line(frame)}};
		return sn_frame_is_user(db, frame) && frame->kind != SN_FRAME_LOOP;
	case SN_GROUP_FILE:
		*key = (struct key){{frame->file}};
		return frame->file != SONDE_NONE && frame->kind != SN_FRAME_LOOP;
	case SN_GROUP_OPERATOR:
		*key = function_key(frame);
		return frame->kind == SN_FRAME_OPERATOR;
	case SN_GROUP_LOOP:
		*key = function_key(frame);
		return frame->kind == SN_FRAME_LOOP;
	case SN_GROUP_KERNEL:
		*key = function_key(frame);
		return is_device_work(frame);
	case SN_GROUP_MODULE:
		is_code = is_native(frame) || frame->kind == SN_FRAME_LOOP;
		*key = (struct key){{frame->module, is_code ? 0 : frame->kind}};
		return true;
	case SN_GROUP_KIND:
		*key = (struct key){{frame->kind}};
		return true;
	}
	return false;
}

static int number_frames(struct sn_groups *groups, const struct sonde_db *db)
{
	struct sn_intern keys = {0};
	int code = 0;
	for (uint32_t i = 0; i < sonde_db_frame_count(db) && code == 0; i++) {
		struct key key = {{0}};
		groups->of_frame[i] = SONDE_NONE;
		if (!make_key(db, groups->grouping, i, &key))
			continue;
		uint32_t group = sn_intern_add(&keys, &key, sizeof(key));
		if (group == SN_INTERN_NONE)
			code = SN_ERR_MEMORY;
		else if (group == groups->count)
			groups->frame[groups->count++] = i;
		groups->of_frame[i] = group;
	}
	sn_intern_release(&keys);
	return code;
}

int sn_groups_init(struct sn_groups *groups, const struct sonde_db *db, enum sn_grouping grouping,
		   struct sn_error *error)
{
	size_t count = sonde_db_frame_count(db) + 1ull;
	*groups = (struct sn_groups){.grouping = grouping};
	groups->of_frame = malloc(count * sizeof(*groups->of_frame));
	groups->frame = malloc(count * sizeof(*groups->frame));
	int code = groups->of_frame && groups->frame ? number_frames(groups, db) : SN_ERR_MEMORY;
	if (code != 0)
		sn_groups_release(groups);
	return sn_fail_code(error, code);
}

void sn_groups_release(struct sn_groups *groups)
{
	free(groups->of_frame);
	free(groups->frame);
	*groups = (struct sn_groups){0};
}
