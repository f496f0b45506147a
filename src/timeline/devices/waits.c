/* SPDX-License-Identifier: Apache-2.0 */
/* Why a device did not compute: one sweep over its operations and the threads of its process. */
#include "waits.h"

#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "running.h"
#include "timeline/answers.h"
#include "timeline/path/critical_path.h"
#include "timeline/threads/thread_activity.h"

#include <stdlib.h>

static const struct {
	const char *name, *meaning;
} texts[SN_WAITS] = {
    [SN_WAIT_RANK] =
	{"waiting for another rank",
	 "in a collective that another rank has not reached, or for a message not yet sent"},
    [SN_WAIT_COMMUNICATION] = {"communicating", "a collective runs, and no computation beside it"},
    [SN_WAIT_COPY] = {"waiting for copies", "a copy runs, and nothing else"},
    [SN_WAIT_DISPATCH] = {"launch-bound",
			  "the host is in operators and calls that launch, too slowly"},
    [SN_WAIT_NO_WORK] = {"no work queued", "the host does something else: nothing is asked for"},
    [SN_WAIT_LAUNCH] = {"launching", "from the call to the start, as long as that usually takes"},
    [SN_WAIT_CALL] = {"in a call that does not return",
		      "a call of the device's interface is held up: a full queue, memory, code"},
    [SN_WAIT_HELD] = {"held back", "launched in time, but kept from starting by something else"},
    [SN_WAIT_UNKNOWN] = {"launch not recorded",
			 "the call that launches the next operation is not in the trace"},
};

const char *sn_wait_name(enum sn_wait wait)
{
	return texts[wait].name;
}

const char *sn_wait_meaning(enum sn_wait wait)
{
	return texts[wait].meaning;
}

/* Flags of a context. A thread that waits for a thread gets no blame for idle time; one that waits
 * for the device does. */
enum { KNOWN = 1, WAITING = 2, DISPATCHING = 4, BLAMELESS = 8, DEVICE_CALL = 16 };

/* A time in which no operation runs. */
struct gap {
	uint64_t start_ns, end_ns;
	uint64_t late_ns; /* when the next operation is launched; may be before the gap */
	size_t thread;	  /* the thread that launches it; SIZE_MAX unknown */
};

/* The state of the sweep. */
struct sweep {
	const struct sn_answers *answers;
	const struct sn_intervals *other_ranks; /* when the device waited for ranks; may be NULL */
	struct sn_intervals thread_ranks;	/* when threads did */
	const struct sn_device_time *time;
	struct sn_waits *waits;
	uint8_t *kinds; /* flags, by context */
	struct sn_operations *operations;
	struct sn_operation next; /* valid if has_next */
	bool has_next;
	struct sn_running_set running;
	struct sn_activity_threads *threads;
	struct sn_activity_part *parts; /* by thread: the part it is in; end_ns 0: none */
	size_t thread_count;		/* threads in a call that is not waiting */
	struct sn_blaming blaming;
	struct gap gap;
	bool is_in_gap;
	bool has_begun;	 /* the device's time has begun; before it only threads count */
	size_t launcher; /* the thread that launched last; SIZE_MAX none */
	uint64_t now_ns;
};

static unsigned kind_of(struct sweep *sweep, uint32_t context)
{
	if (sweep->kinds[context])
		return sweep->kinds[context];
	unsigned kind = KNOWN;
	bool is_blameless = sn_activity_is_waiting(sweep->answers->db, context) ||
			    sn_activity_is_kernel(sweep->answers->db, context);
	if (is_blameless)
		kind |= BLAMELESS;
	if (is_blameless || sn_activity_is_synchronizing(sweep->answers->db, context))
		kind |= WAITING;
	else if (sn_activity_is_dispatching(sweep->answers->db, context))
		kind |= DISPATCHING;
	if (sn_context_frame(sweep->answers->db, context)->kind == SN_FRAME_GPU_API)
		kind |= DEVICE_CALL;
	return sweep->kinds[context] = (uint8_t)kind;
}

/* A blocked thread counts as waiting and gets no blame, unless it is in a call of the device's
 * interface, which could have begun, or noticed, what it waits for earlier. */
static unsigned kind_of_part(struct sweep *sweep, const struct sn_activity_part *part)
{
	unsigned kind = kind_of(sweep, part->context);
	bool is_idle = part->is_blocked && !(kind & DEVICE_CALL);
	return is_idle ? kind | WAITING | BLAMELESS : kind;
}

