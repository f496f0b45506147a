/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of adapters compiled in (adapters/list.def), and the calls for all of them.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "adapter.h"

enum sn_adapter_slot {
#define SN_ADAPTER(name) SN_ADAPTER_SLOT_##name,
#include "collect/adapters/list.def"
#undef SN_ADAPTER
	SN_ADAPTER_SLOT_COUNT
};
_Static_assert(SN_ADAPTER_SLOT_COUNT <= sizeof(((struct sn_thread *)0)->adapters) / sizeof(void *),
	       "each adapter has a slot in a thread");

/* AS-safe: yes. */
uint32_t sn_adapter_count(void);
const struct sn_adapter *sn_adapter_at(uint32_t index);

/* Tries to attach every adapter that has not found its runtime yet. Called by hooks. */
void sn_adapters_attach(void);
/* Makes the next sn_adapters_attach try even if the list of modules has not changed: an adapter has
 * found out that its runtime is ready. AS-safe: yes. */
void sn_adapters_retry(void);
/* MT: once. The handler of a fatal signal calls it too, unless it interrupted a hook. */
void sn_adapters_detach(void);
/* MT: the only thread. */
void sn_adapters_after_fork(void);
/* On the thread itself, between sn_enter and sn_leave. */
void sn_adapters_thread_begin(struct sn_thread *thread);
void sn_adapters_thread_end(struct sn_thread *thread);
