/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over the operations of a device; see device_time.h. */
#include "device_time.h"

#include "base/vec.h"
#include "device_tracks.h"

int sn_running_push(struct sn_running_set *set, uint64_t end_ns, enum sn_device_work work)
{
	if (sn_vec_reserve(&set->heap, &set->capacity, set->count + 1) < 0)
		return SN_ERR_MEMORY;
	size_t place = set->count++;
	while (place && set->heap[(place - 1) / 2].end_ns > end_ns) {
		set->heap[place] = set->heap[(place - 1) / 2];
		place = (place - 1) / 2;
	}
	set->heap[place] = (struct sn_running){end_ns, work};
	set->counts[work]++;
	return 0;
}

void sn_running_pop(struct sn_running_set *set)
{
	set->counts[set->heap[0].work]--;
	struct sn_running last = set->heap[--set->count];
	size_t place = 0;
	for (;;) {
		size_t child = 2 * place + 1;
		if (child >= set->count)
			break;
		if (child + 1 < set->count && set->heap[child + 1].end_ns < set->heap[child].end_ns)
			child++;
		if (set->heap[child].end_ns >= last.end_ns)
			break;
		set->heap[place] = set->heap[child];
		place = child;
	}
	set->heap[place] = last;
}

struct sweep {
	struct sn_device_times *times;
	struct sn_device_time *time;
	struct sn_launches *launches;
	struct sn_running_set running;
	struct sn_runs latencies;
	uint64_t now_ns;
};

/* The state has been what it is since now_ns: counts that time up to `time_ns`. */
static void pass(struct sweep *sweep, uint64_t time_ns)
{
	struct sn_device_time *time = sweep->time;
	uint64_t passed = time_ns - sweep->now_ns;
	bool is_hidden = false;
	for (unsigned work = 0; work < SN_WORK_KINDS; work++) {
		if (!sweep->running.counts[work])
			continue;
		time->work_ns[work] += passed;
		time->exposed_ns[work] += is_hidden ? 0 : passed;
		is_hidden = true;
	}
	time->busy_ns += is_hidden ? passed : 0;
	sweep->now_ns = time_ns;
}

/* Up to the last end that is not after `time_ns`. */
static void end_operations(struct sweep *sweep, uint64_t time_ns)
{
	while (sweep->running.count && sweep->running.heap[0].end_ns <= time_ns) {
		pass(sweep, sweep->running.heap[0].end_ns);
		sn_running_pop(&sweep->running);
	}
}

