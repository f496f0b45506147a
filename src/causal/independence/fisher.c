/* SPDX-License-Identifier: Apache-2.0 */
/* Partial correlations of all sets of a size by elimination; see fisher.h. */
#include "fisher.h"

#include "base/vec.h"
#include "causal/cholesky.h"
#include "causal/normal.h"

#include <stdlib.h>
#include <string.h>

/* What some held variables leave of a and b and of the candidates that may be held too: variances, and covariances. */
struct sn_fisher_node {
	uint32_t count; /* candidates */
	double ab, aa, bb;
	double *with_a, *with_b, *own; /* of each candidate */
	double *squares; /* of the correlations of a and b, each candidate being held */
	double *row;	 /* of the candidate that is held next, with each one */
	double *
	    between; /* count x count, right of the diagonal; NULL at the first node: `correlations` has them */
	size_t vector_capacity, between_capacity;
};

struct search {
	const struct sn_fisher *fisher;
	const uint32_t *among;
	double enough; /* a square of at most this ends the search */
};

void sn_fisher_init(struct sn_fisher *fisher, const double *correlations, uint32_t variables,
		    size_t rows)
{
	*fisher = (struct sn_fisher){
	    .correlations = correlations, .variables = variables, .rows = rows, .alpha = NAN};
}

void sn_fisher_release(struct sn_fisher *fisher)
{
	for (uint32_t number = 0; number < fisher->node_count; number++) {
		free(fisher->nodes[number].with_a);
		free(fisher->nodes[number].between);
	}
	free(fisher->nodes);
	*fisher = (struct sn_fisher){0};
}

/* ---- room ---- */

static int make_node(struct sn_fisher_node *node, uint32_t count, bool has_between)
{
	if (sn_vec_reserve(&node->with_a, &node->vector_capacity, 5 * (size_t)count + 1) < 0)
		return SN_ERR_MEMORY;
	node->with_b = node->with_a + count;
	node->own = node->with_b + count;
	node->squares = node->own + count;
	node->row = node->squares + count;
	if (has_between &&
	    sn_vec_reserve(&node->between, &node->between_capacity, (size_t)count * count + 1) < 0)
		return SN_ERR_MEMORY;
	return 0;
}

static int make_nodes(struct sn_fisher *fisher, uint32_t count, uint32_t size)
{
	if (size > fisher->node_count) {
		struct sn_fisher_node *grown =
		    realloc(fisher->nodes, size * sizeof(*fisher->nodes));
		if (!grown)
			return SN_ERR_MEMORY;
		memset(grown + fisher->node_count, 0, (size - fisher->node_count) * sizeof(*grown));
		fisher->nodes = grown;
		fisher->node_count = size;
	}
	for (uint32_t number = 0; number < size; number++)
		if (make_node(&fisher->nodes[number], count, number && number + 2 <= size))
			return SN_ERR_MEMORY;
	return 0;
}

/* ---- one set after another ---- */

/* Each candidate is held. The least square, or the first that is enough; INFINITY where none can be told. */
static double last_held(const struct search *search, struct sn_fisher_node *node, uint32_t first)
{
	const double *with_a = node->with_a, *with_b = node->with_b, *own = node->own;
	double ab = node->ab, aa = node->aa, bb = node->bb, least = INFINITY;
	for (uint32_t held = first; held < node->count; held++) {
		double left_a = aa * own[held] - with_a[held] * with_a[held];
		double left_b = bb * own[held] - with_b[held] * with_b[held];
		double left = ab * own[held] - with_a[held] * with_b[held];
		double square = left * left / (left_a * left_b), nothing = SN_CHOLESKY_NOTHING;
		node->squares[held] = (own[held] > nothing) & (left_a > nothing * own[held]) &
					      (left_b > nothing * own[held])
					  ? square
					  : INFINITY;
	}
	for (uint32_t held = first; held < node->count; held++) {
		if (node->squares[held] < least)
			least = node->squares[held];
		if (least <= search->enough)
			break;
	}
	return least;
}

/* The covariances of a candidate with those behind it. */
static const double *row_of(const struct search *search, struct sn_fisher_node *node, bool is_first,
			    uint32_t candidate)
{
	if (!is_first)
		return node->between + (size_t)candidate * node->count;
	const double *correlations = search->fisher->correlations +
				     (size_t)search->among[candidate] * search->fisher->variables;
	for (uint32_t other = candidate + 1; other < node->count; other++)
		node->row[other] = correlations[search->among[other]];
	return node->row;
}

/* `child` is what is left by holding a candidate of `node` too: those behind it are its candidates. */
static void hold(const struct search *search, const struct sn_fisher_node *node, bool is_first,
		 uint32_t held, const double *row, struct sn_fisher_node *child)
{
	double inverse = 1 / node->own[held];
	double of_a = node->with_a[held] * inverse, of_b = node->with_b[held] * inverse;
	uint32_t first = held + 1;
	child->count = node->count - first;
	child->ab = node->ab - of_a * node->with_b[held];
	child->aa = node->aa - of_a * node->with_a[held];
	child->bb = node->bb - of_b * node->with_b[held];
	for (uint32_t other = 0; other < child->count; other++) {
		double covariance = row[first + other];
		child->with_a[other] = node->with_a[first + other] - of_a * covariance;
		child->with_b[other] = node->with_b[first + other] - of_b * covariance;
		child->own[other] = node->own[first + other] - covariance * covariance * inverse;
	}
}

