/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of one delivery that are alike are one in their thread's queue, with the sum and the spread of their times; others are
 * by themselves, as all are while events are traced. */
#include "collect/adapters/gpu/gather.h"
#include "collect/adapters/gpu/state.h"
#include "collect/record/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

_Atomic unsigned sn_trace_active;
static uint64_t dropped;

void sn_drop(struct sn_thread *thread, enum sn_drop cause, uint64_t count)
{
	assert_null(thread);
	assert_int_equal(cause, SN_DROP_GPU_LOST);
	dropped += count;
}

static struct sn_thread threads[2];
static struct sn_gpu_thread *states[2];

static int begin(void **unused)
{
	for (uint32_t index = 0; index < 2; index++) {
		threads[index].index = index;
		states[index] = sn_pages_map(sizeof(*states[index]));
		if (!states[index] || !sn_gpu_queue_init(&states[index]->queue))
			return -1;
		states[index]->thread = &threads[index];
	}
	return 0;
}

static const struct sn_gpu_operation usual = {
    .kind = SN_GPU_KERNEL, .call = 7, .name = "kernel", .start_ns = 1000, .end_ns = 1010};

static void done(uint32_t thread, struct sn_gpu_operation operation)
{
	sn_gpu_gather(states[thread], &operation);
}

/* What waits for a thread, no more than `most`. */
static uint32_t take(uint32_t thread, struct sn_gpu_operation *taken, uint32_t most)
{
	const struct sn_gpu_operation *operation;
	uint32_t count = 0;
	while ((operation = sn_gpu_queue_first(&states[thread]->queue))) {
		assert_true(count < most);
		taken[count++] = *operation;
		sn_gpu_queue_pass(&states[thread]->queue);
	}
	return count;
}

static void test_alike(void **unused)
{
	struct sn_gpu_operation taken[2], operation = usual;
	static const uint64_t took_ns[] = {10, 4, 0, 30};
	for (int index = 0; index < 4; index++) {
		operation.start_ns += 1000;
		operation.end_ns = operation.start_ns + took_ns[index];
		operation.correlation++;
		done(0, operation);
	}
	assert_int_equal(take(0, taken, 2), 0);
	sn_gpu_gather_flush();
	assert_int_equal(take(0, taken, 2), 1);
	assert_int_equal(taken[0].count, 4);
	assert_int_equal(taken[0].end_ns - taken[0].start_ns, 44);
	assert_int_equal(taken[0].least_ns, 0);
	assert_int_equal(taken[0].most_ns, 30);
	assert_true(taken[0].squares == 1016);
	/* those of the next delivery are not among them */
	done(0, usual);
	sn_gpu_gather_flush();
	assert_int_equal(take(0, taken, 2), 1);
	assert_int_equal(taken[0].count, 1);
	assert_int_equal(taken[0].end_ns - taken[0].start_ns, 10);
	sn_gpu_gather_flush();
	assert_int_equal(take(0, taken, 2), 0);
}

#define OTHER(...)                                                                                 \
	({                                                                                         \
		struct sn_gpu_operation other = usual;                                             \
		__VA_ARGS__;                                                                       \
		other;                                                                             \
	})

static void test_unlike(void **unused)
{
	struct sn_gpu_operation taken[3], others[] = {
					      OTHER(other.call = 8),
					      OTHER(other.name = "other"),
					      OTHER(other.graph_node = 1),
					      OTHER(other.kind = SN_GPU_COPY),
					      OTHER(other.bytes = 1),
					      OTHER(other.shape.grid[2] = 1),
					      OTHER(other.shape.warps_most = 1),
					      OTHER(other.interface = (void *)&usual),
					  };
	for (size_t index = 0; index < sizeof(others) / sizeof(*others); index++) {
		done(0, usual);
		done(0, others[index]);
		done(0, usual);
		sn_gpu_gather_flush();
		/* one displaces the other where they have one place */
		uint32_t count = take(0, taken, 3), operations = 0;
		assert_true(count >= 2);
		for (uint32_t at = 0; at < count; at++)
			operations += taken[at].count;
		assert_int_equal(operations, 3);
	}
	/* of waits, which may be for one stream or another */
	done(0, OTHER(other.kind = SN_GPU_WAIT, other.stream = 1));
	done(0, OTHER(other.kind = SN_GPU_WAIT, other.stream = 2));
	/* of kernels, for whose place it is all the same */
	done(1, OTHER(other.stream = 1));
	done(1, OTHER(other.stream = 2));
	sn_gpu_gather_flush();
	assert_int_equal(take(0, taken, 3), 2);
	assert_int_equal(take(1, taken, 3), 1);
}

