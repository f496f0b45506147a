/* SPDX-License-Identifier: Apache-2.0 */
/* Events, whose states are planned, and the device's clock, whose ticks begin anew soon after the program has started. */
#include "driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the clock ---- */

/* FAKE_ZE_HZ ticks in a second; the 32 bits that an operation's times have end after 30 ms, and then every 4.3 s at 1 GHz. */
uint64_t device_ticks(uint64_t ns)
{
	static uint64_t begin_ns, hz;
	if (!hz) {
		const char *text = getenv("FAKE_ZE_HZ");
		begin_ns = fake_now_ns();
		hz = text && *text ? strtoull(text, NULL, 10) : 1000000000u;
	}
	/* what is before the first call is before the wrap */
	unsigned __int128 ticks =
	    (unsigned __int128)(ns - begin_ns + 10000000000u) * hz / 1000000000u;
	unsigned __int128 first = (unsigned __int128)10030000000u * hz / 1000000000u;
	return (uint64_t)ticks + ((8ull << 32) - (uint64_t)first);
}

/* ---- states ---- */

static void forget_past(struct event *event)
{
	uint64_t now_ns = fake_now_ns();
	uint32_t past = 0;
	while (past + 1 < event->count && event->changes[past + 1].ns <= now_ns)
		past++;
	memmove(event->changes, event->changes + past,
		(event->count - past) * sizeof(*event->changes));
	event->count -= past;
}

void event_change(struct event *event, const struct change *change)
{
	forget_past(event);
	if (event->count == MOST_CHANGES)
		misused("too many changes of an event are under way");
	uint32_t place = event->count;
	while (place && event->changes[place - 1].ns > change->ns)
		place--;
	memmove(event->changes + place + 1, event->changes + place,
		(event->count - place) * sizeof(*event->changes));
	event->changes[place] = *change;
	event->count++;
}

const struct change *event_at(struct event *event, uint64_t ns)
{
	static const struct change never;
	for (uint32_t index = event->count; index; index--)
		if (event->changes[index - 1].ns <= ns)
			return &event->changes[index - 1];
	return &never;
}

ze_kernel_timestamp_result_t event_times(const struct change *change)
{
	ze_kernel_timestamp_data_t times = {device_ticks(change->start_ns) & UINT32_MAX,
					    device_ticks(change->end_ns) & UINT32_MAX};
	if (!change->is_signalled)
		times = (ze_kernel_timestamp_data_t){UINT32_MAX, UINT32_MAX};
	return (ze_kernel_timestamp_result_t){times, times};
}

/* ---- pools ---- */

static ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *desc,
			       uint32_t device_count, ze_device_handle_t *devices,
			       ze_event_pool_handle_t *handle)
{
	(void)device_count, (void)devices;
	if ((desc->flags & ZE_EVENT_POOL_FLAG_IPC) &&
	    (desc->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP))
		return ZE_RESULT_ERROR_INVALID_ENUMERATION;
	struct pool *pool = calloc(1, sizeof(*pool));
	pool->context = context;
	pool->flags = desc->flags;
	driver_lock();
	context->pools++;
	driver_unlock();
	*handle = (ze_event_pool_handle_t)pool;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(ze_event_pool_handle_t handle)
{
	struct pool *pool = (struct pool *)handle;
	if (pool->events)
		misused("a pool is destroyed before its events");
	driver_lock();
	pool->context->pools--;
	driver_unlock();
	free(pool);
	return ZE_RESULT_SUCCESS;
}

/* ---- events ---- */

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
				ze_event_handle_t *handle)
{
	struct event *event = calloc(1, sizeof(*event));
	(void)desc;
	event->pool = (struct pool *)pool;
	driver_lock();
	event->pool->events++;
	driver_unlock();
	*handle = (ze_event_handle_t)event;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_destroy(ze_event_handle_t handle)
{
	struct event *event = (struct event *)handle;
	driver_lock();
	event->pool->events--;
	driver_unlock();
	free(event);
	return ZE_RESULT_SUCCESS;
}

static void host_changes(ze_event_handle_t handle, bool is_signalled)
{
	uint64_t now_ns = fake_now_ns();
	struct change change = {now_ns, is_signalled, now_ns, now_ns};
	driver_lock();
	event_change((struct event *)handle, &change);
	driver_unlock();
}

static ze_result_t event_host_signal(ze_event_handle_t handle)
{
	host_changes(handle, true);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_host_reset(ze_event_handle_t handle)
{
	host_changes(handle, false);
	return ZE_RESULT_SUCCESS;
}

static void visible(ze_event_handle_t handle)
{
	if (!(((struct event *)handle)->pool->flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE))
		misused("an event is asked that the host does not see");
}

/* The next moment at which it is reset, as planned; 0 if none is. */
static uint64_t reset_ns(const struct event *event)
{
	uint64_t now_ns = fake_now_ns();
	for (uint32_t index = 0; index < event->count; index++)
		if (!event->changes[index].is_signalled && event->changes[index].ns > now_ns)
			return event->changes[index].ns;
	return 0;
}

static ze_result_t event_status(ze_event_handle_t handle)
{
	visible(handle);
	driver_lock();
	bool is = event_at((struct event *)handle, fake_now_ns())->is_signalled;
	uint64_t ns = is && fake_fails("reset-meanwhile") ? reset_ns((struct event *)handle) : 0;
	driver_unlock();
	if (ns)
		fake_sleep_until(ns);
	return is ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

/* The next moment at which it is signalled, as planned; 0 if none is. */
static uint64_t signalled_ns(const struct event *event)
{
	for (uint32_t index = 0; index < event->count; index++)
		if (event->changes[index].is_signalled)
			return event->changes[index].ns;
	return 0;
}

static ze_result_t event_synchronize(ze_event_handle_t handle, uint64_t timeout_ns)
{
	uint64_t end_ns = fake_now_ns() + timeout_ns;
	while (event_status(handle)) {
		driver_lock();
		uint64_t ns = signalled_ns((struct event *)handle), now_ns = fake_now_ns();
		driver_unlock();
		if (timeout_ns != UINT64_MAX && (now_ns >= end_ns || !timeout_ns))
			return ZE_RESULT_NOT_READY;
		fake_sleep_until(ns > now_ns ? ns : now_ns + 50000);
	}
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_timestamp(ze_event_handle_t handle, ze_kernel_timestamp_result_t *times)
{
	struct event *event = (struct event *)handle;
	if (!(event->pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP))
		misused("an event without timestamps is asked for them");
	driver_lock();
	const struct change *change = event_at(event, fake_now_ns());
	*times = event_times(change);
	bool is = change->is_signalled;
	driver_unlock();
	return is ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

void fill_event_tables(ze_event_pool_dditable_t *pools, ze_event_dditable_t *events)
{
	if (pools) {
		pools->pfnCreate = pool_create;
		pools->pfnDestroy = pool_destroy;
	}
	if (events) {
		events->pfnCreate = event_create;
		events->pfnDestroy = event_destroy;
		events->pfnHostSignal = event_host_signal;
		events->pfnHostReset = event_host_reset;
		events->pfnQueryStatus = event_status;
		events->pfnHostSynchronize = event_synchronize;
		events->pfnQueryKernelTimestamp = event_timestamp;
	}
}
