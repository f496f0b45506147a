/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Basic blocks, edges and calls of GPU functions, from what gpu/instruction.h says of each
 * instruction.
 *
 * Blocks are those of NVIDIA's nvdisasm: a call ends one and goes on to the next, except through a
 * register; code that diverged threads meet at begins one, waiting for them (BSYNC) ends one; a
 * jump with a table is one by itself. Blocks that cannot be reached (padding, the endless loop
 * behind the last exit of NVIDIA's functions) are left out, unless there is a jump that is not
 * understood.
 */
#include "base/vec.h"
#include "base/search.h"
#include "gpu_private.h"

#include <string.h>

struct building {
	struct sn_gpu_binary *binary;
	struct sn_gpu_function *function;
	const struct sn_gpu_section *section;
	struct sn_gpu_instruction *instructions; /* of the function, by address */
	size_t count, capacity;
	uint8_t *leads; /* by instruction: begins a block */
	size_t leads_capacity;
	struct sn_flow_block *blocks;
	uint32_t *firsts; /* by block: its first instruction */
	size_t block_capacity, first_capacity;
	uint32_t block_count;
	struct sn_flow_edge *edges;
	size_t edge_count, edge_capacity;
	struct sn_gpu_call *calls;
	size_t call_count, call_capacity;
	uint32_t *numbers; /* by block: its number among those kept; also a work list */
	size_t numbers_capacity;
	bool failed;		 /* for lack of memory */
	uint64_t addresses[256]; /* NVIDIA: by register, the function whose address was put in */
};

static const struct sn_gpu_relocation *relocation_at(const struct sn_gpu_private *private,
						     uint64_t address)
{
	size_t first =
	    sn_search(i, private->relocation_count, private->relocations[i].at < address);
	if (first == private->relocation_count || private->relocations[first].at != address)
		return NULL;
	return &private->relocations[first];
}

/*
 * A call whose target the linker fills in; or through a register that an address was moved into
 * before: in two halves, of which the lower one is in the register that the call names.
 */
static void apply_relocation(struct building *b, struct sn_gpu_instruction *instruction)
{
	const struct sn_gpu_relocation *relocation =
	    relocation_at(b->binary->private, instruction->address);
	uint8_t target = instruction->target_register, written = instruction->written_register;
	if (instruction->flow == SN_GPU_CALL || instruction->flow == SN_GPU_INDIRECT) {
		uint64_t value = relocation			? relocation->value
				 : target != SN_GPU_NO_REGISTER ? b->addresses[target]
								: 0;
		if (value != 0) {
			instruction->target = value;
			instruction->has_target = true;
		}
	} else if (written != SN_GPU_NO_REGISTER) {
		b->addresses[written] = relocation ? relocation->value : 0;
	}
}

/* A function that begins at an address, or SN_GPU_NONE. */
static uint32_t entered_at(const struct sn_gpu_binary *binary, uint64_t address)
{
	uint32_t function = sn_gpu_binary_function_at(binary, address);
	return function != SN_GPU_NONE && binary->functions[function].start == address
		   ? function
		   : SN_GPU_NONE;
}

/* NVIDIA's compiler writes jumps that reach further as calls that save no return address: a call
 * into the middle of its own function is one. */
static void call_or_jump(const struct building *b, struct sn_gpu_instruction *instruction)
{
	if (instruction->flow == SN_GPU_CALL && instruction->has_target &&
	    instruction->target > b->function->start && instruction->target < b->function->end &&
	    entered_at(b->binary, instruction->target) == SN_GPU_NONE)
		instruction->flow = SN_GPU_BRANCH;
}

static void add_instruction(struct building *b, const struct sn_gpu_instruction *instruction)
{
	b->failed |= sn_vec_push(&b->instructions, &b->capacity, &b->count, *instruction) < 0;
}

static void decode_sass(struct building *b, const uint8_t *code, uint64_t bytes)
{
	memset(b->addresses, 0, sizeof(b->addresses));
	for (uint64_t at = 0; at + 16 <= bytes; at += 16) {
		struct sn_gpu_instruction instruction;
		sn_sass_decode(code + at, b->binary->architecture, b->function->start + at,
			       &instruction);
		if (b->binary->private->relocation_count > 0)
			apply_relocation(b, &instruction);
		call_or_jump(b, &instruction);
		add_instruction(b, &instruction);
	}
}

static void decode_gcn(struct building *b, const uint8_t *code, uint64_t bytes)
{
	struct sn_gcn_registers registers = {0};
	enum sn_gcn_isa isa = (enum sn_gcn_isa)b->binary->architecture;
	for (uint64_t at = 0; at + 4 <= bytes;) {
		struct sn_gpu_instruction instruction;
		if (sn_gcn_decode(code + at, bytes - at, isa, b->function->start + at,
				  &instruction))
			sn_gcn_follow(&registers, code + at, isa, &instruction);
		add_instruction(b, &instruction);
		at += instruction.length;
	}
}

static void decode(struct building *b)
{
	uint64_t bytes = b->function->end - b->function->start;
	const uint8_t *code = b->section->code.data + (b->function->start - b->section->start);
	b->count = 0;
	if (b->binary->vendor == SN_GPU_NVIDIA)
		decode_sass(b, code, bytes);
	else
		decode_gcn(b, code, bytes);
}

/* The instruction at an address of this function; count where there is none. */
static size_t instruction_at(const struct building *b, uint64_t address)
{
	size_t first = sn_search(i, b->count, b->instructions[i].address < address);
	return first < b->count && b->instructions[first].address == address ? first : b->count;
}

static void lead(struct building *b, uint64_t address)
{
	size_t index = instruction_at(b, address);
	if (index < b->count)
		b->leads[index] = 1;
}

/* The jumps of one instruction's table. */
static size_t first_jump(const struct sn_gpu_private *private, uint64_t from)
{
	return sn_search(i, private->jump_count, private->jumps[i].from < from);
}

static void lead_jumps(struct building *b, uint64_t from)
{
	const struct sn_gpu_private *private = b->binary->private;
	size_t at = first_jump(private, from);
	if (at < private->jump_count && private->jumps[at].from == from)
		lead(b, from);
	for (; at < private->jump_count && private->jumps[at].from == from; at++)
		lead(b, private->jumps[at].to);
}

/* Where the linker was told an address inside the function: return addresses, mostly. */
static void lead_relocations(struct building *b)
{
	const struct sn_gpu_private *private = b->binary->private;
	size_t first = sn_search(i, private->relocation_count,
				 private->relocations[i].at < b->function->start);
	for (;
	     first < private->relocation_count && private->relocations[first].at < b->function->end;
	     first++)
		lead(b, private->relocations[first].value);
}

static bool ends_block(const struct sn_gpu_instruction *instruction)
{
	switch (instruction->flow) {
	case SN_GPU_NEXT:
	case SN_GPU_MEET:
		return false;
	case SN_GPU_CALL: /* through a register: as any other instruction */
		return instruction->target_register == SN_GPU_NO_REGISTER;
	default:
		return true;
	}
}

static void find_leaders(struct building *b)
{
	b->failed |= sn_vec_reserve(&b->leads, &b->leads_capacity, b->count + 1) < 0;
	if (b->failed)
		return;
	memset(b->leads, 0, b->count + 1);
	b->leads[0] = 1;
	lead_relocations(b);
	for (size_t i = 0; i < b->count; i++) {
		const struct sn_gpu_instruction *instruction = &b->instructions[i];
		if (ends_block(instruction))
			b->leads[i + 1] = 1;
		if (instruction->has_target &&
		    (instruction->flow == SN_GPU_BRANCH || instruction->flow == SN_GPU_MEET))
			lead(b, instruction->target);
		else if (instruction->flow == SN_GPU_INDIRECT)
			lead_jumps(b, instruction->address);
	}
}

static void make_blocks(struct building *b)
{
	b->block_count = 0;
	for (size_t i = 0; i < b->count; i++) {
		const struct sn_gpu_instruction *instruction = &b->instructions[i];
		uint32_t count = b->block_count;
		if (b->leads[i] &&
		    (sn_vec_reserve(&b->firsts, &b->first_capacity, (size_t)count + 1) < 0 ||
		     sn_vec_push(&b->blocks, &b->block_capacity, &b->block_count,
				 (struct sn_flow_block){.start = instruction->address}))) {
			b->failed = true;
			return;
		}
		if (b->leads[i])
			b->firsts[count] = (uint32_t)i;
		b->blocks[b->block_count - 1].last = instruction->address;
		b->blocks[b->block_count - 1].end = instruction->address + instruction->length;
	}
}

/* The block that begins at an address, or SN_GPU_NONE. */
static uint32_t block_at(const struct building *b, uint64_t address)
{
	uint32_t first = sn_search(i, b->block_count, b->blocks[i].start < address);
	return first < b->block_count && b->blocks[first].start == address ? first : SN_GPU_NONE;
}

static void add_edge(struct building *b, uint32_t from, uint32_t to)
{
	const struct sn_flow_edge *last = b->edge_count > 0 ? &b->edges[b->edge_count - 1] : NULL;
	if (!last || last->from != from || last->to != to)
		b->failed |= sn_vec_push(&b->edges, &b->edge_capacity, &b->edge_count,
					 (struct sn_flow_edge){from, to}) < 0;
}

static void add_call(struct building *b, const struct sn_gpu_instruction *instruction, bool is_tail)
{
	uint32_t function =
	    instruction->has_target ? entered_at(b->binary, instruction->target) : SN_GPU_NONE;
	if (!is_tail || function != SN_GPU_NONE)
		b->failed |=
		    sn_vec_push(&b->calls, &b->call_capacity, &b->call_count,
				(struct sn_gpu_call){instruction->address, function, is_tail}) < 0;
}

static bool is_inside(const struct building *b, uint64_t address)
{
	return address >= b->function->start && address < b->function->end;
}

/* Calls, and jumps to other functions. */
static void find_calls(struct building *b)
{
	b->call_count = 0;
	for (size_t i = 0; i < b->count; i++) {
		const struct sn_gpu_instruction *instruction = &b->instructions[i];
		if (instruction->flow == SN_GPU_CALL)
			add_call(b, instruction, false);
		else if ((instruction->flow == SN_GPU_BRANCH ||
			  instruction->flow == SN_GPU_INDIRECT) &&
			 instruction->has_target && !is_inside(b, instruction->target))
			add_call(b, instruction, true);
	}
}

static void add_branch(struct building *b, uint32_t from, uint64_t target)
{
	uint32_t to = is_inside(b, target) ? block_at(b, target) : SN_GPU_NONE;
	if (to != SN_GPU_NONE)
		add_edge(b, from, to);
}

static void add_jumps(struct building *b, uint32_t from,
		      const struct sn_gpu_instruction *instruction)
{
	const struct sn_gpu_private *private = b->binary->private;
	size_t first = first_jump(private, instruction->address), at = first;
	for (; at < private->jump_count && private->jumps[at].from == instruction->address; at++) {
		uint32_t to = block_at(b, private->jumps[at].to);
		if (to != SN_GPU_NONE)
			add_edge(b, from, to);
	}
	if (at > first)
		return;
	if (instruction->has_target)
		add_branch(b, from, instruction->target);
	else
		b->function->has_unknown_jump = true;
}

static bool goes_on(const struct sn_gpu_instruction *instruction)
{
	switch (instruction->flow) {
	case SN_GPU_BRANCH:
	case SN_GPU_INDIRECT:
	case SN_GPU_RETURN:
	case SN_GPU_EXIT:
		return instruction->is_conditional;
	default:
		return true;
	}
}

static void make_edges(struct building *b)
{
	b->edge_count = 0;
	for (uint32_t block = 0; block < b->block_count; block++) {
		size_t next = block + 1 < b->block_count ? b->firsts[block + 1] : b->count;
		const struct sn_gpu_instruction *last = &b->instructions[next - 1];
		if (last->flow == SN_GPU_BRANCH)
			add_branch(b, block, last->target);
		else if (last->flow == SN_GPU_INDIRECT)
			add_jumps(b, block, last);
		if (goes_on(last) && block + 1 < b->block_count)
			add_edge(b, block, block + 1);
	}
}

/* Numbers the blocks that are kept, in order; the others are SN_GPU_NONE. Edges ascend by from. */
static uint32_t number_reached(struct building *b)
{
	size_t count = b->block_count;
	uint32_t kept = 0;
	b->failed |= sn_vec_reserve(&b->numbers, &b->numbers_capacity, count * 2 + 1) < 0;
	if (b->failed)
		return 0;
	uint32_t *numbers = b->numbers, *work = b->numbers + count, pending = 0;
	bool all = b->function->has_unknown_jump;
	for (size_t i = 0; i < count; i++)
		numbers[i] = all ? 0 : SN_GPU_NONE;
	if (!all) {
		numbers[0] = 0;
		work[pending++] = 0;
	}
	while (pending > 0) {
		uint32_t from = work[--pending];
		size_t first = sn_search(i, b->edge_count, b->edges[i].from < from);
		for (; first < b->edge_count && b->edges[first].from == from; first++) {
			uint32_t to = b->edges[first].to;
			if (numbers[to] == SN_GPU_NONE) {
				numbers[to] = 0;
				work[pending++] = to;
			}
		}
	}
	for (size_t i = 0; i < count; i++)
		if (numbers[i] != SN_GPU_NONE)
			numbers[i] = kept++;
	return kept;
}

static void keep_blocks(struct building *b, uint32_t kept)
{
	struct sn_flow_graph *flow = &b->function->flow;
	struct sn_arena *arena = &b->binary->private->pool.arena;
	flow->blocks = sn_arena_array(arena, struct sn_flow_block, kept);
	flow->edges = sn_arena_array(arena, struct sn_flow_edge, b->edge_count);
	if (arena->failed)
		return;
	for (uint32_t i = 0; i < b->block_count; i++)
		if (b->numbers[i] != SN_GPU_NONE)
			flow->blocks[b->numbers[i]] = b->blocks[i];
	flow->block_count = kept;
	for (size_t i = 0; i < b->edge_count; i++) {
		uint32_t from = b->numbers[b->edges[i].from], to = b->numbers[b->edges[i].to];
		if (from != SN_GPU_NONE)
			flow->edges[flow->edge_count++] = (struct sn_flow_edge){from, to};
	}
}

/* The kept block that holds an address, or false: calls in code that is not reached count not. */
static bool is_kept(const struct building *b, uint64_t address)
{
	uint32_t next = sn_search(i, b->block_count, b->blocks[i].start <= address);
	return next > 0 && b->numbers[next - 1] != SN_GPU_NONE;
}

static void keep_calls(struct building *b)
{
	struct sn_gpu_function *function = b->function;
	function->calls =
	    sn_arena_array(&b->binary->private->pool.arena, struct sn_gpu_call, b->call_count);
	for (size_t i = 0; i < b->call_count && function->calls; i++)
		if (is_kept(b, b->calls[i].address))
			function->calls[function->call_count++] = b->calls[i];
}

static void build(struct building *b)
{
	decode(b);
	if (b->count == 0)
		return;
	find_leaders(b);
	if (!b->failed)
		make_blocks(b);
	if (b->failed)
		return;
	make_edges(b);
	find_calls(b);
	uint32_t kept = number_reached(b);
	if (b->failed)
		return;
	keep_blocks(b, kept);
	keep_calls(b);
}

void sn_gpu_build_flow(struct sn_gpu_binary *binary)
{
	struct building b = {.binary = binary};
	for (uint32_t i = 0; i < binary->function_count && !b.failed; i++) {
		b.function = &binary->functions[i];
		b.section = sn_gpu_section_at(binary, b.function->start);
		build(&b);
	}
	binary->private->failed |= b.failed || binary->private->pool.arena.failed;
	free(b.instructions);
	free(b.leads);
	free(b.blocks);
	free(b.firsts);
	free(b.edges);
	free(b.calls);
	free(b.numbers);
}
