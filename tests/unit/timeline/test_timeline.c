/* SPDX-License-Identifier: Apache-2.0 */
/* Each analysis of events on a trace so small that its answer is computed by hand beside it. */
#include "../timeline_fixture.h"

#include "show/timeline/views.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/threads/activity_flow.h"
#include "timeline/threads/activity_samples.h"
#include "timeline/memory/memory.h"
#include "timeline/devices/queue.h"
#include "timeline/threads/thread_states.h"
#include "format/measurement/measurement.h"

#include <math.h>
#include <string.h>

static uint32_t step, mm, launch, copy_call, relu, relu_launch, late_launch;

static void instant(uint32_t of, uint64_t time_ns, uint64_t address, int64_t bytes)
{
	struct sn_attribute attributes[] = {
	    {fixture.keys[TRACE_FIXTURE_BYTES], 0, (uint64_t)bytes},
	    {fixture.keys[TRACE_FIXTURE_ADDRESS], 0, address},
	};
	trace_fixture_any(&fixture, SONDE_TRACK_INSTANTS, thread, of, BEGIN_NS + time_ns,
			  BEGIN_NS + time_ns, 0, attributes, 2);
}

/*
 * thread  0 step ............................................................... 1000
 *           10 mm 90 (launches 1 at 20..30, copies 2 at 40..50)
 *                     270 relu 350 (launches 3 at 300..320)    450..460 launches 4
 * device    1: 100..200   2: copy 150..260   3: collective 400..500   4: 600..700
 */
static void make_simple(void)
{
	begin();
	uint32_t main = context(0, SN_FRAME_PYTHON, "main");
	step = trace_fixture_context(&fixture, main, SN_FRAME_REGION, SN_FRAME_ITERATION, "step");
	mm = context(step, SN_FRAME_OPERATOR, "aten::mm");
	launch = context(mm, SN_FRAME_GPU_API, "cudaLaunchKernel");
	copy_call = context(mm, SN_FRAME_GPU_API, "cudaMemcpyAsync");
	relu = context(step, SN_FRAME_OPERATOR, "aten::relu");
	relu_launch = context(relu, SN_FRAME_GPU_API, "cudaLaunchKernelExC");
	late_launch = context(step, SN_FRAME_GPU_API, "cuLaunchKernel");
	uint32_t gemm = context(launch, SN_FRAME_KERNEL, "gemm");
	uint32_t copy = context(copy_call, SN_FRAME_GPU_OP, "copy");
	uint32_t reduce = context(relu_launch, SN_FRAME_KERNEL, "ncclDevKernel_AllReduce");
	uint32_t last = context(late_launch, SN_FRAME_KERNEL, "last");
	event(thread, step, 0, 1000, 0);
	event(thread, mm, 10, 90, 0);
	event(thread, launch, 20, 30, 1);
	event(thread, copy_call, 40, 50, 2);
	event(thread, relu, 270, 350, 0);
	event(thread, relu_launch, 300, 320, 3);
	event(thread, late_launch, 450, 460, 4);
	event(stream, gemm, 100, 200, 1);
	event(other_stream, copy, 150, 260, 2);
	event(stream, reduce, 400, 500, 3);
	event(stream, last, 600, 700, 4);
	trace_fixture_value(&fixture, stream, copy, fixture.copy_time, 110);
	trace_fixture_value(&fixture, stream, gemm, fixture.kernel_time, 100);
	trace_fixture_value(&fixture, stream, reduce, fixture.kernel_time, 100);
	analyse();
}

static void test_device_time(void **state)
{
	make_simple();
	assert_int_equal(answers.times.count, 1);
	const struct sn_device_time *time = answers.times.devices;
	assert_int_equal(time->stream_count, 2);
	/* of the iteration */
	assert_true(time->is_of_iterations);
	assert_int_equal(time->start_ns, BEGIN_NS);
	assert_int_equal(time->end_ns, BEGIN_NS + 1000);
	assert_int_equal(time->first_ns, BEGIN_NS + 100);
	assert_int_equal(time->work_ns[SN_WORK_COMPUTE], 200);
	assert_int_equal(time->work_ns[SN_WORK_COMMUNICATION], 100);
	assert_int_equal(time->work_ns[SN_WORK_COPY], 110);
	assert_int_equal(time->exposed_ns[SN_WORK_COMPUTE], 200);
	assert_int_equal(time->exposed_ns[SN_WORK_COPY], 60); /* 200..260 */
	assert_int_equal(time->operation_counts[SN_WORK_COMPUTE], 2);
	assert_int_equal(time->busy_ns, 360);
	assert_int_equal(time->idle_ns, 640);
	assert_int_equal(time->gap_count, 4);	    /* 0..100, 260..400, 500..600, 700..1000 */
	assert_int_equal(time->not_queued_ns, 360); /* 0..20, 260..300, 700..1000 */
	assert_int_equal(time->launch_ns, 280);
	assert_int_equal(time->unexplained_ns, 0);
}

static void test_operations(void **state)
{
	make_simple();
	struct sn_error error;
	struct sn_operation one;
	struct sn_operations *read =
	    sn_device_times_read(&answers.times, fixture.trace, 0, SONDE_NONE);
	assert_int_equal(answers.launches->count, 4);
	static const uint64_t starts[] = {100, 150, 400, 600}, launches[] = {20, 40, 300, 450};
	static const unsigned works[] = {SN_WORK_COMPUTE, SN_WORK_COPY, SN_WORK_COMMUNICATION,
					 SN_WORK_COMPUTE};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(sn_operations_next(read, &one, &error), 1);
		assert_int_equal(one.start_ns, BEGIN_NS + starts[i]);
		assert_int_equal(one.work, works[i]);
		assert_int_equal(sn_launches_find(answers.launches, one.link)->start_ns,
				 BEGIN_NS + launches[i]);
	}
	assert_int_equal(sn_operations_next(read, &one, &error), 0);
	sn_operations_free(read);
	assert_null(sn_launches_find(answers.launches, 5));
	assert_null(sn_launches_find(answers.launches, 0));
}

