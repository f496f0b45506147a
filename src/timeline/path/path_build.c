/* SPDX-License-Identifier: Apache-2.0 */
/* What happened in a window as activities that wait for each other; see critical_path.h. */
#include "path_build.h"

#include "base/vec.h"
#include "format/measurement/measurement.h"
#include "timeline/threads/thread_activity.h"

#include <string.h>

/* Shorter silences of a thread are its own affair. */
enum { SILENCE_NS = 5000, LOOK_BACK = SN_PATH_LOOK_BACK };

/* A part of a thread within the window, in the common time. */
struct part {
	uint64_t start_ns, end_ns;
	struct sn_path_call call; /* that it is a part of */
	uint32_t context, profile, node;
	uint32_t activity;
	bool is_quiet; /* no operator and no call of a device: perhaps only waiting */
};

/* A thread between two things that it certainly did itself. */
struct silence {
	uint64_t start_ns, end_ns;
	uint32_t profile;
	uint32_t first, end; /* quiet parts in it */
	uint32_t before;     /* the part before, SONDE_NONE */
};

struct build {
	struct sn_path_building path;
	struct part *parts;
	size_t part_count, part_capacity;
	struct silence *silences; /* by start */
	size_t silence_count, silence_capacity;
};

/* ---- parts ---- */

static bool is_quiet(const struct build *build, uint32_t context)
{
	const struct sonde_db *db = build->path.answers->db;
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	bool is_call =
	    frame->kind == SN_FRAME_REGION && !strncmp(sonde_db_string(db, frame->name), "MPI_", 4);
	return frame->kind == SN_FRAME_PYTHON || (frame->kind == SN_FRAME_REGION && !is_call) ||
	       frame->kind == SN_FRAME_THREAD || sn_activity_is_waiting(db, context);
}

static int take_part(void *data, const struct sn_activity_part *read)
{
	struct build *build = data;
	const struct sn_path_window *window = build->path.window;
	uint64_t start = read->start_ns > window->from_ns ? read->start_ns : window->from_ns;
	uint64_t end = read->end_ns < window->to_ns ? read->end_ns : window->to_ns;
	if (start >= end)
		return 0;
	struct part part = {
	    .start_ns = sn_path_common(&build->path, start),
	    .end_ns = sn_path_common(&build->path, end),
	    .call = {read->call_start_ns, read->call_end_ns, read->link},
	    .context = read->context,
	    .profile = read->profile,
	    .node = build->path.answers->nodes.of_context[read->context],
	    .activity = SONDE_NONE,
	    .is_quiet = is_quiet(build, read->context),
	};
	struct part *last = build->part_count ? build->parts + build->part_count - 1 : NULL;
	/* nothing can come between parts of one node that nothing is launched in */
	bool joins = last && last->profile == part.profile && last->node == part.node &&
		     last->end_ns == part.start_ns && !last->call.link && !part.call.link &&
		     last->is_quiet == part.is_quiet;
	if (joins) {
		last->end_ns = part.end_ns;
		return 0;
	}
	if (sn_vec_reserve(&build->parts, &build->part_capacity, build->part_count + 1) < 0)
		return SN_ERR_MEMORY;
	build->parts[build->part_count++] = part;
	return 0;
}

static uint32_t add_part(struct build *build, const struct part *part, uint64_t start, uint64_t end)
{
	struct sn_path_activity activity = {
	    .start_ns = start,
	    .end_ns = end,
	    .context = part->context,
	    .profile = part->profile,
	    .node = part->node,
	    .kind = SN_PATH_HOST,
	    .rank = SN_PATH_RANK_OTHER,
	    .ends = !part->is_quiet ||
		    (build->path.window->is_marked && part->profile == build->path.window->profile),
	};
	return sn_path_graph_add(build->path.graph, &activity);
}

