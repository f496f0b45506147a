/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made-up traces of a few ranks, threads, streams and processors, as analysed by `sonde timeline`:
 * whatever happened when, parts must add up to their whole, and no time is negative or more than
 * there was. Each eight bytes of an input are an event; see make_event and fuzz.sh.
 */
#include "trace_fixture.h"

#include "show/timeline/views.h"
#include "timeline/path/critical_path.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/threads/activity_samples.h"
#include "timeline/memory/memory.h"
#include "timeline/devices/queue.h"
#include "timeline/threads/thread_states.h"
#include "format/measurement/measurement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RANKS = 3, THREADS = 2, STREAMS = 3, EVENTS_MAX = 400, CONTEXTS = 24 };
#define BEGIN_NS UINT64_C(1700000000000000000)

/* Ends where something that always holds does not. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct made {
	struct trace_fixture fixture;
	uint32_t threads[RANKS][THREADS], streams[RANKS][STREAMS], processor;
	uint32_t host[CONTEXTS], device[CONTEXTS], states[CONTEXTS];
	unsigned host_count, device_count, state_count;
};

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b)) + 1e-3;
}

/* ---- making a trace ---- */

static void make_host_contexts(struct made *made)
{
	struct trace_fixture *f = &made->fixture;
	uint32_t main = trace_fixture_context(f, 0, SN_FRAME_PYTHON, 0, "main");
	uint32_t mm = trace_fixture_context(f, main, SN_FRAME_OPERATOR, 0, "aten::mm");
	uint32_t launch = trace_fixture_context(f, mm, SN_FRAME_GPU_API, 0, "cudaLaunchKernel");
	uint32_t copy = trace_fixture_context(f, main, SN_FRAME_GPU_API, 0, "cudaMemcpyAsync");
	uint32_t contexts[] = {
	    main,
	    mm,
	    launch,
	    copy,
	    trace_fixture_context(f, main, SN_FRAME_OPERATOR, 0, "aten::relu"),
	    trace_fixture_context(f, main, SN_FRAME_PYTHON, 0, "<built-in method acquire of lock>"),
	    trace_fixture_context(f, main, SN_FRAME_GPU_API, 0, "cudaDeviceSynchronize"),
	    trace_fixture_context(f, main, SN_FRAME_REGION, SN_FRAME_ITERATION, "step"),
	    trace_fixture_context(f, main, SN_FRAME_REGION, 0, "gloo:all_reduce"),
	    trace_fixture_context(f, 0, SN_FRAME_OPERATOR, SN_FRAME_BACKWARD, "MmBackward0"),
	};
	made->host_count = sizeof(contexts) / sizeof(*contexts);
	memcpy(made->host, contexts, sizeof(contexts));
	uint32_t idle = trace_fixture_context(f, 0, SN_FRAME_IDLE, 0, "not launched");
	uint32_t operations[] = {
	    trace_fixture_context(f, launch, SN_FRAME_KERNEL, 0, "gemm"),
	    trace_fixture_context(f, launch, SN_FRAME_KERNEL, 0, "ncclDevKernel_AllReduce_RING"),
	    trace_fixture_context(f, copy, SN_FRAME_GPU_OP, 0, "copy to device"),
	    trace_fixture_context(f, idle, SN_FRAME_KERNEL, 0, "nobody's"),
	    trace_fixture_context(f, launch, SN_FRAME_GPU_OP, 0, "annotation"),
	};
	made->device_count = sizeof(operations) / sizeof(*operations);
	memcpy(made->device, operations, sizeof(operations));
	trace_fixture_value(f, made->streams[0][0], operations[0], f->kernel_time, 1);
	trace_fixture_value(f, made->streams[0][0], operations[2], f->copy_time, 1);
}

static void make_state_contexts(struct made *made)
{
	struct trace_fixture *f = &made->fixture;
	uint32_t blocked = trace_fixture_context(f, 0, SN_FRAME_OS, 0, "blocked");
	uint32_t contexts[] = {
	    trace_fixture_context(f, 0, SN_FRAME_OS, 0, "running"),
	    trace_fixture_context(f, 0, SN_FRAME_OS, 0, "ready"),
	    blocked,
	    trace_fixture_context(f, blocked, SN_FRAME_OS, 0, "futex"),
	    trace_fixture_context(f, 0, SN_FRAME_OS, 0, "something else"),
	};
	made->state_count = sizeof(contexts) / sizeof(*contexts);
	memcpy(made->states, contexts, sizeof(contexts));
}

