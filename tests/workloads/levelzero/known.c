/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels, copies and fills in immediate lists, in lists that are executed often, in two threads, with events of the program's
 * own: as often as is known. Arguments choose more: "late" waits for nothing at the end, "fork" ends a child in between,
 * "abort" ends badly, "slow" is longer than the device's clock counts, "launch" only launches and says how long it took. */
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1 << 18 };

#define DO(call)                                                                                   \
	do {                                                                                       \
		ze_result_t error = (call);                                                        \
		if (error) {                                                                       \
			printf("%s: %x\n", #call, error);                                          \
			exit(77);                                                                  \
		}                                                                                  \
	} while (0)

#define LAUNCH(list, kernel, event)                                                                \
	DO(zeCommandListAppendLaunchKernel(list, kernel, &groups, event, 0, NULL))
#define COOPERATE(list, kernel, event)                                                             \
	DO(zeCommandListAppendLaunchCooperativeKernel(list, kernel, &groups, event, 0, NULL))

static ze_context_handle_t context;
static ze_device_handle_t device;
static ze_kernel_handle_t scale, add, span;
static const ze_group_count_t groups = {64, 1, 1};

static ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char *name)
{
	ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
	ze_kernel_handle_t kernel;
	DO(zeKernelCreate(module, &desc, &kernel));
	DO(zeKernelSetGroupSize(kernel, 64, 1, 1));
	return kernel;
}

static ze_module_handle_t begin(void)
{
	uint32_t count = 1;
	ze_driver_handle_t driver;
	DO(zeInit(0));
	DO(zeDriverGet(&count, &driver));
	count = 1;
	DO(zeDeviceGet(driver, &count, &device));
	if (!count) {
		puts("no device");
		exit(77);
	}
	ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	DO(zeContextCreate(driver, &desc, &context));
	ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC};
	ze_module_handle_t module;
	DO(zeModuleCreate(context, device, &module_desc, &module, NULL));
	scale = kernel_of(module, "scale");
	add = kernel_of(module, "add");
	span = kernel_of(module, "span");
	return module;
}

static ze_event_pool_handle_t pool_of(uint32_t flags, ze_event_handle_t *event)
{
	ze_event_pool_desc_t desc = {
	    .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = flags, .count = 1};
	ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
	ze_event_pool_handle_t pool;
	DO(zeEventPoolCreate(context, &desc, 0, NULL, &pool));
	DO(zeEventCreate(pool, &event_desc, event));
	return pool;
}

static ze_command_list_handle_t immediate(void)
{
	ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_list_handle_t list;
	DO(zeCommandListCreateImmediate(context, device, &desc, &list));
	return list;
}

static void scale_often(ze_command_list_handle_t list, int times)
{
	for (int i = 0; i < times; i++)
		LAUNCH(list, scale, NULL); // scale_often
}

/* The last of a list waits for what is before it. */
static void finish(ze_command_list_handle_t list)
{
	ze_event_handle_t event;
	ze_event_pool_handle_t pool = pool_of(ZE_EVENT_POOL_FLAG_HOST_VISIBLE, &event);
	DO(zeCommandListAppendBarrier(list, event, 0, NULL));
	DO(zeEventHostSynchronize(event, UINT64_MAX));
	DO(zeEventDestroy(event));
	DO(zeEventPoolDestroy(pool));
}

/* One event again and again, reset by the host; its times are the program's own affair. */
static void reuse_event(ze_command_list_handle_t list, uint32_t flags, int times)
{
	ze_event_handle_t event;
	ze_event_pool_handle_t pool = pool_of(ZE_EVENT_POOL_FLAG_HOST_VISIBLE | flags, &event);
	uint64_t ticks = 0;
	for (int i = 0; i < times; i++) {
		LAUNCH(list, add, event); // reuse_event
		DO(zeEventHostSynchronize(event, UINT64_MAX));
		if (flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) {
			ze_kernel_timestamp_result_t result;
			DO(zeEventQueryKernelTimestamp(event, &result));
			ticks += (uint32_t)(result.global.kernelEnd - result.global.kernelStart);
		}
		DO(zeEventHostReset(event));
	}
	printf("own times: %llu\n", (unsigned long long)ticks);
	DO(zeEventDestroy(event));
	DO(zeEventPoolDestroy(pool));
}