static int note_launch(struct build *build, const struct part *part)
{
	const struct sn_launch *launch =
	    sn_launches_find(build->path.answers->launches, part->call.link);
	if (!launch || launch->start_ns != part->call.start_ns)
		return 0;
	uint32_t count = build->path.launchers.links.count,
		 number = sn_intern_add(&build->path.launchers.links, &part->call.link,
					sizeof(part->call.link));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&build->path.launchers.activities, &build->path.launchers.capacity,
			   number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == count)
		build->path.launchers.activities[number] = part->activity;
	return 0;
}

static int add_silence(struct build *build, const struct silence *silence)
{
	if (silence->end_ns < silence->start_ns + SILENCE_NS)
		return 0;
	if (sn_vec_reserve(&build->silences, &build->silence_capacity, build->silence_count + 1) <
	    0)
		return SN_ERR_MEMORY;
	build->silences[build->silence_count++] = *silence;
	return 0;
}

static int compare_silences(const void *left, const void *right)
{
	const struct silence *a = left, *b = right;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->profile < b->profile ? -1 : a->profile > b->profile;
}

/* The silences of one thread, of which parts first .. end - 1 are. */
static int find_silences(struct build *build, uint32_t first, uint32_t end)
{
	uint64_t window_end = sn_path_common(&build->path, build->path.window->to_ns);
	struct silence open = {
	    .start_ns = sn_path_common(&build->path, build->path.window->from_ns),
	    .profile = build->parts[first].profile,
	    .first = first,
	    .before = SONDE_NONE,
	};
	for (uint32_t i = first; i < end; i++) {
		if (build->parts[i].is_quiet)
			continue;
		open.end_ns = build->parts[i].start_ns;
		open.end = i;
		if (add_silence(build, &open))
			return SN_ERR_MEMORY;
		open.start_ns = build->parts[i].end_ns;
		open.before = i;
		open.first = i + 1;
	}
	open.end_ns = window_end;
	open.end = end;
	return add_silence(build, &open);
}

/* Who fell silent last while this thread was silent, and stayed so. */
static const struct silence *find_giver(const struct build *build, const struct silence *taker)
{
	size_t low = 0, high = build->silence_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (build->silences[middle].start_ns <= taker->end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- && low - i <= LOOK_BACK;) {
		const struct silence *one = build->silences + i;
		if (one->start_ns <= taker->start_ns)
			return NULL;
		if (one->profile != taker->profile && one->end_ns >= taker->end_ns &&
		    one->before != SONDE_NONE)
			return one;
	}
	return NULL;
}

/* ---- a thread's chain ---- */

struct chain {
	uint32_t last;	 /* activity, SONDE_NONE at the begin */
	bool is_waiting; /* what is before is not what counts: it waited from there on */
};

static int link_chain(struct build *build, struct chain *chain, uint32_t next)
{
	if (chain->last == SONDE_NONE)
		return 0;
	return sn_path_edge(&build->path, chain->last, next, chain->is_waiting, 0,
			    SN_PATH_UNRECORDED);
}

/* A part that waits, up to `time_ns`, for `from`; then it goes on by itself. */
static int split_part(struct build *build, struct chain *chain, struct part *part, uint64_t time_ns)
{
	uint32_t head = add_part(build, part, part->start_ns, time_ns);
	if (head == SONDE_NONE || link_chain(build, chain, head))
		return SN_ERR_MEMORY;
	build->path.graph->activities[head].ends = false; /* it would have waited for less */
	if (part->activity == SONDE_NONE)
		part->activity = head;
	if (note_launch(build, part))
		return SN_ERR_MEMORY;
	chain->last = head;
	chain->is_waiting = true;
	return 0;
}

static int finish_part(struct build *build, struct chain *chain, struct part *part, uint64_t start,
		       uint32_t *made)
{
	*made = add_part(build, part, start, part->end_ns);
	if (*made == SONDE_NONE || link_chain(build, chain, *made))
		return SN_ERR_MEMORY;
	if (part->activity == SONDE_NONE) {
		part->activity = *made;
		if (note_launch(build, part))
			return SN_ERR_MEMORY;
	}
	*chain = (struct chain){*made, false};
	return 0;
}

