/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long trace of a device like a real one, for `sonde variability`. Usage:
 *     bench-launches MODEL MILLIONS SEED FILE
 *
 * MODEL is what bench/variability_model.py takes from a recorded trace: operations (kernels with a configuration, copies by direction, fills),
 * of each the quantiles of its duration and of the time to the start of the next operation, and how often which one came next. The trace is a
 * walk over these: a first-order Markov chain. Operations of a stream do not overlap.
 */
#include "format/measurement/measurement.h"
#include "trace/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN_NS  UINT64_C(1700000000000000000)
#define QUANTILES 33
#define SIZES	  9 /* grid, block, shared memory, registers, bytes */
#define MOST	  1024

struct operation {
	uint32_t context, stream;
	bool is_kernel;
	uint64_t sizes[SIZES];
	uint64_t duration_ns[QUANTILES], gap_ns[QUANTILES];
	uint32_t next[MOST], next_count;
	double next_until[MOST]; /* parts, added up */
};

struct made {
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	struct operation *operations;
	uint32_t count, streams[MOST], keys[SIZES];
	uint64_t stream_end_ns[MOST], random;
};

static void fail(const char *why)
{
	fprintf(stderr, "bench-launches: %s\n", why);
	exit(1);
}

/* ---- the model ---- */

static uint64_t number(char **line)
{
	char *end;
	uint64_t value = strtoull(*line, &end, 10);
	if (end == *line)
		fail("the model is damaged");
	*line = end;
	return value;
}

static uint32_t add_context(struct made *made, unsigned kind, const char *name)
{
	struct sonde_db_frame frame = {.kind = (uint8_t)kind,
				       .name = sn_db_builder_string(made->builder, name),
				       .linkage_name = SONDE_NONE,
				       .module = SONDE_NONE,
				       .file = SONDE_NONE};
	return sn_db_builder_context(made->builder, 0, sn_db_builder_frame(made->builder, &frame));
}

static void add_metric(struct made *made, const char *name, uint32_t stream, uint32_t context)
{
	struct sonde_db_metric metric = {.name = sn_db_builder_string(made->builder, name),
					 .unit = sn_db_builder_string(made->builder, "ns"),
					 .source = sn_db_builder_string(made->builder, "bench"),
					 .kind = SN_METRIC_TIME};
	struct sonde_db_stat one = {1, 1, 1, 1, 1};
	sn_db_builder_value(made->builder, made->streams[stream], context,
			    sn_db_builder_metric(made->builder, &metric), &one);
}

static void add_stream(struct made *made, uint32_t stream)
{
	uint32_t text = sn_db_builder_string(made->builder, "bench");
	struct sonde_db_profile profile = {.host = text,
					   .program = text,
					   .thread = SONDE_NONE,
					   .rank = -1,
					   .pid = 1,
					   .tid = stream,
					   .kind = SONDE_PROFILE_STREAM,
					   .stream = stream};
	if (stream >= MOST)
		fail("the model has too many streams");
	if (made->streams[stream] == SONDE_NONE)
		made->streams[stream] = sn_db_builder_profile(made->builder, &profile);
}

/* "kernel|copy|fill STREAM SIZES... DURATIONS... GAPS... COUNT (NEXT TIMES)... NAME" */
static void read_operation(struct made *made, char *line)
{
	struct operation *one = &made->operations[made->count++];
	char *at = line + strcspn(line, " ");
	double all = 0;
	one->is_kernel = *line == 'k';
	one->stream = (uint32_t)number(&at);
	add_stream(made, one->stream);
	for (int size = 0; size < SIZES; size++)
		one->sizes[size] = number(&at);
	for (int quantile = 0; quantile < QUANTILES; quantile++)
		one->duration_ns[quantile] = number(&at);
	for (int quantile = 0; quantile < QUANTILES; quantile++)
		one->gap_ns[quantile] = number(&at);
	one->next_count = (uint32_t)number(&at);
	for (uint32_t next = 0; next < one->next_count && next < MOST; next++) {
		one->next[next] = (uint32_t)number(&at);
		one->next_until[next] = all += (double)number(&at);
	}
	for (uint32_t next = 0; next < one->next_count; next++)
		one->next_until[next] /= all;
	at++;
	at[strcspn(at, "\n")] = 0;
	one->context = add_context(made, one->is_kernel ? SN_FRAME_KERNEL : SN_FRAME_GPU_OP, at);
	add_metric(made,
		   one->is_kernel ? "kernel-time"
		   : *line == 'c' ? "copy-time"
				  : "fill-time",
		   one->stream, one->context);
}

