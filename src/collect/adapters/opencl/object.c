/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the program's queues, kernels and devices, by handle.
 *
 * A fixed table with linear probing that any thread reads and writes without a lock. A handle is
 * written only by the call that made or ends the object, so no two threads write one handle at
 * once; the value is published after the key. When the table is full an object is simply not known:
 * a queue's operations have no times then, a kernel's name is asked for at every launch.
 */
#include "opencl.h"

#include "collect/interface/keep.h"

#include <string.h>

#define TABLE_SIZE 8192u
/* An object is looked for in this many slots, so that a table worn by removals stays quick. */
#define PROBES	   64u
#define GONE	   ((void *)1)

struct table {
	struct {
		_Atomic(void *) key;
		_Atomic(void *) value;
	} slots[TABLE_SIZE];
};

static struct table queues, kernels;

#define DEVICE_MAX 64u
static struct sn_cl_device devices[DEVICE_MAX];
static _Atomic uint32_t device_count;

static uint32_t slot_of(const void *key)
{
	return (uint32_t)((uintptr_t)key * 0x9E3779B97F4A7C15ull >> 51) % TABLE_SIZE;
}

/* The value of a key, NULL where there is none. */
static void *table_find(struct table *table, const void *key)
{
	uint32_t slot = slot_of(key);
	for (uint32_t tried = 0; tried < PROBES; tried++, slot = (slot + 1) % TABLE_SIZE) {
		/* acquire: the value stored before the key was, and what it points to */
		void *found = atomic_load_explicit(&table->slots[slot].key, memory_order_acquire);
		if (!found)
			return NULL;
		if (found == key)
			return atomic_load_explicit(&table->slots[slot].value,
						    memory_order_acquire);
	}
	return NULL;
}

static void table_remove(struct table *table, const void *key)
{
	uint32_t slot = slot_of(key);
	for (uint32_t tried = 0; tried < PROBES; tried++, slot = (slot + 1) % TABLE_SIZE) {
		void *found = atomic_load_explicit(&table->slots[slot].key, memory_order_relaxed);
		if (!found)
			return;
		if (found == key) {
			atomic_store_explicit(&table->slots[slot].value, NULL,
					      memory_order_relaxed);
			/* release: nobody who claims the slot sees the old value after */
			atomic_store_explicit(&table->slots[slot].key, GONE, memory_order_release);
			return;
		}
	}
}

/* False where the table is full. */
static bool table_put(struct table *table, void *key, void *value)
{
	table_remove(table, key);
	uint32_t slot = slot_of(key);
	for (uint32_t tried = 0; tried < PROBES; tried++, slot = (slot + 1) % TABLE_SIZE) {
		void *found = atomic_load_explicit(&table->slots[slot].key, memory_order_relaxed);
		if (found && found != GONE)
			continue;
		/* until its value is there, the key is found with NULL: not known */
		if (!atomic_compare_exchange_strong_explicit(&table->slots[slot].key, &found, key,
							     memory_order_acq_rel,
							     memory_order_relaxed))
			continue;
		/* release: what it points to is complete */
		atomic_store_explicit(&table->slots[slot].value, value, memory_order_release);
		return true;
	}
	return false;
}

/* ---- devices ---- */

/*
 * Where the runtime can read both clocks at once its answer is one more bound. The host clock it
 * reads has no defined epoch, so only the device's time is taken.
 */
static void read_clock(struct sn_cl_device *device)
{
	cl_ulong device_ns, host_ns;
	if (!sn_cl_real.clGetDeviceAndHostTimer)
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
	struct sn_cl_queue *queue = table_find(&queues, handle);
	bool is_new = !queue;
	if (is_new)
		queue = sn_keep(sizeof(*queue));
	if (!queue)
		return NULL;
	*queue = (struct sn_cl_queue){.device = device_of(device)};
	if (is_new && !table_put(&queues, handle, queue))
		return NULL;
	return queue;
}

struct sn_cl_queue *sn_cl_queue_find(cl_command_queue queue)
{
	return table_find(&queues, queue);
}

/* ---- kernels ---- */

#define NAME_MAX     1024
#define NAME_BUCKETS 256u

/* Names are few and are kept once each, however often a program makes its kernels anew. */
static _Atomic(struct sn_cl_name *) names[NAME_BUCKETS];

static const struct sn_cl_name *intern_name(const char *text, uint32_t length)
{
	uint32_t hash = length;
	for (uint32_t i = 0; i < length; i++)
		hash = hash * 31 + (unsigned char)text[i];
	_Atomic(struct sn_cl_name *) *bucket = &names[hash % NAME_BUCKETS];
	/* acquire: names were complete when they were linked */
	struct sn_cl_name *first = atomic_load_explicit(bucket, memory_order_acquire);
	for (struct sn_cl_name *name = first; name; name = name->next)
		if (name->length == length && !memcmp(name->text, text, length))
			return name;
	struct sn_cl_name *name = sn_keep(sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	name->length = length;
	memcpy(name->text, text, length);
	name->next = first;
	/* release: complete before it is linked. Who loses the race links a second copy. */
	while (!atomic_compare_exchange_weak_explicit(bucket, &name->next, name,
						      memory_order_release, memory_order_relaxed))
		continue;
	return name;
}

const struct sn_cl_name *sn_cl_kernel_name(cl_kernel kernel)
{
	const struct sn_cl_name *name = table_find(&kernels, kernel);
	if (name)
		return name;
	char text[NAME_MAX];
	size_t bytes = 0;
	if (sn_cl_real.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(text), text,
				       &bytes) ||
	    !bytes)
		return NULL;
	name = intern_name(text, (uint32_t)bytes - 1);
	if (name)
		table_put(&kernels, kernel, (void *)name);
	return name;
}

void sn_cl_kernel_forget(cl_kernel kernel)
{
	table_remove(&kernels, kernel);
}
