/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long trace for `sonde timeline`: how its memory and time grow with events. Usage:
 *     bench-timeline FILE MILLIONS
 *
 * Two threads of a process, each with operators in operators that launch on a stream of its own of
 * one device; nearly every operation is followed by a gap of the device, the worst case for idle
 * time. Of nine events two are operators, two calls, two operations, and one in nine allocates or
 * releases memory; every 400 launches are a step, every 50th operation is a copy.
 */
#include "format/measurement/measurement.h"
#include "trace/writer.h"

#include <stdio.h>
#include <stdlib.h>

#define BEGIN_NS UINT64_C(1700000000000000000)
#define OPS	 40u
#define THREADS	 2u
#define STEP	 400u

struct made {
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	uint32_t threads[THREADS], streams[THREADS], step;
	uint32_t outer[OPS], inner[OPS], launch[OPS], kernel[OPS], copy_call, copy;
	uint32_t bytes, address;
};

static uint32_t context(struct made *made, uint32_t parent, unsigned kind, unsigned flags,
			const char *format, unsigned number)
{
	char name[64];
	snprintf(name, sizeof(name), format, number);
	struct sonde_db_frame frame = {.kind = (uint8_t)kind,
				       .flags = (uint8_t)flags,
				       .name = sn_db_builder_string(made->builder, name),
				       .linkage_name = SONDE_NONE,
				       .module = SONDE_NONE,
				       .file = SONDE_NONE};
	return sn_db_builder_context(made->builder, parent,
				     sn_db_builder_frame(made->builder, &frame));
}

static void add_contexts(struct made *made)
{
	made->step = context(made, 0, SN_FRAME_REGION, SN_FRAME_ITERATION, "step", 0);
	for (unsigned i = 0; i < OPS; i++) {
		made->outer[i] =
		    context(made, made->step, SN_FRAME_OPERATOR, 0, "aten::outer%u", i);
		made->inner[i] =
		    context(made, made->outer[i], SN_FRAME_OPERATOR, 0, "aten::inner%u", i);
		made->launch[i] =
		    context(made, made->inner[i], SN_FRAME_GPU_API, 0, "cudaLaunchKernel", i);
		made->kernel[i] = context(made, made->launch[i], SN_FRAME_KERNEL, 0, "kernel%u", i);
	}
	made->copy_call = context(made, made->inner[0], SN_FRAME_GPU_API, 0, "cudaMemcpyAsync", 0);
	made->copy = context(made, made->copy_call, SN_FRAME_GPU_OP, 0, "Memcpy HtoD", 0);
}

static void add_profiles(struct made *made)
{
	struct sonde_db_metric metric = {.name = sn_db_builder_string(made->builder, "copy-time"),
					 .unit = sn_db_builder_string(made->builder, "ns"),
					 .source = sn_db_builder_string(made->builder, "bench"),
					 .kind = SN_METRIC_TIME};
	struct sonde_db_stat one = {1, 1, 1, 1, 1};
	uint32_t text = sn_db_builder_string(made->builder, "bench");
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		struct sonde_db_profile profile = {.host = text,
						   .program = text,
						   .thread = SONDE_NONE,
						   .rank = -1,
						   .pid = 1,
						   .tid = i,
						   .kind = i / THREADS,
						   .stream = i};
		uint32_t number = sn_db_builder_profile(made->builder, &profile);
		(i / THREADS ? made->streams : made->threads)[i % THREADS] = number;
	}
	sn_db_builder_value(made->builder, made->streams[0], made->copy,
			    sn_db_builder_metric(made->builder, &metric), &one);
	made->bytes =
	    sn_trace_writer_key(made->writer, sn_db_builder_string(made->builder, "bytes"),
				SONDE_NONE, SONDE_ATTRIBUTE_SIGNED);
	made->address =
	    sn_trace_writer_key(made->writer, sn_db_builder_string(made->builder, "Addr"),
				SONDE_NONE, SONDE_ATTRIBUTE_SIGNED);
}

static void add(struct made *made, uint32_t profile, uint32_t of, uint64_t start, uint64_t length,
		uint64_t link)
{
	struct sn_attribute size = {made->bytes, 0, 1 << 16};
	struct sn_event event = {.start_ns = BEGIN_NS + start,
				 .end_ns = BEGIN_NS + start + length,
				 .link = link,
				 .profile = profile,
				 .context = of,
				 .metric = SONDE_NONE,
				 .kind = SONDE_TRACK_INTERVALS,
				 .attribute_count = of == made->copy,
				 .attributes = &size};
	sn_trace_writer_add(made->writer, &event);
}

static void allocate(struct made *made, unsigned thread, unsigned op, uint64_t time,
		     uint64_t number)
{
	struct sn_attribute attributes[] = {
	    {made->bytes, 0, (uint64_t)(number % 2 ? -4096 : 4096)},
	    {made->address, 0, 4096 * (thread + THREADS * (number / 2 % 64))}};
	struct sn_event event = {.start_ns = BEGIN_NS + time,
				 .end_ns = BEGIN_NS + time,
				 .profile = made->threads[thread],
				 .context = made->inner[op],
				 .metric = SONDE_NONE,
				 .kind = SONDE_TRACK_INSTANTS,
				 .attribute_count = 2,
				 .attributes = attributes};
	sn_trace_writer_add(made->writer, &event);
}

static uint64_t state = 88172645463325252u;

static uint32_t random_below(uint32_t bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * bound >> 32);
}

/* One operator, what it calls, and what that starts on the device. */
static void add_launch(struct made *made, uint64_t number)
{
	unsigned thread = (unsigned)(number % THREADS), op = random_below(OPS);
	uint64_t at = 10000 * (number / THREADS) + 4000 * thread + random_below(500);
	bool is_copy = number % 50 == 49;
	op = is_copy ? 0 : op;
	add(made, made->threads[thread], made->outer[op], at, 8500, 0);
	add(made, made->threads[thread], made->inner[op], at + 1000, 6500, 0);
	add(made, made->threads[thread], is_copy ? made->copy_call : made->launch[op], at + 2000,
	    3000 + random_below(500), number + 1);
	add(made, made->streams[thread], is_copy ? made->copy : made->kernel[op],
	    at + 8000 + random_below(900), 1000 + random_below(2500), number + 1);
	if (number / THREADS % 2)
		allocate(made, thread, op, at + 1500, number / THREADS / 2);
}

int main(int argc, char **argv)
{
	struct made made = {.builder = sn_db_builder_new(), .writer = sn_trace_writer_new(0, NULL)};
	struct sn_error error = {""};
	if (argc != 3 || !made.builder || !made.writer) {
		fprintf(stderr, "usage: %s FILE MILLIONS\n", argv[0]);
		return 2;
	}
	sn_trace_writer_attach(made.writer, made.builder);
	add_contexts(&made);
	add_profiles(&made);
	uint64_t count = (uint64_t)(atof(argv[2]) * 1e6 / 4.5);
	for (uint64_t i = 0; i < count; i++) {
		if (i % STEP == 0)
			add(&made, made.threads[0], made.step, 10000 * (i / THREADS),
			    10000 * (STEP / THREADS) - 100, 0);
		add_launch(&made, i);
	}
	if (sn_db_builder_write(made.builder, argv[1], &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	sn_db_builder_free(made.builder);
	return 0;
}
