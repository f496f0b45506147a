/* SPDX-License-Identifier: Apache-2.0 */
/* Home, file and line of loops, and loops in locations; see nest.h. */
#include "nest.h"
#include "base/error.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "same_line.h"

#include <stdlib.h>
#include <string.h>

#define LOOPS_MAX    64 /* around one address; deeper ones are left out */
/* The marks that say where a loop stands, and of them controlling branches. */
#define PLACING_MAX  32u
#define CONTROLS_MAX 8u
#define LATCHES_MAX  4u

/* ---- the addresses that decide ---- */

static bool is_inside(const struct sn_loop_forest *forest, uint32_t loop, uint32_t block)
{
	uint32_t at = forest->block_loops[block];
	for (unsigned steps = 0; at != SN_FLOW_NONE && steps < LOOPS_MAX; steps++) {
		if (at == loop)
			return true;
		if (forest->loops[at].depth <= forest->loops[loop].depth)
			return false;
		at = forest->loops[at].parent;
	}
	return false;
}

static void add_mark(struct sn_nest_marks *marks, uint64_t address, bool is_own)
{
	if (marks->count == PLACING_MAX)
		return;
	marks->own |= (uint64_t)is_own << marks->count;
	marks->addresses[marks->count++] = address;
}

static void add_control(struct sn_nest_marks *marks, uint64_t address, bool is_own)
{
	for (uint32_t i = 0; i < marks->count; i++)
		if (marks->addresses[i] == address)
			return;
	if (marks->count < CONTROLS_MAX)
		add_mark(marks, address, is_own);
}

/* The loops that an edge leaves have its branch for a control; as a last resort those without one.
 */
static void add_exits(const struct sn_flow_graph *graph, const struct sn_loop_forest *forest,
		      const struct sn_flow_edge *edge, bool is_last_resort,
		      struct sn_nest_marks *marks)
{
	uint32_t innermost = forest->block_loops[edge->from], loop = innermost;
	for (unsigned steps = 0; loop != SN_FLOW_NONE && steps < LOOPS_MAX; steps++) {
		if (is_inside(forest, loop, edge->to))
			return;
		if (!is_last_resort || marks[loop].control_count == 0)
			add_control(&marks[loop], graph->blocks[edge->from].last,
				    loop == innermost);
		loop = forest->loops[loop].parent;
	}
}

/* From blocks of no inner loop, of those in [first, last]; in the middle of some instruction is
 * good enough for its line. */
static void add_more(const struct sn_flow_graph *graph, const struct sn_loop_forest *forest,
		     uint32_t loop, uint32_t first, uint32_t last, struct sn_nest_marks *marks)
{
	uint32_t left = SN_NEST_MARKS_MAX - PLACING_MAX - LATCHES_MAX, own = 0;
	for (uint32_t i = first; i <= last; i++)
		own += forest->block_loops[i] == loop;
	uint32_t of_each = own && own < left ? left / own : 1;
	marks->all_count = marks->count;
	for (uint32_t i = first; i <= last; i++) {
		const struct sn_flow_block *block = &graph->blocks[i];
		if (forest->block_loops[i] != loop)
			continue;
		for (uint32_t j = 1; j <= of_each && left > 0; j++, left--) {
			marks->own |= 1ull << marks->all_count;
			marks->addresses[marks->all_count++] =
			    block->start + (block->end - block->start) * j / (of_each + 1);
		}
	}
}

/* Where a loop's blocks begin: of those around its header, with gaps between, some. */
static void add_body(const struct sn_flow_graph *graph, const struct sn_loop_forest *forest,
		     uint32_t loop, struct sn_nest_marks *marks)
{
	enum { BLOCKS_MAX = 1024, GAP_MAX = 8 };
	uint32_t header = forest->loops[loop].header;
	uint32_t first = header, last = header;
	for (uint32_t i = 1; i <= header && i <= BLOCKS_MAX && first - (header - i) <= GAP_MAX; i++)
		if (is_inside(forest, loop, header - i))
			first = header - i;
	for (uint32_t i = header + 1;
	     i < graph->block_count && i - header <= BLOCKS_MAX && i - last <= GAP_MAX; i++)
		if (is_inside(forest, loop, i))
			last = i;
	add_mark(marks, graph->blocks[header].start, true);
	uint32_t step = 1 + (last - first) / (PLACING_MAX / 2);
	for (uint32_t i = first; i <= last; i += step)
		if (i != header && is_inside(forest, loop, i))
			add_mark(marks, graph->blocks[i].start, forest->block_loops[i] == loop);
	add_more(graph, forest, loop, first, last, marks);
}

