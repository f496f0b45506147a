/* SPDX-License-Identifier: Apache-2.0 */
/* Which tracks of intervals make a device: those of all streams of one device of one process. */
#ifndef SN_TIMELINE_DEVICE_TRACKS_H
#define SN_TIMELINE_DEVICE_TRACKS_H

#include "sonde/trace.h"

struct sn_device_track {
	uint32_t run, device, track, profile;
	int32_t rank;
	uint64_t pid;
};

/* By run, rank, device, track; the caller frees it. NULL without memory. */
struct sn_device_track *sn_device_tracks(const struct sonde_db *db, const struct sonde_trace *trace,
					 size_t *count);
/* Whether both are of one process, as they are sorted. */
bool sn_device_is_same_process(const struct sn_device_track *left,
			       const struct sn_device_track *right);
bool sn_device_is_same(const struct sn_device_track *left, const struct sn_device_track *right);

/* Importers put what was launched before the recording below a frame of kind idle. */
bool sn_device_is_launched(const struct sonde_db *db, uint32_t context);

#endif
