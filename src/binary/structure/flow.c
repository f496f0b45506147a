/* SPDX-License-Identifier: Apache-2.0 */
/* Follows instructions, jump tables and exceptions to basic blocks; see flow.h. */
#include "flow.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/error.h"
#include "base/vec.h"
#include "flow_private.h"
#include "jump_table.h"

#include <stdlib.h>
#include <string.h>

/* Jump tables lead to code with further ones; compilers do not nest them deeper. */
#define ROUNDS_MAX 16
/* A jump may be understood only once what leads to it is known. */
#define TRIES_MAX  2
/* What all jumps of a function may cost, in instructions looked at; about a fifth of a second. */
#define STEPS_MAX  500000

size_t sn_flow_position(const struct sn_flow *flow, uint64_t address,
			const struct sn_flow_part **part)
{
	for (uint32_t i = 0; i < flow->part_count; i++) {
		const struct sn_flow_part *at = &flow->parts[i];
		if (address < at->start || address >= at->end)
			continue;
		if (part)
			*part = at;
		return at->position + (size_t)(address - at->start);
	}
	return SIZE_MAX;
}

/* ---- split-off parts ---- */

/* The next jump or branch of a piece from *at on, which is moved past it; false where there is none
 * more. */
static bool next_jump(const struct sn_code *code, const struct sn_code_function *piece, size_t *at,
		      struct sn_insn *insn)
{
	struct sn_bytes bytes = sn_code_bytes(code, piece->start);
	size_t size = (size_t)(piece->end - piece->start);
	while (*at < size && size <= bytes.size &&
	       code->decode(bytes.data + *at, size - *at, piece->start + *at, insn)) {
		*at += insn->length;
		if (insn->kind == SN_INSN_JUMP || insn->kind == SN_INSN_BRANCH)
			return true;
	}
	return false;
}

/* The function into the middle of which an unnamed piece jumps: what tail calls never do. */
static uint32_t owner_by_jumps(const struct sn_code *code, uint32_t index)
{
	const struct sn_code_function *piece = &code->functions[index];
	struct sn_insn insn;
	for (size_t at = 0; next_jump(code, piece, &at, &insn);) {
		if (insn.target - piece->start < piece->end - piece->start)
			continue;
		uint32_t other = sn_code_function_at(code, insn.target);
		if (other != SN_CODE_NONE && code->functions[other].start != insn.target)
			return other;
	}
	return index;
}

static bool jumps_to(const struct sn_code *code, uint32_t index, uint64_t target)
{
	struct sn_insn insn;
	for (size_t at = 0; next_jump(code, &code->functions[index], &at, &insn);)
		if (insn.target == target)
			return true;
	return false;
}

uint32_t sn_flow_owner(const struct sn_code *code, uint32_t index)
{
	const struct sn_code_function *function = &code->functions[index];
	if (function->name)
		return function->owner;
	uint32_t owner = owner_by_jumps(code, index);
	if (owner == index || code->functions[owner].name || owner_by_jumps(code, owner) != index)
		return owner;
	/* of two that jump into each other, the part is the one that makes no frame of its own,
	 * else the one at whose start the other enters */
	if (function->in_frame != code->functions[owner].in_frame)
		return function->in_frame ? owner : index;
	bool enters = jumps_to(code, owner, function->start);
	bool is_entered = jumps_to(code, index, code->functions[owner].start);
	if (enters != is_entered)
		return enters ? owner : index;
	return owner < index ? owner : index;
}

static bool add_part(struct sn_flow *flow, uint32_t function)
{
	const struct sn_code_function *of = &flow->code->functions[function];
	uint64_t bytes = of->end - of->start;
	struct sn_bytes contents = sn_code_bytes(flow->code, of->start);
	if (flow->part_count == SN_FLOW_PARTS_MAX || contents.size < bytes ||
	    bytes > SN_FLOW_BYTES_MAX - flow->size)
		return false;
	if (sn_vec_reserve(&flow->marks, &flow->mark_capacity, flow->size + bytes) < 0) {
		flow->failed = true;
		return false;
	}
	memset(flow->marks + flow->size, 0, bytes);
	uint32_t landings = flow->landings.count;
	if (sn_landings_read(&flow->landings, flow->code, of) < 0)
		flow->failed = true;
	flow->parts[flow->part_count++] =
	    (struct sn_flow_part){.start = of->start,
				  .end = of->end,
				  .position = flow->size,
				  .bytes = contents.data,
				  .function = function,
				  .first_landing = landings,
				  .end_landing = flow->landings.count};
	flow->size += bytes;
	return true;
}

