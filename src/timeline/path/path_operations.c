/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the operations of a device for a window, in one pass. */
#include "path_operations.h"

#include "base/search.h"
#include "base/vec.h"

/* Device clocks are fitted to the processes', and some recorders round to microseconds. */
enum { CLOCKS_APART_NS = 1000 };
/* The most time from the end of an operation to the return of the call that sleeps until then:
 * interrupt, scheduler, and the rest of the call. */
enum { WAKING_NS = 25000 };
/* At most this many operations that start during a call are compared with it. */
enum { MOST_WITHIN = 4 * SN_PATH_LOOK_BACK };

static struct sn_path_operation place(const struct sn_answers *answers,
				      const struct sn_path_window *window,
				      const struct sn_operation *one)
{
	const struct sn_launch *launch = sn_launches_find(answers->launches, one->link);
	struct sn_path_operation placed = {.operation = *one};
	if (launch && launch->start_ns >= window->to_ns)
		return placed;
	placed.is_in_window = (launch && launch->start_ns >= window->from_ns) ||
			      (one->start_ns < window->to_ns && one->end_ns > window->from_ns);
	placed.is_earlier = launch && launch->start_ns < window->from_ns;
	return placed;
}

/* The last operations before the window, in a ring. */
struct reading {
	const struct sn_answers *answers;
	const struct sn_path_window *window;
	struct sn_path_operations *operations;
	struct sn_path_operation before[SN_PATH_LOOK_BACK];
	size_t before_count; /* of all operations before */
};

static int keep(struct sn_path_operations *operations, const struct sn_path_operation *one)
{
	return sn_vec_push(&operations->items, &operations->capacity, &operations->count, *one);
}

static int flush(struct reading *reading)
{
	size_t count = reading->before_count;
	for (size_t i = count < SN_PATH_LOOK_BACK ? 0 : count - SN_PATH_LOOK_BACK; i < count; i++)
		if (keep(reading->operations, reading->before + i % SN_PATH_LOOK_BACK))
			return SN_ERR_MEMORY;
	reading->before_count = 0;
	return 0;
}

static int add_operation(void *data, const struct sn_operation *operation)
{
	struct reading *reading = data;
	const struct sn_path_window *window = reading->window;
	struct sn_path_operation one = place(reading->answers, window, operation);
	if (operation->start_ns < window->from_ns) {
		size_t number = reading->before_count++;
		struct sn_path_operation *place = reading->before + number % SN_PATH_LOOK_BACK;
		/* launched in the window but already over: the clocks differ */
		if (number >= SN_PATH_LOOK_BACK && place->is_in_window &&
		    keep(reading->operations, place))
			return SN_ERR_MEMORY;
		*place = one;
		return 0;
	}
	if (flush(reading))
		return SN_ERR_MEMORY;
	return one.is_in_window || one.is_earlier || operation->start_ns < window->to_ns
		   ? keep(reading->operations, &one)
		   : 0;
}

/* Operations launched before the window may delay those launched in it. So earlier ones that start
 * after the window's end count only if one of the window follows. */
static void settle_earlier(struct sn_path_operations *operations, uint64_t to_ns)
{
	bool has_later = false;
	size_t kept = operations->count;
	for (size_t i = operations->count; i--;) {
		struct sn_path_operation *one = operations->items + i;
		has_later |= one->is_in_window;
		bool is_behind = one->is_earlier && one->operation.start_ns >= to_ns;
		if (is_behind && !has_later)
			kept = i;
		one->is_in_window |= is_behind && has_later;
	}
	operations->count = kept;
}

int sn_path_operations(const struct sn_answers *answers, size_t device,
		       const struct sn_path_window *window, struct sn_path_operations *operations,
		       struct sn_error *error)
{
	struct reading reading = {.answers = answers, .window = window, .operations = operations};
	*operations = (struct sn_path_operations){0};
	int result = sn_device_times_walk(&answers->times, answers->trace, device, SONDE_NONE,
					  add_operation, &reading, error);
	result = result ?: sn_fail_code(error, flush(&reading));
	settle_earlier(operations, window->to_ns);
	return result ?: sn_launches_check(answers->launches, error);
}

