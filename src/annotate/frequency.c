/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See frequency.h. The graph of the solver has two nodes for each block, its begin and its end, and one for the world outside; its links are the blocks, the edges, and the ways in and out.
 * What flows into a node flows out of it. Newton's method begins at the guesses, which are not consistent, and each step solves a weighted Laplacian for the potentials of the nodes, exactly
 * (network.h), or where the graph is too dense for that by conjugate gradients (Boyd and Vandenberghe, "Convex Optimization", 2004, section 10.3: infeasible start). The function is self-concordant, so that it arrives from anywhere.
 */
#include "frequency.h"

#include "network.h"
#include "outside.h"

#include "base/error.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN	     0.25 /* samples of a block without any */
#define EDGE_WEIGHT  0.3  /* of an edge's guess, in samples */
#define WORLD_WEIGHT 0.1
#define TOLERANCE    1e-6 /* of each flow */
#define WORK_MOST                                                                                  \
	4e7 /* visits of links in a round; of more than a few thousand links it is too little to be exact */
enum { STEPS = 80, CG_STEPS = 600, ROUNDS = 3 };

/* From one node to another. */
struct link {
	uint32_t from, to;
	double guess;
	double weight; /* of the guess, in samples */
	double flow, step;
	double ease; /* by which its flow grows with the difference of potentials */
};

struct solving {
	struct link *links;
	size_t link_count, capacity;
	uint32_t node_count;
	struct sn_network network;				   /* of the links */
	double *ease;						   /* by link, for it */
	double work;						   /* of this round */
	double *potential, *rest, *direction, *product, *diagonal; /* by node */
};

static uint32_t begin_of(uint32_t block)
{
	return 2 * block;
}

static uint32_t end_of(uint32_t block)
{
	return 2 * block + 1;
}

static int add_link(struct solving *solving, uint32_t from, uint32_t to, double guess,
		    double weight)
{
	return sn_vec_push(&solving->links, &solving->capacity, &solving->link_count,
			   (struct link){from, to, guess, weight, guess, 0, 0});
}

static double guess_of(const struct sn_frequency_block *block)
{
	return fmax(block->samples, UNSEEN) / block->cycles;
}

static int add_blocks(struct solving *solving, const struct sn_flow_graph *graph,
		      const struct sn_frequency_block *blocks)
{
	int result = 0;
	for (uint32_t block = 0; !result && block < graph->block_count; block++) {
		const struct sn_frequency_block *own = &blocks[block];
		result = add_link(solving, begin_of(block), end_of(block), guess_of(own),
				  fmax(own->samples, UNSEEN) / (own->doubt * own->doubt));
	}
	return result;
}

/* Edges in the order of the graph, without those of exceptions. Guesses come later. */
static int add_edges(struct solving *solving, const struct sn_flow_graph *graph,
		     const struct sn_outside *outside)
{
	uint32_t world = 2 * graph->block_count;
	int result = 0;
	for (uint32_t edge = 0; !result && edge < graph->edge_count; edge++)
		if (!graph->edges[edge].is_throw)
			result = add_link(solving, end_of(graph->edges[edge].from),
					  begin_of(graph->edges[edge].to), 1, EDGE_WEIGHT);
	for (uint32_t block = 0; !result && block < graph->block_count; block++) {
		if (outside->is_entered[block])
			result = add_link(solving, world, begin_of(block), 1, WORLD_WEIGHT);
		if (!result && outside->is_left[block])
			result = add_link(solving, end_of(block), world, 1, WORLD_WEIGHT);
	}
	return result;
}

/* Of each edge: the geometric mean of its part of what leaves its first block and of what enters its second one, where blocks flow as they were last found to. */
static void guess_edges(struct solving *solving, uint32_t blocks, double *out, double *in)
{
	uint32_t world = 2 * blocks;
	memset(out, 0, solving->node_count * sizeof(*out));
	memset(in, 0, solving->node_count * sizeof(*in));
	for (size_t i = blocks; i < solving->link_count; i++) {
		const struct link *link = &solving->links[i];
		out[link->from] += link->to == world ? 0 : solving->links[link->to / 2].flow;
		in[link->to] += link->from == world ? 0 : solving->links[link->from / 2].flow;
	}
	for (size_t i = blocks; i < solving->link_count; i++) {
		struct link *link = &solving->links[i];
		double guess;
		if (link->from == world || link->to == world) {
			uint32_t block = (link->from == world ? link->to : link->from) / 2;
			double beside = link->from == world ? in[link->to] : out[link->from];
			guess = solving->links[block].flow * (beside > 0 ? 0.1 : 1);
		} else {
			double from = solving->links[link->from / 2].flow,
			       to = solving->links[link->to / 2].flow;
			guess = sqrt(from * to / out[link->from] * to * from / in[link->to]);
		}
		link->guess = guess;
	}
}