/* Of several calls with the operation's link the first is the one that launched it. */
static void test_first_call_launches(void **state)
{
	begin();
	uint32_t call = context(0, SN_FRAME_GPU_API, "cudaGraphLaunch");
	event(thread, call, 50, 60, 9);
	event(trace_fixture_thread(&fixture, -1, 1, 2), call, 30, 40, 9);
	event(trace_fixture_thread(&fixture, -1, 1, 3), call, 70, 80, 9);
	event(stream, context(call, SN_FRAME_KERNEL, "k"), 100, 110, 9);
	analyse();
	assert_int_equal(sn_launches_find(answers.launches, 9)->start_ns, BEGIN_NS + 30);
}

/* In memory or in a file, calls are found by their links, in whatever order they came. */
static void test_launches(void **state)
{
	static const size_t memories[] = {1 << 20, 1000};
	enum { COUNT = 5000 };
	uint64_t links[COUNT], starts[COUNT], ends[COUNT];
	uint32_t contexts[COUNT] = {0};
	for (uint64_t i = 0; i < COUNT; i++) {
		links[i] = i * 7919 % 4999 * 2; /* the first and last are none */
		starts[i] = 10 + i;
		ends[i] = 20 + i;
	}
	struct sonde_event_block block = {COUNT, 0, starts, ends, contexts, links};
	for (size_t m = 0; m < 2; m++) {
		struct sn_launches all;
		struct sn_error error;
		sn_launches_init(&all, memories[m]);
		assert_int_equal(sn_launches_add(&all, 7, &block, &error), 0);
		assert_int_equal(sn_launches_finish(&all, &error), 0);
		assert_int_equal(all.items == NULL, m == 1);
		assert_int_equal(all.count, 4998);
		for (uint64_t i = 1; i < COUNT - 1; i++) {
			const struct sn_launch *one = sn_launches_find(&all, links[i]);
			assert_true(one && one->link == links[i] && one->profile == 7);
			assert_int_equal(one->start_ns, starts[i]);
			assert_int_equal(one->end_ns, ends[i]);
			assert_null(sn_launches_find(&all, links[i] + 1));
		}
		assert_null(sn_launches_find(&all, 0));
		assert_null(sn_launches_find(&all, UINT64_MAX));
		assert_int_equal(sn_launches_check(&all, &error), 0);
		sn_launches_release(&all);
	}
}

/* However little memory there is, they come in order. */
static void test_runs(void **state)
{
	static const size_t memories[] = {1 << 20, 4096, 1};
	for (size_t m = 0; m < 3; m++) {
		struct sn_external_sort sort;
		struct sn_error error;
		sn_external_sort_init(&sort, 2, 1, memories[m]);
		for (uint64_t i = 0; i < 3000; i++) {
			uint64_t record[] = {i * 7919 % 3001, i};
			assert_int_equal(sn_external_sort_add(&sort, record, &error), 0);
		}
		assert_int_equal(sn_external_sort_finish(&sort, &error), 0);
		uint64_t record[2], before = 0;
		for (uint64_t i = 0; i < 3000; i++) {
			assert_int_equal(sn_external_sort_next(&sort, record, &error), 1);
			assert_true(!i || record[0] > before);
			assert_int_equal(record[0], record[1] * 7919 % 3001);
			before = record[0];
		}
		assert_int_equal(sn_external_sort_next(&sort, record, &error), 0);
		sn_external_sort_release(&sort);
	}
}

static void test_waits(void **state)
{
	make_simple();
	const struct sn_waits *waits = answers.waits;
	/* before 20 the thread is in the step until 10, before 300 until 270, then in what launches;
	 * after 700 nothing is asked for */
	const uint64_t reasons[SN_WAITS] = {
	    [SN_WAIT_COPY] = 60,     [SN_WAIT_COMMUNICATION] = 100, [SN_WAIT_NO_WORK] = 320,
	    [SN_WAIT_DISPATCH] = 40, [SN_WAIT_LAUNCH] = 280,
	};
	for (unsigned i = 0; i < SN_WAITS; i++)
		assert_int_equal(waits->reasons_ns[i], reasons[i]);
	assert_int_equal(waits->no_compute_ns, 800);
	/* of 80 and 100 the greater; 450 lies before its gap */
	assert_int_equal(answers.times.devices->launch_latency_ns, 100);
	enum { HOST = SN_STATE_THREADS, COMPUTE = SN_STATE_COMPUTE, COPY = SN_STATE_COPY };
	assert_int_equal(waits->states_ns[HOST | COMPUTE], 150);
	assert_int_equal(waits->states_ns[HOST | COMPUTE | COPY], 50);
	assert_int_equal(waits->states_ns[HOST | COPY], 60);
	assert_int_equal(waits->states_ns[HOST | SN_STATE_COMMUNICATION], 100);
	assert_int_equal(waits->states_ns[HOST], 640);
}

static double blamed(const char *name)
{
	for (size_t i = 0; i < answers.blames->count; i++)
		if (answers.blames->shares[i].context == trace_fixture_named(&fixture, name))
			return answers.blames->shares[i].time_ns;
	return 0;
}

