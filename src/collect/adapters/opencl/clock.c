/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's clock against the host's, from bounds alone; see opencl.h.
 *
 * The bounds only ever shrink while the clocks run at one rate. When an observation contradicts
 * them the clocks have drifted apart by more than the bounds are wide: they begin anew with it.
 */
#include "opencl.h"

void sn_cl_clock_init(struct sn_cl_clock *clock)
{
	atomic_store_explicit(&clock->lower_ns, INT64_MIN, memory_order_relaxed);
	atomic_store_explicit(&clock->upper_ns, INT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&clock->drifted, 0, memory_order_relaxed);
}

void sn_cl_clock_bound(struct sn_cl_clock *clock, uint64_t device_ns, uint64_t before_ns,
		       uint64_t after_ns)
{
	int64_t lower = (int64_t)(before_ns - device_ns), upper = (int64_t)(after_ns - device_ns);
	/* relaxed everywhere: each bound is true by itself, and a lost race loses one observation
	 */
	int64_t low = atomic_load_explicit(&clock->lower_ns, memory_order_relaxed);
	int64_t high = atomic_load_explicit(&clock->upper_ns, memory_order_relaxed);
	if (lower > high || upper < low) {
		atomic_fetch_add_explicit(&clock->drifted, 1, memory_order_relaxed);
		atomic_store_explicit(&clock->lower_ns, lower, memory_order_relaxed);
		atomic_store_explicit(&clock->upper_ns, upper, memory_order_relaxed);
		return;
	}
	if (lower > low)
		atomic_store_explicit(&clock->lower_ns, lower, memory_order_relaxed);
	if (upper < high)
		atomic_store_explicit(&clock->upper_ns, upper, memory_order_relaxed);
}

uint64_t sn_cl_clock_error_ns(const struct sn_cl_clock *clock)
{
	int64_t low = atomic_load_explicit(&clock->lower_ns, memory_order_relaxed);
	int64_t high = atomic_load_explicit(&clock->upper_ns, memory_order_relaxed);
	if (low == INT64_MIN || high < low)
		return UINT64_MAX;
	return ((uint64_t)high - (uint64_t)low + 1) / 2;
}

uint64_t sn_cl_clock_host_ns(const struct sn_cl_clock *clock, uint64_t device_ns)
{
	int64_t low = atomic_load_explicit(&clock->lower_ns, memory_order_relaxed);
	uint64_t error = sn_cl_clock_error_ns(clock);
	return error == UINT64_MAX ? device_ns : device_ns + (uint64_t)low + error;
}