/* The same for the covariances of the candidates with each other. */
static void hold_between(const struct search *search, struct sn_fisher_node *node, bool is_first,
			 uint32_t held, const double *row, struct sn_fisher_node *child)
{
	double inverse = 1 / node->own[held];
	const double *correlations = search->fisher->correlations;
	const uint32_t *among = search->among + (held + 1);
	for (uint32_t one = 0; one < child->count; one++) {
		double *out = child->between + (size_t)one * child->count;
		double part = row[held + 1 + one] * inverse;
		const double *before =
		    is_first ? correlations + (size_t)among[one] * search->fisher->variables
			     : node->between + (size_t)(held + 1 + one) * node->count + held + 1;
		for (uint32_t other = one + 1; other < child->count; other++)
			out[other] =
			    before[is_first ? among[other] : other] - part * row[held + 1 + other];
	}
}

/* The least square over the sets of `size` of the node's candidates; as last_held(). */
static double least_square(const struct search *search, struct sn_fisher_node *node, uint32_t size,
			   bool is_first)
{
	double least = INFINITY;
	if (size == 1)
		return last_held(search, node, 0);
	for (uint32_t held = 0; held + size <= node->count && least > search->enough; held++) {
		struct sn_fisher_node *child = node + 1;
		if (node->own[held] <= SN_CHOLESKY_NOTHING)
			continue;
		const double *row = row_of(search, node, is_first, held);
		hold(search, node, is_first, held, row, child);
		if (child->aa <= SN_CHOLESKY_NOTHING || child->bb <= SN_CHOLESKY_NOTHING)
			continue;
		if (size > 2)
			hold_between(search, node, is_first, held, row, child);
		double square = least_square(search, child, size - 1, false);
		least = square < least ? square : least;
	}
	return least;
}

/* -1 without memory. */
static double search_all(struct sn_fisher *fisher, uint32_t a, uint32_t b, const uint32_t *among,
			 uint32_t count, uint32_t size, double enough)
{
	const double *of_a = fisher->correlations + (size_t)a * fisher->variables;
	const double *of_b = fisher->correlations + (size_t)b * fisher->variables;
	struct search search = {fisher, among, enough};
	if (fisher->rows < (size_t)size + 4 || of_a[a] <= SN_CHOLESKY_NOTHING ||
	    of_b[b] <= SN_CHOLESKY_NOTHING)
		return INFINITY;
	if (!size)
		return of_a[b] * of_a[b] / (of_a[a] * of_b[b]);
	if (make_nodes(fisher, count, size))
		return -1;
	struct sn_fisher_node *node = fisher->nodes;
	node->count = count;
	node->ab = of_a[b];
	node->aa = of_a[a];
	node->bb = of_b[b];
	for (uint32_t candidate = 0; candidate < count; candidate++) {
		uint32_t variable = among[candidate];
		node->with_a[candidate] = of_a[variable];
		node->with_b[candidate] = of_b[variable];
		node->own[candidate] =
		    fisher->correlations[(size_t)variable * fisher->variables + variable];
	}
	return least_square(&search, node, size, true);
}

/* ---- probabilities ---- */

static double deviations(const struct sn_fisher *fisher, uint32_t size)
{
	return sqrt((double)(fisher->rows - size - 3));
}

static double probability_of(const struct sn_fisher *fisher, double square, uint32_t size)
{
	if (square < 0)
		return SN_INDEPENDENCE_MEMORY;
	if (isinf(square))
		return SN_INDEPENDENCE_UNKNOWN;
	return sn_normal_two_sided(deviations(fisher, size) * atanh(fmin(sqrt(square), 1)));
}

/* The square of the correlation whose probability is alpha, so that most tests need no logarithm. */
static double critical_square(struct sn_fisher *fisher, uint32_t size, double alpha)
{
	if (fisher->size != size || fisher->alpha != alpha) {
		double least = fisher->rows < (size_t)size + 4
				   ? -1
				   : tanh(sn_normal_quantile(alpha / 2) / deviations(fisher, size));
		fisher->critical = least * least;
		fisher->size = size;
		fisher->alpha = alpha;
	}
	return fisher->critical;
}

static double fisher_of(void *context, uint32_t a, uint32_t b, const uint32_t *given,
			uint32_t count)
{
	struct sn_fisher *fisher = context;
	return probability_of(fisher, search_all(fisher, a, b, given, count, count, -1), count);
}

static double fisher_most(void *context, uint32_t a, uint32_t b, const uint32_t *among,
			  uint32_t count, uint32_t size, double alpha)
{
	struct sn_fisher *fisher = context;
	double enough = critical_square(fisher, size, alpha);
	double square = search_all(fisher, a, b, among, count, size, enough);
	if (square >= 0 && square <= enough)
		return 1;
	return probability_of(fisher, square, size);
}

struct sn_independence sn_fisher_test(struct sn_fisher *fisher)
{
	return (struct sn_independence){
	    .of = fisher_of,
	    .most = fisher_most,
	    .given_most =
		fisher->rows < 4
		    ? 0
		    : (uint32_t)(fisher->rows - 4 < UINT32_MAX ? fisher->rows - 4 : UINT32_MAX),
	    .context = fisher};
}