static void test_blame(void **state)
{
	make_simple();
	assert_int_equal(answers.blames->count, 6);
	/* 0..10, 90..100, 260..270, 350..400, 500..600, 700..1000 */
	assert_true(blamed("step") == 10 + 10 + 10 + 50 + 100 + 300);
	assert_true(blamed("aten::mm") == 10 + 10 + 40 && blamed("cudaMemcpyAsync") == 10);
	assert_true(blamed("aten::relu") == 30 + 30);
	assert_true(blamed("cudaLaunchKernelExC") == 20);
	assert_true(answers.blames->blamed_ns == 640 && answers.blames->unblamed_ns == 0);
}

/* Of two threads each has half of what both are in. A thread that waits has none, nor one that is not there, nor
 * one on which the device itself runs a kernel. */
static void test_blame_is_shared(void **state)
{
	begin();
	uint32_t second = trace_fixture_thread(&fixture, -1, 1, 2);
	uint32_t third = trace_fixture_thread(&fixture, -1, 1, 3);
	uint32_t fourth = trace_fixture_thread(&fixture, -1, 1, 4);
	uint32_t inside = context(context(0, SN_FRAME_NATIVE, "_pocl_kernel_k_workgroup"),
				  SN_FRAME_NATIVE, "exp");
	uint32_t a = context(0, SN_FRAME_NATIVE, "a"), b = context(0, SN_FRAME_NATIVE, "b");
	uint32_t wait = context(0, SN_FRAME_PYTHON, "<built-in method acquire of lock>");
	uint32_t kernel = context(a, SN_FRAME_KERNEL, "k");
	event(stream, kernel, 0, 100, 0);
	event(stream, kernel, 400, 500, 0);
	event(thread, a, 50, 300, 0);
	event(second, b, 200, 350, 0);
	event(third, wait, 0, 500, 0);
	event(fourth, inside, 0, 500, 0);
	analyse();
	assert_true(blamed("a") == 100 + 50);
	assert_true(blamed("b") == 50 + 50);
	assert_int_equal(answers.blames->count, 2);
	assert_true(answers.blames->blamed_ns == 250 && answers.blames->unblamed_ns == 50);
	/* nobody is recorded to have launched what ends the gap */
	assert_int_equal(answers.times.devices->unexplained_ns, 300);
	assert_int_equal(answers.waits->reasons_ns[SN_WAIT_UNKNOWN], 300);
}

static void test_queue(void **state)
{
	struct sn_queue queue;
	struct sn_error error;
	make_simple();
	assert_int_equal(sn_queue(&answers, 0, SONDE_NONE, &queue, &error), 0);
	assert_int_equal(queue.count, 4);
	assert_int_equal(queue.unknown_count, 0);
	/* one lies ready in 100..150, 300..400 and 450..600, of 600 */
	assert_true(fabs(queue.mean - 0.5) < 1e-9 && fabs(queue.empty_share - 0.5) < 1e-9);
	assert_int_equal(queue.most, 1);
	assert_int_equal(queue.median, 0);
	assert_int_equal(queue.p95, 1);
	assert_int_equal(queue.median_delay_ns, 110); /* of 80, 100, 110, 150 */
	assert_int_equal(queue.p95_delay_ns, 150);
	assert_true(queue.means[0] == 1 && queue.means[SN_QUEUE_STEPS - 1] == 0);
	uint32_t number = answers.times.devices->streams[1]; /* the copy's */
	assert_int_equal(sn_queue(&answers, 0, number, &queue, &error), 0);
	assert_int_equal(queue.count, 1);
	assert_int_equal(queue.start_ns, BEGIN_NS + 150);
}

/* ---- threads ---- */

static struct sn_activity_part parts[16];
static size_t part_count;

static int take_part(void *data, const struct sn_activity_part *part)
{
	assert_true(part_count < 16);
	parts[part_count++] = *part;
	return 0;
}

/* Cut to the window: what lies beyond may be anything. */
static int take_window_part(void *data, const struct sn_activity_part *part)
{
	const uint64_t *window = data;
	struct sn_activity_part cut = *part;
	cut.start_ns = cut.start_ns > window[0] ? cut.start_ns : window[0];
	cut.end_ns = cut.end_ns < window[1] ? cut.end_ns : window[1];
	return cut.start_ns < cut.end_ns ? take_part(NULL, &cut) : 0;
}

static void test_host(void **state)
{
	begin();
	uint32_t a = context(0, SN_FRAME_NATIVE, "a"), b = context(a, SN_FRAME_NATIVE, "b");
	uint32_t c = context(b, SN_FRAME_NATIVE, "c");
	event(thread, a, 0, 100, 5);
	event(thread, b, 20, 50, 6);
	event(thread, c, 30, 40, 0);
	event(thread, c, 200, 210, 0);
	event(trace_fixture_thread(&fixture, -1, 2, 2), a, 0, 7, 0); /* another process */
	analyse();
	struct sn_error error;
	uint32_t number = sonde_trace_track(fixture.trace, 0)->profile;
	part_count = 0;
	assert_int_equal(sn_activity_walk(&answers.processes, number, 0, take_part, NULL, &error),
			 0);
	static const struct {
		uint64_t start_ns, end_ns, link;
		const char *name;
	} expected[] = {{0, 20, 5, "a"},  {20, 30, 6, "b"},  {30, 40, 0, "c"},
			{40, 50, 6, "b"}, {50, 100, 5, "a"}, {200, 210, 0, "c"}};
	assert_int_equal(part_count, 6);
	for (size_t i = 0; i < part_count; i++) {
		assert_int_equal(parts[i].start_ns, BEGIN_NS + expected[i].start_ns);
		assert_int_equal(parts[i].end_ns, BEGIN_NS + expected[i].end_ns);
		assert_int_equal(parts[i].link, expected[i].link);
		assert_int_equal(parts[i].context, trace_fixture_named(&fixture, expected[i].name));
	}
	double *times = calloc(sonde_db_context_count(fixture.db), sizeof(*times));
	assert_int_equal(sn_activity_times(&answers.processes, times, &error), 0);
	assert_true(times[trace_fixture_named(&fixture, "a")] == 20 + 50 + 7);
	assert_true(times[trace_fixture_named(&fixture, "b")] == 10 + 10);
	assert_true(times[trace_fixture_named(&fixture, "c")] == 10 + 10);
	free(times);
}

