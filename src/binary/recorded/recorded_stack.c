/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds copies of stacks.
 *
 * The collector's unwinder reads a stack where it lies. So pointers into the recorded stack are
 * replaced by pointers into its copy, and the program counter by the address in the file's image;
 * the registers then look as if the program were stopped in this process.
 */
#include "recorded_stack.h"

#include <string.h>

#define ENTRY_BYTES_MAX (64u << 10) /* longest function that is searched for its start */

struct walk {
	const struct sn_recorded_stack *recorded;
	uint64_t start; /* where the stack was */
	uintptr_t copy; /* where the copy is */
	struct sn_stack stack;
	struct sn_unwind_cursor cursor;
};

/* Replaces pointers into the recorded stack by pointers into its copy. */
static void move_to_copy(struct walk *walk)
{
	struct sn_registers *registers = &walk->cursor.registers;
	for (unsigned i = 0; i < SN_REG_COUNT; i++)
		if (i != SN_REG_PC && registers->known & SN_KNOWN(i) &&
		    registers->value[i] - walk->start <= walk->recorded->bytes)
			registers->value[i] += walk->copy - walk->start;
}

/* The image that holds an address, and the address in it; NULL if there is none. */
static const struct sn_module *find_image(struct walk *walk, uint64_t address, uintptr_t *place)
{
	const struct sn_module *module;
	bool is_code = walk->recorded->find(walk->recorded->context, address, &module, place);
	return is_code ? module : NULL;
}

/* Whether `address` is behind a call that may have led to `pc`: a direct call to just before pc,
 * or, if pc is at the start of a function, any call. */
static bool follows_call(struct walk *walk, uint64_t address, uint64_t pc)
{
	unsigned char before[SN_CALL_BYTES], code[SN_MACHINE_CODE_BYTES];
	uintptr_t place;
	int64_t displacement;
	if (!find_image(walk, address - 1, &place) ||
	    sn_memory_read(place + 1 - sizeof(before), before, sizeof(before)) != sizeof(before) ||
	    !sn_machine_ends_with_call(before + sizeof(before), &displacement))
		return false;
	if (displacement)
		return pc - (address + (uint64_t)displacement) < ENTRY_BYTES_MAX;
	return find_image(walk, pc, &place) &&
	       sn_machine_stage(code, sn_memory_read(place, code, sizeof(code))) == SN_STAGE_ENTRY;
}

/* Steps from a function that has called nothing and saved no frame pointer: the return address is
 * on top of the stack. */
static bool step_from_leaf(struct walk *walk)
{
	struct sn_registers *registers = &walk->cursor.registers;
	uintptr_t sp = registers->value[SN_REG_SP];
	if (walk->cursor.is_return || !sn_stack_is_own(&walk->stack, sp) ||
	    !follows_call(walk, sn_word_at(sp), registers->value[SN_REG_PC]))
		return false;
	registers->value[SN_REG_PC] = sn_word_at(sp);
	registers->value[SN_REG_SP] = sp + 8;
	registers->known &= sn_machine_preserved | SN_KNOWN_WALK;
	walk->cursor.is_return = true;
	return true;
}

/* Steps by the frame pointer: the caller's frame pointer and the return address are
 * where it points. */
static enum sn_step step_by_frame_pointer(struct walk *walk)
{
	struct sn_registers *registers = &walk->cursor.registers;
	uintptr_t fp = registers->value[SN_REG_FP], saved, pc;
	if (!(registers->known & SN_KNOWN(SN_REG_FP)) || fp < registers->value[SN_REG_SP] ||
	    !sn_stack_is_own(&walk->stack, fp) || !sn_stack_is_own(&walk->stack, fp + 8))
		return SN_STEP_LOST;
	saved = sn_word_at(fp);
	pc = sn_word_at(fp + 8);
	const struct sn_module *module;
	uintptr_t inside;
	if (!walk->recorded->find(walk->recorded->context, pc - 1, &module, &inside))
		return SN_STEP_LOST;
	registers->value[SN_REG_FP] = saved;
	registers->value[SN_REG_SP] = fp + 16;
	registers->value[SN_REG_PC] = pc;
	registers->known = SN_KNOWN_WALK;
	walk->cursor.is_return = true;
	return SN_STEP_CALLER;
}

/* As sn_row_find; *row points to the entry that is kept, or to `own`. */
static int find_row(struct walk *walk, const struct sn_module *module, uintptr_t inside,
		    struct sn_cfi_row *own, const struct sn_cfi_row **row)
{
	struct sn_recorded_rows *rows = walk->recorded->rows;
	*row = own;
	if (!rows)
		return sn_row_find(module, inside, own);
	size_t count = sizeof(rows->entries) / sizeof(*rows->entries);
	uint64_t hash = (inside ^ (uintptr_t)module) * UINT64_C(0x9fb21c651e98df25);
	struct sn_recorded_row *entry = &rows->entries[(hash >> 32) % count];
	if (entry->module != module || entry->inside != inside) {
		entry->module = module;
		entry->inside = inside;
		entry->found = sn_row_find(module, inside, &entry->row);
	}
	*row = &entry->row;
	return entry->found;
}

static enum sn_step step(struct walk *walk)
{
	struct sn_registers *registers = &walk->cursor.registers;
	struct sn_step_result unused = {0};
	struct sn_cfi_row own;
	const struct sn_cfi_row *row;
	uintptr_t inside;
	const struct sn_module *module =
	    find_image(walk, registers->value[SN_REG_PC] - walk->cursor.is_return, &inside);
	if (!module || find_row(walk, module, inside, &own, &row))
		return step_from_leaf(walk) ? SN_STEP_CALLER : step_by_frame_pointer(walk);
	registers->value[SN_REG_PC] = inside + walk->cursor.is_return;
	return sn_step_by_row(&walk->cursor, row, &unused);
}

enum sn_recorded_end sn_recorded_unwind(const struct sn_recorded_stack *stack,
					struct sn_recorded_frame *frames, size_t max, size_t *count)
{
	struct walk walk = {.recorded = stack, .copy = (uintptr_t)stack->copy};
	struct sn_registers *registers = &walk.cursor.registers;
	*registers = *stack->registers;
	walk.start = registers->value[SN_REG_SP];
	walk.stack = (struct sn_stack){walk.copy, walk.copy + stack->bytes, NULL};
	walk.cursor.stack = &walk.stack;
	move_to_copy(&walk);
	*count = 0;
	for (enum sn_step result = SN_STEP_CALLER; result == SN_STEP_CALLER;) {
		if (*count == max)
			return SN_RECORDED_TOO_DEEP;
		frames[(*count)++] =
		    (struct sn_recorded_frame){registers->value[SN_REG_PC], walk.cursor.is_return};
		result = step(&walk);
		if (result == SN_STEP_LOST)
			return SN_RECORDED_CUT;
		move_to_copy(&walk);
		/* the outermost function, without unwind information, has a return address of 0 */
		if (result == SN_STEP_CALLER && !registers->value[SN_REG_PC])
			break;
	}
	return SN_RECORDED_WHOLE;
}
