/* SPDX-License-Identifier: Apache-2.0 */
/* Flat samples of a cubin become call paths, unless the file is of another build than was measured.
 */
#include "aggregate/gpu_calls.h"
#include "gpu_fixture.h"
#include "measurement_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { HELPER = GPU_FIXTURE_OUTER + 0x90 };

static char folder[] = "/tmp/sonde-gpu-calls-XXXXXX", cubin[64], file[64];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(cubin, sizeof(cubin), "%s/code.cubin", folder);
	snprintf(file, sizeof(file), "%s/1.sonde-process", folder);
	size_t bytes;
	uint8_t *image = gpu_fixture_cubin(80, &bytes);
	FILE *out = fopen(cubin, "wbe");
	bool is_written = out && fwrite(image, 1, bytes, out) == bytes;
	if (out)
		fclose(out);
	free(image);
	return is_written ? 0 : -1;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_calls),
	    cmocka_unit_test(test_another_build),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