/* ---- the solution ---- */

/* What a node lacks if all links take their step without potentials, and the diagonal of the Laplacian. */
static void find_rest(struct solving *solving)
{
	memset(solving->rest, 0, solving->node_count * sizeof(double));
	memset(solving->diagonal, 0, solving->node_count * sizeof(double));
	for (size_t i = 0; i < solving->link_count; i++) {
		struct link *link = &solving->links[i];
		link->ease = link->flow * link->flow / link->weight;
		double alone = link->flow * (2 - link->flow / link->guess);
		solving->rest[link->from] -= alone;
		solving->rest[link->to] += alone;
		solving->diagonal[link->from] += link->ease;
		solving->diagonal[link->to] += link->ease;
	}
}

static double times_laplacian(struct solving *solving)
{
	double curvature = 0;
	memset(solving->product, 0, solving->node_count * sizeof(double));
	for (size_t i = 0; i < solving->link_count; i++) {
		const struct link *link = &solving->links[i];
		double apart = solving->direction[link->from] - solving->direction[link->to];
		solving->product[link->from] += link->ease * apart;
		solving->product[link->to] -= link->ease * apart;
		curvature += link->ease * apart * apart;
	}
	return curvature;
}

static double scaled_rest(const struct solving *solving)
{
	double sum = 0;
	for (uint32_t node = 0; node < solving->node_count; node++)
		if (solving->diagonal[node] > 0)
			sum += solving->rest[node] * solving->rest[node] / solving->diagonal[node];
	return sum;
}

/* Potentials with which nothing is left over, by conjugate gradients with the diagonal as the preconditioner; they begin at those of the step before. */
static void find_potentials(struct solving *solving)
{
	double before = 0;
	memcpy(solving->direction, solving->potential, solving->node_count * sizeof(double));
	double whole = scaled_rest(solving);
	times_laplacian(solving);
	for (uint32_t node = 0; node < solving->node_count; node++)
		solving->rest[node] -= solving->product[node];
	double now = scaled_rest(solving), enough = fmin(whole, 1) * 1e-22;
	for (int turn = 0; turn < CG_STEPS && now > enough; turn++) {
		for (uint32_t node = 0; node < solving->node_count; node++) {
			double down = solving->diagonal[node] > 0
					  ? solving->rest[node] / solving->diagonal[node]
					  : 0;
			solving->direction[node] =
			    down + (turn ? now / before * solving->direction[node] : 0);
		}
		double curvature = times_laplacian(solving);
		solving->work += (double)solving->link_count;
		if (!(curvature > 0))
			break;
		for (uint32_t node = 0; node < solving->node_count; node++) {
			solving->potential[node] += now / curvature * solving->direction[node];
			solving->rest[node] -= now / curvature * solving->product[node];
		}
		before = now;
		now = scaled_rest(solving);
	}
}

/* Takes as much of the step as leaves all flows positive. The largest change, relative to the flow. */
static double take_step(struct solving *solving)
{
	double part = 1, most = 0;
	for (size_t i = 0; i < solving->link_count; i++) {
		struct link *link = &solving->links[i];
		double apart = solving->potential[link->from] - solving->potential[link->to];
		link->step = link->ease * apart + link->flow * (1 - link->flow / link->guess);
		if (link->step < 0 && -0.9 * link->flow / link->step < part)
			part = -0.9 * link->flow / link->step;
	}
	for (size_t i = 0; i < solving->link_count; i++) {
		struct link *link = &solving->links[i];
		most = fmax(most, fabs(link->step) / link->flow);
		link->flow += part * link->step;
	}
	return most;
}

static void solve_network(struct solving *solving)
{
	for (size_t i = 0; i < solving->link_count; i++)
		solving->ease[i] = solving->links[i].ease;
	sn_network_solve(&solving->network, solving->ease, solving->rest, solving->potential);
	solving->work += (double)solving->link_count;
}

static void solve(struct solving *solving)
{
	memset(solving->potential, 0, solving->node_count * sizeof(double));
	for (size_t i = 0; i < solving->link_count; i++)
		solving->links[i].flow = solving->links[i].guess;
	solving->work = 0;
	for (int turn = 0; turn < STEPS && solving->work < WORK_MOST; turn++) {
		find_rest(solving);
		if (solving->network.is_dense)
			find_potentials(solving);
		else
			solve_network(solving);
		if (take_step(solving) < TOLERANCE)
			break;
	}
}

/* ---- the result ---- */