/* What was not queued yet when the gap began was missing until its launch. */
static int take_gap(struct sweep *sweep, const struct sn_device_gap *gap, struct sn_error *error)
{
	struct sn_device_time *time = sweep->time;
	uint64_t length = gap->end_ns - gap->start_ns;
	time->gap_count++;
	if (!gap->launched_ns || gap->launched_ns >= gap->end_ns) {
		time->unexplained_ns += length;
	} else if (gap->launched_ns <= gap->start_ns) {
		time->launch_ns += length;
	} else {
		uint64_t latency = gap->end_ns - gap->launched_ns;
		time->not_queued_ns += gap->launched_ns - gap->start_ns;
		time->launch_ns += latency;
		return sn_runs_add(&sweep->latencies, &latency, error);
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

static int take_operation(struct sweep *sweep, const struct sn_operation *one,
			  struct sn_error *error)
{
	struct sn_device_time *time = sweep->time;
	bool is_first = !time->has_work;
	int result = 0;
	if (is_first)
		time->start_ns = sweep->now_ns = one->start_ns;
	time->has_work = true;
	end_operations(sweep, one->start_ns);
	if (!is_first && !sweep->running.count && sweep->now_ns < one->start_ns) {
		const struct sn_launch *launch = sn_launches_find(sweep->launches, one->link);
		struct sn_device_gap gap = {sweep->now_ns, one->start_ns,
					    launch ? launch->start_ns : 0};
		result = take_gap(sweep, &gap, error);
	}
	pass(sweep, one->start_ns);
	time->operation_counts[one->work]++;
	if (one->end_ns > time->end_ns)
		time->end_ns = one->end_ns;
	list_stream(time, one->profile);
	sweep->times->context_ns[one->context] += (double)(one->end_ns - one->start_ns);
	if (!result && sn_running_push(&sweep->running, one->end_ns, one->work))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return result;
}

static int sweep_device(struct sweep *sweep, const struct sonde_trace *trace,
			struct sn_error *error)
{
	struct sn_device_time *time = sweep->time;
	struct sn_operations *operations =
	    sn_device_times_read(sweep->times, trace, sweep->times->count - 1, SONDE_NONE);
	struct sn_operation one;
	int result = operations ? 1 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	while (result > 0 && (result = sn_operations_next(operations, &one, error)) > 0) {
		int taken = take_operation(sweep, &one, error);
		result = taken ? taken : 1;
	}
	if (!result && time->has_work)
		end_operations(sweep, time->end_ns);
	time->idle_ns = time->end_ns - time->start_ns - time->busy_ns;
	sn_operations_free(operations);
	return result;
}

/* ---- launching ---- */

/* The least time from begin of the call to start, where no gap tells more. */
static int find_least_latency(struct sweep *sweep, const struct sonde_trace *trace,
			      struct sn_error *error)
{
	struct sn_operations *operations =
	    sn_device_times_read(sweep->times, trace, sweep->times->count - 1, SONDE_NONE);
	struct sn_operation one;
	uint64_t least = UINT64_MAX;
	int result = operations ? 1 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	while (result > 0 && (result = sn_operations_next(operations, &one, error)) > 0) {
		const struct sn_launch *launch = sn_launches_find(sweep->launches, one.link);
		if (launch && one.start_ns >= launch->start_ns &&
		    one.start_ns - launch->start_ns < least)
			least = one.start_ns - launch->start_ns;
	}
	sweep->time->launch_latency_ns = least;
	sn_operations_free(operations);
	return result;
}

/* The median of begin of the call to start where the device had nothing to do meanwhile. */
static int find_latency(struct sweep *sweep, const struct sonde_trace *trace,
			struct sn_error *error)
{
	uint64_t left = sweep->latencies.total / 2 + 1;
	if (!sweep->latencies.total)
		return find_least_latency(sweep, trace, error);
	int result = sn_runs_finish(&sweep->latencies, error);
	while (!result && left--)
		if (sn_runs_next(&sweep->latencies, &sweep->time->launch_latency_ns, error) < 0)
			result = SN_ERR_IO;
	return result;
}

/* ---- devices ---- */

static int measure_device(struct sn_device_times *times, const struct sonde_trace *trace,
			  const struct sn_device_track *tracks, size_t count, uint32_t *numbers,
			  struct sn_launches *launches, size_t memory_bytes, struct sn_error *error)
{
	struct sn_device_time *time = times->devices + times->count++;
	struct sweep sweep = {.times = times, .time = time, .launches = launches};
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
	int result = sweep_device(&sweep, trace, error);
	if (!result && time->has_work)
		result = find_latency(&sweep, trace, error);
	sn_runs_release(&sweep.latencies);
	free(sweep.running.heap);
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

static int compare_events(const void *left, const void *right)
{
	const struct device_tracks *a = *(struct device_tracks *const *)left,
				   *b = *(struct device_tracks *const *)right;
	if (a->events != b->events)
		return a->events > b->events ? -1 : 1;
	return a < b ? -1 : a > b;
}

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
	qsort(order, count, sizeof(*order), compare_events);
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
	size_t made = 0, of_process = 0; /* the first device of the process at hand */
	int result = devices ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; i < *count && !result; i++) {
		if (!i || !sn_device_is_same(tracks + i - 1, tracks + i)) {
			if (i && !sn_device_is_same_process(tracks + i - 1, tracks + i)) {
				result = leave_out(devices + of_process, made - of_process);
				of_process = made;
			}
			devices[made++] = (struct device_tracks){.tracks = tracks + i};
		}
		devices[made - 1].count++;
		devices[made - 1].events += sonde_trace_track(trace, tracks[i].track)->event_count;
	}
	if (!result)
		result = leave_out(devices + of_process, made - of_process);
	if (result) {
		free(devices);
		return NULL;
	}
	*count = made;
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
	int result = has_memory ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	struct device_tracks *devices = tracks ? list_devices(trace, tracks, &count) : NULL;
	if (!result && !devices)
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
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
