/* SPDX-License-Identifier: Apache-2.0 */
/* Items through stages: all of them, in order where that is promised, by any number of threads. */
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { ITEMS = 500, SLOTS = 5 };

struct run {
	unsigned threads;
	size_t begun, ended; /* items; each used by one stage alone */
	size_t slots[SLOTS]; /* the number of the item, then its square */
	uint64_t sum;
	size_t fails_at; /* in the stage `failing` */
	unsigned failing;
	atomic_uint at_once, most; /* calls of the parallel stage */
	bool is_out_of_order;
};

static int fail_at(struct run *run, unsigned stage, size_t item)
{
	return run->failing == stage && run->fails_at == item ? -7 : 0;
}

static int begin(void *context, unsigned worker, size_t slot)
{
	struct run *run = context;
	if (worker >= run->threads || run->begun == ITEMS)
		return SN_STAGES_END;
	run->slots[slot] = run->begun++;
	return fail_at(run, 0, run->slots[slot]);
}

static int square(void *context, unsigned worker, size_t slot)
{
	struct run *run = context;
	size_t item = run->slots[slot];
	(void)worker;
	unsigned now = atomic_fetch_add(&run->at_once, 1) + 1, most = atomic_load(&run->most);
	while (now > most && !atomic_compare_exchange_weak(&run->most, &most, now))
		;
	run->slots[slot] = item * item;
	atomic_fetch_sub(&run->at_once, 1);
	return fail_at(run, 1, item);
}

static int end(void *context, unsigned worker, size_t slot)
{
	struct run *run = context;
	size_t item = run->ended++;
	(void)worker;
	run->is_out_of_order |= run->slots[slot] != item * item;
	run->sum += run->slots[slot];
	return fail_at(run, 2, item);
}

static const struct sn_stage stages[] = {{begin}, {square, .is_parallel = true}, {end}};

static void test_all_in_order(void **state)
{
	(void)state;
	static const unsigned threads[] = {1, 2, 3, 16};
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		for (size_t slots = 1; slots <= SLOTS; slots++) {
			struct run run = {.threads = threads[i], .failing = 9};
			assert_int_equal(sn_stages_run(threads[i], stages, 3, slots, &run), 0);
			assert_int_equal(run.begun, ITEMS);
			assert_int_equal(run.ended, ITEMS);
			assert_false(run.is_out_of_order);
			/* the sum of squares below n */
			assert_int_equal(run.sum,
					 (uint64_t)(ITEMS - 1) * ITEMS * (2 * ITEMS - 1) / 6);
			assert_true(run.most >= 1 && run.most <= threads[i] && run.most <= slots);
		}
}

static void test_failure_ends(void **state)
{
	(void)state;
	for (unsigned failing = 0; failing < 3; failing++)
		for (unsigned threads = 1; threads <= 3; threads++) {
			struct run run = {.threads = threads, .failing = failing, .fails_at = 100};
			assert_int_equal(sn_stages_run(threads, stages, 3, SLOTS, &run), -7);
			/* of the items before it all have passed its stage, of those behind it no
			 * more have begun than there are slots */
			assert_true(run.begun > 100 && run.begun <= 100 + 2 * SLOTS);
			assert_true(run.ended <= run.begun && !run.is_out_of_order);
		}
}

static void test_none(void **state)
{
	(void)state;
	struct run run = {.threads = 2, .begun = ITEMS, .failing = 9};
	assert_int_equal(sn_stages_run(2, stages, 3, SLOTS, &run), 0);
	assert_int_equal(run.ended, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_in_order),
	    cmocka_unit_test(test_failure_ends),
	    cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