/* The loop to whose header an edge leads back, or SN_FLOW_NONE. */
static uint32_t loop_closed_by(const struct sn_loop_forest *forest, const struct sn_flow_edge *edge)
{
	uint32_t loop = forest->block_loops[edge->to];
	bool is_back = loop != SN_FLOW_NONE && forest->loops[loop].header == edge->to &&
		       is_inside(forest, loop, edge->from);
	return is_back ? loop : SN_FLOW_NONE;
}

static void add_latch(struct sn_nest_marks *marks, uint64_t address)
{
	if (marks->all_count == SN_NEST_MARKS_MAX)
		return;
	marks->own |= 1ull << marks->all_count;
	marks->controls |= 1ull << marks->all_count;
	marks->addresses[marks->all_count++] = address;
}

static void add_controls(const struct sn_flow_graph *graph, const struct sn_loop_forest *forest,
			 struct sn_nest_marks *marks)
{
	/* not calls that may throw, nor, if there are others, branches that only lead to unwinding
	 * */
	for (uint32_t i = 0; i < graph->edge_count; i++)
		if (!graph->edges[i].is_throw && !graph->blocks[graph->edges[i].to].is_unwinding)
			add_exits(graph, forest, &graph->edges[i], false, marks);
	for (uint32_t i = 0; i < forest->loop_count; i++)
		marks[i].control_count = marks[i].count;
	for (uint32_t i = 0; i < graph->edge_count; i++)
		if (!graph->edges[i].is_throw && graph->blocks[graph->edges[i].to].is_unwinding)
			add_exits(graph, forest, &graph->edges[i], true, marks);
	for (uint32_t i = 0; i < forest->loop_count; i++)
		marks[i].control_count = marks[i].count;
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		const struct sn_flow_edge *edge = &graph->edges[i];
		uint32_t loop = loop_closed_by(forest, edge);
		if (loop != SN_FLOW_NONE && marks[loop].control_count == 0)
			add_control(&marks[loop], graph->blocks[edge->from].last,
				    forest->block_loops[edge->from] == loop);
	}
}

void sn_nest_marks(const struct sn_flow_graph *graph, const struct sn_loop_forest *forest,
		   struct sn_nest_marks *marks)
{
	for (uint32_t i = 0; i < forest->loop_count; i++)
		marks[i].count = marks[i].own = marks[i].controls = marks[i].all_count = 0;
	if (forest->loop_count == 0)
		return;
	add_controls(graph, forest, marks);
	for (uint32_t i = 0; i < forest->loop_count; i++) {
		if (marks[i].count == 0)
			add_mark(&marks[i], graph->blocks[forest->loops[i].header].last, true);
		marks[i].control_count = marks[i].count;
		marks[i].controls = marks[i].own;
		add_body(graph, forest, i, &marks[i]);
	}
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		uint32_t loop = loop_closed_by(forest, &graph->edges[i]);
		if (loop != SN_FLOW_NONE && forest->block_loops[graph->edges[i].from] == loop)
			add_latch(&marks[loop], graph->blocks[graph->edges[i].from].last);
	}
}

/* ---- chains of calls ---- */

/* How many levels two locations have in common: the same calls from the same lines. */
static uint32_t common_levels(const struct sn_symbol_location *a,
			      const struct sn_symbol_location *b)
{
	uint32_t level = 1;
	while (level < a->depth && level < b->depth) {
		const struct sn_symbol_frame *left = &a->frames[level], *right = &b->frames[level];
		if (left[-1].line != right[-1].line ||
		    left->function_line != right->function_line ||
		    !sn_text_is_same(left->name, right->name))
			break;
		level++;
	}
	return level;
}

