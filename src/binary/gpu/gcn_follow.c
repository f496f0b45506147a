/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where s_swappc_b64 and s_setpc_b64 go: the few scalar instructions that compilers make addresses
 * of code with. Whatever else writes a scalar register makes it unknown.
 */
#include "instruction.h"

#include <string.h>

static bool is_known(const struct sn_gcn_registers *registers, uint32_t number)
{
	return number < 128 && (registers->known[number / 64] >> number % 64 & 1);
}

static void set(struct sn_gcn_registers *registers, uint32_t number, uint32_t value)
{
	if (number >= 128)
		return;
	registers->value[number] = value;
	registers->known[number / 64] |= (uint64_t)1 << number % 64;
}

static void forget(struct sn_gcn_registers *registers, uint32_t number, unsigned count)
{
	for (unsigned i = 0; i < count && number + i < 128; i++)
		registers->known[(number + i) / 64] &= ~((uint64_t)1 << (number + i) % 64);
}

/* Of something that may have 64 bits: pairs of registers begin at an even one. */
static void forget_result(struct sn_gcn_registers *registers, uint32_t number)
{
	forget(registers, number, number % 2 == 0 ? 2 : 1);
}

/* A source's value: a register, a small constant, or the literal. */
static bool source(const struct sn_gcn_registers *registers, uint32_t code, uint32_t literal,
		   uint32_t *value)
{
	if (code < 128 && is_known(registers, code))
		*value = registers->value[code];
	else if (code >= 128 && code <= 192)
		*value = code - 128;
	else if (code >= 193 && code <= 208)
		*value = (uint32_t)(192 - (int32_t)code);
	else if (code == 255)
		*value = literal;
	else
		return false;
	return true;
}

/* s_add_u32 (opcode 0) and s_addc_u32 (4), which every generation has. */
static void follow_sop2(struct sn_gcn_registers *registers, uint32_t word, uint32_t literal)
{
	uint32_t opcode = word >> 23 & 0x7f, destination = word >> 16 & 0x7f, a, b;
	bool adds = opcode == 0 || (opcode == 4 && registers->has_carry);
	bool known = adds && source(registers, word & 0xff, literal, &a) &&
		     source(registers, word >> 8 & 0xff, literal, &b);
	uint64_t sum = 0;
	if (known)
		sum = (uint64_t)a + b + (opcode == 4 && registers->carry);
	registers->has_carry = known;
	registers->carry = sum >> 32;
	if (adds)
		forget(registers, destination, 1);
	else
		forget_result(registers, destination);
	if (known)
		set(registers, destination, (uint32_t)sum);
}

static void follow_move(struct sn_gcn_registers *registers, uint32_t word, uint32_t literal,
			bool is_wide)
{
	uint32_t destination = word >> 16 & 0x7f, code = word & 0xff, low, high = 0;
	bool known = source(registers, code, literal, &low);
	if (is_wide)
		known = known && code < 127 && source(registers, code + 1, 0, &high);
	forget(registers, destination, is_wide ? 2 : 1);
	if (known)
		set(registers, destination, low);
	if (known && is_wide)
		set(registers, destination + 1, high);
}

static void follow_getpc(struct sn_gcn_registers *registers, uint32_t word,
			 const struct sn_gpu_instruction *instruction)
{
	uint32_t destination = word >> 16 & 0x7f;
	uint64_t next = instruction->address + 4;
	set(registers, destination, (uint32_t)next);
	set(registers, destination + 1, (uint32_t)(next >> 32));
}

/* A callee keeps the registers from s30 on; the return address is written. */
static void follow_call(struct sn_gcn_registers *registers, uint32_t destination)
{
	forget(registers, 0, 30);
	forget(registers, 106, 22);
	forget(registers, destination, 2);
}

/* The opcodes differ between generations: s_mov_b32, s_mov_b64, s_sext_i32_i16, s_getpc_b64. */
static void follow_sop1(struct sn_gcn_registers *registers, uint32_t word, uint32_t literal,
			enum sn_gcn_isa isa, const struct sn_gpu_instruction *instruction)
{
	uint32_t opcode = word >> 8 & 0xff, destination = word >> 16 & 0x7f;
	uint32_t move = isa == SN_GCN_10 ? 3 : 0;
	uint32_t getpc = isa == SN_GCN_9 ? 28 : isa == SN_GCN_10 ? 31 : 71;
	uint32_t extend = isa == SN_GCN_9 ? 23 : isa == SN_GCN_10 ? 26 : 15;
	if (opcode == move || opcode == move + 1)
		follow_move(registers, word, literal, opcode == move + 1);
	else if (opcode == getpc)
		follow_getpc(registers, word, instruction);
	else if (opcode == extend && is_known(registers, destination) &&
		 (word & 0xff) == destination)
		set(registers, destination,
		    (uint32_t)(int32_t)(int16_t)registers->value[destination]);
	else if (opcode == getpc + 2)
		follow_call(registers, destination);
	else if (opcode != getpc + 1)
		forget_result(registers, destination);
}

static void set_target(const struct sn_gcn_registers *registers,
		       struct sn_gpu_instruction *instruction)
{
	uint32_t low = instruction->target_register;
	if (!is_known(registers, low) || !is_known(registers, low + 1))
		return;
	instruction->target = registers->value[low] | (uint64_t)registers->value[low + 1] << 32;
	instruction->has_target = true;
	if (instruction->flow == SN_GPU_RETURN) /* a jump further than a branch reaches */
		instruction->flow = SN_GPU_BRANCH;
}

void sn_gcn_follow(struct sn_gcn_registers *registers, const uint8_t *bytes, enum sn_gcn_isa isa,
		   struct sn_gpu_instruction *instruction)
{
	uint32_t word, literal = 0;
	memcpy(&word, bytes, 4);
	if (instruction->length >= 8)
		memcpy(&literal, bytes + 4, 4);
	if (instruction->target_register != SN_GPU_NO_REGISTER)
		set_target(registers, instruction);
	uint32_t scalar = word >> 23 & 0x1ff;
	if (word >> 30 != 2)
		return;
	if (scalar == 0x17d)
		follow_sop1(registers, word, literal, isa, instruction);
	else if (scalar == 0x17e) /* compares set the carry bit */
		registers->has_carry = false;
	else if (scalar != 0x17f && word >> 28 != 0xb)
		follow_sop2(registers, word, literal);
	else if (word >> 28 == 0xb && scalar < 0x17d)
		forget_result(registers, word >> 16 & 0x7f);
}
