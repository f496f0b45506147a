/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies contexts of one thread's tree to another's. The source may grow meanwhile: its published
 * elements never change.
 *
 * All functions here: AS-safe: yes. MT: the owner of `to`.
 */
#pragma once

#include "cct.h"

/* Work space; grows with the longest path. Zeroed at first. */
struct sn_copy_room {
	uint32_t *nodes;
	uint32_t room;
};
void sn_copy_room_release(struct sn_copy_room *room);

/* Turns the ids in a frame of `from` into those of `to`. False without memory or for a bad id. */
bool sn_cct_copy_frame(struct sn_cct *to, const struct sn_cct *from, struct sn_frame *frame);

/* Copies the path to `node` of `from` to `to`, without frames whose kind's bit is not in `kinds`.
 * Both may be the same tree. SN_NODE_NONE if it cannot be copied. */
#define SN_COPY_ALL UINT64_MAX
uint32_t sn_cct_copy_path(struct sn_cct *to, const struct sn_cct *from, uint32_t node,
			  uint64_t kinds, struct sn_copy_room *room);

/* The frames of the path to `node`, from those below `above` on, which is on it, again below `to`, in the same tree.
 * SN_NODE_NONE without memory. */
uint32_t sn_cct_repeat_path(struct sn_cct *cct, uint32_t node, uint32_t above, uint32_t to,
			    struct sn_copy_room *room);