struct handover {
	uint64_t time_ns; /* when the giver fell silent */
	const struct silence *giver, *taker;
};

/* To be made once all threads have their activities. */
struct pending {
	struct handover handover;
	uint32_t to;
};

struct pendings {
	struct pending *items;
	size_t count, capacity;
};

/* What a call waited for. The operations are not there yet when threads are read, so they are found
 * later, by when they ended. */
struct wait {
	uint32_t to;
	uint64_t begin_ns, ended_ns; /* 0: it waited for nothing */
	uint64_t link;		     /* of the operation; 0: what ended last */
	bool is_for_all;	     /* streams */
};

struct waits {
	struct wait *items;
	size_t count, capacity;
};

/* Activities that begin for no reason that is known: somebody must have asked for them. */
struct beginnings {
	uint32_t *items;
	size_t count, capacity;
};

struct threads {
	struct pendings handovers;
	struct waits waits;
	struct beginnings beginnings;
	uint32_t main_first, main_end; /* parts of the thread that did most */
};

static int take_handover(struct build *build, struct chain *chain, struct part *part,
			 const struct handover *handover, struct threads *threads)
{
	uint32_t made;
	uint64_t time = handover->time_ns;
	struct pendings *pendings = &threads->handovers;
	if (part->start_ns < time && split_part(build, chain, part, time))
		return SN_ERR_MEMORY;
	/* between two parts: nothing is recorded until it goes on */
	if (part->start_ns >= time)
		chain->is_waiting = true;
	if (finish_part(build, chain, part, part->start_ns < time ? time : part->start_ns, &made) ||
	    sn_vec_reserve(&pendings->items, &pendings->capacity, pendings->count + 1) < 0)
		return SN_ERR_MEMORY;
	pendings->items[pendings->count++] = (struct pending){*handover, made};
	return 0;
}

static bool waits_for_all(const struct build *build, const struct part *part)
{
	const struct sonde_db *db = build->path.answers->db;
	const char *name = sonde_db_string(
	    db, sonde_db_frame(db, sonde_db_context(db, part->context)->frame)->name);
	return strstr(name, "DeviceSynchronize") || strstr(name, "CtxSynchronize");
}

static int take_wait(struct build *build, struct chain *chain, struct part *part,
		     const struct wait *wait, struct threads *threads)
{
	struct waits *waits = &threads->waits;
	uint64_t time = wait->ended_ns < part->end_ns ? wait->ended_ns : part->end_ns;
	if (sn_vec_reserve(&waits->items, &waits->capacity, waits->count + 1) < 0)
		return SN_ERR_MEMORY;
	struct wait *made = waits->items + waits->count++;
	*made = *wait;
	return split_part(build, chain, part, time) ||
		       finish_part(build, chain, part, time, &made->to)
		   ? SN_ERR_MEMORY
		   : 0;
}

/* A part of a thread beside the main one that was silent before, or has waited, though no thread
 * fell silent for it: whoever asked for it went on. */
static bool is_beginning(const struct build *build, const struct chain *chain,
			 const struct part *part, const struct threads *threads)
{
	size_t number = (size_t)(part - build->parts);
	if (number >= threads->main_first && number < threads->main_end)
		return false;
	if (part->is_quiet && sn_activity_is_waiting(build->path.answers->db, part->context))
		return false;
	if (chain->last == SONDE_NONE)
		return part->start_ns >
		       sn_path_common(&build->path, build->path.window->from_ns) + SILENCE_NS;
	return part->start_ns > part[-1].end_ns + SILENCE_NS ||
	       (part[-1].is_quiet &&
		sn_activity_is_waiting(build->path.answers->db, part[-1].context));
}