static void read_model(struct made *made, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t capacity = 0;
	if (!file)
		fail("cannot open the model");
	while (getline(&line, &capacity, file) > 0 && made->count < MOST)
		read_operation(made, line);
	free(line);
	fclose(file);
	if (!made->count)
		fail("the model is empty");
}

/* ---- the walk ---- */

static double random_part(struct made *made)
{
	made->random ^= made->random << 13;
	made->random ^= made->random >> 7;
	made->random ^= made->random << 17;
	return (double)(made->random >> 11) * 0x1p-53;
}

static uint64_t random_value(struct made *made, const uint64_t quantiles[QUANTILES])
{
	double place = random_part(made) * (QUANTILES - 1);
	unsigned below = (unsigned)place;
	double low = (double)quantiles[below], high = (double)quantiles[below + 1];
	return (uint64_t)(low + (place - below) * (high - low) + 0.5);
}

static uint32_t random_next(struct made *made, const struct operation *one)
{
	double part = random_part(made);
	uint32_t next = 0;
	while (next + 1 < one->next_count && one->next_until[next] <= part)
		next++;
	return one->next[next];
}

static void add_event(struct made *made, const struct operation *one, uint64_t start_ns,
		      uint64_t length_ns)
{
	struct sn_attribute attributes[SIZES];
	struct sn_event event = {.start_ns = start_ns,
				 .end_ns = start_ns + length_ns,
				 .profile = made->streams[one->stream],
				 .context = one->context,
				 .metric = SONDE_NONE,
				 .kind = SONDE_TRACK_INTERVALS,
				 .attributes = attributes};
	int first = one->is_kernel ? 0 : SIZES - 1, end = one->is_kernel ? SIZES - 1 : SIZES;
	for (int size = first; size < end; size++)
		attributes[event.attribute_count++] =
		    (struct sn_attribute){made->keys[size], 0, one->sizes[size]};
	sn_trace_writer_add(made->writer, &event);
}

static void walk(struct made *made, uint64_t rows)
{
	uint64_t start_ns = BEGIN_NS;
	uint32_t current = 0;
	for (uint64_t row = 0; row < rows; row++) {
		const struct operation *one = &made->operations[current];
		uint64_t free_ns = made->stream_end_ns[one->stream];
		uint64_t length_ns = random_value(made, one->duration_ns);
		start_ns = start_ns < free_ns ? free_ns : start_ns;
		add_event(made, one, start_ns, length_ns);
		made->stream_end_ns[one->stream] = start_ns + length_ns;
		start_ns += random_value(made, one->gap_ns);
		current = random_next(made, one);
	}
}

int main(int argc, char **argv)
{
	static const char *const keys[SIZES] = {
	    "grid.x",  "grid.y",  "grid.z",	   "block.x",
	    "block.y", "block.z", "shared memory", "registers per thread",
	    "bytes"};
	struct made made = {.builder = sn_db_builder_new(),
			    .writer = sn_trace_writer_new(0, NULL),
			    .operations = calloc(MOST, sizeof(struct operation))};
	struct sn_error error = {""};
	if (argc != 5) {
		fprintf(stderr, "usage: %s MODEL MILLIONS SEED FILE\n", argv[0]);
		return 2;
	}
	if (!made.builder || !made.writer || !made.operations)
		fail("out of memory");
	memset(made.streams, 0xff, sizeof(made.streams));
	made.random = strtoull(argv[3], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	sn_trace_writer_attach(made.writer, made.builder);
	for (int size = 0; size < SIZES; size++)
		made.keys[size] =
		    sn_trace_writer_key(made.writer, sn_db_builder_string(made.builder, keys[size]),
					SONDE_NONE, SONDE_ATTRIBUTE_SIGNED);
	read_model(&made, argv[1]);
	walk(&made, (uint64_t)(atof(argv[2]) * 1e6));
	if (sn_db_builder_write(made.builder, argv[4], &error))
		fail(error.text);
	sn_db_builder_free(made.builder);
	free(made.operations);
	return 0;
}
