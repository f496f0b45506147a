/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over the operations of a device; see device_time.h. */
#include "device_time.h"

#include "running.h"
#include "base/sort_by.h"
#include "device_tracks.h"

struct sweep {
	struct sn_device_times *times;
	struct sn_device_time *time;
	struct sn_launches *launches;
	struct sn_running_set running;
	struct sn_runs latencies;
	struct sn_error *error;
};

/* The device did nothing from then until the operation. What was not queued yet when the gap began
 * was missing until its launch. */
static int add_gap(struct sweep *sweep, uint64_t start_ns, const struct sn_operation *next)
{
	struct sn_device_time *time = sweep->time;
	const struct sn_launch *launch = sn_launches_find(sweep->launches, next->link);
	uint64_t launched_ns = launch ? launch->start_ns : 0;
	time->gap_count++;
	if (!launched_ns || launched_ns >= next->start_ns) {
		time->unexplained_ns += next->start_ns - start_ns;
	} else if (launched_ns <= start_ns) {
		time->launch_ns += next->start_ns - start_ns;
	} else {
		uint64_t latency = next->start_ns - launched_ns;
		time->not_queued_ns += launched_ns - start_ns;
		time->launch_ns += latency;
		return sn_runs_add(&sweep->latencies, &latency, sweep->error);
	}
	return 0;
}

static void list_stream(struct sn_device_time *time, uint32_t profile)
{
	for (size_t i = time->listed_streams; i--;)
		if (time->streams[i] == profile)
			return;
	if (time->listed_streams < SN_DEVICE_STREAMS)
		time->streams[time->listed_streams++] = profile;
}

static int add_operation(void *data, const struct sn_operation *one)
{
	struct sweep *sweep = data;
	struct sn_device_time *time = sweep->time;
	struct sn_running_set *running = &sweep->running;
	int result = 0;
	sn_running_end(running, one->start_ns);
	if (!time->has_work)
		time->start_ns = running->now_ns = one->start_ns;
	else if (!running->count && running->now_ns < one->start_ns)
		result = add_gap(sweep, running->now_ns, one);
	time->has_work = true;
	sn_running_pass(running, one->start_ns);
	time->operation_counts[one->work]++;
	if (one->end_ns > time->end_ns)
		time->end_ns = one->end_ns;
	list_stream(time, one->profile);
	sweep->times->context_ns[one->context] += (double)(one->end_ns - one->start_ns);
	return result ? result : sn_running_push(running, one);
}

/* What ran beside what, from how long which kinds of work ran together. */
static void sum_work(struct sn_device_time *time, const uint64_t *times_ns)
{
	for (unsigned kinds = 1; kinds < 1 << SN_WORK_KINDS; kinds++) {
		time->busy_ns += times_ns[kinds];
		time->exposed_ns[__builtin_ctz(kinds)] += times_ns[kinds];
		for (unsigned work = 0; work < SN_WORK_KINDS; work++)
			time->work_ns[work] += kinds >> work & 1 ? times_ns[kinds] : 0;
	}
	time->idle_ns = time->end_ns - time->start_ns - time->busy_ns;
}

static int sweep_device(struct sweep *sweep, const struct sonde_trace *trace)
{
	int result = sn_device_times_walk(sweep->times, trace, sweep->times->count - 1, SONDE_NONE,
					  add_operation, sweep, sweep->error);
	if (!result && sweep->time->has_work)
		sn_running_end(&sweep->running, sweep->time->end_ns);
	sum_work(sweep->time, sweep->running.times_ns);
	return result;
}

/* ---- launching ---- */

/* The least time from begin of the call to start, where no gap tells more. */
static int find_least_latency(void *data, const struct sn_operation *one)
{
	struct sweep *sweep = data;
	const struct sn_launch *launch = sn_launches_find(sweep->launches, one->link);
	if (launch && one->start_ns >= launch->start_ns &&
	    one->start_ns - launch->start_ns < sweep->time->launch_latency_ns)
		sweep->time->launch_latency_ns = one->start_ns - launch->start_ns;
	return 0;
}

/* The median of begin of the call to start where the device had nothing to do meanwhile. */
static int find_latency(struct sweep *sweep, const struct sonde_trace *trace)
{
	uint64_t left = sweep->latencies.total / 2 + 1;
	if (!sweep->latencies.total) {
		sweep->time->launch_latency_ns = UINT64_MAX;
		return sn_device_times_walk(sweep->times, trace, sweep->times->count - 1,
					    SONDE_NONE, find_least_latency, sweep, sweep->error);
	}
	int result = sn_runs_finish(&sweep->latencies, sweep->error);
	while (!result && left--)
		if (sn_runs_next(&sweep->latencies, &sweep->time->launch_latency_ns, sweep->error) <
		    0)
			result = SN_ERR_IO;
	return result;
}

/* ---- devices ---- */

