/* SPDX-License-Identifier: Apache-2.0 */
/* The databases of an analysis of variability: which contexts are kernels and copies, which profiles are of which place, and the launches
 * of a part of the time. */
#pragma once

#include "base/intern.h"
#include "timeline/attributes.h"
#include "variability.h"

/* A counter that tells the clock frequency of a place. */
struct sn_vary_clock {
	uint32_t track, place;
	double hertz;	/* of one of its unit */
	unsigned grade; /* how well it tells */
};

struct sn_vary_source {
	const struct sn_variability_input *input;
	uint32_t *kernels; /* by context; SONDE_NONE: none */
	uint8_t *copies;   /* by context: enum sn_copy_direction + 1; 0: none */
	uint32_t *places;  /* by profile; SONDE_NONE: no stream */
	uint32_t *tracks;  /* intervals of streams */
	size_t track_count;
	struct sn_vary_clock *clocks;
	size_t clock_count;
	uint64_t shift_ns;	   /* of the begin of the common range */
	uint64_t start_ns, end_ns; /* of its launches; UINT64_MAX and 0 without any */
};

/* What launches are told apart by: a cell is a kernel with one configuration at one place. */
struct sn_vary_key {
	uint64_t kernel, place;
	uint64_t sizes[SN_CONFIGURATION_SIZES];
};

struct sn_vary_sources {
	struct sn_arena *arena;
	struct sn_vary_source *items;
	size_t count;
	struct sn_intern names; /* of kernels, until they are sorted */
	const char **kernels;
	bool *are_communication; /* by kernel */
	uint32_t kernel_count;
	struct sn_variability_place *places;
	size_t place_count, place_capacity;
};

/* 0 or a negative enum sn_err; release in either case. Texts are in the arena. */
int sn_vary_sources_init(struct sn_vary_sources *sources, const struct sn_variability_input *inputs,
			 size_t count, struct sn_arena *arena, struct sn_error *error);
void sn_vary_sources_release(struct sn_vary_sources *sources);

struct sn_vary_launch {
	uint64_t start_ns, end_ns; /* as in the database */
	uint32_t kernel, place, profile, track;
	const uint64_t *sizes; /* SN_LAUNCH_SIZES */
	uint64_t link;
};
struct sn_vary_copy {
	uint64_t start_ns, end_ns, bytes; /* UINT64_MAX: not known */
	uint32_t place, profile;
	uint8_t direction;
};
typedef int sn_visit_launch(void *data, const struct sn_vary_launch *launch);
typedef int sn_visit_copies(void *data, const struct sn_vary_copy *copy);

/* How much of an event is read beside its times, kernel and place. What is not read is as if it had not been recorded. */
enum sn_vary_detail {
	SN_VARY_CONFIGURATION, /* sizes of launches but their registers */
	SN_VARY_FULL,	       /* all sizes, and the bytes of copies */
};

/* What of a track is read: launches, copies, or both. */
struct sn_vary_reading {
	uint64_t from_ns, to_ns; /* of the database; whatever overlaps is given */
	sn_visit_launch *launch; /* NULL: none wanted */
	enum sn_vary_detail detail;
	sn_visit_copies *copy;
	void *data;
};
/* A thread's means of reading one source; all zeroes at first. */
struct sn_vary_reader {
	struct sonde_event_cursor *cursor;
	struct sn_attributes attributes;
	const struct sn_vary_source *source;
	enum sn_vary_detail detail;
};
void sn_vary_reader_release(struct sn_vary_reader *reader);
/* All that overlaps the window, track by track, each in order of start. 0 or a negative enum sn_err. */
int sn_vary_read_track(struct sn_vary_reader *reader, const struct sn_vary_source *source,
		       uint32_t track, const struct sn_vary_reading *reading,
		       struct sn_error *error);
/* From when a track is read so that it has what comes before a time. */
uint64_t sn_vary_track_begin(const struct sn_vary_source *source, uint32_t track, uint64_t from_ns);
