/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory, which moves between the host and devices by itself: below the call that allocated it. */
#include "state.h"

#include <string.h>

void sn_gpu_migrated(const struct sn_gpu_place *place, struct sn_gpu_operation *operation)
{
	operation->kind = SN_GPU_MIGRATION;
	operation->call = place->call;
	if (!sn_gpu_queue_put(&place->state->queue, operation))
		sn_drop(NULL, SN_DROP_GPU_LOST, 1);
}

/* The code of the host that touched the memory, if it did and native code is wanted. */
static uint32_t toucher(struct sn_cct *cct, uint32_t node, uintptr_t pc)
{
	if (!pc || !(sn_config.sources & SN_SOURCE_NATIVE))
		return node;
	struct sn_frame frame = {
	    .kind = SN_FRAME_NATIVE, .id = sn_module_find_or_refresh(pc), .value = pc};
	if (frame.id != SN_MODULE_NONE)
		frame.value -= sn_module_at(frame.id)->bias;
	return sn_cct_child(cct, node, &frame);
}

/* Memory of which no allocation is known stands at the root, and its callers are unknown. */
static uint32_t node_of(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	struct sn_cct *cct = &state->thread->cct;
	struct sn_frame frame = {.kind = SN_FRAME_GPU_OP,
				 .flags = operation->call == SN_NODE_ROOT ? SN_FRAME_TRUNCATED : 0,
				 .id =
				     sn_cct_string(cct, operation->name, strlen(operation->name))};
	uint32_t node = sn_cct_child(cct, operation->call, &frame);
	return node == SN_NODE_NONE ? node : toucher(cct, node, operation->migration.pc);
}

static void add(struct sn_cct *cct, uint32_t node, uint32_t metric, uint64_t amount)
{
	if (metric != SN_ID_NONE)
		sn_cct_add(cct, node, metric, amount);
}

static void add_faults(struct sn_cct *cct, uint32_t node, uint32_t metric, uint64_t count)
{
	struct sn_cct_value *value =
	    metric == SN_ID_NONE ? NULL : sn_cct_value_of(cct, node, metric);
	if (value)
		sn_cct_value_add_times(value, 1, count);
}

void sn_gpu_record_migration(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	static _Atomic uint32_t time = SN_ID_NONE, bytes = SN_ID_NONE, faults = SN_ID_NONE;
	const char *source = operation->interface->name;
	struct sn_cct *cct = &state->thread->cct;
	uint32_t node = node_of(state, operation);
	if (node == SN_NODE_NONE) {
		sn_drop(state->thread, SN_DROP_GPU_LOST, 1);
		return;
	}
	if (operation->end_ns > operation->start_ns)
		add(cct, node,
		    sn_metric_once(&time, "migration-time", "ns", source, SN_METRIC_TIME),
		    operation->end_ns - operation->start_ns);
	if (operation->bytes)
		add(cct, node,
		    sn_metric_once(&bytes, "migration-bytes", "bytes", source, SN_METRIC_BYTES),
		    operation->bytes);
	if (operation->migration.faults)
		add_faults(
		    cct, node,
		    sn_metric_once(&faults, "managed-page-faults", "1", source, SN_METRIC_COUNT),
		    operation->migration.faults);
}
