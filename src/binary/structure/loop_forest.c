/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See loop_forest.h. Everything below works on preorder numbers: vertex v is the v-th block that
 * the depth-first search met, so that an ancestor has the smaller number.
 */
#include "loop_forest.h"
#include "base/error.h"
#include "base/vec.h"

#include <string.h>

#define NONE SN_FLOW_NONE

struct building {
	const struct sn_flow_graph *graph;
	struct sn_loop_forest *forest;
	/* by block */
	uint32_t *first; /* of its successors; one more than blocks */
	uint32_t *next;	 /* its successor that the search takes next */
	uint32_t *vertex;
	/* by vertex */
	uint32_t *block;
	uint32_t *parent;   /* in the search's tree */
	uint32_t *ancestor; /* union-find: during the search, the nearest that is not finished */
	uint32_t *header;   /* union-find: what it was collapsed into; itself at first */
	uint32_t *loop;	    /* the header of the innermost loop around; NONE */
	uint32_t *marked;   /* union-find: loops already marked irreducible up to here */
	uint32_t *sources;  /* head of a list of predecessors without back edges */
	uint32_t *backs;    /* head of a list of sources of back edges */
	uint32_t *delayed;  /* head of a list of edges to put in here */
	uint32_t *work;	    /* a stack: of the search, then of blocks to collapse */
	uint32_t *body;	    /* the header whose body it was last seen in */
	uint32_t *flags;
	/* by edge */
	uint32_t *successors;
	uint32_t *link, *from, *to; /* list items */
	uint32_t item_count;
	uint32_t vertex_count;
};

enum { HAS_PREDECESSOR = 1, IS_HEADER = 2, IS_IRREDUCIBLE = 4 };

static uint32_t find(uint32_t *set, uint32_t at)
{
	uint32_t root = at;
	while (set[root] != root)
		root = set[root];
	while (set[at] != root) {
		uint32_t above = set[at];
		set[at] = root;
		at = above;
	}
	return root;
}

/* Items are at most one per edge and one per tree edge, see allocate(). */
static void add_item(struct building *b, uint32_t *head, uint32_t from, uint32_t to)
{
	uint32_t item = b->item_count++;
	b->from[item] = from;
	b->to[item] = to;
	b->link[item] = *head;
	*head = item;
}

static int allocate(struct building *b)
{
	struct sn_loop_forest *forest = b->forest;
	size_t blocks = b->graph->block_count + 1u, edges = b->graph->edge_count;
	/* an edge is one item, and one more when it was delayed and is put in */
	size_t items = 2 * edges;
	uint32_t **const by_block[] = {&b->first,  &b->next,	 &b->vertex, &b->block,
				       &b->parent, &b->ancestor, &b->header, &b->loop,
				       &b->marked, &b->sources,	 &b->backs,  &b->delayed,
				       &b->work,   &b->body,	 &b->flags};
	size_t count = sizeof(by_block) / sizeof(by_block[0]);
	if (sn_vec_reserve(&forest->scratch, &forest->scratch_capacity,
			   count * blocks + edges + 3 * items) < 0 ||
	    sn_vec_reserve(&forest->block_loops, &forest->block_capacity, blocks) < 0)
		return SN_ERR_MEMORY;
	uint32_t *at = forest->scratch;
	for (size_t i = 0; i < count; i++, at += blocks)
		*by_block[i] = at;
	b->successors = at;
	b->link = at + edges;
	b->from = b->link + items;
	b->to = b->from + items;
	memset(b->first, 0, blocks * sizeof(uint32_t));
	memset(b->flags, 0, blocks * sizeof(uint32_t));
	memset(b->vertex, 0xff, blocks * sizeof(uint32_t));
	memset(b->sources, 0xff, blocks * sizeof(uint32_t));
	memset(b->backs, 0xff, blocks * sizeof(uint32_t));
	memset(b->delayed, 0xff, blocks * sizeof(uint32_t));
	memset(b->body, 0xff, blocks * sizeof(uint32_t));
	memset(b->loop, 0xff, blocks * sizeof(uint32_t));
	return 0;
}

/* The successors of each block, in the order of the edges. */
static int sort_edges(struct building *b)
{
	const struct sn_flow_graph *graph = b->graph;
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		const struct sn_flow_edge *edge = &graph->edges[i];
		if (edge->from >= graph->block_count || edge->to >= graph->block_count)
			return SN_ERR_ARGUMENT;
		b->first[edge->from + 1]++;
		b->flags[edge->to] |= HAS_PREDECESSOR;
	}
	for (uint32_t i = 0; i < graph->block_count; i++)
		b->first[i + 1] += b->first[i];
	memcpy(b->next, b->first, graph->block_count * sizeof(uint32_t));
	for (uint32_t i = 0; i < graph->edge_count; i++)
		b->successors[b->next[graph->edges[i].from]++] = graph->edges[i].to;
	memcpy(b->next, b->first, graph->block_count * sizeof(uint32_t));
	return 0;
}

static uint32_t discover(struct building *b, uint32_t block, uint32_t parent)
{
	uint32_t vertex = b->vertex_count++;
	b->vertex[block] = vertex;
	b->block[vertex] = block;
	b->parent[vertex] = parent;
	b->ancestor[vertex] = b->header[vertex] = b->marked[vertex] = vertex;
	return vertex;
}

