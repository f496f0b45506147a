/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the graph of a window: activities of threads and devices, and which waited for which. */
#include "path_build.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "timeline/threads/thread_activity.h"

#include <string.h>

/* Shorter silences of a thread do not count as waiting. */
enum { SILENCE_NS = 5000, LOOK_BACK = SN_PATH_LOOK_BACK };

/* A part of a thread in the window, in common time. */
struct sn_path_part {
	uint64_t start_ns, end_ns;
	struct sn_path_call call; /* the call it is a part of */
	uint32_t context, profile, node;
	uint32_t activity;
	bool is_quiet;	 /* neither an operator nor a call of a device, so it may only wait; or the
			    profiler's own */
	bool waits;	 /* of quiet parts: certainly */
	bool is_unknown; /* of quiet parts: an annotation without a call in it */
	bool asks; /* calls that ask whether the device has got somewhere, one after the other */
};

/* A time between two parts of a thread that are certainly its own work; or the moment at which a
 * collective of it ended, whatever it does then. */
struct sn_path_silence {
	bool is_moment;
	uint64_t start_ns, end_ns;
	uint32_t profile;
	uint32_t first, end; /* its quiet parts */
	uint32_t before;     /* the part before; SONDE_NONE */
};

/* ---- parts ---- */

/* A collective that a thread carries out: an operator, or a region by that name. */
static bool is_collective(const struct sn_path_building *build, uint32_t context)
{
	const char *name = sn_context_name(build->answers->db, context);
	return sn_text_begins(name, "MPI_") || sn_text_begins(name, "mpi:") ||
	       sn_text_begins(name, "gloo:");
}

/* What a context's parts are, found out once for each context. */
enum { IS_KNOWN = 1, IS_QUIET = 2, IS_WAIT = 4, IS_ASKING = 8 };

static unsigned nature_of(const struct sn_path_building *build, uint32_t context)
{
	const struct sonde_db *db = build->answers->db;
	unsigned kind = sn_context_frame(db, context)->kind;
	if (build->natures[context])
		return build->natures[context];
	bool is_call = kind == SN_FRAME_REGION && is_collective(build, context);
	bool waits = sn_activity_is_waiting(db, context);
	bool is_quiet = kind == SN_FRAME_PYTHON || (kind == SN_FRAME_REGION && !is_call) ||
			kind == SN_FRAME_THREAD || waits || sn_activity_is_recorder(db, context);
	build->natures[context] =
	    (uint8_t)(IS_KNOWN | (is_quiet ? IS_QUIET : 0) | (waits ? IS_WAIT : 0) |
		      (sn_activity_is_asking(db, context) ? IS_ASKING : 0));
	return build->natures[context];
}

/* Adjacent parts of one node without launches can be joined, because nothing connects between them.
 * So can calls in a loop that ask, since they wait as one that blocks does. */
static bool joins(const struct sn_path_part *last, const struct sn_path_part *part)
{
	if (last->profile != part->profile || last->node != part->node)
		return false;
	if (last->asks && part->asks)
		return part->start_ns < last->end_ns + SILENCE_NS;
	return last->end_ns == part->start_ns && !last->call.link && !part->call.link &&
	       last->is_quiet == part->is_quiet && last->waits == part->waits &&
	       last->asks == part->asks;
}

static int read_part(void *data, const struct sn_activity_part *read)
{
	struct sn_path_building *build = data;
	const struct sn_path_window *window = build->window;
	struct sn_interval in =
	    sn_interval_clip(read->start_ns, read->end_ns, window->from_ns, window->to_ns);
	if (in.start_ns == in.end_ns)
		return 0;
	unsigned nature = nature_of(build, read->context);
	struct sn_path_part part = {
	    .start_ns = sn_path_common(build, in.start_ns),
	    .end_ns = sn_path_common(build, in.end_ns),
	    .call = {read->call_start_ns, read->call_end_ns, read->link},
	    .context = read->context,
	    .profile = read->profile,
	    .node = build->answers->nodes.of_context[read->context],
	    .activity = SONDE_NONE,
	    .is_quiet = nature & IS_QUIET,
	    .waits = nature & IS_WAIT,
	    .is_unknown =
		sn_context_frame(build->answers->db, read->context)->kind == SN_FRAME_REGION,
	    .asks = nature & IS_ASKING,
	};
	struct sn_path_part *last = build->part_count ? build->parts + build->part_count - 1 : NULL;
	if (last && joins(last, &part)) {
		last->end_ns = part.end_ns;
		return 0;
	}
	return sn_vec_push(&build->parts, &build->part_capacity, &build->part_count, part);
}

