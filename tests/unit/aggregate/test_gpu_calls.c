/* SPDX-License-Identifier: Apache-2.0 */
/* Flat samples of a cubin become call paths, unless the file is of another build than was measured.
 */
#include "aggregate/gpu_context/gpu_calls.h"
#include "../gpu_fixture.h"
#include "../measurement_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { HELPER = GPU_FIXTURE_OUTER + 0x90 };

static char folder[] = "/tmp/sonde-gpu-calls-XXXXXX", cubin[64], file[64];

/* Puts `work` or a call of the helper where the kernel's instruction at an offset is. */
static void put_instruction(uint8_t *image, uint64_t offset, bool is_call)
{
	uint64_t distance = (HELPER - GPU_FIXTURE_OUTER - offset - 16) >> 2;
	uint64_t words[] = {is_call ? 0x7944 | distance << 34 : 0x7221, 0x000fea0003800000};
	memcpy(image + GPU_FIXTURE_OUTER + offset, words, sizeof(words));
}

/* With that many calls of the helper in the kernel: at 40, at 10. */
static int write_cubin(int calls)
{
	size_t bytes;
	uint8_t *image = gpu_fixture_cubin(80, &bytes);
	put_instruction(image, 0x40, calls > 0);
	put_instruction(image, 0x10, calls > 1);
	FILE *out = fopen(cubin, "wbe");
	bool is_written = out && fwrite(image, 1, bytes, out) == bytes;
	if (out)
		fclose(out);
	free(image);
	return is_written ? 0 : -1;
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(cubin, sizeof(cubin), "%s/code.cubin", folder);
	snprintf(file, sizeof(file), "%s/1.sonde-process", folder);
	return write_cubin(1);
}

static int tear_down(void **state)
{
	(void)state;
	unlink(cubin);
	unlink(file);
	return rmdir(folder);
}

/* 8 samples in a kernel and 2 in what it calls. */
static void measure(const char *build_id, size_t build_id_bytes)
{
	unlink(file);
	struct measurement_fixture *fixture = measurement_fixture_new();
	uint32_t module = measurement_fixture_module(fixture, cubin, 0, build_id, build_id_bytes);
	uint32_t metric =
	    measurement_fixture_metric(fixture, "gpu-samples", "1", SN_METRIC_COUNT, 1);
	measurement_fixture_thread(fixture, "main", (struct sn_thread_record){.tid = 1});
	uint32_t kernel = measurement_fixture_named(fixture, 0, 0, SN_FRAME_GPU_OP, 0, "outer");
	for (int i = 0; i < 2; i++) {
		uint64_t address = i ? HELPER : GPU_FIXTURE_OUTER;
		uint32_t node = measurement_fixture_node(
		    fixture, 0, kernel,
		    (struct sn_frame){
			.kind = SN_FRAME_GPU_INSTRUCTION, .id = module, .value = address});
		measurement_fixture_value(fixture, 0, node, metric, i ? 2 : 8, 1);
	}
	measurement_fixture_commit(fixture, file, true);
	measurement_fixture_free(fixture);
}

