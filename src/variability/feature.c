/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a launch: the columns of the table of launches, and the axes of their picture. */
#include "window.h"

#include <math.h>

static const struct {
	const char *name;
	enum sn_feature_role role;
	const char *unit; /* NULL: none, or told by the name */
} known[SN_FEATURES] = {
    [SN_FEATURE_KERNEL] = {"kernel", SN_FEATURE_CAUSE},
    [SN_FEATURE_PLACE] = {"place", SN_FEATURE_CAUSE},
    [SN_FEATURE_STREAM] = {"stream", SN_FEATURE_CAUSE},
    [SN_FEATURE_GRID_X] = {"gridX", SN_FEATURE_CAUSE},
    [SN_FEATURE_GRID_Y] = {"gridY", SN_FEATURE_CAUSE},
    [SN_FEATURE_GRID_Z] = {"gridZ", SN_FEATURE_CAUSE},
    [SN_FEATURE_BLOCK_X] = {"blockX", SN_FEATURE_CAUSE},
    [SN_FEATURE_BLOCK_Y] = {"blockY", SN_FEATURE_CAUSE},
    [SN_FEATURE_BLOCK_Z] = {"blockZ", SN_FEATURE_CAUSE},
    [SN_FEATURE_SHARED] = {"shared_memory", SN_FEATURE_CAUSE},
    [SN_FEATURE_REGISTERS] = {"registers", SN_FEATURE_CAUSE},
    [SN_FEATURE_START] = {"start_ns", SN_FEATURE_CAUSE},
    [SN_FEATURE_SINCE_PREVIOUS] = {"since_previous_ns", SN_FEATURE_CAUSE},
    [SN_FEATURE_GAP] = {"gap_ns", SN_FEATURE_CAUSE},
    [SN_FEATURE_CONCURRENT] = {"concurrent_kernels", SN_FEATURE_CAUSE},
    [SN_FEATURE_CLOCK] = {"clock_hz", SN_FEATURE_CAUSE, "Hz"},
    [SN_FEATURE_COPY_KIND] = {"copy_kind", SN_FEATURE_CAUSE},
    [SN_FEATURE_COPY_BYTES] = {"copy_bytes", SN_FEATURE_CAUSE},
    [SN_FEATURE_COPY_NS] = {"copy_ns", SN_FEATURE_COPY_TIME},
    [SN_FEATURE_COPY_RATE] = {"copy_rate", SN_FEATURE_COPY_TIME, "bytes/s"},
    [SN_FEATURE_PERF_VARIATION] = {"perf_variation", SN_FEATURE_TARGET, "ns"},
    [SN_FEATURE_MEMORY_STALL] = {"memory_stall", SN_FEATURE_TARGET, "ns"},
    [SN_FEATURE_DURATION] = {"duration_ns", SN_FEATURE_TARGET},
    [SN_FEATURE_LOG_DURATION] = {"log_duration", SN_FEATURE_TARGET},
    [SN_FEATURE_LOG_SQUARED_RESIDUAL] = {"log_squared_residual", SN_FEATURE_TARGET},
    [SN_FEATURE_EXPOSED_COPY] = {"exposed_copy_ns", SN_FEATURE_TARGET},
};

const char *sn_feature_name(enum sn_feature feature)
{
	return known[feature].name;
}

const char *sn_feature_unit(enum sn_feature feature)
{
	return known[feature].unit;
}

enum sn_feature_role sn_feature_role(enum sn_feature feature)
{
	return known[feature].role;
}

bool sn_feature_is_beside(enum sn_feature feature, enum sn_feature target)
{
	bool is_of_copy = target == SN_FEATURE_MEMORY_STALL || target == SN_FEATURE_EXPOSED_COPY;
	enum sn_feature_role role = sn_feature_role(feature);
	return feature == target || role == SN_FEATURE_CAUSE ||
	       (role == SN_FEATURE_COPY_TIME && !is_of_copy);
}

/* ---- values ---- */

static double known_or_missing(uint64_t value)
{
	return value == SN_SIZE_UNKNOWN ? (double)NAN : (double)value;
}

static double duration_of(const struct sn_window_launch *launch)
{
	return (double)(launch->end_ns - launch->start_ns);
}

/* The duration, of which the logarithm is taken: at least 1 ns. */
static double positive_ns(const struct sn_window_launch *launch)
{
	return fmax(duration_of(launch), 1);
}