/* What comes of a window is what a walk over all has in it. */
static void test_host_window(void **state)
{
	begin();
	uint32_t a = context(0, SN_FRAME_NATIVE, "a"), b = context(a, SN_FRAME_NATIVE, "b");
	for (uint64_t i = 0; i < 20000; i++) {
		event(thread, a, 100 * i, 100 * i + 90, 0);
		event(thread, b, 100 * i + 20, 100 * i + 50, i + 1);
	}
	analyse();
	struct sn_error error;
	uint64_t from = BEGIN_NS + 1000030, to = BEGIN_NS + 1000220;
	part_count = 0;
	assert_int_equal(sn_activity_walk_window(&answers.processes, SONDE_NONE, from, to, 0,
						 take_window_part, &(uint64_t[]){from, to}, &error),
			 0);
	static const uint64_t expected[][3] = {{30, 50, 10001},	  {50, 90, 0},	 {100, 120, 0},
					       {120, 150, 10002}, {150, 190, 0}, {200, 220, 0}};
	assert_int_equal(part_count, 6);
	for (size_t i = 0; i < part_count; i++) {
		assert_int_equal(parts[i].start_ns, BEGIN_NS + 1000000 + expected[i][0]);
		assert_int_equal(parts[i].end_ns, BEGIN_NS + 1000000 + expected[i][1]);
		assert_int_equal(parts[i].link, expected[i][2]);
	}
}

/* Threads at once: changes in order of time, of equal times the lower thread's first. */
static void test_host_threads(void **state)
{
	begin();
	uint32_t second = trace_fixture_thread(&fixture, -1, 1, 2);
	uint32_t a = context(0, SN_FRAME_NATIVE, "a"), b = context(a, SN_FRAME_NATIVE, "b");
	event(thread, a, 10, 50, 0);
	event(thread, b, 20, 30, 0);
	event(second, b, 20, 50, 0);
	event(trace_fixture_thread(&fixture, -1, 2, 9), a, 0, 7, 0); /* another process */
	analyse();
	static const struct {
		uint64_t time_ns;
		size_t thread;
		bool has_ended, has_begun;
	} expected[] = {{10, 0, false, true}, {20, 0, true, true},  {20, 1, false, true},
			{30, 0, true, true},  {50, 0, true, false}, {50, 1, true, false}};
	struct sn_error error;
	struct sn_activity_threads *threads;
	struct sn_activity_change change;
	uint32_t number = sonde_trace_track(fixture.trace, 0)->profile;
	assert_int_equal(
	    sn_activity_threads_open(&answers.processes, number, false, &threads, &error), 0);
	assert_int_equal(sn_activity_threads_count(threads), 2);
	assert_int_equal(sn_activity_threads_find(threads, number), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_int_equal(sn_activity_threads_peek(threads), BEGIN_NS + expected[i].time_ns);
		assert_int_equal(sn_activity_threads_next(threads, &change, &error), 1);
		assert_int_equal(change.time_ns, BEGIN_NS + expected[i].time_ns);
		assert_int_equal(change.thread, expected[i].thread);
		assert_int_equal(change.ended != NULL, expected[i].has_ended);
		assert_int_equal(change.begun != NULL, expected[i].has_begun);
	}
	assert_int_equal(sn_activity_threads_next(threads, &change, &error), 0);
	sn_activity_threads_free(threads);
}

static void sample(uint32_t of, uint64_t time_ns, const struct sn_attribute *attributes)
{
	trace_fixture_any(&fixture, SONDE_TRACK_SAMPLES, thread, of, BEGIN_NS + time_ns,
			  BEGIN_NS + time_ns, 0, attributes, attributes ? 1 : 0);
}

struct expected_part {
	const char *name;
	uint64_t start_ns, end_ns;
	bool is_blocked;
};

/* What the one thread did, with samples that are 10 apart. */
static void expect_parts(const struct expected_part *expected, size_t expected_count)
{
	struct sn_activity_flow flow;
	struct sn_activity_part part;
	struct sn_error error;
	size_t count;
	struct sn_activity_lanes *lanes =
	    sn_activity_lanes(&answers.processes, SONDE_NONE, true, &count);
	assert_true(lanes && count == 1 && lanes->samples != SONDE_NONE);
	assert_int_equal(sn_activity_flow_init(&flow, fixture.db, fixture.trace, lanes, 10,
					       SN_EVENT_WINDOW_ALL(0), &error),
			 0);
	for (size_t i = 0; i < expected_count; i++) {
		assert_int_equal(sn_activity_flow_next(&flow, &part, &error), 1);
		assert_int_equal(part.context, trace_fixture_named(&fixture, expected[i].name));
		assert_int_equal(part.start_ns, BEGIN_NS + expected[i].start_ns);
		assert_int_equal(part.end_ns, BEGIN_NS + expected[i].end_ns);
		assert_int_equal(part.is_blocked, expected[i].is_blocked);
	}
	assert_int_equal(sn_activity_flow_next(&flow, &part, &error), 0);
	sn_activity_flow_release(&flow);
	sn_activity_lanes_free(lanes);
}
#define EXPECT_PARTS(...)                                                                          \
	expect_parts((const struct expected_part[]){__VA_ARGS__},                                  \
		     sizeof((const struct expected_part[]){__VA_ARGS__}) /                         \
			 sizeof(struct expected_part))

