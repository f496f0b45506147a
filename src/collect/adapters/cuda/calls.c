/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's calls where CUPTI does not tell of them: another tool has it, or it refuses, or is not there. Then those that go through
 * tables of addresses, were looked up by name or handed out by the driver have frames and times, as other accelerators' have
 * (adapters/configured); what devices do is not known. Whoever asks the driver for functions (cuGetProcAddress), as a runtime does that
 * is linked statically, keeps them from before it is known whether CUPTI tells: so stubs are handed out always, and let calls pass by meanwhile.
 */
#include "cuda.h"
#include "others.h"

#include "collect/adapters/configured/configured.h"
#include "collect/core/adapters.h"
#include "collect/core/line.h"

#include <errno.h>
#include <string.h>

static _Atomic bool are_wanted;
static struct sn_configured_device *runtime, *driver;
static struct sn_configured_device *_Atomic given; /* what the driver hands out */

/* ---- the functions ---- */

struct function {
	const char *name;
	uint8_t words, stream, bytes;
};

enum { NOWHERE = SN_CONFIGURED_NOWHERE };

/* A program that is compiled for a default stream of each thread calls the second. */
#define SN_CUDA_STREAM_CALL(name, ...) {#name, __VA_ARGS__}, {#name "_ptsz", __VA_ARGS__},
#define SN_CUDA_ZERO_CALL(name, ...)   {#name, __VA_ARGS__}, {#name "_ptds", __VA_ARGS__},
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

/* cudaError_t and CUresult: 0 is success. */
static bool succeeds(uint64_t result)
{
	return !(uint32_t)result;
}

/* A call that fails moves nothing. */
static void leave(const struct sn_configured_call *call,
		  const struct sn_configured_arguments *arguments, uint64_t result)
{
	(void)call, (void)arguments;
	if (!succeeds(result))
		sn_gpu_call_fails();
	sn_gpu_call_exit();
}

static struct sn_configured_call described(const struct function *function)
{
	struct sn_configured_call call = {.words = function->words,
					  .interface = &sn_cuda,
					  .stream = function->stream,
					  .bytes = function->bytes,
					  .kernel = NOWHERE,
					  .leave = leave};
	sn_line_add(&SN_LINE(call.name), function->name);
	return call;
}

static struct sn_configured_device *add(const char *library, const struct function *functions,
					size_t count)
{
	struct sn_configured_device *device = sn_configured_add_device("cuda", library);
	for (size_t at = 0; device && at < count; at++) {
		struct sn_configured_call call = described(&functions[at]);
		if (!sn_configured_add_call(device, &call))
			return NULL;
	}
	return device;
}

/* ---- what the driver hands out ---- */

static const char *const asking_runtime[] = {
    "cudaGetDriverEntryPoint", "cudaGetDriverEntryPoint_ptsz", "cudaGetDriverEntryPointByVersion",
    "cudaGetDriverEntryPointByVersion_ptsz"};
static const char *const asking_driver[] = {"cuGetProcAddress", "cuGetProcAddress_v2"};

/* The stub of a function that was asked for by its name without a version; the function itself where that is not described. Each version has
 * the same places, so it does not matter which of them it is. */
static uintptr_t stand_in(const char *name, uintptr_t function)
{
	if (sn_configured_is_stub(function))
		return function;
	for (uint32_t i = given->first; i < given->end; i++) {
		struct sn_configured_call *call = &sn_configured_calls[i];
		uintptr_t none = 0;
		if (!strcmp(call->name, name) && (atomic_compare_exchange_strong_explicit(
						      &call->function, &none, function,
						      memory_order_relaxed, memory_order_relaxed) ||
						  none == function))
			return sn_configured_stub(i);
	}
	return function;
}

static void ask(const struct sn_configured_call *call,
		const struct sn_configured_arguments *arguments)
{
	(void)call, (void)arguments;
}