static int take_part_alone(struct build *build, struct chain *chain, struct part *part,
			   struct threads *threads)
{
	struct beginnings *all = &threads->beginnings;
	bool begins = is_beginning(build, chain, part, threads);
	uint32_t made;
	if (begins)
		chain->is_waiting = true;
	if (finish_part(build, chain, part, part->start_ns, &made))
		return SN_ERR_MEMORY;
	if (!begins)
		return 0;
	if (sn_vec_reserve(&all->items, &all->capacity, all->count + 1) < 0)
		return SN_ERR_MEMORY;
	all->items[all->count++] = made;
	return 0;
}

/* The end of the operation that a call waited for, from the devices themselves. */
static uint64_t waited_until(const struct build *build, const struct part *part)
{
	uint64_t latest = 0;
	for (size_t d = 0; d < build->path.device_count; d++) {
		const struct sn_path_operations *device = build->path.devices + d;
		/* those that start before the call returns; of these few end late */
		size_t low = 0, high = device->count;
		while (low < high) {
			size_t middle = (low + high) / 2;
			if (sn_path_common(&build->path, device->items[middle].operation.start_ns) <
			    part->end_ns)
				low = middle + 1;
			else
				high = middle;
		}
		for (size_t i = low; i-- && low - i <= LOOK_BACK;) {
			uint64_t end =
			    sn_path_common(&build->path, device->items[i].operation.end_ns);
			if (end <= part->end_ns && end > part->start_ns && end > latest &&
			    device->items[i].is_in_window)
				latest = end;
		}
	}
	return latest;
}

/* What the thread did not go on before, in this part. */
static struct wait wait_of(const struct build *build, const struct part *part)
{
	struct wait wait = {.begin_ns = part->start_ns};
	if (sn_activity_is_synchronizing(build->path.answers->db, part->context)) {
		wait.ended_ns = waited_until(build, part);
		wait.is_for_all = waits_for_all(build, part);
		return wait;
	}
	uint64_t ended =
	    sn_path_waited_for_own(build->path.devices, build->path.device_count, &part->call);
	/* of a call of several parts the one in which it ended; of the last also a little later */
	bool is_last = part->end_ns == sn_path_common(&build->path, part->call.end_ns);
	if (ended && sn_path_common(&build->path, ended) > part->start_ns &&
	    (is_last || sn_path_common(&build->path, ended) <= part->end_ns)) {
		wait.ended_ns = sn_path_common(&build->path, ended);
		wait.link = part->call.link;
	}
	return wait;
}

