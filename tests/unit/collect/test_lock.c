/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's locks: one holder at a time, waits that end, and the check of their order that
 * libsonde-checked.so has (this test stands in for the checker, and is told what it would refuse).
 */
#include "collect/core/lock.h"
#include "collect/sample/signal_check.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 20000 };

static unsigned refused, waited_for;

void sn_signal_check_refuse(const char *why)
{
	assert_non_null(why);
	refused++;
}

void sn_signal_check_outside(const char *why)
{
	assert_non_null(why);
	waited_for++;
}

static uint64_t counted; /* not atomic: only the lock makes it right */

static void *count(void *unused)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		sn_lock_acquire(SN_LOCK_GRAPH);
		counted++;
		sn_lock_release(SN_LOCK_GRAPH);
	}
	return NULL;
}

static void test_one_holder(void **state)
{
	pthread_t threads[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counted, THREADS * ROUNDS);
}

static void test_bounded(void **state)
{
	assert_true(sn_lock_try(SN_LOCK_MODULES));
	assert_false(sn_lock_try(SN_LOCK_MODULES));
	assert_false(sn_lock_wait(SN_LOCK_MODULES)); /* gives up */
	sn_lock_release(SN_LOCK_MODULES);
	assert_true(sn_lock_wait(SN_LOCK_MODULES));
	sn_lock_release(SN_LOCK_MODULES);
}

static void test_objects(void **state)
{
	_Atomic int first = 0, second = 0;
	assert_true(sn_lock_try_one(SN_LOCK_OPENCL_CLOCK, &first));
	assert_true(sn_lock_try_one(SN_LOCK_OPENCL_CLOCK, &second));
	assert_false(sn_lock_wait_one(SN_LOCK_OPENCL_CLOCK, &first));
	sn_lock_release_one(SN_LOCK_OPENCL_CLOCK, &first);
	assert_true(sn_lock_wait_one(SN_LOCK_OPENCL_CLOCK, &first));
	sn_lock_release_one(SN_LOCK_OPENCL_CLOCK, &first);
	sn_lock_release_one(SN_LOCK_OPENCL_CLOCK, &second);
}

static void test_after_fork(void **state)
{
	assert_true(sn_lock_try(SN_LOCK_THREADS));
	assert_true(sn_lock_try(SN_LOCK_ADAPTERS));
	sn_locks_after_fork();
	assert_true(sn_lock_try(SN_LOCK_THREADS));
	assert_true(sn_lock_try(SN_LOCK_ADAPTERS));
	sn_locks_after_fork();
}

/* OpenMP's tasks add edges to the graph: that order is right, the other is not. */
static void test_order(void **state)
{
	refused = waited_for = 0;
	sn_lock_acquire(SN_LOCK_OPENMP_TASKS);
	sn_lock_acquire(SN_LOCK_GRAPH);
	assert_int_equal(refused, 0);
	assert_int_equal(waited_for, 2); /* each asks whether it is in a handler */
	sn_lock_release(SN_LOCK_OPENMP_TASKS);
	sn_lock_acquire(SN_LOCK_OPENMP_TASKS);
	assert_int_equal(refused, 1);
	sn_lock_release(SN_LOCK_OPENMP_TASKS);
	sn_lock_release(SN_LOCK_GRAPH);
	/* who only tries cannot wait for ever, in whatever order */
	assert_true(sn_lock_try(SN_LOCK_MODULES));
	assert_true(sn_lock_try(SN_LOCK_CHECKPOINT));
	assert_int_equal(refused, 1);
	sn_lock_release(SN_LOCK_CHECKPOINT);
	sn_lock_release(SN_LOCK_MODULES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_holder), cmocka_unit_test(test_bounded),
	    cmocka_unit_test(test_objects),    cmocka_unit_test(test_after_fork),
	    cmocka_unit_test(test_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
