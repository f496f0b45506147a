/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See equivalence.h. The graph here is undirected: a block is an edge between two nodes, its begin and its end, and one more node is the world outside. A depth-first search makes a tree of it;
 * each edge that is not in the tree is a bracket around the tree edges that it spans. Two tree edges are of one class where the same brackets are around both: the list of a node's
 * brackets has the same size and the same last one.
 */
#include "equivalence.h"

#include "outside.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Between two nodes. */
struct link {
	uint32_t a, b;
	uint32_t class;
	/* of a bracket: its neighbours in the list that it is in, and what its list was like when it was last the top */
	uint32_t before, after;
	uint32_t recent_size, recent_class;
	bool is_capping; /* stands for brackets of several subtrees; no edge of the graph */
};

struct list {
	uint32_t first, last, size; /* links; the last is the top */
};

struct node {
	uint32_t first_end, end_count; /* among the ends */
	uint32_t number;	       /* in the order of the search; NONE: not yet */
	uint32_t parent_link;	       /* NONE of the root */
	uint32_t parent;
	uint32_t highest; /* the lowest number that brackets from here or below reach */
	uint32_t next_end;
	struct list brackets;
	uint32_t first_capped; /* capping links that end here, by `after` of a list of their own */
};

struct finding {
	const struct sn_flow_graph *graph;
	struct link *links;
	size_t link_count, link_capacity;
	struct node *nodes;
	uint32_t node_count, class_count;
	uint32_t *ends;	 /* links at each node */
	uint32_t *order; /* nodes by number */
	uint32_t *
	    capped; /* of each capping link the next one that ends at the same node; grows with links */
	size_t capped_capacity;
	uint32_t visited;
};

static uint32_t begin_of(uint32_t block)
{
	return 2 * block;
}

static uint32_t end_of(uint32_t block)
{
	return 2 * block + 1;
}

/* ---- the graph ---- */

static int add_link(struct finding *finding, uint32_t a, uint32_t b)
{
	return sn_vec_push(&finding->links, &finding->link_capacity, &finding->link_count,
			   (struct link){.a = a,
					 .b = b,
					 .class = NONE,
					 .before = NONE,
					 .after = NONE,
					 .recent_class = NONE});
}

static int add_links(struct finding *finding)
{
	const struct sn_flow_graph *graph = finding->graph;
	uint32_t blocks = graph->block_count, world = 2 * blocks;
	struct sn_outside outside;
	int result = sn_outside_find(&outside, graph);
	for (uint32_t block = 0; !result && block < blocks; block++)
		result = add_link(finding, begin_of(block), end_of(block));
	for (uint32_t edge = 0; !result && edge < graph->edge_count; edge++)
		if (!graph->edges[edge].is_throw)
			result = add_link(finding, end_of(graph->edges[edge].from),
					  begin_of(graph->edges[edge].to));
	for (uint32_t block = 0; !result && block < blocks; block++) {
		if (outside.is_entered[block])
			result = add_link(finding, world, begin_of(block));
		if (!result && outside.is_left[block])
			result = add_link(finding, end_of(block), world);
	}
	sn_outside_release(&outside);
	return result;
}

static int make_nodes(struct finding *finding)
{
	finding->node_count = 2 * finding->graph->block_count + 1;
	finding->nodes = calloc(finding->node_count, sizeof(*finding->nodes));
	finding->order = malloc(finding->node_count * sizeof(*finding->order));
	finding->ends = malloc((2 * finding->link_count + 1) * sizeof(*finding->ends));
	if (!finding->nodes || !finding->order || !finding->ends)
		return SN_ERR_MEMORY;
	for (size_t link = 0; link < finding->link_count; link++) {
		finding->nodes[finding->links[link].a].end_count++;
		finding->nodes[finding->links[link].b].end_count++;
	}
	uint32_t place = 0;
	for (uint32_t number = 0; number < finding->node_count; number++) {
		struct node *node = &finding->nodes[number];
		node->first_end = place;
		place += node->end_count;
		node->end_count = 0;
		node->number = node->parent_link = node->highest = node->first_capped = NONE;
		node->brackets = (struct list){NONE, NONE, 0};
	}
	for (uint32_t link = 0; link < finding->link_count; link++) {
		struct node *a = &finding->nodes[finding->links[link].a],
			    *b = &finding->nodes[finding->links[link].b];
		finding->ends[a->first_end + a->end_count++] = link;
		finding->ends[b->first_end + b->end_count++] = link;
	}
	return 0;
}

