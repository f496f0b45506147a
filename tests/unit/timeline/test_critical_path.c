/* SPDX-License-Identifier: Apache-2.0 */
/* Critical paths of graphs and traces so small that their answers are computed by hand beside them.
 */
#include "../timeline_fixture.h"

#include "timeline/path/critical_path.h"
#include "timeline/path/path_operations.h"
#include "format/measurement/measurement.h"

static uint32_t mm, launch;

static uint32_t activity(struct sn_path_graph *graph, uint64_t start, uint64_t stop, uint32_t node)
{
	struct sn_path_activity one = {.start_ns = start,
				       .end_ns = stop,
				       .node = node,
				       .kind = SN_PATH_THREAD,
				       .ends = SN_PATH_END_SURE};
	return sn_path_graph_add(graph, &one);
}

static void edge(struct sn_path_graph *graph, uint32_t from, uint32_t to, int64_t lag,
		 enum sn_path_kind kind, bool from_start)
{
	struct sn_path_edge one = {
	    .from = from, .to = to, .lag_ns = lag, .kind = (uint8_t)kind, .from_start = from_start};
	assert_int_equal(sn_path_graph_edge(graph, &one), 0);
}

/* A 0..100, B 100..150 after it; C 20..130 launched 20 after A's begin; D 150..200 after B, and 10
 * after C. */
static void test_path_graph(void **unused)
{
	struct sn_path_graph graph = {0};
	double starts[4], ends[4];
	uint32_t a = activity(&graph, 0, 100, 0), b = activity(&graph, 100, 150, 1);
	uint32_t c = activity(&graph, 20, 130, 2), d = activity(&graph, 150, 200, 0);
	edge(&graph, a, b, 0, SN_PATH_UNRECORDED, false);
	edge(&graph, a, c, 20, SN_PATH_LAUNCH, true);
	edge(&graph, b, d, 0, SN_PATH_UNRECORDED, false);
	edge(&graph, c, d, 10, SN_PATH_UNRECORDED, false);
	assert_int_equal(sn_path_graph_settle(&graph), 0);
	assert_int_equal(graph.last, 3); /* in order of start: A C B D */
	assert_int_equal(graph.edges[graph.binding[3]].from, 2);
	assert_int_equal(graph.binding[0], SONDE_NONE);
#define PLAY(node, kind, factor) sn_path_graph_play(&graph, node, kind, factor, starts, ends)
	assert_true(PLAY(SONDE_NONE, SN_PATH_KINDS, 1) == 200);
	/* A to 50, B to 100, C to 130, D from 140 for 25 */
	assert_true(PLAY(0, SN_PATH_KINDS, 0.5) == 165);
	assert_true(PLAY(1, SN_PATH_KINDS, 0) == 190); /* then C is what D waits for */
	assert_true(PLAY(2, SN_PATH_KINDS, 0) == 200);
	assert_true(PLAY(SONDE_NONE, SN_PATH_LAUNCH, 0) == 200);
	sn_path_graph_release(&graph);
}

/* What ended at 110 by another clock was waited for until 100: A 0..100, B 20..110 launched by it,
 * C 100..150 after B. Of B the path has 80, so no more than these can be gained. */
static void test_path_graph_of_clocks_apart(void **unused)
{
	struct sn_path_graph graph = {0};
	double starts[3], ends[3];
	uint32_t a = activity(&graph, 0, 100, 0), b = activity(&graph, 20, 110, 1);
	uint32_t c = activity(&graph, 100, 150, 0);
	edge(&graph, a, b, 20, SN_PATH_LAUNCH, true);
	edge(&graph, b, c, 0, SN_PATH_HELD, false);
	assert_int_equal(sn_path_graph_settle(&graph), 0);
	assert_true(PLAY(SONDE_NONE, SN_PATH_KINDS, 1) == 150);
	assert_true(PLAY(1, SN_PATH_KINDS, 0.5) == 110);
	assert_true(PLAY(1, SN_PATH_KINDS, 0) == 100); /* C from 20, but A ends last */
	sn_path_graph_release(&graph);
}

static double on_path(const struct sn_critical_path *path, const char *name, double *gain_all)
{
	uint32_t node = answers.nodes.of_context[trace_fixture_named(&fixture, name)];
	for (size_t i = 0; i < path->share_count; i++)
		if (path->shares[i].node == node) {
			*gain_all = path->shares[i].gain_all_ns;
			return path->shares[i].time_ns;
		}
	*gain_all = 0;
	return 0;
}