static bool has_majority(const struct sn_nest_loop *loop, const struct sn_nest_marks *marks,
			 const struct sn_symbol_location *const *locations)
{
	uint32_t inside = 0, all = 0;
	for (uint32_t i = marks->control_count; i < marks->count; i++) {
		all++;
		inside += common_levels(loop->like, locations[i]) >= loop->home;
	}
	return 2 * inside > all;
}

const struct sn_symbol_frame *sn_nest_home_frame(const struct sn_nest_loop *loop,
						 const struct sn_symbol_location *of)
{
	if (common_levels(loop->like, of) < loop->home)
		return NULL;
	const struct sn_symbol_frame *frame = &of->frames[loop->home - 1];
	bool is_there = frame->file && (!loop->file || sn_text_is_same(loop->file, frame->file));
	return is_there ? frame : NULL;
}

/* The line of a mark in the loop's home and file; 0 unknown. */
static uint32_t home_line(const struct sn_nest_loop *loop, const struct sn_symbol_location *of)
{
	const struct sn_symbol_frame *frame = sn_nest_home_frame(loop, of);
	return frame ? frame->line : 0;
}

static void settle_line(struct sn_nest_loop *loop, const struct sn_nest_marks *marks,
			const struct sn_symbol_location *const *locations)
{
	uint32_t before = 0, after = 0;
	for (uint32_t i = 0; i < marks->count; i++) {
		uint32_t line = home_line(loop, locations[i]);
		if (line == 0)
			continue;
		if (i < marks->control_count || loop->line == 0) {
			if (!loop->file)
				loop->file = locations[i]->frames[loop->home - 1].file;
			if (loop->line == 0 || line < loop->line)
				loop->line = line;
		} else if (line < loop->line) {
			before++;
		} else {
			after++;
		}
	}
	/* one may be anything that was moved here */
	if (before <= after || before < 2)
		return;
	/* what a compiler moved here from the function's beginning says nothing */
	const struct sn_symbol_location *header = locations[marks->control_count];
	uint32_t line = home_line(loop, header);
	if (line > header->frames[loop->home - 1].function_line + 1 && line < loop->line)
		loop->line = line;
}

void sn_nest_settle(struct sn_nest_loop *loop, const struct sn_nest_marks *marks,
		    const struct sn_symbol_location *const *locations)
{
	loop->like = locations[0];
	loop->home = locations[0]->depth;
	loop->file = NULL;
	loop->line = 0;
	for (uint32_t i = 1; i < marks->control_count; i++) {
		uint32_t levels = common_levels(loop->like, locations[i]);
		if (levels < loop->home)
			loop->home = levels;
	}
	while (loop->home > 1 && !has_majority(loop, marks, locations))
		loop->home--;
	settle_line(loop, marks, locations);
}

/* ---- loops among the calls ---- */

static bool is_same_loop(const struct sn_nest_loop *a, const struct sn_nest_loop *b)
{
	return a->line != 0 && a->line == b->line && a->home == b->home && a->number == b->number &&
	       sn_text_is_same(a->file, b->file);
}

static struct sn_symbol_frame loop_frame(const struct sn_nest_loop *loop,
					 const struct sn_symbol_frame *around)
{
	bool is_same_file = loop->line != 0 && sn_text_is_same(loop->file, around->file);
	return (struct sn_symbol_frame){
	    .kind = SN_SYMBOL_LOOP,
	    .file = loop->line ? loop->file : around->file,
	    .line = is_same_file || loop->line == 0 ? around->line : loop->line,
	    .function_line = loop->line,
	    .loop_header = loop->header,
	    .loop_number = loop->number,
	};
}