/* One past the last part of the thread of part `first`. */
static uint32_t end_of_thread(const struct sn_path_building *build, uint32_t first)
{
	uint32_t end = first + 1;
	while (end < build->part_count && build->parts[end].profile == build->parts[first].profile)
		end++;
	return end;
}

uint32_t sn_path_part_before(const struct sn_path_building *build, uint32_t profile,
			     uint64_t time_ns)
{
	const struct sn_path_part *parts = build->parts;
	const struct sn_path_graph *graph = build->graph;
	size_t end = sn_search(i, build->part_count,
			       parts[i].profile < profile ||
				   (parts[i].profile == profile && parts[i].start_ns < time_ns));
	if (!end || parts[end - 1].profile != profile)
		return SONDE_NONE;
	/* a part that waited consists of several activities */
	uint32_t found = parts[end - 1].activity;
	while (found != SONDE_NONE && found + 1 < graph->count &&
	       graph->activities[found + 1].profile == profile &&
	       graph->activities[found + 1].start_ns < time_ns &&
	       graph->activities[found].end_ns < time_ns)
		found++;
	return found;
}

static enum sn_path_end end_of(const struct sn_path_building *build,
			       const struct sn_path_part *part)
{
	if (!part->is_quiet ||
	    (build->window->is_marked && part->profile == build->window->profile))
		return SN_PATH_END_SURE;
	return part->waits ? SN_PATH_END_WAITS : SN_PATH_END_MAY_WAIT;
}

static uint32_t add_part(struct sn_path_building *build, const struct sn_path_part *part,
			 uint64_t start, uint64_t end)
{
	struct sn_path_activity activity = {
	    .start_ns = start,
	    .end_ns = end,
	    .context = part->context,
	    .profile = part->profile,
	    .node = part->node,
	    .kind = SN_PATH_THREAD,
	    .rank = SN_PATH_RANK_OTHER,
	    .ends = end_of(build, part),
	};
	return sn_path_graph_add(build->graph, &activity);
}

static int add_launcher(struct sn_path_building *build, const struct sn_path_part *part)
{
	struct sn_table *launchers = &build->launchers;
	uint64_t link = part->call.link;
	const struct sn_launch *launch = sn_launches_find(build->answers->launches, link);
	if (!launch || launch->start_ns != part->call.start_ns ||
	    sn_table_find(launchers, link) != SN_TABLE_NONE)
		return 0;
	return sn_table_put(launchers, link, part->activity) ? SN_ERR_MEMORY : 0;
}

/* The end of a collective that no silence of its thread follows. */
static int add_moment(struct sn_path_building *build, uint32_t number)
{
	const struct sn_path_part *part = build->parts + number;
	if (!is_collective(build, part->context) ||
	    part->end_ns < sn_path_common(build, part->call.end_ns))
		return 0;
	struct sn_path_silence moment = {
	    .is_moment = true,
	    .start_ns = part->end_ns,
	    .end_ns = part->end_ns,
	    .profile = part->profile,
	    .before = number,
	};
	return sn_vec_push(&build->silences, &build->silence_capacity, &build->silence_count,
			   moment);
}

static int add_silence(struct sn_path_building *build, const struct sn_path_silence *silence)
{
	if (silence->end_ns < silence->start_ns + SILENCE_NS)
		return 0;
	return sn_vec_push(&build->silences, &build->silence_capacity, &build->silence_count,
			   *silence);
}

SN_SORT_BY(sort_silences, struct sn_path_silence, const void *,
	   SN_ORDER(a->start_ns, b->start_ns)
	   ?: SN_ORDER(a->profile, b->profile) ?: SN_ORDER(b->is_moment, a->is_moment));

