/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over the operations of each device, which sums its time by kind of work, and its idle
 * time by cause. */
#include "device_time.h"

#include "running.h"
#include "base/sort_by.h"

struct sweep {
	struct sn_device_times *times;
	struct sn_device_time *time;
	struct sn_launches *launches;
	struct sn_running_set running;
	struct sn_external_sort latencies;
	bool *is_stream; /* by profile: whether it has operations */
	struct sn_error *error;
};

/* Adds a gap, in which the device was idle until `next` started. If the operation was
 * launched after the gap began, the time up to the launch is "not queued" and the rest
 * latency of the launch. */
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
		if (latency <= SN_LAUNCH_MOST_NS)
			return sn_external_sort_add(&sweep->latencies, &latency, sweep->error);
	}
	return 0;
}

/* Counts a stream at its first operation, so that tracks of annotations or waits do not count. */
static void count_stream(struct sweep *sweep, uint32_t profile)
{
	struct sn_device_time *time = sweep->time;
	if (sweep->is_stream[profile])
		return;
	sweep->is_stream[profile] = true;
	time->stream_count++;
	if (time->listed_streams < SN_DEVICE_STREAMS)
		time->streams[time->listed_streams++] = profile;
}

static int add_operation(void *data, const struct sn_operation *whole)
{
	struct sweep *sweep = data;
	struct sn_device_time *time = sweep->time;
	struct sn_running_set *running = &sweep->running;
	struct sn_operation one = *whole;
	int result = 0;
	sweep->times->context_ns[one.context] += (double)(one.end_ns - one.start_ns);
	time->operation_counts[one.work] += !one.is_continued;
	count_stream(sweep, one.profile);
	if (!time->has_work) {
		time->first_ns = one.start_ns;
		if (!time->is_of_iterations)
			time->start_ns = one.start_ns;
		running->now_ns = time->start_ns;
	}
	time->has_work = true;
	if (!time->is_of_iterations && one.end_ns > time->end_ns)
		time->end_ns = one.end_ns;
	if (!sn_device_time_clip(time, &one))
		return 0;
	sn_running_end(running, one.start_ns);
	if (!running->count && running->now_ns < one.start_ns)
		result = add_gap(sweep, running->now_ns, &one);
	sn_running_pass(running, one.start_ns);
	return result ?: sn_running_push(running, &one);
}

bool sn_device_time_clip(const struct sn_device_time *time, struct sn_operation *operation)
{
	if (!time->is_of_iterations)
		return true;
	struct sn_interval in =
	    sn_interval_clip(operation->start_ns, operation->end_ns, time->start_ns, time->end_ns);
	bool is_in = operation->start_ns < time->end_ns && operation->end_ns > time->start_ns;
	operation->start_ns = in.start_ns;
	operation->end_ns = in.end_ns;
	return is_in;
}

/* Adds the gap from the last operation to the end of the device's time. */
static void add_rest(struct sweep *sweep)
{
	struct sn_device_time *time = sweep->time;
	struct sn_running_set *running = &sweep->running;
	sn_running_end(running, time->end_ns);
	if (running->now_ns >= time->end_ns)
		return;
	time->gap_count++;
	time->not_queued_ns += time->end_ns - running->now_ns;
	sn_running_pass(running, time->end_ns);
}

/* Computes times by kind of work, and the part of each in which no other kind ran, from the times
 * of all combinations. */
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
		add_rest(sweep);
	sum_work(sweep->time, sweep->running.times_ns);
	return result;
}

/* ---- launching ---- */

/* Finds the least time from the begin of a launching call to the start of its operation. */
static int find_least_latency(void *data, const struct sn_operation *one)
{
	struct sweep *sweep = data;
	const struct sn_launch *launch = sn_launches_find(sweep->launches, one->link);
	if (launch && one->start_ns >= launch->start_ns &&
	    one->start_ns - launch->start_ns < sweep->time->launch_latency_ns)
		sweep->time->launch_latency_ns = one->start_ns - launch->start_ns;
	return 0;
}

/* Estimates the latency when every operation was launched before the device became idle: the least
 * delay is an upper bound of it. */
static int guess_latency(struct sweep *sweep, const struct sonde_trace *trace)
{
	uint64_t *latency = &sweep->time->launch_latency_ns;
	*latency = UINT64_MAX;
	int result = sn_device_times_walk(sweep->times, trace, sweep->times->count - 1, SONDE_NONE,
					  find_least_latency, sweep, sweep->error);
	*latency = *latency <= SN_LAUNCH_MOST_NS ? *latency : 0;
	return result;
}

