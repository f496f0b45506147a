/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from one frame to its caller with every register, without any cache. */
#include "step.h"

#include "module_list.h"
#include "format/measurement/measurement.h"

#include <stddef.h>
#include <stdatomic.h>
#include <string.h>

#define SCAN_WORDS	 64u
#define FRAME_BYTES_MAX	 (1u << 20)  /* of a frame found by its frame pointer on a foreign stack */
#define ENTRY_BYTES_MAX	 (64u << 10) /* from a function's start to a pc in it */
#define VERIFIED_ENTRIES 512u

/* ---- code ---- */

/* Only of files: a word that looks like an address may lead to memory that is not there until the
 * program itself provides it (userfaultfd(2)). */
enum sn_code sn_code_at(uintptr_t pc)
{
	unsigned char code[SN_MACHINE_CODE_BYTES];
	bool is_known = pc && sn_module_find(pc) != SN_MODULE_NONE;
	return sn_machine_code(code, is_known ? sn_memory_read(pc, code, sizeof(code)) : 0);
}

/*
 * True where a call instruction in known code ends at `pc`; *entry gets what it calls, 0 where that
 * is not in the instruction. Words that look like return addresses are many, so the module is asked
 * first.
 */
static bool follows_call(uintptr_t pc, uintptr_t *entry)
{
	unsigned char code[SN_CALL_BYTES];
	int64_t displacement;
	*entry = 0;
	if (sn_module_find(pc - 1) == SN_MODULE_NONE ||
	    sn_memory_read(pc - sizeof(code), code, sizeof(code)) != sizeof(code) ||
	    !sn_machine_ends_with_call(code + sizeof(code), &displacement))
		return false;
	*entry = displacement ? pc + (uintptr_t)displacement : 0;
	return true;
}

/* The same, remembering what was found true: it costs a system call. Unloading makes it forget. */
static bool is_return_address(uintptr_t pc)
{
	static _Atomic uintptr_t verified[VERIFIED_ENTRIES];
	uintptr_t entry, key = pc ^ (uintptr_t)sn_module_unloads() << 48;
	_Atomic uintptr_t *slot = &verified[(pc ^ pc >> 9) % VERIFIED_ENTRIES];
	if (!pc) /* would pass for what an empty slot holds */
		return false;
	if (atomic_load_explicit(slot, memory_order_relaxed) == key)
		return true;
	if (!follows_call(pc, &entry))
		return sn_module_find(pc) != SN_MODULE_NONE &&
		       sn_code_at(pc) == SN_CODE_SIGNAL_RETURN;
	atomic_store_explicit(slot, key, memory_order_relaxed);
	return true;
}

/* ---- without information ---- */

/* The kernel leaves struct ucontext where the handler's return takes the stack pointer. */
enum sn_step sn_step_signal(struct sn_unwind_cursor *cursor, struct sn_step_result *result)
{
	uintptr_t words[offsetof(ucontext_t, uc_mcontext) / 8 + sizeof(gregset_t) / 8];
	uintptr_t at = cursor->registers.value[SN_REG_SP];
	/* only the registers are wanted; the rest of ucontext_t is long */
	for (size_t index = offsetof(ucontext_t, uc_mcontext) / 8;
	     index < sizeof(words) / sizeof(*words); index++)
		if (!sn_stack_read(cursor->stack, at + 8 * index, &words[index]))
			return SN_STEP_LOST;
	sn_machine_from_context((const ucontext_t *)words, &cursor->registers);
	cursor->is_return = false;
	result->cfa = cursor->registers.value[SN_REG_SP];
	result->flags |= SN_NATIVE_SIGNAL;
	return SN_STEP_CALLER;
}

static void enter_caller(struct sn_unwind_cursor *cursor, struct sn_step_result *result,
			 uintptr_t cfa, uintptr_t pc)
{
	result->cfa = cfa;
	cursor->registers.value[SN_REG_PC] = pc;
	cursor->registers.value[SN_REG_SP] = cfa;
	cursor->is_return = true;
}

