/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sonde-mpi variability` would take with many ranks, by simulation. Usage:
 *     bench-variability-ranks RANKS LATENCY_US GIGABYTES_PER_S DB...
 *
 * Each rank is a thread that does what a rank of the job does, with all of its messages; only one of them runs at a time. A rank has a clock:
 * it goes by the processor time of what it computes, measured, and by what messages cost in the model. A message arrives LATENCY_US and its
 * bytes' time after it was sent; something that all do together begins when the last one comes, and takes ceil(log2(RANKS)) messages one after
 * the other (twice that where all are to know the result), and where rank 0 gets the bytes of all, their time. Prints one line of JSON.
 */
#include "cmd/variability/variability_causes.h"
#include "base/peers/peers.h"
#include "variability/variability.h"

#include "sonde/db.h"
#include "sonde/trace.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct letter {
	unsigned from;
	double arrival_s;
	struct sn_peer_part part;
	struct letter *next;
};

struct rank {
	unsigned number;
	pthread_t thread;
	double clock_s, computed_s, causes_s; /* the last: of what it computed, for the causes */
	double since_s;			      /* its processor time when it went on */
	struct letter *letters;		      /* that came and were not taken */
};

/* What all ranks do together, one after the other. */
struct meeting {
	uint64_t number;
	unsigned arrived;
	double latest_s;
	uint64_t bits;
	unsigned failed; /* the lowest rank that did; count: none */
	int code;
	struct sn_error error;
	size_t length; /* of all bytes */
	void *root;    /* rank 0's bytes */
	struct sn_peer_part *parts;
};

static struct {
	pthread_mutex_t baton; /* whoever computes has it */
	pthread_cond_t changed;
	unsigned count;
	double latency_s, bytes_per_s;
	struct rank *ranks;
	struct meeting meeting;
	uint64_t message_count, message_bytes;
	struct sn_variability_request request;
	struct sn_variability result; /* rank 0's */
} job = {.baton = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static _Thread_local struct rank *me;

static void fail(const char *why)
{
	fprintf(stderr, "bench-variability-ranks: %s\n", why);
	exit(1);
}

static double processor_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The rank's clock is set to what it has computed. */
static void stop_computing(void)
{
	double passed_s = processor_s() - me->since_s;
	me->clock_s += passed_s;
	me->computed_s += passed_s;
}

static void go_on(void)
{
	me->since_s = processor_s();
}

static double transfer_s(size_t bytes)
{
	return (double)bytes / job.bytes_per_s;
}

/* ---- the peers ---- */

static unsigned rank_number(void)
{
	return me->number;
}

static unsigned rank_count(void)
{
	return job.count;
}

static bool is_one_host(void)
{
	return false;
}

/* Comes to the meeting; true for who comes last. */
static bool arrive(void)
{
	struct meeting *meeting = &job.meeting;
	meeting->latest_s = fmax(meeting->latest_s, me->clock_s);
	return ++meeting->arrived == job.count;
}

/* Everyone goes on when the last one has come and `cost_s` has passed. Only then may the next meeting begin: all have what they came for. */
static void depart(double cost_s)
{
	struct meeting *meeting = &job.meeting;
	uint64_t number = meeting->number;
	if (meeting->arrived == job.count) {
		meeting->number++;
		meeting->arrived = 0;
		for (unsigned r = 0; r < job.count; r++)
			job.ranks[r].clock_s = meeting->latest_s + cost_s;
		meeting->latest_s = 0;
		pthread_cond_broadcast(&job.changed);
	}
	while (meeting->number == number)
		pthread_cond_wait(&job.changed, &job.baton);
}

static double tree_s(size_t bytes)
{
	return ceil(log2(job.count)) * (job.latency_s + transfer_s(bytes));
}

static void broadcast(void *bytes, size_t length)
{
	stop_computing();
	if (!me->number) {
		job.meeting.root = malloc(length + 1);
		if (!job.meeting.root)
			fail("out of memory");
		memcpy(job.meeting.root, bytes, length);
		job.message_bytes += length * (job.count - 1);
	}
	arrive();
	depart(tree_s(length));
	if (me->number)
		memcpy(bytes, job.meeting.root, length);
	/* none may give it back before all have it */
	arrive();
	depart(0);
	if (!me->number)
		free(job.meeting.root);
	go_on();
}

static void merge_bits(uint64_t *words, size_t count)
{
	if (count != 1)
		fail("more than one word of bits");
	stop_computing();
	job.meeting.bits |= *words;
	arrive();
	depart(2 * tree_s(sizeof(*words)));
	*words = job.meeting.bits;
	if (arrive())
		job.meeting.bits = 0;
	depart(0);
	go_on();
}

static int agree(int code, struct sn_error *error)
{
	struct meeting *meeting = &job.meeting;
	stop_computing();
	if (code && (!meeting->code || me->number < meeting->failed)) {
		meeting->failed = me->number;
		meeting->code = code;
		if (error)
			meeting->error = *error;
	}
	arrive();
	depart(2 * tree_s(sizeof(int)));
	code = meeting->code;
	if (code && error)
		*error = meeting->error;
	if (arrive())
		meeting->code = 0;
	depart(0);
	go_on();
	return code;
}

static struct sn_peer_part copy_of(const void *bytes, size_t length)
{
	struct sn_peer_part part = {malloc(length + 1), length};
	if (!part.bytes)
		fail("out of memory");
	if (length)
		memcpy(part.bytes, bytes, length);
	return part;
}

static struct sn_peer_part *gather(const void *bytes, size_t length)
{
	struct meeting *meeting = &job.meeting;
	stop_computing();
	if (!meeting->parts)
		meeting->parts = calloc(job.count, sizeof(*meeting->parts));
	if (!meeting->parts)
		fail("out of memory");
	meeting->parts[me->number] = copy_of(bytes, length);
	meeting->length += me->number ? length : 0;
	job.message_bytes += me->number ? length : 0;
	arrive();
	depart(tree_s(0) + transfer_s(meeting->length));
	struct sn_peer_part *parts = me->number ? NULL : meeting->parts;
	if (arrive()) {
		meeting->parts = NULL;
		meeting->length = 0;
	}
	depart(0);
	go_on();
	return parts;
}

static void send_part(unsigned to, const void *bytes, size_t length)
{
	struct letter *letter = malloc(sizeof(*letter));
	if (!letter)
		fail("out of memory");
	stop_computing();
	me->clock_s += transfer_s(length);
	*letter = (struct letter){me->number, me->clock_s + job.latency_s, copy_of(bytes, length),
				  job.ranks[to].letters};
	job.ranks[to].letters = letter;
	job.message_count++;
	job.message_bytes += length;
	pthread_cond_broadcast(&job.changed);
	go_on();
}

static struct letter *take_letter(unsigned from)
{
	for (struct letter **at = &me->letters; *at; at = &(*at)->next) {
		struct letter *letter = *at;
		if (letter->from != from)
			continue;
		*at = letter->next;
		return letter;
	}
	return NULL;
}

static void receive_part(unsigned from, struct sn_peer_part *part)
{
	struct letter *letter;
	stop_computing();
	while (!(letter = take_letter(from)))
		pthread_cond_wait(&job.changed, &job.baton);
	me->clock_s = fmax(me->clock_s, letter->arrival_s);
	*part = letter->part;
	free(letter);
	go_on();
}

static const struct sn_peers simulated = {.rank = rank_number,
					  .size = rank_count,
					  .is_one_host = is_one_host,
					  .broadcast = broadcast,
					  .gather = gather,
					  .send = send_part,
					  .receive = receive_part,
					  .merge_bits = merge_bits,
					  .agree = agree};

/* ---- the job ---- */

static void find_causes(const struct sn_variability *result)
{
	struct sn_variability_causes causes = {0};
	struct sn_error error = {""};
	struct sn_causal_asked asked = SN_CAUSAL_ASKED_USUAL;
	double before_s = me->computed_s;
	asked.options.peers = &simulated;
	asked.options.threads = 1;
	if (sn_variability_causes(&causes, &result->features, SN_FEATURE_MEMORY_STALL, &asked,
				  &error))
		fail(error.text);
	sn_variability_causes_release(&causes);
	stop_computing();
	me->causes_s = me->computed_s - before_s;
}

static void *run_rank(void *argument)
{
	struct sn_variability own, *result;
	struct sn_error error = {""};
	me = argument;
	result = me->number ? &own : &job.result;
	pthread_mutex_lock(&job.baton);
	go_on();
	if (sn_variability(&job.request, result, &error))
		fail(error.text);
	stop_computing();
	/* rank 0 has the rows */
	if (me->number)
		sn_variability_release(result);
	go_on();
	find_causes(result);
	pthread_mutex_unlock(&job.baton);
	return NULL;
}

static void open_inputs(char **paths, size_t count)
{
	struct sn_variability_input *inputs = calloc(count + 1, sizeof(*inputs));
	for (size_t i = 0; i < count; i++) {
		struct sonde_db_error why = {""};
		struct sonde_db *db;
		struct sonde_trace *trace;
		if (sonde_db_open(paths[i], &db, &why) || sonde_trace_open(db, &trace, &why))
			fail(why.text);
		inputs[i] =
		    (struct sn_variability_input){.db = db, .trace = trace, .name = paths[i]};
	}
	job.request.inputs = inputs;
	job.request.input_count = count;
}

static void print(void)
{
	double longest_s = 0, most_s = 0, all_s = 0, causes_s = 0;
	for (unsigned r = 0; r < job.count; r++) {
		double computed_s = job.ranks[r].computed_s - job.ranks[r].causes_s;
		longest_s = fmax(longest_s, job.ranks[r].clock_s);
		most_s = fmax(most_s, computed_s);
		all_s += computed_s;
		causes_s = fmax(causes_s, job.ranks[r].causes_s);
	}
	printf("{\"ranks\": %u, \"seconds\": %.4f, \"causes_s\": %.4f, \"computed_most_s\": %.4f, "
	       "\"computed_all_s\": %.4f, \"messages\": %llu, \"message_bytes\": %llu, "
	       "\"launches\": %llu, \"bins\": %zu, \"first_bin\": %u}\n",
	       job.count, longest_s, causes_s, most_s, all_s, (unsigned long long)job.message_count,
	       (unsigned long long)job.message_bytes, (unsigned long long)job.result.launch_count,
	       job.result.bin_count, job.result.by_variance[0]);
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "usage: %s RANKS LATENCY_US GIGABYTES_PER_S DB...\n", argv[0]);
		return 2;
	}
	job.count = (unsigned)atoi(argv[1]);
	job.latency_s = atof(argv[2]) * 1e-6;
	job.bytes_per_s = atof(argv[3]) * 1e9;
	job.ranks = calloc(job.count + 1, sizeof(*job.ranks));
	if (!job.count || !job.ranks || !(job.bytes_per_s > 0))
		fail("no ranks, or no bandwidth");
	open_inputs(argv + 4, (size_t)argc - 4);
	job.request.by = SN_BY_CONFIGURATION;
	job.request.top = 5;
	job.request.threads = 1;
	job.request.peers = &simulated;
	job.request.target = SN_FEATURE_MEMORY_STALL;
	job.request.wants_features = true;
	for (unsigned r = 0; r < job.count; r++) {
		job.ranks[r].number = r;
		if (pthread_create(&job.ranks[r].thread, NULL, run_rank, job.ranks + r))
			fail("no thread for a rank");
	}
	for (unsigned r = 0; r < job.count; r++)
		pthread_join(job.ranks[r].thread, NULL);
	print();
	return 0;
}
