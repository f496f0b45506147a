/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the program's queues, kernels and devices, by handle. A handle is added and removed
 * only by the call that creates or releases the object. If a table (word_table.h) is full an object
 * has no record: a queue's operations then have no times, a kernel's name is queried at each
 * launch.
 */
#include "opencl.h"

#include "collect/core/word_table.h"
#include "collect/core/keep.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_BITS 14u

static struct sn_word_table queues = {.bits = TABLE_BITS}, kernels = {.bits = TABLE_BITS};

#define DEVICE_MAX 64u
static struct sn_cl_device devices[DEVICE_MAX];
static _Atomic uint32_t device_count;

/* ---- devices ---- */

/*
 * Whether the device's runtime has the functions of OpenCL `major`.`minor`. A loader has an entry for
 * each that it knows itself; for a runtime that is older, ocl-icd's calls what lies beyond the end of
 * the runtime's table, and does not return.
 */
static bool has_version(cl_device_id id, unsigned major, unsigned minor)
{
	char text[64] = "", *end = text;
	static const char prefix[] = "OpenCL ";
	if (sn_cl_real.clGetDeviceInfo(id, CL_DEVICE_VERSION, sizeof(text) - 1, text, NULL) ||
	    strncmp(text, prefix, sizeof(prefix) - 1))
		return false;
	unsigned long long found = strtoull(text + sizeof(prefix) - 1, &end, 10);
	return found > major ||
	       (found == major && *end == '.' && strtoull(end + 1, NULL, 10) >= minor);
}

/*
 * Where the runtime can read both clocks at once its answer is one more bound. The host clock it
 * reads has no defined epoch, so only the device's time is taken.
 */
static void read_clock(struct sn_cl_device *device)
{
	cl_ulong device_ns, host_ns;
	if (!device->has_timer)
		return;
	uint64_t before_ns = sn_now_ns();
	if (!sn_cl_real.clGetDeviceAndHostTimer(device->id, &device_ns, &host_ns))
		sn_cl_clock_bound(&device->clock, device_ns, before_ns, sn_now_ns());
}

static struct sn_cl_device *device_of(cl_device_id id)
{
	uint32_t count = atomic_load_explicit(&device_count, memory_order_acquire);
	for (uint32_t index = 0; index < count; index++)
		if (devices[index].id == id) {
			read_clock(&devices[index]);
			return &devices[index];
		}
	static _Atomic uint32_t claimed;
	/* two threads that meet a device at once make two records of it: harmless */
	uint32_t index = atomic_fetch_add_explicit(&claimed, 1, memory_order_relaxed);
	if (index >= DEVICE_MAX)
		return NULL;
	struct sn_cl_device *device = &devices[index];
	device->id = id;
	sn_cl_clock_init(&device->clock);
	sn_cl_real.clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof(device->name) - 1, device->name,
				   NULL);
	device->has_timer = sn_cl_real.clGetDeviceAndHostTimer && has_version(id, 2, 1);
	read_clock(device);
	uint32_t expected = index;
	/* in order, so that every record below the count is complete; only waits for a claim before
	 */
	while (!atomic_compare_exchange_weak_explicit(&device_count, &expected, index + 1,
						      memory_order_release, memory_order_relaxed))
		expected = index;
	return device;
}

uint32_t sn_cl_device_number(const struct sn_cl_device *device)
{
	return (uint32_t)(device - devices);
}

const struct sn_cl_device *sn_cl_device_at(uint32_t index)
{
	return index < atomic_load_explicit(&device_count, memory_order_acquire) ? &devices[index]
										 : NULL;
}

/* ---- queues ---- */

struct sn_cl_queue *sn_cl_queue_add(cl_command_queue handle, cl_device_id device)
{
	/* a record under the same handle belongs to a queue that is gone: use it again */
	struct sn_cl_queue *queue = sn_cl_queue_find(handle);
	bool is_new = !queue;
	if (is_new)
		queue = sn_keep(sizeof(*queue));
	if (!queue)
		return NULL;
	*queue = (struct sn_cl_queue){.device = device_of(device)};
	return !is_new || sn_word_add(&queues, (uintptr_t)handle, (uintptr_t)queue) ? queue : NULL;
}

struct sn_cl_queue *sn_cl_queue_find(cl_command_queue queue)
{
	return (struct sn_cl_queue *)sn_word_get(&queues, (uintptr_t)queue);
}

/* ---- kernels ---- */

#define NAME_MAX 1024

/* Names are few and are kept once each, however often a program makes its kernels anew. */
const char *sn_cl_kernel_name(cl_kernel kernel)
{
	const char *name = (const char *)sn_word_get(&kernels, (uintptr_t)kernel);
	if (name)
		return name;
	char text[NAME_MAX];
	size_t bytes = 0;
	if (sn_cl_real.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(text), text,
				       &bytes) ||
	    !bytes)
		return NULL;
	name = sn_keep_name(text, bytes - 1);
	if (name)
		sn_word_set(&kernels, (uintptr_t)kernel, (uintptr_t)name);
	return name;
}

void sn_cl_kernel_forget(cl_kernel kernel)
{
	uintptr_t name;
	sn_word_remove(&kernels, (uintptr_t)kernel, &name);
}