size_t sn_flow_target_position(struct sn_flow *flow, uint64_t target)
{
	size_t position = sn_flow_position(flow, target, NULL);
	if (position != SIZE_MAX)
		return position;
	uint32_t function = sn_code_function_at(flow->code, target);
	if (function == SN_CODE_NONE || function == flow->parts[0].function ||
	    sn_flow_owner(flow->code, function) != flow->parts[0].function ||
	    !add_part(flow, function))
		return SIZE_MAX;
	return sn_flow_position(flow, target, NULL);
}

/* ---- following instructions ---- */

static void push(struct sn_flow *flow, uint64_t address)
{
	flow->failed |=
	    sn_vec_push(&flow->work, &flow->work_capacity, &flow->work_count, address) < 0;
}

static void add_any_transfer(struct sn_flow *flow, uint64_t from, uint64_t to, bool is_throw)
{
	size_t position = sn_flow_target_position(flow, to);
	if (position == SIZE_MAX || (to & (flow->code->alignment - 1)))
		return;
	flow->failed |=
	    sn_vec_push(&flow->transfers, &flow->transfer_capacity, &flow->transfer_count,
			(struct sn_flow_transfer){from, to, is_throw}) < 0;
	flow->marks[position] |= MARK_BLOCK;
	if (!(flow->marks[position] & MARK_LENGTH))
		push(flow, to);
}

/* Notes that `to` may follow `from`. */
static void add_transfer(struct sn_flow *flow, uint64_t from, uint64_t to)
{
	add_any_transfer(flow, from, to, false);
}

static void add_call(struct sn_flow *flow, uint64_t at, uint8_t length, uint64_t target)
{
	if (flow->wants_calls)
		flow->failed |= sn_vec_push(&flow->calls, &flow->call_capacity, &flow->call_count,
					    (struct sn_flow_call){at, at + length, target}) < 0;
}

/* Notes a call, and where an exception from it goes, if that is in the function. */
static uint8_t follow_call(struct sn_flow *flow, uint64_t at, const struct sn_insn *insn,
			   bool comes_back)
{
	const struct sn_flow_part *part;
	uint64_t pad = 0;
	add_call(flow, at, insn->length, insn->kind == SN_INSN_CALL ? insn->target : 0);
	if (flow->landings.count > 0 && sn_flow_position(flow, at, &part) != SIZE_MAX)
		pad = sn_landings_at(&flow->landings, part->first_landing, part->end_landing, at);
	if (pad != 0)
		add_any_transfer(flow, at, pad, true);
	return !comes_back ? MARK_ENDS : pad != 0 ? MARK_SPLITS : 0;
}

static void add_jump(struct sn_flow *flow, uint64_t at)
{
	flow->failed |= sn_vec_push(&flow->jumps, &flow->jump_capacity, &flow->jump_count,
				    (struct sn_flow_jump){.at = at}) < 0;
}

/* What an instruction does to the flow: MARK_ENDS and MARK_SPLITS. */
static uint8_t follow_insn(struct sn_flow *flow, uint64_t at, const struct sn_insn *insn)
{
	switch (insn->kind) {
	case SN_INSN_JUMP:
		add_transfer(flow, at, insn->target);
		return MARK_ENDS;
	case SN_INSN_BRANCH:
		add_transfer(flow, at, insn->target);
		return MARK_SPLITS;
	case SN_INSN_JUMP_INDIRECT:
		add_jump(flow, at);
		return MARK_ENDS;
	case SN_INSN_CALL:
		return follow_call(flow, at, insn,
				   sn_code_call_returns(flow->code, insn->target, 0));
	case SN_INSN_CALL_INDIRECT:
		return follow_call(flow, at, insn,
				   sn_code_call_returns(flow->code, 0, insn->target));
	case SN_INSN_RETURN:
	case SN_INSN_TRAP:
		return MARK_ENDS;
	}
	return 0;
}