/* ---- time that passes ---- */

/* Accounts for time in which nothing changed. Time when nothing runs is explained by the gaps. */
static void pass(struct sweep *sweep, uint64_t time_ns)
{
	const unsigned kinds = sweep->running.kinds;
	const struct sn_intervals *ranks = sweep->other_ranks;
	struct sn_waits *waits = sweep->waits;
	if (time_ns <= sweep->now_ns)
		return;
	uint64_t passed = time_ns - sweep->now_ns;
	waits->states_ns[(sweep->thread_count ? SN_STATE_THREADS : 0) | kinds * SN_STATE_COMPUTE] +=
	    passed;
	if (!(kinds & 1 << SN_WORK_COMPUTE)) {
		waits->no_compute_ns += passed;
		if (kinds & 1 << SN_WORK_COMMUNICATION) {
			uint64_t rank =
			    ranks ? sn_intervals_within(ranks, sweep->now_ns, time_ns) : 0;
			waits->reasons_ns[SN_WAIT_RANK] += rank;
			waits->reasons_ns[SN_WAIT_COMMUNICATION] += passed - rank;
		} else if (kinds) {
			waits->reasons_ns[SN_WAIT_COPY] += passed;
		}
	}
	sweep->now_ns = time_ns;
}

/* ---- gaps ---- */

/* The reason that a part of the launching thread gives for a gap. Many short parts mean that
 * launching is too slow; a long part is a call that is held up, or an operator's own work. */
static enum sn_wait reason_of(struct sweep *sweep, const struct sn_activity_part *part)
{
	unsigned kind = kind_of(sweep, part->context);
	uint64_t time = part->end_ns - part->start_ns;
	bool is_call = kind & DEVICE_CALL;
	if (kind & WAITING)
		return SN_WAIT_NO_WORK;
	if (time <= SN_PATH_HELD_UP_NS ||
	    (is_call && time <= sn_path_held_up_ns(sweep->answers->db, part->context)))
		return kind & DISPATCHING ? SN_WAIT_DISPATCH : SN_WAIT_NO_WORK;
	return is_call ? SN_WAIT_CALL : SN_WAIT_NO_WORK;
}

/* The call above an operation: it takes so long without being held up, 0: as others do. */
static uint64_t own_launching_ns(const struct sweep *sweep, uint32_t context)
{
	const struct sonde_db *db = sweep->answers->db;
	while (context && sn_context_frame(db, context)->kind != SN_FRAME_GPU_API)
		context = sonde_db_context(db, context)->parent;
	uint64_t time = context ? sn_path_held_up_ns(db, context) : 0;
	return time > SN_PATH_HELD_UP_NS ? time : 0;
}

/* Explains the part of the gap before the launch by what the launching thread did then. */
static void explain(struct sweep *sweep, const struct sn_activity_part *part)
{
	const struct gap *gap = &sweep->gap;
	uint64_t *reasons = sweep->waits->reasons_ns;
	struct sn_interval in =
	    sn_interval_clip(part->start_ns, part->end_ns, gap->start_ns, gap->late_ns);
	enum sn_wait reason = reason_of(sweep, part);
	uint64_t time = reason != SN_WAIT_NO_WORK
			    ? sn_interval_length_ns(in)
			    : sn_intervals_within(&sweep->thread_ranks, in.start_ns, in.end_ns);
	reasons[reason != SN_WAIT_NO_WORK ? reason : SN_WAIT_RANK] += time;
	reasons[SN_WAIT_NO_WORK] -= time;
}

static uint64_t between(uint64_t time_ns, uint64_t from_ns, uint64_t to_ns)
{
	return time_ns < from_ns ? from_ns : time_ns < to_ns ? time_ns : to_ns;
}

/* Divides the gap at the launch of the operation that ends it: no work before; then the usual
 * latency, the rest of the launching call, and time for which nothing is recorded. */
