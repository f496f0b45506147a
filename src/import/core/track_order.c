/* SPDX-License-Identifier: Apache-2.0 */
/* Matches calls and device operations without correlations by their order, in each interval between
 * moments when the device was idle. */
#include "track_order.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "track_sink_internal.h"

#include <stdlib.h>
#include <string.h>

/* The first of the correlation numbers given here; files contain no number as large. */
#define INFERRED     (1ull << 47)
/* Old files round times to whole microseconds. */
#define TOLERANCE_NS 2000

void sn_order_release(struct sn_order *order)
{
	free(order->calls);
	free(order->operations);
	*order = (struct sn_order){0};
}

/* The kind of work that a call starts on a device; 0 if it waits for all work;
 * SN_ACTIVITY_CATEGORIES if neither. */
static uint32_t work_of_call(const char *name)
{
	if (strstr(name, "DeviceSynchronize") || strstr(name, "StreamSynchronize") ||
	    strstr(name, "CtxSynchronize") || !strcmp(name, "clFinish"))
		return 0;
	if (strstr(name, "LaunchHostFunc") || strstr(name, "GraphLaunch"))
		return SN_ACTIVITY_CATEGORIES;
	if (strstr(name, "Launch") || strstr(name, "EnqueueNDRange"))
		return SN_ACTIVITY_KERNEL;
	if (strstr(name, "Memcpy") || strstr(name, "clEnqueueRead") ||
	    strstr(name, "clEnqueueWrite") || strstr(name, "clEnqueueCopy"))
		return SN_ACTIVITY_COPY;
	if (strstr(name, "Memset") || strstr(name, "clEnqueueFill"))
		return SN_ACTIVITY_FILL;
	return SN_ACTIVITY_CATEGORIES;
}

void sn_order_add(struct sn_track_sink *sink, uint32_t track, uint32_t category,
		  const struct sn_event *event)
{
	struct sn_order *order = &sink->order;
	struct sn_order_item item = {event->start_ns, event->end_ns, 0, track, category};
	bool is_call = category == SN_ACTIVITY_API;
	if (is_call)
		item.work = work_of_call(
		    sn_db_builder_text(sink->builder, sn_sink_name(sink, event->context).text));
	if (item.work == SN_ACTIVITY_CATEGORIES)
		return;
	if (is_call ? sn_vec_push(&order->calls, &order->call_capacity, &order->call_count, item)
		    : sn_vec_push(&order->operations, &order->operation_capacity,
				  &order->operation_count, item))
		order->has_failed = true;
}

/* Of two items with the same start, the enclosing one comes first. */
SN_SORT_BY(sort_items, struct sn_order_item, const void *,
	   SN_ORDER(a->start_ns, b->start_ns)
	       ?: SN_ORDER(b->end_ns, a->end_ns)
	       ?: SN_ORDER(a->track, b->track));

/* Drops calls inside another launching or waiting call of the same thread. */
static void drop_inner(struct sn_order *order)
{
	size_t kept = 0;
	for (size_t i = 0; i < order->call_count; i++) {
		bool is_inner = false;
		/* the calls are those of all threads, but only few of them overlap */
		for (size_t k = kept; k-- && kept - k <= 16 && !is_inner;)
			is_inner = order->calls[k].track == order->calls[i].track &&
				   order->calls[k].end_ns >= order->calls[i].end_ns;
		if (!is_inner)
			order->calls[kept++] = order->calls[i];
	}
	order->call_count = kept;
}

/* Whether all operations are on one stream and all calls are of one process. */
static bool is_one_queue(const struct sn_track_sink *sink)
{
	const struct sn_order *order = &sink->order;
	for (size_t i = 1; i < order->operation_count; i++)
		if (order->operations[i].track != order->operations->track)
			return false;
	for (size_t i = 1; i < order->call_count; i++)
		if (sink->tracks[order->calls[i].track].pid !=
		    sink->tracks[order->calls->track].pid)
			return false;
	return order->operation_count && order->call_count;
}

/* ---- stretches ---- */

/* The index of the first item, from `from` on, that starts at or after a time. */
static size_t count_until(const struct sn_order_item *items, size_t from, size_t count,
			  uint64_t time_ns)
{
	while (from < count && items[from].start_ns < time_ns)
		from++;
	return from;
}

/* Whether nothing runs and nothing is being launched when a waiting call ends. If not, the call did
 * not wait for all work, and the interval cannot be divided there. `call`, `operation`: the first
 * ones that start later. */
static bool is_quiet(const struct sn_order *order, uint64_t time_ns, size_t call, size_t operation)
{
	for (size_t i = call; i-- && call - i <= 16;)
		if (order->calls[i].work && order->calls[i].end_ns > time_ns)
			return false;
	return !operation || order->operations[operation - 1].end_ns <= time_ns + TOLERANCE_NS;
}

struct stretch {
	size_t call, call_end, operation, operation_end;
};

