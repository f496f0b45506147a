/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: recorded as a whole, one record a replay, or node by node. For nodes CUPTI tells when each is made and copied, and
 * so which call captured it (adapters/gpu/capture.h).
 */
#include "cuda.h"

#include "collect/adapters/gpu/capture.h"

static bool is_by_nodes;

/* CUPTI may have no records of whole graphs; then it gives those of nodes. */
void sn_cuda_graph_begin(void)
{
	/* where CUPTI is shared, who is first chooses for all: others want nodes */
	if (!sn_config.gpu_graph_nodes && !sn_cupti.shares && !sn_cuda_enable(SN_CUPTI_GRAPH_TRACE))
		return;
	is_by_nodes = true;
	sn_cuda.captures = sn_pages_map(SN_GPU_CAPTURES * sizeof(struct sn_gpu_capture));
	sn_cupti.cuptiEnableCallback(1, sn_cupti.subscriber, SN_CUPTI_RESOURCE,
				     SN_CUPTI_GRAPH_NODE_CREATED);
	sn_cupti.cuptiEnableCallback(1, sn_cupti.subscriber, SN_CUPTI_RESOURCE,
				     SN_CUPTI_GRAPH_NODE_CLONED);
}

const char *sn_cuda_graph_status(void)
{
	return is_by_nodes ? "; graphs node by node" : "; graphs as a whole (--gpu-graphs)";
}

/* Instantiating a graph makes nodes as well, each of which is then a copy of one that was captured. */
void sn_cuda_on_graph(uint32_t cbid, const struct sn_cupti_resource_data *data)
{
	const struct sn_cupti_graph *graph = data->descriptor;
	uint64_t node, original;
	/* others have no graph */
	if (!sn_cuda.captures ||
	    (cbid != SN_CUPTI_GRAPH_NODE_CREATED && cbid != SN_CUPTI_GRAPH_NODE_CLONED))
		return;
	if (sn_cupti.cuptiGetGraphNodeId(graph->node, &node))
		return;
	if (cbid == SN_CUPTI_GRAPH_NODE_CREATED)
		sn_gpu_capture_made(&sn_cuda, node);
	else if (cbid == SN_CUPTI_GRAPH_NODE_CLONED &&
		 !sn_cupti.cuptiGetGraphNodeId(graph->original_node, &original))
		sn_gpu_capture_copied(&sn_cuda, node, original);
}