static void split_gap(struct sweep *sweep, const struct sn_launch *launch)
{
	struct gap *gap = &sweep->gap;
	uint64_t *reasons = sweep->waits->reasons_ns, launched = launch->start_ns;
	uint64_t from = launched > gap->start_ns ? launched : gap->start_ns;
	uint64_t latency = sweep->time->launch_latency_ns;
	uint64_t until = between(launched + 2 * latency, from, gap->end_ns);
	uint64_t own = own_launching_ns(sweep, sweep->next.context);
	if (own && launch->end_ns > until && launch->end_ns - launched <= own)
		until = between(launch->end_ns, from, gap->end_ns);
	uint64_t returned = between(launch->end_ns, until, gap->end_ns);
	reasons[SN_WAIT_NO_WORK] += from - gap->start_ns;
	reasons[SN_WAIT_LAUNCH] += until - from;
	reasons[SN_WAIT_CALL] += returned - until;
	reasons[SN_WAIT_HELD] += gap->end_ns - returned;
	gap->late_ns = launched;
	sweep->launcher = gap->thread = sn_activity_threads_find(sweep->threads, launch->profile);
	if (gap->thread != SIZE_MAX && sweep->parts[gap->thread].end_ns)
		explain(sweep, sweep->parts + gap->thread);
}

/* Begins the gap after the device's last operation: nothing was launched any more. */
static void begin_rest(struct sweep *sweep)
{
	struct gap *gap = &sweep->gap;
	gap->late_ns = gap->end_ns;
	gap->thread = sweep->launcher;
	sweep->waits->reasons_ns[SN_WAIT_NO_WORK] += gap->end_ns - gap->start_ns;
	if (gap->thread != SIZE_MAX && sweep->parts[gap->thread].end_ns)
		explain(sweep, sweep->parts + gap->thread);
}

static void begin_gap(struct sweep *sweep)
{
	const struct sn_launch *launch =
	    sweep->has_next ? sn_launches_find(sweep->answers->launches, sweep->next.link) : NULL;
	uint64_t end = sweep->has_next ? sweep->next.start_ns : sweep->time->end_ns;
	sweep->gap = (struct gap){sweep->now_ns, end, 0, SIZE_MAX};
	sweep->is_in_gap = true;
	sn_blaming_begin_idle(&sweep->blaming, sweep->now_ns);
	if (!sweep->has_next)
		begin_rest(sweep);
	else if (launch && launch->start_ns && launch->start_ns < sweep->gap.end_ns)
		split_gap(sweep, launch);
	else
		sweep->waits->reasons_ns[SN_WAIT_UNKNOWN] +=
		    sweep->gap.end_ns - sweep->gap.start_ns;
}

/* ---- what happens ---- */

static void end_part(struct sweep *sweep, const struct sn_activity_change *change)
{
	sweep->thread_count -= !(kind_of_part(sweep, change->ended) & WAITING);
	sweep->parts[change->thread].end_ns = 0;
	sn_blaming_end(&sweep->blaming, change->thread, change->time_ns);
}

static void begin_part(struct sweep *sweep, const struct sn_activity_change *change)
{
	const struct sn_activity_part *part = change->begun;
	unsigned kind = kind_of_part(sweep, part);
	struct sn_interval before =
	    sn_interval_clip(part->start_ns, part->end_ns, 0, sweep->time->first_ns);
	sweep->parts[change->thread] = *part;
	if (!(kind & WAITING)) {
		sweep->thread_count++;
		sweep->waits->before[sweep->answers->nodes.of_context[part->context]] +=
		    (double)sn_interval_length_ns(before);
	}
	if (!(kind & BLAMELESS))
		sn_blaming_begin(&sweep->blaming, change->thread, part->context, change->time_ns);
	if (sweep->is_in_gap && sweep->gap.thread == change->thread)
		explain(sweep, part);
}

static int change_threads(struct sweep *sweep, uint64_t time_ns, struct sn_error *error)
{
	struct sn_activity_change change;
	while (sn_activity_threads_peek(sweep->threads) <= time_ns) {
		int result = sn_activity_threads_next(sweep->threads, &change, error);
		if (result <= 0)
			return result;
		if (change.ended)
			end_part(sweep, &change);
		if (change.begun)
			begin_part(sweep, &change);
	}
	return 0;
}

static int read_next(struct sweep *sweep, struct sn_error *error)
{
	int result;
	do
		result = sn_operations_next(sweep->operations, &sweep->next, error);
	while (result > 0 && !sn_device_time_clip(sweep->time, &sweep->next));
	sweep->has_next = result > 0;
	return result < 0 ? result : 0;
}