/* f, f again, and a step. */
static uint32_t sampled_calls(void)
{
	begin();
	uint32_t main = context(0, SN_FRAME_PYTHON, "main");
	uint32_t f = context(main, SN_FRAME_OPERATOR, "f");
	uint32_t whole =
	    trace_fixture_context(&fixture, main, SN_FRAME_REGION, SN_FRAME_ITERATION, "step");
	event(thread, f, 0, 20, 0);
	event(thread, f, 44, 60, 0);
	event(thread, whole, 100, 150, 0);
	return main;
}

/*
 * Nobody says what was waited: a sample stands for 10 of own time before it. That at 27 has 7, as
 * much as there is since f; the 3 that it leaves are of the next, which has no use for them; that
 * at 50 is in f and says nothing; 90 has its own 10 and those 3. What is before them is nobody's,
 * or the step's.
 */
static void test_samples_between_calls(void **unused)
{
	uint32_t main = sampled_calls();
	uint32_t x = context(main, SN_FRAME_NATIVE, "x"), y = context(main, SN_FRAME_NATIVE, "y");
	sample(x, 27, NULL);
	sample(x, 37, NULL);
	sample(x, 50, NULL);
	sample(y, 90, NULL);
	sample(y, 115, NULL);
	sample(x, 145, NULL);
	analyse();
	EXPECT_PARTS({"f", 0, 20}, {"x", 20, 27}, {"x", 27, 37}, {"f", 44, 60}, {"y", 77, 90},
		     {"step", 100, 105}, {"y", 105, 115}, {"step", 115, 135}, {"x", 135, 145},
		     {"step", 145, 150});
}

static struct sn_attribute attribute_named(const char *name, uint64_t value)
{
	return (struct sn_attribute){
	    .key = sn_trace_writer_key(fixture.writer, sn_db_builder_string(fixture.builder, name),
				       sn_db_builder_string(fixture.builder, "ns"),
				       SONDE_ATTRIBUTE_UNSIGNED),
	    .value = value};
}

static void call_after_blocked(uint32_t of, uint64_t start_ns, uint64_t end_ns, uint64_t blocked_ns)
{
	struct sn_attribute before = attribute_named("blocked-before", blocked_ns);
	trace_fixture_any(&fixture, SONDE_TRACK_INTERVALS, thread, of, BEGIN_NS + start_ns,
			  BEGIN_NS + end_ns, 0, &before, 1);
}

/*
 * The recorder asked the kernel. One sample, at 90, stands for all own time before it, and for what
 * follows the last one, but for what was blocked: 8 before the call at 44, 10 before the sample,
 * and 5 at the end of the call 160..180, where that is still the call.
 */
static void test_samples_and_what_the_kernel_said(void **unused)
{
	begin();
	uint32_t main = context(0, SN_FRAME_PYTHON, "main");
	uint32_t x = context(main, SN_FRAME_NATIVE, "x"), f = context(main, SN_FRAME_OPERATOR, "f");
	struct sn_attribute waited = attribute_named("blocked", 10),
			    last = attribute_named("blocked", 5);
	event(thread, f, 0, 20, 0);
	call_after_blocked(f, 44, 60, 8);
	sample(x, 90, &waited);
	trace_fixture_any(&fixture, SONDE_TRACK_INTERVALS, thread, f, BEGIN_NS + 160,
			  BEGIN_NS + 180, 0, &last, 1);
	analyse();
	EXPECT_PARTS({"f", 0, 20}, {"x", 20, 36}, {"f", 44, 60}, {"x", 60, 80}, {"x", 90, 160},
		     {"f", 160, 175}, {"f", 175, 180, true});
}

/* The operating system's states say more: blocked in 30..40 and 85..95, ready in 62..70. */
static void test_samples_and_states(void **unused)
{
	begin();
	uint32_t main = context(0, SN_FRAME_PYTHON, "main");
	uint32_t x = context(main, SN_FRAME_NATIVE, "x"), f = context(main, SN_FRAME_OPERATOR, "f");
	uint32_t running = context(0, SN_FRAME_OS, "running"),
		 ready = context(0, SN_FRAME_OS, "ready"),
		 blocked = context(0, SN_FRAME_OS, "blocked");
	const struct {
		uint32_t of;
		uint64_t start_ns, end_ns;
	} states[] = {{running, 0, 30},	 {blocked, 30, 40}, {running, 40, 62}, {ready, 62, 70},
		      {running, 70, 85}, {blocked, 85, 95}, {running, 95, 100}};
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		trace_fixture_any(&fixture, SONDE_TRACK_STATES, thread, states[i].of,
				  BEGIN_NS + states[i].start_ns, BEGIN_NS + states[i].end_ns, 0,
				  NULL, 0);
	event(thread, f, 0, 20, 0);
	event(thread, f, 90, 100, 0);
	sample(x, 60, NULL);
	analyse();
	EXPECT_PARTS({"f", 0, 20}, {"x", 20, 30}, {"x", 40, 60}, {"x", 60, 85}, {"f", 90, 95, true},
		     {"f", 95, 100});
}

