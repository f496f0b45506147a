/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts times of one clock to another, from events with a known order.
 *
 * A command does not begin before it was enqueued, nor end after its end was observed; a message is
 * not received before it was sent. Each such pair of times bounds the difference of the two clocks
 * from one side. Of all straight lines between the lower and the upper bounds the one in the middle
 * is used; the others give its possible error. Only corners of the convex hulls of the bounds
 * matter (Poirier, Roy, Dagenais, "Accurate offline synchronization of distributed traces using
 * kernel-level events", 2010).
 *
 * Drift is not constant for long: if no line fits, the time is divided into windows with a line
 * each. Times are nanoseconds below 2^62; a clock's rate is right to one part in a thousand.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The other clock minus this one was at least (at most) `offset_ns` when this one showed `at_ns`.
 */
struct sn_clock_bound {
	int64_t at_ns, offset_ns;
	bool is_upper;
};

#define SN_CLOCK_UNKNOWN UINT64_MAX

/* A line for times of the clock from `from_ns` on, up to the next window. */
struct sn_clock_window {
	int64_t from_ns, to_ns; /* of the bounds it fits */
	int64_t offset_ns;	/* of the other clock, at from_ns */
	double slope;		/* of the offset */
	uint64_t error_ns;	/* the largest error of the offset in the window; or unknown */
	int64_t least_ns;	/* what the window before has come to, by the other clock */
};

/* All zeroes is a clock without bounds. */
struct sn_clock {
	struct sn_clock_bound *bounds;
	size_t bound_count, bound_capacity;
	struct sn_clock_window *windows; /* after sn_clock_fit, by time */
	size_t window_count, window_capacity;
};

void sn_clock_release(struct sn_clock *clock);

/* The event at `at_ns` by this clock happened after the one at `other_ns` by the other. 0 or
 * SN_ERR_MEMORY. */
int sn_clock_after(struct sn_clock *clock, int64_t at_ns, int64_t other_ns);
/* ... before `other_ns`. */
int sn_clock_before(struct sn_clock *clock, int64_t at_ns, int64_t other_ns);

/* Computes the windows. With bounds from only one side the offset is taken from those and its error
 * is unknown; without bounds it is 0. 0 or SN_ERR_MEMORY. */
int sn_clock_fit(struct sn_clock *clock);

/* The other clock's time when this one showed `at_ns`; never earlier for a later time. */
int64_t sn_clock_convert(const struct sn_clock *clock, int64_t at_ns);
/* The largest possible error, over all windows; SN_CLOCK_UNKNOWN if not bounded. */
uint64_t sn_clock_error(const struct sn_clock *clock);
/* The largest drift of a window, in parts per billion. */
double sn_clock_drift_ppb(const struct sn_clock *clock);

/* ---- many clocks ---- */

/* Two hosts with messages in both directions, and the error between their clocks. */
struct sn_clock_pair {
	uint32_t from, to;
	uint64_t error_ns;
};

/*
 * The tree that reaches all it can from host `root` with the smallest errors (a minimum spanning
 * tree, Prim 1957): parents[host] is the pair by which its clock is converted to one nearer to the
 * root, or SIZE_MAX for the root and for hosts that no pair reaches. 0 or SN_ERR_MEMORY.
 */
int sn_clock_tree(const struct sn_clock_pair *pairs, size_t pair_count, uint32_t host_count,
		  uint32_t root, size_t *parents);
