/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the threads of a device's process; see waits.h. */
#include "waits.h"

#include "base/vec.h"
#include "format/measurement.h"
#include "host.h"

#include <string.h>

const char *sn_wait_name(enum sn_wait wait)
{
	static const char *const names[SN_WAITS] = {
	    [SN_WAIT_RANK] = "waiting for another rank",
	    [SN_WAIT_COMMUNICATION] = "communicating",
	    [SN_WAIT_COPY] = "waiting for copies",
	    [SN_WAIT_DISPATCH] = "launch-bound",
	    [SN_WAIT_NO_WORK] = "no work queued",
	    [SN_WAIT_LAUNCH] = "launching",
	    [SN_WAIT_HELD] = "held back",
	    [SN_WAIT_UNKNOWN] = "launch not recorded",
	};
	return names[wait];
}

const char *sn_wait_meaning(enum sn_wait wait)
{
	static const char *const texts[SN_WAITS] = {
	    [SN_WAIT_RANK] =
		"in a collective that another rank has not reached, or for a message not yet sent",
	    [SN_WAIT_COMMUNICATION] = "a collective runs, and no computation beside it",
	    [SN_WAIT_COPY] = "a copy runs, and nothing else",
	    [SN_WAIT_DISPATCH] = "the host is in operators and calls that launch, too slowly",
	    [SN_WAIT_NO_WORK] = "the host does something else: nothing is asked for",
	    [SN_WAIT_LAUNCH] = "from the call to the start, as long as that usually takes",
	    [SN_WAIT_HELD] = "launched in time, but kept from starting by something else",
	    [SN_WAIT_UNKNOWN] = "what came next was launched by nobody that is recorded",
	};
	return texts[wait];
}

struct sweep {
	const struct sonde_db *db;
	const struct sn_device_time *time;
	const struct sn_operations *operations;
	const struct sn_node_map *nodes;
	struct sn_waits *waits;
	uint8_t *kinds;	     /* by context: KNOWN and what it is */
	uint32_t *threads;   /* of each gap: who launches what ends it; SONDE_NONE */
	uint64_t *explained; /* of each gap: what of its late part has a reason */
	uint64_t *ranks;     /* of each gap: in which that thread waited for another rank */
	const struct sn_intervals *host_ranks;
};

enum { KNOWN = 1, WAITING = 2, DISPATCHING = 4 };

static bool launches_work(const struct sonde_db *db, uint32_t context)
{
	static const char *const metrics[] = {"kernel-time", "copy-time", "fill-time"};
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++) {
		struct sonde_db_summary summary;
		uint32_t metric = sonde_db_metric_by_name(db, metrics[i]);
		if (metric != SONDE_NONE && sonde_db_summary(db, context, metric, &summary) &&
		    summary.inclusive.count > 0)
			return true;
	}
	return false;
}

static unsigned kind_of(struct sweep *sweep, uint32_t context)
{
	if (sweep->kinds[context])
		return sweep->kinds[context];
	const struct sonde_db_frame *frame =
	    sonde_db_frame(sweep->db, sonde_db_context(sweep->db, context)->frame);
	unsigned kind = KNOWN;
	if (sn_host_is_waiting(sweep->db, context) || sn_host_is_synchronizing(sweep->db, context))
		kind |= WAITING;
	else if (frame->kind == SN_FRAME_GPU_API ||
		 (frame->kind == SN_FRAME_OPERATOR && launches_work(sweep->db, context)))
		kind |= DISPATCHING;
	return sweep->kinds[context] = (uint8_t)kind;
}

