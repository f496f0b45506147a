/* SPDX-License-Identifier: Apache-2.0 */
/* Divides calls into parts in which each is the innermost, with a stack of open calls. */
#include "activity_parts.h"

#include "base/search.h"
#include "base/vec.h"

struct sn_activity_lanes *sn_activity_lanes(const struct sn_processes *processes, uint32_t profile,
					    bool or_samples, size_t *count)
{
	const uint32_t *candidates;
	size_t track_count = sn_processes_tracks(processes, profile, &candidates);
	uint32_t *tracks = malloc((track_count + 1) * sizeof(*tracks));
	struct sn_activity_lanes *all = calloc(track_count + 1, sizeof(*all));
	*count = 0;
	if (!tracks || !all) {
		free(tracks);
		free(all);
		return NULL;
	}
	all->tracks = tracks;
	for (size_t at = 0; at < track_count; at++) {
		uint32_t i = candidates[at];
		const struct sonde_track *track = sonde_trace_track(processes->trace, i);
		struct sn_activity_lanes *last = *count ? all + *count - 1 : NULL;
		bool is_call = track->kind == SONDE_TRACK_INTERVALS;
		bool is_sampled = or_samples && track->kind == SONDE_TRACK_SAMPLES;
		if (last && last->profile == track->profile && track->kind == SONDE_TRACK_STATES &&
		    last->states == SONDE_NONE)
			last->states = i;
		if ((!is_call && !is_sampled) ||
		    sonde_db_profile(processes->db, track->profile)->kind != SONDE_PROFILE_THREAD)
			continue;
		if (!last || last->profile != track->profile) {
			last = all + (*count)++;
			*last = (struct sn_activity_lanes){.profile = track->profile,
							   .tracks = tracks,
							   .samples = SONDE_NONE,
							   .states = SONDE_NONE};
		}
		if (is_sampled && last->samples == SONDE_NONE)
			last->samples = i;
		if (!is_call)
			continue;
		*tracks++ = i;
		last->count++;
	}
	return all;
}

void sn_activity_lanes_free(struct sn_activity_lanes *lanes)
{
	if (lanes)
		free((void *)lanes->tracks);
	free(lanes);
}

size_t sn_activity_lanes_find(const struct sn_activity_lanes *lanes, size_t count, uint32_t profile)
{
	size_t found = sn_search(i, count, lanes[i].profile < profile);
	return found < count && lanes[found].profile == profile ? found : SIZE_MAX;
}

int sn_activity_parts_init(struct sn_activity_parts *parts, const struct sonde_trace *trace,
			   const struct sn_activity_lanes *lanes,
			   const struct sn_event_window *window, struct sn_error *error)
{
	*parts = (struct sn_activity_parts){
	    .merge = sn_event_merge_new(trace, lanes->tracks, lanes->count, window),
	    .to_ns = window->to_ns,
	    .profile = lanes->profile,
	};
	if (!parts->merge)
		return sn_fail_memory(error);
	return 0;
}

void sn_activity_parts_release(struct sn_activity_parts *parts)
{
	sn_event_merge_free(parts->merge);
	free(parts->calls);
	*parts = (struct sn_activity_parts){0};
}

const struct sn_attribute_wish sn_blocked_wishes[SN_BLOCKED_WISHES] = {
    [SN_BLOCKED] = {"blocked", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_BLOCKED_BEFORE] = {"blocked-before", SONDE_ATTRIBUTE_UNSIGNED},
};

bool sn_blocked_is_told(const struct sonde_db *db, const struct sonde_trace *trace)
{
	return sn_attribute_key(db, trace, &sn_blocked_wishes[SN_BLOCKED]) != SONDE_NONE;
}

uint64_t sn_blocked_of(const struct sn_merged_event *event, unsigned which)
{
	uint64_t value;
	return which < event->attributes->count &&
		       sn_attributes_get(event->attributes, which, event->at, &value)
		   ? value
		   : 0;
}

/* The next part of the innermost open call before `time_ns`; pops the calls that have ended. 1; 0:
 * there is none before that time. */
static int unwind(struct sn_activity_parts *parts, uint64_t time_ns, struct sn_activity_part *part)
{
	while (parts->depth && parts->now_ns < time_ns) {
		const struct sn_activity_call *top = parts->calls + parts->depth - 1;
		uint64_t start = parts->now_ns, end = top->end_ns < time_ns ? top->end_ns : time_ns;
		bool is_end = top->end_ns <= time_ns;
		parts->depth -= is_end;
		if (end <= start)
			continue;
		*part = (struct sn_activity_part){
		    .start_ns = start,
		    .end_ns = end,
		    .call_start_ns = top->start_ns,
		    .call_end_ns = top->end_ns,
		    .link = top->link,
		    .context = top->context,
		    .profile = parts->profile,
		    .blocked_ns = is_end	     ? top->blocked_ns
				  : parts->has_event ? parts->next.blocked_before_ns
						     : 0,
		    .blocked_before_ns = start == top->start_ns ? top->blocked_before_ns : 0,
		};
		parts->now_ns = end;
		return 1;
	}
	parts->now_ns = time_ns;
	return 0;
}

static int push(struct sn_activity_parts *parts, struct sn_error *error)
{
	parts->has_event = false;
	return sn_vec_push(&parts->calls, &parts->capacity, &parts->depth, parts->next)
		   ? sn_fail_memory(error)
		   : 0;
}

/* Reads the next call. 1, 0 at the end, or a negative enum sn_err. */
static int read_next(struct sn_activity_parts *parts, struct sn_error *error)
{
	struct sn_merged_event event;
	int result = sn_event_merge_next(parts->merge, &event, error);
	if (result > 0)
		parts->next = (struct sn_activity_call){
		    .start_ns = event.start_ns,
		    .end_ns = event.end_ns,
		    .link = event.link,
		    .blocked_ns = sn_blocked_of(&event, SN_BLOCKED),
		    .blocked_before_ns = sn_blocked_of(&event, SN_BLOCKED_BEFORE),
		    .context = event.context,
		};
	/* the last block may extend beyond the window */
	parts->has_event = result > 0 && parts->next.start_ns < parts->to_ns;
	return result;
}

int sn_activity_parts_next(struct sn_activity_parts *parts, struct sn_activity_part *part,
			   struct sn_error *error)
{
	for (;;) {
		int result = parts->has_event ? 1 : read_next(parts, error);
		if (result < 0)
			return result;
		if (unwind(parts, parts->has_event ? parts->next.start_ns : parts->to_ns, part))
			return 1;
		if (!parts->has_event)
			return 0;
		result = push(parts, error);
		if (result)
			return result;
	}
}