int sn_nest_insert(const struct sn_nest_loop *loops, uint32_t loop, struct sn_string_pool *pool,
		   struct sn_symbol_location *location)
{
	const struct sn_nest_loop *around[LOOPS_MAX];
	uint32_t count = 0, level = 1, depth = 1;
	for (; loop != SN_FLOW_NONE && count < LOOPS_MAX; loop = loops[loop].parent)
		around[LOOPS_MAX - ++count] = &loops[loop];
	if (count == 0)
		return 0;
	const struct sn_nest_loop *const *chain = around + LOOPS_MAX - count; /* outermost first */
	struct sn_symbol_frame *frames =
	    sn_arena_array(&pool->arena, struct sn_symbol_frame, location->depth + (size_t)count);
	if (!frames)
		return SN_ERR_MEMORY;
	frames[0] = location->frames[0];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t home = 1;
		if (chain[i]->like)
			home = common_levels(chain[i]->like, location);
		if (home > chain[i]->home)
			home = chain[i]->home;
		bool is_repeated = i > 0 && home <= level && is_same_loop(chain[i], chain[i - 1]);
		while (level < home)
			frames[depth++] = location->frames[level++];
		if (!is_repeated)
			frames[depth++] = loop_frame(chain[i], &location->frames[level - 1]);
	}
	while (level < location->depth)
		frames[depth++] = location->frames[level++];
	location->frames = frames;
	location->depth = depth;
	return 0;
}

/* ---- all loops of some functions ---- */

const struct sn_symbol_location *sn_nest_place(const struct sn_nest_places *places,
					       uint64_t address)
{
	return &places->locations[sn_search(i, places->count, places->addresses[i] < address)];
}

int sn_nest_settle_all(struct sn_nest_loop *loops, const struct sn_nest_marks *marks,
		       uint32_t count, const struct sn_nest_places *places,
		       struct sn_same_line *line)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct sn_symbol_location *locations[SN_NEST_MARKS_MAX];
		if (marks[i].count == 0)
			continue;
		for (uint32_t j = 0; j < marks[i].all_count; j++)
			locations[j] = sn_nest_place(places, marks[i].addresses[j]);
		sn_nest_settle(&loops[i], &marks[i], locations);
		if (sn_same_line_add(line, loops, i, &marks[i], locations) < 0)
			return SN_ERR_MEMORY;
	}
	return sn_same_line_number(line, loops, count);
}

struct sn_nest_loop sn_nest_loop_of(const struct sn_flow_graph *graph,
				    const struct sn_loop_forest *forest, uint32_t loop,
				    uint32_t first, uint32_t function)
{
	const struct sn_loop *of = &forest->loops[loop];
	return (struct sn_nest_loop){
	    .header = graph->blocks[of->header].start,
	    .parent = of->parent == SN_FLOW_NONE ? SN_FLOW_NONE : first + of->parent,
	    .depth = of->depth,
	    .function = function,
	};
}

/* ---- all of it ---- */

struct place {
	uint32_t function; /* of the code; SN_CODE_NONE */
	uint32_t index;	   /* of the address */
};

struct nesting {
	struct sn_code *code;
	struct sn_flow flow;
	struct sn_loop_forest forest;
	struct sn_nest_loop *loops;
	struct sn_nest_marks *marks; /* of each loop */
	struct sn_same_line line;
	uint32_t loop_count;
	size_t loop_capacity, mark_capacity;
	uint32_t *of_address; /* the innermost loop */
};

SN_SORT_BY(sort_by_function, struct place, const void *, SN_ORDER_BY(a, b, function, index));

/* All loops of the function, asked for or not: which of a line they are takes all of them. */
static int add_loops(struct nesting *nesting, uint32_t function)
{
	const struct sn_loop_forest *forest = &nesting->forest;
	uint32_t first = nesting->loop_count, count = first + forest->loop_count;
	if (sn_vec_reserve(&nesting->loops, &nesting->loop_capacity, count + 1u) < 0 ||
	    sn_vec_reserve(&nesting->marks, &nesting->mark_capacity, count + 1u) < 0)
		return SN_ERR_MEMORY;
	sn_nest_marks(&nesting->flow.graph, forest, &nesting->marks[first]);
	for (uint32_t i = 0; i < forest->loop_count; i++)
		nesting->loops[first + i] =
		    sn_nest_loop_of(&nesting->flow.graph, forest, i, first, function);
	nesting->loop_count = count;
	return 0;
}