/* Whether these are ranks, or processes of one machine. */
static void make_profiles(struct made *made, bool has_ranks)
{
	struct trace_fixture *f = &made->fixture;
	for (unsigned r = 0; r < RANKS; r++) {
		int rank = has_ranks ? (int)r : -1;
		for (unsigned i = 0; i < THREADS; i++)
			made->threads[r][i] =
			    trace_fixture_thread(f, rank, 100 + r, 100 + r + 10 * i);
		/* two streams of one device, one of another */
		for (unsigned i = 0; i < STREAMS; i++)
			made->streams[r][i] = trace_fixture_stream(f, rank, 100 + r, i / 2, i);
	}
}

/*
 * rank and place; what; start (two bytes, 16 ns each); length; link; a number; another. Of odd
 * lengths the highest bit says that it is of no length.
 */
static void make_event(struct made *made, const uint8_t *bytes)
{
	struct trace_fixture *f = &made->fixture;
	unsigned rank = bytes[0] % RANKS, place = (bytes[0] / RANKS) % 8;
	uint64_t start = BEGIN_NS + 16 * (bytes[2] + 256ull * bytes[3]);
	uint64_t end = start + (bytes[4] & 0x80 ? 0 : 16ull * bytes[4] + bytes[7] % 16);
	uint64_t link = bytes[5];
	int64_t number = (int8_t)bytes[6] * (INT64_C(1) << (bytes[7] & 0x40 ? 55 : 3));
	struct sn_attribute attributes[] = {
	    {f->keys[TRACE_FIXTURE_BYTES], 0, (uint64_t)number},
	    {f->keys[TRACE_FIXTURE_ADDRESS], 0, bytes[7] % 8},
	};
	struct sn_attribute sequence = {f->keys[TRACE_FIXTURE_SEQUENCE], 0, bytes[7] % 8};
	struct sn_attribute waker = {f->keys[TRACE_FIXTURE_WAKER], 0, bytes[6]};
	uint32_t thread = made->threads[rank][place % THREADS];
	if (place < 3)
		trace_fixture_event(f, thread, made->host[bytes[1] % made->host_count], start, end,
				    link);
	else if (place < 6)
		trace_fixture_any(f, SONDE_TRACK_INTERVALS, made->streams[rank][place - 3],
				  made->device[bytes[1] % made->device_count], start, end, link,
				  bytes[7] & 0x80 ? &sequence : attributes, 1);
	else if (place < 7)
		trace_fixture_any(f, SONDE_TRACK_INSTANTS, thread,
				  made->host[bytes[1] % made->host_count], start, start, 0,
				  attributes, 2);
	else if (bytes[7] & 2)
		trace_fixture_any(f, SONDE_TRACK_SAMPLES, thread,
				  made->host[bytes[1] % made->host_count], start, start, 0, NULL,
				  0);
	else
		trace_fixture_any(f, bytes[1] & 0x80 ? SONDE_TRACK_SYSTEM : SONDE_TRACK_STATES,
				  thread, made->states[bytes[1] % made->state_count], start, end, 0,
				  &waker, bytes[7] & 1);
}

/* ---- devices ---- */

static void check_device(const struct sn_answers *answers, size_t number)
{
	const struct sn_device_time *time = answers->times.devices + number;
	struct sn_operations *read =
	    sn_device_times_read(&answers->times, answers->trace, number, SONDE_NONE);
	struct sn_operation one;
	struct sn_error error;
	/* of iterations alone, operations may begin before and end behind them */
	uint64_t before = time->is_of_iterations ? 0 : time->start_ns;
	uint64_t end = time->is_of_iterations ? UINT64_MAX : time->end_ns;
	uint64_t exposed = 0, operations = 0, found = 0;
	for (unsigned i = 0; i < SN_WORK_KINDS; i++) {
		CHECK(time->exposed_ns[i] <= time->work_ns[i]);
		CHECK(time->work_ns[i] <= time->busy_ns);
		exposed += time->exposed_ns[i];
		operations += time->operation_counts[i];
	}
	CHECK((time->gap_count > 0) == (time->idle_ns > 0));
	CHECK(time->busy_ns + time->idle_ns == time->end_ns - time->start_ns);
	CHECK(exposed == time->busy_ns);
	CHECK(time->not_queued_ns + time->launch_ns + time->unexplained_ns == time->idle_ns);
	for (; read && sn_operations_next(read, &one, &error) > 0; found++) {
		CHECK(one.start_ns >= before && one.end_ns <= end);
		before = one.start_ns;
	}
	CHECK(found == operations);
	sn_operations_free(read);
}

