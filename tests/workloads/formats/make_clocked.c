/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose durations follow from the clock frequency of their device, which a counter tells:
 *
 *	make-clocked OUT.sdb METRIC UNIT PER_UNIT DEVICES > ROWS
 *
 * The counter METRIC has Hz / PER_UNIT from 3 ms on, at each ms; beside it the memory's clock is counted. Device 1 of 2 has no counter. A row: "DEVICE START
 * DURATION HZ", HZ empty where no counter tells it.
 */
#include "format/measurement/measurement.h"
#include "trace/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MILLISECONDS = 2000, COUNTED_FROM = 3, LAUNCHES = 5 /* of a device in each ms */ };
#define BEGIN_NS UINT64_C(1700000000000000000)
#define NS_OF_MS UINT64_C(1000000)

struct made {
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	uint32_t devices, profiles[2], kernel, clock, memory_clock, whole, real;
	double per_unit;
	uint64_t random;
};

static double random_part(struct made *made)
{
	made->random = made->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(made->random >> 11) * 0x1p-53;
}

static uint32_t text(struct made *made, const char *value)
{
	return sn_db_builder_string(made->builder, value);
}

static uint32_t add_metric(struct made *made, const char *name, const char *unit, unsigned kind)
{
	struct sonde_db_metric metric = {text(made, name), text(made, unit), text(made, "made"),
					 kind, 0};
	return sn_db_builder_metric(made->builder, &metric);
}

static void prepare(struct made *made, const char *metric, const char *unit)
{
	struct sonde_db_frame frame = {.kind = SN_FRAME_KERNEL,
				       .name = text(made, "paced_kernel"),
				       .linkage_name = SONDE_NONE,
				       .module = SONDE_NONE,
				       .file = SONDE_NONE};
	made->kernel =
	    sn_db_builder_context(made->builder, 0, sn_db_builder_frame(made->builder, &frame));
	made->clock = add_metric(made, metric, unit, SN_METRIC_COUNT);
	made->memory_clock =
	    add_metric(made, "dram__cycles_elapsed.avg.per_second", "cycle/s", SN_METRIC_COUNT);
	made->whole = sn_trace_writer_key(made->writer, text(made, "value"), SONDE_NONE,
					  SONDE_ATTRIBUTE_SIGNED);
	made->real = sn_trace_writer_key(made->writer, text(made, "value"), SONDE_NONE,
					 SONDE_ATTRIBUTE_REAL);
	uint32_t time = add_metric(made, "kernel-time", "ns", SN_METRIC_TIME);
	for (uint32_t device = 0; device < made->devices; device++) {
		struct sonde_db_profile profile = {.host = text(made, "host"),
						   .program = text(made, "paced"),
						   .thread = SONDE_NONE,
						   .rank = -1,
						   .pid = 7,
						   .tid = device,
						   .kind = SONDE_PROFILE_STREAM,
						   .device = device,
						   .stream = 7};
		struct sonde_db_stat one = {1, 1, 1, 1, 1};
		made->profiles[device] = sn_db_builder_profile(made->builder, &profile);
		sn_db_builder_value(made->builder, made->profiles[device], made->kernel, time,
				    &one);
	}
}

static void count(struct made *made, uint32_t metric, uint64_t start_ns, double value)
{
	/* whole values as such, others as fractions */
	struct sn_attribute attribute = {made->whole, 0, (uint64_t)(int64_t)value};
	if (value != floor(value)) {
		attribute.key = made->real;
		__builtin_memcpy(&attribute.value, &value, sizeof(value));
	}
	struct sn_event event = {.start_ns = start_ns,
				 .end_ns = start_ns,
				 .profile = made->profiles[0],
				 .metric = metric,
				 .kind = SONDE_TRACK_COUNTER,
				 .attributes = &attribute,
				 .attribute_count = 1};
	sn_trace_writer_add(made->writer, &event);
}

static void launch(struct made *made, uint32_t device, uint64_t start_ns, double hz, bool is_told)
{
	double cycles = 50000 * (1 + 0.02 * random_part(made));
	uint64_t length_ns = (uint64_t)(cycles / hz * 1e9);
	struct sn_event event = {.start_ns = start_ns,
				 .end_ns = start_ns + length_ns,
				 .profile = made->profiles[device],
				 .context = made->kernel,
				 .metric = SONDE_NONE,
				 .kind = SONDE_TRACK_INTERVALS};
	sn_trace_writer_add(made->writer, &event);
	printf("%u %llu %llu ", device, (unsigned long long)(start_ns - BEGIN_NS),
	       (unsigned long long)length_ns);
	if (is_told)
		printf("%.17g", hz);
	putchar('\n');
}

static void make(struct made *made)
{
	double hz[2] = {1.4e9, 1.4e9};
	for (uint64_t ms = 0; ms < MILLISECONDS; ms++) {
		uint64_t now_ns = BEGIN_NS + ms * NS_OF_MS;
		for (int device = 0; device < 2; device++) {
			hz[device] += (random_part(made) - 0.5) * 1e8;
			hz[device] = fmin(fmax(hz[device], 1.0e9), 1.8e9);
		}
		if (ms >= COUNTED_FROM) {
			count(made, made->clock, now_ns, hz[0] / made->per_unit);
			count(made, made->memory_clock, now_ns, 5e9);
		}
		for (uint32_t i = 0; i < made->devices * LAUNCHES; i++) {
			uint32_t device = i % made->devices;
			launch(made, device, now_ns + i / made->devices * 150000 + 10, hz[device],
			       !device && ms >= COUNTED_FROM);
		}
	}
}

int main(int argc, char **argv)
{
	struct made made = {
	    .builder = sn_db_builder_new(), .writer = sn_trace_writer_new(0, NULL), .random = 3};
	struct sn_error error = {""};
	if (argc != 6 || !made.builder || !made.writer)
		return 2;
	made.per_unit = atof(argv[4]);
	made.devices = argv[5][0] == '1' ? 1 : 2;
	sn_trace_writer_attach(made.writer, made.builder);
	prepare(&made, argv[2], argv[3]);
	make(&made);
	if (sn_db_builder_write(made.builder, argv[1], &error)) {
		fprintf(stderr, "make-clocked: %s\n", error.text);
		return 1;
	}
	sn_db_builder_free(made.builder);
	return 0;
}
