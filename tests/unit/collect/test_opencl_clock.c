/* SPDX-License-Identifier: Apache-2.0 */
/* A device's clock against the host's: what is possible closes in on the truth, drift included. */
#include "collect/adapters/opencl/opencl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* The device's clock is this much behind the host's. */
#define OFFSET 1000000u

static uint64_t error_of(const struct sn_cl_clock *clock)
{
	return clock->error_ns;
}

static void observe(struct sn_cl_clock *clock, uint64_t device_ns, uint64_t before, uint64_t after)
{
	sn_cl_clock_bound(clock, device_ns, device_ns + OFFSET - before,
			  device_ns + OFFSET + after);
}

static void test_unknown(void **state)
{
	struct sn_cl_clock clock;
	sn_cl_clock_init(&clock);
	assert_true(error_of(&clock) == UINT64_MAX);
	assert_int_equal(sn_cl_clock_host_ns(&clock, 42), 42);
	assert_true(error_of(&clock) == UINT64_MAX);
	sn_cl_clock_bound(&clock, 5, 9, 8); /* nonsense tells nothing */
	assert_int_equal(sn_cl_clock_host_ns(&clock, 42), 42);
}

static void test_bounds_close_in(void **state)
{
	struct sn_cl_clock clock;
	sn_cl_clock_init(&clock);
	observe(&clock, 5000, 300, 700);
	assert_in_range(sn_cl_clock_host_ns(&clock, 5000), 5000 + OFFSET + 199,
			5000 + OFFSET + 201);
	assert_in_range(error_of(&clock), 500, 502);
	observe(&clock, 9000, 900, 100); /* a better end, a worse beginning */
	assert_in_range(sn_cl_clock_host_ns(&clock, 9000), 9000 + OFFSET - 105, 9000 + OFFSET - 95);
	assert_in_range(error_of(&clock), 200, 205);
	observe(&clock, 9500, 800, 800); /* tells nothing new */
	sn_cl_clock_host_ns(&clock, 9000);
	assert_in_range(error_of(&clock), 200, 205);
	assert_in_range(clock.worst_ns, 500, 502);
	assert_int_equal(clock.drifted, 0);
}

static void test_device_ahead_of_host(void **state)
{
	struct sn_cl_clock clock;
	sn_cl_clock_init(&clock);
	sn_cl_clock_bound(&clock, 7000000, 1000, 1200);
	assert_in_range(sn_cl_clock_host_ns(&clock, 7000000), 1099, 1101);
	assert_in_range(error_of(&clock), 100, 102);
}

/* An offset that jumps is on no line: what was known is void, in both directions. */
static void test_jump_begins_anew(void **state)
{
	struct sn_cl_clock clock;
	sn_cl_clock_init(&clock);
	observe(&clock, 5000, 10, 10);
	sn_cl_clock_bound(&clock, 6000, 6000 + OFFSET + 500, 6000 + OFFSET + 540);
	assert_int_equal(clock.drifted, 1);
	assert_in_range(sn_cl_clock_host_ns(&clock, 6000), 6000 + OFFSET + 519,
			6000 + OFFSET + 521);
	assert_in_range(error_of(&clock), 20, 22);
	sn_cl_clock_bound(&clock, 7000, 7000 + OFFSET - 90, 7000 + OFFSET - 30);
	assert_int_equal(clock.drifted, 2);
	assert_in_range(sn_cl_clock_host_ns(&clock, 7000), 7000 + OFFSET - 61, 7000 + OFFSET - 59);
	assert_in_range(error_of(&clock), 30, 32);
}

/* The host's time of a moment on a clock that is hours away and runs `ppm` too fast. */
static uint64_t host_of(uint64_t device_ns, int64_t ppm)
{
	const uint64_t hours = 5 * 3600 * 1000000000ull;
	return device_ns + hours - (uint64_t)((int64_t)device_ns / 1000000 * ppm);
}

/* Every time that is given is within the error that is said at once, also that of an operation that
 * begins long after it was queued, before and behind all observations. */
static void test_drift(void **state)
{
	for (int64_t ppm = -400; ppm <= 400; ppm += 100) {
		struct sn_cl_clock clock;
		sn_cl_clock_init(&clock);
		srand(7);
		for (uint64_t i = 1; i < 20000; i++) {
			uint64_t device = i * 1000000, length = 500 + (uint64_t)rand() % 40000;
			uint64_t truth = host_of(device, ppm);
			uint64_t before = truth - (uint64_t)rand() % length;
			sn_cl_clock_bound(&clock, device, before, before + length);
			assert_in_range(sn_cl_clock_host_ns(&clock, device), before,
					before + length);
			for (uint64_t later = 0; later < 4000000000; later += 1999000000) {
				uint64_t known = sn_cl_clock_host_ns(&clock, device + later);
				int64_t wrong = (int64_t)(known - host_of(device + later, ppm));
				assert_true((uint64_t)llabs(wrong) <= error_of(&clock) + 1);
			}
		}
		assert_int_equal(clock.drifted, 0);
		sn_cl_clock_host_ns(&clock, 20000000000);
		assert_true(error_of(&clock) < 200);
	}
}

/* A drift that changes is followed, and said. */
static void test_drift_that_changes(void **state)
{
	struct sn_cl_clock clock;
	sn_cl_clock_init(&clock);
	uint64_t offset = OFFSET;
	for (uint64_t i = 1; i < 4000; i++) {
		uint64_t device = i * 1000000;
		offset += i % 2000 < 1000 ? 100 : 0;
		uint64_t before = device + offset - 400;
		sn_cl_clock_bound(&clock, device, before, before + 800);
		assert_in_range(sn_cl_clock_host_ns(&clock, device), before, before + 800);
	}
	assert_in_range(clock.drifted, 1, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_unknown),
	    cmocka_unit_test(test_bounds_close_in),
	    cmocka_unit_test(test_device_ahead_of_host),
	    cmocka_unit_test(test_jump_begins_anew),
	    cmocka_unit_test(test_drift),
	    cmocka_unit_test(test_drift_that_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
