/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of the time of one database: its launches, by place in order of start, with what was beside each of them and the copy that it is
 * linked to (launch_table.h); and what is told of each.
 */
#pragma once

#include "clock.h"
#include "timeline/intervals.h"
#include "vary.h"

#define SN_NO_COPY UINT32_MAX

/* Times from the begin of the range; negative before it. */
struct sn_window_launch {
	int64_t start_ns, end_ns;
	uint32_t place, profile, track;
	uint32_t cell;
	uint64_t registers; /* SN_SIZE_UNKNOWN unless all detail is read */
	int64_t previous_start_ns,
	    previous_end_ns; /* of the one before on its stream; INT64_MIN: not known */
	uint32_t concurrent; /* launches that run when it starts */
	uint32_t copy;	     /* SN_NO_COPY: none */
};
struct sn_window_copy {
	int64_t start_ns, end_ns;
	uint64_t bytes;
	uint32_t place, profile;
	uint8_t direction;
};

/* A worker keeps its arrays, and the second ones that sorting needs, from window to window. Else each window would allocate and free them, some 33 MB
 * twice, which the kernel does for one thread of a process at a time. */
struct sn_window_room {
	struct sn_window_launch *launches, *launches_to;
	struct sn_window_copy *copies, *copies_to;
	size_t launch_capacity, launch_to_capacity, copy_capacity, copy_to_capacity;
};
void sn_vary_window_free_room(struct sn_vary_worker *worker);

struct sn_vary_window {
	struct sn_vary *vary;
	struct sn_vary_worker *worker;
	const struct sn_vary_source *source;
	enum sn_vary_detail detail;
	int64_t from_ns, to_ns; /* launches that are asked for begin here; to_ns is not of it */
	int64_t read_from_ns, read_to_ns;
	/* The worker's; also some that begin before or after. */
	const struct sn_window_launch *launches;
	const struct sn_window_copy *copies;
	size_t launch_count, copy_count;
	struct sn_clock_values clocks; /* after sn_vary_window_read_clocks */
};

/* Reads so much that the launches that begin in the part have their copies whole. 0 or a negative enum sn_err; release in either case. */
int sn_vary_window_read(struct sn_vary_window *window, struct sn_vary *vary,
			struct sn_vary_worker *worker, const struct sn_vary_source *source,
			const struct sn_vary_slice *part, enum sn_vary_detail detail);
int sn_vary_window_read_clocks(struct sn_vary_window *window);
void sn_vary_window_release(struct sn_vary_window *window);

static inline bool sn_vary_window_has(const struct sn_vary_window *window,
				      const struct sn_window_launch *launch)
{
	return launch->start_ns >= window->from_ns && launch->start_ns < window->to_ns;
}

/* The times in which kernels run at the place of the launch with this number, the first one of its place. 0 or SN_ERR_MEMORY. */
int sn_vary_window_cover(const struct sn_vary_window *window, size_t first,
			 struct sn_intervals *kernels);
/* feature.c: a column of the table of launches, as a number; NAN: missing. Of `kernels` are those of sn_vary_window_cover, for
 * SN_FEATURE_EXPOSED_COPY alone. */
double sn_vary_feature(const struct sn_vary_window *window, const struct sn_window_launch *launch,
		       const struct sn_intervals *kernels, enum sn_feature feature);
/* picture.c: all launches as parallel coordinates, if wanted: after the groups are known, of each launch, and after the slices. */
int sn_vary_picture_begin(struct sn_vary *vary, struct sn_error *error);
void sn_vary_picture_add(const struct sn_vary_window *window,
			 const struct sn_window_launch *launch);
int sn_vary_picture_end(struct sn_vary *vary, struct sn_error *error);
