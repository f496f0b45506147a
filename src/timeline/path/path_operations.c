/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over a device, which keeps little of it; see path_operations.h. */
#include "path_operations.h"

#include "base/vec.h"

/* Clocks of devices are fitted to the processes', and some recorders round to microseconds. */
enum { CLOCKS_APART_NS = 1000 };
/* From the end of an operation to the return of the call that sleeps until then: an interrupt, the
 * scheduler, and what the call has left to do. */
enum { WAKING_NS = 25000 };
/* Of operations that start during a call no more are looked at. */
enum { MOST_WITHIN = 4 * SN_PATH_LOOK_BACK };

static bool is_in_window(const struct sn_answers *answers, const struct sn_path_window *window,
			 const struct sn_operation *one)
{
	const struct sn_launch *launch = sn_launches_find(answers->launches, one->link);
	if (launch && launch->start_ns >= window->to_ns)
		return false;
	if (launch && launch->start_ns >= window->from_ns)
		return true;
	return one->start_ns < window->to_ns && one->end_ns > window->from_ns;
}

/* The operations before the window, of which only the last are kept. */
struct before {
	struct sn_path_operation items[SN_PATH_LOOK_BACK];
	size_t count; /* ever */
};

static int keep(struct sn_path_operations *operations, const struct sn_path_operation *one)
{
	if (sn_vec_reserve(&operations->items, &operations->capacity, operations->count + 1) < 0)
		return SN_ERR_MEMORY;
	operations->items[operations->count++] = *one;
	return 0;
}

static int flush(struct before *before, struct sn_path_operations *operations)
{
	size_t known = before->count < SN_PATH_LOOK_BACK ? before->count : SN_PATH_LOOK_BACK;
	for (size_t i = before->count - known; i < before->count; i++)
		if (keep(operations, before->items + i % SN_PATH_LOOK_BACK))
			return SN_ERR_MEMORY;
	before->count = 0;
	return 0;
}

static int take(const struct sn_path_operation *one, const struct sn_path_window *window,
		struct before *before, struct sn_path_operations *operations)
{
	if (one->operation.start_ns < window->from_ns) {
		struct sn_path_operation *place = before->items + before->count % SN_PATH_LOOK_BACK;
		/* clocks may be apart: launched in the window, and already over */
		if (before->count++ >= SN_PATH_LOOK_BACK && place->is_in_window &&
		    keep(operations, place))
			return SN_ERR_MEMORY;
		*place = *one;
		return 0;
	}
	if (flush(before, operations))
		return SN_ERR_MEMORY;
	bool is_kept = one->is_in_window || one->operation.start_ns < window->to_ns;
	return is_kept ? keep(operations, one) : 0;
}

int sn_path_operations(const struct sn_answers *answers, size_t device,
		       const struct sn_path_window *window, struct sn_path_operations *operations,
		       struct sn_error *error)
{
	struct sn_operations *read =
	    sn_device_times_read(&answers->times, answers->trace, device, SONDE_NONE);
	struct before before = {.count = 0};
	struct sn_path_operation one;
	int result = read ? 1 : sn_fail_memory(error);
	*operations = (struct sn_path_operations){0};
	while (result > 0 && (result = sn_operations_next(read, &one.operation, error)) > 0) {
		one.is_in_window = is_in_window(answers, window, &one.operation);
		if (take(&one, window, &before, operations))
			result = sn_fail_memory(error);
	}
	if (!result && flush(&before, operations))
		result = sn_fail_memory(error);
	sn_operations_free(read);
	return result ? result : sn_launches_check(answers->launches, error);
}

/* The last operation of a device that the call launched, NULL: none. */
static const struct sn_operation *find_own(const struct sn_path_operations *device,
					   const struct sn_path_call *call)
{
	const struct sn_operation *found = NULL;
	size_t low = 0, high = device->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (device->items[middle].operation.start_ns < call->end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- && low - i <= MOST_WITHIN;) {
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

void sn_path_operations_release(struct sn_path_operations *operations)
{
	free(operations->items);
	*operations = (struct sn_path_operations){0};
}
