/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call paths in Perfetto's interned data: functions, files, modules, frames and paths, each once in
 * a sequence of packets.
 */
#pragma once

#include "base/table.h"
#include "export/stack.h"
#include "export/protobuf.h"
#include "sonde/db.h"

struct sn_perfetto_stack {
	const struct sonde_db *db;
	struct sn_table contexts, frames, modules; /* numbers, less 1 */
	struct sn_stack_cut cut; /* paths of more frames are written without the middle */
	struct sn_buffer message;
	uint32_t *path;
	size_t path_capacity;
};

/* All zeroes but `db` is an empty one. */
void sn_perfetto_stack_release(struct sn_perfetto_stack *stack);
/* Another sequence begins. */
void sn_perfetto_stack_forget(struct sn_perfetto_stack *stack);
/* The number of a context's path; its new parts are appended to `interned`, which fails without
 * memory. 0 for the root. */
uint32_t sn_perfetto_stack_iid(struct sn_perfetto_stack *stack, uint32_t context,
			       struct sn_buffer *interned);