/* An edge between two vertices that were both met before. */
static void follow_edge(struct building *b, uint32_t from, uint32_t to, const uint32_t *finished)
{
	if (!finished[to]) {
		add_item(b, &b->backs[to], from, to);
		return;
	}
	/* the nearest ancestor of `to` on the way to `from`: their least common one. Of another
	 * tree: none, and the edge closes no loop */
	uint32_t common = find(b->ancestor, to);
	if (!finished[common])
		add_item(b, &b->delayed[common], from, to);
}

/* One tree of the search; `finished` is by vertex. */
static void search(struct building *b, uint32_t root, uint32_t *finished)
{
	uint32_t depth = 0;
	finished[discover(b, root, NONE)] = false;
	b->work[depth++] = root;
	while (depth > 0) {
		uint32_t block = b->work[depth - 1], vertex = b->vertex[block];
		if (b->next[block] == b->first[block + 1]) {
			depth--;
			finished[vertex] = true;
			if (b->parent[vertex] != NONE)
				b->ancestor[vertex] = b->parent[vertex];
			continue;
		}
		uint32_t to = b->successors[b->next[block]++];
		if (b->vertex[to] != NONE) {
			follow_edge(b, vertex, b->vertex[to], finished);
			continue;
		}
		uint32_t found = discover(b, to, vertex);
		finished[found] = false;
		add_item(b, &b->sources[found], vertex, found);
		b->work[depth++] = to;
	}
}

static void search_all(struct building *b)
{
	uint32_t *finished = b->body; /* free until loops are sought */
	search(b, b->graph->entry, finished);
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < b->graph->block_count; i++)
			if (b->vertex[i] == NONE && (pass == 1 || !(b->flags[i] & HAS_PREDECESSOR)))
				search(b, i, finished);
	memset(b->body, 0xff, b->graph->block_count * sizeof(uint32_t));
	memset(b->flags, 0, b->graph->block_count * sizeof(uint32_t));
}

/* Marks the loops found so far around `at`, which an edge enters elsewhere than at their headers.
 */
static void mark_irreducible(struct building *b, uint32_t at)
{
	for (uint32_t loop = b->loop[at]; loop != NONE;) {
		uint32_t top = find(b->marked, loop);
		b->flags[top] |= IS_IRREDUCIBLE;
		loop = b->loop[top];
		if (loop != NONE)
			b->marked[top] = loop;
	}
}

/* Puts the edges in whose ends have their least common ancestor here. */
static void put_in(struct building *b, uint32_t vertex)
{
	for (uint32_t i = b->delayed[vertex]; i != NONE; i = b->link[i]) {
		uint32_t from = find(b->header, b->from[i]), to = find(b->header, b->to[i]);
		add_item(b, &b->sources[to], from, to);
		mark_irreducible(b, b->to[i]);
	}
}

static void push(struct building *b, uint32_t *depth, uint32_t vertex, uint32_t header)
{
	if (vertex == header || b->body[vertex] == header)
		return;
	b->body[vertex] = header;
	b->work[(*depth)++] = vertex;
}

/* Collapses the body of the loop that the header has, if it has one, into the header. */
static void collapse(struct building *b, uint32_t header)
{
	uint32_t depth = 0, done = 0;
	if (b->backs[header] == NONE)
		return;
	b->flags[header] |= IS_HEADER;
	for (uint32_t i = b->backs[header]; i != NONE; i = b->link[i])
		push(b, &depth, find(b->header, b->from[i]), header);
	/* a queue: the stack is not popped, so that it holds the whole body at the end */
	while (done < depth) {
		uint32_t vertex = b->work[done++];
		for (uint32_t i = b->sources[vertex]; i != NONE; i = b->link[i])
			push(b, &depth, find(b->header, b->from[i]), header);
	}
	for (uint32_t i = 0; i < depth; i++) {
		b->loop[b->work[i]] = header;
		b->header[b->work[i]] = header;
	}
}

static int write_loops(struct building *b)
{
	struct sn_loop_forest *forest = b->forest;
	uint32_t *number = b->marked; /* no longer needed */
	forest->loop_count = 0;
	for (uint32_t v = 0; v < b->vertex_count; v++) {
		uint32_t around = b->loop[v] == NONE ? NONE : number[b->loop[v]];
		forest->block_loops[b->block[v]] = around;
		if (!(b->flags[v] & IS_HEADER))
			continue;
		number[v] = forest->loop_count;
		forest->block_loops[b->block[v]] = number[v];
		struct sn_loop loop = {
		    .header = b->block[v],
		    .parent = around,
		    .depth = around == NONE ? 1 : forest->loops[around].depth + 1,
		    .is_irreducible = b->flags[v] & IS_IRREDUCIBLE,
		};
		if (sn_vec_push(&forest->loops, &forest->loop_capacity, &forest->loop_count, loop))
			return SN_ERR_MEMORY;
	}
	return 0;
}

int sn_loop_forest_build(struct sn_loop_forest *forest, const struct sn_flow_graph *graph)
{
	struct building b = {.graph = graph, .forest = forest};
	forest->loop_count = 0;
	if (graph->block_count == 0)
		return 0;
	if (graph->entry >= graph->block_count)
		return SN_ERR_ARGUMENT;
	int result = allocate(&b);
	if (result == 0)
		result = sort_edges(&b);
	if (result < 0)
		return result;
	search_all(&b);
	for (uint32_t v = b.vertex_count; v-- > 0;) {
		put_in(&b, v);
		collapse(&b, v);
	}
	return write_loops(&b);
}

void sn_loop_forest_release(struct sn_loop_forest *forest)
{
	free(forest->loops);
	free(forest->block_loops);
	free(forest->scratch);
	*forest = (struct sn_loop_forest){0};
}
