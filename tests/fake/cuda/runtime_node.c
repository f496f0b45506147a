/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's functions about nodes of graphs that a program builds itself, and about changing what is executable. */
#include "runtime.h"

#include <stdlib.h>

typedef const cudaGraphNode_t *dependencies;

static const struct fake_operation nothing = {.kind = FAKE_EMPTY, .peer = -1};

static uint32_t place_of(cudaGraphNode_t node)
{
	return fake_node_place((const struct fake_node *)node);
}

static uint32_t *places_of(dependencies after, size_t count)
{
	uint32_t *places = malloc((count + 1) * sizeof(*places));
	for (size_t index = 0; index < count; index++)
		places[index] = place_of(after[index]);
	return places;
}

static cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph, dependencies after, size_t count,
		       const struct fake_operation *operation)
{
	if (fake_begin())
		return fake_error(fake_begin());
	uint32_t *places = places_of(after, count);
	uint32_t place =
	    fake_graph_add((struct fake_graph *)graph, operation, places, (uint32_t)count);
	free(places);
	*node = (cudaGraphNode_t)fake_graph_node((struct fake_graph *)graph, place);
	return cudaSuccess;
}

/* ---- what nodes do ---- */

static bool launch_of(const struct cudaKernelNodeParams *given, struct fake_operation *operation)
{
	const struct fake_kernel *kernel = fake_kernel_of_host(given->func);
	dim3 grid = given->gridDim, block = given->blockDim;
	if (!kernel)
		return false;
	*operation =
	    fake_launch_operation(kernel, (uint32_t[]){grid.x, grid.y, grid.z},
				  (uint32_t[]){block.x, block.y, block.z}, given->sharedMemBytes);
	return true;
}

/* Of arrays there are none. */
static struct fake_operation copy_of(const struct cudaMemcpy3DParms *given)
{
	return fake_copy_operation(given->dstPtr.ptr, given->srcPtr.ptr,
				   given->extent.width * given->extent.height *
				       given->extent.depth);
}

static struct fake_operation set_of(const struct cudaMemsetParams *given)
{
	return fake_set_operation(given->dst, given->value,
				  given->elementSize * given->width * given->height);
}

static struct fake_operation host_of(cudaHostFn_t function, void *data)
{
	return (struct fake_operation){
	    .kind = FAKE_HOST, .host = function, .data = data, .peer = -1};
}

/* ---- adding ---- */

cudaError_t fake_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
					dependencies after, size_t count,
					const struct cudaKernelNodeParams *given)
{
	struct fake_operation operation;
	if (!launch_of(given, &operation))
		return fake_error(cudaErrorInvalidDeviceFunction);
	return add(node, graph, after, count, &operation);
}

cudaError_t fake_cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
					dependencies after, size_t count,
					const struct cudaMemcpy3DParms *given)
{
	struct fake_operation operation = copy_of(given);
	return add(node, graph, after, count, &operation);
}

cudaError_t fake_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
					  dependencies after, size_t count, void *to,
					  const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	(void)kind;
	struct fake_operation operation = fake_copy_operation(to, from, bytes);
	return add(node, graph, after, count, &operation);
}

cudaError_t fake_cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
					dependencies after, size_t count,
					const struct cudaMemsetParams *given)
{
	struct fake_operation operation = set_of(given);
	return add(node, graph, after, count, &operation);
}

cudaError_t fake_cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, dependencies after,
				      size_t count, const struct cudaHostNodeParams *given)
{
	struct fake_operation operation = host_of(given->fn, given->userData);
	return add(node, graph, after, count, &operation);
}

cudaError_t fake_cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, dependencies after,
				       size_t count)
{
	return add(node, graph, after, count, &nothing);
}

/* Of events in graphs nothing is known but their order. */
cudaError_t fake_cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph,
					     dependencies after, size_t count, cudaEvent_t event)
{
	(void)event;
	return add(node, graph, after, count, &nothing);
}

cudaError_t fake_cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph,
					   dependencies after, size_t count, cudaEvent_t event)
{
	(void)event;
	return add(node, graph, after, count, &nothing);
}

cudaError_t fake_cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph,
					  dependencies after, size_t count,
					  struct cudaMemAllocNodeParams *given)
{
	given->dptr = fake_memory_new(given->bytesize, FAKE_DEVICE, fake_current_device());
	return given->dptr ? add(node, graph, after, count, &nothing)
			   : fake_error(cudaErrorMemoryAllocation);
}

cudaError_t fake_cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph,
					 dependencies after, size_t count, void *address)
{
	(void)address;
	return add(node, graph, after, count, &nothing);
}

