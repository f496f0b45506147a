/* SPDX-License-Identifier: Apache-2.0 */
/* What hardware counters counted in a kernel: from its launch to the tree of its thread, where it stands at the kernel. */
#include "state.h"

#include <string.h>

static struct {
	const char *unit;
	enum sn_metric_kind kind;
} units[SN_GPU_COUNTERS_MOST];

void sn_gpu_counter_is_in(uint32_t index, const char *unit)
{
	units[index].unit = unit;
	units[index].kind = !strcmp(unit, "bytes") ? SN_METRIC_BYTES
			    : !strcmp(unit, "ns")  ? SN_METRIC_TIME
						   : SN_METRIC_COUNT;
}

const char *sn_gpu_counts_nothing(void)
{
	return sn_config.gpu_counter_count
		   ? "; no counters: kernels launched by CUDA and HIP alone have them"
		   : NULL;
}

bool sn_gpu_counter_whole(double counted, uint64_t *value)
{
	/* false for what is no number, too; beyond 2^53 a double has no whole numbers of its own */
	bool fits = counted >= 0 && counted < 0x1p53;
	*value = fits ? (uint64_t)(counted + 0.5) : 0;
	return fits;
}

void sn_gpu_counted(const struct sn_gpu_place *place, struct sn_gpu_operation *operation)
{
	operation->counter.of = operation->kind;
	operation->kind = SN_GPU_COUNTER;
	operation->call = place->call;
	operation->graph_node = place->graph_node;
	if (!sn_gpu_queue_put(&place->state->queue, operation))
		sn_drop(NULL, SN_DROP_GPU_COUNTER_LOST, 1);
	operation->kind = operation->counter.of;
}

static uint32_t metric_of(const struct sn_gpu_operation *operation)
{
	static _Atomic uint32_t known[SN_GPU_COUNTERS_MOST]; /* a metric's number + 1 */
	uint32_t index = operation->counter.index,
		 number = atomic_load_explicit(&known[index], memory_order_relaxed);
	if (number)
		return number - 1;
	number = sn_metric(sn_config.gpu_counters[index],
			   units[index].unit ? units[index].unit : "1", operation->interface->name,
			   units[index].unit ? units[index].kind : SN_METRIC_COUNT, 0);
	/* relaxed: threads that race store the same number */
	atomic_store_explicit(&known[index], number + 1, memory_order_relaxed);
	return number;
}

void sn_gpu_record_counter(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	struct sn_gpu_operation counted = *operation;
	counted.kind = operation->counter.of;
	uint32_t node = sn_gpu_node_of(state, &counted), metric = metric_of(operation);
	if (node == SN_NODE_NONE || metric == SN_ID_NONE ||
	    !sn_cct_add(&state->thread->cct, node, metric, operation->counter.value))
		sn_drop(state->thread, SN_DROP_GPU_COUNTER_LOST, 1);
}
