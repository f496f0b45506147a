/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stored event costs, how fast events are sorted, matched to lanes and written, and how long
 * a window takes to draw. Usage: trace FILE [MILLIONS] [MEMORY_MIB]
 *
 * Half of the events are kernels of 50 streams, each with a link and a context, completed a little
 * out of order; half are call-path samples of 50 threads at 1 kHz. The database stays at FILE.
 */
#include "trace/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define ROWS	 100u
#define CONTEXTS 5000u
#define PIXELS	 2000u

static uint64_t state = 88172645463325252u;

static uint32_t random_below(uint32_t bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * bound >> 32);
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void add_profiles(struct sn_db_builder *builder)
{
	uint32_t text = sn_db_builder_string(builder, "bench");
	for (unsigned i = 0; i < ROWS; i++) {
		struct sonde_db_profile profile = {
		    .host = text,
		    .program = text,
		    .thread = SONDE_NONE,
		    .rank = -1,
		    .tid = i,
		    .kind = i % 2,
		    .device = 0,
		    .stream = i,
		};
		sn_db_builder_profile(builder, &profile);
	}
}

/* A tree of some depth, as real programs have. */
static void add_contexts(struct sn_db_builder *builder, uint32_t *contexts)
{
	contexts[0] = 0;
	for (unsigned i = 1; i < CONTEXTS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "function_%u", i);
		uint32_t frame = sn_db_builder_named_frame(builder, 6, name);
		contexts[i] = sn_db_builder_context(
		    builder, contexts[i > 8 ? i - 8 + random_below(8) : i - 1], frame);
	}
}

/* Streams run the same kernels again and again; threads stay near where they were. */
static struct sn_event make_event(const uint32_t *contexts, uint64_t number, uint64_t *times)
{
	unsigned row = (unsigned)(number % ROWS);
	struct sn_event event = {.profile = row, .metric = SONDE_NONE};
	if (row % 2) {
		uint64_t start = times[row] + 500 + random_below(1500);
		event.kind = SONDE_TRACK_INTERVALS;
		event.context = contexts[(number / ROWS * 7 + row) % 60 * 80];
		event.link = number / 2 * 3 + random_below(3) + 1;
		event.end_ns = start + 2000 + random_below(60000);
		event.start_ns = start;
		times[row] = event.end_ns;
	} else {
		event.kind = SONDE_TRACK_SAMPLES;
		times[row] += 1000000 + random_below(20000);
		event.start_ns = event.end_ns = times[row];
		event.context = contexts[row * 40 + random_below(30)];
	}
	return event;
}

static void start_over(uint64_t *times)
{
	state = 88172645463325252u;
	for (unsigned i = 0; i < ROWS; i++)
		times[i] = 1700000000000000000u;
}

/* What making the events costs by itself. */
static double time_making(const uint32_t *contexts, uint64_t count)
{
	static volatile uint64_t kept __attribute__((unused));
	uint64_t times[ROWS], sum = 0;
	double begin = now();
	start_over(times);
	for (uint64_t i = 0; i < count; i++) {
		struct sn_event event = make_event(contexts, i, times);
		sum += event.start_ns + event.end_ns + event.link + event.context;
	}
	kept = sum;
	return now() - begin;
}

static void report_bytes(const struct sonde_trace *trace, const char *path)
{
	struct stat about;
	stat(path, &about);
	printf("events %llu, file %.1f MB, %.2f bytes an event\n",
	       (unsigned long long)sonde_trace_event_count(trace), (double)about.st_size / 1e6,
	       (double)about.st_size / (double)sonde_trace_event_count(trace));
}

/* The whole trace, a half, a quarter, ...: all rows of each. */
static void draw(const struct sonde_trace *trace)
{
	static struct sonde_pixel pixels[PIXELS];
	uint64_t start = UINT64_MAX, end = 0;
	uint32_t count = sonde_trace_track_count(trace);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		start = track->start_ns < start ? track->start_ns : start;
		end = track->end_ns > end ? track->end_ns : end;
	}
	for (uint64_t length = end - start; length > 100000; length /= 2) {
		uint64_t from = start + (end - start - length) / 3;
		double begin = now(), busy = 0;
		for (uint32_t i = 0; i < count; i++) {
			if (sonde_trace_draw(trace, i, from, from + length, pixels, PIXELS, NULL))
				exit(1);
			busy += pixels[PIXELS / 2].busy;
		}
		printf("window %10.6f s, %u rows x %u pixels: %6.1f ms (%.1f rows busy)\n",
		       1e-9 * (double)length, count, PIXELS, 1e3 * (now() - begin), busy);
	}
}

/* Every event once, as an analysis reads them. */
static void read_all(const struct sonde_trace *trace)
{
	double begin = now();
	uint64_t events = 0, time = 0;
	for (uint32_t i = 0; i < sonde_trace_track_count(trace); i++) {
		struct sonde_event_cursor *cursor =
		    sonde_event_cursor_new(trace, i, 0, UINT64_MAX, SONDE_EVENTS_BRIEF);
		struct sonde_event_block block;
		while (sonde_event_cursor_next(cursor, &block, NULL) == 1) {
			for (size_t k = 0; k < block.count; k++)
				time += block.ends_ns[k] - block.starts_ns[k];
			events += block.count;
		}
		sonde_event_cursor_free(cursor);
	}
	printf("read %.1f million events/s (%.3f s busy)\n",
	       1e-6 * (double)events / (now() - begin), 1e-9 * (double)time);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: trace FILE [MILLIONS] [MEMORY_MIB]\n");
		return 129;
	}
	uint64_t count = (argc > 2 ? strtoull(argv[2], NULL, 10) : 10) * 1000000;
	size_t memory = argc > 3 ? strtoull(argv[3], NULL, 10) << 20 : 0;
	static uint32_t contexts[CONTEXTS];
	uint64_t times[ROWS];
	struct sn_error error = {""};
	struct sn_db_builder *builder = sn_db_builder_new();
	struct sn_trace_writer *writer = sn_trace_writer_new(memory, NULL);
	add_profiles(builder);
	add_contexts(builder, contexts);
	double making = time_making(contexts, count);
	start_over(times);
	double begin = now();
	for (uint64_t i = 0; i < count; i++) {
		struct sn_event event = make_event(contexts, i, times);
		sn_trace_writer_add(writer, &event);
	}
	double added = now();
	sn_trace_writer_attach(writer, builder);
	if (sn_db_builder_write(builder, argv[1], &error)) {
		fprintf(stderr, "trace: %s\n", error.text);
		return 128;
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	double taken = now() - begin - making;
	printf("added in %.1f s (and %.1f s to make them), sorted and written in %.1f s: "
	       "%.1f million events/s; %ld MiB\n",
	       added - begin - making, making, now() - added, 1e-6 * (double)count / taken,
	       usage.ru_maxrss >> 10);
	sn_db_builder_free(builder);
	struct sonde_db *db;
	struct sonde_trace *trace;
	struct sonde_db_error why;
	if (sonde_db_open(argv[1], &db, &why) || sonde_trace_open(db, &trace, &why)) {
		fprintf(stderr, "trace: %s\n", why.text);
		return 128;
	}
	report_bytes(trace, argv[1]);
	draw(trace);
	read_all(trace);
	sonde_trace_close(trace);
	sonde_db_close(db);
	return 0;
}
