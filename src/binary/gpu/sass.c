/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control flow of NVIDIA SASS, compute capability 7.0 to 12.x.
 *
 * An instruction is 128 bits. Bits 0-8 say the operation, 9-11 the form of its operands, 12-15 the
 * predicate that guards it (7: always). Branches have a second predicate in bits 87-90, and in
 * their uniform form one in bits 24-27. Distances are counted from the next instruction.
 */
#include "instruction.h"

#include <string.h>

enum {
	OP_ENDCOLLECTIVE = 0x11b,
	OP_BSYNC = 0x141,
	OP_BREAK = 0x142,
	OP_CALL_ABSOLUTE = 0x143,
	OP_CALL_RELATIVE = 0x144,
	OP_BSSY = 0x145,
	OP_BRA = 0x147,
	OP_WARPSYNC = 0x148,
	OP_BRX = 0x149,
	OP_JMP = 0x14a,
	OP_JMX = 0x14c,
	OP_EXIT = 0x14d,
	OP_RTT = 0x14f,
	OP_RET = 0x150,
	OP_BRXU = 0x158,
	OP_JMXU = 0x159,
	OP_KILL = 0x15b,
	OP_MOV = 0x002,
};

enum { FORM_REGISTER = 1, FORM_UNIFORM = 2, FORM_IMMEDIATE = 4 };

#define ALWAYS 7u

static uint64_t bits(uint64_t low, uint64_t high, unsigned first, unsigned count)
{
	uint64_t mask = ((uint64_t)1 << count) - 1;
	if (first >= 64)
		return high >> (first - 64) & mask;
	uint64_t value = low >> first;
	if (first > 0 && first + count > 64)
		value |= high << (64 - first);
	return value & mask;
}

static uint64_t sign_extend(uint64_t value, unsigned count)
{
	uint64_t sign = (uint64_t)1 << (count - 1);
	return (value ^ sign) - sign;
}

/* From compute capability 9.0 on, eight more low bits came in where none were before. */
static uint64_t distance(uint64_t low, uint64_t high, uint32_t compute_capability)
{
	if (compute_capability < 90)
		return sign_extend(bits(low, high, 34, 48), 48) << 2;
	uint64_t above = sign_extend(bits(low, high, 34, 48), 48);
	return above << 10 | bits(low, high, 16, 8) << 2;
}

static void set_target(struct sn_gpu_instruction *instruction, uint64_t low, uint64_t high,
		       uint32_t compute_capability)
{
	instruction->target = instruction->address + 16 + distance(low, high, compute_capability);
	instruction->has_target = true;
}

/* BRA in all its kinds: by predicates, by a uniform predicate, where threads have diverged. */
static void decode_branch(struct sn_gpu_instruction *instruction, uint64_t low, uint64_t high,
			  unsigned form, uint32_t compute_capability)
{
	instruction->flow = SN_GPU_BRANCH;
	set_target(instruction, low, high, compute_capability);
	if (bits(low, high, 87, 4) != ALWAYS || bits(low, high, 33, 1))
		instruction->is_conditional = true;
	if (form == FORM_UNIFORM) {
		/* Bit 91 says that the second predicate is not looked at. */
		if (bits(low, high, 24, 4) != ALWAYS)
			instruction->is_conditional = true;
	}
}

/* The form that an immediate or a constant has: the target is known only by a relocation. */
static void decode_call(struct sn_gpu_instruction *instruction, uint64_t low, uint64_t high,
			unsigned operation, unsigned form, uint32_t compute_capability)
{
	instruction->flow = SN_GPU_CALL;
	if (form == FORM_REGISTER)
		instruction->target_register = (uint8_t)bits(low, high, 24, 8);
	else if (operation == OP_CALL_RELATIVE && form == FORM_IMMEDIATE)
		set_target(instruction, low, high, compute_capability);
}

static void decode_flow(struct sn_gpu_instruction *instruction, uint64_t low, uint64_t high,
			uint32_t compute_capability)
{
	unsigned operation = low & 0x1ff, form = low >> 9 & 7;
	switch (operation) {
	case OP_BRA:
		decode_branch(instruction, low, high, form, compute_capability);
		break;
	case OP_CALL_ABSOLUTE:
	case OP_CALL_RELATIVE:
		decode_call(instruction, low, high, operation, form, compute_capability);
		break;
	case OP_BSSY:
		instruction->flow = SN_GPU_MEET;
		set_target(instruction, low, high, compute_capability);
		break;
	case OP_BSYNC:
		instruction->flow = SN_GPU_BREAK;
		break;
	case OP_WARPSYNC:
		if (form == FORM_REGISTER && bits(low, high, 86, 1)) {
			/* .COLLECTIVE: the target is where all go on together */
			instruction->flow = SN_GPU_MEET;
			set_target(instruction, low, high, compute_capability);
		}
		break;
	case OP_BRX:
	case OP_BRXU:
	case OP_JMX:
	case OP_JMXU:
		instruction->flow = SN_GPU_INDIRECT;
		break;
	case OP_JMP:
		instruction->flow = SN_GPU_INDIRECT;
		break;
	case OP_RET:
	case OP_RTT:
		instruction->flow = SN_GPU_RETURN;
		break;
	case OP_EXIT:
	case OP_KILL:
		instruction->flow = SN_GPU_EXIT;
		break;
	case OP_MOV:
		instruction->written_register = (uint8_t)bits(low, high, 16, 8);
		break;
	default:
		break;
	}
}

void sn_sass_decode(const uint8_t bytes[16], uint32_t compute_capability, uint64_t address,
		    struct sn_gpu_instruction *instruction)
{
	uint64_t low, high;
	memcpy(&low, bytes, 8);
	memcpy(&high, bytes + 8, 8);
	*instruction = (struct sn_gpu_instruction){.address = address,
						   .length = 16,
						   .target_register = SN_GPU_NO_REGISTER,
						   .written_register = SN_GPU_NO_REGISTER};
	decode_flow(instruction, low, high, compute_capability);
	if (instruction->flow != SN_GPU_NEXT && bits(low, high, 12, 4) != ALWAYS)
		instruction->is_conditional = true;
}