static uint32_t other_end(const struct finding *finding, uint32_t link, uint32_t node)
{
	return finding->links[link].a == node ? finding->links[link].b : finding->links[link].a;
}

/* Numbers nodes in the order of a depth-first search; all are reached from outside. */
static void search(struct finding *finding)
{
	uint32_t node = finding->node_count - 1;
	finding->order[0] = node;
	finding->nodes[node].number = 0;
	finding->nodes[node].parent = NONE;
	finding->visited = 1;
	while (node != NONE) {
		struct node *own = &finding->nodes[node];
		if (own->next_end == own->end_count) {
			node = own->parent;
			continue;
		}
		uint32_t link = finding->ends[own->first_end + own->next_end++];
		uint32_t next = other_end(finding, link, node);
		if (finding->nodes[next].number != NONE)
			continue;
		finding->nodes[next].number = finding->visited;
		finding->nodes[next].parent = node;
		finding->nodes[next].parent_link = link;
		finding->order[finding->visited++] = next;
		node = next;
	}
}

/* ---- lists of brackets ---- */

static void push(struct finding *finding, struct list *list, uint32_t link)
{
	finding->links[link].before = list->last;
	finding->links[link].after = NONE;
	if (list->last != NONE)
		finding->links[list->last].after = link;
	else
		list->first = link;
	list->last = link;
	list->size++;
}

static void take_out(struct finding *finding, struct list *list, uint32_t link)
{
	struct link *own = &finding->links[link];
	if (own->before != NONE)
		finding->links[own->before].after = own->after;
	else
		list->first = own->after;
	if (own->after != NONE)
		finding->links[own->after].before = own->before;
	else
		list->last = own->before;
	list->size--;
}

/* Those of a child go below those that are there. */
static void put_below(struct finding *finding, struct list *list, const struct list *child)
{
	if (child->first == NONE)
		return;
	if (list->first == NONE) {
		*list = *child;
		return;
	}
	finding->links[child->last].after = list->first;
	finding->links[list->first].before = child->last;
	list->first = child->first;
	list->size += child->size;
}

/* ---- classes ---- */

/* The lowest numbers that the children of a node reach. */
struct below {
	uint32_t lowest, second;
};

static bool is_child(const struct finding *finding, uint32_t node, uint32_t other, uint32_t link)
{
	return finding->nodes[other].parent == node && finding->nodes[other].parent_link == link;
}

static struct below gather_children(struct finding *finding, uint32_t node)
{
	struct node *own = &finding->nodes[node];
	struct below below = {NONE, NONE};
	for (uint32_t place = 0; place < own->end_count; place++) {
		uint32_t link = finding->ends[own->first_end + place];
		uint32_t other = other_end(finding, link, node);
		if (other == node || !is_child(finding, node, other, link))
			continue;
		uint32_t reached = finding->nodes[other].highest;
		if (reached < below.lowest) {
			below.second = below.lowest;
			below.lowest = reached;
		} else if (reached < below.second) {
			below.second = reached;
		}
		put_below(finding, &own->brackets, &finding->nodes[other].brackets);
	}
	return below;
}

/* Takes away the brackets that end here, and adds those that begin here. The lowest number that these reach. */
static uint32_t turn_brackets(struct finding *finding, uint32_t node)
{
	struct node *own = &finding->nodes[node];
	uint32_t reached = NONE;
	for (uint32_t link = own->first_capped; link != NONE; link = finding->capped[link])
		take_out(finding, &own->brackets, link);
	for (uint32_t place = 0; place < own->end_count; place++) {
		uint32_t link = finding->ends[own->first_end + place];
		uint32_t other = other_end(finding, link, node);
		if (other == node || is_child(finding, node, other, link) ||
		    link == own->parent_link || finding->nodes[other].number < own->number)
			continue;
		take_out(finding, &own->brackets, link);
		if (finding->links[link].class == NONE)
			finding->links[link].class = finding->class_count++;
	}
	for (uint32_t place = 0; place < own->end_count; place++) {
		uint32_t link = finding->ends[own->first_end + place];
		uint32_t other = other_end(finding, link, node);
		if (other == node || link == own->parent_link ||
		    finding->nodes[other].number > own->number)
			continue;
		push(finding, &own->brackets, link);
		if (finding->nodes[other].number < reached)
			reached = finding->nodes[other].number;
	}
	return reached;
}