/* Decodes onwards from one address until the flow ends or was here before. */
static void follow(struct sn_flow *flow, uint64_t address)
{
	const struct sn_flow_part *in = NULL;
	size_t position = sn_flow_position(flow, address, &in);
	uint32_t part = position == SIZE_MAX ? 0 : (uint32_t)(in - flow->parts);
	while (position != SIZE_MAX && !(flow->marks[position] & (MARK_LENGTH | MARK_DATA))) {
		struct sn_insn insn;
		const struct sn_flow_part *of = &flow->parts[part];
		size_t at = (size_t)(address - of->start);
		size_t left = (size_t)(of->end - address);
		if (!flow->code->decode(of->bytes + at, left, address, &insn)) {
			flow->marks[position] |= MARK_DATA;
			return;
		}
		flow->marks[position] |= insn.length;
		uint8_t marks = follow_insn(flow, address, &insn);
		flow->marks[position] |= marks;
		address += insn.length;
		position += insn.length;
		if ((marks & MARK_ENDS) || insn.length == left)
			return;
		if ((marks & MARK_SPLITS) || (flow->marks[position] & MARK_LENGTH))
			flow->marks[position] |= MARK_BLOCK;
	}
}

static void follow_all(struct sn_flow *flow)
{
	while (flow->work_count > 0 && !flow->failed)
		follow(flow, flow->work[--flow->work_count]);
}

SN_SORT_BY(sort_by_target, struct sn_flow_transfer, const void *, SN_ORDER_BY(a, b, to, from));

static void sort_origins(struct sn_flow *flow)
{
	if (flow->transfer_count == flow->origin_count || flow->transfer_count == 0)
		return;
	if (sn_vec_reserve(&flow->origins, &flow->origin_capacity, flow->transfer_count) < 0) {
		flow->failed = true;
		return;
	}
	memcpy(flow->origins, flow->transfers, flow->transfer_count * sizeof(*flow->transfers));
	flow->origin_count = flow->transfer_count;
	sort_by_target(flow->origins, flow->origin_count, NULL);
}

uint32_t sn_flow_origins_of(const struct sn_flow *flow, uint64_t to)
{
	return sn_search(i, flow->origin_count, flow->origins[i].to < to);
}

static bool has_open_jump(const struct sn_flow *flow)
{
	for (uint32_t i = 0; i < flow->jump_count; i++)
		if (!flow->jumps[i].is_resolved && flow->jumps[i].try_count < TRIES_MAX)
			return true;
	return false;
}

static bool resolve_jumps(struct sn_flow *flow)
{
	bool is_any = false;
	if (!has_open_jump(flow))
		return false;
	sort_origins(flow);
	for (uint32_t i = 0; i < flow->jump_count && !flow->failed; i++) {
		struct sn_flow_jump *jump = &flow->jumps[i];
		if (jump->is_resolved || jump->try_count == TRIES_MAX)
			continue;
		jump->try_count++;
		bool is_resolved = sn_jump_table_resolve(flow, jump->at, add_transfer);
		flow->jumps[i].is_resolved = is_resolved;
		is_any |= flow->jumps[i].is_resolved;
	}
	return is_any;
}

/* Follows all that is known to be reached, and what that leads to. */
static void follow_with_jumps(struct sn_flow *flow)
{
	follow_all(flow);
	for (unsigned round = 0; round < ROUNDS_MAX && resolve_jumps(flow); round++)
		follow_all(flow);
}

/* Whether what lies at a position only fills up: no-operations, traps, zeros. *length is its. */
static bool is_filling(const struct sn_flow *flow, const struct sn_flow_part *part, size_t at,
		       size_t *length)
{
	size_t left = (size_t)(part->end - part->start) - at;
	const uint8_t *bytes = part->bytes + at;
	struct sn_insn insn;
	*length = flow->code->alignment < left ? flow->code->alignment : left;
	if (!flow->code->decode(bytes, left, part->start + at, &insn))
		return true;
	if (left >= 2 && bytes[0] == 0 && bytes[1] == 0)
		return true;
	*length = insn.length;
	return insn.kind == SN_INSN_PADDING || insn.kind == SN_INSN_TRAP;
}