cudaError_t fake_cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
					    dependencies after, size_t count, cudaGraph_t child)
{
	uint32_t *places = places_of(after, count);
	uint32_t place = fake_graph_add_child((struct fake_graph *)graph,
					      (struct fake_graph *)child, places, (uint32_t)count);
	free(places);
	*node = (cudaGraphNode_t)fake_graph_node((struct fake_graph *)graph, place);
	return cudaSuccess;
}

static cudaError_t add_kernel(cudaGraphNode_t *node, cudaGraph_t graph, dependencies after,
			      size_t count, const struct cudaKernelNodeParamsV2 *given)
{
	struct cudaKernelNodeParams older = {.func = given->func,
					     .gridDim = given->gridDim,
					     .blockDim = given->blockDim,
					     .sharedMemBytes = given->sharedMemBytes};
	return fake_cudaGraphAddKernelNode(node, graph, after, count, &older);
}

static cudaError_t add_set(cudaGraphNode_t *node, cudaGraph_t graph, dependencies after,
			   size_t count, const struct cudaMemsetParamsV2 *given)
{
	struct cudaMemsetParams older = {given->dst,	     given->pitch, given->value,
					 given->elementSize, given->width, given->height};
	return fake_cudaGraphAddMemsetNode(node, graph, after, count, &older);
}

cudaError_t fake_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle,
						  cudaGraph_t graph, unsigned int initial,
						  unsigned int flags)
{
	(void)graph;
	if (flags & ~(unsigned)cudaGraphCondAssignDefault)
		return fake_error(cudaErrorInvalidValue);
	*handle = (cudaGraphConditionalHandle)(uintptr_t)fake_condition_new(initial, flags);
	return cudaSuccess;
}

cudaError_t fake_cudaGraphConditionalHandleCreate_v2(cudaGraphConditionalHandle *handle,
						     cudaGraph_t graph,
						     cudaExecutionContext_t context,
						     unsigned int initial, unsigned int flags)
{
	(void)context;
	return fake_cudaGraphConditionalHandleCreate(handle, graph, initial, flags);
}

static cudaError_t add_conditional(cudaGraphNode_t *node, cudaGraph_t graph, dependencies after,
				   size_t count, struct cudaConditionalNodeParams *given)
{
	uint32_t *places = places_of(after, count);
	const struct fake_node *made =
	    fake_conditional((struct fake_graph *)graph, given->handle, (int)given->type,
			     given->size, places, (uint32_t)count);
	free(places);
	if (!made)
		return fake_error(cudaErrorInvalidValue);
	*node = (cudaGraphNode_t)made;
	given->phGraph_out = (cudaGraph_t *)made->bodies;
	return cudaSuccess;
}

cudaError_t fake_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, dependencies after,
				  const cudaGraphEdgeData *edges, size_t count,
				  struct cudaGraphNodeParams *given)
{
	struct fake_operation operation = nothing;
	(void)edges;
	switch (given->type) {
	case cudaGraphNodeTypeKernel:
		return add_kernel(node, graph, after, count, &given->kernel);
	case cudaGraphNodeTypeMemcpy:
		operation = copy_of(&given->memcpy.copyParams);
		break;
	case cudaGraphNodeTypeMemset:
		return add_set(node, graph, after, count, &given->memset);
	case cudaGraphNodeTypeHost:
		operation = host_of(given->host.fn, given->host.userData);
		break;
	case cudaGraphNodeTypeGraph:
		return fake_cudaGraphAddChildGraphNode(node, graph, after, count,
						       given->graph.graph);
	case cudaGraphNodeTypeConditional:
		return add_conditional(node, graph, after, count, &given->conditional);
	default:
		break;
	}
	return add(node, graph, after, count, &operation);
}

cudaError_t fake_cudaGraphAddDependencies(cudaGraph_t graph, dependencies from, dependencies to,
					  const cudaGraphEdgeData *edges, size_t count)
{
	(void)edges;
	for (size_t index = 0; index < count; index++)
		fake_graph_connect((struct fake_graph *)graph, place_of(from[index]),
				   place_of(to[index]));
	return cudaSuccess;
}

cudaError_t fake_cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
	*clone = (cudaGraph_t)fake_graph_copy((struct fake_graph *)graph);
	return cudaSuccess;
}

/* ---- asking ---- */

cudaError_t fake_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
	static const enum cudaGraphNodeType types[] = {
	    [FAKE_KERNEL] = cudaGraphNodeTypeKernel, [FAKE_COPY] = cudaGraphNodeTypeMemcpy,
	    [FAKE_SET] = cudaGraphNodeTypeMemset,    [FAKE_HOST] = cudaGraphNodeTypeHost,
	    [FAKE_EMPTY] = cudaGraphNodeTypeEmpty,
	};
	const struct fake_node *known = (const struct fake_node *)node;
	*type = known->child	   ? cudaGraphNodeTypeGraph
		: known->condition ? cudaGraphNodeTypeConditional
				   : types[known->operation.kind];
	return cudaSuccess;
}

