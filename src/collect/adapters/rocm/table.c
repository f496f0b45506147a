/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of functions through which AMD's runtimes call themselves, and by which tools hear of calls. rocprofiler-register
 * hands them to rocprofiler_set_api_table; where none is in the process it loads rocprofiler-sdk, and ends the program if there
 * is none. So ours stands before: it hands the tables to the SDK where it is found, and where it is not, or does not take us
 * as a tool, hears HIP's calls in the table itself.
 */
#include "rocm.h"

#include "collect/core/line.h"
#include "collect/intercept/intercept.h"
#include "collect/interface/roctx.h"

#include <dlfcn.h>
#include <stdlib.h>

/* ---- HIP's table: its size, and pointers to functions, to which releases only append ---- */

struct table {
	uint64_t bytes;
	void *functions[];
};

struct sn_hip_size {
	uint32_t x, y, z;
};

static void enter(const char *name, const void *frame)
{
	if (sn_rocm_has_table())
		sn_gpu_call_enter(
		    &sn_rocm, &(struct sn_gpu_api_call){.name = name, .stack = (uintptr_t)frame});
}

#define HIP(place, name, parameters, arguments)                                                    \
	static int(*real_##name) parameters;                                                       \
	static int call_##name parameters                                                          \
	{                                                                                          \
		enter(#name, __builtin_frame_address(0));                                          \
		int status = real_##name arguments;                                                \
		sn_gpu_call_exit();                                                                \
		return status;                                                                     \
	}
#include "calls.def"
#undef HIP

static void wrap(struct table *table, uint32_t place, void *own, void **real)
{
	if (table->bytes < sizeof(*table) + (place + 1) * sizeof(void *) ||
	    !table->functions[place] || table->functions[place] == own)
		return;
	*real = table->functions[place];
	table->functions[place] = own;
}

/* Of a second HIP in the process no calls are heard. */
static void wrap_table(struct table *table)
{
	static _Atomic bool was_wrapped;
	if (atomic_exchange_explicit(&was_wrapped, true, memory_order_relaxed))
		return;
#define HIP(place, name, parameters, arguments)                                                    \
	wrap(table, place, (void *)call_##name, (void **)&real_##name);
#include "calls.def"
#undef HIP
	sn_rocm_set_table();
}

/* ---- the SDK ---- */

typedef int set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			  uint64_t count);
SN_EXPORT set_api_table rocprofiler_set_api_table;

/* MT: once. */
static void *open_beside(const char *module, const char *name)
{
	static char path[4096]; /* the program's stack may be small */
	struct sn_line line = SN_LINE(path);
	uint32_t index = sn_module_by_name(module);
	if (index == SN_MODULE_NONE)
		return NULL;
	sn_line_add(&line, sn_module_at(index)->path);
	while (line.length && path[line.length - 1] != '/')
		path[--line.length] = 0;
	sn_line_add(&line, name);
	return dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
}

/* As rocprofiler-register looks for it, and by the name that is there without a development package. */
static void *open_sdk(void)
{
	static const char *const names[] = {"librocprofiler-sdk.so", "librocprofiler-sdk.so.1"};
	const char *wanted = getenv("ROCPROFILER_REGISTER_LIBRARY");
	uint32_t loaded = sn_module_by_name("librocprofiler-sdk.so");
	void *library = NULL;
	if (wanted && *wanted)
		return dlopen(wanted, RTLD_LAZY | RTLD_GLOBAL);
	if (loaded != SN_MODULE_NONE)
		return dlopen(sn_module_at(loaded)->path, RTLD_LAZY | RTLD_NOLOAD);
	for (size_t index = 0; index < 2 && !library; index++)
		library = dlopen(names[index], RTLD_LAZY | RTLD_GLOBAL);
	for (size_t index = 0; index < 2 && !library; index++)
		library = open_beside("librocprofiler-register.so", names[index]);
	return library;
}

/* Looked for once: where it is not at first, the program brings none. */
static set_api_table *of_sdk(void)
{
	static _Atomic(void *) found;
	static _Atomic bool was_looked_for;
	if (!atomic_exchange_explicit(&was_looked_for, true, memory_order_acq_rel)) {
		void *library = open_sdk();
		void *function = library ? dlsym(library, "rocprofiler_set_api_table") : NULL;
		if (function != (void *)rocprofiler_set_api_table)
			atomic_store_explicit(&found, function, memory_order_release);
	}
	return (set_api_table *)atomic_load_explicit(&found, memory_order_acquire);
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);
	return value && *value;
}

/* Whether rocprofiler-register would have found a tool without us. */
static bool has_other_tool(void)
{
	return is_set("ROCP_TOOL_LIBRARIES") || is_set("ROCPROFILER_REGISTER_FORCE_LOAD") ||
	       is_set("ROCPROFILER_REGISTER_LIBRARY") || dlsym(RTLD_NEXT, "rocprofiler_configure");
}

int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t count)
{
	bool measures = sn_measuring();
	set_api_table *sdk = measures || has_other_tool() ? of_sdk() : NULL;
	int status = sdk ? sdk(name, version, instance, tables, count) : 0;
	if (measures && count && !strcmp(name, "roctx"))
		sn_roctx_wrap(tables[0]);
	if (!measures || sn_rocm_has_records() || strcmp(name, "hip") || !count)
		return status;
	sn_rocm_without_records(sdk ? "rocprofiler-sdk takes no tool any more"
				    : "no librocprofiler-sdk.so was found");
	wrap_table(tables[0]);
	return status;
}
