/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the states of threads. */
#include "thread_states.h"

#include "base/vec.h"
#include "base/sort_by.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "timeline/track_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	const struct sonde_db *db;
	struct sn_thread_times *times;
	uint32_t waker, result, bytes; /* attribute keys */
};

const char *sn_state_name(const struct sonde_db *db, uint32_t context)
{
	return sn_context_name(db, context);
}

const char *sn_state_group(const struct sonde_db *db, uint32_t context)
{
	return sn_state_name(db, sonde_db_context(db, context)->parent);
}

/* The outermost context below the root is the state; contexts below give details. */
enum sn_thread_state sn_state_of(const struct sonde_db *db, uint32_t context)
{
	static const char *const names[] = {"running", "ready", "blocked"};
	while (context && sonde_db_context(db, context)->parent)
		context = sonde_db_context(db, context)->parent;
	for (int state = 0; context && state < SN_THREAD_UNKNOWN; state++)
		if (!strcmp(sn_state_name(db, context), names[state]))
			return (enum sn_thread_state)state;
	return SN_THREAD_UNKNOWN;
}

/* ---- sums ---- */

static struct sn_thread_time *thread_of(struct sn_thread_times *times,
					const struct sonde_track *track)
{
	struct sn_thread_time *last =
	    times->thread_count ? times->threads + times->thread_count - 1 : NULL;
	struct sn_thread_time thread = {
	    .profile = track->profile, .start_ns = track->start_ns, .end_ns = track->end_ns};
	if (last && last->profile == track->profile) {
		last->start_ns =
		    track->start_ns < last->start_ns ? track->start_ns : last->start_ns;
		last->end_ns = track->end_ns > last->end_ns ? track->end_ns : last->end_ns;
		return last;
	}
	return sn_vec_push(&times->threads, &times->thread_capacity, &times->thread_count, thread)
		   ? NULL
		   : times->threads + times->thread_count - 1;
}

/* The sum of a system call, fault or other context; NULL without memory. */
static struct sn_system_sum *system_of(struct sn_thread_times *times, uint32_t context)
{
	uint32_t number =
	    sn_intern_item(&times->system_keys, &context, sizeof(context), &times->systems,
			   &times->system_capacity, {.context = context});
	return number == SN_INTERN_NONE ? NULL : times->systems + number;
}

/* ---- tracks ---- */

bool sn_is_page_fault(const struct sonde_db *db, uint32_t context)
{
	uint32_t parent = sonde_db_context(db, context)->parent;
	return parent != SONDE_NONE && parent < sonde_db_context_count(db) &&
	       sn_context_frame(db, parent)->kind == SN_FRAME_OS &&
	       !strcmp(sn_context_name(db, parent), "page fault");
}

/* An event's attribute; false if it has none. */
static bool value_at(const struct sonde_attribute_column *column, size_t place, uint64_t *value)
{
	if (!column->values || (column->is_present && !column->is_present[place]))
		return false;
	*value = column->values[place];
	return true;
}

static struct sonde_attribute_column column_of(struct sonde_event_cursor *cursor, uint32_t key)
{
	struct sonde_attribute_column column = {0};
	if (key == SONDE_NONE || !sonde_event_cursor_attribute(cursor, key, &column))
		column.values = NULL;
	return column;
}

