/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary samples in a GPU binary are divided among calling contexts: what comes of them is a
 * tree, refers to nothing that is not there, and adds up to what there was.
 *
 * Each three bytes are a node or a value: see LLVMFuzzerTestOneInput. The binary is that of
 * gpu_fixture.h, under the name in GPU_CALLS_BINARY.
 */
#include "aggregate/gpu_context/gpu_calls.h"
#include "gpu_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { METRICS = 3, NODES_MAX = 400, VALUES_MAX = 800 };

static char path[64], text[96];
static uint32_t offsets[4];

/* String 0 is the binary's path, 1 a kernel's name, 2 that of none. */
static struct sn_measurement_strings write_binary(void)
{
	static const char names[] = "outernobody";
	if (!*path) {
		size_t bytes;
		uint8_t *image = gpu_fixture_cubin(80, &bytes);
		snprintf(path, sizeof(path), "/tmp/fuzz-gpu-calls-%d", (int)getpid());
		FILE *file = fopen(path, "wbe");
		if (!file || fwrite(image, 1, bytes, file) != bytes || fclose(file))
			abort();
		free(image);
		offsets[1] = (uint32_t)strlen(path);
		offsets[2] = offsets[1] + 5;
		offsets[3] = offsets[2] + 6;
		snprintf(text, sizeof(text), "%s%s", path, names);
	}
	return (struct sn_measurement_strings){3, offsets, text};
}

/* Parents come before their children, as a reader has checked. */
static struct sn_node_record make_node(const uint8_t *bytes, uint32_t count)
{
	struct sn_node_record node = {.parent = bytes[1] % count};
	if (bytes[0] & 2) {
		node.frame.kind = SN_FRAME_GPU_INSTRUCTION;
		node.frame.id = bytes[0] & 4 ? 1 : 0;
		node.frame.value = (bytes[0] & 8 ? GPU_FIXTURE_SECOND : GPU_FIXTURE_OUTER) +
				   (uint64_t)bytes[2] * (bytes[0] & 16 ? 1 : 16);
	} else {
		node.frame.kind = bytes[0] & 4 ? SN_FRAME_KERNEL : SN_FRAME_GPU_OP;
		node.frame.id = 1 + (bytes[0] >> 3) % 2;
	}
	return node;
}

static struct sn_value_record make_value(const uint8_t *bytes, uint32_t nodes)
{
	uint64_t count = (bytes[0] & 64 ? 1ull << 50 : 1) * (1 + (bytes[2] & 31));
	uint64_t sum = count * (bytes[2] >> 5);
	return (struct sn_value_record){.node = bytes[1] % nodes,
					.metric = (bytes[0] >> 2) % METRICS,
					.count = count,
					.sum = sum,
					.min = bytes[2] >> 5,
					.max = bytes[2] >> 5,
					.sum_squares = (double)sum * (bytes[2] >> 5)};
}

static void check(const struct sn_measurement_thread *before,
		  const struct sn_measurement_thread *after)
{
	uint64_t counts[METRICS] = {0}, sums[METRICS] = {0};
	double squares[METRICS] = {0}, all[METRICS] = {0};
	for (uint32_t i = 1; i < after->node_count; i++)
		if (after->nodes[i].parent >= i)
			abort();
	for (size_t i = 0; i < before->value_count; i++) {
		const struct sn_value_record *value = &before->values[i];
		counts[value->metric] += value->count;
		sums[value->metric] += value->sum;
		all[value->metric] += value->sum_squares;
	}
	for (size_t i = 0; i < after->value_count; i++) {
		const struct sn_value_record *value = &after->values[i];
		if (value->node >= after->node_count || value->count == 0)
			abort();
		counts[value->metric] -= value->count;
		sums[value->metric] -= value->sum;
		squares[value->metric] += value->sum_squares;
	}
	for (int i = 0; i < METRICS; i++)
		if (counts[i] || sums[i] || fabs(squares[i] - all[i]) > 1e-9 * all[i])
			abort();
}

/* A byte tells what the next two are of: a node and its parent, or a value and its node. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_measurement measurement = {.strings = write_binary(), .metric_count = METRICS};
	struct sn_module_record modules[2] = {{.path = 0}, {.path = 0, .build_id_bytes = 20}};
	struct sn_node_record nodes[NODES_MAX] = {{.frame = {.kind = SN_FRAME_THREAD}}};
	struct sn_value_record values[VALUES_MAX];
	struct sn_measurement_thread thread = {
	    .strings = measurement.strings, .nodes = nodes, .values = values, .node_count = 1};
	struct sn_gpu_calls calls = {0};
	struct sn_gpu_called called;
	measurement.modules = modules;
	measurement.module_count = 2;
	for (; size >= 3; data += 3, size -= 3) {
		if (data[0] & 1 && thread.node_count < NODES_MAX) {
			nodes[thread.node_count] = make_node(data, thread.node_count);
			thread.node_count++;
		} else if (!(data[0] & 1) && thread.value_count < VALUES_MAX) {
			values[thread.value_count++] = make_value(data, thread.node_count);
		}
	}
	if (sn_gpu_calls_apply(&calls, &measurement, &thread, &called) != 0)
		abort();
	if (called.is_changed)
		check(&thread, &called.thread);
	sn_gpu_called_release(&called);
	sn_gpu_calls_release(&calls);
	return 0;
}
