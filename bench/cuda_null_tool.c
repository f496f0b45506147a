/* SPDX-License-Identifier: Apache-2.0 */
/* A tool for CUDA that is told of launches, copies and sets, records kernels, of graphs too, and throws all away: what CUPTI itself costs.
 * NULL_TOOL_GRAPHS: graphs as a whole. */
#include "collect/adapters/cuda/cupti.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

static void on_call(void *data, uint32_t domain, uint32_t cbid, const void *call)
{
	(void)data, (void)domain, (void)cbid, (void)call;
}

static struct {
#define FUNCTION(name, parameters) sn_cupti_result(*name) parameters;
	SN_CUPTI_FUNCTIONS(FUNCTION)
} cupti;

static bool look_up(void *library)
{
	bool has_all = library;
#define LOOK_UP(name, parameters)                                                                  \
	if (library)                                                                               \
		*(void **)&cupti.name = dlsym(library, #name);                                     \
	has_all = has_all && cupti.name;
	SN_CUPTI_FUNCTIONS(LOOK_UP)
	return has_all;
}

/* As Sonde is: what only asks or sets is not told. */
static void enable_calls(void *subscriber, uint32_t domain)
{
	static const char *const starts[] = {"cudaLaunch",    "__cudaLaunch", "cudaGraphLaunch",
					     "cudaMemcpy",    "cudaMemset",   "cuLaunch",
					     "cuGraphLaunch", "cuMemcpy",     "cuMemset"};
	const char *name;
	for (uint32_t cbid = 1; cbid < 1024; cbid++)
		for (size_t at = 0; at < sizeof(starts) / sizeof(*starts); at++)
			if (!cupti.cuptiGetCallbackName(domain, cbid, &name) && name &&
			    !strncmp(name, starts[at], strlen(starts[at])))
				cupti.cuptiEnableCallback(1, subscriber, domain, cbid);
}

int InitializeInjection(void);
int InitializeInjection(void)
{
	void *subscriber;
	if (!look_up(dlopen(NULL_TOOL_CUPTI, RTLD_NOW)) ||
	    cupti.cuptiSubscribe(&subscriber, on_call, NULL))
		return 0;
	enable_calls(subscriber, SN_CUPTI_DRIVER);
	enable_calls(subscriber, SN_CUPTI_RUNTIME);
	cupti.cuptiActivityRegisterCallbacks(request, complete);
	cupti.cuptiActivityEnable(SN_CUPTI_CONCURRENT_KERNEL);
	if (getenv("NULL_TOOL_GRAPHS"))
		cupti.cuptiActivityEnable(SN_CUPTI_GRAPH_TRACE);
	return 1;
}
