/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups profiles by process: numbers processes, and lists the profiles, tracks and devices of
 * each, so that no analysis searches all of them. Built once for a trace.
 */
#pragma once

#include "base/arena.h"
#include "timeline/devices/device_time.h"
#include "sonde/trace.h"

/* A process has the items from starts[process] to starts[process + 1] - 1, which ascend. */
struct sn_process_lists {
	uint32_t *items, *starts;
};

struct sn_processes {
	struct sn_arena arena; /* of all that follows */
	const struct sonde_db *db;
	const struct sonde_trace *trace;
	uint32_t count;
	uint32_t *of_profile; /* the process's number, from 0, by profile */
	uint32_t *callers;    /* its first thread, or else first profile, which gives its name */
	uint32_t *all_tracks; /* 0, 1, 2, ... */
	struct sn_process_lists profiles, tracks, devices;
};

/* 0 or SN_ERR_MEMORY; release in either case. db and trace stay the caller's, and must last as
 * long. No process has devices yet. */
int sn_processes_init(struct sn_processes *processes, const struct sonde_db *db,
		      const struct sonde_trace *trace);
/* The devices of each. 0 or SN_ERR_MEMORY. */
int sn_processes_set_devices(struct sn_processes *processes, const struct sn_device_times *times);
void sn_processes_release(struct sn_processes *processes);

/* How many profiles, tracks or devices the process of a profile has, and which. */
size_t sn_processes_list(const struct sn_processes *processes, const struct sn_process_lists *lists,
			 uint32_t profile, const uint32_t **items);
/* The position in sn_device_times of the device that a stream is of; SONDE_NONE. */
uint32_t sn_processes_device(const struct sn_processes *processes,
			     const struct sn_device_times *times, uint32_t profile);
/* The tracks of the process of a profile; of all for SONDE_NONE. */
size_t sn_processes_tracks(const struct sn_processes *processes, uint32_t profile,
			   const uint32_t **tracks);
