/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's clock against the host's, from bounds alone; see opencl.h.
 *
 * The offset of two clocks with constant drift is a line: an offset at some moment, and a slope.
 * Each observation requires that the line passes between two points, so it cuts the polygon of the
 * possible lines (offset by slope) along two straight edges. The remaining corners are the dual of
 * the convex hulls of Duda et al., "Estimating global time in distributed systems" (ICDCS 1987), in
 * constant memory. If the polygon becomes empty, the drift has changed, and a new polygon begins.
 */
#include "opencl.h"

#include "collect/core/lock.h"

#define SLOPE_MOST 1e-3 /* no clock is worse */
#define SLACK_NS   0.5	/* of rounding */

void sn_cl_clock_init(struct sn_cl_clock *clock)
{
	clock->corner_count = 0;
	atomic_store_explicit(&clock->busy, false, memory_order_relaxed);
	atomic_store_explicit(&clock->error_ns, UINT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&clock->worst_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&clock->offset_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&clock->drifted, 0, memory_order_relaxed);
}

/* False where its holder does not release it: the process has forked meanwhile. */
static bool lock(struct sn_cl_clock *clock)
{
	return sn_lock_wait_one(SN_LOCK_OPENCL_CLOCK, &clock->busy);
}

static void unlock(struct sn_cl_clock *clock)
{
	sn_lock_release_one(SN_LOCK_OPENCL_CLOCK, &clock->busy);
}

/* What the polygon's corner says of the offset at `at`, less base_ns. */
static double offset_at(struct sn_cl_corner corner, double at)
{
	return corner.offset + corner.slope * at;
}

static double since_origin(const struct sn_cl_clock *clock, uint64_t device_ns)
{
	return (double)(int64_t)(device_ns - clock->origin_ns);
}

static void begin_anew(struct sn_cl_clock *clock, uint64_t device_ns, uint64_t before_ns,
		       uint64_t after_ns)
{
	double width = (double)(after_ns - before_ns) + 2 * SLACK_NS;
	clock->origin_ns = device_ns;
	clock->base_ns = (int64_t)(before_ns - device_ns);
	clock->corner_count = 4;
	clock->corners[0] = (struct sn_cl_corner){-SLACK_NS, -SLOPE_MOST};
	clock->corners[1] = (struct sn_cl_corner){-SLACK_NS + width, -SLOPE_MOST};
	clock->corners[2] = (struct sn_cl_corner){-SLACK_NS + width, SLOPE_MOST};
	clock->corners[3] = (struct sn_cl_corner){-SLACK_NS, SLOPE_MOST};
}

static bool is_same(struct sn_cl_corner a, struct sn_cl_corner b)
{
	double offset = a.offset - b.offset, slope = a.slope - b.slope;
	return offset < 1e-3 && offset > -1e-3 && slope < 1e-15 && slope > -1e-15;
}

static unsigned add_corner(struct sn_cl_corner *corners, unsigned count, struct sn_cl_corner corner)
{
	if (count == SN_CL_CORNERS || (count && is_same(corners[count - 1], corner)))
		return count;
	corners[count] = corner;
	return count + 1;
}

/* Keeps what is on one side of an edge: offset_at(at) of at least `limit` (side 1) or at most (-1).
 * (Sutherland, Hodgman, "Reentrant polygon clipping", 1974.) False if nothing is left, or more
 * corners than there is room for. */
static bool cut(struct sn_cl_clock *clock, double at, double limit, int side)
{
	struct sn_cl_corner kept[SN_CL_CORNERS];
	unsigned count = 0;
	for (unsigned i = 0; i < clock->corner_count; i++) {
		struct sn_cl_corner a = clock->corners[i],
				    b = clock->corners[(i + 1) % clock->corner_count];
		double from = side * (offset_at(a, at) - limit),
		       to = side * (offset_at(b, at) - limit);
		if (from >= 0)
			count = add_corner(kept, count, a);
		if ((from >= 0) == (to >= 0))
			continue;
		double part = from / (from - to);
		count = add_corner(kept, count,
				   (struct sn_cl_corner){a.offset + part * (b.offset - a.offset),
							 a.slope + part * (b.slope - a.slope)});
	}
	for (unsigned i = 0; i < count; i++)
		clock->corners[i] = kept[i];
	clock->corner_count = count;
	return count && count < SN_CL_CORNERS;
}

/* The least and the greatest offset that is possible. */
struct span {
	double least, most;
};

static struct span span_at(const struct sn_cl_clock *clock, double at)
{
	struct span span = {0, 0};
	for (unsigned i = 0; i < clock->corner_count; i++) {
		double offset = offset_at(clock->corners[i], at);
		span.least = !i || offset < span.least ? offset : span.least;
		span.most = !i || offset > span.most ? offset : span.most;
	}
	return span;
}

static uint64_t error_of(struct span span)
{
	return (uint64_t)((span.most - span.least) / 2) + 1;
}

void sn_cl_clock_bound(struct sn_cl_clock *clock, uint64_t device_ns, uint64_t before_ns,
		       uint64_t after_ns)
{
	if (after_ns < before_ns || !lock(clock))
		return;
	double at = since_origin(clock, device_ns);
	double lower = (double)((int64_t)(before_ns - device_ns) - clock->base_ns) - SLACK_NS;
	double upper = lower + (double)(after_ns - before_ns) + 2 * SLACK_NS;
	struct span known = span_at(clock, at);
	if (!clock->corner_count) {
		begin_anew(clock, device_ns, before_ns, after_ns);
	} else if ((lower > known.least && !cut(clock, at, lower, 1)) ||
		   (upper < known.most && !cut(clock, at, upper, -1))) {
		atomic_fetch_add_explicit(&clock->drifted, 1, memory_order_relaxed);
		begin_anew(clock, device_ns, before_ns, after_ns);
	}
	known = span_at(clock, since_origin(clock, device_ns));
	atomic_store_explicit(&clock->error_ns, error_of(known), memory_order_relaxed);
	unlock(clock);
}

uint64_t sn_cl_clock_host_ns(struct sn_cl_clock *clock, uint64_t device_ns)
{
	if (!lock(clock))
		return device_ns +
		       (uint64_t)atomic_load_explicit(&clock->offset_ns, memory_order_relaxed);
	int64_t offset_ns = 0;
	if (clock->corner_count) {
		struct span span = span_at(clock, since_origin(clock, device_ns));
		uint64_t error_ns = error_of(span);
		offset_ns = clock->base_ns + (int64_t)((span.least + span.most) / 2);
		atomic_store_explicit(&clock->error_ns, error_ns, memory_order_relaxed);
		if (error_ns > atomic_load_explicit(&clock->worst_ns, memory_order_relaxed))
			atomic_store_explicit(&clock->worst_ns, error_ns, memory_order_relaxed);
	}
	atomic_store_explicit(&clock->offset_ns, offset_ns, memory_order_relaxed);
	unlock(clock);
	return device_ns + (uint64_t)offset_ns;
}