/*
 * The thread launches k (0..10), is in f (10..20) and waits for k (20..110), which runs 15..100;
 * then it is in g until 130. So k is on the path for 85.
 */
static void test_critical_path(void **unused)
{
	begin();
	uint32_t main = context(0, SN_FRAME_PYTHON, "main");
	mm = context(main, SN_FRAME_OPERATOR, "aten::mm");
	launch = context(mm, SN_FRAME_GPU_API, "cudaLaunchKernel");
	uint32_t sync = context(main, SN_FRAME_GPU_API, "cudaDeviceSynchronize");
	uint32_t f = context(main, SN_FRAME_OPERATOR, "f"),
		 g = context(main, SN_FRAME_OPERATOR, "g");
	event(thread, launch, 0, 10, 1);
	event(thread, f, 10, 20, 0);
	event(thread, sync, 20, 110, 0);
	event(thread, g, 110, 130, 0);
	event(stream, context(launch, SN_FRAME_KERNEL, "k"), 15, 100, 1);
	analyse();
	struct sn_critical_path path;
	struct sn_error error;
	double gain, time;
	assert_int_equal(sn_critical_path(&answers, &path, &error), 0);
	assert_true(path.length_ns == 130);
	assert_true(path.kinds_ns[SN_PATH_COMPUTE] == 85);
	assert_true(path.kinds_ns[SN_PATH_LAUNCH] == 15); /* 0 to 15 */
	time = on_path(&path, "g", &gain);
	assert_true(time == 20 && gain == 20);
	time = on_path(&path, "f", &gain);
	assert_true(time == 0);
	time = on_path(&path, "k", &gain);
	/* the node is aten::mm, its launch as well: without both the thread waits from 10 until 15,
	 * returns for 10 and is in g for 20 */
	assert_true(time == 85 && gain == 130 - 45);
	sn_critical_path_release(&path);
}

/*
 * The thread is in f (0..10), then in no call, where samples met x at 15 and 20 and y at 25, then
 * in g (40..50). A sample stands for the 10 before it at most: x has 10..20, y 20..25, and of
 * 25..40 nothing is known.
 */
static void test_samples_of_a_critical_path(void **unused)
{
	begin();
	uint32_t main = context(0, SN_FRAME_PYTHON, "main");
	uint32_t x = context(main, SN_FRAME_PYTHON, "x"), y = context(main, SN_FRAME_PYTHON, "y");
	event(thread, context(main, SN_FRAME_OPERATOR, "f"), 0, 10, 0);
	event(thread, context(main, SN_FRAME_OPERATOR, "g"), 40, 50, 0);
	uint64_t times[] = {5, 15, 20, 25, 45};
	uint32_t of[] = {y, x, x, y, y};
	for (unsigned i = 0; i < 5; i++)
		trace_fixture_any(&fixture, SONDE_TRACK_SAMPLES, thread, of[i], BEGIN_NS + times[i],
				  BEGIN_NS + times[i], 0, NULL, 0);
	analyse();
	struct sn_critical_path path;
	struct sn_error error;
	assert_int_equal(sn_critical_path(&answers, &path, &error), 0);
	assert_true(path.length_ns == 50 && path.own_ns == 30);
	assert_int_equal(path.sampled_count, 2);
	assert_int_equal(path.sampled[0].node,
			 answers.nodes.of_context[trace_fixture_named(&fixture, "x")]);
	assert_true(path.sampled[0].time_ns == 10 && path.sampled[1].time_ns == 5);
	sn_critical_path_release(&path);
}

/*
 * Calls of which names say nothing, in tens of microseconds: upload (0..110) does not return before
 * its copy (10..100) has ended; enqueue (130..170) does, since what it launched, 140..145, was over
 * long before. Then the thread is in g until 190.
 */
