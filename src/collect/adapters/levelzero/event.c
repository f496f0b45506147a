/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of our own, of which an operation signals one if the program passes none: in pools of each context, with timestamps,
 * used again and again.
 */
#include "levelzero.h"

#define POOL_EVENTS 256u
#define POOLS	    256u /* of all contexts */
#define CONTEXTS    64u

struct pool {
	struct pool *next;
	void *handle;
	uint32_t made;
	struct sn_ze_event events[POOL_EVENTS];
};

struct sn_ze_context {
	void *handle;
	struct pool *pools; /* the first may have room */
	struct sn_ze_event *free;
	bool is_refused; /* the driver makes no more */
};

static struct sn_ze_context contexts[CONTEXTS];
static struct pool *unused;
static uint32_t pool_count;

static struct sn_ze_context *context_of(void *handle, bool makes)
{
	struct sn_ze_context *room = NULL;
	for (uint32_t index = 0; index < CONTEXTS; index++) {
		if (contexts[index].handle == handle)
			return &contexts[index];
		if (!contexts[index].handle && !room)
			room = &contexts[index];
	}
	if (!makes || !room)
		return NULL;
	*room = (struct sn_ze_context){.handle = handle};
	return room;
}

static void give_pool(struct pool *pool)
{
	pool->next = unused;
	unused = pool;
}

static bool add_pool(struct sn_ze_context *context)
{
	const struct sn_ze_event_pool_desc desc = {.type = SN_ZE_EVENT_POOL_DESC,
						   .flags = SN_ZE_POOL_HOST_VISIBLE |
							    SN_ZE_POOL_TIMESTAMP,
						   .count = POOL_EVENTS};
	struct pool *pool = SN_ZE_TAKE(struct pool, unused, pool_count, POOLS, 1);
	void *handle;
	if (!pool)
		return false;
	if (sn_ze.zeEventPoolCreate(context->handle, &desc, 0, NULL, &handle)) {
		context->is_refused = true;
		give_pool(pool);
		return false;
	}
	pool->handle = handle;
	pool->made = 0;
	pool->next = context->pools;
	context->pools = pool;
	return true;
}

static struct sn_ze_event *make_event(struct sn_ze_context *context)
{
	struct pool *pool = context->pools;
	if (!pool || pool->made == POOL_EVENTS) {
		if (context->is_refused || !add_pool(context))
			return NULL;
		pool = context->pools;
	}
	const struct sn_ze_event_desc desc = {
	    .type = SN_ZE_EVENT_DESC, .index = pool->made, .signal = SN_ZE_SCOPE_HOST};
	struct sn_ze_event *event = &pool->events[pool->made];
	if (sn_ze.zeEventCreate(pool->handle, &desc, &event->handle)) {
		context->is_refused = true;
		return NULL;
	}
	event->context = context;
	pool->made++;
	return event;
}

struct sn_ze_event *sn_ze_event_take(void *handle)
{
	struct sn_ze_context *context = context_of(handle, true);
	if (!context)
		return NULL;
	struct sn_ze_event *event = context->free;
	if (!event)
		return make_event(context);
	context->free = event->next;
	return event;
}

void sn_ze_event_give(struct sn_ze_event *event)
{
	event->next = event->context->free;
	event->context->free = event;
}

bool sn_ze_event_is_of(const struct sn_ze_event *event, void *context)
{
	return event->context->handle == context;
}

void sn_ze_events_release(void *handle)
{
	struct sn_ze_context *context = context_of(handle, false);
	if (!context)
		return;
	while (context->pools) {
		struct pool *pool = context->pools;
		context->pools = pool->next;
		for (uint32_t index = 0; index < pool->made; index++)
			sn_ze.zeEventDestroy(pool->events[index].handle);
		sn_ze.zeEventPoolDestroy(pool->handle);
		give_pool(pool);
	}
	*context = (struct sn_ze_context){0};
}