/* A function that has not yet pushed anything, or has popped all: the caller's address is on top.
 */
static bool is_on_top(struct sn_unwind_cursor *cursor, enum sn_frame_stage stage, uintptr_t word)
{
	uintptr_t pc = cursor->registers.value[SN_REG_PC], entry;
	if (!follows_call(word, &entry))
		return false;
	/* elsewhere it may be left over from a call made earlier, unless that call is to here */
	return stage == SN_STAGE_ENTRY || !entry || (entry <= pc && pc - entry < ENTRY_BYTES_MAX);
}

/*
 * A signal handler may have what it interrupted at `pc` seem to call a function, whose `code` is
 * where the thread is now: Go ends a goroutine's turn so.
 */
static bool is_put_before(uintptr_t pc, const unsigned char *code, size_t bytes)
{
	return sn_machine_is_prologue(code, bytes) && sn_module_find(pc) != SN_MODULE_NONE;
}

static bool step_from_interrupted(struct sn_unwind_cursor *cursor, struct sn_step_result *result)
{
	unsigned char code[8];
	uintptr_t sp = cursor->registers.value[SN_REG_SP], top, below;
	size_t bytes = sn_memory_read(cursor->registers.value[SN_REG_PC], code, sizeof(code));
	enum sn_frame_stage stage = sn_machine_stage(code, bytes);
	if (!sn_stack_read(cursor->stack, sp, &top))
		return false;
	if (stage == SN_STAGE_PUSHED && sn_stack_read(cursor->stack, sp + 8, &below) &&
	    is_return_address(below)) {
		cursor->registers.value[SN_REG_FP] = top;
		enter_caller(cursor, result, sp + 16, below);
		cursor->registers.known &= sn_machine_preserved | SN_KNOWN_WALK;
		return true;
	}
	/* the first instruction of a signal handler returns to the kernel's trampoline, not behind
	 * a call */
	bool is_called = sn_code_at(top) == SN_CODE_SIGNAL_RETURN || is_on_top(cursor, stage, top);
	if (!is_called && !is_put_before(top, code, bytes))
		return false;
	enter_caller(cursor, result, sp + 8, top);
	cursor->registers.known &= sn_machine_preserved | SN_KNOWN_WALK;
	cursor->is_return = is_called;
	return true;
}

static _Atomic bool other_stacks;

void sn_unwind_set_other_stacks(bool on)
{
	atomic_store_explicit(&other_stacks, on, memory_order_relaxed);
}

/* True where the frame pointer may be that of this frame, by where it points. */
static bool is_frame_pointer(const struct sn_unwind_cursor *cursor)
{
	uintptr_t sp = cursor->registers.value[SN_REG_SP], fp = cursor->registers.value[SN_REG_FP];
	if (!(cursor->registers.known & SN_KNOWN(SN_REG_FP)) || !fp || fp % 8)
		return false;
	if (sn_stack_is_own(cursor->stack, fp))
		return fp >= sp;
	return (fp >= sp && fp - sp <= FRAME_BYTES_MAX) ||
	       atomic_load_explicit(&other_stacks, memory_order_relaxed);
}

/* True where this frame's frame pointer leads to a saved one of 0: it has no caller, whatever its
 * return address (Go's is in the middle of a function made for the purpose). */
static bool is_last_by_frame_pointer(const struct sn_unwind_cursor *cursor)
{
	uintptr_t fp = cursor->registers.value[SN_REG_FP], pc, saved;
	if (!atomic_load_explicit(&other_stacks, memory_order_relaxed) ||
	    !is_frame_pointer(cursor) || !sn_stack_read(cursor->stack, fp, &saved) || saved ||
	    !sn_stack_read(cursor->stack, fp + 8, &pc))
		return false;
	uint32_t module = sn_module_find(pc);
	return module != SN_MODULE_NONE && (sn_module_at(module)->flags & SN_MODULE_MAIN);
}

/*
 * Java's interpreter pushes where to return to and jumps, so no call comes before that place. It is
 * believed where a chain of frame pointers leads to code that was made at run time.
 */