cudaError_t fake_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph)
{
	*graph = (cudaGraph_t)((const struct fake_node *)node)->child;
	return *graph ? cudaSuccess : fake_error(cudaErrorInvalidValue);
}

cudaError_t fake_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	const struct fake_graph *known = (struct fake_graph *)graph;
	size_t found = 0;
	for (uint32_t place = 0; place < fake_graph_count(known); place++) {
		const struct fake_node *node = fake_graph_node(known, place);
		if (node->after_count)
			continue;
		if (nodes && found < *count)
			nodes[found] = (cudaGraphNode_t)node;
		found++;
	}
	*count = found;
	return cudaSuccess;
}

/* What a kernel is given is not kept. */
cudaError_t fake_cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
					      struct cudaKernelNodeParams *given)
{
	const struct fake_operation *operation = &((const struct fake_node *)node)->operation;
	const uint32_t *grid = operation->grid, *block = operation->block;
	if (operation->kind != FAKE_KERNEL)
		return fake_error(cudaErrorInvalidValue);
	*given = (struct cudaKernelNodeParams){
	    .func = (void *)((const struct fake_kernel *)operation->kernel)->host,
	    .gridDim = {grid[0], grid[1], grid[2]},
	    .blockDim = {block[0], block[1], block[2]},
	    .sharedMemBytes = operation->dynamic_shared,
	};
	return cudaSuccess;
}

/* ---- changing ---- */

static cudaError_t set(const struct fake_node *node, const struct fake_operation *operation)
{
	if (!node || node->operation.kind != operation->kind)
		return fake_error(cudaErrorInvalidValue);
	fake_node_set(node, operation);
	return cudaSuccess;
}

static struct fake_node *executable_node(cudaGraphExec_t executable, cudaGraphNode_t node)
{
	return fake_executable_node((struct fake_executable *)executable,
				    (const struct fake_node *)node);
}

cudaError_t fake_cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
					      const struct cudaKernelNodeParams *given)
{
	struct fake_operation operation;
	if (!launch_of(given, &operation))
		return fake_error(cudaErrorInvalidDeviceFunction);
	return set((const struct fake_node *)node, &operation);
}

cudaError_t fake_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
						  const struct cudaKernelNodeParams *given)
{
	struct fake_operation operation;
	if (!launch_of(given, &operation))
		return fake_error(cudaErrorInvalidDeviceFunction);
	return set(executable_node(executable, node), &operation);
}

cudaError_t fake_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
						  const struct cudaMemcpy3DParms *given)
{
	struct fake_operation operation = copy_of(given);
	return set(executable_node(executable, node), &operation);
}

cudaError_t fake_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable,
						    cudaGraphNode_t node, void *to,
						    const void *from, size_t bytes,
						    enum cudaMemcpyKind kind)
{
	(void)kind;
	struct fake_operation operation = fake_copy_operation(to, from, bytes);
	return set(executable_node(executable, node), &operation);
}

cudaError_t fake_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
						  const struct cudaMemsetParams *given)
{
	struct fake_operation operation = set_of(given);
	return set(executable_node(executable, node), &operation);
}

cudaError_t fake_cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
						const struct cudaHostNodeParams *given)
{
	struct fake_operation operation = host_of(given->fn, given->userData);
	return set(executable_node(executable, node), &operation);
}

cudaError_t fake_cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
					 unsigned int is_enabled)
{
	struct fake_node *known = executable_node(executable, node);
	if (!known || known->operation.kind > FAKE_SET)
		return fake_error(cudaErrorInvalidValue);
	known->is_disabled = !is_enabled;
	return cudaSuccess;
}

cudaError_t fake_cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
					 unsigned int *is_enabled)
{
	const struct fake_node *known = executable_node(executable, node);
	if (!known)
		return fake_error(cudaErrorInvalidValue);
	*is_enabled = !known->is_disabled;
	return cudaSuccess;
}

cudaError_t fake_cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
				     cudaGraphExecUpdateResultInfo *result)
{
	bool is_done = fake_executable_update((struct fake_executable *)executable,
					      (const struct fake_graph *)graph);
	*result = (cudaGraphExecUpdateResultInfo){
	    .result =
		is_done ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged};
	return is_done ? cudaSuccess : fake_error(cudaErrorGraphExecUpdateFailure);
}
