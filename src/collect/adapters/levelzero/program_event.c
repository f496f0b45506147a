/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own events. Its pools are made to have timestamps, so that an operation which signals one of their events has
 * times. They must be read before the program changes the event's state: it may reset, destroy or signal it again.
 */
#include "levelzero.h"

#include "collect/core/word_table.h"

#define POOL_BITS  10u
#define EVENT_BITS 16u
#define EVENTS	   (1u << (EVENT_BITS - 1))

struct program_event {
	struct program_event *next; /* that is free */
	struct sn_ze_item *item; /* the last operation that signals it; NULL: none, or it is done */
	/* of the newest operation whose times were read: its number, 0 for none, and its times in ticks */
	uint32_t correlation;
	uint64_t start, end;
};

static struct program_event (*storage)[EVENTS]; /* mapped at the first event */
static struct program_event *unused;
static uint32_t used;
/* Pools with timestamps, and their events. Those that find no room have no times. */
static struct sn_word_table pools = {.bits = POOL_BITS}, events = {.bits = EVENT_BITS};

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
	if (!result && SN_ZE_PARAMETER(parameters, void *, 1) == changed_desc())
		sn_word_set(&pools, (uintptr_t)*pool, 1);
}

void sn_ze_pool_is_destroyed(void **parameters, sn_ze_result result)
{
	uintptr_t value;
	(void)result;
	sn_word_remove(&pools, SN_ZE_PARAMETER(parameters, uintptr_t, 0), &value);
}

/* ---- events ---- */

static struct program_event *find(void *event)
{
	return (struct program_event *)sn_word_get(&events, (uintptr_t)event);
}

bool sn_ze_event_is_timed(void *event)
{
	return find(event) != NULL;
}

struct sn_ze_item *sn_ze_event_item(void *event)
{
	const struct program_event *found = find(event);
	return found ? found->item : NULL;
}

void sn_ze_event_set_item(void *event, struct sn_ze_item *item)
{
	struct program_event *found = find(event);
	if (found)
		found->item = item;
}

bool sn_ze_event_is_stale(void *event, const struct sn_ze_timestamps *times)
{
	const struct program_event *found = find(event);
	return found && found->start == times->start && found->end == times->end;
}

/* Times of an older execution may come later than the newest, by a batch. */
void sn_ze_event_was_read(void *event, uint32_t correlation, const struct sn_ze_timestamps *times)
{
	struct program_event *found = find(event);
	if (!found || (found->correlation && (int32_t)(correlation - found->correlation) < 0))
		return;
	found->correlation = correlation;
	found->start = times->start;
	found->end = times->end;
}

static void forget_event(void *event)
{
	uintptr_t value;
	if (!sn_word_remove(&events, (uintptr_t)event, &value))
		return;
	struct program_event *found = (struct program_event *)value;
	found->next = unused;
	unused = found;
}

static void add_event(void *event)
{
	struct program_event *place = unused;
	if (!place && (used == EVENTS || !SN_PAGES_ONCE(storage)))
		return;
	if (place)
		unused = place->next;
	else
		place = &(*storage)[used++];
	/* no times are these */
	*place = (struct program_event){.start = UINT64_MAX};
	if (sn_word_add(&events, (uintptr_t)event, (uintptr_t)place))
		return;
	place->next = unused;
	unused = place;
}

void sn_ze_event_created(void **parameters, sn_ze_result result)
{
	void *pool = SN_ZE_PARAMETER(parameters, void *, 0);
	void **event = SN_ZE_PARAMETER(parameters, void **, 2);
	if (result)
		return;
	forget_event(*event);
	if (sn_word_get(&pools, (uintptr_t)pool))
		add_event(*event);
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
	end_item_of(SN_ZE_PARAMETER(parameters, void *, 0));
}

/* Only an immediate list resets it soon; what another one resets has been read when that is executed, or is lost then. */
void sn_ze_event_is_reset_by_list(void **parameters, sn_ze_result result)
{
	(void)result;
	struct sn_ze_list *list = sn_ze_list_find(SN_ZE_PARAMETER(parameters, void *, 0));
	if (list && list->is_immediate)
		end_item_of(SN_ZE_PARAMETER(parameters, void *, 1));
}

void sn_ze_event_is_destroyed(void **parameters, sn_ze_result result)
{
	void *event = SN_ZE_PARAMETER(parameters, void *, 0);
	(void)result;
	end_item_of(event);
	forget_event(event);
}
