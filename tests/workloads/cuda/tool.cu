/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses CUPTI itself and prints how many kernels it was told of, of 30 + 20. Usage: tool HOW
 *	first   without a subscription, before the driver is initialised
 *	later   subscribing, after the first 30
 *	shared  as one of several subscribers, after the first 30
 *	asked   as later, by functions that dlsym finds in libcupti
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cupti.h>
#include <dlfcn.h>

static CUpti_SubscriberHandle handle;
static int kernels, calls;
static bool shares;

__global__ void scale(float *x, float a)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] *= a;
}

static void check(const char *what, CUptiResult result)
{
	if (result)
		printf("%s: error %d\n", what, (int)result);
}

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
	*size = 1 << 16;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	*most = 0;
}

static void complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = NULL;
	while (!(shares ? cuptiActivityGetNextRecord_v2(handle, buffer, valid, &record)
			: cuptiActivityGetNextRecord(buffer, valid, &record)))
		kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	free(buffer);
}

static void request_v2(uint8_t **buffer, size_t *size, size_t *most, CUpti_BufferCallbackRequestInfo *)
{
	request(buffer, size, most);
}

static void complete_v2(uint8_t *buffer, size_t size, size_t valid, CUpti_BufferCallbackCompleteInfo *)
{
	complete(NULL, 0, buffer, size, valid);
}

static void on_call(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *data)
{
	calls += ((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER;
}

/* Those that a tool takes CUPTI with, by name or as they are linked. */
static decltype(&cuptiSubscribe) subscribe = cuptiSubscribe;
static decltype(&cuptiActivityRegisterCallbacks) register_callbacks = cuptiActivityRegisterCallbacks;
static decltype(&cuptiActivityEnable) enable = cuptiActivityEnable;

static void ask()
{
	void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	subscribe = (decltype(subscribe))dlsym(library, "cuptiSubscribe");
	register_callbacks = (decltype(register_callbacks))dlsym(library, "cuptiActivityRegisterCallbacks");
	enable = (decltype(enable))dlsym(library, "cuptiActivityEnable");
	if (dlsym(library, "cuptiNothing") || !dlerror())
		printf("found nothing\n");
}

static void begin_alone(bool subscribes)
{
	if (subscribes) {
		check("subscribe", subscribe(&handle, on_call, NULL));
		check("callback", cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API,
						      CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000));
	}
	check("buffers", register_callbacks(request, complete));
	check("enable", enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

static void begin_shared()
{
	CUpti_SubscriberParams params = {sizeof(params), "tool", NULL, 0, 1, {0}};
	shares = true;
	check("subscribe", cuptiSubscribe_v2(&handle, on_call, NULL, &params));
	check("callback", cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API,
					      CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000));
	check("buffers", cuptiActivityRegisterCallbacks_v2(handle, request_v2, complete_v2));
	check("enable", cuptiActivityEnable_v2(handle, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL));
}

int main(int, char **argv)
{
	float *x;
	if (!strcmp(argv[1], "first"))
		begin_alone(false);
	cudaMalloc(&x, 1 << 18);
	for (int i = 0; i < 30; i++)
		scale<<<256, 256>>>(x, 2.0f); // alone
	cudaDeviceSynchronize();
	if (!strcmp(argv[1], "asked"))
		ask();
	if (!strcmp(argv[1], "later") || !strcmp(argv[1], "asked"))
		begin_alone(true);
	if (!strcmp(argv[1], "shared"))
		begin_shared();
	for (int i = 0; i < 20; i++)
		scale<<<256, 256>>>(x, 2.0f); // beside
	cudaDeviceSynchronize();
	check("flush", cuptiActivityFlushAll(1));
	printf("%d kernels %d calls\n", kernels, calls);
}
