/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over the operations of a device; see device_time.h. */
#include "device_time.h"

#include "base/intern.h"
#include "base/vec.h"
#include "device_tracks.h"
#include "event_merge.h"
#include "format/measurement.h"

#include <string.h>

/* Kernels that move data between devices: the collectives of the vendors' libraries. */
static bool is_communication(const char *name)
{
	static const char *const parts[] = {
	    "ncclKernel", "ncclDevKernel", "ncclSymk",	 "rcclGenericKernel",	"nccl:",
	    "oneccl",	  "nvshmem",	   "AllReduce_", "cross_device_reduce", "mscclKernel"};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

static bool has_value(const struct sonde_db *db, uint32_t context, const char *metric)
{
	struct sonde_db_summary summary;
	uint32_t number = sonde_db_metric_by_name(db, metric);
	return number != SONDE_NONE && sonde_db_summary(db, context, number, &summary) &&
	       summary.exclusive.count > 0;
}

enum sn_device_work sn_device_work(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	if (frame->kind == SN_FRAME_KERNEL)
		return is_communication(sonde_db_string(db, frame->name)) ? SN_WORK_COMMUNICATION
									  : SN_WORK_COMPUTE;
	if (frame->kind != SN_FRAME_GPU_OP)
		return SN_WORK_NONE;
	if (has_value(db, context, "copy-time") || has_value(db, context, "map-time"))
		return SN_WORK_COPY;
	return has_value(db, context, "fill-time") ? SN_WORK_COMPUTE : SN_WORK_NONE;
}

/* An operation that runs at the moment of the sweep. */
struct running {
	uint64_t end_ns;
	enum sn_device_work work;
};

struct sweep {
	const struct sonde_db *db;
	bool launched_only;
	struct sn_device_time *time;
	uint8_t *works; /* by context: enum sn_device_work + 1; 0 not known yet */
	struct running *heap;
	size_t heap_count, heap_capacity;
	unsigned counts[SN_WORK_KINDS];
	uint64_t now_ns;
};

static enum sn_device_work work_of(struct sweep *sweep, uint32_t context)
{
	if (!sweep->works[context]) {
		bool is_counted =
		    !sweep->launched_only || sn_device_is_launched(sweep->db, context);
		enum sn_device_work work =
		    is_counted ? sn_device_work(sweep->db, context) : SN_WORK_NONE;
		sweep->works[context] = (uint8_t)(1 + work);
	}
	return sweep->works[context] - 1;
}

static int push(struct sweep *sweep, struct running running)
{
	if (sn_vec_reserve(&sweep->heap, &sweep->heap_capacity, sweep->heap_count + 1) < 0)
		return SN_ERR_MEMORY;
	size_t place = sweep->heap_count++;
	while (place && sweep->heap[(place - 1) / 2].end_ns > running.end_ns) {
		sweep->heap[place] = sweep->heap[(place - 1) / 2];
		place = (place - 1) / 2;
	}
	sweep->heap[place] = running;
	sweep->counts[running.work]++;
	return 0;
}

static void pop(struct sweep *sweep)
{
	sweep->counts[sweep->heap[0].work]--;
	struct running last = sweep->heap[--sweep->heap_count];
	size_t place = 0;
	for (;;) {
		size_t child = 2 * place + 1;
		if (child >= sweep->heap_count)
			break;
		if (child + 1 < sweep->heap_count &&
		    sweep->heap[child + 1].end_ns < sweep->heap[child].end_ns)
			child++;
		if (sweep->heap[child].end_ns >= last.end_ns)
			break;
		sweep->heap[place] = sweep->heap[child];
		place = child;
	}
	sweep->heap[place] = last;
}

/* The state has been what it is since now_ns: counts that time up to `time_ns`. */
static void pass(struct sweep *sweep, uint64_t time_ns)
{
	struct sn_device_time *time = sweep->time;
	uint64_t passed = time_ns - sweep->now_ns;
	bool is_hidden = false;
	for (unsigned work = 0; work < SN_WORK_KINDS; work++) {
		if (!sweep->counts[work])
			continue;
		time->work_ns[work] += passed;
		time->exposed_ns[work] += is_hidden ? 0 : passed;
		is_hidden = true;
	}
	time->busy_ns += is_hidden ? passed : 0;
	sweep->now_ns = time_ns;
}

static void advance(struct sweep *sweep, uint64_t time_ns)
{
	while (sweep->heap_count && sweep->heap[0].end_ns <= time_ns) {
		pass(sweep, sweep->heap[0].end_ns);
		pop(sweep);
	}
	pass(sweep, time_ns);
}

static int note_gap(struct sweep *sweep, uint64_t start_ns, const struct sn_merged_event *event)
{
	struct sn_device_time *time = sweep->time;
	if (sn_vec_reserve(&time->gaps, &time->gap_capacity, time->gap_count + 1) < 0)
		return SN_ERR_MEMORY;
	time->gaps[time->gap_count++] = (struct sn_device_gap){
	    .start_ns = start_ns,
	    .end_ns = event->start_ns,
	    .link = event->link,
	    .context = event->context,
	};
	return 0;
}

static int take_operation(struct sweep *sweep, const struct sn_merged_event *event)
{
	struct sn_device_time *time = sweep->time;
	enum sn_device_work work = work_of(sweep, event->context);
	if (work == SN_WORK_NONE)
		return 0;
	bool is_first = !time->has_work;
	if (is_first)
		time->start_ns = sweep->now_ns = event->start_ns;
	time->has_work = true;
	while (sweep->heap_count && sweep->heap[0].end_ns <= event->start_ns) {
		pass(sweep, sweep->heap[0].end_ns);
		pop(sweep);
	}
	if (!is_first && !sweep->heap_count && sweep->now_ns < event->start_ns &&
	    note_gap(sweep, sweep->now_ns, event))
		return SN_ERR_MEMORY;
	pass(sweep, event->start_ns);
	time->operation_counts[work]++;
	if (event->end_ns > time->end_ns)
		time->end_ns = event->end_ns;
	return push(sweep, (struct running){event->end_ns, work});
}

static int sweep_device(const struct sonde_db *db, const struct sonde_trace *trace,
			const uint32_t *tracks, size_t count, bool launched_only,
			struct sn_device_time *time, struct sn_error *error)
{
	struct sweep sweep = {
	    .db = db,
	    .launched_only = launched_only,
	    .time = time,
	    .works = calloc(sonde_db_context_count(db) + 1ull, 1),
	};
	struct sn_event_merge *merge = sn_event_merge_new(trace, tracks, count, 0);
	struct sn_merged_event event;
	int result = merge && sweep.works ? 1 : SN_ERR_MEMORY;
	while (result > 0 && (result = sn_event_merge_next(merge, &event, error)) > 0)
		if (take_operation(&sweep, &event))
			result = SN_ERR_MEMORY;
	if (!result && time->has_work)
		advance(&sweep, time->end_ns);
	time->idle_ns = time->end_ns - time->start_ns - time->busy_ns;
	if (result == SN_ERR_MEMORY)
		sn_fail(error, result, "out of memory");
	sn_event_merge_free(merge);
	free(sweep.works);
	free(sweep.heap);
	return result;
}

/* ---- devices ---- */

static int measure_device(const struct sonde_db *db, const struct sonde_trace *trace,
			  const struct sn_device_track *tracks, size_t count, bool launched_only,
			  struct sn_device_times *times, struct sn_error *error)
{
	uint32_t *numbers = malloc(count * sizeof(*numbers));
	struct sn_device_time *time = times->devices + times->count++;
	*time = (struct sn_device_time){.rank = tracks->rank,
					.device = tracks->device,
					.run = tracks->run,
					.profile = tracks->profile};
	if (!numbers)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < count; i++) {
		numbers[i] = tracks[i].track;
		time->stream_count += !i || tracks[i].profile != tracks[i - 1].profile;
	}
	int result = sweep_device(db, trace, numbers, count, launched_only, time, error);
	free(numbers);
	/* a device of which only annotations were recorded did nothing that is known */
	if (!time->has_work) {
		free(time->gaps);
		times->count--;
	}
	return result;
}