/* Finds the silences of one thread, whose parts are first .. end - 1. */
static int find_silences(struct sn_path_building *build, uint32_t first, uint32_t end)
{
	uint64_t window_end = sn_path_common(build, build->window->to_ns);
	struct sn_path_silence open = {
	    .start_ns = sn_path_common(build, build->window->from_ns),
	    .profile = build->parts[first].profile,
	    .first = first,
	    .before = SONDE_NONE,
	};
	for (uint32_t i = first; i < end; i++) {
		if (build->parts[i].is_quiet)
			continue;
		open.end_ns = build->parts[i].start_ns;
		open.end = i;
		if (add_silence(build, &open) || add_moment(build, i))
			return SN_ERR_MEMORY;
		open.start_ns = build->parts[i].end_ns;
		open.before = i;
		open.first = i + 1;
	}
	open.end_ns = window_end;
	open.end = end;
	return add_silence(build, &open);
}

/* Whether what ended then is why the thread goes on: it stayed silent, or it was a collective, in the
 * last ninth of the thread's own silence. */
static bool gives(const struct sn_path_silence *one, const struct sn_path_silence *taker)
{
	uint64_t last_ns = (taker->end_ns - taker->start_ns) / 9;
	return one->profile != taker->profile && one->before != SONDE_NONE &&
	       (one->is_moment ? one->start_ns >= taker->end_ns - last_ns
			       : one->end_ns >= taker->end_ns);
}

/* The thread that became silent last during the silence of `taker`, and stayed silent until it
 * ended. It is assumed to have handed work over. */
static const struct sn_path_silence *find_giver(const struct sn_path_building *build,
						const struct sn_path_silence *taker)
{
	size_t end =
	    sn_search(i, build->silence_count, build->silences[i].start_ns <= taker->end_ns);
	for (size_t i = end; i-- && end - i <= LOOK_BACK;) {
		const struct sn_path_silence *one = build->silences + i;
		if (one->start_ns <= taker->start_ns)
			return NULL;
		if (gives(one, taker))
			return one;
	}
	return NULL;
}

/* ---- a thread's chain ---- */

struct chain {
	uint32_t last;	 /* the last activity; SONDE_NONE at the begin */
	bool is_waiting; /* the thread waited after `last`, so only the start of `last` counts */
	bool is_sampled; /* samples tell what it does outside of calls */
};

static int link_chain(struct sn_path_building *build, struct chain *chain, uint32_t next)
{
	if (chain->last == SONDE_NONE)
		return 0;
	return sn_path_edge(build, chain->last, next, chain->is_waiting, 0, SN_PATH_UNRECORDED);
}

/* Splits a part that waits until `time_ns`: an activity up to then, and one that follows what
 * was waited for. */
static int split_part(struct sn_path_building *build, struct chain *chain,
		      struct sn_path_part *part, uint64_t time_ns)
{
	uint32_t head = add_part(build, part, part->start_ns, time_ns);
	if (head == SONDE_NONE || link_chain(build, chain, head))
		return SN_ERR_MEMORY;
	build->graph->activities[head].ends = SN_PATH_END_WAITS; /* it would have waited less */
	if (part->activity == SONDE_NONE)
		part->activity = head;
	chain->last = head;
	chain->is_waiting = true;
	return add_launcher(build, part);
}

static int finish_part(struct sn_path_building *build, struct chain *chain,
		       struct sn_path_part *part, uint64_t start, uint32_t *activity)
{
	uint32_t added = *activity = add_part(build, part, start, part->end_ns);
	if (added == SONDE_NONE || link_chain(build, chain, added))
		return SN_ERR_MEMORY;
	chain->last = added;
	chain->is_waiting = false;
	if (part->activity != SONDE_NONE)
		return 0;
	part->activity = added;
	return add_launcher(build, part);
}

/* A handover, which is connected once all threads have their activities. */
struct handover {
	const struct sn_path_silence *giver;
	uint32_t to;
};

/* What a call waited for. Operations are added after threads, so the edge is made later, by the
 * time at which the operation ended. */
struct wait {
	uint32_t to;
	uint64_t begin_ns, ended_ns; /* ended_ns 0: it waited for nothing */
	uint64_t link;		     /* the operation's; 0: whichever ended last */
	bool is_for_all;	     /* it waits for all streams */
	bool is_before;		     /* it waited outside of calls, before this one */
};

/* An activity without a known cause. `before` is the one before it in its thread; SONDE_NONE. */
struct beginning {
	uint32_t to, before;
	bool has_slept; /* `before` is a wait */
};

