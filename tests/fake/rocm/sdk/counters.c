/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware counters of kernels. FAKE_COUNTERS names a file of lines "NAME INSTANCES PER_BLOCK STEP EXPRESSION" ("-": none): in a
 * kernel's launch N, counted from 0 for each name, the counter counts PER_BLOCK for each of its blocks and STEP * N, divided among its
 * instances. FAKE_COUNTERS_TABLE names the file of the truth: kernel, counter, how many launches and values were delivered, and how
 * many launches lost. Six counters fit into one pass.
 */
#include "sdk.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_IN_CONTEXT = 10, NO_COUNTER = 24, TOO_MANY = 38, NONE = 39, DENIED = 40, LOCKED = 16 };
enum { COUNTERS = 64, CONFIGS = 64, IN_A_PASS = 6, AGENT = 100, KERNELS = 64 };

static struct counter {
	char name[129], expression[256];
	unsigned instances;
	double per_block, step;
} counters[COUNTERS];
static uint32_t counter_count;

static struct config {
	uint32_t count;
	uint32_t counters[COUNTERS];
} configs[CONFIGS]; /* of number 1 the first */
static uint32_t config_count;

static void load(void)
{
	const char *path = getenv("FAKE_COUNTERS");
	FILE *file = path ? fopen(path, "r") : NULL;
	while (file && counter_count < COUNTERS) {
		struct counter *counter = &counters[counter_count];
		if (fscanf(file, "%128s %u %lf %lf %255s", counter->name, &counter->instances,
			   &counter->per_block, &counter->step, counter->expression) != 5)
			break;
		counter_count++;
	}
	if (file)
		fclose(file);
}

static void load_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load);
}

/* A listed number may have the agent's above that of the counter, and of the second device the last may be missing. */
static uint64_t number_of(uint32_t counter, uint64_t agent)
{
	return counter + 1 + (fake_fails("counter-agents") ? agent << 16 : 0);
}

int rocprofiler_iterate_agent_supported_counters(
    uint64_t agent, int (*callback)(uint64_t, uint64_t *, size_t, void *), void *data)
{
	uint64_t numbers[COUNTERS];
	load_once();
	for (uint32_t index = 0; index < counter_count; index++)
		numbers[index] = number_of(index, agent);
	if (!counter_count)
		return NONE;
	return callback(agent, numbers,
			counter_count - (agent > AGENT && fake_fails("counter-second")), data);
}

struct info {
	uint64_t number;
	const char *name, *description, *block, *expression;
	uint8_t is_constant : 1, is_derived : 1;
};

int rocprofiler_query_counter_info(uint64_t number, int version, struct info *info)
{
	uint64_t index = (number & 0xffff) - 1;
	if (version != 1 || index >= counter_count)
		return NO_COUNTER;
	bool is_derived = strcmp(counters[index].expression, "-") != 0;
	*info = (struct info){.number = number,
			      .name = counters[index].name,
			      .description = "a counter",
			      .block = is_derived ? "" : "SQ",
			      .expression = is_derived ? counters[index].expression : "",
			      .is_derived = is_derived};
	return 0;
}

int rocprofiler_create_counter_config(uint64_t agent, const uint64_t *numbers, size_t count,
				      uint64_t *config)
{
	(void)agent;
	if (fake_fails("counter-denied"))
		return DENIED;
	if (count > IN_A_PASS || config_count == CONFIGS)
		return TOO_MANY;
	struct config *made = &configs[config_count];
	for (made->count = 0; made->count < count; made->count++)
		made->counters[made->count] = (uint32_t)(numbers[made->count] & 0xffff) - 1;
	*config = ++config_count;
	return 0;
}

int rocprofiler_configure_callback_dispatch_counting_service(uint64_t number,
							     fake_on_dispatch on_dispatch,
							     void *dispatch_data,
							     fake_on_counted on_counted,
							     void *counted_data)
{
	if (!number || number > fake_context_count)
		return NOT_IN_CONTEXT;
	if (fake_fails("counter-refuse"))
		return LOCKED;
	struct fake_context *context = &fake_contexts[number - 1];
	context->on_counting = on_dispatch;
	context->counting_data = dispatch_data;
	context->on_counted = on_counted;
	context->counted_data = counted_data;
	return 0;
}

int rocprofiler_query_record_counter_id(uint64_t instance, uint64_t *number)
{
	*number = instance >> 48;
	return 0;
}

/* ---- the truth ---- */

static struct row {
	const char *kernel; /* NULL ends */
	uint64_t launches;  /* of the kernel, also those that are not counted */
	struct {
		uint64_t count, lost;
		double sum, least, most;
	} of[COUNTERS];
} rows[KERNELS];

static struct row *row_of(const char *kernel)
{
	struct row *row = rows;
	while (row->kernel && row->kernel != kernel)
		row++;
	row->kernel = kernel;
	return row;
}

static void note(struct row *row, uint32_t counter, double value, bool is_lost)
{
	if (is_lost) {
		row->of[counter].lost++;
		return;
	}
	double least = row->of[counter].least, most = row->of[counter].most;
	bool is_first = !row->of[counter].count++;
	row->of[counter].sum += value;
	row->of[counter].least = is_first || value < least ? value : least;
	row->of[counter].most = is_first || value > most ? value : most;
}