static void check_blame(const struct sn_answers *answers, size_t number)
{
	const struct sn_blame *blame = answers->blames + number;
	double idle = (double)answers->times.devices[number].idle_ns, shares = 0;
	for (size_t i = 0; i < blame->count; i++) {
		CHECK(blame->shares[i].time_ns > 0);
		CHECK(!i || blame->shares[i].time_ns <= blame->shares[i - 1].time_ns);
		CHECK(!sn_activity_is_waiting(answers->db, blame->shares[i].context));
		shares += blame->shares[i].time_ns;
	}
	CHECK(is_near(shares, blame->blamed_ns));
	CHECK(is_near(blame->blamed_ns + blame->unblamed_ns, idle));
	CHECK(blame->unblamed_ns > -1e-3);
}

static void check_waits(const struct sn_answers *answers, size_t number)
{
	const struct sn_waits *waits = answers->waits + number;
	const struct sn_device_time *time = answers->times.devices + number;
	uint64_t whole = time->end_ns - time->start_ns, reasons = 0, states = 0, work[3] = {0};
	for (unsigned i = 0; i < SN_WAITS; i++) {
		CHECK(waits->reasons_ns[i] <= whole);
		reasons += waits->reasons_ns[i];
	}
	for (unsigned mask = 0; mask < 16; mask++) {
		states += waits->states_ns[mask];
		for (unsigned i = 0; i < 3; i++)
			work[i] += mask & 2u << i ? waits->states_ns[mask] : 0;
	}
	CHECK(reasons == waits->no_compute_ns);
	CHECK(waits->no_compute_ns == whole - time->work_ns[SN_WORK_COMPUTE]);
	CHECK(states == whole);
	for (unsigned i = 0; i < 3; i++)
		CHECK(work[i] == time->work_ns[i]);
}

static void check_queue(const struct sn_answers *answers, size_t number)
{
	const uint64_t *counts = answers->times.devices[number].operation_counts;
	struct sn_queue queue;
	struct sn_error error;
	double means = 0;
	if (sn_queue(answers, number, SONDE_NONE, &queue, &error))
		abort();
	CHECK(queue.count + queue.unknown_count == counts[0] + counts[1] + counts[2]);
	CHECK(queue.empty_share >= 0 && queue.empty_share <= 1 + 1e-9);
	CHECK(queue.mean >= 0 && queue.mean <= (double)queue.most + 1e-9);
	CHECK(queue.median <= queue.p95 && queue.most <= queue.count);
	CHECK(queue.median_delay_ns <= queue.p95_delay_ns);
	for (int i = 0; i < SN_QUEUE_STEPS; i++) {
		CHECK(queue.means[i] >= 0 && queue.means[i] <= (float)queue.most * 1.001f + 1e-3f);
		means += (double)queue.means[i];
	}
	if (queue.end_ns > queue.start_ns)
		CHECK(fabs(means / SN_QUEUE_STEPS - queue.mean) <= 1e-3 * (1 + queue.mean));
}

/* ---- all ---- */

static void check_ranks(const struct sn_ranks *ranks)
{
	uint64_t waited = 0, waits = 0, delayed = 0;
	size_t last = 0;
	for (size_t i = 0; i < ranks->count; i++) {
		const struct sn_collective *one = ranks->collectives + i;
		CHECK(one->count >= 2);
		for (uint32_t k = 0; k < one->count; k++)
			CHECK(ranks->arrivals[one->first + k].start_ns <= one->last_ns);
		waits += one->wait_ns;
	}
	for (size_t i = 0; i < ranks->participant_count; i++) {
		waited += ranks->sums[i].waited_ns;
		delayed += ranks->sums[i].delayed_ns;
		last += ranks->sums[i].last_count;
		for (size_t k = 1; k < ranks->waits[i].count; k++)
			CHECK(ranks->waits[i].items[k].start_ns >
			      ranks->waits[i].items[k - 1].end_ns);
	}
	CHECK(waited == waits && delayed == waits && last == ranks->count);
}

