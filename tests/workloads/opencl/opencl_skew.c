/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL layer that sets the devices' clock wrong: 5 hours ahead of the runtime's, and 200 parts
 * in a million too fast. It writes what it made of each time to the file that SKEW_LOG names, so
 * that a test knows the truth: "TRUE WRONG" in nanoseconds, a line for each operation's start.
 * With SKEW_DRIFT that many parts in a million instead.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <stdio.h>
#include <stdlib.h>

#define AHEAD_NS (5ull * 3600 * 1000000000)

static const struct _cl_icd_dispatch *real;
static struct _cl_icd_dispatch wrong;
static FILE *log_file;
static cl_ulong first_ns, drift_ppm = 200;

static cl_ulong skew(cl_ulong time_ns)
{
	if (!first_ns)
		first_ns = time_ns;
	long long since = (long long)(time_ns - first_ns);
	return time_ns + AHEAD_NS + (cl_ulong)(since * (long long)drift_ppm / 1000000);
}

static cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what, size_t size,
					 void *value, size_t *size_needed)
{
	cl_int status = real->clGetEventProfilingInfo(event, what, size, value, size_needed);
	if (status || !value || size < sizeof(cl_ulong))
		return status;
	cl_ulong truth = *(cl_ulong *)value;
	*(cl_ulong *)value = skew(truth);
	if (what == CL_PROFILING_COMMAND_START && log_file)
		fprintf(log_file, "%llu %llu\n", (unsigned long long)truth,
			(unsigned long long)skew(truth));
	return status;
}

static cl_int CL_API_CALL device_and_host_timer(cl_device_id device, cl_ulong *device_ns,
						cl_ulong *host_ns)
{
	cl_int status = real->clGetDeviceAndHostTimer(device, device_ns, host_ns);
	if (!status)
		*device_ns = skew(*device_ns);
	return status;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what,
									 size_t size, void *value,
									 size_t *size_needed)
{
	if (what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size >= sizeof(cl_layer_api_version))
		*(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
	if (size_needed)
		*size_needed = sizeof(cl_layer_api_version);
	return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL
clInitLayer(cl_uint count, const struct _cl_icd_dispatch *target, cl_uint *count_wanted,
	    const struct _cl_icd_dispatch **layer)
{
	(void)count;
	real = target;
	wrong = *target;
	wrong.clGetEventProfilingInfo = profiling_info;
	wrong.clGetDeviceAndHostTimer = device_and_host_timer;
	if (getenv("SKEW_LOG"))
		log_file = fopen(getenv("SKEW_LOG"), "we");
	if (getenv("SKEW_DRIFT"))
		drift_ppm = strtoull(getenv("SKEW_DRIFT"), NULL, 10);
	*count_wanted = sizeof(wrong) / sizeof(void *);
	*layer = &wrong;
	return CL_SUCCESS;
}