/* The median time from the begin of the call to the start, of operations that the idle
 * device waited for. */
static int find_latency(struct sweep *sweep, const struct sonde_trace *trace)
{
	uint64_t left = sweep->latencies.total / 2 + 1;
	if (!sweep->latencies.total)
		return guess_latency(sweep, trace);
	int result = sn_external_sort_finish(&sweep->latencies, sweep->error);
	while (!result && left--)
		if (sn_external_sort_next(&sweep->latencies, &sweep->time->launch_latency_ns,
					  sweep->error) < 0)
			result = SN_ERR_IO;
	return result;
}

/* ---- iterations ---- */

/* How much of a device's work belongs to the span of the iterations. */
struct spanning {
	struct sn_launches *launches;
	struct sn_interval span;
	uint64_t end_ns; /* the end of the last operation launched in the span */
	double within_ns, all_ns;
};

static int add_to_span(void *data, const struct sn_operation *one)
{
	struct spanning *spanning = data;
	const struct sn_interval *span = &spanning->span;
	const struct sn_launch *launch = sn_launches_find(spanning->launches, one->link);
	struct sn_interval in =
	    sn_interval_clip(one->start_ns, one->end_ns, span->start_ns, span->end_ns);
	double length = (double)(one->end_ns - one->start_ns);
	bool is_of_it =
	    launch && launch->start_ns >= span->start_ns && launch->start_ns < span->end_ns;
	spanning->all_ns += length;
	spanning->within_ns += is_of_it ? length : (double)sn_interval_length_ns(in);
	if (is_of_it && one->end_ns > spanning->end_ns)
		spanning->end_ns = one->end_ns;
	return 0;
}

/* Restricts the device's time to the iterations if at least half of its work belongs to them. */
static int find_span(const struct sn_device_times *times, const struct sonde_trace *trace,
		     const struct sn_device_spans *spans, struct sn_launches *launches,
		     struct sn_error *error)
{
	struct sn_device_time *time = times->devices + times->count - 1;
	struct sn_interval span = {0};
	if (spans)
		span = spans->items[spans->of_profile[time->profile]];
	if (!span.end_ns)
		return 0;
	struct spanning spanning = {launches, span, span.end_ns, 0, 0};
	int result = sn_device_times_walk(times, trace, times->count - 1, SONDE_NONE, add_to_span,
					  &spanning, error);
	if (result || spanning.all_ns <= 0 || spanning.within_ns < spanning.all_ns / 2)
		return result;
	time->is_of_iterations = true;
	time->start_ns = span.start_ns;
	time->end_ns = spanning.end_ns;
	return 0;
}

/* ---- devices ---- */

/* A track of a stream. */
struct stream_track {
	const struct sonde_db_profile *profile;
	uint32_t track, profile_number;
};

/* The tracks of one device. */
struct device_tracks {
	const struct stream_track *tracks;
	size_t count;
	uint64_t events;
	bool is_left_out;
};

static int order_processes(const struct sonde_db_profile *a, const struct sonde_db_profile *b)
{
	return SN_ORDER(a->run, b->run) ?: SN_ORDER(a->rank, b->rank) ?:
	       a->rank < 0 ? SN_ORDER(a->pid, b->pid) : 0;
}

static int order_devices(const struct stream_track *a, const struct stream_track *b)
{
	return order_processes(a->profile, b->profile)
		   ?: SN_ORDER(a->profile->device, b->profile->device);
}

SN_SORT_BY(sort_tracks, struct stream_track, const void *,
	   order_devices(a, b) ?: SN_ORDER(a->track, b->track));

static bool is_stream(const struct sonde_db *db, const struct sonde_track *track)
{
	return track->kind == SONDE_TRACK_INTERVALS &&
	       sonde_db_profile(db, track->profile)->kind == SONDE_PROFILE_STREAM;
}

bool sn_has_devices(const struct sonde_db *db, const struct sonde_trace *trace)
{
	for (uint32_t i = 0; i < sonde_trace_track_count(trace); i++)
		if (is_stream(db, sonde_trace_track(trace, i)))
			return true;
	return false;
}

/* The tracks of streams, sorted by device; the caller frees them. NULL without memory. */
static struct stream_track *list_tracks(const struct sonde_db *db, const struct sonde_trace *trace,
					size_t *count)
{
	uint32_t track_count = sonde_trace_track_count(trace);
	struct stream_track *list = malloc((track_count + 1ull) * sizeof(*list));
	*count = 0;
	for (uint32_t i = 0; i < track_count && list; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (is_stream(db, track))
			list[(*count)++] = (struct stream_track){
			    sonde_db_profile(db, track->profile), i, track->profile};
	}
	sort_tracks(list, *count, NULL);
	return list;
}

