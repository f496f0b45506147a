/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver for Level Zero's own loader (ZE_ENABLE_ALT_DRIVERS), on devices that are not there. What has no body here is not in
 * the tables, and a program that calls it is told so by the loader. Some of what the interface forbids ends the program: what misused() is called
 * for, which docs/design/fakes.md lists beside what is not seen.
 */
#include "driver.h"

#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct _ze_driver_handle_t {
	int unused;
} driver;
static int devices[FAKE_MOST_DEVICES];
static bool is_over;

void driver_lock(void)
{
	pthread_mutex_lock(&lock);
}

void driver_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void misused(const char *what)
{
	fprintf(stderr, "fake Level Zero: %s\n", what);
	_exit(99);
}

__attribute__((destructor)) static void end(void)
{
	is_over = true;
}

/* ---- drivers and devices ---- */

static ze_result_t init(ze_init_flags_t flags)
{
	const char *error = getenv("FAKE_ZE_INIT_ERROR");
	(void)flags;
	device_ticks(fake_now_ns());
	command_begin();
	for (int device = 0; device < FAKE_MOST_DEVICES; device++)
		devices[device] = device;
	return error && *error ? (ze_result_t)strtoul(error, NULL, 0) : ZE_RESULT_SUCCESS;
}

static ze_result_t driver_get(uint32_t *count, ze_driver_handle_t *drivers)
{
	if (*count && drivers)
		*drivers = &driver;
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_version(ze_driver_handle_t handle, ze_api_version_t *version)
{
	(void)handle;
	*version = ZE_API_VERSION_1_3;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_properties(ze_driver_handle_t handle, ze_driver_properties_t *properties)
{
	(void)handle;
	properties->driverVersion = 0x1030042;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get(ze_driver_handle_t handle, uint32_t *count, ze_device_handle_t *found)
{
	uint32_t all = (uint32_t)fake_device_count();
	(void)handle;
	for (uint32_t index = 0; found && index < *count && index < all; index++)
		found[index] = (ze_device_handle_t)&devices[index];
	*count = all;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_properties(ze_device_handle_t device, ze_device_properties_t *properties)
{
	uint64_t hz = device_ticks(11000000000u) - device_ticks(10000000000u);
	bool in_seconds = properties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
	if (in_seconds && getenv("FAKE_ZE_OLD"))
		return ZE_RESULT_ERROR_INVALID_ENUMERATION;
	if (in_seconds && fake_fails("fast-ticks"))
		hz *= 4;
	if (in_seconds && fake_fails("slow-ticks"))
		hz /= 2;
	if (fake_fails("no-properties"))
		return ZE_RESULT_ERROR_DEVICE_LOST;
	properties->type =
	    fake_fails("cpu-first") && !*(int *)device ? ZE_DEVICE_TYPE_CPU : ZE_DEVICE_TYPE_GPU;
	properties->timerResolution = in_seconds ? hz : 1000000000u / hz;
	properties->timestampValidBits = 40;
	properties->kernelTimestampValidBits = 32;
	snprintf(properties->name, sizeof(properties->name), "Fake device %d", *(int *)device);
	return ZE_RESULT_SUCCESS;
}

bool copies_alone(uint32_t ordinal)
{
	return fake_fails("copy-first") && !ordinal;
}

static ze_result_t device_groups(ze_device_handle_t device, uint32_t *count,
				 ze_command_queue_group_properties_t *groups)
{
	uint32_t all = fake_fails("copy-first") ? 2 : 1;
	(void)device;
	for (uint32_t ordinal = 0; groups && ordinal < *count && ordinal < all; ordinal++) {
		groups[ordinal].flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
		if (!copies_alone(ordinal))
			groups[ordinal].flags |= ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
		groups[ordinal].maxMemoryFillPatternSize = 16;
		groups[ordinal].numQueues = 1;
	}
	*count = !*count || *count > all ? all : *count;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_clock(ze_device_handle_t device, uint64_t *host_ns, uint64_t *ticks)
{
	(void)device;
	*host_ns = fake_now_ns();
	*ticks = device_ticks(*host_ns) & ((1ull << 40) - 1);
	return ZE_RESULT_SUCCESS;
}

/* ---- contexts and memory ---- */

static ze_result_t context_create(ze_driver_handle_t handle, const ze_context_desc_t *desc,
				  ze_context_handle_t *context)
{
	(void)handle, (void)desc;
	*context = calloc(1, sizeof(**context));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t context_destroy(ze_context_handle_t context)
{
	if (is_over)
		misused("a call after the driver's end");
	if (context->pools)
		misused("a context is destroyed before its pools of events");
	free(context);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t memory_of(size_t bytes, enum fake_place place, ze_device_handle_t device,
			     void **memory)
{
	*memory = fake_memory_new(bytes, place, device ? *(int *)device : 0);
	return *memory ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

static ze_result_t memory_shared(ze_context_handle_t context,
				 const ze_device_mem_alloc_desc_t *device_desc,
				 const ze_host_mem_alloc_desc_t *host_desc, size_t bytes,
				 size_t alignment, ze_device_handle_t device, void **memory)
{
	(void)context, (void)device_desc, (void)host_desc, (void)alignment;
	return memory_of(bytes, FAKE_MANAGED, device, memory);
}

static ze_result_t memory_device(ze_context_handle_t context,
				 const ze_device_mem_alloc_desc_t *desc, size_t bytes,
				 size_t alignment, ze_device_handle_t device, void **memory)
{
	(void)context, (void)desc, (void)alignment;
	return memory_of(bytes, FAKE_DEVICE, device, memory);
}

static ze_result_t memory_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc,
			       size_t bytes, size_t alignment, void **memory)
{
	(void)context, (void)desc, (void)alignment;
	return memory_of(bytes, FAKE_PINNED, NULL, memory);
}

static ze_result_t memory_free(ze_context_handle_t context, void *memory)
{
	(void)context;
	return fake_memory_free(memory) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

/* ---- tables, by the names that the loader asks for ---- */

#define TABLE(prefix, name, type, ...)                                                             \
	ZE_DLLEXPORT ze_result_t prefix##Get##name##ProcAddrTable(ze_api_version_t version,        \
								  type *table)                     \
	{                                                                                          \
		(void)version, (void)table;                                                        \
		__VA_ARGS__                                                                        \
		return ZE_RESULT_SUCCESS;                                                          \
	}

TABLE(ze, Global, ze_global_dditable_t, table->pfnInit = init;)
TABLE(ze, Driver, ze_driver_dditable_t, table->pfnGet = driver_get;
      table->pfnGetApiVersion = driver_version; table->pfnGetProperties = driver_properties;)
TABLE(ze, Device, ze_device_dditable_t, table->pfnGet = device_get;
      table->pfnGetProperties = device_properties; table->pfnGetGlobalTimestamps = device_clock;
      table->pfnGetCommandQueueGroupProperties = device_groups;)
TABLE(ze, Context, ze_context_dditable_t, table->pfnCreate = context_create;
      table->pfnDestroy = context_destroy;)
TABLE(ze, CommandQueue, ze_command_queue_dditable_t, fill_queue_table(table);)
TABLE(ze, CommandList, ze_command_list_dditable_t, fill_list_table(table);)
TABLE(ze, Fence, ze_fence_dditable_t, fill_fence_table(table);)
TABLE(ze, EventPool, ze_event_pool_dditable_t, fill_event_tables(table, NULL);)
TABLE(ze, Event, ze_event_dditable_t, fill_event_tables(NULL, table);)
TABLE(ze, Module, ze_module_dditable_t, fill_module_tables(table, NULL);)
TABLE(ze, Kernel, ze_kernel_dditable_t, fill_module_tables(NULL, table);)
TABLE(ze, Mem, ze_mem_dditable_t, table->pfnAllocShared = memory_shared;
      table->pfnAllocDevice = memory_device; table->pfnAllocHost = memory_host;
      table->pfnFree = memory_free;)
TABLE(ze, DeviceExp, ze_device_exp_dditable_t, )
TABLE(ze, Image, ze_image_dditable_t, )
TABLE(ze, ImageExp, ze_image_exp_dditable_t, )
TABLE(ze, EventExp, ze_event_exp_dditable_t, )
TABLE(ze, ModuleBuildLog, ze_module_build_log_dditable_t, fill_log_table(table);)
TABLE(ze, KernelExp, ze_kernel_exp_dditable_t, )
TABLE(ze, Sampler, ze_sampler_dditable_t, )
TABLE(ze, PhysicalMem, ze_physical_mem_dditable_t, )
TABLE(ze, VirtualMem, ze_virtual_mem_dditable_t, )
TABLE(ze, FabricVertexExp, ze_fabric_vertex_exp_dditable_t, )
TABLE(ze, FabricEdgeExp, ze_fabric_edge_exp_dditable_t, )
TABLE(zet, Device, zet_device_dditable_t, )
TABLE(zet, Context, zet_context_dditable_t, )
TABLE(zet, CommandList, zet_command_list_dditable_t, )
TABLE(zet, Module, zet_module_dditable_t, )
TABLE(zet, Kernel, zet_kernel_dditable_t, )
TABLE(zet, MetricGroup, zet_metric_group_dditable_t, )
TABLE(zet, MetricGroupExp, zet_metric_group_exp_dditable_t, )
TABLE(zet, Metric, zet_metric_dditable_t, )
TABLE(zet, MetricStreamer, zet_metric_streamer_dditable_t, )
TABLE(zet, MetricQueryPool, zet_metric_query_pool_dditable_t, )
TABLE(zet, MetricQuery, zet_metric_query_dditable_t, )
TABLE(zet, TracerExp, zet_tracer_exp_dditable_t, )
TABLE(zet, Debug, zet_debug_dditable_t, )
TABLE(zes, Driver, zes_driver_dditable_t, )
TABLE(zes, Device, zes_device_dditable_t, )
TABLE(zes, Scheduler, zes_scheduler_dditable_t, )
TABLE(zes, PerformanceFactor, zes_performance_factor_dditable_t, )
TABLE(zes, Power, zes_power_dditable_t, )
TABLE(zes, Frequency, zes_frequency_dditable_t, )
TABLE(zes, Engine, zes_engine_dditable_t, )
TABLE(zes, Standby, zes_standby_dditable_t, )
TABLE(zes, Firmware, zes_firmware_dditable_t, )
TABLE(zes, Memory, zes_memory_dditable_t, )
TABLE(zes, FabricPort, zes_fabric_port_dditable_t, )
TABLE(zes, Temperature, zes_temperature_dditable_t, )
TABLE(zes, Psu, zes_psu_dditable_t, )
TABLE(zes, Fan, zes_fan_dditable_t, )
TABLE(zes, Led, zes_led_dditable_t, )
TABLE(zes, Ras, zes_ras_dditable_t, )
TABLE(zes, Diagnostics, zes_diagnostics_dditable_t, )