/* ---- when what ended a gap was launched ---- */

static int collect_links(const struct sn_device_times *times, struct sn_intern *links)
{
	for (size_t i = 0; i < times->count; i++)
		for (size_t k = 0; k < times->devices[i].gap_count; k++) {
			uint64_t link = times->devices[i].gaps[k].link;
			if (link && sn_intern_add(links, &link, sizeof(link)) == SN_INTERN_NONE)
				return SN_ERR_MEMORY;
		}
	return 0;
}

/* The first start of each linked call of any thread. */
static int find_launches(const struct sonde_db *db, const struct sonde_trace *trace,
			 const struct sn_intern *links, uint64_t *launched, struct sn_error *error)
{
	for (uint32_t i = 0; i < sonde_trace_track_count(trace); i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		struct sonde_event_block block;
		struct sonde_db_error why;
		int result = 0;
		if (sonde_db_profile(db, track->profile)->kind == SONDE_PROFILE_STREAM ||
		    track->kind != SONDE_TRACK_INTERVALS)
			continue;
		struct sonde_event_cursor *cursor =
		    sonde_event_cursor_new(trace, i, 0, UINT64_MAX, 0);
		if (!cursor)
			return sn_fail(error, SN_ERR_MEMORY, "out of memory");
		while ((result = sonde_event_cursor_next(cursor, &block, &why)) > 0) {
			for (size_t k = 0; k < block.count && block.links; k++) {
				uint32_t number =
				    block.links[k]
					? sn_intern_find(links, block.links + k, sizeof(uint64_t))
					: SN_INTERN_NONE;
				if (number != SN_INTERN_NONE &&
				    (!launched[number] || block.starts_ns[k] < launched[number]))
					launched[number] = block.starts_ns[k];
			}
		}
		sonde_event_cursor_free(cursor);
		if (result)
			return sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	}
	return 0;
}