SN_SORT_BY(sort_by_events, struct device_tracks, const void *,
	   SN_ORDER(b->events, a->events) ?: SN_ORDER(a->tracks, b->tracks));
SN_SORT_BY(sort_by_tracks, struct device_tracks, const void *, SN_ORDER(a->tracks, b->tracks));

/* Leaves out the devices with the fewest events if a process has too many. */
static void leave_out(struct device_tracks *devices, size_t count)
{
	if (count <= SN_PROCESS_DEVICES)
		return;
	sort_by_events(devices, count, NULL);
	for (size_t i = SN_PROCESS_DEVICES; i < count; i++)
		devices[i].is_left_out = true;
	sort_by_tracks(devices, count, NULL);
}

/* Groups sorted tracks by device. *count is the number of tracks, and then that of devices. NULL
 * without memory. */
static struct device_tracks *list_devices(const struct sonde_trace *trace,
					  const struct stream_track *tracks, size_t *count)
{
	struct device_tracks *devices = calloc(*count + 1, sizeof(*devices));
	size_t device_count = 0, of_process = 0; /* index of the current process's first device */
	for (size_t i = 0; i < *count && devices; i++) {
		if (i && order_processes(tracks[i - 1].profile, tracks[i].profile)) {
			leave_out(devices + of_process, device_count - of_process);
			of_process = device_count;
		}
		if (!i || order_devices(tracks + i - 1, tracks + i))
			devices[device_count++] = (struct device_tracks){.tracks = tracks + i};
		devices[device_count - 1].count++;
		devices[device_count - 1].events +=
		    sonde_trace_track(trace, tracks[i].track)->event_count;
	}
	if (devices)
		leave_out(devices + of_process, device_count - of_process);
	*count = device_count;
	return devices;
}

static int measure_device(struct sn_device_times *times, const struct sonde_trace *trace,
			  const struct device_tracks *of, uint32_t *numbers,
			  struct sn_launches *launches, const struct sn_device_spans *spans,
			  size_t memory_bytes, struct sn_error *error)
{
	const struct stream_track *tracks = of->tracks;
	struct sn_device_time *time = times->devices + times->count++;
	struct sweep sweep = {.times = times, .time = time, .launches = launches, .error = error};
	*time = (struct sn_device_time){.rank = tracks->profile->rank,
					.device = tracks->profile->device,
					.run = tracks->profile->run,
					.profile = tracks->profile_number,
					.tracks = numbers,
					.track_count = of->count};
	for (size_t i = 0; i < of->count; i++)
		numbers[i] = tracks[i].track;
	sweep.is_stream = calloc(sonde_db_profile_count(times->works.db) + 1ull, sizeof(bool));
	sn_external_sort_init(&sweep.latencies, 1, 1, memory_bytes);
	int result = sweep.is_stream ? find_span(times, trace, spans, launches, error)
				     : sn_fail_memory(error);
	if (!result)
		result = sweep_device(&sweep, trace);
	if (!result && time->has_work)
		result = find_latency(&sweep, trace);
	free(sweep.is_stream);
	sn_external_sort_release(&sweep.latencies);
	sn_running_release(&sweep.running);
	/* a device without operations, of which only annotations were recorded, does not count */
	times->count -= !time->has_work;
	return result ?: sn_launches_check(launches, error);
}

int sn_device_times(const struct sonde_db *db, const struct sonde_trace *trace, bool launched_only,
		    struct sn_launches *launches, const struct sn_device_spans *spans,
		    size_t memory_bytes, struct sn_device_times *times, struct sn_error *error)
{
	size_t count;
	struct stream_track *tracks = list_tracks(db, trace, &count);
	*times = (struct sn_device_times){
	    .devices = calloc(count + 1, sizeof(*times->devices)),
	    .tracks = calloc(count + 1, sizeof(*times->tracks)),
	    .context_ns = calloc(sonde_db_context_count(db) + 1ull, sizeof(double)),
	};
	struct device_tracks *devices = list_devices(trace, tracks, &count);
	bool has_memory = !sn_device_works_init(&times->works, db, launched_only) && tracks &&
			  devices && times->devices && times->tracks && times->context_ns;
	int result = has_memory ? 0 : sn_fail_memory(error);
	for (size_t i = 0; i < count && !result; i++) {
		if (devices[i].is_left_out)
			times->left_out++;
		else
			result = measure_device(times, trace, devices + i,
						times->tracks + (devices[i].tracks - tracks),
						launches, spans, memory_bytes, error);
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