/* By the samples that an estimate rests on, and how far they are from it. */
static enum sn_confidence confidence_of(const struct link *link,
					const struct sn_frequency_block *block)
{
	double apart = fabs(log(link->flow / link->guess));
	if (block->samples >= 100 && apart < 1 && block->doubt <= 1)
		return SN_CONFIDENCE_HIGH;
	return block->samples >= 20 && apart < 1.5 ? SN_CONFIDENCE_MEDIUM : SN_CONFIDENCE_LOW;
}

static void keep(struct sn_frequencies *frequencies, const struct sn_flow_graph *graph,
		 const struct sn_frequency_block *blocks, const struct solving *solving,
		 double scale)
{
	const struct link *link = solving->links;
	for (uint32_t block = 0; block < graph->block_count; block++, link++) {
		frequencies->block_count[block] = link->flow * scale;
		frequencies->block_confidence[block] = (uint8_t)confidence_of(link, &blocks[block]);
	}
	for (uint32_t edge = 0; edge < graph->edge_count; edge++) {
		if (graph->edges[edge].is_throw)
			continue;
		const struct sn_flow_edge *own = &graph->edges[edge];
		uint8_t from = frequencies->block_confidence[own->from],
			to = frequencies->block_confidence[own->to];
		frequencies->edge_count[edge] = link++->flow * scale;
		frequencies->edge_confidence[edge] = from < to ? from : to;
	}
}

static int make(struct sn_frequencies *frequencies, const struct sn_flow_graph *graph,
		struct solving *solving)
{
	*frequencies = (struct sn_frequencies){calloc(graph->block_count + 1, sizeof(double)),
					       calloc(graph->edge_count + 1, sizeof(double)),
					       calloc(graph->block_count + 1, 1),
					       calloc(graph->edge_count + 1, 1)};
	solving->node_count = 2 * graph->block_count + 1;
	double **arrays[] = {&solving->potential, &solving->rest, &solving->direction,
			     &solving->product, &solving->diagonal};
	bool is_made = frequencies->block_count && frequencies->edge_count &&
		       frequencies->block_confidence && frequencies->edge_confidence;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		*arrays[i] = calloc(solving->node_count, sizeof(double));
		is_made &= *arrays[i] != NULL;
	}
	return is_made ? 0 : SN_ERR_MEMORY;
}

/* Of all links; the world is its ground. */
static int make_network(struct solving *solving)
{
	struct sn_network_link *links = malloc((solving->link_count + 1) * sizeof(*links));
	solving->ease = malloc((solving->link_count + 1) * sizeof(*solving->ease));
	for (size_t i = 0; links && i < solving->link_count; i++)
		links[i] = (struct sn_network_link){solving->links[i].from, solving->links[i].to};
	int result = links && solving->ease
			 ? sn_network_init(&solving->network, solving->node_count, links,
					   solving->link_count, solving->node_count - 1)
			 : SN_ERR_MEMORY;
	free(links);
	return result;
}

static void release(struct solving *solving)
{
	sn_network_release(&solving->network);
	free(solving->ease);
	free(solving->links);
	free(solving->potential);
	free(solving->rest);
	free(solving->direction);
	free(solving->product);
	free(solving->diagonal);
}

void sn_frequencies_release(struct sn_frequencies *frequencies)
{
	free(frequencies->block_count);
	free(frequencies->edge_count);
	free(frequencies->block_confidence);
	free(frequencies->edge_confidence);
	*frequencies = (struct sn_frequencies){0};
}

/* The largest guess is 1 in the solver. */
static void scale_blocks(struct solving *solving, double scale)
{
	for (size_t i = 0; i < solving->link_count; i++) {
		solving->links[i].guess /= scale;
		solving->links[i].flow = solving->links[i].guess;
	}
}

int sn_frequencies_find(struct sn_frequencies *frequencies, const struct sn_flow_graph *graph,
			const struct sn_frequency_block *blocks)
{
	struct solving solving = {0};
	struct sn_outside outside = {0};
	double samples = 0, most = 0;
	for (uint32_t block = 0; block < graph->block_count; block++) {
		samples += blocks[block].samples;
		most = fmax(most, guess_of(&blocks[block]));
	}
	int result = make(frequencies, graph, &solving);
	result = result ? result : sn_outside_find(&outside, graph);
	result = result ? result : add_blocks(&solving, graph, blocks);
	if (!result)
		scale_blocks(&solving, most);
	result = result ? result : add_edges(&solving, graph, &outside);
	if (!result && samples > 0)
		result = make_network(&solving);
	for (int round = 0; !result && samples > 0 && round < ROUNDS; round++) {
		guess_edges(&solving, graph->block_count, solving.rest, solving.product);
		solve(&solving);
	}
	if (!result && samples > 0)
		keep(frequencies, graph, blocks, &solving, most);
	sn_outside_release(&outside);
	release(&solving);
	return result;
}
