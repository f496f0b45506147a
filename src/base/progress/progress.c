/* SPDX-License-Identifier: Apache-2.0 */
/* A few numbers in memory that child processes share; see progress.h. */
#include "progress.h"

#include "base/error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/* relaxed: each is a number of its own, and what is shown may be a moment old */
struct state {
	_Atomic(const char *) step;
	_Atomic uint64_t done, total;
};

static struct state *state;

int sn_progress_watch(void)
{
	if (state)
		return 0;
	void *shared =
	    mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return SN_ERR_MEMORY;
	state = shared;
	return 0;
}

struct sn_progress sn_progress_now(void)
{
	if (!state)
		return (struct sn_progress){NULL};
	return (struct sn_progress){
	    atomic_load_explicit(&state->step, memory_order_relaxed),
	    atomic_load_explicit(&state->done, memory_order_relaxed),
	    atomic_load_explicit(&state->total, memory_order_relaxed),
	};
}

void sn_progress_resume(const struct sn_progress *outer)
{
	if (!state)
		return;
	atomic_store_explicit(&state->done, outer->done, memory_order_relaxed);
	atomic_store_explicit(&state->total, outer->total, memory_order_relaxed);
	atomic_store_explicit(&state->step, outer->step, memory_order_relaxed);
}

struct sn_progress sn_progress_begin(const char *step, uint64_t total)
{
	struct sn_progress outer = sn_progress_now();
	sn_progress_resume(&(struct sn_progress){step, 0, total});
	return outer;
}

void sn_progress_add(uint64_t done)
{
	if (state)
		atomic_fetch_add_explicit(&state->done, done, memory_order_relaxed);
}
