/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds copies of the stack that perf recorded.
 *
 * The collector's unwinder reads a stack where it lies. So pointers into the recorded stack are
 * replaced by pointers into its copy, and the program counter by the address in the file's image;
 * the registers then look as if the program were stopped in this process.
 */
#include "perf_unwind.h"

#include "unwind/step_row.h"

#include <string.h>

/* DWARF numbers of registers, by the kernel's numbers (asm/perf_regs.h). */
static const uint8_t dwarf_numbers[] = {
    [0] = SN_REG_RAX,  [1] = SN_REG_RBX,  [2] = SN_REG_RCX,  [3] = SN_REG_RDX,	[4] = SN_REG_RSI,
    [5] = SN_REG_RDI,  [6] = SN_REG_RBP,  [7] = SN_REG_RSP,  [8] = SN_REG_RIP,	[16] = SN_REG_R8,
    [17] = SN_REG_R9,  [18] = SN_REG_R10, [19] = SN_REG_R11, [20] = SN_REG_R12, [21] = SN_REG_R13,
    [22] = SN_REG_R14, [23] = SN_REG_R15,
};
#define IS_KEPT(number) ((number) <= 8 || ((number) >= 16 && (number) <= 23))

#define ENTRY_BYTES_MAX (64u << 10) /* longest function that is searched for its start */

struct walk {
	struct sn_perf_space *space;
	uint32_t pid;
	struct sn_perf_moment when;
	uint64_t recorded, bytes; /* where the stack was, and how much was copied */
	uintptr_t copy;		  /* where the copy is */
	struct sn_stack stack;
	struct sn_unwind_cursor cursor;
};

static bool read_registers(const struct sn_perf_sample *sample, uint64_t mask,
			   struct sn_registers *registers)
{
	const unsigned char *at = sample->registers;
	registers->known = 0;
	for (unsigned number = 0; number < 64; number++) {
		if (!(mask >> number & 1))
			continue;
		if (number < sizeof(dwarf_numbers) && IS_KEPT(number)) {
			memcpy(&registers->value[dwarf_numbers[number]], at, 8);
			registers->known |= SN_KNOWN(dwarf_numbers[number]);
		}
		at += 8;
	}
	uint32_t needed = SN_KNOWN(SN_REG_PC) | SN_KNOWN(SN_REG_SP);
	return (registers->known & needed) == needed;
}

/* Replaces pointers into the recorded stack by pointers into its copy. */
static void move_to_copy(struct walk *walk)
{
	struct sn_registers *registers = &walk->cursor.registers;
	for (unsigned i = 0; i < SN_REG_COUNT; i++)
		if (i != SN_REG_PC && registers->known & SN_KNOWN(i) &&
		    registers->value[i] - walk->recorded <= walk->bytes)
			registers->value[i] += walk->copy - walk->recorded;
}

/* The image that holds an address, and the address in it; NULL if there is none. */
static const struct sn_module *find_image(struct walk *walk, uint64_t address, uintptr_t *place)
{
	const struct sn_perf_change *mapping =
	    sn_perf_space_mapping(walk->space, walk->pid, walk->when, address);
	struct sn_perf_object *object = mapping ? walk->space->objects + mapping->object : NULL;
	const struct sn_perf_image *image = object ? sn_perf_object_image(object) : NULL;
	if (!image)
		return NULL;
	*place = image->module.bias +
		 sn_elf_code_address(&object->code, address - mapping->start + mapping->offset);
	return &image->module;
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
	if (!sn_perf_space_mapping(walk->space, walk->pid, walk->when, pc - 1))
		return SN_STEP_LOST;
	registers->value[SN_REG_FP] = saved;
	registers->value[SN_REG_SP] = fp + 16;
	registers->value[SN_REG_PC] = pc;
	registers->known = SN_KNOWN_WALK;
	walk->cursor.is_return = true;
	return SN_STEP_CALLER;
}

static enum sn_step step(struct walk *walk)
{
	struct sn_registers *registers = &walk->cursor.registers;
	struct sn_step_result unused = {0};
	struct sn_cfi_row row;
	uintptr_t inside;
	const struct sn_module *module =
	    find_image(walk, registers->value[SN_REG_PC] - walk->cursor.is_return, &inside);
	if (!module || sn_row_find(module, inside, &row))
		return step_from_leaf(walk) ? SN_STEP_CALLER : step_by_frame_pointer(walk);
	registers->value[SN_REG_PC] = inside + walk->cursor.is_return;
	return sn_step_by_row(&walk->cursor, &row, &unused);
}

enum sn_perf_unwound sn_perf_unwind(struct sn_perf_space *space,
				    const struct sn_perf_sample *sample, uint64_t mask,
				    struct sn_perf_moment when, struct sn_perf_frame *frames,
				    size_t max, size_t *count)
{
	struct walk walk = {.space = space, .pid = sample->pid, .when = when};
	struct sn_registers *registers = &walk.cursor.registers;
	*count = 0;
	if (!sample->registers || !read_registers(sample, mask, registers))
		return SN_PERF_CUT;
	walk.recorded = registers->value[SN_REG_SP];
	walk.bytes = sample->stack.size;
	walk.copy = (uintptr_t)sample->stack.data;
	walk.stack = (struct sn_stack){walk.copy, walk.copy + walk.bytes, NULL};
	walk.cursor.stack = &walk.stack;
	move_to_copy(&walk);
	for (enum sn_step result = SN_STEP_CALLER; result == SN_STEP_CALLER;) {
		if (*count == max)
			return SN_PERF_TOO_DEEP;
		frames[(*count)++] =
		    (struct sn_perf_frame){registers->value[SN_REG_PC], walk.cursor.is_return};
		result = step(&walk);
		if (result == SN_STEP_LOST)
			return SN_PERF_CUT;
		move_to_copy(&walk);
		/* the outermost function, without unwind information, has a return address of 0 */
		if (result == SN_STEP_CALLER && !registers->value[SN_REG_PC])
			break;
	}
	return SN_PERF_WHOLE;
}
