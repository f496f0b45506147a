/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's table of words: what is added is found, a full window refuses, threads do not
 * disturb each other. */
#include "collect/core/word_table.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BITS = 10, THREADS = 4, OBJECTS = 64, ROUNDS = 2000 };

static struct sn_word_table table = {.bits = BITS};

static uintptr_t object(unsigned number)
{
	return 0x7f0000001000u + number * 64u;
}

static void test_add_find_remove(void **state)
{
	uintptr_t value = 0;
	sn_word_clear(&table);
	for (unsigned i = 0; i < OBJECTS; i++)
		assert_true(sn_word_add(&table, object(i), i + 1));
	for (unsigned i = 0; i < OBJECTS; i += 2) {
		assert_true(sn_word_remove(&table, object(i), &value));
		assert_int_equal(value, i + 1);
	}
	for (unsigned i = 0; i < OBJECTS; i++)
		assert_int_equal(sn_word_get(&table, object(i)), i % 2 ? i + 1 : 0);
	assert_false(sn_word_remove(&table, object(0), &value));
	assert_true(sn_word_set(&table, object(1), 700));
	assert_true(sn_word_set(&table, object(0), 600));
	assert_int_equal(sn_word_get(&table, object(1)), 700);
	assert_int_equal(sn_word_get(&table, object(0)), 600);
}

/* Words of one hash fill one window: one more is refused until one goes. */
static void test_full_window(void **state)
{
	struct sn_word_table small = {.bits = 4}; /* as long as a window */
	uintptr_t value;
	for (unsigned i = 0; i < SN_WORD_WINDOW; i++)
		assert_true(sn_word_add(&small, object(i), i));
	assert_false(sn_word_add(&small, object(SN_WORD_WINDOW), 1));
	assert_true(sn_word_remove(&small, object(3), &value));
	assert_true(sn_word_add(&small, object(SN_WORD_WINDOW), 1));
	assert_int_equal(sn_word_get(&small, object(SN_WORD_WINDOW)), 1);
}

static void *add_and_remove(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument;
	uintptr_t wrong = 0, value = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < 16; i++)
			wrong += !sn_word_add(&table, object(thread + THREADS * i), round + i);
		for (unsigned i = 0; i < 16; i++)
			wrong += !sn_word_remove(&table, object(thread + THREADS * i), &value) ||
				 value != round + i;
	}
	return (void *)wrong;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	sn_word_clear(&table);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_add_find_remove),
	    cmocka_unit_test(test_full_window),
	    cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