static int begin_operations(struct sweep *sweep, uint64_t time_ns, struct sn_error *error)
{
	int result = 0;
	while (!result && sweep->has_next && sweep->next.start_ns <= time_ns) {
		if (sn_running_push(&sweep->running, &sweep->next))
			return sn_fail_memory(error);
		result = read_next(sweep, error);
	}
	/* some of them have no length */
	sn_running_end(&sweep->running, time_ns);
	return result;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* The time of the next change. */
static uint64_t next_time(const struct sweep *sweep)
{
	uint64_t time = sweep->has_begun ? sweep->time->end_ns : sweep->time->start_ns;
	if (sweep->has_next)
		time = earlier(time, sweep->next.start_ns);
	if (sweep->is_in_gap)
		time = earlier(time, sweep->gap.end_ns);
	time = earlier(time, sn_running_end_ns(&sweep->running));
	return earlier(time, sn_activity_threads_peek(sweep->threads));
}

static bool is_over(const struct sweep *sweep)
{
	return !sweep->has_next && !sweep->running.count && sweep->now_ns >= sweep->time->end_ns;
}

/* Changes at one time are handled in this order: the end of the gap, threads, operations, the begin
 * of the next gap. */
static int run(struct sweep *sweep, struct sn_error *error)
{
	int result = read_next(sweep, error);
	sweep->now_ns = sweep->time->start_ns;
	while (!result && !is_over(sweep)) {
		uint64_t time = next_time(sweep);
		pass(sweep, time);
		if (sweep->is_in_gap && time >= sweep->gap.end_ns) {
			sn_blaming_end_idle(&sweep->blaming, time);
			sweep->is_in_gap = false;
		}
		result = change_threads(sweep, time, error);
		sn_running_end(&sweep->running, time);
		if (!result)
			result = begin_operations(sweep, time, error);
		sweep->has_begun |= time >= sweep->time->start_ns;
		if (sweep->has_begun && time < sweep->time->end_ns && !sweep->running.count &&
		    !sweep->is_in_gap)
			begin_gap(sweep);
	}
	return result ?: sn_launches_check(sweep->answers->launches, error);
}

static int prepare(struct sweep *sweep, size_t device, struct sn_error *error)
{
	const struct sn_answers *answers = sweep->answers;
	uint32_t profile = sweep->time->profile;
	uint32_t participant = answers->collectives.of_devices[device];
	int result =
	    sn_activity_threads_open(&answers->processes, profile, true, &sweep->threads, error)
		?: sn_message_matching_waits(&answers->processes, &answers->messages, profile,
					     &sweep->thread_ranks);
	if (result)
		return result;
	sn_intervals_settle(&sweep->thread_ranks);
	if (participant != SONDE_NONE)
		sweep->other_ranks = answers->ranks.waits + participant;
	size_t count = sn_activity_threads_count(sweep->threads);
	sweep->kinds = calloc(sonde_db_context_count(answers->db) + 1ull, 1);
	sweep->parts = calloc(count + 1, sizeof(*sweep->parts));
	sweep->operations =
	    sn_device_times_read(&answers->times, answers->trace, device, SONDE_NONE);
	sweep->waits->before = calloc(answers->nodes.table.count + 1ull, sizeof(double));
	return sweep->kinds && sweep->parts && sweep->operations && sweep->waits->before
		   ? sn_blaming_init(&sweep->blaming, answers->db, count)
		   : SN_ERR_MEMORY;
}

int sn_waits(const struct sn_answers *answers, size_t device, struct sn_waits *waits,
	     struct sn_blame *blame, struct sn_error *error)
{
	const struct sn_device_time *time = answers->times.devices + device;
	struct sweep sweep = {
	    .answers = answers, .time = time, .waits = waits, .launcher = SIZE_MAX};
	*waits = (struct sn_waits){.before = NULL};
	*blame = (struct sn_blame){0};
	int result = prepare(&sweep, device, error) ?: run(&sweep, error) ?:
		     sn_blaming_finish(&sweep.blaming, answers->db, time->idle_ns, blame);
	sn_activity_threads_free(sweep.threads);
	sn_operations_free(sweep.operations);
	sn_blaming_release(&sweep.blaming);
	sn_running_release(&sweep.running);
	sn_intervals_release(&sweep.thread_ranks);
	free(sweep.kinds);
	free(sweep.parts);
	return sn_fail_code(error, result);
}

struct sn_overlap sn_waits_overlap(const struct sn_waits *waits, unsigned of, unsigned beside)
{
	struct sn_overlap overlap = {0};
	for (unsigned mask = 0; mask < 16; mask++) {
		overlap.all_ns += mask & of ? waits->states_ns[mask] : 0;
		overlap.hidden_ns += mask & of && mask & beside ? waits->states_ns[mask] : 0;
	}
	return overlap;
}

void sn_waits_release(struct sn_waits *waits)
{
	free(waits->before);
	*waits = (struct sn_waits){.before = NULL};
}
