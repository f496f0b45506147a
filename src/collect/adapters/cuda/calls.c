/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's calls where CUPTI does not tell of them: another tool has it, or it refuses, or is not there. Then those that go through
 * tables of addresses or were looked up by name have frames and times, as other accelerators' have (adapters/configured); what devices do is
 * not known. Calls of a runtime that is linked statically are not met, nor what a runtime asks its driver for.
 */
#include "cuda.h"

#include "collect/adapters/configured/configured.h"
#include "collect/core/adapters.h"
#include "collect/core/line.h"

#include <errno.h>

static _Atomic bool are_wanted;
static struct sn_configured_device *runtime, *driver;

/* ---- the functions ---- */

struct function {
	const char *name;
	uint8_t words, stream, bytes;
};

enum { NOWHERE = SN_CONFIGURED_NOWHERE };

/* A program that is compiled for a default stream of each thread calls the second. */
#define SN_CUDA_STREAM_CALL(name, ...) {#name, __VA_ARGS__}, {#name "_ptsz", __VA_ARGS__},
#define SN_CUDA_CALL(name, ...)	       {#name, __VA_ARGS__},

static const struct function of_runtime[] = {
#define SN_CUDA_RUNTIME
#include "calls.def"
#undef SN_CUDA_RUNTIME
};

static const struct function of_driver[] = {
#define SN_CUDA_DRIVER
#include "calls.def"
#undef SN_CUDA_DRIVER
};

#define COUNT(functions) (sizeof(functions) / sizeof(*(functions)))

/* cudaError_t and CUresult: 0 is success. A call that fails moves nothing. */
static void leave(const struct sn_configured_call *call, uint64_t result)
{
	(void)call;
	if ((uint32_t)result)
		sn_gpu_call_fails();
	sn_gpu_call_exit();
}

static struct sn_configured_device *add(const char *library, const struct function *functions,
					size_t count)
{
	struct sn_configured_device *device = sn_configured_add_device("cuda", library);
	for (size_t at = 0; device && at < count; at++) {
		struct sn_configured_call call = {.words = functions[at].words,
						  .interface = &sn_cuda,
						  .stream = functions[at].stream,
						  .bytes = functions[at].bytes,
						  .kernel = NOWHERE,
						  .leave = leave};
		sn_line_add(&SN_LINE(call.name), functions[at].name);
		if (!sn_configured_add_call(device, &call))
			return NULL;
	}
	return device;
}

/* ---- the adapter ---- */

static int attach(void)
{
	if (!sn_cuda_injected() && !atomic_load_explicit(&are_wanted, memory_order_acquire))
		return -EAGAIN;
	/* its own packages may give the runtime a name with a number behind it */
	if (!runtime)
		runtime = add("libcudart", of_runtime, COUNT(of_runtime));
	if (!driver)
		driver = add("libcuda.so", of_driver, COUNT(of_driver));
	sn_configured_find();
	/* modules that are loaded later call them, too */
	return runtime && driver ? -EAGAIN : -ENOMEM;
}

void sn_cuda_hear_calls(void)
{
	if (atomic_exchange_explicit(&are_wanted, true, memory_order_release) || !sn_measuring() ||
	    !sn_thread_self())
		return;
	sn_adapters_retry();
	sn_adapters_attach();
}

static const char *status(void)
{
	static char text[128];
	struct sn_line line = SN_LINE(text);
	if (!runtime || !driver)
		return NULL;
	sn_line_add(&line, "heard without CUPTI: ");
	sn_line_add_number(&line, sn_configured_found(runtime));
	sn_line_add(&line, " functions of libcudart.so and ");
	sn_line_add_number(&line, sn_configured_found(driver));
	sn_line_add(&line, " of libcuda.so; nothing of what devices do");
	return text;
}

const struct sn_adapter sn_adapter_cuda_calls = {
    .name = "cuda-calls",
    .attach = attach,
    .status = status,
};
