/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of operations between a runtime's thread and one that launched: all come, in order, beside a reader that is slower or
 * faster; what is read needs no memory; too many are refused. */
#include "collect/adapters/gpu/queue.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MANY = 300000 };

static uint64_t read_all(struct sn_gpu_queue *queue, uint64_t next)
{
	const struct sn_gpu_operation *operation;
	for (; (operation = sn_gpu_queue_first(queue)); next++) {
		assert_int_equal(operation->bytes, next);
		sn_gpu_queue_pass(queue);
	}
	return next;
}

static void put(struct sn_gpu_queue *queue, uint64_t first, uint64_t count)
{
	for (uint64_t number = first; number < first + count; number++)
		assert_true(sn_gpu_queue_put(queue, &(struct sn_gpu_operation){.bytes = number}));
}

static void test_in_turns(void **state)
{
	struct sn_gpu_queue queue = {0};
	assert_true(sn_gpu_queue_init(&queue));
	assert_int_equal(sn_gpu_queue_count(&queue), 0);
	assert_null(sn_gpu_queue_first(&queue));
	size_t bytes = sn_pages_bytes();
	uint64_t next = 0;
	for (uint64_t count = 1; count < 3000; count += 7) {
		put(&queue, next, count);
		assert_int_not_equal(sn_gpu_queue_count(&queue), 0);
		next = read_all(&queue, next);
		assert_int_equal(sn_gpu_queue_count(&queue), 0);
		/* what was read is kept for what comes next */
		assert_true(sn_pages_bytes() <= bytes + 3 * sizeof(struct sn_gpu_block));
	}
}

static void *put_many(void *queue)
{
	for (uint64_t number = 0; number < MANY; number++)
		while (!sn_gpu_queue_put(queue, &(struct sn_gpu_operation){.bytes = number}))
			continue;
	return NULL;
}

static void test_at_once(void **state)
{
	struct sn_gpu_queue queue = {0};
	pthread_t writer;
	uint64_t next = 0;
	assert_true(sn_gpu_queue_init(&queue));
	assert_int_equal(pthread_create(&writer, NULL, put_many, &queue), 0);
	while (next < MANY)
		next = read_all(&queue, next);
	pthread_join(writer, NULL);
	assert_int_equal(sn_gpu_queue_count(&queue), 0);
}

static void test_too_many(void **state)
{
	struct sn_gpu_queue queue = {0};
	assert_true(sn_gpu_queue_init(&queue));
	put(&queue, 0, SN_GPU_QUEUE_MOST);
	assert_false(sn_gpu_queue_put(&queue, &(struct sn_gpu_operation){0}));
	size_t most = sn_pages_bytes();
	assert_int_equal(read_all(&queue, 0), SN_GPU_QUEUE_MOST);
	put(&queue, 0, SN_GPU_BLOCK_SIZE);
	assert_int_equal(read_all(&queue, 0), SN_GPU_BLOCK_SIZE);
	/* most are given back, when they are asked for */
	assert_true(sn_pages_bytes() < most - 400 * sizeof(struct sn_gpu_block));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_in_turns),
	    cmocka_unit_test(test_at_once),
	    cmocka_unit_test(test_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
