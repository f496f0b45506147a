/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fits a piecewise linear function from one clock to another between bounds.
 *
 * For each slope, the bounds leave an interval of offsets. The width of that interval is a concave
 * function of the slope, and so is the greatest offset at any time (and the negative of the least).
 * So every value needed is the maximum of a concave function, which ternary search finds.
 */
#include "clock.h"

#include "base/error.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <math.h>

#define SLOPE_MAX 1e-3
#define STEPS	  90  /* each leaves two thirds of the range: in all 1e-16 of it */
#define ROUNDING  0.1 /* ns: finer than recorded times, coarser than the rounding of doubles */

void sn_clock_release(struct sn_clock *clock)
{
	free(clock->bounds);
	free(clock->windows);
	*clock = (struct sn_clock){0};
}

static int add(struct sn_clock *clock, int64_t at_ns, int64_t other_ns, bool is_upper)
{
	struct sn_clock_bound bound = {at_ns, other_ns - at_ns, is_upper};
	return sn_vec_push(&clock->bounds, &clock->bound_capacity, &clock->bound_count, bound);
}

int sn_clock_after(struct sn_clock *clock, int64_t at_ns, int64_t other_ns)
{
	return add(clock, at_ns, other_ns, false);
}

int sn_clock_before(struct sn_clock *clock, int64_t at_ns, int64_t other_ns)
{
	return add(clock, at_ns, other_ns, true);
}

/* ---- the bounds of a window ---- */

struct point {
	double at, offset; /* relative to the window's first bound */
};

struct corners {
	struct point *items; /* sorted by time */
	size_t count;
};

struct hulls {
	struct corners lower, upper;
};

/* Whether b is not a corner between a and c: not above their line for lower bounds (sign 1), not
 * below it for upper bounds (-1). */
static bool is_within(struct point a, struct point b, struct point c, double sign)
{
	return sign * ((b.offset - a.offset) * (c.at - a.at) -
		       (c.offset - a.offset) * (b.at - a.at)) <=
	       0;
}

static void add_corner(struct corners *corners, struct point point, double sign)
{
	struct point *items = corners->items;
	size_t count = corners->count;
	if (count && items[count - 1].at == point.at) {
		if (sign * (items[count - 1].offset - point.offset) >= 0)
			return;
		count--;
	}
	while (count > 1 && is_within(items[count - 2], items[count - 1], point, sign))
		count--;
	items[count++] = point;
	corners->count = count;
}

/* Finds the convex hulls of the bounds, which are sorted by time. */
static void find_hulls(struct hulls *hulls, const struct sn_clock_bound *bounds, size_t count)
{
	hulls->lower.count = hulls->upper.count = 0;
	for (size_t i = 0; i < count; i++) {
		struct point point = {(double)(bounds[i].at_ns - bounds->at_ns),
				      (double)(bounds[i].offset_ns - bounds->offset_ns)};
		if (bounds[i].is_upper)
			add_corner(&hulls->upper, point, -1);
		else
			add_corner(&hulls->lower, point, 1);
	}
}

/* The least and the greatest offset at time 0 that a line of this slope can have. */
static double least_offset(const struct hulls *hulls, double slope)
{
	double offset = -INFINITY;
	for (size_t i = 0; i < hulls->lower.count; i++)
		offset =
		    fmax(offset, hulls->lower.items[i].offset - slope * hulls->lower.items[i].at);
	return offset;
}

static double greatest_offset(const struct hulls *hulls, double slope)
{
	double offset = INFINITY;
	for (size_t i = 0; i < hulls->upper.count; i++)
		offset =
		    fmin(offset, hulls->upper.items[i].offset - slope * hulls->upper.items[i].at);
	return offset;
}

static double room(const struct hulls *hulls, double slope)
{
	return greatest_offset(hulls, slope) - least_offset(hulls, slope);
}