static void state(uint32_t of, uint64_t start_ns, uint64_t end_ns, uint64_t waker)
{
	struct sn_attribute attribute = {fixture.keys[TRACE_FIXTURE_WAKER], 0, waker};
	trace_fixture_any(&fixture, SONDE_TRACK_STATES, thread, of, BEGIN_NS + start_ns,
			  BEGIN_NS + end_ns, 0, &attribute, waker != 0);
}

static void test_thread_states(void **unused)
{
	begin();
	uint32_t running = context(0, SN_FRAME_OS, "running"),
		 ready = context(0, SN_FRAME_OS, "ready");
	uint32_t futex = context(context(0, SN_FRAME_OS, "blocked"), SN_FRAME_OS, "futex");
	state(running, 0, 100, 0);
	state(futex, 100, 250, 7);
	state(ready, 250, 260, 0);
	state(running, 260, 300, 0);
	analyse();
	struct sn_thread_times times;
	struct sn_error error;
	assert_int_equal(sn_thread_times(fixture.db, fixture.trace, &times, &error), 0);
	assert_int_equal(times.thread_count, 1);
	assert_int_equal(times.threads->times_ns[SN_THREAD_RUNNING], 140);
	assert_int_equal(times.threads->times_ns[SN_THREAD_BLOCKED], 150);
	assert_int_equal(times.threads->times_ns[SN_THREAD_READY], 10);
	assert_int_equal(times.threads->times_ns[SN_THREAD_UNKNOWN], 0);
	assert_int_equal(times.share_keys.count, 3);
	assert_int_equal(times.shares[0].context, trace_fixture_named(&fixture, "futex"));
	assert_int_equal(times.shares[1].time_ns, 140);
	assert_int_equal(times.shares[1].longest_ns, 100);
	assert_int_equal(times.wakeup_keys.count, 1);
	assert_int_equal(times.wakeups->waker, 7);
	assert_int_equal(times.wakeups->waited_ns, 150);
	sn_thread_times_release(&times);
}

/* ---- ranks ---- */

static void reduce(uint32_t profile, uint32_t of, uint64_t start_ns, uint64_t end_ns,
		   uint64_t number)
{
	struct sn_attribute attribute = {fixture.keys[TRACE_FIXTURE_SEQUENCE], 0, number};
	trace_fixture_any(&fixture, SONDE_TRACK_INTERVALS, profile, of, BEGIN_NS + start_ns,
			  BEGIN_NS + end_ns, 0, &attribute, 1);
}

static void test_ranks(void **unused)
{
	begin();
	uint32_t call = context(0, SN_FRAME_GPU_API, "cudaLaunchKernel");
	uint32_t kernel = context(call, SN_FRAME_KERNEL, "ncclDevKernel_AllReduce");
	uint32_t first = trace_fixture_stream(&fixture, 0, 10, 0, 7);
	uint32_t second = trace_fixture_stream(&fixture, 1, 11, 0, 7);
	reduce(first, kernel, 100, 300, 0); /* waits 150 for rank 1 */
	reduce(second, kernel, 250, 300, 0);
	reduce(first, kernel, 400, 500, 1);
	reduce(second, kernel, 380, 500, 1); /* waits 20 for rank 0 */
	reduce(second, kernel, 600, 700, 2); /* of rank 1 alone */
	analyse();
	const struct sn_ranks *ranks = &answers.ranks;
	assert_int_equal(ranks->count, 2);
	assert_int_equal(ranks->alone_count, 1);
	assert_false(ranks->is_shifted || ranks->is_overlapped);
	uint32_t profile = answers.collectives.participants[0].profile;
	unsigned zero = sonde_db_profile(fixture.db, profile)->rank == 0 ? 0 : 1;
	const struct sn_rank_sum *a = ranks->sums + zero, *b = ranks->sums + 1 - zero;
	assert_true(a->waited_ns == 150 && a->delayed_ns == 20 && a->late_ns == 20);
	assert_true(b->waited_ns == 20 && b->delayed_ns == 150 && b->late_ns == 150);
	assert_true(a->last_count == 1 && b->last_count == 1);
	assert_int_equal(ranks->waits[zero].items[0].start_ns, BEGIN_NS + 100);
	assert_int_equal(ranks->waits[zero].items[0].end_ns, BEGIN_NS + 250);
	for (size_t i = 0; i < answers.times.count; i++)
		assert_int_equal(answers.waits[i].reasons_ns[SN_WAIT_RANK],
				 answers.times.devices[i].rank == 0 ? 150 : 20);
}

static void pass_message(uint32_t profile, uint32_t of, uint64_t start_ns, uint64_t end_ns,
			 uint64_t direction, uint64_t peer)
{
	struct sn_attribute attributes[] = {
	    {fixture.keys[TRACE_FIXTURE_MESSAGE], 0, direction},
	    {fixture.keys[TRACE_FIXTURE_PEER], 0, peer},
	    {fixture.keys[TRACE_FIXTURE_BYTES], 0, 64},
	};
	trace_fixture_any(&fixture, SONDE_TRACK_INTERVALS, profile, of, BEGIN_NS + start_ns,
			  BEGIN_NS + end_ns, direction == 3 ? 0 : 77, attributes, 3);
}

/* Rank 0's device is idle in 100..500. Its thread is in a receive in 150..400, of what rank 1 sends
 * at 300, and launches what comes next at 420. `device_rank`: whose device it is. */
