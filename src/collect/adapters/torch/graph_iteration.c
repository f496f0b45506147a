/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterations of a PyTorch program: those it marks (sonde.iteration), or, if it marks none, those
 * found in the sequence of its operators.
 *
 * The sequence of one thread's operators is recorded until its second half, and at least two
 * periods, repeat with one period. Among the operators that occur once in this cycle, the one that
 * the program ran first is the anchor. The iteration begins as many operators before the anchor as
 * were already part of the cycle when the program first came to it; so it begins where the loop
 * begins, and not where its warm-up ends. From then on each anchor determines where the next
 * iteration begins. If the distance of anchors then changes in more than one of ten cases, or three
 * times in a short cycle (then an inner loop repeated), learning continues until there are four
 * times as many operators.
 */
#include "graph.h"

#include <string.h>

enum { LEARN_LEAST = 32, LEARN_MOST = 1 << 16, TRIALS = 5, WATCHED = 64, SHORT = 16, ODD = 3 };

static struct {
	struct sn_torch_thread *learner; /* the first thread that ran an operator */
	uint64_t *hashes;
	uint32_t count, next_check, trial;
	uint32_t learned; /* operators from which the cycle was learned */
	bool is_known, has_failed;
	uint64_t anchor, first; /* hashes; first: of the operator with which an iteration begins */
	uint32_t delay;		/* operators from an anchor to the begin of the next iteration */
	uint32_t left;		/* the rest of these */
	uint32_t period, gap, gaps, odd_gaps;
	uint64_t start_ns;
} state;
static _Atomic uint64_t iterations;
static _Atomic bool is_in_iteration;
static _Atomic uint32_t model = SN_GRAPH_NONE;

uint32_t sn_torch_graph_model(void)
{
	uint32_t known = atomic_load_explicit(&model, memory_order_relaxed);
	if (known != SN_GRAPH_NONE)
		return known;
	static const char names[TRIALS + 1][12] = {"PyTorch",	"PyTorch 2", "PyTorch 3",
						   "PyTorch 4", "PyTorch 5", "PyTorch 6"};
	const char *name = names[state.trial < TRIALS ? state.trial : TRIALS];
	known = sn_graph_model(name, strlen(name), "PyTorch", "sequence numbers");
	atomic_store_explicit(&model, known, memory_order_relaxed);
	return known;
}

/* ---- learning ---- */

static bool repeats(const uint64_t *hashes, uint32_t count, uint32_t period)
{
	uint32_t tail = count / 2 > 2 * period ? count / 2 : 2 * period;
	if (tail + period > count)
		return false;
	for (uint32_t i = count - tail; i < count; i++)
		if (hashes[i] != hashes[i - period])
			return false;
	return true;
}

/* The period, or 0 if there is none. */
static uint32_t find_period(const uint64_t *hashes, uint32_t count)
{
	for (uint32_t i = count - 1; i--;)
		if (hashes[i] == hashes[count - 1] && repeats(hashes, count, count - 1 - i))
			return count - 1 - i;
	return 0;
}

static uint32_t occurrences(const uint64_t *cycle, uint32_t period, uint64_t hash)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < period && found < 2; i++)
		found += cycle[i] == hash;
	return found;
}

/* How many operators before `first`, the first anchor, already belong to the cycle. */
static uint32_t count_before(const uint64_t *cycle, uint32_t period, uint32_t first)
{
	uint32_t at = 0, count = 0;
	while (cycle[at] != state.hashes[first])
		at++;
	while (count + 1 < period && count < first &&
	       state.hashes[first - 1 - count] == cycle[(at + period - 1 - count) % period])
		count++;
	return count;
}