struct threads {
	struct handover *handovers;
	size_t handover_count, handover_capacity;
	struct wait *waits;
	size_t wait_count, wait_capacity;
	struct beginning *beginnings;
	size_t beginning_count, beginning_capacity;
	uint32_t main_first, main_end; /* the parts of the thread with the most work */
	uint64_t main_loud_ns, main_quiet_ns;
};

static int add_handover(struct sn_path_building *build, struct chain *chain,
			struct sn_path_part *part, const struct sn_path_silence *giver,
			struct threads *threads)
{
	struct handover handover = {.giver = giver};
	uint64_t time = giver->start_ns;
	if (part->start_ns < time && split_part(build, chain, part, time))
		return SN_ERR_MEMORY;
	/* the thread waited between two parts */
	if (part->start_ns >= time)
		chain->is_waiting = true;
	return finish_part(build, chain, part, part->start_ns < time ? time : part->start_ns,
			   &handover.to)
		   ?: sn_vec_push(&threads->handovers, &threads->handover_capacity,
				  &threads->handover_count, handover);
}

static bool waits_for_all(const struct sn_path_building *build, const struct sn_path_part *part)
{
	const char *name = sn_context_name(build->answers->db, part->context);
	return strstr(name, "DeviceSynchronize") || strstr(name, "CtxSynchronize");
}

static int add_wait(struct sn_path_building *build, struct chain *chain, struct sn_path_part *part,
		    struct wait wait, struct threads *threads)
{
	uint64_t time = wait.ended_ns < part->end_ns ? wait.ended_ns : part->end_ns;
	if (wait.is_before) {
		chain->is_waiting = true;
		time = part->start_ns;
	} else if (split_part(build, chain, part, time)) {
		return SN_ERR_MEMORY;
	}
	return finish_part(build, chain, part, time, &wait.to)
		   ?: sn_vec_push(&threads->waits, &threads->wait_capacity, &threads->wait_count,
				  wait);
}

/* Whether a part begins without a known cause: in a thread other than the main one, after idle time
 * or a wait, although no thread became silent for it. Then a thread that continued must have
 * requested it. */
static bool is_beginning(const struct sn_path_building *build, const struct chain *chain,
			 const struct sn_path_part *part, const struct threads *threads)
{
	size_t number = (size_t)(part - build->parts);
	if (number >= threads->main_first && number < threads->main_end)
		return false;
	if (part->waits)
		return false;
	if (chain->last == SONDE_NONE)
		return part->start_ns > sn_path_common(build, build->window->from_ns) + SILENCE_NS;
	return part->start_ns > part[-1].end_ns + SILENCE_NS || part[-1].waits;
}

static int add_alone(struct sn_path_building *build, struct chain *chain, struct sn_path_part *part,
		     struct threads *threads)
{
	struct beginning beginning = {.before = chain->last,
				      .has_slept = chain->last != SONDE_NONE && part[-1].waits};
	bool begins = is_beginning(build, chain, part, threads);
	if (begins)
		chain->last = SONDE_NONE;
	int result = finish_part(build, chain, part, part->start_ns, &beginning.to);
	return result || !begins ? result
				 : sn_vec_push(&threads->beginnings, &threads->beginning_capacity,
					       &threads->beginning_count, beginning);
}

/* The end of the operation that a synchronising call waited for, determined from the devices. */
static uint64_t waited_until(const struct sn_path_building *build, const struct sn_path_part *part)
{
	uint64_t latest = 0;
	for (size_t d = 0; d < build->device_count; d++) {
		const struct sn_path_operations *device = build->devices + d;
		/* only operations that started before the call returned; of earlier ones few
		 * end late enough */
		size_t behind = sn_path_operations_before(
		    device, part->end_ns - (uint64_t)build->window->offset_ns);
		for (size_t i = behind; i-- && behind - i <= LOOK_BACK;) {
			uint64_t end = sn_path_common(build, device->items[i].operation.end_ns);
			if (end <= part->end_ns && end > part->start_ns && end > latest &&
			    device->items[i].is_in_window)
				latest = end;
		}
	}
	return latest;
}

/* Until when the thread waited for a device, in a time in which nothing of the
 * thread is recorded. */
