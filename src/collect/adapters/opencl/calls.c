/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that start no operation on a device but take the host's time: waiting, building, creating
 * and releasing objects; and those after which a kernel's handle means another kernel.
 */
#include "opencl.h"

/* A timed call that returns something, `before` which something is done. `waits`: what it waited
 * for has ended, collect it. */
#define CALL_AFTER(before, type, function, parameters, arguments, waits)                           \
	static type CL_API_CALL layer_##function parameters                                        \
	{                                                                                          \
		struct sn_cl_call call;                                                            \
		before;                                                                            \
		sn_cl_call_begin(&call, SN_CL_##function);                                         \
		type result = sn_cl_real.function arguments;                                       \
		sn_cl_call_end(&call, waits);                                                      \
		return result;                                                                     \
	}
#define CALL(type, function, parameters, arguments, waits)                                         \
	CALL_AFTER(, type, function, parameters, arguments, waits)

CALL(cl_int, clFinish, (cl_command_queue queue), (queue), true)
CALL(cl_int, clFlush, (cl_command_queue queue), (queue), false)
CALL(cl_int, clWaitForEvents, (cl_uint count, const cl_event *events), (count, events), true)
CALL(cl_int, clEnqueueMarkerWithWaitList,
     (cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event),
     (queue, count, waits, event), false)
CALL(cl_int, clEnqueueBarrierWithWaitList,
     (cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event),
     (queue, count, waits, event), false)

CALL(cl_int, clBuildProgram,
     (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
      void(CL_CALLBACK *notify)(cl_program, void *), void *data),
     (program, count, devices, options, notify, data), false)
CALL(cl_int, clCompileProgram,
     (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
      cl_uint header_count, const cl_program *headers, const char **names,
      void(CL_CALLBACK *notify)(cl_program, void *), void *data),
     (program, count, devices, options, header_count, headers, names, notify, data), false)
CALL(cl_program, clLinkProgram,
     (cl_context context, cl_uint count, const cl_device_id *devices, const char *options,
      cl_uint program_count, const cl_program *programs,
      void(CL_CALLBACK *notify)(cl_program, void *), void *data, cl_int *error),
     (context, count, devices, options, program_count, programs, notify, data, error), false)

CALL(cl_context, clCreateContext,
     (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
      void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
      cl_int *error),
     (properties, count, devices, notify, data, error), false)
CALL(cl_context, clCreateContextFromType,
     (const cl_context_properties *properties, cl_device_type type,
      void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
      cl_int *error),
     (properties, type, notify, data, error), false)
CALL(cl_program, clCreateProgramWithSource,
     (cl_context context, cl_uint count, const char **strings, const size_t *lengths,
      cl_int *error),
     (context, count, strings, lengths, error), false)
CALL(cl_program, clCreateProgramWithBinary,
     (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
      const unsigned char **binaries, cl_int *binary_status, cl_int *error),
     (context, count, devices, lengths, binaries, binary_status, error), false)
CALL(cl_mem, clCreateBuffer,
     (cl_context context, cl_mem_flags flags, size_t bytes, void *pointer, cl_int *error),
     (context, flags, bytes, pointer, error), false)
CALL(cl_mem, clCreateImage,
     (cl_context context, cl_mem_flags flags, const cl_image_format *format,
      const cl_image_desc *description, void *pointer, cl_int *error),
     (context, flags, format, description, pointer, error), false)
CALL(cl_int, clReleaseMemObject, (cl_mem object), (object), false)
CALL(void *, clSVMAlloc,
     (cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment),
     (context, flags, bytes, alignment), false)

static void CL_API_CALL layer_clSVMFree(cl_context context, void *pointer)
{
	struct sn_cl_call call;
	sn_cl_call_begin(&call, SN_CL_clSVMFree);
	sn_cl_real.clSVMFree(context, pointer);
	sn_cl_call_end(&call, false);
}

/* Before a queue or context goes, so that no event of ours keeps it, our events of it go. */
CALL_AFTER(sn_cl_collect(), cl_int, clReleaseCommandQueue, (cl_command_queue queue), (queue), false)
CALL_AFTER(sn_cl_collect(), cl_int, clReleaseContext, (cl_context context), (context), false)

static cl_int CL_API_CALL layer_clGetContextInfo(cl_context context, cl_context_info name,
						 size_t size, void *value, size_t *size_ret)
{
	if (name == CL_CONTEXT_REFERENCE_COUNT)
		sn_cl_collect();
	return sn_cl_real.clGetContextInfo(context, name, size, value, size_ret);
}

/* ---- kernels ---- */

#define CREATES_KERNEL(function, parameters, arguments)                                            \
	static cl_kernel CL_API_CALL layer_##function parameters                                   \
	{                                                                                          \
		cl_kernel kernel = sn_cl_real.function arguments;                                  \
		if (kernel)                                                                        \
			sn_cl_kernel_forget(kernel);                                               \
		return kernel;                                                                     \
	}
CREATES_KERNEL(clCreateKernel, (cl_program program, const char *name, cl_int *error),
	       (program, name, error))
CREATES_KERNEL(clCloneKernel, (cl_kernel source, cl_int *error), (source, error))

static cl_int CL_API_CALL layer_clCreateKernelsInProgram(cl_program program, cl_uint room,
							 cl_kernel *kernels, cl_uint *count)
{
	cl_uint created = 0;
	cl_int status = sn_cl_real.clCreateKernelsInProgram(program, room, kernels, &created);
	for (cl_uint i = 0; !status && kernels && i < created && i < room; i++)
		sn_cl_kernel_forget(kernels[i]);
	if (count && !status)
		*count = created;
	return status;
}

void sn_cl_fill_calls(struct _cl_icd_dispatch *table)
{
#define SN_CL_CALL(name)       SN_CL_FILL(name)
#define SN_CL_CALL_QUIET(name) SN_CL_FILL(name)
#include "apis.def"
}