static void find_anchor(uint32_t period)
{
	const uint64_t *cycle = state.hashes + state.count - period;
	for (uint32_t i = 0; i < state.count; i++)
		if (occurrences(cycle, period, state.hashes[i]) == 1) {
			state.anchor = state.hashes[i];
			state.period = period;
			uint32_t before = count_before(cycle, period, i);
			state.first = state.hashes[i - before];
			state.delay = (period - before) % period;
			state.left = 0;
			state.learned = state.count;
			state.is_known = true;
			return;
		}
}

static void learn(uint64_t hash)
{
	if (!state.hashes) {
		state.hashes = sn_pages_map(LEARN_MOST * sizeof(*state.hashes));
		state.next_check = LEARN_LEAST;
	}
	if (!state.hashes || state.count == LEARN_MOST) {
		state.has_failed = true;
		return;
	}
	state.hashes[state.count++] = hash;
	if (state.count < state.next_check)
		return;
	state.next_check += state.next_check / 2;
	uint32_t period = find_period(state.hashes, state.count);
	if (period)
		find_anchor(period);
}

/* Learns again, because what seemed to be the iteration is only a part of it. */
static void learn_anew(void)
{
	sn_graph_model_flag(sn_torch_graph_model(), SN_GRAPH_DISCARDED);
	atomic_store_explicit(&model, SN_GRAPH_NONE, memory_order_relaxed);
	state.next_check = 4 * state.learned > state.count ? 4 * state.learned : state.count + 1;
	state.trial++;
	state.is_known = false;
	atomic_store_explicit(&is_in_iteration, false, memory_order_relaxed);
	state.start_ns = 0;
	state.gap = state.gaps = state.odd_gaps = 0;
}

/* Notes that an iteration begins with this operator. */
static void iteration_begins(uint64_t now_ns)
{
	if (state.start_ns)
		sn_graph_iteration(sn_torch_graph_model(), state.start_ns, now_ns, "repetition");
	state.start_ns = now_ns;
	atomic_fetch_add_explicit(&iterations, 1, memory_order_relaxed);
	atomic_store_explicit(&is_in_iteration, true, memory_order_relaxed);
}

/* Whether the distance of anchors stays the same; if not, learns again. */
static bool is_steady(void)
{
	state.odd_gaps += state.gap > state.period + state.period / 2 ||
			  state.gap < state.period - state.period / 2;
	bool is_inner = state.period < SHORT && state.odd_gaps == ODD;
	if (++state.gaps == WATCHED && state.odd_gaps * 10 > WATCHED)
		is_inner = true;
	if (is_inner && state.trial < TRIALS) {
		learn_anew();
		return false;
	}
	state.gap = 0;
	return true;
}

static void watch(uint64_t hash, uint64_t now_ns)
{
	/* kept in case this is learned again */
	if (state.count < LEARN_MOST)
		state.hashes[state.count++] = hash;
	state.gap++;
	if (state.left > 1) {
		state.left--;
	} else if (state.left && hash == state.first) {
		state.left = 0;
		iteration_begins(now_ns);
	}
	if (hash != state.anchor || !is_steady())
		return;
	state.left = state.delay;
	if (!state.left)
		iteration_begins(now_ns);
}

/* ---- asked for each operator ---- */

bool sn_torch_iteration_now(uint64_t *iteration)
{
	uint64_t marked = sn_graph_iterations_begun();
	*iteration = marked ? marked : atomic_load_explicit(&iterations, memory_order_relaxed);
	return marked ? sn_graph_in_iteration()
		      : atomic_load_explicit(&is_in_iteration, memory_order_relaxed);
}

bool sn_torch_iteration(struct sn_torch_thread *self, uint64_t hash, uint64_t now_ns,
			uint64_t *iteration)
{
	if (!sn_graph_iterations_begun()) {
		if (!state.learner)
			state.learner = self;
		if (state.learner == self && !state.has_failed) {
			if (!state.is_known)
				learn(hash);
			else
				watch(hash, now_ns);
		}
	}
	return sn_torch_iteration_now(iteration);
}

void sn_torch_iteration_after_fork(void)
{
	state.start_ns = 0;
}
