/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own events. Its pools are made to have timestamps, so that an operation which signals one of their events has
 * times. They must be read before the program changes the event's state: it may reset, destroy or signal it again.
 */
#include "levelzero.h"

#include "collect/core/lock.h"
#include "collect/core/word_table.h"

#define POOL_BITS  10u
#define EVENT_BITS 16u
#define IDLE	   1u /* no operation signals it */

static struct sn_word_slot pool_slots[1u << POOL_BITS], event_slots[1u << EVENT_BITS];
/* Pools with timestamps, and their events with the last operation that signals each. Those that find no room have no times. */
static const struct sn_word_table pools = {pool_slots, POOL_BITS},
				  events = {event_slots, EVENT_BITS};

/* ---- pools ---- */

static struct sn_ze_event_pool_desc *changed_desc(void)
{
	static __thread struct sn_ze_event_pool_desc desc
	    __attribute__((tls_model("initial-exec")));
	return &desc;
}

/* Pools that other processes share cannot have timestamps. */
void sn_ze_pool_is_created(void **parameters, sn_ze_result result)
{
	const struct sn_ze_event_pool_desc **desc =
	    &SN_ZE_PARAMETER(parameters, const struct sn_ze_event_pool_desc *, 1);
	(void)result;
	if (!*desc || (*desc)->type != SN_ZE_EVENT_POOL_DESC || ((*desc)->flags & SN_ZE_POOL_IPC))
		return;
	struct sn_ze_event_pool_desc *changed = changed_desc();
	*changed = **desc;
	changed->flags |= SN_ZE_POOL_HOST_VISIBLE | SN_ZE_POOL_TIMESTAMP;
	*desc = changed;
}

void sn_ze_pool_created(void **parameters, sn_ze_result result)
{
	void **pool = SN_ZE_PARAMETER(parameters, void **, 4);
	if (result || SN_ZE_PARAMETER(parameters, void *, 1) != changed_desc())
		return;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	sn_word_set(&pools, (uintptr_t)*pool, IDLE);
	sn_lock_release(SN_LOCK_LEVELZERO);
}

static void forget(const struct sn_word_table *table, void *object)
{
	uintptr_t unused;
	sn_word_remove(table, (uintptr_t)object, &unused);
}

void sn_ze_pool_is_destroyed(void **parameters, sn_ze_result result)
{
	(void)result;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	forget(&pools, SN_ZE_PARAMETER(parameters, void *, 0));
	sn_lock_release(SN_LOCK_LEVELZERO);
}

/* ---- events ---- */

bool sn_ze_event_is_timed(void *event)
{
	return sn_word_get(&events, (uintptr_t)event) != 0;
}

struct sn_ze_item *sn_ze_event_item(void *event)
{
	uintptr_t item = sn_word_get(&events, (uintptr_t)event);
	return item == IDLE ? NULL : (struct sn_ze_item *)item;
}

void sn_ze_event_set_item(void *event, struct sn_ze_item *item)
{
	struct sn_word_slot *slot = event ? sn_word_find(&events, (uintptr_t)event) : NULL;
	if (slot)
		atomic_store_explicit(&slot->value, item ? (uintptr_t)item : IDLE,
				      memory_order_release);
}

void sn_ze_event_created(void **parameters, sn_ze_result result)
{
	void *pool = SN_ZE_PARAMETER(parameters, void *, 0);
	void **event = SN_ZE_PARAMETER(parameters, void **, 2);
	if (result)
		return;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	forget(&events, *event);
	if (sn_word_get(&pools, (uintptr_t)pool))
		sn_word_add(&events, (uintptr_t)*event, IDLE);
	sn_lock_release(SN_LOCK_LEVELZERO);
}

static void end_item_of(void *event)
{
	struct sn_ze_item *item = sn_ze_event_item(event);
	if (item)
		sn_ze_item_end(item);
}

void sn_ze_event_is_reset(void **parameters, sn_ze_result result)
{
	(void)result;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	end_item_of(SN_ZE_PARAMETER(parameters, void *, 0));
	sn_lock_release(SN_LOCK_LEVELZERO);
}

/* Only an immediate list resets it soon; what another one resets has been read when that is executed, or is lost then. */
void sn_ze_event_is_reset_by_list(void **parameters, sn_ze_result result)
{
	(void)result;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	struct sn_ze_list *list = sn_ze_list_find(SN_ZE_PARAMETER(parameters, void *, 0));
	if (list && list->is_immediate)
		end_item_of(SN_ZE_PARAMETER(parameters, void *, 1));
	sn_lock_release(SN_LOCK_LEVELZERO);
}

void sn_ze_event_is_destroyed(void **parameters, sn_ze_result result)
{
	void *event = SN_ZE_PARAMETER(parameters, void *, 0);
	(void)result;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	end_item_of(event);
	forget(&events, event);
	sn_lock_release(SN_LOCK_LEVELZERO);
}
