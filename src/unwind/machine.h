/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor-specific part of unwinding: registers by DWARF number, reading them from a signal's
 * context, the code of calls and signal returns. The rest of the unwinder only knows a stack
 * pointer, a frame pointer and a program counter. A further processor needs another machine_*.c and
 * another block below.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
enum {
	SN_REG_RAX,
	SN_REG_RDX,
	SN_REG_RCX,
	SN_REG_RBX,
	SN_REG_RSI,
	SN_REG_RDI,
	SN_REG_RBP,
	SN_REG_RSP,
	SN_REG_R8,
	SN_REG_R9,
	SN_REG_R10,
	SN_REG_R11,
	SN_REG_R12,
	SN_REG_R13,
	SN_REG_R14,
	SN_REG_R15,
	SN_REG_RIP,
	SN_REG_COUNT
};
#define SN_REG_SP	      SN_REG_RSP
#define SN_REG_FP	      SN_REG_RBP
#define SN_REG_PC	      SN_REG_RIP /* the return address's column */
/* A call leaves the return address in the word below the CFA. */
#define SN_RETURN_SLOT	      8u
/* Bytes below the stack pointer that a function may use without moving it. */
#define SN_RED_ZONE_BYTES     128u
#define SN_MACHINE_VDSO_CLOCK "__vdso_clock_gettime"
#else
#error "unwinding is written for x86-64; add this processor in machine.h and a machine_*.c"
#endif

#define SN_KNOWN(number) (1u << (number))
#define SN_KNOWN_ALL	 (SN_KNOWN(SN_REG_COUNT) - 1)
#define SN_KNOWN_WALK	 (SN_KNOWN(SN_REG_PC) | SN_KNOWN(SN_REG_SP) | SN_KNOWN(SN_REG_FP))

struct sn_registers {
	uintptr_t value[SN_REG_COUNT];
	uint32_t known; /* bit n: value[n] is this frame's */
};

/* The call-preserved registers, as bits. */
extern const uint32_t sn_machine_preserved;

void sn_machine_from_context(const ucontext_t *context, struct sn_registers *registers);

/* Code that is recognised by its bytes, because it may have no call frame information. */
enum sn_code {
	SN_CODE_OTHER,
	SN_CODE_SIGNAL_RETURN, /* where a signal handler returns to */
	SN_CODE_CONTEXT_START, /* where the function given to makecontext returns to: a first frame
				*/
};
#define SN_MACHINE_CODE_BYTES 16u
enum sn_code sn_machine_code(const unsigned char *code, size_t bytes);

/* True where compilers' tables fail to say that the frame pointer is restored: before the last
 * instructions of a function that realigned its stack. */
bool sn_machine_has_restored_fp(const unsigned char *code, size_t bytes);

/* True if the SN_CALL_BYTES bytes before `end` end with a call instruction. Stores a direct call's
 * displacement from the return address in *target, else 0. */
#define SN_CALL_BYTES 8u
bool sn_machine_ends_with_call(const unsigned char *end, int64_t *target);

/* The stage of a frame, by its next instruction, in code that keeps a frame pointer; it determines
 * where the return address is: at a function's entry and return, between its two first
 * instructions, or anywhere else. */
enum sn_frame_stage { SN_STAGE_BODY, SN_STAGE_ENTRY, SN_STAGE_PUSHED };
enum sn_frame_stage sn_machine_stage(const unsigned char *code, size_t bytes);

/* True at the begin of a function that keeps a frame pointer: only the return address is on the
 * stack. */
bool sn_machine_is_prologue(const unsigned char *code, size_t bytes);

#if defined(__x86_64__)
#define SN_MACHINE_SYSCALL_LENGTH 2u
/* The address after the interrupted thread's last system call, which the processor left in a
 * register, if no later instruction has changed that register. */
static inline uintptr_t sn_machine_syscall_end(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RCX];
}

/* Clears that register in `context`. */
static inline void sn_machine_forget_syscall(ucontext_t *context)
{
	context->uc_mcontext.gregs[REG_RCX] = 0;
}
#endif
/* How many bytes before a system call the instruction that loads its number may be. */
#define SN_MACHINE_SYSCALL_BYTES 32u
bool sn_machine_is_syscall(const unsigned char *code);
/* The number of the system call whose instruction ends at `end` and that has just returned to
 * `context`: a constant loaded just before, or in a register that still holds it; -1 if it cannot
 * be determined. Reads SN_MACHINE_SYSCALL_BYTES bytes before `end`. */
long sn_machine_syscall_number(const unsigned char *end, const ucontext_t *context);

/*
 * For the begin of a handler of the collector: clears the program's flag that makes unaligned
 * accesses fault (EFLAGS.AC), because compiled code has such accesses. Returns the flags for
 * sn_machine_flags_restore, before the program's code continues.
 */
#if defined(__x86_64__)
#define SN_ALIGNMENT_CHECK (1ull << 18)
static inline uint64_t sn_machine_flags_tame(void)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();
	if (__builtin_expect(flags & SN_ALIGNMENT_CHECK, 0))
		__builtin_ia32_writeeflags_u64(flags & ~SN_ALIGNMENT_CHECK);
	return flags;
}

static inline void sn_machine_flags_restore(uint64_t flags)
{
	if (__builtin_expect(flags & SN_ALIGNMENT_CHECK, 0))
		__builtin_ia32_writeeflags_u64(flags);
}
#endif

/* Captures the call-preserved registers, stack pointer and program counter at this place. */
#if defined(__x86_64__)
#define SN_MACHINE_CAPTURE(registers)                                                              \
	do {                                                                                       \
		__asm__ volatile("leaq 0(%%rip), %%rax\n\t"                                        \
				 "movq %%rax, 128(%0)\n\t"                                         \
				 "movq %%rbx, 24(%0)\n\t"                                          \
				 "movq %%rbp, 48(%0)\n\t"                                          \
				 "movq %%rsp, 56(%0)\n\t"                                          \
				 "movq %%r12, 96(%0)\n\t"                                          \
				 "movq %%r13, 104(%0)\n\t"                                         \
				 "movq %%r14, 112(%0)\n\t"                                         \
				 "movq %%r15, 120(%0)\n\t"                                         \
				 :                                                                 \
				 : "r"((registers)->value)                                         \
				 : "rax", "memory");                                               \
		(registers)->known = SN_KNOWN_WALK | sn_machine_preserved;                         \
	} while (0)
#endif