/* What was not queued yet when the gap began was missing until its launch. */
static void explain(struct sn_device_time *time, struct sn_device_gap *gap)
{
	uint64_t length = gap->end_ns - gap->start_ns;
	if (!gap->launched_ns || gap->launched_ns >= gap->end_ns) {
		time->unexplained_ns += length;
	} else if (gap->launched_ns <= gap->start_ns) {
		time->launch_ns += length;
	} else {
		time->not_queued_ns += gap->launched_ns - gap->start_ns;
		time->launch_ns += gap->end_ns - gap->launched_ns;
	}
}

static int explain_gaps(const struct sonde_db *db, const struct sonde_trace *trace,
			struct sn_device_times *times, struct sn_error *error)
{
	struct sn_intern links = {0};
	int result = collect_links(times, &links);
	uint64_t *launched = calloc(links.count + 1ull, sizeof(*launched));
	if (result || !launched)
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	else
		result = find_launches(db, trace, &links, launched, error);
	for (size_t i = 0; i < times->count && !result; i++) {
		struct sn_device_time *time = times->devices + i;
		for (size_t k = 0; k < time->gap_count; k++) {
			struct sn_device_gap *gap = time->gaps + k;
			uint32_t number = sn_intern_find(&links, &gap->link, sizeof(gap->link));
			gap->launched_ns = number == SN_INTERN_NONE ? 0 : launched[number];
			explain(time, gap);
		}
	}
	sn_intern_release(&links);
	free(launched);
	return result;
}

int sn_device_times(const struct sonde_db *db, const struct sonde_trace *trace, bool launched_only,
		    struct sn_device_times *times, struct sn_error *error)
{
	size_t count;
	struct sn_device_track *tracks = sn_device_tracks(db, trace, &count);
	*times = (struct sn_device_times){.devices = calloc(count + 1, sizeof(*times->devices))};
	int result = tracks && times->devices ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t first = 0, next; first < count && !result; first = next) {
		for (next = first + 1; next < count; next++)
			if (!sn_device_is_same(tracks + first, tracks + next))
				break;
		result = measure_device(db, trace, tracks + first, next - first, launched_only,
					times, error);
	}
	if (!result)
		result = explain_gaps(db, trace, times, error);
	free(tracks);
	return result;
}

void sn_device_times_release(struct sn_device_times *times)
{
	for (size_t i = 0; i < times->count; i++)
		free(times->devices[i].gaps);
	free(times->devices);
	*times = (struct sn_device_times){0};
}