static uint64_t silent_until(const struct sn_path_building *build, uint64_t from, uint64_t to)
{
	uint64_t offset = (uint64_t)build->window->offset_ns;
	uint64_t ended =
	    to > from + SN_PATH_HELD_UP_NS
		? sn_path_waited_for_stream(build->devices, build->device_count,
					    build->answers->launches, from - offset, to - offset)
		: 0;
	return ended ? sn_path_common(build, ended) : 0;
}

/* What the thread waited for in this part, or between the part before and this one. */
static struct wait wait_of(const struct sn_path_building *build, const struct chain *chain,
			   const struct sn_path_part *part)
{
	struct wait wait = {.begin_ns = part->start_ns};
	bool asks_long = part->asks && part->end_ns - part->start_ns > SN_PATH_HELD_UP_NS;
	if (asks_long || sn_activity_is_synchronizing(build->answers->db, part->context) ||
	    (build->device_count && sn_activity_is_awaiting(build->answers->db, part->context))) {
		wait.ended_ns = waited_until(build, part);
		wait.is_for_all = waits_for_all(build, part);
		return wait;
	}
	uint64_t ended = sn_path_waited_for_own(build->devices, build->device_count, &part->call);
	/* in one of several parts of a call, the operation must end in that part; in the last, it
	 * may end a little later */
	bool is_last = part->end_ns == sn_path_common(build, part->call.end_ns);
	if (ended && sn_path_common(build, ended) > part->start_ns &&
	    (is_last || sn_path_common(build, ended) <= part->end_ns)) {
		wait.ended_ns = sn_path_common(build, ended);
		wait.link = part->call.link;
	}
	if (wait.ended_ns || chain->is_sampled)
		return wait;
	if (part->is_unknown)
		wait.ended_ns = silent_until(build, part->start_ns, part->end_ns);
	if (!wait.ended_ns && chain->last != SONDE_NONE) {
		wait.begin_ns = part[-1].end_ns;
		wait.ended_ns = silent_until(build, part[-1].end_ns, part->start_ns);
		wait.is_before = true;
	}
	return wait;
}

SN_SORT_BY(sort_takers, uint32_t, const struct sn_path_silence *,
	   SN_ORDER(of[*a].profile, of[*b].profile) ?: SN_ORDER(*a, *b));

/* The silences sorted by thread and time; NULL without memory. */
static uint32_t *order_takers(const struct sn_path_building *build)
{
	uint32_t *order = malloc((build->silence_count + 1) * sizeof(*order));
	for (uint32_t i = 0; i < build->silence_count && order; i++)
		order[i] = i;
	if (order)
		sort_takers(order, build->silence_count, build->silences);
	return order;
}

/* Lists those who hand over to a thread in order of time. *at moves past the thread's silences in the
 * order; threads must be asked for in order of profile. */
static size_t list_givers(const struct sn_path_building *build, uint32_t profile,
			  const uint32_t *order, size_t *at, const struct sn_path_silence **givers)
{
	size_t count = 0;
	for (; *at < build->silence_count; ++*at) {
		const struct sn_path_silence *taker = build->silences + order[*at];
		if (taker->profile > profile)
			break;
		const struct sn_path_silence *giver = taker->profile == profile && !taker->is_moment
							  ? find_giver(build, taker)
							  : NULL;
		if (giver)
			givers[count++] = giver;
	}
	return count;
}

static int chain_thread(struct sn_path_building *build, uint32_t first, uint32_t end,
			const struct sn_path_silence *const *givers, size_t giver_count,
			struct threads *threads)
{
	struct chain chain = {.last = SONDE_NONE,
			      .is_sampled = build->is_sampled[build->parts[first].profile]};
	size_t at = 0;
	for (uint32_t i = first; i < end; i++) {
		struct sn_path_part *part = build->parts + i;
		int result;
		struct wait wait = wait_of(build, &chain, part);
		/* the first part that ends after the giver became silent; if it also waits for an
		 * operation, the later of both counts */
		const struct sn_path_silence *giver = NULL;
		if (at < giver_count && part->end_ns > givers[at]->start_ns)
			giver = givers[at++];
		if (giver && wait.ended_ns <= giver->start_ns)
			result = add_handover(build, &chain, part, giver, threads);
		else if (wait.ended_ns)
			result = add_wait(build, &chain, part, wait, threads);
		else
			result = add_alone(build, &chain, part, threads);
		if (result)
			return result;
	}
	return 0;
}

