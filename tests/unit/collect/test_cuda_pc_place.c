/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of kernels, divided among the calls that launched them: none is lost or made, shares are those of time, what has no records
 * waits, and what never has any goes to nobody. */
#include "collect/adapters/cuda/pc_sampling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- what the collector has ---- */

struct sn_gpu_interface sn_cuda;
struct sn_config sn_config;
static uint64_t given[8], lost; /* by call; SN_NODE_ROOT: nobody's */
static char a_thread;

void sn_gpu_sampled(const struct sn_gpu_place *place, struct sn_gpu_operation *operation)
{
	assert_true(place->call < 8 && operation->sample.count);
	given[place->call] += operation->sample.count;
}

struct sn_gpu_thread *sn_gpu_any_thread(void)
{
	return (struct sn_gpu_thread *)&a_thread;
}

void sn_drop(struct sn_thread *thread, enum sn_drop cause, uint64_t count)
{
	assert_null(thread);
	assert_int_equal(cause, SN_DROP_GPU_SAMPLE_LOST);
	lost += count;
}

/* ---- cases ---- */

static int begin(void **state)
{
	(void)state;
	sn_cuda_samples_forget();
	sn_config.gpu_samples_in = NULL;
	memset(given, 0, sizeof(given));
	lost = 0;
	return 0;
}

static void ran(const char *kernel, uint32_t call, uint64_t ns)
{
	struct sn_gpu_place place = {.state = sn_gpu_any_thread(), .call = call};
	sn_cuda_samples_note_kernel(kernel, &place, ns);
}

static void sampled(const char *kernel, uint64_t address, uint64_t count)
{
	struct sn_gpu_sample sample = {.address = address, .count = count};
	sn_cuda_samples_of_kernel(kernel, &sample);
}

static const char one[] = "one", other[] = "other";

static void test_shares_of_single_samples(void **state)
{
	(void)state;
	ran(one, 1, 300);
	ran(one, 2, 100);
	for (uint64_t address = 0; address < 1000; address++)
		sampled(one, address * 16, 1);
	sn_cuda_samples_divide(false);
	assert_int_equal(given[1] + given[2], 1000);
	assert_in_range(given[1], 749, 751);
}

static void test_shares_of_many_samples(void **state)
{
	(void)state;
	ran(one, 1, 1);
	ran(one, 2, 1);
	ran(one, 3, 1);
	sampled(one, 0, 1000000000001);
	sn_cuda_samples_divide(false);
	assert_int_equal(given[1] + given[2] + given[3], 1000000000001);
	for (int call = 1; call <= 3; call++)
		assert_in_range(given[call], 333333333332, 333333333335);
}

/* What ran later has no part in what was sampled before. */
static void test_shares_are_of_what_ran_meanwhile(void **state)
{
	(void)state;
	ran(one, 1, 100);
	sampled(one, 0, 10);
	sn_cuda_samples_divide(false);
	ran(one, 2, 100);
	sampled(one, 0, 20);
	sn_cuda_samples_divide(false);
	assert_int_equal(given[1], 10);
	assert_int_equal(given[2], 20);
}

static void test_what_has_no_records_waits(void **state)
{
	(void)state;
	sampled(one, 0, 10);
	sampled(other, 0, 5);
	ran(other, 3, 1);
	sn_cuda_samples_divide(false);
	assert_int_equal(given[3], 5);
	assert_int_equal(given[1], 0);
	ran(one, 1, 1);
	sn_cuda_samples_divide(false);
	assert_int_equal(given[1], 10);
}

static void test_the_end(void **state)
{
	(void)state;
	ran(one, 1, 100);
	sampled(one, 0, 1);
	sn_cuda_samples_divide(false);
	/* its records have come before; the other has none */
	sampled(one, 0, 7);
	sampled(other, 0, 3);
	sn_cuda_samples_divide(true);
	assert_int_equal(given[1], 8);
	assert_int_equal(given[SN_NODE_ROOT], 3);
	sn_cuda_samples_divide(true);
	assert_int_equal(given[1] + given[SN_NODE_ROOT], 11);
}

/* More instructions than there is room for, and more kernels and calls: nothing is lost. */
static void test_too_much(void **state)
{
	static char names[8192];
	uint64_t count = 0, sum = 0;
	(void)state;
	for (uint32_t kernel = 0; kernel < sizeof(names); kernel++) {
		ran(&names[kernel], 1 + kernel % 7, 5);
		for (uint64_t address = 0; address < 9; address++)
			sampled(&names[kernel], address * 16, 1 + address);
		count += 45;
	}
	sn_cuda_samples_divide(true);
	for (int call = 0; call < 8; call++)
		sum += given[call];
	assert_int_equal(sum, count);
	assert_int_equal(lost, 0);
}

/* Of a kernel that runs as long as is told, what lies in ranges. */
static void test_ranges(void **state)
{
	(void)state;
	assert_int_equal(sn_cuda_samples_ns(100, 350), 250);
	sn_config.gpu_samples_in = "step";
	assert_int_equal(sn_cuda_samples_ns(100, 350), 0);
	sn_cuda_samples_note_range(true, 200);
	assert_int_equal(sn_cuda_samples_ns(100, 350), 150);
	sn_cuda_samples_note_range(false, 300);
	sn_cuda_samples_note_range(true, 1000);
	sn_cuda_samples_note_range(false, 1100);
	assert_int_equal(sn_cuda_samples_ns(100, 350), 100);
	assert_int_equal(sn_cuda_samples_ns(210, 1050), 140);
	assert_int_equal(sn_cuda_samples_ns(0, 5000), 200);
	assert_int_equal(sn_cuda_samples_ns(300, 1000), 0);
	assert_int_equal(sn_cuda_samples_ns(1100, 1200), 0);
}

/* A record that comes when its range is no longer known. */
static void test_many_ranges(void **state)
{
	(void)state;
	sn_config.gpu_samples_in = "step";
	for (uint64_t range = 1; range <= 20000; range++) {
		sn_cuda_samples_note_range(true, range * 100);
		sn_cuda_samples_note_range(false, range * 100 + 50);
	}
	assert_int_equal(sn_cuda_samples_ns(1999900, 2000100), 100);
	assert_int_equal(sn_cuda_samples_ns(1999960, 1999990), 0);
	assert_int_equal(sn_cuda_samples_ns(1700000, 1700100), 50);
	assert_int_equal(sn_cuda_samples_ns(100, 300), 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_shares_of_single_samples, begin),
	    cmocka_unit_test_setup(test_shares_of_many_samples, begin),
	    cmocka_unit_test_setup(test_shares_are_of_what_ran_meanwhile, begin),
	    cmocka_unit_test_setup(test_what_has_no_records_waits, begin),
	    cmocka_unit_test_setup(test_the_end, begin),
	    cmocka_unit_test_setup(test_too_much, begin),
	    cmocka_unit_test_setup(test_ranges, begin),
	    cmocka_unit_test_setup(test_many_ranges, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
