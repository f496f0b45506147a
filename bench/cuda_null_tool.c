/* SPDX-License-Identifier: Apache-2.0 */
/* A tool for CUDA that records kernels, of graphs too, and throws the records away: what CUPTI itself costs. NULL_TOOL_GRAPHS: graphs
 * as a whole. */
#include "collect/adapters/cuda/cupti.h"

#include <dlfcn.h>
#include <stdlib.h>

#ifndef NULL_TOOL_CUPTI
#define NULL_TOOL_CUPTI "libcupti.so.13"
#endif

static uint8_t bytes[8][1 << 20];
static _Atomic unsigned next;

static void request(uint8_t **buffer, size_t *size, size_t *most_records)
{
	*buffer = bytes[next++ % 8];
	*size = sizeof(bytes[0]);
	*most_records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context, (void)stream, (void)buffer, (void)size, (void)valid;
}

int InitializeInjection(void);
int InitializeInjection(void)
{
	void *library = dlopen(NULL_TOOL_CUPTI, RTLD_NOW);
	if (!library)
		return 0;
	sn_cupti_result (*enable)(uint32_t) =
	    (sn_cupti_result(*)(uint32_t))dlsym(library, "cuptiActivityEnable");
	sn_cupti_result (*register_callbacks)(sn_cupti_request, sn_cupti_complete) =
	    (sn_cupti_result(*)(sn_cupti_request, sn_cupti_complete))dlsym(
		library, "cuptiActivityRegisterCallbacks");
	register_callbacks(request, complete);
	enable(SN_CUPTI_CONCURRENT_KERNEL);
	if (getenv("NULL_TOOL_GRAPHS"))
		enable(SN_CUPTI_GRAPH_TRACE);
	return 1;
}
