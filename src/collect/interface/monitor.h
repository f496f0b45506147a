/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How adapters and interceptors report to tools that use sonde/monitor.h. With no tool an event
 * costs the test of one variable.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#ifndef SN_COLLECT_MONITOR_H
#define SN_COLLECT_MONITOR_H

#include "sonde/monitor.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Bit for each domain that somebody listens to, and whose values somebody wants. */
extern _Atomic uint32_t sn_monitored, sn_values_monitored;

/* AS-safe: yes. */
static inline bool sn_monitor_wants(enum sonde_domain domain)
{
	/* relaxed: a listener sees events from some moment on */
	return __builtin_expect(
	    atomic_load_explicit(&sn_monitored, memory_order_relaxed) >> domain & 1, 0);
}

/* AS-safe: yes. */
static inline bool sn_monitor_wants_values(enum sonde_domain domain)
{
	return atomic_load_explicit(&sn_values_monitored, memory_order_relaxed) >> domain & 1;
}

/*
 * Calls the listeners; domain, kind and what the kind has must be set, the rest is filled in. Not
 * between sn_enter and sn_leave.
 */
void sn_monitor_emit(struct sonde_event event);
#define SN_MONITOR_EMIT(...) sn_monitor_emit((struct sonde_event){__VA_ARGS__})
/* The same between sn_enter and sn_leave of `thread`, which is left meanwhile. */
struct sn_thread;
void sn_monitor_emit_inside(struct sn_thread *thread, struct sonde_event event);

/* Loads the tool of SONDE_TOOL and starts it; stops it. MT: once. */
void sn_monitor_tool_start(void);
void sn_monitor_tool_stop(void);

#endif