__attribute__((destructor)) static void write_table(void)
{
	const char *path = getenv("FAKE_COUNTERS_TABLE");
	FILE *file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fprintf(file, "kernel,counter,count,sum,min,max,lost\n");
	for (struct row *row = rows; row->kernel; row++)
		for (uint32_t counter = 0; counter < counter_count; counter++)
			if (row->of[counter].count || row->of[counter].lost)
				fprintf(file, "%s,%s,%llu,%.17g,%.17g,%.17g,%llu\n", row->kernel,
					counters[counter].name,
					(unsigned long long)row->of[counter].count,
					row->of[counter].sum, row->of[counter].least,
					row->of[counter].most,
					(unsigned long long)row->of[counter].lost);
	fclose(file);
}

/* ---- counting ---- */

struct counted {
	uint64_t instance;
	double value;
	uint64_t dispatch, word, agent;
};

struct pending {
	struct pending *next;
	const struct fake_context *context;
	struct fake_dispatch dispatch;
	uint64_t word, due_ns;
	size_t count;
	struct counted records[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* stands behind the device's */
static struct pending *first, **last = &first;
static _Atomic uint64_t put, delivered;

/* The shares of a counter's instances grow, and are together what it counted. */
static size_t share(struct counted *records, uint32_t counter, double value, uint64_t dispatch,
		    uint64_t agent)
{
	uint32_t instances = counters[counter].instances;
	double rest = value, parts = instances * (instances + 1) / 2.0;
	for (uint32_t index = 0; index < instances; index++) {
		double part =
		    index + 1 == instances ? rest : (double)(uint64_t)(value * (index + 1) / parts);
		rest -= part;
		records[index] = (struct counted){.instance = (uint64_t)(counter + 1) << 48 | index,
						  .value = part,
						  .dispatch = dispatch,
						  .agent = agent};
	}
	return instances;
}

static struct pending *pending_of(const struct config *config, const struct fake_run *run,
				  struct row *row, const struct fake_dispatch *dispatch)
{
	static uint64_t kernels;
	const uint32_t *grid = run->operation->grid;
	double blocks = grid[0] ? (double)grid[0] * grid[1] * grid[2] : 1;
	bool is_tenth = ++kernels % 10 == 0, is_lost = is_tenth && fake_fails("counter-lost"),
	     is_stray = is_tenth && fake_fails("counter-stray"),
	     is_part = is_tenth && fake_fails("counter-part");
	size_t records = 0;
	for (uint32_t at = 0; at < config->count; at++)
		records += counters[config->counters[at]].instances;
	struct pending *pending = calloc(1, sizeof(*pending) + records * sizeof(*pending->records));
	for (uint32_t at = 0; at < config->count; at++) {
		uint32_t counter = config->counters[at];
		bool is_missing = is_part && at + 1 == config->count;
		double value = counters[counter].per_block * blocks +
			       counters[counter].step * (double)row->launches;
		if (!is_missing)
			pending->count += share(&pending->records[pending->count], counter, value,
						dispatch->dispatch, dispatch->agent);
		note(row, counter, value, is_lost || is_stray || is_missing);
	}
	pending->dispatch = *dispatch;
	if (is_stray)
		pending->dispatch.correlation = 0;
	pending->due_ns = run->end_ns;
	if (is_lost) {
		free(pending);
		return NULL;
	}
	return pending;
}

static bool may_come(const struct pending *pending)
{
	if (fake_fails("counter-stop"))
		return false;
	if (fake_fails("counter-late"))
		return !pending->context->is_active;
	return pending->due_ns <= fake_now_ns();
}

static void *deliver_all(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		struct pending *pending = first && may_come(first) ? first : NULL;
		if (pending && !(first = pending->next))
			last = &first;
		pthread_mutex_unlock(&lock);
		if (!pending) {
			usleep(500);
			continue;
		}
		pending->context->on_counted(pending->dispatch, pending->records, pending->count,
					     pending->word, pending->context->counted_data);
		free(pending);
		delivered++;
	}
	return NULL;
}

static void begin(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, deliver_all, NULL);
	pthread_detach(thread);
}

void fake_counters_run(const struct fake_run *run, const char *name, uint64_t kernel)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static uint64_t dispatches;
	for (uint32_t index = 0; index < fake_context_count; index++) {
		const struct fake_context *context = &fake_contexts[index];
		if (!context->is_active || !context->on_counting)
			continue;
		struct fake_dispatch dispatch = {.size = sizeof(dispatch),
						 .correlation = fake_sdk_correlation(),
						 .info_size = 72,
						 .agent = AGENT + (uint64_t)run->device,
						 .queue = run->stream,
						 .kernel = kernel,
						 .dispatch = ++dispatches};
		uint64_t config = 0, word = 0;
		context->on_counting(dispatch, &config, &word, context->counting_data);
		struct row *row = row_of(name);
		struct pending *pending =
		    config ? pending_of(&configs[config - 1], run, row, &dispatch) : NULL;
		row->launches++;
		if (!pending)
			continue;
		pending->context = context;
		pending->word = word;
		pthread_once(&once, begin);
		pthread_mutex_lock(&lock);
		*last = pending;
		last = &pending->next;
		put++;
		pthread_mutex_unlock(&lock);
	}
}

void fake_counters_drain(void)
{
	while (delivered < put)
		usleep(200);
}