static int compare_takers(const void *left, const void *right, void *data)
{
	const struct silence *silences = data;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (silences[a].profile != silences[b].profile)
		return silences[a].profile < silences[b].profile ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Silences by thread, and those of a thread in order of time; NULL without memory. */
static uint32_t *order_takers(const struct build *build)
{
	uint32_t *order = malloc((build->silence_count + 1) * sizeof(*order));
	for (uint32_t i = 0; i < build->silence_count && order; i++)
		order[i] = i;
	if (order && build->silence_count)
		qsort_r(order, build->silence_count, sizeof(*order), compare_takers,
			build->silences);
	return order;
}

/* The handovers to a thread, in order of time; *at is its first silence in the order, or that of a
 * thread behind it, and moves past them. Threads are asked for by profile. */
static size_t list_handovers(const struct build *build, uint32_t profile, const uint32_t *order,
			     size_t *at, struct handover *handovers)
{
	size_t count = 0;
	for (; *at < build->silence_count; ++*at) {
		const struct silence *taker = build->silences + order[*at];
		if (taker->profile > profile)
			break;
		const struct silence *giver =
		    taker->profile == profile ? find_giver(build, taker) : NULL;
		if (giver)
			handovers[count++] = (struct handover){giver->start_ns, giver, taker};
	}
	return count;
}

static int chain_thread(struct build *build, uint32_t first, uint32_t end,
			const struct handover *handovers, size_t handover_count,
			struct threads *threads)
{
	struct chain chain = {.last = SONDE_NONE};
	size_t at = 0;
	for (uint32_t i = first; i < end; i++) {
		struct part *part = build->parts + i;
		int result;
		struct wait wait = wait_of(build, part);
		/* the first part that goes on after the giver fell silent */
		if (at < handover_count && part->end_ns > handovers[at].time_ns)
			result = take_handover(build, &chain, part, handovers + at++, threads);
		else if (wait.ended_ns)
			result = take_wait(build, &chain, part, &wait, threads);
		else
			result = take_part_alone(build, &chain, part, threads);
		if (result)
			return result;
	}
	return 0;
}

/* What the giver was in when the taker went on, or the last thing it did. */
static int connect_handover(struct build *build, const struct pending *pending)
{
	const struct silence *giver = pending->handover.giver;
	uint64_t start = build->path.graph->activities[pending->to].start_ns;
	for (uint32_t i = giver->first; i < giver->end; i++) {
		const struct part *part = build->parts + i;
		if (part->start_ns <= start && part->end_ns > start && part->activity != SONDE_NONE)
			return sn_path_edge(&build->path, part->activity, pending->to, true, 0,
					    SN_PATH_HANDOVER);
	}
	/* its last activity, of which a call that waited has two */
	uint32_t last = build->parts[giver->before].activity;
	while (last + 1 < build->path.graph->count &&
	       build->path.graph->activities[last + 1].profile == giver->profile &&
	       build->path.graph->activities[last].end_ns < build->parts[giver->before].end_ns)
		last++;
	return sn_path_edge(&build->path, last, pending->to, false, 0, SN_PATH_HANDOVER);
}

/* To what the main thread was in. */
static int connect_beginning(struct build *build, const struct threads *threads, uint32_t to)
{
	uint64_t start = build->path.graph->activities[to].start_ns;
	uint32_t low = threads->main_first, high = threads->main_end;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (build->parts[middle].start_ns < start)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == threads->main_first)
		return 0;
	const struct part *part = build->parts + low - 1;
	if (part->profile == build->path.graph->activities[to].profile)
		return 0;
	return sn_path_edge(&build->path, part->activity, to, part->end_ns > start, 0,
			    SN_PATH_HANDOVER);
}

/* To the operation waited for, or that ended last; where all streams were waited for, to the last
 * of each. */