static void test_critical_path_of_blocking_calls(void **unused)
{
	enum { UNIT = 10000 };
	begin();
	uint32_t main = context(0, SN_FRAME_PYTHON, "main");
	uint32_t f = context(main, SN_FRAME_OPERATOR, "f"),
		 g = context(main, SN_FRAME_OPERATOR, "g");
	uint32_t upload = context(main, SN_FRAME_GPU_API, "upload"),
		 enqueue = context(main, SN_FRAME_GPU_API, "myMemcpyAsync");
	uint32_t copy = context(upload, SN_FRAME_GPU_OP, "large copy"),
		 small = context(enqueue, SN_FRAME_GPU_OP, "small copy");
	event(thread, upload, 0, 110 * UNIT, 1);
	event(thread, f, 110 * UNIT, 130 * UNIT, 0);
	event(thread, enqueue, 130 * UNIT, 170 * UNIT, 2);
	event(thread, g, 170 * UNIT, 190 * UNIT, 0);
	event(stream, copy, 10 * UNIT, 100 * UNIT, 1);
	event(stream, small, 140 * UNIT, 145 * UNIT, 2);
	trace_fixture_value(&fixture, stream, copy, fixture.copy_time, 90 * UNIT);
	trace_fixture_value(&fixture, stream, small, fixture.copy_time, 5 * UNIT);
	analyse();
	struct sn_critical_path path;
	struct sn_error error;
	double gain, time;
	assert_int_equal(sn_critical_path(&answers, &path, &error), 0);
	assert_true(path.length_ns == 190 * UNIT);
	assert_true(path.kinds_ns[SN_PATH_COPY] == 90 * UNIT);
	assert_true(path.kinds_ns[SN_PATH_LAUNCH] == 10 * UNIT);
	assert_true(path.kinds_ns[SN_PATH_THREAD] == (10 + 20 + 40 + 20) * UNIT);
	time = on_path(&path, "large copy", &gain);
	assert_true(time == 90 * UNIT && gain == 90 * UNIT);
	time = on_path(&path, "upload", &gain);
	assert_true(time == 10 * UNIT && gain == 10 * UNIT);
	time = on_path(&path, "small copy", &gain);
	assert_true(time == 0 && gain == 0);
	time = on_path(&path, "myMemcpyAsync", &gain);
	assert_true(time == 40 * UNIT && gain == 40 * UNIT);
	sn_critical_path_release(&path);
}

/* Calls in microseconds, from 10 on, and what they launched: whether they waited for that. */
static void test_calls_that_wait_for_their_own(void **unused)
{
	static const struct {
		unsigned call_end, start, end, link;
		enum sn_device_work work;
		bool has_waited;
	} cases[] = {
	    {1010, 110, 910, 1, SN_WORK_COPY, true},
	    {1010, 110, 910, 2, SN_WORK_COPY, false}, /* launched by another call */
	    {1010, 908, 910, 1, SN_WORK_COPY, true},  /* behind other work until then */
	    {1010, 408, 410, 1, SN_WORK_COPY, false}, /* over long before the call was */
	    {1010, 110, 800, 1, SN_WORK_COPY, false}, /* 210 later, and 790 before */
	    {1010, 110, 820, 1, SN_WORK_COPY, true},
	    {27, 16, 18, 1, SN_WORK_COPY, true}, /* the thread is woken */
	    {50, 16, 18, 1, SN_WORK_COPY, false},
	    {1010, 110, 1011, 1, SN_WORK_COPY, true},	/* by its clock after the call */
	    {1010, 1000, 1011, 1, SN_WORK_COPY, false}, /* really after the call */
	    {1010, 110, 1012, 1, SN_WORK_COPY, false},
	    {1010, 110, 960, 1, SN_WORK_COMPUTE, true}, /* CUDA_LAUNCH_BLOCKING */
	    {27, 18, 22, 1, SN_WORK_COMPUTE, false},	/* a short kernel */
	    {1010, 9, 910, 1, SN_WORK_COPY, true},	/* by its clock before the call */
	    {1010, 8, 910, 1, SN_WORK_COPY, false},	/* really before: another one's */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_path_call call = {10000, cases[i].call_end * 1000ull, 1};
		struct sn_path_operation one = {.is_in_window = true};
		one.operation.start_ns = cases[i].start * 1000ull;
		one.operation.end_ns = cases[i].end * 1000ull;
		one.operation.link = cases[i].link;
		one.operation.work = cases[i].work;
		struct sn_path_operations device = {&one, 1, 1};
		assert_int_equal(sn_path_waited_for_own(&device, 1, &call),
				 cases[i].has_waited ? one.operation.end_ns : 0);
		call.link = 0;
		assert_int_equal(sn_path_waited_for_own(&device, 1, &call), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_path_graph),
	    cmocka_unit_test(test_path_graph_of_clocks_apart),
	    cmocka_unit_test_teardown(test_critical_path, end),
	    cmocka_unit_test_teardown(test_samples_of_a_critical_path, end),
	    cmocka_unit_test_teardown(test_critical_path_of_blocking_calls, end),
	    cmocka_unit_test(test_calls_that_wait_for_their_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
