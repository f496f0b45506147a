/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime and the driver have in common: attributes of devices and kinds of nodes, with the same numbers, and how
 * one finds the other's functions. */
#include "runtime.h"

int fake_device_attribute(int *value, int attribute, int device)
{
	static const struct {
		int attribute, value;
	} known[] = {
	    {cudaDevAttrMaxThreadsPerBlock, 1024},
	    {cudaDevAttrMaxBlockDimX, 1024},
	    {cudaDevAttrMaxBlockDimY, 1024},
	    {cudaDevAttrMaxBlockDimZ, 64},
	    {cudaDevAttrMaxGridDimX, 2147483647},
	    {cudaDevAttrMaxGridDimY, 65535},
	    {cudaDevAttrMaxGridDimZ, 65535},
	    {cudaDevAttrMaxSharedMemoryPerBlock, 49152},
	    {cudaDevAttrMaxSharedMemoryPerBlockOptin, 232448},
	    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 233472},
	    {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
	    {cudaDevAttrTotalConstantMemory, 65536},
	    {cudaDevAttrWarpSize, 32},
	    {cudaDevAttrMaxRegistersPerBlock, 65536},
	    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
	    {cudaDevAttrClockRate, 1980000},
	    {cudaDevAttrMemoryClockRate, 2619000},
	    {cudaDevAttrGlobalMemoryBusWidth, 5120},
	    {cudaDevAttrL2CacheSize, 52428800},
	    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
	    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
	    {cudaDevAttrMultiProcessorCount, 132},
	    {cudaDevAttrComputeCapabilityMajor, 9},
	    {cudaDevAttrComputeCapabilityMinor, 0},
	    {cudaDevAttrUnifiedAddressing, 1},
	    {cudaDevAttrConcurrentKernels, 1},
	    {cudaDevAttrManagedMemory, 1},
	    {cudaDevAttrConcurrentManagedAccess, 1},
	    {cudaDevAttrStreamPrioritiesSupported, 1},
	    {cudaDevAttrCooperativeLaunch, 1},
	    {cudaDevAttrCanMapHostMemory, 1},
	    {cudaDevAttrMemoryPoolsSupported, 1},
	    {cudaDevAttrAsyncEngineCount, 3},
	    {cudaDevAttrTextureAlignment, 512},
	};
	*value = attribute == cudaDevAttrPciBusId ? 0x10 + device : 0;
	for (size_t index = 0; index < sizeof(known) / sizeof(known[0]); index++)
		if (known[index].attribute == attribute)
			*value = known[index].value;
	return 0;
}

int (*fake_find_entry)(const char *name, void **function, int version, uint64_t flags, int *result);

const struct fake_node *fake_conditional(struct fake_graph *graph, uint64_t handle, int type,
					 uint32_t bodies, const uint32_t *after,
					 uint32_t after_count)
{
	static const struct {
		enum fake_choice choice;
		uint32_t most;
	} known[] = {
	    [cudaGraphCondTypeIf] = {FAKE_IF, 2},
	    [cudaGraphCondTypeWhile] = {FAKE_WHILE, 1},
	    [cudaGraphCondTypeSwitch] = {FAKE_SWITCH, UINT32_MAX},
	};
	if (type < 0 || type > cudaGraphCondTypeSwitch || !bodies || bodies > known[type].most)
		return NULL;
	uint32_t place =
	    fake_graph_add_conditional(graph, (struct fake_condition *)(uintptr_t)handle,
				       known[type].choice, bodies, after, after_count);
	return fake_graph_node(graph, place);
}