static int connect_wait(struct build *build, const struct wait *wait)
{
	uint32_t streams[LOOK_BACK];
	size_t low = 0, high = build->path.end_count, count = 0;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (build->path.ends[middle].end_ns <= wait->ended_ns)
			low = middle + 1;
		else
			high = middle;
	}
	size_t most = wait->is_for_all ? LOOK_BACK : 1;
	for (size_t i = low; i-- && low - i <= 4 * LOOK_BACK && count < most;) {
		const struct sn_path_ending *one = build->path.ends + i;
		uint32_t stream = build->path.graph->activities[one->activity].profile;
		bool is_known =
		    one->end_ns <= wait->begin_ns || (wait->link && one->link != wait->link);
		for (size_t k = 0; k < count && !is_known; k++)
			is_known = streams[k] == stream;
		if (is_known)
			continue;
		streams[count++] = stream;
		if (sn_path_edge(&build->path, one->activity, wait->to, false, 0, SN_PATH_HELD))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int chain_threads(struct build *build, struct threads *threads)
{
	struct handover *handovers = malloc((build->silence_count + 1) * sizeof(*handovers));
	uint32_t *order = order_takers(build);
	size_t at = 0;
	int result = handovers && order ? 0 : SN_ERR_MEMORY;
	for (uint32_t first = 0, next; first < build->part_count && !result; first = next) {
		for (next = first + 1; next < build->part_count; next++)
			if (build->parts[next].profile != build->parts[first].profile)
				break;
		size_t count =
		    list_handovers(build, build->parts[first].profile, order, &at, handovers);
		result = chain_thread(build, first, next, handovers, count, threads);
	}
	free(handovers);
	free(order);
	return result;
}

static uint64_t loud_time(const struct part *parts, uint32_t count)
{
	uint64_t time = 0;
	for (uint32_t i = 0; i < count; i++)
		time += parts[i].is_quiet ? 0 : parts[i].end_ns - parts[i].start_ns;
	return time;
}

static void release_devices(struct build *build)
{
	for (size_t d = 0; d < build->path.device_count; d++)
		sn_path_operations_release(build->path.devices + d);
	free(build->path.devices);
	build->path.devices = NULL;
	build->path.device_count = 0;
}

static int load_devices(struct build *build, struct sn_error *error)
{
	const struct sn_answers *answers = build->path.answers;
	int result = 0;
	release_devices(build);
	size_t count = sn_processes_list(&answers->processes, &answers->processes.devices,
					 build->path.window->profile, &build->path.numbers);
	build->path.devices = calloc(count + 1, sizeof(*build->path.devices));
	if (!build->path.devices)
		return SN_ERR_MEMORY;
	build->path.device_count = count;
	for (size_t d = 0; d < count && !result; d++)
		result = sn_path_operations(answers, build->path.numbers[d], build->path.window,
					    build->path.devices + d, error);
	return result;
}

static int build_process(struct build *build, struct sn_error *error)
{
	struct threads threads = {0};
	uint64_t most = 0;
	build->part_count = build->silence_count = 0;
	int result = load_devices(build, error);
	if (!result)
		result = sn_activity_walk_window(
		    &build->path.answers->processes, build->path.window->profile,
		    build->path.window->from_ns, build->path.window->to_ns, 0, take_part, build,
		    error);
	for (uint32_t first = 0, next; first < build->part_count && !result; first = next) {
		for (next = first + 1; next < build->part_count; next++)
			if (build->parts[next].profile != build->parts[first].profile)
				break;
		result = find_silences(build, first, next);
		uint64_t loud = loud_time(build->parts + first, next - first);
		if (loud > most) {
			most = loud;
			threads.main_first = first;
			threads.main_end = next;
		}
	}
	if (!result && build->silence_count)
		qsort(build->silences, build->silence_count, sizeof(*build->silences),
		      compare_silences);
	if (!result)
		result = chain_threads(build, &threads);
	if (!result)
		result = sn_path_add_operations(&build->path);
	for (size_t i = 0; i < threads.handovers.count && !result; i++)
		result = connect_handover(build, threads.handovers.items + i);
	for (size_t i = 0; i < threads.waits.count && !result; i++)
		result = connect_wait(build, threads.waits.items + i);
	for (size_t i = 0; i < threads.beginnings.count && !result; i++)
		result = connect_beginning(build, &threads, threads.beginnings.items[i]);
	free(threads.beginnings.items);
	free(threads.handovers.items);
	free(threads.waits.items);
	return result;
}

int sn_path_build(const struct sn_answers *answers, const struct sn_path_window *windows,
		  size_t count, struct sn_path_graph *graph, struct sn_error *error)
{
	struct build build = {
	    .path = {.answers = answers, .graph = graph},
	};
	int result = sn_path_meetings_init(&build.path);
	for (size_t i = 0; i < count && !result; i++) {
		build.path.window = windows + i;
		result = build_process(&build, error);
	}
	free(build.parts);
	free(build.silences);
	release_devices(&build);
	free(build.path.participants);
	sn_intern_release(&build.path.launchers.links);
	free(build.path.launchers.activities);
	sn_path_meetings_release(&build.path.meetings);
	free(build.path.ends);
	return result == SN_ERR_MEMORY ? sn_fail(error, result, "out of memory") : result;
}
