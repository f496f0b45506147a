/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call paths in Perfetto's interned data: functions, files, modules, frames and paths, each once in
 * a sequence of packets.
 */
#ifndef SN_EXPORT_PERFETTO_STACK_H
#define SN_EXPORT_PERFETTO_STACK_H

#include "export/stack.h"
#include "export/protobuf.h"
#include "sonde/db.h"

struct sn_perfetto_stack {
	const struct sonde_db *db;
	/* numbers, 0 none yet: */
	uint32_t *contexts, *frames, *modules;
	uint32_t context_count, frame_count, module_count;
	struct sn_stack_cut cut; /* paths of more frames are written without the middle */
};

int sn_perfetto_stack_init(struct sn_perfetto_stack *stack, const struct sonde_db *db);
void sn_perfetto_stack_release(struct sn_perfetto_stack *stack);
/* Another sequence begins. */
void sn_perfetto_stack_forget(struct sn_perfetto_stack *stack);
/* The number of a context's path; what of it is new goes to `interned`. 0 for the root. */
uint32_t sn_perfetto_stack_iid(struct sn_perfetto_stack *stack, uint32_t context,
			       struct sn_protobuf *interned, struct sn_protobuf *scratch);

#endif
