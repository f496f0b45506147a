/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CUPTI is. A program seldom names it: PyTorch brings it beside the runtime, in a wheel or two; a toolkit has it in a folder
 * that the loader does not know. Two in one process do not get on, and one that is newer than the driver refuses.
 */
#include "cuda.h"

#include "collect/core/line.h"
#include "collect/intercept/intercept.h"

#include <dlfcn.h>
#include <limits.h>

/* The newest first. */
static const struct {
	uint64_t release;
	const char *name;
} libraries[] = {
    {13, "libcupti.so.13"}, {12, "libcupti.so.12"}, {11, "libcupti.so.11.8"}, {0, "libcupti.so"}};

#define EACH_LIBRARY(index)                                                                        \
	size_t index = 0;                                                                          \
	index < sizeof(libraries) / sizeof(*libraries);                                            \
	index++

/* Seen from the folder of the runtime: the same; of wheels, up to CUDA 12; of toolkits. */
static const char *const beside[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/",
				     "../../../extras/CUPTI/lib64/"};
/* Where the runtime is a part of the program. */
static const char *const toolkits[] = {"/usr/local/cuda/extras/CUPTI/lib64/",
				       "/usr/local/cuda/lib64/", "/opt/cuda/extras/CUPTI/lib64/"};

static void *loaded(void)
{
	void *library = NULL;
	for (EACH_LIBRARY(index))
		if ((library = dlopen(libraries[index].name, RTLD_NOW | RTLD_NOLOAD)))
			return library;
	uint32_t module = sn_module_by_name("libcupti.so");
	return module == SN_MODULE_NONE
		   ? NULL
		   : dlopen(sn_module_at(module)->path, RTLD_NOW | RTLD_NOLOAD);
}

/* Of "libcudart.so.12.9.37" 12; 0 where it has none. */
static uint64_t release_of(const char *path)
{
	uint64_t release = 0;
	const char *number = strstr(path, ".so.");
	if (number)
		sn_parse_number(number + strlen(".so."), 10, &release);
	return release;
}

/* The newest that the driver knows. */
static uint64_t driver_release(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*ask)(int *) =
	    driver ? (int (*)(int *))sn_real_dlsym(driver, "cuDriverGetVersion") : NULL;
	int version = 0;
	if (!ask || ask(&version))
		version = 0;
	if (driver)
		dlclose(driver);
	return (uint64_t)version / 1000;
}

static void *open_in(const char *folder, size_t length, const char *below, const char *name)
{
	static char path[PATH_MAX]; /* not on the program's stack; attaching is tried once */
	struct sn_line line = SN_LINE(path);
	for (size_t at = 0; at < length && line.length + 1 < line.bytes; at++)
		line.text[line.length++] = folder[at];
	SN_LINE_ADD(&line, below, name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* `runtime`: the path of libcudart, or "". */
static void *open_one(const char *name, const char *runtime)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	const char *slash = strrchr(runtime, '/');
	for (size_t at = 0; slash && !library && at < sizeof(beside) / sizeof(*beside); at++)
		library = open_in(runtime, (size_t)(slash + 1 - runtime), beside[at], name);
	for (size_t at = 0; !library && at < sizeof(toolkits) / sizeof(*toolkits); at++)
		library = open_in("", 0, toolkits[at], name);
	return library;
}

void *sn_cuda_open_library(void)
{
	uint32_t module = sn_module_by_name("libcudart");
	const char *runtime = module == SN_MODULE_NONE ? "" : sn_module_at(module)->path;
	uint64_t driver = driver_release(),
		 first = module == SN_MODULE_NONE ? driver : release_of(runtime);
	void *library = loaded();
	for (EACH_LIBRARY(index))
		if (!library && libraries[index].release == first)
			library = open_one(libraries[index].name, runtime);
	for (EACH_LIBRARY(index))
		if (!library && (!driver || libraries[index].release <= driver))
			library = open_one(libraries[index].name, runtime);
	return library;
}