static bool continues_chain(uintptr_t fp, uintptr_t saved, uintptr_t pc)
{
	uint32_t module = sn_module_find(pc - 1);
	return saved > fp && saved - fp < FRAME_BYTES_MAX && saved % 8 == 0 &&
	       module != SN_MODULE_NONE && sn_module_at(module)->flags & SN_MODULE_ANONYMOUS;
}

static bool step_by_frame_pointer(struct sn_unwind_cursor *cursor, struct sn_step_result *result)
{
	uintptr_t fp = cursor->registers.value[SN_REG_FP], pc, saved;
	if (!is_frame_pointer(cursor))
		return false;
	if (!sn_stack_read(cursor->stack, fp, &saved) ||
	    !sn_stack_read(cursor->stack, fp + 8, &pc) ||
	    (!is_return_address(pc) && !continues_chain(fp, saved, pc)))
		return false;
	enter_caller(cursor, result, fp + 16, pc);
	cursor->registers.value[SN_REG_FP] = saved;
	cursor->registers.known = SN_KNOWN_WALK;
	result->caller_flags |= SN_NATIVE_FRAME_POINTER;
	return true;
}

static bool step_by_scan(struct sn_unwind_cursor *cursor, struct sn_step_result *result)
{
	uintptr_t sp = cursor->registers.value[SN_REG_SP], word;
	for (uint32_t index = 0; index < SCAN_WORDS; index++) {
		if (!sn_stack_read(cursor->stack, sp + 8 * index, &word))
			return false;
		if (!is_return_address(word))
			continue;
		enter_caller(cursor, result, sp + 8 * index + 8, word);
		cursor->registers.known &= SN_KNOWN_WALK;
		result->caller_flags |= SN_NATIVE_SCANNED;
		return true;
	}
	return false;
}

/* The ABI asks a thread's first frame to have the frame pointer 0. JIT code uses that register
 * freely. */
static bool is_first_frame(const struct sn_unwind_cursor *cursor)
{
	const struct sn_registers *registers = &cursor->registers;
	if (!cursor->is_return || !(registers->known & SN_KNOWN(SN_REG_FP)) ||
	    registers->value[SN_REG_FP])
		return false;
	uint32_t module = sn_module_find(registers->value[SN_REG_PC] - 1);
	return module != SN_MODULE_NONE && !(sn_module_at(module)->flags & SN_MODULE_ANONYMOUS);
}

enum sn_step sn_step_guess(struct sn_unwind_cursor *cursor, struct sn_step_result *result)
{
	result->cfa = cursor->registers.value[SN_REG_SP];
	enum sn_code code = sn_code_at(cursor->registers.value[SN_REG_PC]);
	if (code == SN_CODE_SIGNAL_RETURN)
		return sn_step_signal(cursor, result);
	if (code == SN_CODE_CONTEXT_START)
		return SN_STEP_END;
	if (!cursor->is_return && step_from_interrupted(cursor, result))
		return SN_STEP_CALLER;
	if (step_by_frame_pointer(cursor, result))
		return SN_STEP_CALLER;
	if (is_first_frame(cursor) || is_last_by_frame_pointer(cursor))
		return SN_STEP_END;
	return step_by_scan(cursor, result) ? SN_STEP_CALLER : SN_STEP_LOST;
}

enum sn_step sn_step(struct sn_unwind_cursor *cursor, struct sn_step_result *result)
{
	struct sn_cfi_row row;
	uintptr_t pc = cursor->registers.value[SN_REG_PC], inside = pc - cursor->is_return;
	*result = (struct sn_step_result){.cfa = cursor->registers.value[SN_REG_SP]};
	uint32_t module = sn_module_find_or_refresh(inside);
	if (module != SN_MODULE_NONE && !sn_row_find(sn_module_at(module), inside, &row)) {
		if (row.is_signal_frame && sn_code_at(pc) == SN_CODE_SIGNAL_RETURN)
			return sn_step_signal(cursor, result);
		return sn_step_by_row(cursor, &row, result);
	}
	return sn_step_guess(cursor, result);
}