/* The same without a call that waits: it is asked until it is done. */
static void ask_event(ze_command_list_handle_t list, int times)
{
	ze_event_handle_t event;
	ze_event_pool_handle_t pool = pool_of(ZE_EVENT_POOL_FLAG_HOST_VISIBLE, &event);
	for (int i = 0; i < times; i++) {
		LAUNCH(list, add, event); // ask_event
		while (zeEventQueryStatus(event))
			continue;
		DO(zeEventHostReset(event));
	}
	DO(zeEventDestroy(event));
	DO(zeEventPoolDestroy(pool));
}

/* A list is recorded once, and executed with waiting in between, and without, which the specification forbids; and reset and recorded anew. */
static void replay(int waiting, int at_once)
{
	ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_command_queue_handle_t queue;
	ze_command_list_handle_t list;
	ze_event_handle_t event;
	ze_event_pool_handle_t pool = pool_of(0, &event);
	DO(zeCommandQueueCreate(context, device, &queue_desc, &queue));
	DO(zeCommandListCreate(context, device, &desc, &list));
	for (int round = 0; round < 2; round++) {
		DO(zeCommandListAppendEventReset(list, event));
		for (int i = 0; i < 3; i++)
			LAUNCH(list, scale, NULL); // recorded
		COOPERATE(list, add, event);	   // cooperative
		DO(zeCommandListClose(list));
		for (int i = 0; i < waiting; i++) {
			DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
			DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
		}
		for (int i = 0; i < at_once; i++) {
			if (i == 2)
				usleep(50000); /* both are done, and nobody has asked */
			DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
			zeCommandQueueSynchronize(queue, 0); /* it is not done */
		}
		DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
		DO(zeCommandListReset(list));
	}
	DO(zeCommandListDestroy(list));
	DO(zeCommandQueueDestroy(queue));
	DO(zeEventDestroy(event));
	DO(zeEventPoolDestroy(pool));
}

static void copy_and_fill(ze_command_list_handle_t list)
{
	ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	char *host = malloc(BYTES), zero = 7;
	void *memory;
	memset(host, 1, BYTES);
	DO(zeMemAllocDevice(context, &desc, BYTES, 64, device, &memory));
	DO(zeCommandListAppendMemoryCopy(list, memory, host, BYTES, NULL, 0, NULL));	     // in
	DO(zeCommandListAppendMemoryFill(list, memory, &zero, 1, BYTES / 2, NULL, 0, NULL)); // fill
	DO(zeCommandListAppendMemoryCopy(list, host, memory, BYTES, NULL, 0, NULL));	     // out
	finish(list);
	printf("memory: %d %d\n", host[0], host[BYTES - 1]);
	DO(zeMemFree(context, memory));
	free(host);
}

static void *in_thread(void *unused)
{
	ze_command_list_handle_t list = immediate();
	scale_often(list, 60);
	finish(list);
	DO(zeCommandListDestroy(list));
	return unused;
}

static void fork_once(void)
{
	pid_t child = fork();
	if (!child)
		exit(3);
	int status;
	waitpid(child, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The CPU time that a launch costs the program: of the fastest of 20 rounds. */
static void launch(int times)
{
	ze_command_list_handle_t list = immediate();
	double best = 1e18;
	for (int round = 0; round < 20; round++) {
		double start = now();
		scale_often(list, times);
		double each = (now() - start) / times;
		best = each < best ? each : best;
		finish(list);
	}
	printf("%.0f ns a launch\n", best);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	ze_module_handle_t module = begin();
	ze_command_list_handle_t list = immediate();
	pthread_t thread;
	if (!strcmp(how, "launch")) {
		launch(argc > 2 ? atoi(argv[2]) : 1000);
		return 0;
	}
	scale_often(list, 40);
	if (!strcmp(how, "fork"))
		fork_once();
	if (!strcmp(how, "slow"))
		sleep(5);
	copy_and_fill(list);
	LAUNCH(list, span, NULL); // spans
	reuse_event(list, 0, 25);
	ask_event(list, 10);
	reuse_event(list, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 15);
	pthread_create(&thread, NULL, in_thread, NULL);
	replay(5, 10);
	pthread_join(thread, NULL);
	scale_often(list, 4);
	if (!strcmp(how, "late"))
		return 5;
	finish(list);
	if (!strcmp(how, "abort"))
		abort();
	DO(zeCommandListDestroy(list));
	DO(zeKernelDestroy(scale));
	DO(zeKernelDestroy(add));
	DO(zeKernelDestroy(span));
	DO(zeModuleDestroy(module));
	DO(zeContextDestroy(context));
	puts("done");
	return 0;
}