/* Whether no two launches of different threads overlap in the stretch. */
static bool are_in_order(const struct sn_order *order, const struct stretch *stretch)
{
	const struct sn_order_item *last = NULL;
	for (size_t i = stretch->call; i < stretch->call_end; i++) {
		const struct sn_order_item *call = order->calls + i;
		if (!call->work)
			continue;
		if (last && last->track != call->track && last->end_ns > call->start_ns)
			return false;
		last = call;
	}
	return true;
}

/* The kinds of work, as bits, with as many operations as launches. A kind that does not agree (a
 * copy of 0 bytes starts nothing) is left out, and the others are matched. */
static uint32_t whole_kinds(const struct sn_order *order, const struct stretch *stretch)
{
	int64_t counts[SN_ACTIVITY_CATEGORIES] = {0};
	uint32_t kinds = 0;
	for (size_t i = stretch->call; i < stretch->call_end; i++)
		counts[order->calls[i].work]++;
	for (size_t i = stretch->operation; i < stretch->operation_end; i++)
		counts[order->operations[i].work]--;
	for (unsigned kind = SN_ACTIVITY_KERNEL; kind <= SN_ACTIVITY_FILL; kind++)
		kinds |= counts[kind] ? 0 : 1u << kind;
	return kinds;
}

/* The next item of these kinds, from `at` on. */
static size_t next_of(const struct sn_order_item *items, size_t at, size_t end, uint32_t kinds)
{
	while (at < end && !(kinds & 1u << items[at].work))
		at++;
	return at;
}

/* Whether launches and operations of these kinds match one by one; assigns correlations if `gives`.
 * *count: the number of pairs. */
static bool pair(struct sn_order *order, const struct stretch *stretch, uint32_t kinds, bool gives,
		 size_t *count)
{
	size_t at = stretch->operation;
	*count = 0;
	for (size_t i = next_of(order->calls, stretch->call, stretch->call_end, kinds);
	     i < stretch->call_end; i = next_of(order->calls, i + 1, stretch->call_end, kinds)) {
		at = next_of(order->operations, at, stretch->operation_end, kinds);
		if (at == stretch->operation_end)
			return false;
		struct sn_order_item *call = order->calls + i,
				     *operation = order->operations + at++;
		if (gives)
			call->correlation = operation->correlation = INFERRED + at;
		else if (operation->work != call->work ||
			 operation->start_ns + TOLERANCE_NS < call->start_ns)
			return false;
		*count += 1;
	}
	return true;
}

static void match_stretch(struct sn_order *order, const struct stretch *stretch)
{
	uint32_t kinds = whole_kinds(order, stretch);
	size_t count = 0;
	if (!are_in_order(order, stretch) || !pair(order, stretch, kinds, false, &count))
		count = 0;
	else
		pair(order, stretch, kinds, true, &count);
	order->matched += count;
	order->refused += stretch->operation_end - stretch->operation - count;
}

static void match_all(struct sn_order *order)
{
	struct stretch stretch = {0};
	for (size_t i = 0; i < order->call_count; i++) {
		const struct sn_order_item *call = order->calls + i;
		if (call->work)
			continue;
		stretch.call_end = count_until(order->calls, i, order->call_count, call->end_ns);
		stretch.operation_end = count_until(order->operations, stretch.operation,
						    order->operation_count, call->end_ns);
		if (!is_quiet(order, call->end_ns, stretch.call_end, stretch.operation_end))
			continue;
		match_stretch(order, &stretch);
		stretch.call = stretch.call_end;
		stretch.operation = stretch.operation_end;
	}
	stretch.call_end = order->call_count;
	stretch.operation_end = order->operation_count;
	match_stretch(order, &stretch);
}

/* Items that sn_order_find could not distinguish get no correlation. */
static void drop_equal(struct sn_order_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (!sort_items_order(items + i - 1, items + i, NULL))
			items[i - 1].correlation = items[i].correlation = 0;
}

int sn_order_match(struct sn_track_sink *sink)
{
	struct sn_order *order = &sink->order;
	if (order->has_failed)
		return SN_ERR_MEMORY;
	if (!is_one_queue(sink)) {
		order->refused += order->call_count ? order->operation_count : 0;
		return 0;
	}
	sort_items(order->calls, order->call_count, NULL);
	sort_items(order->operations, order->operation_count, NULL);
	drop_inner(order);
	match_all(order);
	drop_equal(order->calls, order->call_count);
	drop_equal(order->operations, order->operation_count);
	return 0;
}

uint64_t sn_order_find(const struct sn_order *order, bool is_operation, uint32_t track,
		       uint64_t start_ns, uint64_t end_ns)
{
	const struct sn_order_item *items = is_operation ? order->operations : order->calls;
	struct sn_order_item wanted = {start_ns, end_ns, 0, track, 0};
	size_t count = is_operation ? order->operation_count : order->call_count;
	size_t at = sn_search(i, count, sort_items_order(items + i, &wanted, NULL) < 0);
	return at < count && !sort_items_order(items + at, &wanted, NULL) ? items[at].correlation
									  : 0;
}
