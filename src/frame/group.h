/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of frames: the same function, source line, file, operator and so on. Tables have a row per
 * group; trees merge siblings of the same group.
 */
#pragma once

#include "base/error.h"
#include "sonde/db.h"

enum sn_grouping {
	SN_GROUP_AUTO, /* Python by line, all else by function */
	/* An inlined function and its out-of-line copies are one; loops, lines and instructions in
	 * a function belong to it. */
	SN_GROUP_FUNCTION,
	SN_GROUP_LINE,	      /* function and line, if the line is known */
	SN_GROUP_INSTRUCTION, /* every frame for itself */
	/* The following leave frames out: their cost belongs to the nearest frame above that is in.
	 */
	SN_GROUP_SOURCE_LINE, /* source lines, of frames whose file is known */
	SN_GROUP_USER_LINE,   /* source lines of the user's own code: see sn_frame_is_user */
	SN_GROUP_FILE,
	SN_GROUP_OPERATOR,
	SN_GROUP_KERNEL, /* kernels, and device copies and sets */
	SN_GROUP_LOOP,	 /* of native code */
	/* The following contain every frame. */
	SN_GROUP_MODULE,
	SN_GROUP_KIND,
};

struct sn_groups {
	enum sn_grouping grouping;
	uint32_t count;
	uint32_t *of_frame; /* [frame]: its group, or SONDE_NONE if it is left out */
	uint32_t *frame;    /* [group]: the first frame of the group */
};

int sn_groups_init(struct sn_groups *groups, const struct sonde_db *db, enum sn_grouping grouping,
		   struct sn_error *error);
void sn_groups_release(struct sn_groups *groups);

/* Whether it is a part of the function above it: a loop, or a line or instruction in it. */
bool sn_frame_lies_in_function(const struct sonde_db_frame *frame);
