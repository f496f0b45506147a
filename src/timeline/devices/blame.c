/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a device's idle time among the threads that run meanwhile. */
#include "blame.h"

#include "base/error.h"
#include "base/sort_by.h"

#include <stdlib.h>

enum { WORD_BITS = 64 };

int sn_blaming_init(struct sn_blaming *blaming, const struct sonde_db *db, size_t thread_count)
{
	*blaming = (struct sn_blaming){
	    .threads = calloc(thread_count + 1, sizeof(*blaming->threads)),
	    .busy = calloc(thread_count / WORD_BITS + 1, sizeof(*blaming->busy)),
	    .thread_count = thread_count,
	    .charged = calloc(sonde_db_context_count(db) + 1ull, sizeof(double)),
	};
	for (size_t i = 0; i < thread_count && blaming->threads; i++)
		blaming->threads[i].context = SONDE_NONE;
	return blaming->threads && blaming->busy && blaming->charged ? 0 : SN_ERR_MEMORY;
}

void sn_blaming_release(struct sn_blaming *blaming)
{
	free(blaming->threads);
	free(blaming->busy);
	free(blaming->charged);
	*blaming = (struct sn_blaming){0};
}

/* Accounts for time in which the same threads have been running. A thread's share is the growth of
 * per_thread while it ran, so that the cost does not depend on the number of threads. */
static void pass(struct sn_blaming *blaming, uint64_t time_ns)
{
	if (blaming->running) {
		double passed = (double)(time_ns - blaming->now_ns);
		blaming->per_thread += passed / (double)blaming->running;
		blaming->blamed_ns += passed;
	}
	blaming->now_ns = time_ns;
}

static void charge(struct sn_blaming *blaming, const struct sn_blame_thread *thread)
{
	blaming->charged[thread->context] += blaming->per_thread - thread->begin;
}

void sn_blaming_begin_idle(struct sn_blaming *blaming, uint64_t time_ns)
{
	blaming->is_idle = true;
	blaming->now_ns = time_ns;
	for (size_t word = 0; word <= blaming->thread_count / WORD_BITS; word++)
		for (uint64_t left = blaming->busy[word]; left; left &= left - 1) {
			size_t bit = (size_t)__builtin_ctzll(left);
			blaming->threads[word * WORD_BITS + bit].begin = blaming->per_thread;
			blaming->running++;
		}
}

void sn_blaming_end_idle(struct sn_blaming *blaming, uint64_t time_ns)
{
	pass(blaming, time_ns);
	for (size_t word = 0; word <= blaming->thread_count / WORD_BITS; word++)
		for (uint64_t left = blaming->busy[word]; left; left &= left - 1)
			charge(blaming,
			       blaming->threads + word * WORD_BITS + (size_t)__builtin_ctzll(left));
	blaming->running = 0;
	blaming->is_idle = false;
}

void sn_blaming_begin(struct sn_blaming *blaming, size_t thread, uint32_t context, uint64_t time_ns)
{
	blaming->threads[thread].context = context;
	blaming->busy[thread / WORD_BITS] |= UINT64_C(1) << thread % WORD_BITS;
	if (!blaming->is_idle)
		return;
	pass(blaming, time_ns);
	blaming->threads[thread].begin = blaming->per_thread;
	blaming->running++;
}

void sn_blaming_end(struct sn_blaming *blaming, size_t thread, uint64_t time_ns)
{
	struct sn_blame_thread *one = blaming->threads + thread;
	if (one->context == SONDE_NONE)
		return;
	if (blaming->is_idle) {
		pass(blaming, time_ns);
		charge(blaming, one);
		blaming->running--;
	}
	one->context = SONDE_NONE;
	blaming->busy[thread / WORD_BITS] &= ~(UINT64_C(1) << thread % WORD_BITS);
}

SN_SORT_BY(sort_by_time, struct sn_blame_share, const void *,
	   SN_ORDER(b->time_ns, a->time_ns) ?: SN_ORDER(a->context, b->context));

int sn_blaming_finish(const struct sn_blaming *blaming, const struct sonde_db *db, uint64_t idle_ns,
		      struct sn_blame *blame)
{
	uint32_t context_count = sonde_db_context_count(db);
	*blame = (struct sn_blame){
	    .shares = malloc((context_count + 1ull) * sizeof(*blame->shares)),
	    .blamed_ns = blaming->blamed_ns,
	    .unblamed_ns = (double)idle_ns - blaming->blamed_ns,
	};
	if (!blame->shares)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < context_count; i++)
		if (blaming->charged[i] > 0)
			blame->shares[blame->count++] =
			    (struct sn_blame_share){i, blaming->charged[i]};
	sort_by_time(blame->shares, blame->count, NULL);
	return 0;
}

void sn_blame_release(struct sn_blame *blame)
{
	free(blame->shares);
	*blame = (struct sn_blame){0};
}
