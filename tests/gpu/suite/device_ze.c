/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for a device of Level Zero that says itself what it ran. It needs a C compiler and the loader: kernels are SPIR-V, which the driver
 * compiles.
 *
 *	device probe         the devices, with what times and queues they have; status 77, with one line, where there is none
 *	device work          kernels, copies and a fill in lists that run at once, in threads, and in a list that is executed often; then the
 *	                     truth, as JSON
 *	device span          a kernel that takes longer from launch to launch; then how long the host has waited for each, as JSON
 *	device launch COUNT  nanoseconds of CPU time a launch, and of wall time
 */
#include "../../../src/collect/adapters/levelzero/ze.h"
#include "kernels_spv.h"
#include "truth.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 1 << 16, BYTES = COUNT * 4, THREADS = 3, REPLAYS = 10, ROUND = 1000 };
enum { FACTOR = 3, FILLED = 0x12345678, SIGNALS = 5 };
enum {
	SPIN_FACTOR = 1664525,
	SPIN_ADDED = 1013904223,
	ENOUGH_NS = 100000000,
	MOST_ROUNDS = 1 << 28
};
enum { MOST_DRIVERS = 16, MOST_DEVICES = 64, INIT_GPU_ONLY = 1, DEVICE_GPU = 1 };
enum { MOST_GROUPS = 16, GROUP_COMPUTES = 1 };
enum {
	DRIVER_PROPERTIES = 0x1,
	QUEUE_GROUP = 0x6,
	CONTEXT_DESC = 0xd,
	QUEUE_DESC = 0xe,
	DEVICE_MEMORY_DESC = 0x15,
	MODULE_DESC = 0x1b,
	KERNEL_DESC = 0x1d
};

struct context_desc {
	uint32_t type;
	const void *next;
	uint32_t flags;
};
struct driver_properties {
	uint32_t type;
	void *next;
	uint8_t uuid[16];
	uint32_t version;
};
struct queue_group {
	uint32_t type;
	void *next;
	uint32_t flags;
	size_t pattern_bytes;
	uint32_t queues;
};
struct memory_desc {
	uint32_t type;
	const void *next;
	uint32_t flags, ordinal;
};
struct module_desc {
	uint32_t type;
	const void *next;
	uint32_t format; /* 0: SPIR-V */
	size_t bytes;
	const void *module;
	const char *flags;
	const void *constants;
};
struct kernel_desc {
	uint32_t type;
	const void *next;
	uint32_t flags;
	const char *name;
};
struct groups {
	uint32_t x, y, z;
};