static void make_idle_for_message(unsigned device_rank, const char *receive)
{
	begin();
	uint32_t own = trace_fixture_thread(&fixture, 0, 10, 10);
	uint32_t other = trace_fixture_thread(&fixture, 1, 11, 11);
	uint32_t device = trace_fixture_stream(&fixture, (int)device_rank, 10 + device_rank, 0, 7);
	uint32_t main = context(0, SN_FRAME_PYTHON, "main");
	uint32_t call = context(main, SN_FRAME_GPU_API, "cudaLaunchKernel");
	uint32_t kernel = context(call, SN_FRAME_KERNEL, "gemm");
	event(own, main, 0, 600, 0);
	event(own, call, 10, 20, 1);
	event(device, kernel, 50, 100, 1);
	pass_message(own, context(main, SN_FRAME_REGION, receive), 150, 400, 2, 1);
	pass_message(other, context(0, SN_FRAME_REGION, "MPI_Send"), 300, 310, 1, 0);
	event(own, call, 420, 430, 2);
	event(device, kernel, 500, 550, 2);
	analyse();
	assert_int_equal(answers.times.count, 1);
	assert_int_equal(answers.messages.count, 1);
}

static void test_idle_for_a_message(void **unused)
{
	make_idle_for_message(0, "MPI_Recv");
	const uint64_t reasons[SN_WAITS] = {
	    [SN_WAIT_RANK] = 150,    /* 150..300 */
	    [SN_WAIT_NO_WORK] = 170, /* 100..150, 300..420 */
	    [SN_WAIT_LAUNCH] = 80,
	};
	for (unsigned i = 0; i < SN_WAITS; i++)
		assert_int_equal(answers.waits->reasons_ns[i], reasons[i]);
	assert_int_equal(answers.times.devices->launch_latency_ns, 80);
}

/* What another process's thread waits for is not why this one's device is idle. */
static void test_idle_of_another_rank(void **unused)
{
	make_idle_for_message(1, "MPI_Recv");
	assert_int_equal(answers.waits->reasons_ns[SN_WAIT_RANK], 0);
	assert_int_equal(answers.waits->reasons_ns[SN_WAIT_NO_WORK], 320);
	assert_int_equal(answers.waits->reasons_ns[SN_WAIT_LAUNCH], 80);
}

static const struct sn_sheet *sheet_of(const struct sn_page *page, const char *key)
{
	for (size_t i = 0; i < page->count; i++)
		if (!strcmp(page->sheets[i]->key, key))
			return page->sheets[i];
	return NULL;
}

/* Calls are told of by one end, whether or not the other one is recorded. */
static void test_message_calls(void **unused)
{
	struct sn_page page = {0};
	struct sn_error error;
	begin();
	uint32_t own = trace_fixture_thread(&fixture, 0, 10, 10);
	uint32_t send = context(0, SN_FRAME_REGION, "MPI_Isend");
	uint32_t receive = context(0, SN_FRAME_REGION, "MPI_Recv");
	pass_message(own, send, 100, 110, 1, 1);
	pass_message(own, send, 200, 260, 1, 1);
	pass_message(own, receive, 300, 700, 2, 2);
	analyse();
	assert_int_equal(sn_view_messages(&answers, &page, &error), 0);
	const struct sn_sheet *sheet = sheet_of(&page, "message_calls");
	assert_non_null(sheet);
	assert_int_equal(sn_sheet_rows(sheet), 2);
	const struct sn_cell *sent = sheet->cells, *received = sent + sheet->column_count;
	assert_string_equal(sent[0].text, "rank 0");
	assert_string_equal(sent[1].text, "to rank 1");
	assert_string_equal(received[1].text, "from rank 2");
	static const double expected[2][5] = {{2, 128, 64, 70, 60}, {1, 64, 64, 400, 400}};
	for (unsigned i = 0; i < 5; i++) {
		assert_true(sent[2 + i].number == expected[0][i]);
		assert_true(received[2 + i].number == expected[1][i]);
	}
	sn_page_release(&page);
	page = (struct sn_page){0};
	assert_int_equal(sn_view_transfers(&answers, &page, &error), 0);
	assert_null(sheet_of(&page, "message_calls"));
	assert_null(sheet_of(&page, "exchanges"));
	sn_page_release(&page);
}

/* A table takes a million rows, and says how many more there are. */
static void test_rows_beyond_a_table(void **unused)
{
	struct sn_page page = {0};
	static const struct sn_column columns[] = {{"name", "name", ""},
						   {"count", "count", "count"}};
	struct sn_sheet *sheet = sn_page_table(&page, "many", columns, "many");
	for (unsigned i = 0; i < SN_SHEET_ROWS + 3; i++) {
		sn_sheet_text(sheet, "x");
		sn_sheet_number(sheet, i);
	}
	assert_int_equal(sn_sheet_rows(sheet), SN_SHEET_ROWS);
	assert_int_equal(sn_sheet_left_out(sheet), 3);
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	sn_page_print(&page, 8, 80, false, out);
	fclose(out);
	assert_non_null(strstr(text, "  999992 more: --limit 0\n  3 more are left out\n"));
	free(text);
	sn_page_release(&page);
}

/* ---- iterations, memory ---- */