/* Finds the loops of all places in one function. */
static int look_into(struct nesting *nesting, const uint64_t *addresses, const struct place *places,
		     size_t count)
{
	int result = sn_flow_build(&nesting->flow, nesting->code, places[0].function);
	if (result == 0)
		result = sn_loop_forest_build(&nesting->forest, &nesting->flow.graph);
	uint32_t first = nesting->loop_count;
	if (result < 0 || add_loops(nesting, places[0].function) < 0)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++) {
		uint32_t block = sn_flow_block_at(&nesting->flow, addresses[places[i].index]);
		uint32_t loop =
		    block == SN_FLOW_NONE ? SN_FLOW_NONE : nesting->forest.block_loops[block];
		if (loop != SN_FLOW_NONE)
			nesting->of_address[places[i].index] = first + loop;
	}
	return 0;
}

static int look_into_all(struct nesting *nesting, const uint64_t *addresses, size_t count)
{
	struct place *places = malloc(count * sizeof(*places));
	int result = places ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; i < count && result == 0; i++) {
		uint32_t function = sn_code_function_at(nesting->code, addresses[i]);
		if (function != SN_CODE_NONE)
			function = sn_flow_owner(nesting->code, function);
		places[i] = (struct place){function, (uint32_t)i};
	}
	if (result == 0)
		sort_by_function(places, count, NULL);
	for (size_t i = 0, next; i < count && result == 0; i = next) {
		for (next = i + 1; next < count && places[next].function == places[i].function;)
			next++;
		if (places[i].function != SN_CODE_NONE)
			result = look_into(nesting, addresses, places + i, next - i);
	}
	free(places);
	return result;
}

/* Asks for the locations of all marks at once, and settles all loops by them. */
static int settle_all(struct nesting *nesting, sn_nest_resolve *resolve, void *data,
		      struct sn_symbol_location **kept)
{
	size_t count = 0;
	for (uint32_t i = 0; i < nesting->loop_count; i++)
		count += nesting->marks[i].all_count;
	uint64_t *addresses = malloc((count + 1) * sizeof(*addresses));
	*kept = calloc(count + 1, sizeof(**kept));
	int result = addresses && *kept ? 0 : SN_ERR_MEMORY;
	if (result == 0) {
		count = 0;
		for (uint32_t i = 0; i < nesting->loop_count; i++)
			for (uint32_t j = 0; j < nesting->marks[i].all_count; j++)
				addresses[count++] = nesting->marks[i].addresses[j];
		sn_sort_u64(addresses, count);
		count = sn_sort_unique(addresses, count);
		result = resolve(data, addresses, count, *kept);
	}
	struct sn_nest_places places = {addresses, *kept, count};
	if (result == 0)
		result = sn_nest_settle_all(nesting->loops, nesting->marks, nesting->loop_count,
					    &places, &nesting->line);
	free(addresses);
	return result;
}

int sn_nest_locate(struct sn_code *code, const uint64_t *addresses, size_t count,
		   sn_nest_resolve *resolve, void *data, struct sn_string_pool *pool,
		   struct sn_symbol_location *locations)
{
	struct nesting nesting = {.code = code};
	struct sn_symbol_location *kept = NULL;
	int result = SN_ERR_MEMORY;
	nesting.of_address = malloc((count + 1) * sizeof(*nesting.of_address));
	if (nesting.of_address) {
		memset(nesting.of_address, 0xff, count * sizeof(*nesting.of_address));
		result = look_into_all(&nesting, addresses, count);
	}
	if (result == 0 && nesting.loop_count > 0)
		result = settle_all(&nesting, resolve, data, &kept);
	for (size_t i = 0; i < count && result == 0; i++)
		result = sn_nest_insert(nesting.loops, nesting.of_address[i], pool, &locations[i]);
	free(kept);
	free(nesting.of_address);
	sn_same_line_release(&nesting.line);
	free(nesting.loops);
	free(nesting.marks);
	sn_loop_forest_release(&nesting.forest);
	sn_flow_release(&nesting.flow);
	return result;
}
