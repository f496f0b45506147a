/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's markers (roctx) as regions, as NVTX's are: what is pushed and popped is a region, ranges that are started and stopped may
 * overlap and are timed where they began, marks are counted.
 *
 * These functions stand before those of the library, so a region's place is that of the program's own call, with every release,
 * and without rocprofiler-sdk. A program that asks the library for its functions by name calls past them; if the library shows its
 * table, such calls are heard there. The library does its own work in any case, and its answers are the program's.
 */
#include "roctx.h"

#include "collect/core/thread.h"
#include "collect/intercept/intercept.h"
#include "collect/intercept/real_symbol.h"
#include "region.h"

#include <string.h>

/* In one of our functions: the library's table is no other call. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static struct sn_range_slot ranges[SN_RANGES];

static void push(const char *message, uintptr_t stack)
{
	if (message)
		SN_REGION_BEGIN(.name = message, .length = strlen(message), .stack = stack,
				.origin = SN_REGION_EITHER, .user = SN_REGION_ROCTX);
}

static void pop(void)
{
	sn_region_end(SN_REGION_ROCTX, 0);
}

static void start(uint64_t id, const char *message)
{
	if (id && message)
		sn_range_open(ranges, id, message, strlen(message));
}

static void mark(const char *message)
{
	if (message)
		sn_region_mark(message, strlen(message));
}

/* ---- standing before the library; without one there is no range, and nothing to answer ---- */

SN_PUBLIC(int, roctxRangePushA, (const char *message))
{
	int (*real)(const char *) = SN_REAL_SYMBOL("roctxRangePushA");
	push(message, SN_CALLER_STACK);
	is_inside = true;
	int level = real ? real(message) : -1;
	is_inside = false;
	return level;
}

SN_PUBLIC(int, roctxRangePop, (void))
{
	int (*real)(void) = SN_REAL_SYMBOL("roctxRangePop");
	pop();
	is_inside = true;
	int level = real ? real() : -1;
	is_inside = false;
	return level;
}

SN_PUBLIC(uint64_t, roctxRangeStartA, (const char *message))
{
	uint64_t (*real)(const char *) = SN_REAL_SYMBOL("roctxRangeStartA");
	is_inside = true;
	uint64_t id = real ? real(message) : 0;
	is_inside = false;
	start(id, message);
	return id;
}

SN_PUBLIC(void, roctxRangeStop, (uint64_t id))
{
	void (*real)(uint64_t) = SN_REAL_SYMBOL("roctxRangeStop");
	sn_range_close(ranges, id);
	is_inside = true;
	if (real)
		real(id);
	is_inside = false;
}

SN_PUBLIC(void, roctxMarkA, (const char *message))
{
	void (*real)(const char *) = SN_REAL_SYMBOL("roctxMarkA");
	mark(message);
	is_inside = true;
	if (real)
		real(message);
	is_inside = false;
}

/* ---- in the library's table ---- */

static struct sn_roctx_table real;

static void mark_in_table(const char *message)
{
	if (!is_inside)
		mark(message);
	real.mark(message);
}

static int push_in_table(const char *message)
{
	if (!is_inside)
		push(message, SN_CALLER_STACK);
	return real.push(message);
}

static int pop_in_table(void)
{
	if (!is_inside)
		pop();
	return real.pop();
}

static uint64_t start_in_table(const char *message)
{
	uint64_t id = real.start(message);
	if (!is_inside)
		start(id, message);
	return id;
}

static void stop_in_table(uint64_t id)
{
	if (!is_inside)
		sn_range_close(ranges, id);
	real.stop(id);
}

/* Of a second library in the process the table is left as it is. */
void sn_roctx_wrap(struct sn_roctx_table *table)
{
	static _Atomic bool was_wrapped;
	if (table->bytes < sizeof(*table) || !table->mark || !table->push || !table->pop ||
	    !table->start || !table->stop ||
	    atomic_exchange_explicit(&was_wrapped, true, memory_order_relaxed))
		return;
	real = *table;
	table->mark = mark_in_table;
	table->push = push_in_table;
	table->pop = pop_in_table;
	table->start = start_in_table;
	table->stop = stop_in_table;
}