static void check_iterations(const struct sn_iterations *iterations)
{
	struct sn_iteration_sum sum;
	size_t unusual = 0;
	if (!iterations->count)
		return;
	sn_iterations_sum(iterations->items, iterations->count, &sum);
	for (size_t i = 0; i < iterations->count; i++) {
		CHECK(iterations->items[i].end_ns >= iterations->items[i].start_ns);
		unusual += iterations->items[i].is_unusual;
	}
	CHECK(sum.count == iterations->count && sum.unusual_count == unusual);
	CHECK(sum.min_ns <= sum.median_ns && sum.median_ns <= sum.max_ns && sum.min_ns >= 0);
	CHECK(sum.min_ns <= sum.mean_ns + 1e-3 && sum.mean_ns <= sum.max_ns + 1e-3);
	CHECK(sum.deviation_ns >= 0 && sum.deviation_ns <= sum.max_ns);
}

static void check_memory(const struct sn_answers *answers)
{
	struct sn_memory memory;
	struct sn_error error;
	if (sn_memory(&answers->processes, &answers->nodes, &memory, &error))
		abort();
	for (size_t i = 0; i < memory.device_count; i++) {
		const struct sn_memory_device *device = memory.devices + i;
		double owned = 0, most = -HUGE_VAL;
		for (uint32_t n = 0; n < answers->nodes.table.count; n++) {
			CHECK(device->owners[n] >= 0);
			CHECK((device->owners[n] > 0) == (device->owner_counts[n] > 0));
			owned += device->owners[n];
		}
		for (int k = 0; k < SN_MEMORY_STEPS; k++)
			most = device->allocated[k] > most ? device->allocated[k] : most;
		CHECK(is_near(owned, (double)device->known_bytes));
		CHECK(device->end_bytes <= device->peak_bytes);
		CHECK(device->peak_ns >= device->start_ns && device->peak_ns < device->end_ns);
		CHECK(device->peak_bytes < 0 || is_near(most, (double)device->peak_bytes));
		CHECK(device->allocation_count <= device->event_count);
	}
	sn_memory_release(&memory);
}

static void check_threads(const struct sn_answers *answers)
{
	struct sn_thread_times times;
	struct sn_error error;
	uint64_t states = 0, shares = 0;
	if (sn_thread_times(answers->db, answers->trace, &times, &error))
		abort();
	for (size_t i = 0; i < times.thread_count; i++)
		for (unsigned s = 0; s < SN_THREAD_STATES; s++)
			states += times.threads[i].times_ns[s];
	for (uint32_t i = 0; i < times.share_keys.count; i++) {
		shares += times.shares[i].time_ns;
		CHECK(times.shares[i].longest_ns <= times.shares[i].time_ns);
		CHECK(!i || times.shares[i].time_ns <= times.shares[i - 1].time_ns);
	}
	CHECK(states == shares);
	for (uint32_t i = 0; i < times.system_keys.count; i++)
		CHECK(times.systems[i].longest_ns <= times.systems[i].time_ns);
	sn_thread_times_release(&times);
}

