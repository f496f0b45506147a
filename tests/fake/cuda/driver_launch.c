/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions about graphs, modules and launches. */
#define __CUDA_API_VERSION_INTERNAL
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- graphs: captured and replayed ---- */

CUresult fake_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	(void)mode;
	struct fake_graph *graph = fake_graph_new();
	if (fake_stream_of(stream) != fake_stream_default(fake_current_device()) &&
	    fake_capture_begin(fake_stream_of(stream), graph))
		return CUDA_SUCCESS;
	fake_graph_free(graph);
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult fake_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	bool is_spoiled;
	*graph = (CUgraph)fake_capture_end(fake_stream_of(stream), &is_spoiled);
	return *graph	    ? CUDA_SUCCESS
	       : is_spoiled ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
			    : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult fake_cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
					  unsigned long long flags)
{
	(void)flags;
	*executable = (CUgraphExec)fake_executable_new((struct fake_graph *)graph);
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphInstantiateWithParams(CUgraphExec *executable, CUgraph graph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
	parameters->hErrNode_out = NULL;
	parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return fake_cuGraphInstantiateWithFlags(executable, graph, parameters->flags);
}

CUresult fake_cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
	fake_executable_run((struct fake_executable *)executable, fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphExecDestroy(CUgraphExec executable)
{
	fake_executable_free((struct fake_executable *)executable);
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphDestroy(CUgraph graph)
{
	fake_graph_free((struct fake_graph *)graph);
	return CUDA_SUCCESS;
}

/* ---- graphs that a program builds ---- */

CUresult fake_cuGraphCreate(CUgraph *graph, unsigned int flags)
{
	(void)flags;
	*graph = (CUgraph)fake_graph_new();
	return CUDA_SUCCESS;
}

static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
		    const struct fake_operation *operation)
{
	uint32_t *places = malloc((count + 1) * sizeof(*places));
	for (size_t index = 0; index < count; index++)
		places[index] = fake_node_place((const struct fake_node *)after[index]);
	uint32_t place =
	    fake_graph_add((struct fake_graph *)graph, operation, places, (uint32_t)count);
	free(places);
	*node = (CUgraphNode)fake_graph_node((struct fake_graph *)graph, place);
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
				      size_t count, const CUDA_KERNEL_NODE_PARAMS *given)
{
	const void *kernel = given->func ? (const void *)given->func : (const void *)given->kern;
	uint32_t grid[] = {given->gridDimX, given->gridDimY, given->gridDimZ};
	uint32_t block[] = {given->blockDimX, given->blockDimY, given->blockDimZ};
	struct fake_operation operation =
	    fake_launch_operation(kernel, grid, block, given->sharedMemBytes);
	return add(node, graph, after, count, &operation);
}

CUresult fake_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
				   size_t count, const CUDA_MEMCPY3D *given, CUcontext context)
{
	struct fake_rows to, from;
	(void)context;
	fake_copy_ends(given, &to, &from);
	struct fake_operation operation = fake_copy_operation(
	    to.start, from.start, given->WidthInBytes * given->Height * given->Depth);
	return add(node, graph, after, count, &operation);
}

CUresult fake_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
				   size_t count, const CUDA_MEMSET_NODE_PARAMS *given,
				   CUcontext context)
{
	(void)context;
	struct fake_operation operation = fake_set_operation(
	    (void *)given->dst, given->value, given->elementSize * given->width * given->height);
	return add(node, graph, after, count, &operation);
}

CUresult fake_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
				 size_t count, const CUDA_HOST_NODE_PARAMS *given)
{
	struct fake_operation operation = {
	    .kind = FAKE_HOST, .host = given->fn, .data = given->userData, .peer = -1};
	return add(node, graph, after, count, &operation);
}

CUresult fake_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
				  size_t count)
{
	struct fake_operation nothing = {.kind = FAKE_EMPTY, .peer = -1};
	return add(node, graph, after, count, &nothing);
}

CUresult fake_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
					     CUcontext context, unsigned int initial,
					     unsigned int flags)
{
	(void)graph, (void)context;
	if (flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUgraphConditionalHandle)(uintptr_t)fake_condition_new(initial, flags);
	return CUDA_SUCCESS;
}

/* Kernels, and what decides about others. */
CUresult fake_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
				const CUgraphEdgeData *edges, size_t count,
				CUgraphNodeParams *given)
{
	uint32_t places[count + 1];
	(void)edges;
	for (size_t index = 0; index < count; index++)
		places[index] = fake_node_place((const struct fake_node *)after[index]);
	if (given->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		CUDA_KERNEL_NODE_PARAMS kernel;
		memcpy(&kernel, &given->kernel, sizeof(kernel));
		return fake_cuGraphAddKernelNode_v2(node, graph, after, count, &kernel);
	}
	if (given->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return CUDA_ERROR_NOT_SUPPORTED;
	*node = (CUgraphNode)fake_conditional((struct fake_graph *)graph, given->conditional.handle,
					      given->conditional.type, given->conditional.size,
					      places, (uint32_t)count);
	if (!*node)
		return CUDA_ERROR_INVALID_VALUE;
	given->conditional.phGraph_out = (CUgraph *)((struct fake_node *)*node)->bodies;
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
					const CUgraphNode *to, const CUgraphEdgeData *edges,
					size_t count)
{
	(void)edges;
	for (size_t index = 0; index < count; index++)
		fake_graph_connect((struct fake_graph *)graph,
				   fake_node_place((const struct fake_node *)from[index]),
				   fake_node_place((const struct fake_node *)to[index]));
	return CUDA_SUCCESS;
}

/* ---- modules and launches ---- */

/* A cubin, PTX, or a fatbin, whose kernels have their names alone. */
CUresult fake_cuModuleLoadData(CUmodule *module, const void *image)
{
	*module = (CUmodule)(fake_image_bytes(image) ? fake_module_new(image)
						     : fake_module_of_ptx(image));
	fake_module_use(fake_current_device(), (struct fake_module *)*module);
	return CUDA_SUCCESS;
}

CUresult fake_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
				 CUjit_option *options, void **values)
{
	(void)count, (void)options, (void)values;
	return fake_cuModuleLoadData(module, image);
}

