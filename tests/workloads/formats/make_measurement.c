/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a measurement file to try analysis on: a small one with every kind of frame, or a large one
 * of made-up contexts. Its modules do not exist, so native frames are named by module and offset.
 *
 *	make-measurement OUT.sonde-process [CONTEXTS]
 */
#include "../../unit/measurement_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void add_every_kind(struct measurement_fixture *fixture)
{
	uint32_t code = measurement_fixture_code(fixture, 0, "/src/train.py", "train", 10);
	uint32_t node = measurement_fixture_node(
	    fixture, 0, 0, (struct sn_frame){.kind = SN_FRAME_PYTHON, .id = code, .value = 12});
	measurement_fixture_two_values(fixture, 0, node, 0, 3000000, 5000000);
	for (unsigned kind = SN_FRAME_OPERATOR; kind < SN_FRAME_KIND_COUNT; kind++) {
		char name[32];
		snprintf(name, sizeof(name), "frame of kind %u", kind);
		struct sn_frame native = {.kind = SN_FRAME_NATIVE,
					  .flags = SN_FRAME_RETURN_ADDRESS | SN_FRAME_TRUNCATED,
					  .value = 0x1234};
		native.kind = (uint8_t)kind;
		if (kind == SN_FRAME_NATIVE || kind == SN_FRAME_GPU_INSTRUCTION)
			node = measurement_fixture_node(fixture, 0, node, native);
		else
			node = measurement_fixture_named(fixture, 0, node, kind,
							 kind % 3 ? 0 : SN_FRAME_BACKWARD, name);
		measurement_fixture_value(fixture, 0, node, kind % 2, 2, 5000000);
	}
	/* code in no module */
	measurement_fixture_node(fixture, 0, node,
				 (struct sn_frame){.kind = SN_FRAME_NATIVE, .id = SN_ID_NONE});
}

static void add_many(struct measurement_fixture *fixture, uint32_t contexts)
{
	uint64_t random = 1;
	for (uint32_t i = 1; i < contexts; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		uint32_t high = (uint32_t)(random >> 40);
		uint32_t parent = i % 60 == 0 ? 0 : high % 4 ? i - 1 : high % i;
		struct sn_frame frame = {.kind = SN_FRAME_NATIVE, .value = high % 20000 * 4};
		if (i % 2) {
			char name[32];
			snprintf(name, sizeof(name), "function_%u", high % 3000);
			frame.kind = SN_FRAME_PYTHON;
			frame.id = measurement_fixture_code(fixture, 0, "/src/big.py", name, 1);
			frame.value = high % 50;
		}
		uint32_t node = measurement_fixture_node(fixture, 0, parent, frame);
		measurement_fixture_value(fixture, 0, node, 0, 1 + high % 5, 5000000);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: make-measurement OUT.sonde-process [CONTEXTS]\n");
		return 129;
	}
	struct measurement_fixture *fixture = measurement_fixture_new();
	measurement_fixture_property(fixture, "program=/usr/bin/python3");
	measurement_fixture_property(fixture, "command=python3 train.py");
	measurement_fixture_property(fixture, "host=node0");
	measurement_fixture_property(fixture, "pid=4000");
	measurement_fixture_property(fixture, "rank=0");
	measurement_fixture_property(fixture, "start_realtime_ns=1700000000000000000");
	measurement_fixture_property(fixture, "duration_ns=600000000");
	measurement_fixture_property(fixture, "adapter.python=CPython 3.11.2");
	measurement_fixture_metric(fixture, "cpu-time", "ns", SN_METRIC_TIME, 5000000);
	measurement_fixture_metric(fixture, "gpu-time", "ns", SN_METRIC_TIME, 0);
	measurement_fixture_module(fixture, "/gone/libgone.so", 0x7f0000000000, "\1\2\3\4", 4);
	measurement_fixture_drop(fixture, "sample-busy", 3);
	struct sn_thread_record thread = {.tid = 4000, .end_ns = 600000000, .samples = 100};
	measurement_fixture_thread(fixture, "main", thread);
	if (argc > 2)
		add_many(fixture, (uint32_t)strtoul(argv[2], NULL, 10));
	else
		add_every_kind(fixture);
	unlink(argv[1]);
	measurement_fixture_commit(fixture, argv[1], true);
	measurement_fixture_free(fixture);
	return 0;
}