static size_t find_gap(const struct sn_device_time *time, uint64_t time_ns)
{
	size_t low = 0, high = time->gap_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (time->gaps[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What a launching thread does in gaps before it launches what ends them. */
static void explain(struct sweep *sweep, const struct sn_host_part *part)
{
	const struct sn_device_time *time = sweep->time;
	for (size_t i = find_gap(time, part->start_ns); i < time->gap_count; i++) {
		const struct sn_device_gap *gap = time->gaps + i;
		if (gap->start_ns >= part->end_ns)
			break;
		uint64_t until = gap->launched_ns < gap->end_ns ? gap->launched_ns : gap->end_ns;
		uint64_t start = part->start_ns > gap->start_ns ? part->start_ns : gap->start_ns;
		uint64_t end = part->end_ns < until ? part->end_ns : until;
		if (sweep->threads[i] != part->profile || end <= start)
			continue;
		if (kind_of(sweep, part->context) & DISPATCHING)
			sweep->explained[i] += end - start;
		else
			sweep->ranks[i] += sn_intervals_within(sweep->host_ranks, start, end);
	}
}

static int take_part(void *data, const struct sn_host_part *part)
{
	struct sweep *sweep = data;
	if (!(kind_of(sweep, part->context) & WAITING)) {
		uint64_t first = sweep->time->start_ns;
		if (part->start_ns < first)
			sweep->waits->before[sweep->nodes->of_context[part->context]] +=
			    (double)((part->end_ns < first ? part->end_ns : first) -
				     part->start_ns);
		if (sn_intervals_add(&sweep->waits->host, part->start_ns, part->end_ns))
			return SN_ERR_MEMORY;
	}
	explain(sweep, part);
	return 0;
}

static int compare_lengths(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* The least time from begin of the call to start, where no gap tells more. */
static uint64_t least_latency(const struct sn_operations *operations,
			      const struct sn_device_operations *device)
{
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < device->count; i++) {
		const struct sn_launch *launch = sn_operation_launch(operations, device->items + i);
		uint64_t start = device->items[i].start_ns;
		if (launch && start >= launch->start_ns && start - launch->start_ns < least)
			least = start - launch->start_ns;
	}
	return least;
}

/* The median of begin of the call to start where the device had nothing to do meanwhile. */
static int find_latency(const struct sn_device_time *time, const struct sn_operations *operations,
			const struct sn_device_operations *device, struct sn_waits *waits)
{
	uint64_t *lengths = malloc((time->gap_count + 1) * sizeof(*lengths));
	size_t count = 0;
	if (!lengths)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < time->gap_count; i++) {
		const struct sn_device_gap *gap = time->gaps + i;
		if (gap->launched_ns > gap->start_ns && gap->launched_ns < gap->end_ns)
			lengths[count++] = gap->end_ns - gap->launched_ns;
	}
	qsort(lengths, count, sizeof(*lengths), compare_lengths);
	waits->launch_latency_ns = count ? lengths[count / 2] : least_latency(operations, device);
	free(lengths);
	return 0;
}

static void split_gap(struct sweep *sweep, size_t number)
{
	const struct sn_device_gap *gap = sweep->time->gaps + number;
	uint64_t *reasons = sweep->waits->reasons_ns;
	if (!gap->launched_ns || gap->launched_ns >= gap->end_ns) {
		reasons[SN_WAIT_UNKNOWN] += gap->end_ns - gap->start_ns;
		return;
	}
	uint64_t from = gap->launched_ns > gap->start_ns ? gap->launched_ns : gap->start_ns;
	uint64_t latency = sweep->waits->launch_latency_ns;
	/* a call that takes longer than others is still launching */
	const struct sn_launch *launch = sn_operations_launch(sweep->operations, gap->link);
	uint64_t usual = latency > UINT64_MAX / 4 ? UINT64_MAX : gap->launched_ns + 2 * latency;
	if (launch && launch->end_ns > usual)
		usual = launch->end_ns;
	uint64_t until = usual < from ? from : usual < gap->end_ns ? usual : gap->end_ns;
	reasons[SN_WAIT_DISPATCH] += sweep->explained[number];
	reasons[SN_WAIT_RANK] += sweep->ranks[number];
	reasons[SN_WAIT_NO_WORK] +=
	    from - gap->start_ns - sweep->explained[number] - sweep->ranks[number];
	reasons[SN_WAIT_LAUNCH] += until - from;
	reasons[SN_WAIT_HELD] += gap->end_ns - until;
}

static int fill_work(const struct sn_device_operations *device, struct sn_waits *waits)
{
	for (size_t i = 0; i < device->count; i++) {
		const struct sn_operation *one = device->items + i;
		if (sn_intervals_append(waits->work + one->work, one->start_ns, one->end_ns))
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* What gaps do not tell: computation is missing while communication or copies run. */
static void cross(const struct sn_device_time *time, const struct sn_intervals *other_ranks,
		  struct sn_waits *waits)
{
	static const struct sn_intervals none;
	uint64_t times[16];
	const struct sn_intervals *work[] = {
	    waits->work + SN_WORK_COMPUTE, waits->work + SN_WORK_COMMUNICATION,
	    waits->work + SN_WORK_COPY, other_ranks ? other_ranks : &none};
	sn_intervals_cross(work, 4, time->start_ns, time->end_ns, times);
	for (unsigned mask = 0; mask < 16; mask++) {
		if (mask & 1)
			continue;
		waits->no_compute_ns += times[mask];
		if ((mask & 2) && (mask & 8))
			waits->reasons_ns[SN_WAIT_RANK] += times[mask];
		else if (mask & 2)
			waits->reasons_ns[SN_WAIT_COMMUNICATION] += times[mask];
		else if (mask & 4)
			waits->reasons_ns[SN_WAIT_COPY] += times[mask];
	}
	const struct sn_intervals *states[] = {&waits->host, work[0], work[1], work[2]};
	sn_intervals_cross(states, 4, time->start_ns, time->end_ns, waits->states_ns);
}

static void find_threads(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->time->gap_count; i++) {
		const struct sn_launch *launch =
		    sn_operations_launch(sweep->operations, sweep->time->gaps[i].link);
		sweep->threads[i] = launch ? launch->profile : SONDE_NONE;
	}
}

int sn_waits(const struct sonde_db *db, const struct sonde_trace *trace,
	     const struct sn_device_time *time, const struct sn_operations *operations,
	     const struct sn_device_operations *device, const struct sn_node_map *nodes,
	     const struct sn_intervals *other_ranks, const struct sn_intervals *host_ranks,
	     struct sn_waits *waits, struct sn_error *error)
{
	struct sweep sweep = {
	    .db = db,
	    .time = time,
	    .operations = operations,
	    .nodes = nodes,
	    .waits = waits,
	    .kinds = calloc(sonde_db_context_count(db) + 1ull, 1),
	    .threads = calloc(time->gap_count + 1, sizeof(*sweep.threads)),
	    .explained = calloc(time->gap_count + 1, sizeof(*sweep.explained)),
	    .ranks = calloc(time->gap_count + 1, sizeof(*sweep.ranks)),
	    .host_ranks = host_ranks,
	};
	*waits = (struct sn_waits){.before = calloc(nodes->table.count + 1ull, sizeof(double))};
	bool has_memory =
	    sweep.kinds && sweep.threads && sweep.explained && sweep.ranks && waits->before;
	int result = has_memory && !fill_work(device, waits) &&
			     !find_latency(time, operations, device, waits)
			 ? 0
			 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result) {
		find_threads(&sweep);
		result = sn_host_walk(db, trace, time->profile, SONDE_EVENTS_BRIEF, take_part,
				      &sweep, error);
	}
	if (!result) {
		sn_intervals_settle(&waits->host);
		for (size_t i = 0; i < time->gap_count; i++)
			split_gap(&sweep, i);
		cross(time, other_ranks, waits);
	}
	free(sweep.kinds);
	free(sweep.threads);
	free(sweep.explained);
	free(sweep.ranks);
	return result;
}

void sn_waits_release(struct sn_waits *waits)
{
	for (unsigned i = 0; i < SN_WORK_KINDS; i++)
		sn_intervals_release(waits->work + i);
	sn_intervals_release(&waits->host);
	free(waits->before);
	*waits = (struct sn_waits){0};
}
