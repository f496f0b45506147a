/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who took part in which collective, and when. One pass over the streams (and over threads for
 * those of gloo and MPI) if the program has any collectives; 72 bytes for each part.
 */
#pragma once

#include "base/intern.h"
#include "timeline/processes.h"

/* A participant in collectives: a device, or a process by itself. */
struct sn_participant {
	uint32_t device; /* position in sn_device_times, SONDE_NONE for a process */
	uint32_t profile;
};

/* A participant's part in a collective, from its arrival. */
struct sn_arrival {
	uint64_t start_ns, end_ns;
	uint64_t called_ns; /* the call that waits for it begins: start_ns, or later */
	uint64_t number;    /* in the group, as recorded; UINT64_MAX: none */
	uint64_t bytes;	    /* 0: not known */
	uint32_t group;	    /* of which participants can be compared: sn_collectives.groups */
	uint32_t line;	    /* the sequence of its group's collectives of any kind: see ranks.h */
	uint32_t context, participant;
	uint32_t profile; /* the stream's or thread's */
	bool is_counted;  /* the number was found by counting; see ranks.h */
	bool is_loose;	  /* may end before all have arrived: the root's part of a broadcast */
	bool is_told;	  /* the recording names its kind and process group */
	bool is_sure;	  /* is_told, and all participants did the same in the same order */
};

struct sn_collectives {
	struct sn_participant *participants;
	size_t participant_count, participant_capacity;
	struct sn_arrival *arrivals; /* by track, in order of start */
	size_t arrival_count, arrival_capacity;
	struct sn_intern groups; /* "[0, 1] allreduce 500": ranks, kind and size */
	struct sn_intern lines;	 /* "[0, 1]" */
	uint32_t *of_devices;	 /* by position in sn_device_times the participant, SONDE_NONE */
};

/* 0 or a negative enum sn_err; release in either case. */
int sn_collectives(const struct sn_processes *processes, const struct sn_device_times *times,
		   struct sn_collectives *collectives, struct sn_error *error);
void sn_collectives_release(struct sn_collectives *collectives);