/* Begins anew wherever nothing has led so far. */
static void follow_rest(struct sn_flow *flow)
{
	for (uint32_t i = 0; i < flow->part_count; i++) {
		size_t size = (size_t)(flow->parts[i].end - flow->parts[i].start);
		for (size_t at = 0, length; at < size && !flow->failed; at += length) {
			size_t position = flow->parts[i].position + at;
			length = flow->marks[position] & MARK_LENGTH;
			if (length > 0 || is_filling(flow, &flow->parts[i], at, &length))
				continue;
			flow->marks[position] |= MARK_BLOCK;
			push(flow, flow->parts[i].start + at);
			follow_with_jumps(flow);
			length = flow->marks[position] & MARK_LENGTH;
			if (length == 0)
				length = 1;
		}
	}
}

/* ---- blocks and edges ---- */

SN_SORT_BY(sort_by_part_start, struct sn_flow_part, const void *, SN_ORDER(a->start, b->start));

static void add_block(struct sn_flow *flow, const struct sn_flow_part *part, size_t at)
{
	struct sn_flow_graph *graph = &flow->graph;
	const uint8_t *marks = flow->marks + part->position;
	size_t size = (size_t)(part->end - part->start), last = at, start = at;
	do {
		last = at;
		at += marks[at] & MARK_LENGTH;
	} while (!(marks[last] & (MARK_ENDS | MARK_SPLITS)) && at < size &&
		 (marks[at] & MARK_LENGTH) && !(marks[at] & MARK_BLOCK));
	flow->failed |= sn_vec_push(&graph->blocks, &flow->block_capacity, &graph->block_count,
				    (struct sn_flow_block){part->start + start, part->start + at,
							   part->start + last, false}) < 0;
}

static void add_edge(struct sn_flow *flow, uint32_t from, uint32_t to, bool is_throw)
{
	flow->failed |=
	    sn_vec_push(&flow->graph.edges, &flow->edge_capacity, &flow->graph.edge_count,
			(struct sn_flow_edge){from, to, is_throw}) < 0;
}

/* The block that begins at an address, or SN_FLOW_NONE. */
static uint32_t block_from(const struct sn_flow *flow, uint64_t start)
{
	const struct sn_flow_graph *graph = &flow->graph;
	uint32_t first = sn_search(i, graph->block_count, graph->blocks[i].start < start);
	return first < graph->block_count && graph->blocks[first].start == start ? first
										 : SN_FLOW_NONE;
}

SN_SORT_BY(sort_by_origin, struct sn_flow_transfer, const void *, SN_ORDER_BY(a, b, from, to));

/* The first transfer from `from`, or transfer_count. */
static uint32_t transfers_from(const struct sn_flow *flow, uint64_t from)
{
	return sn_search(i, flow->transfer_count, flow->transfers[i].from < from);
}

static void add_edges_of(struct sn_flow *flow, uint32_t block)
{
	const struct sn_flow_block *of = &flow->graph.blocks[block];
	uint64_t last = of->last, end = of->end;
	size_t position = sn_flow_position(flow, last, NULL);
	if (!(flow->marks[position] & MARK_ENDS)) {
		uint32_t next = block_from(flow, end);
		if (next != SN_FLOW_NONE)
			add_edge(flow, block, next, false);
	}
	for (uint32_t i = transfers_from(flow, last);
	     i < flow->transfer_count && flow->transfers[i].from == last; i++) {
		uint32_t to = block_from(flow, flow->transfers[i].to);
		bool is_repeated = i > 0 && flow->transfers[i - 1].from == last &&
				   flow->transfers[i - 1].to == flow->transfers[i].to;
		if (to != SN_FLOW_NONE && !is_repeated)
			add_edge(flow, block, to, flow->transfers[i].is_throw);
	}
}

/* The first edge from a block; those of each follow each other. */
static uint32_t edges_from(const struct sn_flow_graph *graph, uint32_t block)
{
	return sn_search(i, graph->edge_count, graph->edges[i].from < block);
}