static int add_states(struct reading *reading, const struct sonde_track *track,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct sn_thread_times *times = reading->times;
	struct sonde_attribute_column wakers = column_of(cursor, reading->waker);
	struct sn_thread_time *thread = thread_of(times, track);
	if (!thread)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < block->count; i++) {
		uint64_t time = block->ends_ns[i] - block->starts_ns[i], waker;
		enum sn_thread_state state = sn_state_of(reading->db, block->contexts[i]);
		uint32_t key[] = {track->profile, block->contexts[i]};
		uint32_t number =
		    sn_intern_item(&times->share_keys, key, sizeof(key), &times->shares,
				   &times->share_capacity, {.profile = key[0], .context = key[1]});
		if (number == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
		struct sn_state_share *share = times->shares + number;
		share->time_ns += time;
		share->count++;
		share->longest_ns = time > share->longest_ns ? time : share->longest_ns;
		thread->times_ns[state] += time;
		if (!value_at(&wakers, i, &waker))
			continue;
		key[1] = (uint32_t)waker;
		number =
		    sn_intern_item(&times->wakeup_keys, key, sizeof(key), &times->wakeups,
				   &times->wakeup_capacity, {.profile = key[0], .waker = key[1]});
		if (number == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
		times->wakeups[number].count++;
		times->wakeups[number].waited_ns += time;
	}
	return 0;
}

static int add_system(struct reading *reading, struct sonde_event_cursor *cursor,
		      const struct sonde_event_block *block)
{
	struct sonde_attribute_column results = column_of(cursor, reading->result);
	struct sonde_attribute_column bytes = column_of(cursor, reading->bytes);
	for (size_t i = 0; i < block->count; i++) {
		uint64_t time = block->ends_ns[i] - block->starts_ns[i], value;
		struct sn_system_sum *sum = system_of(reading->times, block->contexts[i]);
		if (!sum)
			return SN_ERR_MEMORY;
		sum->time_ns += time;
		sum->count++;
		sum->longest_ns = time > sum->longest_ns ? time : sum->longest_ns;
		/* a result may be an address, which can be negative as a signed number; errors
		 * are -4095 to -1 */
		if (value_at(&results, i, &value)) {
			sum->error_count += value >= (uint64_t)-4095;
			sum->results += value >= (uint64_t)-4095 ? 0 : value;
		}
		if (value_at(&bytes, i, &value))
			sum->bytes += value;
	}
	return 0;
}

/* Counts page faults; other instants have nothing to add up. */
static int add_instants(struct reading *reading, const struct sonde_event_block *block)
{
	for (size_t i = 0; i < block->count; i++) {
		if (!sn_is_page_fault(reading->db, block->contexts[i]))
			continue;
		struct sn_system_sum *sum = system_of(reading->times, block->contexts[i]);
		if (!sum)
			return SN_ERR_MEMORY;
		sum->count++;
	}
	return 0;
}

static int visit_block(void *data, const struct sonde_track *track,
		       struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct reading *reading = data;
	if (track->kind == SONDE_TRACK_STATES)
		return add_states(reading, track, cursor, block);
	if (track->kind == SONDE_TRACK_INSTANTS)
		return add_instants(reading, block);
	return add_system(reading, cursor, block);
}

/* ---- order ---- */

SN_SORT_BY(sort_shares, struct sn_state_share, const void *,
	   SN_ORDER(b->time_ns, a->time_ns) ?: SN_ORDER(a->profile, b->profile) ?:
	   SN_ORDER(a->context, b->context));
SN_SORT_BY(sort_wakeups, struct sn_wakeup_sum, const void *,
	   SN_ORDER(b->count, a->count) ?: SN_ORDER(a->profile, b->profile) ?:
	   SN_ORDER(a->waker, b->waker));
SN_SORT_BY(sort_systems, struct sn_system_sum, const void *,
	   SN_ORDER(b->time_ns, a->time_ns) ?: SN_ORDER(a->context, b->context));

/* Whether reading instants is worthwhile. */
static bool has_page_faults(const struct sonde_db *db)
{
	for (uint32_t i = 0; i < sonde_db_context_count(db); i++)
		if (sn_is_page_fault(db, i))
			return true;
	return false;
}

int sn_thread_times(const struct sonde_db *db, const struct sonde_trace *trace,
		    struct sn_thread_times *times, struct sn_error *error)
{
	struct reading reading = {
	    .db = db,
	    .times = times,
	    .waker = sonde_trace_key_by_name(trace, "waker"),
	    .result = sonde_trace_key_by_name(trace, "result"),
	    .bytes = sonde_trace_key_by_name(trace, "bytes"),
	};
	struct sn_event_window window = {.to_ns = UINT64_MAX, .reader = sn_event_reader_new(trace)};
	bool has_faults = has_page_faults(db);
	int result = 0;
	*times = (struct sn_thread_times){.db = db};
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		uint16_t kind = sonde_trace_track(trace, i)->kind;
		if (kind == SONDE_TRACK_STATES || kind == SONDE_TRACK_SYSTEM ||
		    (kind == SONDE_TRACK_INSTANTS && has_faults))
			result = sn_track_blocks(trace, i, &window, visit_block, &reading, error);
	}
	sonde_event_cursor_free(window.reader);
	sort_shares(times->shares, times->share_keys.count, NULL);
	sort_wakeups(times->wakeups, times->wakeup_keys.count, NULL);
	sort_systems(times->systems, times->system_keys.count, NULL);
	return result;
}