/* The function of the slope that best_slope maximises. */
struct aim {
	const struct hulls *hulls;
	double at;
	double sign; /* 0: the width; 1: the greatest offset at `at`; -1: minus the least */
};

static double value_of(const struct aim *aim, double slope)
{
	if (aim->sign == 0)
		return room(aim->hulls, slope);
	return aim->sign * (slope * aim->at + (aim->sign > 0 ? greatest_offset(aim->hulls, slope)
							     : least_offset(aim->hulls, slope)));
}

/* Finds the slope in [low, high] with the maximum, by ternary search. */
static double best_slope(const struct aim *aim, double low, double high)
{
	for (int i = 0; i < STEPS; i++) {
		double third = (high - low) / 3;
		if (value_of(aim, low + third) < value_of(aim, high - third))
			low += third;
		else
			high -= third;
	}
	return (low + high) / 2;
}

/* The slope with the widest interval of offsets. */
static double widest_slope(const struct hulls *hulls)
{
	return best_slope(&(struct aim){.hulls = hulls}, -SLOPE_MAX, SLOPE_MAX);
}

/* The last slope from `inside` towards `end` that leaves an interval, by bisection. */
static double end_of_room(const struct hulls *hulls, double inside, double end)
{
	if (room(hulls, end) >= 0)
		return end;
	for (int i = 0; i < STEPS; i++) {
		double middle = (inside + end) / 2;
		if (room(hulls, middle) >= 0)
			inside = middle;
		else
			end = middle;
	}
	return inside;
}

/* The greatest (sign 1) or least (-1) offset at a time, over all lines whose slopes are
 * in the range. */
static double extreme(const struct hulls *hulls, double low, double high, double at, double sign)
{
	struct aim aim = {hulls, at, sign};
	return sign * value_of(&aim, best_slope(&aim, low, high));
}

/* ---- windows ---- */

static bool fits(struct hulls *hulls, const struct sn_clock_bound *bounds, size_t count)
{
	find_hulls(hulls, bounds, count);
	return room(hulls, widest_slope(hulls)) >= -ROUNDING;
}

/* The number of bounds, at least one, that a single line satisfies. */
static size_t window_length(struct hulls *hulls, const struct sn_clock_bound *bounds, size_t count)
{
	if (fits(hulls, bounds, count))
		return count;
	size_t fitting = 1, failing = 2;
	while (failing < count && fits(hulls, bounds, failing)) {
		fitting = failing;
		failing *= 2;
	}
	if (failing > count)
		failing = count;
	return sn_search_from(n, fitting + 1, failing, fits(hulls, bounds, n)) - 1;
}

/* With bounds on one side only, the bounds themselves are the best estimate. */
static void fit_one_side(const struct hulls *hulls, int64_t base_ns, struct sn_clock_window *window)
{
	double offset = hulls->lower.count ? least_offset(hulls, 0) : greatest_offset(hulls, 0);
	window->offset_ns = base_ns + (int64_t)llround(offset);
	window->error_ns = SN_CLOCK_UNKNOWN;
}

static void fit_window(const struct hulls *hulls, int64_t base_ns, struct sn_clock_window *window)
{
	if (!hulls->lower.count || !hulls->upper.count) {
		fit_one_side(hulls, base_ns, window);
		return;
	}
	double slope = widest_slope(hulls), end = (double)(window->to_ns - window->from_ns);
	double offset = (least_offset(hulls, slope) + greatest_offset(hulls, slope)) / 2;
	double low = end_of_room(hulls, slope, -SLOPE_MAX);
	double high = end_of_room(hulls, slope, SLOPE_MAX), error = 0;
	/* the greatest error is a convex function of time, so it is reached at one of the ends */
	for (int i = 0; i < 2; i++) {
		double at = i ? end : 0, own = offset + slope * at;
		error = fmax(error, extreme(hulls, low, high, at, 1) - own);
		error = fmax(error, own - extreme(hulls, low, high, at, -1));
	}
	window->slope = slope;
	window->offset_ns = base_ns + (int64_t)llround(offset);
	window->error_ns = (uint64_t)ceil(error) + 1;
}

