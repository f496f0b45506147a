/* SPDX-License-Identifier: Apache-2.0 */
/* The program's calls, as the tracing layer reports them. The layer does not report what its callbacks themselves call. */
#include "levelzero.h"

#include "call.h"
#include "collect/core/clock.h"
#include "collect/core/lock.h"

#include <string.h>

#define POLL_EVERY 64u /* appended operations */

/* ---- what a call appends ---- */

/* The call that this thread is in. */
static __thread struct {
	struct sn_ze_event *own;
	bool is_measured;
	uint64_t start_ns;
} current __attribute__((tls_model("initial-exec")));

static uint64_t region_bytes(const struct sn_ze_region *region)
{
	if (!region)
		return 0;
	return (uint64_t)region->width * region->height * (region->depth ? region->depth : 1);
}

/* 0 where the call does not say: of images. */
static uint64_t bytes_of(enum sn_ze_api api, void **parameters)
{
	switch (api) {
	case SN_ZE_API_CommandListAppendMemoryCopy:
		return SN_ZE_PARAMETER(parameters, size_t, 3);
	case SN_ZE_API_CommandListAppendMemoryFill:
	case SN_ZE_API_CommandListAppendMemoryCopyFromContext:
		return SN_ZE_PARAMETER(parameters, size_t, 4);
	case SN_ZE_API_CommandListAppendMemoryCopyRegion:
		return region_bytes(SN_ZE_PARAMETER(parameters, const struct sn_ze_region *, 2));
	default:
		return 0;
	}
}

static const char *name_of(const struct sn_ze_append *append, void **parameters)
{
	if (append->kind != SN_GPU_KERNEL)
		return NULL;
	if (append->api == SN_ZE_API_CommandListAppendLaunchMultipleKernelsIndirect)
		return SN_ZE_PARAMETER(parameters, uint32_t, 1) == 1
			   ? sn_ze_kernel_name(*SN_ZE_PARAMETER(parameters, void **, 2))
			   : NULL;
	return sn_ze_kernel_name(SN_ZE_PARAMETER(parameters, void *, 1));
}

/* Sees to it that the operation signals an event that can be read. Locked. */
static bool prepare(const struct sn_ze_list *list, void **event)
{
	if (!*event) {
		current.own = sn_ze_event_take(list->context);
		if (current.own)
			*event = current.own->handle;
		else
			sn_drop(NULL, SN_DROP_GPU_LOST, 1);
		return current.own != NULL;
	}
	if (!sn_ze_event_is_timed(*event)) {
		sn_drop(NULL, SN_DROP_GPU_UNTIMED, 1);
		return false;
	}
	struct sn_ze_item *before = list->is_immediate ? sn_ze_event_item(*event) : NULL;
	if (before)
		sn_ze_item_end(before);
	return true;
}

void sn_ze_append_begins(const struct sn_ze_append *append, void **parameters)
{
	current.own = NULL;
	current.is_measured = false;
	current.start_ns = sn_now_ns();
	if (!sn_gpu_call_place(NULL, NULL))
		return;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	struct sn_ze_list *list = sn_ze_list_find(SN_ZE_PARAMETER(parameters, void *, 0));
	if (list)
		current.is_measured =
		    prepare(list, &SN_ZE_PARAMETER(parameters, void *, append->event));
	else
		sn_drop(NULL, SN_DROP_GPU_UNTIMED, 1);
	sn_lock_release(SN_LOCK_LEVELZERO);
}

static void add(struct sn_ze_list *list, const struct sn_ze_command *command)
{
	static uint32_t appended;
	if (!list->is_immediate) {
		if (!sn_ze_list_add(list, command))
			sn_drop(NULL, SN_DROP_GPU_LOST, 1);
		return;
	}
	sn_ze_item_add(list->stream, list->device, command, current.start_ns);
	if (++appended % POLL_EVERY == 0)
		sn_ze_items_collect();
}

void sn_ze_append_ended(const struct sn_ze_append *append, void **parameters, sn_ze_result result)
{
	struct sn_ze_command command = {.event = SN_ZE_PARAMETER(parameters, void *, append->event),
					.own = current.own,
					.kind = append->kind};
	if (!current.is_measured || !sn_gpu_call_place(&command.state, &command.node))
		return;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	struct sn_ze_list *list = sn_ze_list_find(SN_ZE_PARAMETER(parameters, void *, 0));
	if (result && current.own) {
		sn_ze_event_give(current.own);
	} else if (!result && list) {
		command.name = name_of(append, parameters);
		command.bytes = bytes_of(append->api, parameters);
		add(list, &command);
	}
	sn_lock_release(SN_LOCK_LEVELZERO);
}

void sn_ze_wait_ended(void)
{
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	sn_ze_items_collect();
	sn_lock_release(SN_LOCK_LEVELZERO);
}
