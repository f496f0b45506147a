/* SPDX-License-Identifier: Apache-2.0 */
/* See network.h. */
#include "network.h"

#include "base/error.h"
#include "base/heap.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum { NEIGHBOURS_MOST = 400, FILL_MOST = 40 /* neighbours by node, on average */ };

/* Neighbours that are not eliminated yet. */
struct neighbours {
	uint32_t *nodes;
	size_t count, capacity;
};

struct waiting {
	uint32_t node;
	size_t count; /* of its neighbours, when it was put here */
};

SN_HEAP(waiting, struct waiting, const void *,
	a->count != b->count ? a->count < b->count : a->node < b->node);

struct ordering {
	struct sn_network *network;
	struct neighbours *of; /* by node; of eliminated ones those that come later */
	bool *is_gone, *is_marked;
	struct waiting *heap;
	size_t heap_count, heap_capacity, fill;
};

void sn_network_release(struct sn_network *network)
{
	free(network->links);
	free(network->order);
	free(network->position);
	free(network->first);
	free(network->beyond);
	free(network->place_of);
	free(network->conductance);
	free(network->to_ground);
	free(network->sum);
	free(network->current);
	free(network->scratch);
	*network = (struct sn_network){0};
}

/* ---- the order ---- */

static int enqueue(struct ordering *ordering, uint32_t node)
{
	if (sn_vec_reserve(&ordering->heap, &ordering->heap_capacity, ordering->heap_count + 1) < 0)
		return SN_ERR_MEMORY;
	waiting_push(ordering->heap, &ordering->heap_count,
		     (struct waiting){node, ordering->of[node].count}, NULL);
	return 0;
}

static int join(struct ordering *ordering, uint32_t node, uint32_t other)
{
	struct neighbours *own = &ordering->of[node];
	return sn_vec_push(&own->nodes, &own->capacity, &own->count, other);
}

/* Each pair once, without the ground. */
static int add_links(struct ordering *ordering)
{
	const struct sn_network *network = ordering->network;
	int result = 0;
	for (size_t i = 0; !result && i < network->link_count; i++) {
		uint32_t from = network->links[i].from, to = network->links[i].to;
		bool is_new = from != to && from != network->ground && to != network->ground;
		const struct neighbours *own = &ordering->of[from];
		for (size_t n = 0; is_new && n < own->count; n++)
			is_new = own->nodes[n] != to;
		if (is_new)
			result = join(ordering, from, to);
		if (is_new && !result)
			result = join(ordering, to, from);
	}
	return result;
}

/* A neighbour of the node that is eliminated: without that, and with its other neighbours. */
static int take_over(struct ordering *ordering, uint32_t node, uint32_t heir)
{
	struct neighbours *own = &ordering->of[heir];
	const struct neighbours *left = &ordering->of[node];
	size_t kept = 0;
	int result = 0;
	for (size_t i = 0; i < own->count; i++)
		if (own->nodes[i] != node)
			own->nodes[kept++] = own->nodes[i];
	own->count = kept;
	for (size_t i = 0; i < own->count; i++)
		ordering->is_marked[own->nodes[i]] = true;
	for (size_t i = 0; !result && i < left->count; i++)
		if (left->nodes[i] != heir && !ordering->is_marked[left->nodes[i]])
			result = join(ordering, heir, left->nodes[i]);
	for (size_t i = 0; i < own->count; i++)
		ordering->is_marked[own->nodes[i]] = false;
	return result ? result : enqueue(ordering, heir);
}

static int eliminate(struct ordering *ordering, uint32_t node, uint32_t position)
{
	struct sn_network *network = ordering->network;
	const struct neighbours *own = &ordering->of[node];
	int result = 0;
	network->order[position] = node;
	network->position[node] = position;
	ordering->is_gone[node] = true;
	ordering->fill += own->count;
	network->is_dense = own->count > NEIGHBOURS_MOST ||
			    ordering->fill > (size_t)FILL_MOST * network->node_count;
	for (size_t i = 0; !result && !network->is_dense && i < own->count; i++)
		result = take_over(ordering, node, own->nodes[i]);
	return result;
}

static int find_order(struct ordering *ordering)
{
	struct sn_network *network = ordering->network;
	uint32_t position = 0;
	int result = add_links(ordering);
	for (uint32_t node = 0; !result && node < network->node_count; node++)
		if (node != network->ground)
			result = enqueue(ordering, node);
	while (!result && !network->is_dense && ordering->heap_count) {
		struct waiting next = ordering->heap[0];
		waiting_pop(ordering->heap, &ordering->heap_count, NULL);
		if (!ordering->is_gone[next.node] && next.count == ordering->of[next.node].count)
			result = eliminate(ordering, next.node, position++);
	}
	return result;
}

/* ---- where each pair has its conductance ---- */

SN_SORT_BY(sort_by_position, uint32_t, const uint32_t *, SN_ORDER(of[*a], of[*b]));

static size_t find_place(const struct sn_network *network, uint32_t from, uint32_t to)
{
	if (from == to || from == network->ground || to == network->ground)
		return SIZE_MAX;
	uint32_t position = network->position[from] > network->position[to]
				? network->position[from]
				: network->position[to];
	uint32_t first = network->position[from] < network->position[to] ? from : to;
	return sn_search_from(i, network->first[first], network->first[first + 1],
			      network->position[network->beyond[i]] < position);
}

