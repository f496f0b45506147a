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

static int add_instruction(struct building *b, const struct sn_gpu_instruction *instruction)
{
	if (sn_vec_reserve(&b->instructions, &b->capacity, b->count + 1) != 0)
		return SN_ERR_MEMORY;
	b->instructions[b->count++] = *instruction;
	return 0;
}

static int decode_sass(struct building *b, const uint8_t *code, uint64_t bytes)
{
	memset(b->addresses, 0, sizeof(b->addresses));
	for (uint64_t at = 0; at + 16 <= bytes; at += 16) {
		struct sn_gpu_instruction instruction;
		sn_sass_decode(code + at, b->binary->architecture, b->function->start + at,
			       &instruction);
		if (b->binary->private->relocation_count > 0)
			apply_relocation(b, &instruction);
		call_or_jump(b, &instruction);
		if (add_instruction(b, &instruction) != 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int decode_gcn(struct building *b, const uint8_t *code, uint64_t bytes)
{
	struct sn_gcn_registers registers = {0};
	enum sn_gcn_isa isa = (enum sn_gcn_isa)b->binary->architecture;
	for (uint64_t at = 0; at + 4 <= bytes;) {
		struct sn_gpu_instruction instruction;
		if (sn_gcn_decode(code + at, bytes - at, isa, b->function->start + at,
				  &instruction))
			sn_gcn_follow(&registers, code + at, isa, &instruction);
		if (add_instruction(b, &instruction) != 0)
			return SN_ERR_MEMORY;
		at += instruction.length;
	}
	return 0;
}

static int decode(struct building *b)
{
	uint64_t bytes = b->function->end - b->function->start;
	const uint8_t *code = b->section->code.data + (b->function->start - b->section->start);
	b->count = 0;
	return b->binary->vendor == SN_GPU_NVIDIA ? decode_sass(b, code, bytes)
						  : decode_gcn(b, code, bytes);
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

static int find_leaders(struct building *b)
{
	if (sn_vec_reserve(&b->leads, &b->leads_capacity, b->count + 1) != 0)
		return SN_ERR_MEMORY;
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
	return 0;
}

static int make_blocks(struct building *b)
{
	b->block_count = 0;
	for (size_t i = 0; i < b->count; i++) {
		const struct sn_gpu_instruction *instruction = &b->instructions[i];
		if (b->leads[i]) {
			uint32_t count = b->block_count;
			if (sn_vec_reserve(&b->blocks, &b->block_capacity, (size_t)count + 1) !=
				0 ||
			    sn_vec_reserve(&b->firsts, &b->first_capacity, (size_t)count + 1) != 0)
				return SN_ERR_MEMORY;
			b->blocks[count] = (struct sn_flow_block){.start = instruction->address};
			b->firsts[count] = (uint32_t)i;
			b->block_count++;
		}
		b->blocks[b->block_count - 1].last = instruction->address;
		b->blocks[b->block_count - 1].end = instruction->address + instruction->length;
	}
	return 0;
}

/* The block that begins at an address, or SN_GPU_NONE. */
static uint32_t block_at(const struct building *b, uint64_t address)
{
	uint32_t first = sn_search(i, b->block_count, b->blocks[i].start < address);
	return first < b->block_count && b->blocks[first].start == address ? first : SN_GPU_NONE;
}

static int add_edge(struct building *b, uint32_t from, uint32_t to)
{
	const struct sn_flow_edge *last = b->edge_count > 0 ? &b->edges[b->edge_count - 1] : NULL;
	if (last && last->from == from && last->to == to)
		return 0;
	if (sn_vec_reserve(&b->edges, &b->edge_capacity, b->edge_count + 1) != 0)
		return SN_ERR_MEMORY;
	b->edges[b->edge_count++] = (struct sn_flow_edge){from, to};
	return 0;
}

static int add_call(struct building *b, const struct sn_gpu_instruction *instruction, bool is_tail)
{
	uint32_t function =
	    instruction->has_target ? entered_at(b->binary, instruction->target) : SN_GPU_NONE;
	if (is_tail && function == SN_GPU_NONE)
		return 0;
	if (sn_vec_reserve(&b->calls, &b->call_capacity, b->call_count + 1) != 0)
		return SN_ERR_MEMORY;
	b->calls[b->call_count++] = (struct sn_gpu_call){instruction->address, function, is_tail};
	return 0;
}

static bool is_inside(const struct building *b, uint64_t address)
{
	return address >= b->function->start && address < b->function->end;
}

/* Calls, and jumps to other functions. */
static int find_calls(struct building *b)
{
	b->call_count = 0;
	for (size_t i = 0; i < b->count; i++) {
		const struct sn_gpu_instruction *instruction = &b->instructions[i];
		int status = 0;
		if (instruction->flow == SN_GPU_CALL)
			status = add_call(b, instruction, false);
		else if ((instruction->flow == SN_GPU_BRANCH ||
			  instruction->flow == SN_GPU_INDIRECT) &&
			 instruction->has_target && !is_inside(b, instruction->target))
			status = add_call(b, instruction, true);
		if (status != 0)
			return status;
	}
	return 0;
}

static int add_branch(struct building *b, uint32_t from,
		      const struct sn_gpu_instruction *instruction)
{
	uint32_t to =
	    is_inside(b, instruction->target) ? block_at(b, instruction->target) : SN_GPU_NONE;
	return to == SN_GPU_NONE ? 0 : add_edge(b, from, to);
}

static int add_jumps(struct building *b, uint32_t from,
		     const struct sn_gpu_instruction *instruction)
{
	const struct sn_gpu_private *private = b->binary->private;
	size_t first = first_jump(private, instruction->address), at = first;
	for (; at < private->jump_count && private->jumps[at].from == instruction->address; at++) {
		uint32_t to = block_at(b, private->jumps[at].to);
		if (to != SN_GPU_NONE && add_edge(b, from, to) != 0)
			return SN_ERR_MEMORY;
	}
	if (at > first)
		return 0;
	if (instruction->has_target)
		return add_branch(b, from, instruction);
	b->function->has_unknown_jump = true;
	return 0;
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

static int make_edges(struct building *b)
{
	b->edge_count = 0;
	for (uint32_t block = 0; block < b->block_count; block++) {
		size_t next = block + 1 < b->block_count ? b->firsts[block + 1] : b->count;
		const struct sn_gpu_instruction *last = &b->instructions[next - 1];
		int status = 0;
		if (last->flow == SN_GPU_BRANCH)
			status = add_branch(b, block, last);
		else if (last->flow == SN_GPU_INDIRECT)
			status = add_jumps(b, block, last);
		if (status == 0 && goes_on(last) && block + 1 < b->block_count)
			status = add_edge(b, block, block + 1);
		if (status != 0)
			return status;
	}
	return 0;
}

/* Numbers the blocks that are kept, in order; the others are SN_GPU_NONE. Edges ascend by from. */
static int number_reached(struct building *b, uint32_t *kept)
{
	size_t count = b->block_count;
	if (sn_vec_reserve(&b->numbers, &b->numbers_capacity, count * 2 + 1) != 0)
		return SN_ERR_MEMORY;
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
	*kept = 0;
	for (size_t i = 0; i < count; i++)
		if (numbers[i] != SN_GPU_NONE)
			numbers[i] = (*kept)++;
	return 0;
}

static int keep_blocks(struct building *b, uint32_t kept)
{
	struct sn_flow_graph *flow = &b->function->flow;
	struct sn_string_pool *pool = &b->binary->private->pool;
	flow->blocks = sn_string_pool_allocate(pool, (size_t)kept * sizeof(*flow->blocks) + 1);
	flow->edges = sn_string_pool_allocate(pool, b->edge_count * sizeof(*flow->edges) + 1);
	if (!flow->blocks || !flow->edges)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < b->block_count; i++)
		if (b->numbers[i] != SN_GPU_NONE)
			flow->blocks[b->numbers[i]] = b->blocks[i];
	flow->block_count = kept;
	for (size_t i = 0; i < b->edge_count; i++) {
		uint32_t from = b->numbers[b->edges[i].from], to = b->numbers[b->edges[i].to];
		if (from != SN_GPU_NONE)
			flow->edges[flow->edge_count++] = (struct sn_flow_edge){from, to};
	}
	return 0;
}

/* The kept block that holds an address, or false: calls in code that is not reached count not. */
static bool is_kept(const struct building *b, uint64_t address)
{
	uint32_t next = sn_search(i, b->block_count, b->blocks[i].start <= address);
	return next > 0 && b->numbers[next - 1] != SN_GPU_NONE;
}

static int keep_calls(struct building *b)
{
	struct sn_gpu_function *function = b->function;
	function->calls = sn_string_pool_allocate(&b->binary->private->pool,
						  b->call_count * sizeof(*function->calls) + 1);
	if (!function->calls)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < b->call_count; i++)
		if (is_kept(b, b->calls[i].address))
			function->calls[function->call_count++] = b->calls[i];
	return 0;
}

static int build(struct building *b)
{
	uint32_t kept;
	int status = decode(b);
	if (status != 0 || b->count == 0)
		return status;
	status = find_leaders(b);
	if (status == 0)
		status = make_blocks(b);
	if (status == 0)
		status = make_edges(b);
	if (status == 0)
		status = find_calls(b);
	if (status == 0)
		status = number_reached(b, &kept);
	if (status == 0)
		status = keep_blocks(b, kept);
	return status != 0 ? status : keep_calls(b);
}

int sn_gpu_build_flow(struct sn_gpu_binary *binary)
{
	struct building b = {.binary = binary};
	int status = 0;
	for (uint32_t i = 0; i < binary->function_count && status == 0; i++) {
		b.function = &binary->functions[i];
		b.section = sn_gpu_section_at(binary, b.function->start);
		status = build(&b);
	}
	free(b.instructions);
	free(b.leads);
	free(b.blocks);
	free(b.firsts);
	free(b.edges);
	free(b.calls);
	free(b.numbers);
	return status;
}
