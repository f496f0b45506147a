/* SPDX-License-Identifier: Apache-2.0 */
/* Work divided among processes, which are threads here, and what they have found put together. */
#include "base/peers/divide.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { RANKS_MOST = 9, ITEMS = 40 };

/* ---- threads as ranks ---- */

static struct {
	pthread_barrier_t meeting;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned count;
	struct sn_peer_part letters[RANKS_MOST][RANKS_MOST]; /* from, to */
	void *root;
	uint64_t bits;
	int codes[RANKS_MOST];
} job = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static _Thread_local unsigned me;

static void meet(void)
{
	pthread_barrier_wait(&job.meeting);
}

static unsigned rank(void)
{
	return me;
}

static unsigned size(void)
{
	return job.count;
}

static void broadcast(void *bytes, size_t length)
{
	if (!me)
		job.root = bytes;
	meet();
	if (me && length)
		memcpy(bytes, job.root, length);
	meet();
}

static void send(unsigned to, const void *bytes, size_t length)
{
	struct sn_peer_part part = {malloc(length + 1), length};
	if (length)
		memcpy(part.bytes, bytes, length);
	pthread_mutex_lock(&job.lock);
	job.letters[me][to] = part;
	pthread_cond_broadcast(&job.changed);
	pthread_mutex_unlock(&job.lock);
}

static void receive(unsigned from, struct sn_peer_part *part)
{
	pthread_mutex_lock(&job.lock);
	while (!job.letters[from][me].bytes)
		pthread_cond_wait(&job.changed, &job.lock);
	*part = job.letters[from][me];
	job.letters[from][me] = (struct sn_peer_part){0};
	pthread_mutex_unlock(&job.lock);
}

static void merge_bits(uint64_t *words, size_t count)
{
	meet();
	if (!me)
		job.bits = 0;
	meet();
	__atomic_fetch_or(&job.bits, words[0], __ATOMIC_RELAXED);
	meet();
	words[0] = job.bits;
	(void)count;
}

static int agree(int code, struct sn_error *error)
{
	(void)error;
	job.codes[me] = code;
	meet();
	int found = 0;
	for (unsigned other = 0; !found && other < job.count; other++)
		found = job.codes[other];
	meet();
	return found;
}

static const struct sn_peers peers = {.rank = rank,
				      .size = size,
				      .broadcast = broadcast,
				      .send = send,
				      .receive = receive,
				      .merge_bits = merge_bits,
				      .agree = agree};

/* ---- what they do ---- */

struct found {
	unsigned times[ITEMS]; /* done by this rank, then by all */
	unsigned cleared, added;
	int result;
	/* the item, or the rank's adding, that fails; -1: none */
	int failing_item, failing_add;
};

static struct found all[RANKS_MOST];

static int work(void *context, unsigned worker, size_t item)
{
	struct found *found = context;
	(void)worker;
	found->times[item]++;
	return (int)item == found->failing_item ? SN_ERR_IO : 0;
}

static uint64_t first_is_heavy(const void *context, size_t item)
{
	(void)context;
	return item ? 1 : 3 * ITEMS;
}

static void pack(const void *context, struct sn_buffer *bytes)
{
	const struct found *found = context;
	sn_buffer_put(bytes, found->times, sizeof(found->times));
}

static int add(void *context, struct sn_span bytes)
{
	struct found *found = context;
	unsigned times[ITEMS];
	if ((int)me == found->failing_add || !sn_span_get(&bytes, times, sizeof(times)))
		return SN_ERR_MEMORY;
	for (int item = 0; item < ITEMS; item++)
		found->times[item] += times[item];
	found->added++;
	return 0;
}

static void clear(void *context)
{
	struct found *found = context;
	memset(found->times, 0, sizeof(found->times));
	found->cleared++;
}

static struct sn_peers_work task = {.count = ITEMS, .item = work};

static void *be_rank(void *number)
{
	me = (unsigned)(size_t)number;
	struct found *found = &all[me];
	struct sn_peers_work mine = task;
	const struct sn_peers_merging merging = {pack, add, clear, found};
	struct sn_error error;
	mine.context = found;
	found->result = sn_peers_run(&peers, 1, &mine);
	found->result = sn_peers_agree(&peers, found->result, &error);
	if (!found->result)
		found->result = sn_peers_merge(&peers, &merging, &error);
	return NULL;
}

static void run(unsigned count, int failing_item, int failing_add)
{
	pthread_t threads[RANKS_MOST];
	memset(all, 0, sizeof(all));
	job.count = count;
	pthread_barrier_init(&job.meeting, NULL, count);
	for (unsigned number = 0; number < count; number++) {
		all[number].failing_item = failing_item;
		all[number].failing_add = failing_add;
		assert_int_equal(
		    pthread_create(&threads[number], NULL, be_rank, (void *)(size_t)number), 0);
	}
	for (unsigned number = 0; number < count; number++)
		pthread_join(threads[number], NULL);
	pthread_barrier_destroy(&job.meeting);
}

/* ---- tests ---- */

static void test_all_know_the_whole(void **state)
{
	(void)state;
	for (unsigned count = 1; count <= RANKS_MOST; count++)
		for (int heavy = 0; heavy < 2; heavy++) {
			task.weight = heavy ? first_is_heavy : NULL;
			run(count, -1, -1);
			for (unsigned number = 0; number < count; number++) {
				assert_int_equal(all[number].result, 0);
				for (int item = 0; item < ITEMS; item++)
					assert_int_equal(all[number].times[item], 1);
				assert_int_equal(all[number].cleared, number > 0);
			}
		}
}

static unsigned done_by(unsigned number)
{
	unsigned sum = 0;
	me = number;
	memset(&all[number], 0, sizeof(all[number]));
	all[number].failing_item = -1;
	struct sn_peers_work mine = task;
	mine.context = &all[number];
	assert_int_equal(sn_peers_run(&peers, 1, &mine), 0);
	for (int item = 0; item < ITEMS; item++)
		sum += all[number].times[item];
	return sum;
}

/* By weight, not by number: of two, the first does the heavy item alone. */
static void test_shares(void **state)
{
	(void)state;
	job.count = 4;
	task.weight = NULL;
	for (unsigned number = 0; number < 4; number++)
		assert_int_equal(done_by(number), ITEMS / 4);
	job.count = 2;
	task.weight = first_is_heavy;
	assert_int_equal(done_by(0), 1);
	assert_int_equal(done_by(1), ITEMS - 1);
	task.weight = NULL;
}

static void test_one_that_fails_is_known_to_all(void **state)
{
	(void)state;
	for (unsigned count = 2; count <= RANKS_MOST; count++) {
		run(count, ITEMS - 1, -1);
		for (unsigned number = 0; number < count; number++)
			assert_int_equal(all[number].result, SN_ERR_IO);
		/* on the way up, and on the way down */
		for (unsigned failing = 0; failing < count; failing++) {
			run(count, -1, (int)failing);
			for (unsigned number = 0; number < count; number++)
				assert_int_equal(all[number].result, SN_ERR_MEMORY);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_know_the_whole),
	    cmocka_unit_test(test_shares),
	    cmocka_unit_test(test_one_that_fails_is_known_to_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
