/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other users of CUPTI. Most releases have room for one: then the program's own comes first, whenever it comes. Its calls pass through
 * here, also those of functions that it finds by dlsym, and Sonde gives CUPTI up before the first of them. Where both share CUPTI, both stay.
 */
#include "cuda.h"
#include "others.h"

#include "collect/core/line.h"
#include "collect/intercept/intercept.h"
#include "collect/intercept/real_symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(const char *) other; /* the path of the library that subscribed */

/* ---- who it is ---- */

static const struct {
	const char *library, *tool;
} tools[] = {
    {"libToolsInjection", "Nsight Systems"}, {"libInterceptorInjection", "Nsight Compute"},
    {"libcuda-injection", "Nsight Compute"}, {"libsanitizer-collection", "compute-sanitizer"},
    {"libproton", "Triton's Proton"},	     {"libhpcrun", "HPCToolkit"},
    {"libtorch_cpu", "PyTorch's profiler"},
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static const char *tool_of(const char *path)
{
	const char *name = base_name(path);
	for (size_t index = 0; index < sizeof(tools) / sizeof(*tools); index++)
		if (!strncmp(name, tools[index].library, strlen(tools[index].library)))
			return tools[index].tool;
	return name;
}

const char *sn_cuda_injected(void)
{
	static _Atomic bool is_known;
	static char name[64];
	if (atomic_exchange_explicit(&is_known, true, memory_order_relaxed))
		return *name ? name : NULL;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	if (path && *path && !sn_begins_with(base_name(path), "libsonde.so"))
		sn_line_add(&SN_LINE(name), tool_of(path));
	return *name ? name : NULL;
}

/* Tools that give no name, by their libraries. PyTorch's has its in every process with PyTorch. */
static const char *tool_in_process(void)
{
	for (size_t index = 0; index < sizeof(tools) / sizeof(*tools); index++)
		if (sn_module_by_name(tools[index].library) != SN_MODULE_NONE)
			return tools[index].tool;
	return "which one is not known";
}

const char *sn_cuda_holder(const char *told)
{
	static char text[128];
	static const char prefix[] = "CUPTI for ";
	struct sn_line line = SN_LINE(text);
	const char *path = atomic_load_explicit(&other, memory_order_relaxed);
	if (!strncmp(told, prefix, sizeof(prefix) - 1))
		told += sizeof(prefix) - 1;
	sn_line_add(&line, *told ? told : path ? tool_of(path) : tool_in_process());
	return text;
}

bool sn_cuda_is_held(void)
{
	return atomic_load_explicit(&other, memory_order_relaxed);
}

/* ---- its calls ---- */

static const char *caller_path(const void *address)
{
	uint32_t module = sn_module_find_or_refresh((uintptr_t)address);
	return module == SN_MODULE_NONE ? "the program" : sn_module_at(module)->path;
}

/* The other one's call waits until CUPTI has given what it has. */
static void give_up(const char *path)
{
	char seconds[24];
	struct sn_line line = SN_LINE(seconds);
	sn_line_add_number(&line, sn_cuda_attached_ns() / 1000000000u);
	if (!sn_cuda_release())
		return;
	sn_cuda_say("CUPTI: kernels, copies and sets of its first ", seconds, " s; then ",
		    tool_of(path), " took CUPTI", NULL);
	sn_cuda_hear_calls();
}

static void before(const void *address)
{
	int saved_errno = errno;
	give_up(caller_path(address));
	errno = saved_errno;
}

static void after(const void *address, sn_cupti_result result)
{
	if (result == SN_CUPTI_SUCCESS)
		atomic_store_explicit(&other, caller_path(address), memory_order_relaxed);
}

/* ---- the functions: by which a tool takes CUPTI for itself ---- */

#define FUNCTIONS(X)                                                                               \
	X(cuptiSubscribe)                                                                          \
	X(cuptiSubscribe_v2)                                                                       \
	X(cuptiActivityRegisterTimestampCallback)                                                  \
	X(cuptiActivityRegisterCallbacks)                                                          \
	X(cuptiActivityEnable)                                                                     \
	X(cuptiFinalize)

enum function {
#define NUMBER(name) NUMBER_##name,
	FUNCTIONS(NUMBER)
#undef NUMBER
};

/* What dlsym found, of the first CUPTI that was asked for it; else the program has it by its name. */
static _Atomic(void *) asked_for[NUMBER_cuptiFinalize + 1];

static void *real_of(enum function number, const char *name)
{
	void *found = atomic_load_explicit(&asked_for[number], memory_order_relaxed);
	return found ? found : sn_real_symbol(name);
}

/* PyTorch's subscribes seldom: its first call is that which sets the clock. */
#define TAKES(name, parameters, ...)                                                               \
	SN_PUBLIC(sn_cupti_result, name, parameters)                                               \
	{                                                                                          \
		sn_cupti_result(*real) parameters = real_of(NUMBER_##name, #name);                 \
		if (!real)                                                                         \
			return SN_CUPTI_ERROR_NOT_INITIALIZED;                                     \
		before(__builtin_return_address(0));                                               \
		sn_cupti_result result = real(__VA_ARGS__);                                        \
		after(__builtin_return_address(0), result);                                        \
		return result;                                                                     \
	}

TAKES(cuptiSubscribe, (void **handle, sn_cupti_callback callback, void *data), handle, callback,
      data)
TAKES(cuptiActivityRegisterTimestampCallback, (uint64_t(*now)(void)), now)
TAKES(cuptiActivityRegisterCallbacks, (sn_cupti_request request, sn_cupti_complete complete),
      request, complete)
TAKES(cuptiActivityEnable, (uint32_t kind), kind)

/* One that shares CUPTI is beside Sonde, if that shares it as well. */
SN_PUBLIC(sn_cupti_result, cuptiSubscribe_v2,
	  (void **handle, sn_cupti_callback callback, void *data,
	   struct sn_cupti_subscriber *parameters))
{
	sn_cupti_result (*real)(void **, sn_cupti_callback, void *, struct sn_cupti_subscriber *) =
	    real_of(NUMBER_cuptiSubscribe_v2, "cuptiSubscribe_v2");
	bool shares =
	    parameters && parameters->bytes > SN_CUPTI_SUBSCRIBER_FIRST_BYTES && parameters->shares;
	if (!real)
		return SN_CUPTI_ERROR_NOT_INITIALIZED;
	if (!(shares && sn_cupti.shares))
		before(__builtin_return_address(0));
	sn_cupti_result result = real(handle, callback, data, parameters);
	if (!shares)
		after(__builtin_return_address(0), result);
	return result;
}

/* Ends everybody's subscription, where CUPTI is not shared. */
SN_PUBLIC(sn_cupti_result, cuptiFinalize, (void))
{
	sn_cupti_result (*real)(void) = real_of(NUMBER_cuptiFinalize, "cuptiFinalize");
	if (!real)
		return SN_CUPTI_ERROR_NOT_INITIALIZED;
	if (!sn_cupti.shares)
		before(__builtin_return_address(0));
	return real();
}

/* ---- dlsym ---- */

static const struct {
	const char *name;
	void *stand_in;
} functions[] = {
#define ENTRY(name) [NUMBER_##name] = {#name, name},
    FUNCTIONS(ENTRY)
#undef ENTRY
};

static int number_of(const char *name)
{
	/* most names end here */
	if (name[0] != 'c' || name[1] != 'u' || name[2] != 'p')
		return -1;
	for (int number = 0; number <= NUMBER_cuptiFinalize; number++)
		if (!strcmp(name, functions[number].name))
			return number;
	return -1;
}

bool sn_cuda_has_stand_in(const char *name)
{
	return number_of(name) >= 0;
}

void *sn_cuda_stand_in(const char *name, void *found)
{
	int number = number_of(name);
	void *first = NULL;
	if (!found || found == functions[number].stand_in)
		return found;
	/* another CUPTI's has no place: it is called past the collector */
	if (!atomic_compare_exchange_strong_explicit(&asked_for[number], &first, found,
						     memory_order_relaxed, memory_order_relaxed) &&
	    first != found)
		return found;
	return functions[number].stand_in;
}
