/* SPDX-License-Identifier: Apache-2.0 */
/* Calls each function of an adapter for all adapters that have attached. */
#include "adapters.h"
#include "lock.h"

#include <errno.h>

#define SN_ADAPTER(name) extern const struct sn_adapter sn_adapter_##name;
#include "collect/adapters/list.def"
#undef SN_ADAPTER

static const struct sn_adapter *const adapters[] = {
#define SN_ADAPTER(name) &sn_adapter_##name,
#include "collect/adapters/list.def"
#undef SN_ADAPTER
    NULL};

enum adapter_state { WAITING, ATTACHED, OFF };
static _Atomic int states[SN_ADAPTER_SLOT_COUNT + 1];
static _Atomic uint32_t tried_generation;

uint32_t sn_adapter_count(void)
{
	return SN_ADAPTER_SLOT_COUNT;
}

const struct sn_adapter *sn_adapter_at(uint32_t index)
{
	return adapters[index];
}

static void attach_one(uint32_t slot)
{
	if (states[slot] != WAITING)
		return;
	int status = adapters[slot]->attach ? adapters[slot]->attach() : 0;
	if (!status)
		states[slot] = ATTACHED;
	else if (status != -EAGAIN)
		states[slot] = OFF;
}

void sn_adapters_attach(void)
{
	uint32_t generation = sn_module_generation();
	if (generation == atomic_load_explicit(&tried_generation, memory_order_relaxed))
		return;
	if (!sn_lock_try(SN_LOCK_ADAPTERS))
		return;
	for (uint32_t slot = 0; slot < sn_adapter_count(); slot++)
		attach_one(slot);
	atomic_store_explicit(&tried_generation, generation, memory_order_relaxed);
	sn_lock_release(SN_LOCK_ADAPTERS);
}

void sn_adapters_retry(void)
{
	atomic_store_explicit(&tried_generation, UINT32_MAX, memory_order_relaxed);
}

/* Of each adapter that has attached: its function, where it has one. */
#define CALL_ALL(function, ...)                                                                    \
	for (uint32_t slot = 0; slot < sn_adapter_count(); slot++)                                 \
		if (states[slot] == ATTACHED && adapters[slot]->function)                          \
			adapters[slot]->function(__VA_ARGS__);

void sn_adapters_detach(void)
{
	CALL_ALL(detach)
}

void sn_adapters_after_fork(void)
{
	CALL_ALL(after_fork)
}

void sn_adapters_thread_begin(struct sn_thread *thread)
{
	CALL_ALL(thread_begin, thread)
}

void sn_adapters_thread_end(struct sn_thread *thread)
{
	CALL_ALL(thread_end, thread)
}