/* Connects a handover with the part the giver was in when the taker continued, or with its
 * last activity. */
static int connect_handover(struct sn_path_building *build, const struct handover *handover)
{
	const struct sn_path_silence *giver = handover->giver;
	uint64_t start = build->graph->activities[handover->to].start_ns;
	for (uint32_t i = giver->first; i < giver->end; i++) {
		const struct sn_path_part *part = build->parts + i;
		if (part->start_ns <= start && part->end_ns > start && part->activity != SONDE_NONE)
			return sn_path_edge(build, part->activity, handover->to, true, 0,
					    SN_PATH_HANDOVER);
	}
	/* its last activity; a call that waited has two */
	uint32_t last = build->parts[giver->before].activity;
	while (last + 1 < build->graph->count &&
	       build->graph->activities[last + 1].profile == giver->profile &&
	       build->graph->activities[last].end_ns < build->parts[giver->before].end_ns)
		last++;
	return sn_path_edge(build, last, handover->to, false, 0, SN_PATH_HANDOVER);
}

/* Connects a begin with the part the main thread was in. Its own thread is no cause if it slept, perhaps
 * until a time, while the main thread worked. */
static int connect_beginning(struct sn_path_building *build, const struct threads *threads,
			     const struct beginning *beginning)
{
	uint32_t to = beginning->to;
	uint64_t start = build->graph->activities[to].start_ns;
	uint32_t end = sn_search_from(i, threads->main_first, threads->main_end,
				      build->parts[i].start_ns < start);
	const struct sn_path_part *part = end > threads->main_first ? build->parts + end - 1 : NULL;
	if (part && part->profile == build->graph->activities[to].profile)
		part = NULL;
	bool works =
	    part && (!part->is_quiet || sn_activity_is_recorder(build->answers->db, part->context));
	if (!(works && beginning->has_slept) &&
	    sn_path_edge(build, beginning->before, to, true, 0, SN_PATH_UNRECORDED))
		return SN_ERR_MEMORY;
	return part ? sn_path_edge(build, part->activity, to, part->end_ns > start, 0,
				   SN_PATH_HANDOVER)
		    : 0;
}

/* Connects a wait with the operation waited for, or the one that ended last; if all streams were
 * waited for, with the last one of each. */
