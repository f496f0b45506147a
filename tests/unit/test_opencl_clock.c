/* SPDX-License-Identifier: Apache-2.0 */
/* A device's clock against the host's: bounds close in on the truth, drift begins them anew. */
#include "collect/adapters/opencl/opencl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The device's clock is this much behind the host's. */
#define OFFSET 1000000u

static void observe(struct sn_cl_clock *clock, uint64_t device_ns, uint64_t before, uint64_t after)
{
	sn_cl_clock_bound(clock, device_ns, device_ns + OFFSET - before,
			  device_ns + OFFSET + after);
}

static void test_unknown(void **state)
{
	struct sn_cl_clock clock;
	sn_cl_clock_init(&clock);
	assert_true(sn_cl_clock_error_ns(&clock) == UINT64_MAX);
	assert_int_equal(sn_cl_clock_host_ns(&clock, 42), 42);
}

static void test_bounds_close_in(void **state)
{
	struct sn_cl_clock clock;
	sn_cl_clock_init(&clock);
	observe(&clock, 5000, 300, 700);
	assert_int_equal(sn_cl_clock_error_ns(&clock), 500);
	observe(&clock, 9000, 900, 100); /* a better end, a worse beginning */
	assert_int_equal(sn_cl_clock_error_ns(&clock), 200);
	observe(&clock, 9500, 800, 800); /* tells nothing new */
	assert_int_equal(sn_cl_clock_error_ns(&clock), 200);
	uint64_t host = sn_cl_clock_host_ns(&clock, 20000), truth = 20000 + OFFSET;
	assert_in_range(host, truth - 200, truth + 200);
	assert_int_equal(clock.drifted, 0);
}

static void test_device_ahead_of_host(void **state)
{
	struct sn_cl_clock clock;
	sn_cl_clock_init(&clock);
	sn_cl_clock_bound(&clock, 7000000, 1000, 1200);
	assert_int_equal(sn_cl_clock_host_ns(&clock, 7000000), 1100);
	assert_int_equal(sn_cl_clock_error_ns(&clock), 100);
}

static void test_drift_begins_anew(void **state)
{
	struct sn_cl_clock clock;
	sn_cl_clock_init(&clock);
	observe(&clock, 5000, 10, 10);
	sn_cl_clock_bound(&clock, 6000, 6000 + OFFSET + 500, 6000 + OFFSET + 540);
	assert_int_equal(clock.drifted, 1);
	assert_int_equal(sn_cl_clock_error_ns(&clock), 20);
	assert_int_equal(sn_cl_clock_host_ns(&clock, 6000), 6000 + OFFSET + 520);
	/* and the other way */
	sn_cl_clock_bound(&clock, 7000, 7000 + OFFSET - 90, 7000 + OFFSET - 30);
	assert_int_equal(clock.drifted, 2);
	assert_int_equal(sn_cl_clock_error_ns(&clock), 30);
	assert_int_equal(sn_cl_clock_host_ns(&clock, 7000), 7000 + OFFSET - 60);
}

/* A clock that is hours away and drifts by 200 ppm: an operation whose own bounds have been
 * observed is placed within them, so never before the call that queued it. */
static void test_skewed_clock(void **state)
{
	struct sn_cl_clock clock;
	const uint64_t hours = 5 * 3600 * 1000000000ull;
	sn_cl_clock_init(&clock);
	for (uint64_t i = 1; i < 20000; i++) {
		uint64_t host = hours + i * 150000, length = 200 + i % 7 * 900;
		uint64_t queued = (host - hours) + (host - hours) / 5000 + 77;
		uint64_t before = host - length / 3, after = before + length;
		sn_cl_clock_bound(&clock, queued, before, after);
		assert_in_range(sn_cl_clock_host_ns(&clock, queued), before, after);
	}
	assert_true(clock.drifted > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_unknown),
	    cmocka_unit_test(test_bounds_close_in),
	    cmocka_unit_test(test_device_ahead_of_host),
	    cmocka_unit_test(test_drift_begins_anew),
	    cmocka_unit_test(test_skewed_clock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