size_t sn_path_operations_before(const struct sn_path_operations *operations, uint64_t time_ns)
{
	const struct sn_path_operation *items = operations->items;
	return sn_search(i, operations->count, items[i].operation.start_ns < time_ns);
}

/* The operation launched by the call that ends last; NULL if there is none. */
static const struct sn_operation *find_own(const struct sn_path_operations *device,
					   const struct sn_path_call *call)
{
	const struct sn_operation *found = NULL;
	size_t end = sn_path_operations_before(device, call->end_ns);
	for (size_t i = end; i-- && end - i <= MOST_WITHIN;) {
		const struct sn_operation *one = &device->items[i].operation;
		if (one->start_ns + CLOCKS_APART_NS < call->start_ns)
			break;
		if (one->link == call->link && device->items[i].is_in_window &&
		    (!found || one->end_ns > found->end_ns))
			found = one;
	}
	return found;
}

static bool has_waited_for(const struct sn_path_call *call, const struct sn_operation *one)
{
	if (one->end_ns > call->end_ns + CLOCKS_APART_NS || one->end_ns <= call->start_ns)
		return false;
	bool is_most = one->end_ns - one->start_ns >= (call->end_ns - call->start_ns) / 2;
	if (one->end_ns > call->end_ns)
		return is_most;
	uint64_t soon = (one->end_ns - call->start_ns) / 4;
	soon = soon > WAKING_NS ? soon : WAKING_NS;
	return call->end_ns - one->end_ns < soon && (is_most || one->work == SN_WORK_COPY);
}

uint64_t sn_path_waited_for_own(const struct sn_path_operations *devices, size_t count,
				const struct sn_path_call *call)
{
	const struct sn_operation *last = NULL;
	for (size_t d = 0; d < count && call->link; d++) {
		const struct sn_operation *one = find_own(devices + d, call);
		if (one && (!last || one->end_ns > last->end_ns))
			last = one;
	}
	return last && has_waited_for(call, last) ? last->end_ns : 0;
}

/* Whether the stream was empty after `last`: its next operation, from `place` on, was launched only
 * after time_ns. */
static bool has_run_out(const struct sn_path_operations *device, size_t place,
			struct sn_launches *launches, const struct sn_operation *last,
			uint64_t time_ns)
{
	for (size_t i = place; i < device->count && i - place < SN_PATH_LOOK_BACK; i++) {
		const struct sn_operation *next = &device->items[i].operation;
		if (next->profile != last->profile)
			continue;
		const struct sn_launch *launch = sn_launches_find(launches, next->link);
		return launch && launch->start_ns >= time_ns;
	}
	return true;
}

static bool is_waited_for(struct sn_launches *launches, const struct sn_operation *one,
			  uint64_t from_ns, uint64_t to_ns)
{
	if (one->end_ns <= from_ns || one->end_ns > to_ns + (to_ns - from_ns) / 64 ||
	    to_ns > one->end_ns + (one->end_ns - from_ns) / 8)
		return false;
	const struct sn_launch *launch = sn_launches_find(launches, one->link);
	return launch && launch->start_ns <= from_ns;
}

uint64_t sn_path_waited_for_stream(const struct sn_path_operations *devices, size_t count,
				   struct sn_launches *launches, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t latest = 0;
	for (size_t d = 0; d < count; d++) {
		const struct sn_path_operations *device = devices + d;
		uint32_t streams[SN_PATH_LOOK_BACK];
		size_t seen = 0, end = sn_path_operations_before(device, to_ns);
		for (size_t i = end; i-- && end - i <= SN_PATH_LOOK_BACK;) {
			const struct sn_operation *one = &device->items[i].operation;
			size_t k = 0;
			while (k < seen && streams[k] != one->profile)
				k++;
			if (k < seen)
				continue;
			streams[seen++] = one->profile;
			if (one->end_ns > latest && device->items[i].is_in_window &&
			    is_waited_for(launches, one, from_ns, to_ns) &&
			    has_run_out(device, end, launches, one,
					one->end_ns < to_ns ? one->end_ns : to_ns))
				latest = one->end_ns;
		}
	}
	return latest;
}

void sn_path_operations_release(struct sn_path_operations *operations)
{
	free(operations->items);
	*operations = (struct sn_path_operations){0};
}