#define FUNCTIONS(X)                                                                               \
	X(zeInit, (uint32_t flags))                                                                \
	X(zeDriverGet, (uint32_t * count, void **drivers))                                         \
	X(zeDriverGetApiVersion, (void *driver, uint32_t *version))                                \
	X(zeDriverGetProperties, (void *driver, struct driver_properties *properties))             \
	X(zeDeviceGet, (void *driver, uint32_t *count, void **devices))                            \
	X(zeDeviceGetProperties, (void *device, struct sn_ze_device_properties *properties))       \
	X(zeDeviceGetCommandQueueGroupProperties,                                                  \
	  (void *device, uint32_t *count, struct queue_group *groups))                             \
	X(zeContextCreate, (void *driver, const struct context_desc *desc, void **context))        \
	X(zeContextDestroy, (void *context))                                                       \
	X(zeModuleCreate, (void *context, void *device, const struct module_desc *desc,            \
			   void **module, void **log))                                             \
	X(zeModuleBuildLogGetString, (void *log, size_t *bytes, char *text))                       \
	X(zeModuleBuildLogDestroy, (void *log))                                                    \
	X(zeModuleDestroy, (void *module))                                                         \
	X(zeKernelCreate, (void *module, const struct kernel_desc *desc, void **kernel))           \
	X(zeKernelDestroy, (void *kernel))                                                         \
	X(zeKernelSetGroupSize, (void *kernel, uint32_t x, uint32_t y, uint32_t z))                \
	X(zeKernelSetArgumentValue,                                                                \
	  (void *kernel, uint32_t index, size_t bytes, const void *value))                         \
	X(zeMemAllocDevice, (void *context, const struct memory_desc *desc, size_t bytes,          \
			     size_t alignment, void *device, void **memory))                       \
	X(zeMemFree, (void *context, void *memory))                                                \
	X(zeCommandListCreateImmediate,                                                            \
	  (void *context, void *device, const struct sn_ze_queue_desc *desc, void **list))         \
	X(zeCommandListCreate,                                                                     \
	  (void *context, void *device, const struct sn_ze_list_desc *desc, void **list))          \
	X(zeCommandListClose, (void *list))                                                        \
	X(zeCommandListReset, (void *list))                                                        \
	X(zeCommandListDestroy, (void *list))                                                      \
	X(zeCommandQueueCreate,                                                                    \
	  (void *context, void *device, const struct sn_ze_queue_desc *desc, void **queue))        \
	X(zeCommandQueueDestroy, (void *queue))                                                    \
	X(zeCommandQueueExecuteCommandLists,                                                       \
	  (void *queue, uint32_t count, void **lists, void *fence))                                \
	X(zeCommandQueueSynchronize, (void *queue, uint64_t timeout))                              \
	X(zeCommandListAppendLaunchKernel, (void *list, void *kernel, const struct groups *groups, \
					    void *signal, uint32_t wait_count, void **waits))      \
	X(zeCommandListAppendMemoryCopy, (void *list, void *to, const void *from, size_t bytes,    \
					  void *signal, uint32_t wait_count, void **waits))        \
	X(zeCommandListAppendMemoryFill,                                                           \
	  (void *list, void *to, const void *pattern, size_t pattern_bytes, size_t bytes,          \
	   void *signal, uint32_t wait_count, void **waits))                                       \
	X(zeCommandListAppendBarrier,                                                              \
	  (void *list, void *signal, uint32_t wait_count, void **waits))                           \
	X(zeEventPoolCreate, (void *context, const struct sn_ze_event_pool_desc *desc,             \
			      uint32_t device_count, void **devices, void **pool))                 \
	X(zeEventCreate, (void *pool, const struct sn_ze_event_desc *desc, void **event))          \
	X(zeEventHostSynchronize, (void *event, uint64_t timeout))                                 \
	X(zeEventHostReset, (void *event))                                                         \
	X(zeEventDestroy, (void *event))                                                           \
	X(zeEventPoolDestroy, (void *pool))

#define POINTER(name, parameters) sn_ze_result(*name) parameters;
static struct {
	FUNCTIONS(POINTER)
} ze;

static void *device, *context, *module;
static const char *device_name;
static uint32_t ordinal; /* of the queues */

/* 77: there is no device, which is said to who asks. All else is a failure. */
__attribute__((noreturn)) static void end(int status, const char *what, unsigned error)
{
	FILE *to = status == 77 ? stdout : stderr;
	if (error)
		fprintf(to, "%s: error 0x%x\n", what, error);
	else
		fprintf(to, "%s\n", what);
	exit(status);
}