static void test_iterations(void **unused)
{
	begin();
	uint32_t marked =
	    trace_fixture_context(&fixture, 0, SN_FRAME_REGION, SN_FRAME_ITERATION, "i");
	uint32_t plain = context(0, SN_FRAME_REGION, "plain");
	static const uint64_t lengths[] = {100, 102, 500, 98, 100};
	for (uint64_t i = 0, at = 0; i < 5; at += lengths[i++] + 10) {
		event(thread, marked, at, at + lengths[i], 0);
		event(thread, plain, at, at + 50, 0);
	}
	analyse();
	const struct sn_iterations *found = &answers.iterations;
	struct sn_iteration_sum sum;
	assert_int_equal(found->count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(found->items[i].is_unusual, i == 2);
	sn_iterations_sum(found->items, found->count, &sum);
	assert_true(sum.mean_ns == 180 && sum.median_ns == 100);
	assert_true(sum.min_ns == 98 && sum.max_ns == 500 && sum.unusual_count == 1);
	/* squares of -80, -78, 320, -82, -80, over 5 */
	assert_true(fabs(sum.deviation_ns - sqrt(128008.0 / 5)) < 1e-6);
}

static double owned(const struct sn_memory_device *device, const char *name)
{
	return device->owners[answers.nodes.of_context[trace_fixture_named(&fixture, name)]];
}

static void test_memory(void **unused)
{
	begin();
	uint32_t main = context(0, SN_FRAME_PYTHON, "main");
	mm = context(main, SN_FRAME_OPERATOR, "aten::mm");
	relu = context(main, SN_FRAME_OPERATOR, "aten::relu");
	instant(mm, 0, 0x1000, 100);
	instant(mm, 2, 0x3000, 20);
	instant(mm, 5, 0x3000, -20);
	instant(relu, 10, 0x2000, 50); /* the peak: 150 */
	instant(mm, 20, 0x1000, -100);
	instant(relu, 30, 0x1000, 30);
	analyse();
	struct sn_memory memory;
	struct sn_error error;
	assert_int_equal(sn_memory(&answers.processes, &answers.nodes, &memory, &error), 0);
	assert_int_equal(memory.device_count, 1);
	const struct sn_memory_device *device = memory.devices;
	assert_int_equal(device->peak_bytes, 150);
	assert_int_equal(device->peak_ns, BEGIN_NS + 10);
	assert_int_equal(device->end_bytes, 80);
	assert_int_equal(device->allocation_count, 4);
	assert_true(device->allocated_bytes == 200);
	assert_int_equal(device->known_bytes, 150);
	assert_true(owned(device, "aten::mm") == 100 && owned(device, "aten::relu") == 50);
	assert_true(device->allocated[0] == 100 && device->allocated[20] == 120 &&
		    device->allocated[SN_MEMORY_STEPS - 1] == 80);
	sn_memory_release(&memory);
}

/* A step without anything that waits is the thread's all the way. */
static void test_critical_path_of_a_step(void **unused)
{
	struct sn_critical_path path;
	struct sn_error error;
	make_simple();
	assert_int_equal(sn_critical_path(&answers, &path, &error), 0);
	assert_string_equal(sn_name_path(answers.db, &path.extent).text, "iteration 1 of step");
	assert_true(path.length_ns == 1000 && path.kinds_ns[SN_PATH_THREAD] == 1000);
	sn_critical_path_release(&path);
	answers.iteration = 1 + 2;
	assert_int_equal(sn_critical_path(&answers, &path, &error), SN_ERR_ARGUMENT);
	assert_string_equal(error.text, "there is no iteration 2: there are 1, from 1 on");
	sn_critical_path_release(&path);
}

static void test_intervals(void **unused)
{
	struct sn_intervals a = {0};
	sn_intervals_add(&a, 50, 70);
	sn_intervals_add(&a, 10, 20);
	sn_intervals_add(&a, 15, 30); /* 10..30, 50..70 */
	sn_intervals_settle(&a);
	assert_int_equal(a.count, 2);
	assert_int_equal(sn_intervals_within(&a, 0, 100), 20 + 20);
	assert_int_equal(sn_intervals_within(&a, 30, 50), 0);
	assert_int_equal(sn_intervals_within(&a, 12, 18), 6);
	assert_int_equal(sn_intervals_within(&a, 55, 15), 0);
	assert_int_equal(sn_intervals_within(&a, 15, 55), 15 + 5);
	assert_int_equal(sn_intervals_find(&a, 30), 1);
	sn_intervals_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_device_time, end),
	    cmocka_unit_test_teardown(test_operations, end),
	    cmocka_unit_test_teardown(test_idle_for_a_message, end),
	    cmocka_unit_test_teardown(test_idle_of_another_rank, end),
	    cmocka_unit_test_teardown(test_message_calls, end),
	    cmocka_unit_test(test_rows_beyond_a_table),
	    cmocka_unit_test(test_launches),
	    cmocka_unit_test(test_runs),
	    cmocka_unit_test_teardown(test_host_window, end),
	    cmocka_unit_test_teardown(test_host_threads, end),
	    cmocka_unit_test_teardown(test_samples_between_calls, end),
	    cmocka_unit_test_teardown(test_samples_and_what_the_kernel_said, end),
	    cmocka_unit_test_teardown(test_samples_and_states, end),
	    cmocka_unit_test_teardown(test_first_call_launches, end),
	    cmocka_unit_test_teardown(test_waits, end),
	    cmocka_unit_test_teardown(test_blame, end),
	    cmocka_unit_test_teardown(test_blame_is_shared, end),
	    cmocka_unit_test_teardown(test_queue, end),
	    cmocka_unit_test_teardown(test_host, end),
	    cmocka_unit_test_teardown(test_thread_states, end),
	    cmocka_unit_test_teardown(test_ranks, end),
	    cmocka_unit_test_teardown(test_iterations, end),
	    cmocka_unit_test_teardown(test_memory, end),
	    cmocka_unit_test_teardown(test_critical_path_of_a_step, end),
	    cmocka_unit_test(test_intervals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
