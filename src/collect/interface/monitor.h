/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How adapters and interceptors report events to tools that use sonde/monitor.h. Without a tool an
 * event costs the test of one variable.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "sonde/monitor.h"

#include <stdatomic.h>
#include <stdbool.h>

/* A bit for each domain that has a listener, and for each whose values a listener wants. */
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
 * Calls the listeners; the caller sets domain, kind and the kind's fields, the rest is filled in.
 * Not between sn_enter and sn_leave.
 */
void sn_monitor_emit(struct sonde_event event);
#define SN_MONITOR_EMIT(...) sn_monitor_emit((struct sonde_event){__VA_ARGS__})
/* The same between sn_enter and sn_leave of `thread`; leaves the guard for the time of the call. */
struct sn_thread;
void sn_monitor_emit_inside(struct sn_thread *thread, struct sonde_event event);

/* Loads the tool of SONDE_TOOL and starts it; stops it. MT: once. */
void sn_monitor_tool_start(void);
void sn_monitor_tool_stop(void);
