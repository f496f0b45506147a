/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a cubin by the driver's interface, launches its kernel "walk" and unloads it, as often as said: modules FILE TIMES LAUNCHES. Prints how
 * often the kernel was launched. */
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <dlfcn.h>

/* Programs have no driver to link with where there is none. */
template <class F> static F function(const char *name)
{
	static void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *found = driver ? dlsym(driver, name) : nullptr;
	if (!found) {
		printf("no %s\n", name);
		exit(77);
	}
	return (F)found;
}
#define CALL(name, ...)                                                                            \
	if (function<decltype(&name)>(#name)(__VA_ARGS__))                                         \
	return 1

static int once(const char *file, int launches)
{
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr x = 0;
	int n = 3;
	void *arguments[] = {&x, &x, &n};
	CALL(cuModuleLoad, &module, file);
	CALL(cuModuleGetFunction, &kernel, module, "_Z4walkPfPKfi");
	for (int i = 0; i < launches; i++)
		CALL(cuLaunchKernel, kernel, 1, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr); // launched
	CALL(cuCtxSynchronize);
	CALL(cuModuleUnload, module);
	return 0;
}

int main(int argc, char **argv)
{
	CUcontext context;
	int times = argc > 2 ? atoi(argv[2]) : 1, launches = argc > 3 ? atoi(argv[3]) : 1;
	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	for (int i = 0; i < times; i++)
		if (once(argv[1], launches))
			return 1;
	printf("%d\n", times * launches);
}
