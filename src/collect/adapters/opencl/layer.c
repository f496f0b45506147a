/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL adapter as the loader and the collector see it.
 *
 * `sonde run` names libsonde.so in OPENCL_LAYERS; the loader asks it for a table of functions to
 * call instead of its own. A loader that knows no layers is not measured: see
 * docs/design/opencl.md.
 */
#include "opencl.h"

#include "collect/adapters/gpu/gpu.h"
#include "collect/intercept/intercept.h"
#include "collect/core/line.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_MOST 512u

struct _cl_icd_dispatch sn_cl_real;

/* What the loader calls. It may know more functions than we: those go straight through. */
static union {
	struct _cl_icd_dispatch functions;
	void *pointers[TABLE_MOST];
} table;

static _Atomic bool initialised;

_Static_assert(sizeof(struct _cl_icd_dispatch) <= sizeof(table.pointers), "all functions fit");

SN_EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size,
							 void *value, size_t *size_ret)
{
	static const char layer_name[] = "sonde";
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *answer = name == CL_LAYER_API_VERSION ? (const void *)&version : layer_name;
	size_t bytes = name == CL_LAYER_API_VERSION ? sizeof(version) : sizeof(layer_name);
	if (name != CL_LAYER_API_VERSION && name != CL_LAYER_NAME)
		return CL_INVALID_VALUE;
	if (value && size < bytes)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, answer, bytes);
	if (size_ret)
		*size_ret = bytes;
	return CL_SUCCESS;
}

static void finish(void)
{
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	sn_cl_finish(thread);
	sn_leave(thread);
}

/* Registered after the runtime has begun to work, so that it runs before the runtime's own
 * handlers. */
void sn_cl_finish_at_exit(void)
{
	static _Atomic bool registered;
	if (!atomic_exchange_explicit(&registered, true, memory_order_relaxed))
		atexit(finish);
}

static cl_int init_layer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_ret,
			 const cl_icd_dispatch **layer)
{
	if (!target || !count_ret || !layer)
		return CL_INVALID_VALUE;
	if (count > TABLE_MOST)
		count = TABLE_MOST;
	memcpy(table.pointers, target, count * sizeof(void *));
	size_t known = count * sizeof(void *);
	memcpy(&sn_cl_real, target, known < sizeof(sn_cl_real) ? known : sizeof(sn_cl_real));
	if (sn_measuring()) {
		sn_cl_fill_enqueue(&table.functions);
		sn_cl_fill_queue(&table.functions);
		sn_cl_fill_calls(&table.functions);
		sn_cl_open();
	}
	*count_ret = count;
	*layer = &table.functions;
	atomic_store_explicit(&initialised, true, memory_order_release);
	return CL_SUCCESS;
}

/* Loaders before 2025 call this one. */
SN_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
						      cl_uint *count_ret,
						      const cl_icd_dispatch **layer)
{
	return init_layer(count, target, count_ret, layer);
}

/* Later ones this, and never the one above. No property is defined yet. */
SN_EXPORT CL_API_ENTRY cl_int CL_API_CALL
clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_ret,
			  const cl_icd_dispatch **layer, const cl_layer_properties *properties)
{
	if (properties && *properties)
		return CL_INVALID_PROPERTY;
	return init_layer(count, target, count_ret, layer);
}

/* What the table leads to is about to be gone, at the program's end or as the loader is unloaded. */
SN_EXPORT CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void)
{
	finish();
	return CL_SUCCESS;
}

/* ---- the adapter ---- */

static void opencl_detach(void)
{
	struct sn_thread *thread = sn_thread_self();
	if (thread && atomic_load_explicit(&initialised, memory_order_acquire))
		sn_cl_finish(thread);
}

static const char *opencl_status(void)
{
	static char text[512];
	if (!atomic_load_explicit(&initialised, memory_order_acquire))
		return sn_module_by_name("libOpenCL.so") == SN_MODULE_NONE
			   ? "no OpenCL loader in this process"
			   : "the program has made no OpenCL call that loads the layer";
	struct sn_line line = SN_LINE(text);
	const struct sn_cl_device *device;
	sn_line_add(&line, "layer active");
	for (uint32_t index = 0; (device = sn_cl_device_at(index)); index++) {
		uint64_t error_ns =
		    atomic_load_explicit(&device->clock.error_ns, memory_order_relaxed);
		SN_LINE_ADD(&line, "; ", device->name);
		if (error_ns == UINT64_MAX)
			continue;
		sn_line_add(&line, ", clock known to ");
		sn_line_add_number(&line, error_ns);
		sn_line_add(&line, " ns");
		uint64_t worst_ns =
		    atomic_load_explicit(&device->clock.worst_ns, memory_order_relaxed);
		if (!worst_ns) /* no time was asked for */
			continue;
		sn_line_add(&line, ", at worst ");
		sn_line_add_number(&line, worst_ns);
		sn_line_add(&line, " ns");
	}
	SN_LINE_ADD(&line, sn_gpu_counts_nothing());
	return text;
}

const struct sn_adapter sn_adapter_opencl = {
    .name = "opencl",
    .detach = opencl_detach,
    .after_fork = sn_cl_pending_after_fork,
    .thread_begin = sn_cl_thread_begin,
    .thread_end = sn_cl_thread_end,
    .status = opencl_status,
};