/* A bracket in place of those of all children but the one that reaches highest: they are around what is above no longer than to there. */
static int cap(struct finding *finding, uint32_t node, uint32_t number)
{
	uint32_t to = finding->order[number], link = (uint32_t)finding->link_count;
	int result = add_link(finding, node, to);
	if (!result &&
	    sn_vec_reserve(&finding->capped, &finding->capped_capacity, finding->link_count) < 0)
		result = SN_ERR_MEMORY;
	if (result)
		return result;
	finding->links[link].is_capping = true;
	finding->capped[link] = finding->nodes[to].first_capped;
	finding->nodes[to].first_capped = link;
	push(finding, &finding->nodes[node].brackets, link);
	return 0;
}

static void classify(struct finding *finding, uint32_t node)
{
	const struct node *own = &finding->nodes[node];
	if (own->parent_link == NONE)
		return;
	if (own->brackets.last ==
	    NONE) { /* on no cycle: it cannot be, as all is entered and left */
		finding->links[own->parent_link].class = finding->class_count++;
		return;
	}
	struct link *top = &finding->links[own->brackets.last];
	if (top->recent_class == NONE || top->recent_size != own->brackets.size) {
		top->recent_size = own->brackets.size;
		top->recent_class = finding->class_count++;
	}
	finding->links[own->parent_link].class = top->recent_class;
	if (top->recent_size == 1)
		top->class = top->recent_class;
}

static int find_classes(struct finding *finding)
{
	int result = 0;
	for (uint32_t number = finding->visited; !result && number-- > 0;) {
		uint32_t node = finding->order[number];
		struct below below = gather_children(finding, node);
		uint32_t reached = turn_brackets(finding, node);
		finding->nodes[node].highest = reached < below.lowest ? reached : below.lowest;
		if (below.second < reached && below.second < number)
			result = cap(finding, node, below.second);
		if (!result)
			classify(finding, node);
	}
	return result;
}

/* An edge from a node to itself is a cycle alone. */
static uint32_t class_of(struct finding *finding, uint32_t link)
{
	if (finding->links[link].class == NONE)
		finding->links[link].class = finding->class_count++;
	return finding->links[link].class;
}

static int keep(struct sn_equivalence *equivalence, struct finding *finding)
{
	const struct sn_flow_graph *graph = finding->graph;
	uint32_t link = graph->block_count;
	equivalence->block_class = malloc((graph->block_count + 1) * sizeof(uint32_t));
	equivalence->edge_class = malloc((graph->edge_count + 1) * sizeof(uint32_t));
	if (!equivalence->block_class || !equivalence->edge_class)
		return SN_ERR_MEMORY;
	for (uint32_t block = 0; block < graph->block_count; block++)
		equivalence->block_class[block] = class_of(finding, block);
	for (uint32_t edge = 0; edge < graph->edge_count; edge++)
		equivalence->edge_class[edge] =
		    graph->edges[edge].is_throw ? SN_EQUIVALENCE_NONE : class_of(finding, link++);
	equivalence->class_count = finding->class_count;
	return 0;
}

void sn_equivalence_release(struct sn_equivalence *equivalence)
{
	free(equivalence->block_class);
	free(equivalence->edge_class);
	*equivalence = (struct sn_equivalence){0};
}

int sn_equivalence_find(struct sn_equivalence *equivalence, const struct sn_flow_graph *graph)
{
	struct finding finding = {.graph = graph};
	*equivalence = (struct sn_equivalence){0};
	int result = add_links(&finding);
	result = result ? result : make_nodes(&finding);
	if (!result) {
		search(&finding);
		result = find_classes(&finding);
	}
	result = result ? result : keep(equivalence, &finding);
	free(finding.links);
	free(finding.nodes);
	free(finding.ends);
	free(finding.order);
	free(finding.capped);
	return result;
}