static void check_path(const struct sn_answers *answers)
{
	struct sn_critical_path path;
	struct sn_error error;
	double kinds = 0, steps = 0, nodes = 0, activities = 0, sampled = 0;
	if (sn_critical_path(answers, &path, &error))
		abort();
	for (unsigned i = 0; i < SN_PATH_KINDS; i++) {
		CHECK(path.kinds_ns[i] >= 0);
		CHECK(path.kind_gains_ns[i] >= -1e-3 &&
		      path.kind_gains_ns[i] <= path.length_ns + 1e-3);
		kinds += path.kinds_ns[i];
		activities += i < SN_PATH_LAUNCH ? path.kinds_ns[i] : 0;
	}
	for (size_t i = 0; i < path.step_count; i++) {
		CHECK(path.steps[i].end_ns > path.steps[i].start_ns);
		CHECK(!i || path.steps[i].start_ns == path.steps[i - 1].end_ns);
		steps += (double)(path.steps[i].end_ns - path.steps[i].start_ns);
	}
	for (size_t i = 0; i < path.share_count; i++) {
		const struct sn_path_share *share = path.shares + i;
		CHECK(share->time_ns > 0);
		nodes += share->time_ns;
		if (i >= SN_PATH_SHARES)
			continue;
		CHECK(share->gain_ns >= -1e-3 && share->gain_ns <= 0.1 * share->time_ns + 1e-3);
		CHECK(share->gain_all_ns >= share->gain_ns - 1e-3);
		CHECK(share->gain_all_ns <= share->time_ns + 1e-3);
	}
	CHECK(is_near(kinds, path.length_ns) && is_near(steps, path.length_ns));
	CHECK(path.own_ns <= path.length_ns + 1e-3);
	for (size_t i = 0; i < path.sampled_count; i++) {
		CHECK(path.sampled[i].time_ns > 0);
		sampled += path.sampled[i].time_ns;
	}
	CHECK(sampled <= path.own_ns * (1 + 1e-6) + 1e-3);
	CHECK(nodes <= activities + 1e-3);
	CHECK(path.length_ns <= (double)(answers->end_ns + 1 - answers->start_ns));
	sn_critical_path_release(&path);
}

struct walked {
	struct sn_activity_part last;
	const struct sonde_db *db;
	double time_ns;
};

static int take_part(void *data, const struct sn_activity_part *part)
{
	struct walked *walked = data;
	CHECK(part->end_ns > part->start_ns);
	CHECK(part->start_ns >= part->call_start_ns && part->end_ns <= part->call_end_ns);
	if (walked->last.end_ns && walked->last.profile == part->profile)
		CHECK(part->start_ns >= walked->last.end_ns);
	walked->last = *part;
	walked->time_ns += (double)(part->end_ns - part->start_ns);
	return 0;
}

static int count_sample(void *data, uint32_t context, uint64_t time_ns)
{
	++*(size_t *)data;
	CHECK(context < CONTEXTS && time_ns >= BEGIN_NS);
	return 0;
}

static void check_host(const struct sn_answers *answers)
{
	uint64_t each_ns;
	size_t samples = 0;
	struct walked walked = {.db = answers->db};
	struct sn_error error;
	double *times = calloc(sonde_db_context_count(answers->db), sizeof(*times)), sum = 0;
	if (!times ||
	    sn_activity_walk(&answers->processes, SONDE_NONE, 0, take_part, &walked, &error) ||
	    sn_activity_samples(&answers->processes, SONDE_NONE, count_sample, &samples, &each_ns,
				&error) ||
	    sn_activity_times(&answers->processes, times, &error))
		abort();
	for (uint32_t i = 0; i < sonde_db_context_count(answers->db); i++) {
		CHECK(times[i] >= 0);
		sum += times[i];
	}
	/* samples that lie nowhere twice stand for no time */
	CHECK(is_near(sum, walked.time_ns + (each_ns > 1 ? (double)samples * (double)each_ns : 0)));
	free(times);
}

static void check_page(const struct sn_page *page)
{
	CHECK(!page->has_failed);
	for (size_t i = 0; i < page->count; i++) {
		const struct sn_sheet *sheet = page->sheets[i];
		CHECK(sheet->column_count ? sheet->cell_count % sheet->column_count == 0
					  : !sheet->cell_count);
		for (size_t k = 0; k < sheet->cell_count; k++)
			CHECK(!isinf(sheet->cells[k].number));
	}
}

static char *page_text(const struct sn_page *page)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	if (!file)
		abort();
	struct sn_json json = {.out = file};
	sn_json_begin(&json, '{');
	sn_page_json(page, &json);
	sn_json_end(&json, '}');
	fclose(file);
	return text;
}