/* A file of one cubin. */
CUresult fake_cuModuleLoad(CUmodule *module, const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return CUDA_ERROR_FILE_NOT_FOUND;
	fseek(file, 0, SEEK_END);
	size_t bytes = (size_t)ftell(file);
	char *image = malloc(bytes + 1);
	rewind(file);
	bool whole = fread(image, 1, bytes, file) == bytes;
	fclose(file);
	if (whole)
		fake_cuModuleLoadData(module, image);
	free(image);
	return whole ? CUDA_SUCCESS : CUDA_ERROR_FILE_NOT_FOUND;
}

/* What is no cubin has its kernels by their names alone. */
CUresult fake_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return fake_cuModuleLoadData(module, image);
}

/* A library is its only module, and its kernels are that one's functions. */
CUresult fake_cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *jit_options,
				void **jit_values, unsigned int jit_count, CUlibraryOption *options,
				void **values, unsigned int count)
{
	(void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values,
	    (void)count;
	return fake_cuModuleLoadData((CUmodule *)library, image);
}

CUresult fake_cuLibraryUnload(CUlibrary library)
{
	fake_module_free(fake_current_device(), (struct fake_module *)library);
	return CUDA_SUCCESS;
}

CUresult fake_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	*module = (CUmodule)library;
	return CUDA_SUCCESS;
}

CUresult fake_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	*kernel = (CUkernel)fake_kernel_add(NULL, name, (struct fake_module *)library);
	return CUDA_SUCCESS;
}

CUresult fake_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	*function = (CUfunction)kernel;
	return CUDA_SUCCESS;
}

CUresult fake_cuModuleUnload(CUmodule module)
{
	fake_module_free(fake_current_device(), (struct fake_module *)module);
	return CUDA_SUCCESS;
}

CUresult fake_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	*function = (CUfunction)fake_kernel_add(NULL, name, (struct fake_module *)module);
	return CUDA_SUCCESS;
}

CUresult fake_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	(void)function;
	*value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
		 : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS	      ? 32
		 : attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION      ? 90
								      : 0;
	return CUDA_SUCCESS;
}

CUresult fake_cuFuncGetName(const char **name, CUfunction function)
{
	*name = ((struct fake_kernel *)function)->name;
	return CUDA_SUCCESS;
}

CUresult fake_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	(void)function, (void)attribute, (void)value;
	return CUDA_SUCCESS;
}

CUresult fake_cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	(void)function;
	(void)config;
	return CUDA_SUCCESS;
}

CUresult fake_cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			     unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			     unsigned int block_z, unsigned int shared, CUstream stream,
			     void **parameters, void **extra)
{
	(void)parameters;
	(void)extra;
	fake_launch(fake_stream_of(stream), (struct fake_kernel *)function,
		    (uint32_t[]){grid_x, grid_y, grid_z}, (uint32_t[]){block_x, block_y, block_z},
		    shared);
	return CUDA_SUCCESS;
}

CUresult fake_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
			       void **extra)
{
	return fake_cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
				   config->blockDimX, config->blockDimY, config->blockDimZ,
				   config->sharedMemBytes, config->hStream, parameters, extra);
}

CUresult fake_cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
					unsigned int grid_y, unsigned int grid_z,
					unsigned int block_x, unsigned int block_y,
					unsigned int block_z, unsigned int shared, CUstream stream,
					void **parameters)
{
	return fake_cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
				   shared, stream, parameters, NULL);
}

CUresult fake_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
							  int size, size_t shared)
{
	(void)function;
	(void)shared;
	*blocks = size > 0 ? 2048 / size : 0;
	*blocks = *blocks > 32 ? 32 : *blocks;
	return CUDA_SUCCESS;
}

CUresult fake_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
					       CUoccupancyB2DSize shared_of, size_t shared,
					       int limit)
{
	(void)function, (void)shared_of, (void)shared;
	*block = limit > 0 && limit < 1024 ? limit : 1024;
	*grid = 2 * 132;
	return CUDA_SUCCESS;
}

CUresult fake_cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
					   const CUlaunchConfig *config)
{
	(void)function;
	(void)config;
	*clusters = 66;
	return CUDA_SUCCESS;
}

CUresult fake_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				     void *address, const cuuint64_t *sizes,
				     const cuuint64_t *strides, const cuuint32_t *box,
				     const cuuint32_t *steps, CUtensorMapInterleave interleave,
				     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
				     CUtensorMapFloatOOBfill fill)
{
	(void)map, (void)type, (void)rank, (void)address, (void)sizes, (void)strides, (void)box,
	    (void)steps;
	(void)interleave, (void)swizzle, (void)promotion, (void)fill;
	return CUDA_SUCCESS;
}