static int measure_device(struct sn_device_times *times, const struct sonde_trace *trace,
			  const struct sn_device_track *tracks, size_t count, uint32_t *numbers,
			  struct sn_launches *launches, size_t memory_bytes, struct sn_error *error)
{
	struct sn_device_time *time = times->devices + times->count++;
	struct sweep sweep = {.times = times, .time = time, .launches = launches, .error = error};
	*time = (struct sn_device_time){.rank = tracks->rank,
					.device = tracks->device,
					.run = tracks->run,
					.profile = tracks->profile,
					.tracks = numbers,
					.track_count = count};
	for (size_t i = 0; i < count; i++) {
		numbers[i] = tracks[i].track;
		time->stream_count += !i || tracks[i].profile != tracks[i - 1].profile;
	}
	sn_runs_init(&sweep.latencies, 1, 1, memory_bytes);
	int result = sweep_device(&sweep, trace);
	if (!result && time->has_work)
		result = find_latency(&sweep, trace);
	sn_runs_release(&sweep.latencies);
	sn_running_release(&sweep.running);
	/* a device of which only annotations were recorded did nothing that is known */
	times->count -= !time->has_work;
	return result ? result : sn_launches_check(launches, error);
}

/* The tracks of one device. */
struct device_tracks {
	const struct sn_device_track *tracks;
	size_t count;
	uint64_t events;
	bool is_left_out;
};

/* Those with the most events first. */
SN_SORT_BY(sort_by_events, struct device_tracks *, const void *,
	   SN_ORDER((*b)->events, (*a)->events) ?: SN_ORDER(*a, *b));

/* Those of one process with the fewest events are left out, if they are too many. */
static int leave_out(struct device_tracks *devices, size_t count)
{
	if (count <= SN_PROCESS_DEVICES)
		return 0;
	struct device_tracks **order = malloc(count * sizeof(*order));
	if (!order)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
		order[i] = devices + i;
	sort_by_events(order, count, NULL);
	for (size_t i = SN_PROCESS_DEVICES; i < count; i++)
		order[i]->is_left_out = true;
	free(order);
	return 0;
}

/* Of tracks[*count], sorted by device; *count is then that of devices. NULL without memory. */
static struct device_tracks *list_devices(const struct sonde_trace *trace,
					  const struct sn_device_track *tracks, size_t *count)
{
	struct device_tracks *devices = calloc(*count + 1, sizeof(*devices));
	size_t device_count = 0, of_process = 0; /* the first device of the process at hand */
	int result = devices ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; i < *count && !result; i++) {
		if (!i || !sn_device_is_same(tracks + i - 1, tracks + i)) {
			if (i && !sn_device_is_same_process(tracks + i - 1, tracks + i)) {
				result = leave_out(devices + of_process, device_count - of_process);
				of_process = device_count;
			}
			devices[device_count++] = (struct device_tracks){.tracks = tracks + i};
		}
		devices[device_count - 1].count++;
		devices[device_count - 1].events +=
		    sonde_trace_track(trace, tracks[i].track)->event_count;
	}
	if (!result)
		result = leave_out(devices + of_process, device_count - of_process);
	if (result) {
		free(devices);
		return NULL;
	}
	*count = device_count;
	return devices;
}

int sn_device_times(const struct sonde_db *db, const struct sonde_trace *trace, bool launched_only,
		    struct sn_launches *launches, size_t memory_bytes,
		    struct sn_device_times *times, struct sn_error *error)
{
	size_t count;
	struct sn_device_track *tracks = sn_device_tracks(db, trace, &count);
	*times = (struct sn_device_times){
	    .devices = calloc(count + 1, sizeof(*times->devices)),
	    .tracks = calloc(count + 1, sizeof(*times->tracks)),
	    .context_ns = calloc(sonde_db_context_count(db) + 1ull, sizeof(double)),
	};
	bool has_memory = !sn_device_works_init(&times->works, db, launched_only) && tracks &&
			  times->devices && times->tracks && times->context_ns;
	int result = has_memory ? 0 : sn_fail_memory(error);
	struct device_tracks *devices = tracks ? list_devices(trace, tracks, &count) : NULL;
	if (!result && !devices)
		result = sn_fail_memory(error);
	for (size_t i = 0; i < count && !result; i++) {
		if (devices[i].is_left_out)
			times->left_out++;
		else
			result = measure_device(times, trace, devices[i].tracks, devices[i].count,
						times->tracks + (devices[i].tracks - tracks),
						launches, memory_bytes, error);
	}
	free(devices);
	free(tracks);
	return result;
}

void sn_device_times_release(struct sn_device_times *times)
{
	sn_device_works_release(&times->works);
	free(times->devices);
	free(times->tracks);
	free(times->context_ns);
	*times = (struct sn_device_times){0};
}

struct sn_operations *sn_device_times_read(const struct sn_device_times *times,
					   const struct sonde_trace *trace, size_t device,
					   uint32_t profile)
{
	const struct sn_device_time *one = times->devices + device;
	return sn_operations_new(trace, &times->works, one->tracks, one->track_count, profile);
}

int sn_device_times_walk(const struct sn_device_times *times, const struct sonde_trace *trace,
			 size_t device, uint32_t profile, sn_visit_operation *visit, void *data,
			 struct sn_error *error)
{
	struct sn_operations *operations = sn_device_times_read(times, trace, device, profile);
	struct sn_operation one;
	int result = operations ? 0 : SN_ERR_MEMORY, found = 0;
	while (!result && (found = sn_operations_next(operations, &one, error)) > 0)
		result = visit(data, &one);
	sn_operations_free(operations);
	return result ? sn_fail_code(error, result) : found;
}