static void check_view(const struct sn_timeline_view *view, const struct sn_answers *all,
		       const struct sn_answers *least)
{
	struct sn_page pages[2] = {0};
	struct sn_error error;
	if (view->show(all, pages, &error) || view->show(least, pages + 1, &error))
		abort();
	char *texts[] = {page_text(pages), page_text(pages + 1)};
	check_page(pages);
	CHECK(!strcmp(texts[0], texts[1]));
	for (unsigned i = 0; i < 2; i++) {
		free(texts[i]);
		sn_page_release(pages + i);
	}
}

/* Every view as a page: of whatever kind a number is, it is one; and with no more loaded than the
 * view says it needs the page is the same. */
static void check_views(const struct sn_answers *answers)
{
	for (enum sn_answers_part part = SN_ANSWERS_NODES; part <= SN_ANSWERS_FINDINGS; part++) {
		struct sn_answers least = {.db = answers->db,
					   .trace = answers->trace,
					   .launched_only = answers->launched_only,
					   .depth = answers->depth};
		struct sn_error error;
		if (sn_answers(&least, part, &error))
			abort();
		for (size_t i = 0; sn_timeline_views[i].name; i++)
			if (sn_timeline_views[i].needs == part)
				check_view(sn_timeline_views + i, answers, &least);
		sn_answers_release(&least);
	}
}

/* However little memory there is for sorting, the answers are the same. */
static void check_little_memory(const struct sn_answers *answers)
{
	struct sn_answers little = {.db = answers->db,
				    .trace = answers->trace,
				    .launched_only = answers->launched_only,
				    .memory_bytes = 100};
	struct sn_error error;
	if (sn_answers(&little, SN_ANSWERS_WAITS, &error))
		abort();
	CHECK(little.times.count == answers->times.count);
	for (size_t i = 0; i < little.times.count; i++) {
		const struct sn_waits *a = answers->waits + i, *b = little.waits + i;
		struct sn_queue queues[2];
		CHECK(answers->times.devices[i].launch_latency_ns ==
		      little.times.devices[i].launch_latency_ns);
		CHECK(!memcmp(a->reasons_ns, b->reasons_ns, sizeof(a->reasons_ns)));
		CHECK(!memcmp(a->states_ns, b->states_ns, sizeof(a->states_ns)));
		CHECK(answers->blames[i].count == little.blames[i].count);
		if (sn_queue(answers, i, SONDE_NONE, queues, &error) ||
		    sn_queue(&little, i, SONDE_NONE, queues + 1, &error))
			abort();
		CHECK(queues[0].mean == queues[1].mean && queues[0].p95 == queues[1].p95);
		CHECK(queues[0].p95_delay_ns == queues[1].p95_delay_ns);
	}
	sn_answers_release(&little);
}

static void check_all(const struct trace_fixture *fixture, bool launched_only, bool with_views)
{
	struct sn_answers answers = {
	    .db = fixture->db, .trace = fixture->trace, .launched_only = launched_only, .depth = 3};
	struct sn_error error;
	if (sn_answers(&answers, SN_ANSWERS_FINDINGS, &error)) {
		fprintf(stderr, "%s\n", error.text);
		abort();
	}
	for (size_t i = 0; i < answers.findings.count; i++)
		CHECK(sn_finding_is_sound(answers.findings.items + i));
	for (size_t i = 0; i < answers.times.count; i++) {
		check_device(&answers, i);
		check_blame(&answers, i);
		check_waits(&answers, i);
		check_queue(&answers, i);
	}
	if (with_views)
		check_little_memory(&answers);
	check_ranks(&answers.ranks);
	check_iterations(&answers.iterations);
	check_memory(&answers);
	check_threads(&answers);
	check_host(&answers);
	if (sonde_trace_event_count(fixture->trace)) {
		check_path(&answers);
		if (with_views)
			check_views(&answers);
	}
	sn_answers_release(&answers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct made made = {.host_count = 0};
	if (size < 9)
		return 0;
	trace_fixture_init(&made.fixture);
	make_profiles(&made, data[0] & 1);
	make_host_contexts(&made);
	make_state_contexts(&made);
	for (size_t at = 1; at + 8 <= size && at < 8 * EVENTS_MAX; at += 8)
		make_event(&made, data + at);
	trace_fixture_open(&made.fixture);
	/* views take as long as all else, and say the same in words */
	check_all(&made.fixture, data[0] & 2, !(data[0] & 28));
	trace_fixture_release(&made.fixture);
	return 0;
}