static int make_places(struct ordering *ordering)
{
	struct sn_network *network = ordering->network;
	size_t at = 0;
	network->beyond = malloc((ordering->fill + 1) * sizeof(*network->beyond));
	network->conductance = malloc((ordering->fill + 1) * sizeof(*network->conductance));
	if (!network->beyond || !network->conductance)
		return SN_ERR_MEMORY;
	for (uint32_t node = 0; node < network->node_count; node++) {
		const struct neighbours *own = &ordering->of[node];
		network->first[node] = at;
		sort_by_position(own->nodes, own->count, network->position);
		if (own->count)
			memcpy(network->beyond + at, own->nodes, own->count * sizeof(*own->nodes));
		at += own->count;
	}
	network->first[network->node_count] = at;
	for (size_t i = 0; i < network->link_count; i++)
		network->place_of[i] =
		    find_place(network, network->links[i].from, network->links[i].to);
	return 0;
}

static int allocate(struct sn_network *network)
{
	size_t nodes = network->node_count + 1ull, links = network->link_count + 1;
	network->links = malloc(links * sizeof(*network->links));
	network->order = malloc(nodes * sizeof(*network->order));
	network->position = calloc(nodes, sizeof(*network->position));
	network->first = malloc(nodes * sizeof(*network->first));
	network->place_of = malloc(links * sizeof(*network->place_of));
	network->to_ground = malloc(nodes * sizeof(*network->to_ground));
	network->sum = malloc(nodes * sizeof(*network->sum));
	network->current = malloc(nodes * sizeof(*network->current));
	network->scratch = malloc(nodes * sizeof(*network->scratch));
	return network->links && network->order && network->position && network->first &&
		       network->place_of && network->to_ground && network->sum &&
		       network->current && network->scratch
		   ? 0
		   : SN_ERR_MEMORY;
}

int sn_network_init(struct sn_network *network, uint32_t node_count,
		    const struct sn_network_link *links, size_t link_count, uint32_t ground)
{
	struct ordering ordering = {.network = network,
				    .of = calloc(node_count + 1ull, sizeof(struct neighbours)),
				    .is_gone = calloc(node_count + 1ull, sizeof(bool)),
				    .is_marked = calloc(node_count + 1ull, sizeof(bool))};
	*network = (struct sn_network){
	    .node_count = node_count, .ground = ground, .link_count = link_count};
	int result = allocate(network);
	if (!ordering.of || !ordering.is_gone || !ordering.is_marked)
		result = SN_ERR_MEMORY;
	if (!result && link_count)
		memcpy(network->links, links, link_count * sizeof(*links));
	result = result ? result : find_order(&ordering);
	if (!result && !network->is_dense)
		result = make_places(&ordering);
	for (uint32_t node = 0; ordering.of && node < node_count; node++)
		free(ordering.of[node].nodes);
	free(ordering.of);
	free(ordering.is_gone);
	free(ordering.is_marked);
	free(ordering.heap);
	return result;
}

/* ---- the solution ---- */

static void put_conductances(struct sn_network *network, const double *conductances)
{
	memset(network->conductance, 0,
	       network->first[network->node_count] * sizeof(*network->conductance));
	memset(network->to_ground, 0, network->node_count * sizeof(*network->to_ground));
	for (size_t i = 0; i < network->link_count; i++) {
		uint32_t from = network->links[i].from, to = network->links[i].to;
		if (network->place_of[i] != SIZE_MAX)
			network->conductance[network->place_of[i]] += conductances[i];
		else if (from != to)
			network->to_ground[from == network->ground ? to : from] += conductances[i];
	}
}

/* Joins the neighbours of a node to each other, and shares out its current. */
static void spread(struct sn_network *network, uint32_t node)
{
	size_t first = network->first[node], end = network->first[node + 1];
	double sum = network->to_ground[node];
	for (size_t i = first; i < end; i++)
		sum += network->conductance[i];
	network->sum[node] = sum;
	for (size_t i = first; sum > 0 && i < end; i++) {
		uint32_t heir = network->beyond[i];
		double part = network->conductance[i] / sum;
		network->to_ground[heir] += part * network->to_ground[node];
		network->current[heir] += part * network->current[node];
		for (size_t place = network->first[heir]; place < network->first[heir + 1]; place++)
			network->scratch[network->beyond[place]] = place;
		for (size_t other = i + 1; other < end; other++)
			network->conductance[network->scratch[network->beyond[other]]] +=
			    part * network->conductance[other];
	}
}

void sn_network_solve(struct sn_network *network, const double *conductances,
		      const double *currents, double *potentials)
{
	uint32_t count = network->node_count ? network->node_count - 1 : 0;
	put_conductances(network, conductances);
	memcpy(network->current, currents, network->node_count * sizeof(*currents));
	for (uint32_t at = 0; at < count; at++)
		spread(network, network->order[at]);
	potentials[network->ground] = 0;
	for (uint32_t at = count; at--;) {
		uint32_t node = network->order[at];
		double current = network->current[node];
		for (size_t i = network->first[node]; i < network->first[node + 1]; i++)
			current += network->conductance[i] * potentials[network->beyond[i]];
		potentials[node] = network->sum[node] > 0 ? current / network->sum[node] : 0;
	}
}