#define CALL(name, ...)                                                                            \
	do {                                                                                       \
		sn_ze_result error = ze.name(__VA_ARGS__);                                         \
		if (error)                                                                         \
			end(1, #name, error);                                                      \
	} while (0)

/* ---- the device ---- */

static void find_loader(void)
{
	void *library = dlopen("libze_loader.so.1", RTLD_NOW);
	if (!library)
		end(77, "no loader of Level Zero (libze_loader.so.1)", 0);
#define FIND(name, parameters)                                                                     \
	ze.name = (sn_ze_result(*) parameters)dlsym(library, #name);                               \
	if (!ze.name)                                                                              \
		end(77, "Level Zero's loader lacks " #name, 0);
	FUNCTIONS(FIND)
#undef FIND
}

/* A GPU, and its driver. */
struct gpu {
	void *driver, *device;
	struct sn_ze_device_properties properties;
};

/* How many of the driver's devices, which may be other things, are GPUs. */
static uint32_t gpus_of(void *driver, struct gpu *gpus, uint32_t room)
{
	void *devices[MOST_DEVICES];
	uint32_t count = MOST_DEVICES, found = 0;
	CALL(zeDeviceGet, driver, &count, devices);
	for (uint32_t number = 0; number < count && number < MOST_DEVICES && found < room;
	     number++) {
		struct gpu *gpu = &gpus[found];
		*gpu = (struct gpu){driver, devices[number], {.type = SN_ZE_DEVICE_PROPERTIES}};
		CALL(zeDeviceGetProperties, gpu->device, &gpu->properties);
		found += gpu->properties.kind == DEVICE_GPU;
	}
	return found;
}

/* All GPUs of all drivers, at least one: how many there are. */
static uint32_t begin(struct gpu *gpus)
{
	void *drivers[MOST_DRIVERS];
	uint32_t count = MOST_DRIVERS, found = 0;
	find_loader();
	sn_ze_result error = ze.zeInit(INIT_GPU_ONLY);
	if (error)
		end(77, "no Level Zero device: zeInit", error);
	CALL(zeDriverGet, &count, drivers);
	for (uint32_t number = 0; number < count && number < MOST_DRIVERS; number++)
		found += gpus_of(drivers[number], gpus + found, MOST_DEVICES - found);
	if (!found)
		end(77, "no Level Zero device that is a GPU", 0);
	return found;
}

static uint32_t queue_groups(void *of, struct queue_group groups[MOST_GROUPS])
{
	uint32_t count = MOST_GROUPS;
	for (uint32_t number = 0; number < MOST_GROUPS; number++)
		groups[number] = (struct queue_group){.type = QUEUE_GROUP};
	CALL(zeDeviceGetCommandQueueGroupProperties, of, &count, groups);
	return count < MOST_GROUPS ? count : MOST_GROUPS;
}

/* The first that kernels can run in: others copy alone. */
static uint32_t computing_group(void *of)
{
	struct queue_group groups[MOST_GROUPS];
	uint32_t count = queue_groups(of, groups), number = 0;
	while (number < count && !(groups[number].flags & GROUP_COMPUTES))
		number++;
	if (number == count)
		end(1, "no group of queues computes", 0);
	return number;
}

static void print_driver(void *driver)
{
	struct driver_properties properties = {.type = DRIVER_PROPERTIES};
	uint32_t version;
	CALL(zeDriverGetProperties, driver, &properties);
	CALL(zeDriverGetApiVersion, driver, &version);
	printf("  driver %u (0x%x), interface %u.%u\n", properties.version, properties.version,
	       version >> 16, version & 0xffff);
}

/* In which unit a resolution is depends on which structure was asked for: drivers have been seen to mix them up. */
static void print_clock(void *of)
{
	struct sn_ze_device_properties old = {.type = SN_ZE_DEVICE_PROPERTIES},
				       new = {.type = SN_ZE_DEVICE_PROPERTIES_1_2};
	CALL(zeDeviceGetProperties, of, &old);
	printf("  ticks of %llu ns", (unsigned long long)old.timer_resolution);
	if (!ze.zeDeviceGetProperties(of, &new))
		printf(", %llu in a second", (unsigned long long)new.timer_resolution);
	printf("; %u bits valid, of kernels %u\n", old.timestamp_bits, old.kernel_timestamp_bits);
}

static void print_groups(void *of)
{
	struct queue_group groups[MOST_GROUPS];
	uint32_t count = queue_groups(of, groups);
	for (uint32_t number = 0; number < count; number++)
		printf("  queues %u: %u, flags 0x%x, patterns of %zu bytes\n", number,
		       groups[number].queues, groups[number].flags, groups[number].pattern_bytes);
}

static int probe(void)
{
	static struct gpu gpus[MOST_DEVICES];
	uint32_t count = begin(gpus);
	for (uint32_t number = 0; number < count; number++) {
		printf("device %u: %.256s\n", number, gpus[number].properties.name);
		print_driver(gpus[number].driver);
		print_clock(gpus[number].device);
		print_groups(gpus[number].device);
	}
	return 0;
}

static void build(void)
{
	const struct module_desc desc = {
	    .type = MODULE_DESC, .bytes = sizeof(kernels_spv), .module = kernels_spv};
	void *log = NULL;
	char text[4096] = "";
	size_t bytes = sizeof(text);
	sn_ze_result error = ze.zeModuleCreate(context, device, &desc, &module, &log);
	if (error && log && !ze.zeModuleBuildLogGetString(log, &bytes, NULL) &&
	    bytes <= sizeof(text))
		ze.zeModuleBuildLogGetString(log, &bytes, text);
	if (log)
		ze.zeModuleBuildLogDestroy(log);
	if (error)
		fprintf(stderr, "build log: %s\n", *text ? text : "none");
	if (error)
		end(1, "zeModuleCreate", error);
}

static void load(void)
{
	const struct context_desc context_desc = {.type = CONTEXT_DESC};
	static struct gpu gpus[MOST_DEVICES];
	begin(gpus);
	device = gpus[0].device;
	device_name = gpus[0].properties.name;
	ordinal = computing_group(device);
	CALL(zeContextCreate, gpus[0].driver, &context_desc, &context);
	build();
}

static void unload(void)
{
	CALL(zeModuleDestroy, module);
	CALL(zeContextDestroy, context);
}

static void *kernel_of(const char *name)
{
	const struct kernel_desc desc = {.type = KERNEL_DESC, .name = name};
	void *kernel;
	CALL(zeKernelCreate, module, &desc, &kernel);
	CALL(zeKernelSetGroupSize, kernel, 64, 1, 1);
	return kernel;
}

static uint32_t *memory(void)
{
	const struct memory_desc desc = {.type = DEVICE_MEMORY_DESC};
	void *made;
	CALL(zeMemAllocDevice, context, &desc, BYTES, 64, device, &made);
	return made;
}

static void *immediate(void)
{
	const struct sn_ze_queue_desc desc = {.type = QUEUE_DESC, .ordinal = ordinal};
	void *list;
	CALL(zeCommandListCreateImmediate, context, device, &desc, &list);
	return list;
}

struct signal {
	void *pool, *event;
};

static struct signal new_signal(void)
{
	const struct sn_ze_event_pool_desc pool_desc = {
	    .type = SN_ZE_EVENT_POOL_DESC, .flags = SN_ZE_POOL_HOST_VISIBLE, .count = 1};
	const struct sn_ze_event_desc event_desc = {.type = SN_ZE_EVENT_DESC,
						    .signal = SN_ZE_SCOPE_HOST};
	struct signal signal;
	CALL(zeEventPoolCreate, context, &pool_desc, 0, NULL, &signal.pool);
	CALL(zeEventCreate, signal.pool, &event_desc, &signal.event);
	return signal;
}

static void free_signal(const struct signal *signal)
{
	CALL(zeEventDestroy, signal->event);
	CALL(zeEventPoolDestroy, signal->pool);
}

/* Waits until all of a list is done. */
static void finish(void *list)
{
	struct signal signal = new_signal();
	CALL(zeCommandListAppendBarrier, list, signal.event, 0, NULL);
	CALL(zeEventHostSynchronize, signal.event, UINT64_MAX);
	free_signal(&signal);
}

/* ---- the work ---- */

/* Not inlined, nor a tail call: what is launched is below the line of the macro. Each waits for what is before it in the list. */
static __attribute__((noinline)) void launch(void *list, void *kernel, void *event)
{
	const struct groups groups = {COUNT / 64, 1, 1};
	CALL(zeCommandListAppendLaunchKernel, list, kernel, &groups, event, 0, NULL);
	CALL(zeCommandListAppendBarrier, list, NULL, 0, NULL);
}

#define LAUNCH(kernel, list, is_captured)                                                          \
	do {                                                                                       \
		note(#kernel, __LINE__, 0, is_captured);                                           \
		launch(list, kernel, NULL);                                                        \
	} while (0)

/* A kernel object keeps the arguments that it was given last, so each use has one of its own. */
static void *scale_of(uint32_t *x)
{
	const uint32_t factor = FACTOR;
	void *kernel = kernel_of("scale");
	CALL(zeKernelSetArgumentValue, kernel, 0, sizeof(x), &x);
	CALL(zeKernelSetArgumentValue, kernel, 1, sizeof(factor), &factor);
	return kernel;
}

static void *add_of(uint32_t *x, uint32_t *y)
{
	void *kernel = kernel_of("add");
	CALL(zeKernelSetArgumentValue, kernel, 0, sizeof(x), &x);
	CALL(zeKernelSetArgumentValue, kernel, 1, sizeof(y), &y);
	return kernel;
}

struct share {
	uint32_t *x;
	int times;
};

/* A list is one thread's. */
static void *work_in_thread(void *data)
{
	struct share *share = data;
	void *list = immediate(), *scale = scale_of(share->x);
	for (int i = 0; i < share->times; i++)
		LAUNCH(scale, list, false);
	finish(list);
	CALL(zeKernelDestroy, scale);
	CALL(zeCommandListDestroy, list);
	return NULL;
}

static void work_in_threads(uint32_t *shares_of[THREADS])
{
	pthread_t threads[THREADS];
	struct share shares[THREADS];
	for (int i = 0; i < THREADS; i++) {
		shares[i] = (struct share){shares_of[i], 10 * (i + 1)};
		pthread_create(&threads[i], NULL, work_in_thread, &shares[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* With an event of the program's own, again and again. */
static void add_with_signal(void *list, void *add)
{
	struct signal signal = new_signal();
	for (int i = 0; i < SIGNALS; i++) {
		note("add", __LINE__ + 1, 0, false);
		launch(list, add, signal.event);
		CALL(zeEventHostSynchronize, signal.event, UINT64_MAX);
		CALL(zeEventHostReset, signal.event);
	}
	free_signal(&signal);
}

static void execute(void *queue, void *list)
{
	CALL(zeCommandListClose, list);
	for (int i = 0; i < REPLAYS; i++) {
		CALL(zeCommandQueueExecuteCommandLists, queue, 1, &list, NULL);
		CALL(zeCommandQueueSynchronize, queue, UINT64_MAX);
	}
}

/* A list that is recorded once and executed often, and then recorded anew: each operation stands below the line that has appended it. */
static void replay(uint32_t *x, uint32_t *y)
{
	const struct sn_ze_queue_desc queue_desc = {.type = QUEUE_DESC, .ordinal = ordinal};
	const struct sn_ze_list_desc list_desc = {.type = SN_ZE_COMMAND_LIST_DESC,
						  .ordinal = ordinal};
	void *queue, *list, *scale = scale_of(x), *add = add_of(x, y);
	CALL(zeCommandQueueCreate, context, device, &queue_desc, &queue);
	CALL(zeCommandListCreate, context, device, &list_desc, &list);
	for (int i = 0; i < 3; i++)
		LAUNCH(scale, list, true);
	LAUNCH(add, list, true);
	execute(queue, list);
	CALL(zeCommandListReset, list);
	for (int i = 0; i < 2; i++)
		LAUNCH(add, list, true);
	LAUNCH(scale, list, true);
	execute(queue, list);
	CALL(zeCommandListDestroy, list);
	CALL(zeCommandQueueDestroy, queue);
	CALL(zeKernelDestroy, scale);
	CALL(zeKernelDestroy, add);
}

/* What the device computes of an element, which begins with its place: of y one half was copied from x, and the other was filled. */
static uint32_t expected(uint32_t index)
{
	uint32_t x = index + 1, y = index < COUNT / 2 ? x : FILLED;
	for (int i = 0; i < 40; i++)
		x *= FACTOR;
	for (int i = 0; i < 15; i++)
		x += y;
	for (int thread = 0; thread < THREADS; thread++) {
		uint32_t share = index + 1;
		for (int i = 0; i < 10 * (thread + 1); i++)
			share *= FACTOR;
		y += share;
	}
	for (int i = 0; i < SIGNALS; i++)
		x += y;
	for (int i = 0; i < REPLAYS; i++)
		x = x * FACTOR * FACTOR * FACTOR + y;
	for (int i = 0; i < REPLAYS; i++)
		x = (x + y + y) * FACTOR;
	return x;
}

static int work(void)
{
	const uint32_t filled = FILLED;
	uint32_t *host = malloc(BYTES), *x, *y, *shares[THREADS];
	load();
	void *list = immediate();
	for (uint32_t i = 0; i < COUNT; i++)
		host[i] = i + 1;
	x = memory();
	y = memory();
	note("copy", __LINE__ + 1, BYTES, false);
	CALL(zeCommandListAppendMemoryCopy, list, x, host, BYTES, NULL, 0, NULL);
	note("set", __LINE__ + 1, BYTES, false);
	CALL(zeCommandListAppendMemoryFill, list, y, &filled, sizeof(filled), BYTES, NULL, 0, NULL);
	CALL(zeCommandListAppendBarrier, list, NULL, 0, NULL);
	note("copy", __LINE__ + 1, BYTES / 2, false);
	CALL(zeCommandListAppendMemoryCopy, list, y, x, BYTES / 2, NULL, 0, NULL);
	for (int i = 0; i < THREADS; i++) {
		shares[i] = memory();
		note("copy", __LINE__ + 1, BYTES, false);
		CALL(zeCommandListAppendMemoryCopy, list, shares[i], host, BYTES, NULL, 0, NULL);
	}
	CALL(zeCommandListAppendBarrier, list, NULL, 0, NULL);
	void *scale = scale_of(x), *add = add_of(x, y);
	for (int i = 0; i < 40; i++)
		LAUNCH(scale, list, false);
	for (int i = 0; i < 15; i++)
		LAUNCH(add, list, false);
	finish(list);
	work_in_threads(shares);
	for (int i = 0; i < THREADS; i++) {
		void *add_share = add_of(y, shares[i]);
		note("add", __LINE__ + 1, 0, false);
		launch(list, add_share, NULL);
		finish(list);
		CALL(zeKernelDestroy, add_share);
	}
	add_with_signal(list, add);
	replay(x, y);
	note("copy", __LINE__ + 1, BYTES, false);
	CALL(zeCommandListAppendMemoryCopy, list, host, x, BYTES, NULL, 0, NULL);
	finish(list);
	CALL(zeKernelDestroy, scale);
	CALL(zeKernelDestroy, add);
	CALL(zeCommandListDestroy, list);
	CALL(zeMemFree, context, x);
	CALL(zeMemFree, context, y);
	for (int i = 0; i < THREADS; i++)
		CALL(zeMemFree, context, shares[i]);
	unload();
	fprintf(stderr, "device: %.256s\n", device_name);
	print_wrong(host, COUNT, expected);
	free(host);
	print_truth(REPLAYS, 0);
	return 0;
}

static double now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- how long a kernel takes ---- */

/* What rounds of x * SPIN_FACTOR + SPIN_ADDED leave of x: two of them are one with other numbers. */
static uint32_t spun(uint32_t x, uint32_t rounds)
{
	uint32_t factor = SPIN_FACTOR, added = SPIN_ADDED;
	for (; rounds; rounds >>= 1) {
		if (rounds & 1)
			x = x * factor + added;
		added += added * factor;
		factor *= factor;
	}
	return x;
}

/* In one work item: nanoseconds from before the launch until the host knows that it is done. */
static double spin_ns(void *list, void *spin, uint32_t rounds, const struct signal *signal)
{
	const struct groups groups = {1, 1, 1};
	CALL(zeKernelSetArgumentValue, spin, 1, sizeof(rounds), &rounds);
	double begin_ns = now_ns(CLOCK_MONOTONIC);
	CALL(zeCommandListAppendLaunchKernel, list, spin, &groups, signal->event, 0, NULL);
	CALL(zeEventHostSynchronize, signal->event, UINT64_MAX);
	double span_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
	CALL(zeEventHostReset, signal->event);
	return span_ns;
}

/* Four times as many rounds each time, until one kernel takes so long that what the launch itself takes is nothing beside it. */
static int measure_spans(void)
{
	uint32_t host = 1, expected = 1, count = 0;
	double span_ns = 0, total_ns = 0;
	load();
	void *list = immediate(), *spin = kernel_of("spin");
	uint32_t *x = memory();
	struct signal signal = new_signal();
	CALL(zeKernelSetGroupSize, spin, 1, 1, 1);
	CALL(zeKernelSetArgumentValue, spin, 0, sizeof(x), &x);
	CALL(zeCommandListAppendMemoryCopy, list, x, &host, sizeof(host), NULL, 0, NULL);
	finish(list);
	for (uint32_t rounds = 1 << 12; span_ns < ENOUGH_NS && rounds <= MOST_ROUNDS; rounds *= 4) {
		span_ns = spin_ns(list, spin, rounds, &signal);
		total_ns += span_ns;
		expected = spun(expected, rounds);
		count++;
	}
	CALL(zeCommandListAppendMemoryCopy, list, &host, x, sizeof(host), NULL, 0, NULL);
	finish(list);
	free_signal(&signal);
	CALL(zeKernelDestroy, spin);
	CALL(zeCommandListDestroy, list);
	CALL(zeMemFree, context, x);
	unload();
	if (host != expected)
		end(1, "spin has computed something else", 0);
	printf("{\"count\": %u, \"total_ns\": %.0f, \"last_ns\": %.0f}\n", count, total_ns,
	       span_ns);
	return 0;
}

/* ---- what it costs ---- */

static void launch_round(void *list, void *kernel)
{
	const struct groups groups = {1, 1, 1};
	for (int i = 0; i < ROUND; i++)
		ze.zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL);
}

static int measure_launches(int count)
{
	double cpu_ns = 0, wall_ns = 0;
	load();
	void *list = immediate(), *nothing = kernel_of("nothing");
	launch_round(list, nothing);
	finish(list);
	for (int left = count; left > 0; left -= ROUND) {
		double cpu = now_ns(CLOCK_THREAD_CPUTIME_ID), wall = now_ns(CLOCK_MONOTONIC);
		launch_round(list, nothing);
		cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		wall_ns += now_ns(CLOCK_MONOTONIC) - wall;
		finish(list);
	}
	CALL(zeKernelDestroy, nothing);
	CALL(zeCommandListDestroy, list);
	unload();
	printf("%.1f %.1f\n", cpu_ns / count, wall_ns / count);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "probe"))
		return probe();
	if (!strcmp(what, "work"))
		return work();
	if (!strcmp(what, "span"))
		return measure_spans();
	if (!strcmp(what, "launch"))
		return measure_launches(argc > 2 ? atoi(argv[2]) : 10000);
	fprintf(stderr, "usage: device probe|work|span|launch COUNT\n");
	return 129;
}
