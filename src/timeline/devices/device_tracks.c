/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting streams by device; see device_tracks.h. */
#include "device_tracks.h"

#include "format/measurement/measurement.h"

#include <stdlib.h>

bool sn_device_is_launched(const struct sonde_db *db, uint32_t context)
{
	uint32_t parent = sonde_db_context(db, context)->parent;
	return sonde_db_frame(db, sonde_db_context(db, parent)->frame)->kind != SN_FRAME_IDLE;
}

static int compare_tracks(const void *left, const void *right)
{
	const struct sn_device_track *a = left, *b = right;
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->pid != b->pid && a->rank < 0)
		return a->pid < b->pid ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->track > b->track) - (a->track < b->track);
}

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
		qsort(list, *count, sizeof(*list), compare_tracks);
	return list;
}
