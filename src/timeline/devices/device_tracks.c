/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting streams by device; see device_tracks.h. */
#include "device_tracks.h"

#include "base/sort_by.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"

#include <stdlib.h>

bool sn_device_is_launched(const struct sonde_db *db, uint32_t context)
{
	uint32_t parent = sonde_db_context(db, context)->parent;
	return sn_context_frame(db, parent)->kind != SN_FRAME_IDLE;
}

SN_SORT_BY(sort_tracks, struct sn_device_track, const void *,
	   SN_ORDER(a->run, b->run) ?: SN_ORDER(a->rank, b->rank) ?:
	   a->rank < 0 && a->pid != b->pid ? SN_ORDER(a->pid, b->pid) :
	   SN_ORDER(a->device, b->device) ?: SN_ORDER(a->track, b->track));

bool sn_device_is_same_process(const struct sn_device_track *left,
			       const struct sn_device_track *right)
{
	return left->run == right->run && left->rank == right->rank &&
	       (left->rank >= 0 || left->pid == right->pid);
}

bool sn_device_is_same(const struct sn_device_track *left, const struct sn_device_track *right)
{
	return sn_device_is_same_process(left, right) && left->device == right->device;
}

struct sn_device_track *sn_device_tracks(const struct sonde_db *db, const struct sonde_trace *trace,
					 size_t *count)
{
	uint32_t track_count = sonde_trace_track_count(trace);
	struct sn_device_track *list = malloc((track_count + 1ull) * sizeof(*list));
	*count = 0;
	for (uint32_t i = 0; i < track_count && list; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		const struct sonde_db_profile *profile = sonde_db_profile(db, track->profile);
		if (profile->kind == SONDE_PROFILE_STREAM && track->kind == SONDE_TRACK_INTERVALS)
			list[(*count)++] =
			    (struct sn_device_track){profile->run,   profile->device, i,
						     track->profile, profile->rank,   profile->pid};
	}
	if (list)
		sort_tracks(list, *count, NULL);
	return list;
}