/* How deep below the kernel the sample in the helper is; 0 where nothing was changed. */
static unsigned helper_depth(void)
{
	struct sn_error error;
	struct sn_measurement *measurement;
	struct sn_gpu_calls calls = {0};
	struct sn_gpu_called called = {0};
	unsigned depth = 0;
	if (sn_measurement_open(file, &measurement, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(sn_gpu_calls_apply(&calls, measurement, &measurement->threads[0], &called),
			 0);
	for (uint32_t i = 1; called.is_changed && i < called.thread.node_count; i++) {
		const struct sn_frame *frame = &called.nodes[i].frame;
		if (frame->kind != SN_FRAME_GPU_INSTRUCTION || frame->value != HELPER)
			continue;
		for (uint32_t at = i; called.nodes[at].frame.kind != SN_FRAME_GPU_OP;
		     at = called.nodes[at].parent)
			depth++;
	}
	sn_gpu_called_release(&called);
	sn_gpu_calls_release(&calls);
	sn_measurement_free(measurement);
	return depth;
}

static void test_calls(void **state)
{
	(void)state;
	measure(NULL, 0);
	/* kernel > call > instruction */
	assert_int_equal(helper_depth(), 2);
}

static void test_another_build(void **state)
{
	(void)state;
	measure("another build, truly", 20);
	assert_int_equal(helper_depth(), 1);
}

/* What was made of a measurement, to look at. */
struct made {
	struct sn_measurement *measurement;
	struct sn_gpu_calls calls;
	struct sn_gpu_called called;
};

static void make(struct measurement_fixture *fixture, struct made *made)
{
	struct sn_error error;
	unlink(file);
	measurement_fixture_commit(fixture, file, true);
	measurement_fixture_free(fixture);
	*made = (struct made){0};
	if (sn_measurement_open(file, &made->measurement, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(sn_gpu_calls_apply(&made->calls, made->measurement,
					    &made->measurement->threads[0], &made->called),
			 0);
	/* parents before their children, values of nodes that there are */
	const struct sn_measurement_thread *thread = &made->called.thread;
	for (uint32_t i = 1; i < thread->node_count; i++)
		assert_true(thread->nodes[i].parent < i);
	for (size_t i = 0; i < thread->value_count; i++)
		assert_true(thread->values[i].node < thread->node_count);
}

static void release(struct made *made)
{
	sn_gpu_called_release(&made->called);
	sn_gpu_calls_release(&made->calls);
	sn_measurement_free(made->measurement);
}

struct total {
	uint64_t count, sum;
};

/* Of all values in the module's helper below what is at `parent`; 0 for all of the measurement. */
static struct total total_below(const struct made *made, uint64_t parent, uint32_t module)
{
	const struct sn_measurement_thread *thread = &made->called.thread;
	struct total total = {0, 0};
	for (size_t i = 0; i < thread->value_count; i++) {
		const struct sn_value_record *value = &thread->values[i];
		const struct sn_node_record *node = &thread->nodes[value->node];
		const struct sn_node_record *above = &thread->nodes[node->parent];
		if (parent && (node->frame.value < HELPER || node->frame.id != module ||
			       above->frame.value != parent))
			continue;
		total.count += value->count;
		total.sum += value->sum;
	}
	return total;
}

static uint32_t instruction(struct measurement_fixture *fixture, uint32_t parent, uint32_t module,
			    uint64_t address, uint64_t count)
{
	struct sn_frame frame = {.kind = SN_FRAME_GPU_INSTRUCTION, .id = module, .value = address};
	uint32_t node = measurement_fixture_node(fixture, 0, parent, frame);
	measurement_fixture_value(fixture, 0, node, 0, count, 7);
	return node;
}

static struct measurement_fixture *begin(uint32_t *module, uint32_t *kernel)
{
	struct measurement_fixture *fixture = measurement_fixture_new();
	*module = measurement_fixture_module(fixture, cubin, 0, NULL, 0);
	measurement_fixture_metric(fixture, "gpu-samples", "1", SN_METRIC_COUNT, 1);
	measurement_fixture_thread(fixture, "main", (struct sn_thread_record){.tid = 1});
	*kernel = measurement_fixture_named(fixture, 0, 0, SN_FRAME_GPU_OP, 0, "outer");
	return fixture;
}

/*
 * One sample at a call, three at the other: of two instructions with ten samples each a quarter and
 * three quarters. What rounding takes from one instruction the next one gets.
 */
static void test_two_calls(void **state)
{
	(void)state;
	uint32_t module, kernel;
	struct made made;
	assert_int_equal(write_cubin(2), 0);
	struct measurement_fixture *fixture = begin(&module, &kernel);
	instruction(fixture, kernel, module, GPU_FIXTURE_OUTER + 0x10, 1);
	instruction(fixture, kernel, module, GPU_FIXTURE_OUTER + 0x40, 3);
	instruction(fixture, kernel, module, HELPER, 10);
	instruction(fixture, kernel, module, HELPER + 0x10, 10);
	make(fixture, &made);
	struct total few = total_below(&made, GPU_FIXTURE_OUTER + 0x10, module);
	struct total many = total_below(&made, GPU_FIXTURE_OUTER + 0x40, module);
	struct total all = total_below(&made, 0, module);
	assert_int_equal(few.count, 5);
	assert_int_equal(many.count, 15);
	assert_int_equal(few.sum + many.sum, 20 * 7);
	assert_in_range(few.sum, 34, 36);
	assert_int_equal(all.count, 24);
	assert_int_equal(all.sum, 24 * 7);
	release(&made);
	assert_int_equal(write_cubin(1), 0);
}

/* Samples of another file, and what is a path already, stay as they are. */
static void test_what_is_no_sample_of_it(void **state)
{
	(void)state;
	uint32_t module, kernel;
	struct made made;
	struct measurement_fixture *fixture = begin(&module, &kernel);
	uint32_t other = measurement_fixture_module(fixture, "/nowhere/b.cubin", 0, NULL, 0);
	instruction(fixture, kernel, module, GPU_FIXTURE_OUTER, 8);
	uint32_t path = instruction(fixture, kernel, module, GPU_FIXTURE_OUTER + 0x20, 5);
	uint32_t below = measurement_fixture_named(fixture, 0, path, SN_FRAME_REGION, 0, "part");
	measurement_fixture_value(fixture, 0, below, 0, 6, 7);
	instruction(fixture, kernel, other, HELPER, 4);
	make(fixture, &made);
	assert_int_equal(total_below(&made, 0, module).count, 8 + 5 + 6 + 4);
	const struct sn_measurement_thread *thread = &made.called.thread;
	bool has_path = false, has_other = false;
	for (uint32_t i = 1; i < thread->node_count; i++) {
		const struct sn_frame *frame = &thread->nodes[i].frame;
		const struct sn_frame *above = &thread->nodes[thread->nodes[i].parent].frame;
		has_path |=
		    frame->kind == SN_FRAME_REGION && above->value == GPU_FIXTURE_OUTER + 0x20;
		has_other |= frame->kind == SN_FRAME_GPU_INSTRUCTION && frame->id == other &&
			     above->kind == SN_FRAME_GPU_OP;
	}
	assert_true(has_path);
	assert_true(has_other);
	release(&made);
}

/* What is called by another kernel alone is under that one's call, and that something is missing
 * between the call and this kernel is said. */
static void test_called_from_elsewhere(void **state)
{
	(void)state;
	uint32_t module, kernel;
	struct made made;
	assert_int_equal(write_cubin(0), 0);
	struct measurement_fixture *fixture = begin(&module, &kernel);
	instruction(fixture, kernel, module, GPU_FIXTURE_OUTER, 8);
	instruction(fixture, kernel, module, HELPER, 2);
	make(fixture, &made);
	const struct sn_measurement_thread *thread = &made.called.thread;
	unsigned found = 0;
	for (uint32_t i = 1; i < thread->node_count; i++) {
		const struct sn_frame *frame = &thread->nodes[i].frame;
		const struct sn_frame *above = &thread->nodes[thread->nodes[i].parent].frame;
		if (frame->kind != SN_FRAME_GPU_INSTRUCTION || frame->value != HELPER)
			continue;
		assert_int_equal(above->value, GPU_FIXTURE_SECOND + 0x40);
		assert_int_equal(above->flags, SN_FRAME_CALL | SN_FRAME_TRUNCATED);
		found++;
	}
	assert_int_equal(found, 1);
	release(&made);
	assert_int_equal(write_cubin(1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_calls),
	    cmocka_unit_test(test_another_build),
	    cmocka_unit_test(test_two_calls),
	    cmocka_unit_test(test_what_is_no_sample_of_it),
	    cmocka_unit_test(test_called_from_elsewhere),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
