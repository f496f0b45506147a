/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a device's instructions: from a launch to the tree of its thread, where they stand below the kernel. */
#include "capture.h"
#include "state.h"

#include <string.h>

void sn_gpu_sampled(const struct sn_gpu_place *place, struct sn_gpu_operation *operation)
{
	operation->kind = SN_GPU_SAMPLES;
	operation->call = place->call;
	operation->graph_node = place->graph_node;
	if (!sn_gpu_queue_put(&place->state->queue, operation))
		sn_drop(NULL, SN_DROP_GPU_SAMPLE_LOST, operation->sample.count);
}

/* A kernel of no known launch stands at the root, and its callers are unknown. */
static uint32_t kernel_of(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	struct sn_cct *cct = &state->thread->cct;
	uint32_t parent =
	    operation->graph_node ? sn_gpu_capture_path(state, operation) : operation->call;
	const char *name = operation->name ? operation->name : "[kernel]";
	struct sn_frame kernel = {.kind = SN_FRAME_KERNEL,
				  .flags = operation->call == SN_NODE_ROOT ? SN_FRAME_TRUNCATED : 0,
				  .id = sn_cct_string(cct, name, strlen(name))};
	return parent == SN_NODE_NONE ? parent : sn_cct_child(cct, parent, &kernel);
}

/* The instruction's; the kernel's where its code is not known. */
static uint32_t node_of(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	uint32_t kernel = kernel_of(state, operation);
	if (kernel == SN_NODE_NONE || operation->sample.module == SN_ID_NONE)
		return kernel;
	struct sn_frame instruction = {.kind = SN_FRAME_GPU_INSTRUCTION,
				       .id = operation->sample.module,
				       .value = operation->sample.address};
	return sn_cct_child(&state->thread->cct, kernel, &instruction);
}

static bool add(struct sn_cct *cct, uint32_t node, uint32_t metric, uint64_t count)
{
	struct sn_cct_value *value =
	    metric == SN_ID_NONE ? NULL : sn_cct_value_of(cct, node, metric);
	if (value)
		sn_cct_value_add_times(value, 1, count);
	return value;
}

void sn_gpu_record_samples(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	static _Atomic uint32_t all = SN_ID_NONE, stalled = SN_ID_NONE;
	const struct sn_gpu_sample *sample = &operation->sample;
	struct sn_cct *cct = &state->thread->cct;
	uint32_t node = node_of(state, operation);
	uint32_t metric =
	    sn_metric_once(&all, "gpu-samples", "1", operation->interface->name, SN_METRIC_COUNT);
	if (node == SN_NODE_NONE || !add(cct, node, metric, sample->count)) {
		sn_drop(state->thread, SN_DROP_GPU_SAMPLE_LOST, sample->count);
		return;
	}
	if (sample->reason == SN_ID_NONE)
		return;
	add(cct, node,
	    sn_metric_once(&stalled, "gpu-samples-stalled", "1", operation->interface->name,
			   SN_METRIC_COUNT),
	    sample->count);
	add(cct, node, sample->reason, sample->count);
}