static int64_t by_window(const struct sn_clock_window *window, int64_t at_ns)
{
	double drift = window->slope * (double)(at_ns - window->from_ns);
	int64_t other_ns = at_ns + window->offset_ns + (int64_t)llround(drift);
	return other_ns > window->least_ns ? other_ns : window->least_ns;
}

SN_SORT_BY(sort_bounds, struct sn_clock_bound, const void *, SN_ORDER(a->at_ns, b->at_ns));

int sn_clock_fit(struct sn_clock *clock)
{
	size_t count = clock->bound_count;
	struct hulls hulls = {.lower.items = malloc((count + 1) * sizeof(struct point)),
			      .upper.items = malloc((count + 1) * sizeof(struct point))};
	int result = hulls.lower.items && hulls.upper.items ? 0 : SN_ERR_MEMORY;
	clock->window_count = 0;
	sort_bounds(clock->bounds, count, NULL);
	for (size_t first = 0, length; first < count && !result; first += length) {
		const struct sn_clock_bound *bounds = clock->bounds + first;
		if (sn_vec_reserve(&clock->windows, &clock->window_capacity,
				   clock->window_count + 1) < 0) {
			result = SN_ERR_MEMORY;
			break;
		}
		length = window_length(&hulls, bounds, count - first);
		struct sn_clock_window *window = clock->windows + clock->window_count++;
		*window = (struct sn_clock_window){.from_ns = bounds->at_ns,
						   .to_ns = bounds[length - 1].at_ns,
						   .least_ns = INT64_MIN};
		find_hulls(&hulls, bounds, length);
		fit_window(&hulls, bounds->offset_ns, window);
		if (first)
			window->least_ns = by_window(window - 1, window->from_ns - 1);
	}
	free(hulls.lower.items);
	free(hulls.upper.items);
	return result;
}

/* ---- use ---- */

int64_t sn_clock_convert(const struct sn_clock *clock, int64_t at_ns)
{
	const struct sn_clock_window *windows = clock->windows;
	size_t behind = sn_search(i, clock->window_count, windows[i].from_ns <= at_ns);
	return clock->window_count ? by_window(windows + (behind ? behind - 1 : 0), at_ns) : at_ns;
}

uint64_t sn_clock_error(const struct sn_clock *clock)
{
	uint64_t error = clock->window_count ? 0 : SN_CLOCK_UNKNOWN;
	for (size_t i = 0; i < clock->window_count; i++)
		if (clock->windows[i].error_ns > error)
			error = clock->windows[i].error_ns;
	return error;
}

double sn_clock_drift_ppb(const struct sn_clock *clock)
{
	double drift = 0;
	for (size_t i = 0; i < clock->window_count; i++)
		if (fabs(clock->windows[i].slope) * 1e9 > fabs(drift))
			drift = clock->windows[i].slope * 1e9;
	return drift;
}

int sn_clock_tree(const struct sn_clock_pair *pairs, size_t pair_count, uint32_t host_count,
		  uint32_t root, size_t *parents)
{
	bool *is_reached = calloc(host_count + 1ull, sizeof(*is_reached));
	if (!is_reached)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < host_count; i++)
		parents[i] = SIZE_MAX;
	is_reached[root] = true;
	for (;;) {
		size_t best = SIZE_MAX;
		for (size_t i = 0; i < pair_count; i++)
			if (is_reached[pairs[i].from] != is_reached[pairs[i].to] &&
			    (best == SIZE_MAX || pairs[i].error_ns < pairs[best].error_ns))
				best = i;
		if (best == SIZE_MAX)
			break;
		uint32_t reached = is_reached[pairs[best].from] ? pairs[best].to : pairs[best].from;
		is_reached[reached] = true;
		parents[reached] = best;
	}
	free(is_reached);
	return 0;
}
