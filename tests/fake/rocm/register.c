/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for librocprofiler-register.so.0, whose source is in no registry of packages: where a tool is in the process, or
 * named by a variable, tables go to rocprofiler_set_api_table of the process, else of librocprofiler-sdk.so. As AMD's does, it
 * ends the program where there is a tool and neither.
 */
#include "register.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			  uint64_t count);

static int is_set(const char *variable)
{
	const char *value = getenv(variable);
	return value && *value;
}

static int has_tool(void)
{
	return dlsym(RTLD_DEFAULT, "rocprofiler_configure") || is_set("ROCP_TOOL_LIBRARIES") ||
	       is_set("ROCPROFILER_REGISTER_LIBRARY") || is_set("ROCPROFILER_REGISTER_FORCE_LOAD");
}

static set_api_table *find(void)
{
	static set_api_table *found;
	if (found)
		return found;
	found = (set_api_table *)dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table");
	if (found)
		return found;
	const char *name = getenv("ROCPROFILER_REGISTER_LIBRARY");
	void *library =
	    dlopen(name && *name ? name : "librocprofiler-sdk.so", RTLD_GLOBAL | RTLD_LAZY);
	if (library)
		found = (set_api_table *)dlsym(library, "rocprofiler_set_api_table");
	if (!found) {
		fprintf(stderr, "rocprofiler_set_api_table not found\n");
		abort();
	}
	return found;
}

int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
					   uint32_t version, void **tables, uint64_t count,
					   struct fake_register_id *id)
{
	static uint64_t instances;
	(void)import;
	id->handle = ++instances;
	if (!has_tool())
		return 1;
	return find()(name, version, 0, tables, count) ? 6 : 0;
}
