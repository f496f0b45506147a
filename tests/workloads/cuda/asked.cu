/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the driver for each of its functions before it initialises it, as a runtime does that is linked statically: with "loaded" by what it
 * finds in a library that it loads, with "older" by the older form of that, which it asks for first, with "runtime" through the runtime, and
 * with "linked", if it is compiled so, by name. */
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#ifndef LINKED
#include <cuda_runtime_api.h>
#endif

static const char *how;
static PFN_cuGetProcAddress_v12000 newer;
static PFN_cuGetProcAddress_v11030 older;
enum { ONE = CU_GET_PROC_ADDRESS_LEGACY_STREAM, OF_THREAD = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM };

static void find_asking()
{
#ifdef LINKED
	newer = cuGetProcAddress;
#else
	void *driver = strcmp(how, "runtime") ? dlopen("libcuda.so.1", RTLD_NOW) : nullptr;
	if (!driver)
		return;
	newer = reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(driver, "cuGetProcAddress_v2"));
	void *found = nullptr;
	CUdriverProcAddressQueryResult result;
	if (!strcmp(how, "older") && !newer("cuGetProcAddress", &found, 11030, ONE, &result))
		older = reinterpret_cast<PFN_cuGetProcAddress_v11030>(found);
#endif
}

template <class Function> static Function ask(const char *name, int version, int flags = ONE)
{
	void *found = nullptr;
	CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SUCCESS;
	int error = -1;
	if (older)
		error = older(name, &found, version, flags);
	else if (newer)
		error = newer(name, &found, version, flags, &result);
#ifndef LINKED
	else
		error = cudaGetDriverEntryPointByVersion(name, &found, version, flags,
							 reinterpret_cast<cudaDriverEntryPointQueryResult *>(&result));
#endif
	if (error || !found)
		printf("%s of %d: %d, %d\n", name, version, error, older ? 0 : result);
	return reinterpret_cast<Function>(found);
}

/* Where nobody stands in front of it. */
static bool is_the_drivers(void *function)
{
	Dl_info found;
	return dladdr(function, &found) && strstr(found.dli_fname, "libcuda.so");
}

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry asked(.param .u64 x)\n{\n\tret;\n}\n";

int main(int, char **argv)
{
	how = argv[1];
	find_asking();
	auto init = ask<PFN_cuInit_v2000>("cuInit", 2000);
	auto get_device = ask<PFN_cuDeviceGet_v2000>("cuDeviceGet", 2000);
	auto retain = ask<PFN_cuDevicePrimaryCtxRetain_v7000>("cuDevicePrimaryCtxRetain", 7000);
	auto use = ask<PFN_cuCtxSetCurrent_v4000>("cuCtxSetCurrent", 4000);
	auto load = ask<PFN_cuModuleLoadData_v2000>("cuModuleLoadData", 12000);
	auto get_function = ask<PFN_cuModuleGetFunction_v2000>("cuModuleGetFunction", 2000);
	auto allocate = ask<PFN_cuMemAlloc_v3020>("cuMemAlloc", 13000);
	auto copy = ask<PFN_cuMemcpyHtoD_v3020>("cuMemcpyHtoD", 12000);
	auto copy_later = ask<PFN_cuMemcpyHtoDAsync_v3020>("cuMemcpyHtoDAsync", 12000);
	auto launch = ask<PFN_cuLaunchKernel_v4000>("cuLaunchKernel", 12000);
	auto launch_of_thread = ask<PFN_cuLaunchKernel_v7000_ptsz>("cuLaunchKernel", 12000, OF_THREAD);
	auto wait = ask<PFN_cuCtxSynchronize_v2000>("cuCtxSynchronize", 12000);
	auto oldest = ask<CUresult (*)(unsigned *, unsigned)>("cuMemAlloc", 2000);
	ask<void *>("cuLaunchKernelEx", 11000);
	ask<void *>("cuNothing", 12000);
	ask<void *>("cuMemFree", 99000);
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr x;
	char host[1000] = "";
	void *arguments[] = {&x};
	int error = init(0) | get_device(&device, 0) | retain(&context, device) | use(context) | load(&module, ptx) |
		    get_function(&kernel, module, "asked") | allocate(&x, sizeof(host));
	for (int i = 0; i < 20; i++)
		error |= launch(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr); // launch
	for (int i = 0; i < 7; i++)
		error |= launch_of_thread(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr); // of the thread
	for (int i = 0; i < 5; i++)
		error |= copy(x, host, 500) | copy_later(x, host, 100, nullptr); // copy
	error |= wait();
	unsigned old;
	printf("%d, %d, %d\n", error, oldest(&old, 4), is_the_drivers(reinterpret_cast<void *>(get_function)));
}