static void test_by_themselves(void **unused)
{
	struct sn_gpu_operation taken[2];
	struct sn_gpu_operation alone[] = {
	    OTHER(other.start_ns = other.end_ns = 0),
	    OTHER(other.end_ns = other.start_ns - 1),
	    OTHER(other.kind = SN_GPU_ALLOCATE),
	};
	for (size_t index = 0; index < sizeof(alone) / sizeof(*alone); index++) {
		done(0, alone[index]);
		done(0, alone[index]);
		assert_int_equal(take(0, taken, 2), 2);
		assert_int_equal(taken[1].count, 1);
	}
	for (uint32_t sources = 1; sources < 256; sources *= 2) {
		sn_trace_active = sources;
		done(0, usual);
		done(0, usual);
		sn_gpu_gather_flush();
		bool is_each =
		    sources == SN_TRACE_SOURCE_GPU || sources == SN_TRACE_SOURCE_MESSAGES;
		assert_int_equal(take(0, taken, 2), is_each ? 2 : 1);
	}
	sn_trace_active = 0;
}

static void test_of_a_parent(void **unused)
{
	struct sn_gpu_operation taken[2];
	done(0, usual);
	sn_gpu_gather_forget();
	sn_gpu_gather_flush();
	assert_int_equal(take(0, taken, 2), 0);
	done(0, usual);
	sn_gpu_gather_flush();
	assert_int_equal(take(0, taken, 2), 1);
	assert_int_equal(taken[0].count, 1);
}

enum { CALLS = 9000, OPERATIONS = 400000 };

/* Of far more places than there is room for, what comes is what was done. */
static void test_many(void **unused)
{
	static uint64_t left_ns[2][CALLS];
	static struct sn_gpu_operation taken[OPERATIONS];
	srand(1);
	for (uint32_t index = 0; index < OPERATIONS; index++) {
		uint32_t thread = (uint32_t)rand() % 2, call = 1 + (uint32_t)rand() % (CALLS - 1);
		uint64_t ns = (uint64_t)rand() % 1000;
		left_ns[thread][call] += ns;
		done(thread, OTHER(other.call = call, other.end_ns = other.start_ns + ns));
		if (rand() % 50000 == 0)
			sn_gpu_gather_flush();
	}
	sn_gpu_gather_flush();
	uint64_t operations = 0, were_one = 0;
	for (uint32_t thread = 0; thread < 2; thread++) {
		uint32_t count = take(thread, taken, OPERATIONS);
		for (uint32_t at = 0; at < count; at++) {
			left_ns[thread][taken[at].call] -= taken[at].end_ns - taken[at].start_ns;
			operations += taken[at].count;
			were_one += taken[at].count - 1;
		}
		for (uint32_t call = 0; call < CALLS; call++)
			assert_int_equal(left_ns[thread][call], 0);
	}
	assert_int_equal(operations, OPERATIONS);
	assert_true(were_one > 0);
}

/* A thread whose queue has no room loses as many as were one. */
static void test_no_room(void **unused)
{
	dropped = 0;
	while (sn_gpu_queue_put(&states[0]->queue, &usual))
		continue;
	done(0, usual);
	done(0, usual);
	done(0, usual);
	done(0, OTHER(other.kind = SN_GPU_ALLOCATE)); /* is no operation */
	sn_gpu_gather_flush();
	assert_int_equal(dropped, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_alike),	  cmocka_unit_test(test_unlike),
	    cmocka_unit_test(test_by_themselves), cmocka_unit_test(test_of_a_parent),
	    cmocka_unit_test(test_many),	  cmocka_unit_test(test_no_room),
	};
	return cmocka_run_group_tests(tests, begin, NULL);
}