/* All of them have the name first, and then where the answer goes. */
static void answer(const struct sn_configured_call *call,
		   const struct sn_configured_arguments *arguments, uint64_t result)
{
	const char *name = (const char *)arguments->registers[0];
	uintptr_t *function = (uintptr_t *)arguments->registers[1];
	(void)call;
	if (succeeds(result) && name && function && *function)
		*function = stand_in(name, *function);
}

static bool add_asking(struct sn_configured_device *device, const char *name, bool is_given)
{
	struct sn_configured_call call = {.is_given = is_given, .enter = ask, .leave = answer};
	sn_line_add(&SN_LINE(call.name), name);
	return device && sn_configured_add_call(device, &call);
}

/* There is room for as many forms of a function as are described. */
static bool add_given(const struct function *function)
{
	struct sn_configured_call call = described(function);
	char *end = strstr(call.name, "_");
	if (end)
		*end = 0;
	call.is_given = true;
	call.is_heard = &are_wanted;
	return sn_configured_add_call(given, &call);
}

/* First what is handed out: it must be there when somebody asks. */
static bool add_answers(void)
{
	bool is_added = true;
	given = sn_configured_add_device("cuda", "libcuda.so");
	for (size_t i = 0; i < COUNT(asking_driver); i++)
		is_added = is_added && add_asking(given, "cuGetProcAddress", true);
	for (size_t i = 0; i < COUNT(of_driver); i++)
		is_added = is_added && add_given(&of_driver[i]);
	struct sn_configured_device *asking = sn_configured_add_device("cuda", "libcuda.so");
	for (size_t i = 0; i < COUNT(asking_driver); i++)
		is_added = is_added && add_asking(asking, asking_driver[i], false);
	asking = sn_configured_add_device("cuda", "libcudart");
	for (size_t i = 0; i < COUNT(asking_runtime); i++)
		is_added = is_added && add_asking(asking, asking_runtime[i], false);
	return is_added;
}

/* ---- the adapter ---- */

static int attach(void)
{
	if (!given && sn_configured_is_loaded("libcuda.so") && !add_answers())
		return -ENOMEM;
	if (sn_cuda_injected())
		atomic_store_explicit(&are_wanted, true, memory_order_relaxed);
	if (atomic_load_explicit(&are_wanted, memory_order_acquire)) {
		/* its own packages may give the runtime a name with a number behind it */
		if (!runtime)
			runtime = add("libcudart", of_runtime, COUNT(of_runtime));
		if (!driver)
			driver = add("libcuda.so", of_driver, COUNT(of_driver));
		if (!runtime || !driver)
			return -ENOMEM;
	}
	if (given || driver)
		sn_configured_find();
	/* modules that are loaded later call them, too */
	return -EAGAIN;
}

static void attach_now(void)
{
	if (!sn_measuring() || !sn_thread_self())
		return;
	sn_adapters_retry();
	sn_adapters_attach();
}

void sn_cuda_hear_calls(void)
{
	if (!atomic_exchange_explicit(&are_wanted, true, memory_order_release))
		attach_now();
}

void sn_cuda_asked(void)
{
	if (!given)
		attach_now();
}

static const char *status(void)
{
	static char text[160];
	struct sn_line line = SN_LINE(text);
	if (!runtime || !driver)
		return NULL;
	sn_line_add(&line, "heard without CUPTI: ");
	sn_line_add_number(&line, sn_configured_found(runtime));
	sn_line_add(&line, " functions of libcudart.so and ");
	sn_line_add_number(&line, sn_configured_found(driver));
	sn_line_add(&line, " of libcuda.so");
	if (given && sn_configured_found(given)) {
		sn_line_add(&line, ", ");
		sn_line_add_number(&line, sn_configured_found(given));
		sn_line_add(&line, " that it handed out");
	}
	sn_line_add(&line, "; nothing of what devices do");
	return text;
}

const struct sn_adapter sn_adapter_cuda_calls = {
    .name = "cuda-calls",
    .attach = attach,
    .status = status,
};