void sn_thread_times_release(struct sn_thread_times *times)
{
	free(times->threads);
	free(times->shares);
	free(times->wakeups);
	free(times->systems);
	sn_intern_release(&times->share_keys);
	sn_intern_release(&times->wakeup_keys);
	sn_intern_release(&times->system_keys);
	*times = (struct sn_thread_times){0};
}

/* ---- selection ---- */

bool sn_threads_are_known(const struct sonde_trace *trace)
{
	for (uint32_t i = 0; i < sonde_trace_track_count(trace); i++) {
		uint16_t kind = sonde_trace_track(trace, i)->kind;
		if (kind == SONDE_TRACK_STATES || kind == SONDE_TRACK_SYSTEM)
			return true;
	}
	return false;
}

bool sn_is_processor(const struct sonde_db *db, uint32_t profile)
{
	return sonde_db_profile(db, profile)->kind == SONDE_PROFILE_PROCESSOR;
}

bool sn_is_blocked(const struct sonde_db *db, uint32_t context)
{
	return !strcmp(sn_state_name(db, context), "blocked") ||
	       !strcmp(sn_state_group(db, context), "blocked");
}

/* Shares are sorted by time. */
const struct sn_state_share *sn_thread_worst(const struct sn_thread_times *times, uint32_t profile)
{
	for (uint32_t i = 0; i < times->share_keys.count; i++)
		if (times->shares[i].profile == profile &&
		    sn_is_blocked(times->db, times->shares[i].context))
			return times->shares + i;
	return NULL;
}

double sn_thread_whole_ns(const struct sn_thread_time *thread)
{
	double whole = 0;
	for (int state = 0; state < SN_THREAD_STATES; state++)
		whole += (double)thread->times_ns[state];
	return whole;
}

SN_SORT_BY(sort_by_running, const struct sn_thread_time *, const void *,
	   SN_ORDER((*b)->times_ns[SN_THREAD_RUNNING], (*a)->times_ns[SN_THREAD_RUNNING])
	       ?: SN_ORDER((*a)->profile, (*b)->profile));

const struct sn_thread_time **sn_threads_by_running(const struct sn_thread_times *times,
						    bool are_processors, size_t *count)
{
	const struct sn_thread_time **list = malloc((times->thread_count + 1) * sizeof(*list));
	*count = 0;
	for (size_t i = 0; list && i < times->thread_count; i++)
		if (sn_is_processor(times->db, times->threads[i].profile) == are_processors)
			list[(*count)++] = times->threads + i;
	if (list)
		sort_by_running(list, *count, NULL);
	return list;
}

uint32_t sn_thread_profile(const struct sn_thread_times *times, uint32_t tid)
{
	for (size_t i = 0; i < times->thread_count; i++) {
		const struct sonde_db_profile *profile =
		    sonde_db_profile(times->db, times->threads[i].profile);
		if (profile->kind == SONDE_PROFILE_THREAD && profile->tid == tid)
			return times->threads[i].profile;
	}
	return SONDE_NONE;
}

/* Whether a system call returns the number of bytes it moved. */
static bool returns_bytes(const char *call)
{
	static const char *const names[] = {
	    "read",	"pread64",  "readv",	"preadv", "preadv2",	     "recvfrom",
	    "recvmsg",	"write",    "pwrite64", "writev", "pwritev",	     "pwritev2",
	    "sendto",	"sendmsg",  "sendfile", "splice", "copy_file_range", "process_vm_readv",
	    "vmsplice", "getrandom"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(call, names[i]))
			return true;
	return false;
}

double sn_system_call_bytes(const struct sonde_db *db, const struct sn_system_sum *sum)
{
	return returns_bytes(sn_state_name(db, sum->context)) ? (double)sum->results : (double)NAN;
}