static int connect_wait(struct sn_path_building *build, const struct wait *wait)
{
	uint32_t streams[LOOK_BACK];
	size_t end = sn_search(i, build->end_count, build->ends[i].end_ns <= wait->ended_ns);
	size_t count = 0, most = wait->is_for_all ? LOOK_BACK : 1;
	for (size_t i = end; i-- && end - i <= 4 * LOOK_BACK && count < most;) {
		const struct sn_path_ending *one = build->ends + i;
		uint32_t stream = build->graph->activities[one->activity].profile;
		bool is_known =
		    one->end_ns <= wait->begin_ns || (wait->link && one->link != wait->link);
		for (size_t k = 0; k < count && !is_known; k++)
			is_known = streams[k] == stream;
		if (is_known)
			continue;
		streams[count++] = stream;
		if (sn_path_edge(build, one->activity, wait->to, false, 0,
				 wait->is_before ? SN_PATH_UNRECORDED : SN_PATH_HELD))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int chain_threads(struct sn_path_building *build, struct threads *threads)
{
	const struct sn_path_silence **givers =
	    malloc((build->silence_count + 1) * sizeof(*givers));
	uint32_t *order = order_takers(build);
	size_t at = 0;
	int result = givers && order ? 0 : SN_ERR_MEMORY;
	for (uint32_t first = 0, next; first < build->part_count && !result; first = next) {
		next = end_of_thread(build, first);
		size_t count = list_givers(build, build->parts[first].profile, order, &at, givers);
		result = chain_thread(build, first, next, givers, count, threads);
	}
	free(givers);
	free(order);
	return result;
}

/* Notes the thread of these parts as the main one, if it works more than that so far: by its own
 * work, and where no thread has any, by its annotations. One that has the iterations is. */
static void choose_main(const struct sn_path_building *build, uint32_t first, uint32_t end,
			struct threads *threads)
{
	uint64_t loud = 0, quiet = 0;
	const struct sn_path_window *window = build->window;
	if (window->is_marked && build->parts[first].profile == window->profile)
		loud = UINT64_MAX / 2;
	for (uint32_t i = first; i < end; i++) {
		const struct sn_path_part *part = build->parts + i;
		if (!part->is_quiet)
			loud += part->end_ns - part->start_ns;
		else if (!part->waits)
			quiet += part->end_ns - part->start_ns;
	}
	if (loud < threads->main_loud_ns ||
	    (loud == threads->main_loud_ns && quiet <= threads->main_quiet_ns))
		return;
	threads->main_loud_ns = loud;
	threads->main_quiet_ns = quiet;
	threads->main_first = first;
	threads->main_end = end;
}

static void release_devices(struct sn_path_building *build)
{
	for (size_t d = 0; d < build->device_count; d++)
		sn_path_operations_release(build->devices + d);
	free(build->devices);
	build->devices = NULL;
	build->device_count = 0;
}

static int load_devices(struct sn_path_building *build, struct sn_error *error)
{
	const struct sn_answers *answers = build->answers;
	int result = 0;
	release_devices(build);
	size_t count = sn_processes_list(&answers->processes, &answers->processes.devices,
					 build->window->profile, &build->numbers);
	build->devices = calloc(count + 1, sizeof(*build->devices));
	if (!build->devices)
		return SN_ERR_MEMORY;
	build->device_count = count;
	for (size_t d = 0; d < count && !result; d++)
		result = sn_path_operations(answers, build->numbers[d], build->window,
					    build->devices + d, error);
	return result;
}

static int build_process(struct sn_path_building *build, struct sn_error *error)
{
	const struct sn_path_window *window = build->window;
	struct threads threads = {0};
	build->part_count = build->silence_count = 0;
	int result = load_devices(build, error)
			 ?: sn_activity_walk_window(&build->answers->processes, window->profile,
						    window->from_ns, window->to_ns, 0, read_part,
						    build, error);
	for (uint32_t first = 0, next; first < build->part_count && !result; first = next) {
		next = end_of_thread(build, first);
		result = find_silences(build, first, next);
		choose_main(build, first, next, &threads);
	}
	sort_silences(build->silences, build->silence_count, NULL);
	result = result ?: chain_threads(build, &threads) ?: sn_path_add_operations(build);
	for (size_t i = 0; i < threads.handover_count && !result; i++)
		result = connect_handover(build, threads.handovers + i);
	for (size_t i = 0; i < threads.wait_count && !result; i++)
		result = connect_wait(build, threads.waits + i);
	for (size_t i = 0; i < threads.beginning_count && !result; i++)
		result = connect_beginning(build, &threads, threads.beginnings + i);
	free(threads.beginnings);
	free(threads.handovers);
	free(threads.waits);
	return result;
}

/* Which profiles have samples; NULL without memory. */
static bool *find_sampled(const struct sn_answers *answers)
{
	bool *is_sampled = calloc(sonde_db_profile_count(answers->db) + 1ull, sizeof(bool));
	for (uint32_t i = 0; is_sampled && i < sonde_trace_track_count(answers->trace); i++) {
		const struct sonde_track *track = sonde_trace_track(answers->trace, i);
		is_sampled[track->profile] |= track->kind == SONDE_TRACK_SAMPLES;
	}
	return is_sampled;
}

int sn_path_build(const struct sn_answers *answers, const struct sn_path_window *windows,
		  size_t count, struct sn_path_graph *graph, struct sn_error *error)
{
	struct sn_path_building build = {
	    .answers = answers,
	    .graph = graph,
	    .is_sampled = find_sampled(answers),
	    .natures = calloc(sonde_db_context_count(answers->db) + 1ull, 1),
	};
	int result =
	    build.is_sampled && build.natures ? sn_path_meetings_init(&build) : SN_ERR_MEMORY;
	for (size_t i = 0; i < count && !result; i++) {
		build.window = windows + i;
		result = build_process(&build, error);
	}
	free(build.is_sampled);
	free(build.natures);
	free(build.parts);
	free(build.silences);
	release_devices(&build);
	sn_table_release(&build.launchers);
	sn_path_meetings_release(&build.meetings);
	free(build.ends);
	return sn_fail_code(error, result);
}