static const struct sn_vary_configuration *configuration_of(const struct sn_vary_window *window,
							    const struct sn_window_launch *launch)
{
	const struct sn_vary *vary = window->vary;
	return vary->configurations + vary->cells[launch->cell].configuration;
}

static double log_squared_residual(const struct sn_vary_window *window,
				   const struct sn_window_launch *launch)
{
	double positive = positive_ns(launch), least = 0.5 / positive;
	double residual = log(positive) - configuration_of(window, launch)->log_mean;
	return 2 * log(fabs(residual) > least ? fabs(residual) : least);
}

/* Sets of intervals have no negative times. */
static double covered(const struct sn_vary_window *window, const struct sn_window_copy *copy,
		      const struct sn_intervals *kernels)
{
	int64_t base = window->source->shift_ns;
	return (double)sn_intervals_within(kernels, (uint64_t)(copy->start_ns + base),
					   (uint64_t)(copy->end_ns + base));
}

/* Of the linked copy. */
static double copy_feature(const struct sn_vary_window *window,
			   const struct sn_window_launch *launch,
			   const struct sn_intervals *kernels, enum sn_feature feature)
{
	const struct sn_window_copy *copy = window->copies + launch->copy;
	double length = (double)(copy->end_ns - copy->start_ns);
	switch (feature) {
	case SN_FEATURE_COPY_BYTES:
		return known_or_missing(copy->bytes);
	case SN_FEATURE_COPY_NS:
		return length;
	case SN_FEATURE_COPY_RATE:
		return length > 0 ? known_or_missing(copy->bytes) / length * 1e9 : (double)NAN;
	case SN_FEATURE_MEMORY_STALL:
		return fabs(duration_of(launch) - length);
	case SN_FEATURE_EXPOSED_COPY:
		return length - covered(window, copy, kernels);
	default:
		return copy->direction + 1;
	}
}

/* From the launch before it on its stream, of which a time is given; they may overlap. */
static double since_previous(const struct sn_window_launch *launch, int64_t previous_ns)
{
	return launch->previous_start_ns == INT64_MIN
		   ? (double)NAN
		   : fmax((double)(launch->start_ns - previous_ns), 0);
}

bool sn_feature_is_of_differences(enum sn_feature feature)
{
	return feature == SN_FEATURE_PERF_VARIATION || feature == SN_FEATURE_LOG_SQUARED_RESIDUAL;
}

double sn_vary_feature(const struct sn_vary_window *window, const struct sn_window_launch *launch,
		       const struct sn_intervals *kernels, enum sn_feature feature)
{
	const struct sn_vary_cell *cell = window->vary->cells + launch->cell;
	if (sn_feature_is_of_differences(feature) && configuration_of(window, launch)->count < 2)
		return NAN;
	switch (feature) {
	case SN_FEATURE_KERNEL:
		return cell->kernel;
	case SN_FEATURE_PLACE:
		return cell->place;
	case SN_FEATURE_STREAM:
		return sonde_db_profile(window->source->input->db, launch->profile)->stream;
	case SN_FEATURE_REGISTERS:
		return known_or_missing(launch->registers);
	case SN_FEATURE_START:
		return (double)launch->start_ns;
	case SN_FEATURE_SINCE_PREVIOUS:
		return since_previous(launch, launch->previous_start_ns);
	case SN_FEATURE_GAP:
		return since_previous(launch, launch->previous_end_ns);
	case SN_FEATURE_CONCURRENT:
		return launch->concurrent;
	case SN_FEATURE_CLOCK:
		return sn_vary_clock_at(&window->clocks, launch->place, launch->start_ns);
	case SN_FEATURE_DURATION:
		return duration_of(launch);
	case SN_FEATURE_LOG_DURATION:
		return log(positive_ns(launch));
	case SN_FEATURE_LOG_SQUARED_RESIDUAL:
		return log_squared_residual(window, launch);
	case SN_FEATURE_PERF_VARIATION:
		return fabs(duration_of(launch) - configuration_of(window, launch)->mean_ns);
	case SN_FEATURE_COPY_KIND:
	case SN_FEATURE_COPY_BYTES:
	case SN_FEATURE_COPY_NS:
	case SN_FEATURE_COPY_RATE:
	case SN_FEATURE_MEMORY_STALL:
	case SN_FEATURE_EXPOSED_COPY:
		if (launch->copy != SN_NO_COPY)
			return copy_feature(window, launch, kernels, feature);
		return feature == SN_FEATURE_COPY_KIND ? 0 : (double)NAN;
	default:
		return known_or_missing(cell->sizes[feature - SN_FEATURE_GRID_X]);
	}
}