static void find_unwinding(struct sn_flow *flow)
{
	struct sn_flow_graph *graph = &flow->graph;
	for (uint32_t i = 0; i < graph->block_count; i++)
		graph->blocks[i].is_unwinding = i != graph->entry;
	push(flow, graph->entry);
	while (flow->work_count > 0 && !flow->failed) {
		uint32_t block = (uint32_t)flow->work[--flow->work_count];
		for (uint32_t i = edges_from(graph, block);
		     i < graph->edge_count && graph->edges[i].from == block; i++) {
			struct sn_flow_block *to = &graph->blocks[graph->edges[i].to];
			if (graph->edges[i].is_throw || !to->is_unwinding)
				continue;
			to->is_unwinding = false;
			push(flow, graph->edges[i].to);
		}
	}
	/* handlers that go on, once round after round of what leads there */
	bool is_changed = true;
	for (unsigned round = 0; round < ROUNDS_MAX && is_changed; round++) {
		is_changed = false;
		for (uint32_t i = graph->edge_count; i-- > 0;) {
			const struct sn_flow_edge *edge = &graph->edges[i];
			if (edge->is_throw || graph->blocks[edge->to].is_unwinding ||
			    !graph->blocks[edge->from].is_unwinding)
				continue;
			graph->blocks[edge->from].is_unwinding = false;
			is_changed = true;
		}
	}
}

static void make_graph(struct sn_flow *flow, uint64_t entry)
{
	struct sn_flow_graph *graph = &flow->graph;
	sort_by_part_start(flow->parts, flow->part_count, NULL);
	for (uint32_t i = 0; i < flow->part_count; i++) {
		const struct sn_flow_part *part = &flow->parts[i];
		size_t size = (size_t)(part->end - part->start);
		for (size_t at = 0; at < size && !flow->failed; at++) {
			uint8_t mark = flow->marks[part->position + at];
			if ((mark & MARK_BLOCK) && (mark & MARK_LENGTH))
				add_block(flow, part, at);
		}
	}
	sort_by_origin(flow->transfers, flow->transfer_count, NULL);
	for (uint32_t i = 0; i < graph->block_count && !flow->failed; i++)
		add_edges_of(flow, i);
	graph->entry = block_from(flow, entry);
	if (graph->entry == SN_FLOW_NONE)
		graph->block_count = graph->edge_count = graph->entry = 0;
	else if (flow->landings.count > 0)
		find_unwinding(flow);
}

int sn_flow_build(struct sn_flow *flow, struct sn_code *code, uint32_t function)
{
	uint64_t entry = code->functions[function].start;
	flow->code = code;
	flow->part_count = flow->transfer_count = flow->work_count = 0;
	flow->jump_count = flow->unresolved_count = flow->call_count = 0;
	flow->graph.block_count = flow->graph.edge_count = flow->graph.entry = 0;
	flow->origin_count = flow->landings.count = 0;
	flow->steps_left = STEPS_MAX;
	flow->size = 0;
	flow->failed = false;
	if (!add_part(flow, function))
		return flow->failed ? SN_ERR_MEMORY : 0;
	flow->marks[0] |= MARK_BLOCK;
	push(flow, entry);
	follow_with_jumps(flow);
	follow_rest(flow);
	for (uint32_t i = 0; i < flow->jump_count; i++)
		flow->unresolved_count += !flow->jumps[i].is_resolved;
	make_graph(flow, entry);
	return flow->failed ? SN_ERR_MEMORY : 0;
}

void sn_flow_release(struct sn_flow *flow)
{
	free(flow->graph.blocks);
	free(flow->graph.edges);
	free(flow->calls);
	free(flow->marks);
	free(flow->landings.list);
	free(flow->jumps);
	free(flow->transfers);
	free(flow->origins);
	free(flow->work);
	sn_jump_decoder_free(flow->decoder);
	*flow = (struct sn_flow){0};
}

uint32_t sn_flow_block_at(const struct sn_flow *flow, uint64_t address)
{
	const struct sn_flow_graph *graph = &flow->graph;
	uint32_t next = sn_search(i, graph->block_count, graph->blocks[i].start <= address);
	/* blocks overlap only where instructions do */
	for (unsigned tries = 0; next > 0 && tries < 4; tries++)
		if (address < graph->blocks[--next].end)
			return next;
	return SN_FLOW_NONE;
}
