/* SPDX-License-Identifier: Apache-2.0 */
/* What unwinding needs to know of x86-64: registers, calls, signal returns, prologues. */
#include "machine.h"

#include <string.h>

_Static_assert(SN_REG_RIP * 8 == 128 && SN_REG_RBX * 8 == 24 && SN_REG_RBP * 8 == 48 &&
		   SN_REG_RSP * 8 == 56 && SN_REG_R12 * 8 == 96 && SN_REG_R15 * 8 == 120,
	       "the offsets in SN_MACHINE_CAPTURE");

const uint32_t sn_machine_preserved = SN_KNOWN(SN_REG_RBX) | SN_KNOWN(SN_REG_RBP) |
				      SN_KNOWN(SN_REG_R12) | SN_KNOWN(SN_REG_R13) |
				      SN_KNOWN(SN_REG_R14) | SN_KNOWN(SN_REG_R15);

void sn_machine_from_context(const ucontext_t *context, struct sn_registers *registers)
{
	static const uint8_t order[SN_REG_COUNT] = {
	    [SN_REG_RAX] = REG_RAX, [SN_REG_RDX] = REG_RDX, [SN_REG_RCX] = REG_RCX,
	    [SN_REG_RBX] = REG_RBX, [SN_REG_RSI] = REG_RSI, [SN_REG_RDI] = REG_RDI,
	    [SN_REG_RBP] = REG_RBP, [SN_REG_RSP] = REG_RSP, [SN_REG_R8] = REG_R8,
	    [SN_REG_R9] = REG_R9,   [SN_REG_R10] = REG_R10, [SN_REG_R11] = REG_R11,
	    [SN_REG_R12] = REG_R12, [SN_REG_R13] = REG_R13, [SN_REG_R14] = REG_R14,
	    [SN_REG_R15] = REG_R15, [SN_REG_RIP] = REG_RIP};
	for (uint32_t number = 0; number < SN_REG_COUNT; number++)
		registers->value[number] = (uintptr_t)context->uc_mcontext.gregs[order[number]];
	registers->known = SN_KNOWN_ALL;
}

enum sn_code sn_machine_code(const unsigned char *code, size_t bytes)
{
	/* mov $15, %rax; syscall */
	static const unsigned char signal_return[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	/* mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi */
	static const unsigned char context_start[] = {0x48, 0x89, 0xdc, 0x48, 0x8b,
						      0x3c, 0x24, 0x48, 0x85, 0xff};
	if (bytes >= sizeof(signal_return) && !memcmp(code, signal_return, sizeof(signal_return)))
		return SN_CODE_SIGNAL_RETURN;
	if (bytes >= sizeof(context_start) && !memcmp(code, context_start, sizeof(context_start)))
		return SN_CODE_CONTEXT_START;
	return SN_CODE_OTHER;
}

bool sn_machine_has_restored_fp(const unsigned char *code, size_t bytes)
{
	/* lea -8(%r10), %rsp or lea -8(%r13), %rsp, then ret */
	if (bytes >= 4 && code[0] == 0x49 && code[1] == 0x8d && code[3] == 0xf8)
		return code[2] == 0x62 || code[2] == 0x65;
	return bytes >= 1 && code[0] == 0xc3;
}

/* The bytes of a ModRM byte and of what follows it for an address. */
static unsigned modrm_bytes(const unsigned char *modrm)
{
	unsigned mode = modrm[0] >> 6, base = modrm[0] & 7;
	if (mode == 3)
		return 1;
	unsigned bytes = 1 + (base == 4);
	if (mode == 1)
		return bytes + 1;
	if (mode == 2 || base == 5 || (base == 4 && (modrm[1] & 7) == 5))
		return bytes + 4;
	return bytes;
}

/* The bytes that ff /2 takes with this ModRM byte and what follows it; 0 where it is not /2. */
static unsigned indirect_call_bytes(const unsigned char *modrm)
{
	return (modrm[0] >> 3 & 7) == 2 ? 1 + modrm_bytes(modrm) : 0;
}

bool sn_machine_ends_with_call(const unsigned char *end, int64_t *target)
{
	*target = 0;
	if (end[-5] == 0xe8) {
		int32_t displacement;
		memcpy(&displacement, end - 4, sizeof(displacement));
		*target = displacement;
		return true;
	}
	for (unsigned bytes = 2; bytes <= 7; bytes++)
		if (end[-(int)bytes] == 0xff && indirect_call_bytes(end - bytes + 1) == bytes)
			return true;
	return false;
}

/* mov %rsp, %rbp */
static bool sets_frame(const unsigned char *code, size_t bytes)
{
	static const unsigned char set_frame[2][3] = {{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}};
	return bytes >= 3 && (!memcmp(code, set_frame[0], 3) || !memcmp(code, set_frame[1], 3));
}

bool sn_machine_is_prologue(const unsigned char *code, size_t bytes)
{
	return bytes >= 4 && code[0] == 0x55 && sets_frame(code + 1, bytes - 1);
}

enum sn_frame_stage sn_machine_stage(const unsigned char *code, size_t bytes)
{
	static const unsigned char end_branch[] = {0xf3, 0x0f, 0x1e, 0xfa};
	if (bytes >= 4 && !memcmp(code, end_branch, 4))
		return SN_STAGE_ENTRY;
	if (bytes >= 1 && (code[0] == 0x55 || code[0] == 0xc3 || code[0] == 0xc2))
		return SN_STAGE_ENTRY; /* push %rbp, ret */
	if (bytes >= 2 && (code[0] == 0xf2 || code[0] == 0xf3) && code[1] == 0xc3)
		return SN_STAGE_ENTRY; /* bnd ret, rep ret */
	return sets_frame(code, bytes) ? SN_STAGE_PUSHED : SN_STAGE_BODY;
}

bool sn_machine_is_syscall(const unsigned char *code)
{
	return code[0] == 0x0f && code[1] == 0x05;
}

enum { RAX, RCX, R11 = 11, MEMORY = -1 }; /* registers as instructions number them */

/* An instruction by which compilers lay out arguments, and how long it is. */
struct instruction {
	unsigned bytes; /* 0: another one */
	int to, from;	/* registers; MEMORY as well for a constant and for arithmetic */
};

static struct instruction instruction_at(const unsigned char *code, const unsigned char *end)
{
	const struct instruction other = {0, MEMORY, MEMORY};
	unsigned prefix = (code[0] & 0xf0) == 0x40, high = prefix ? code[0] : 0;
	if (end - code < (int)prefix + 2)
		return other;
	unsigned char operation = code[prefix], modrm = code[prefix + 1];
	if ((operation & 0xf8) == 0xb8) /* mov of a constant */
		return (struct instruction){prefix + 1 + (high & 8 ? 8 : 4),
					    (operation & 7) | (int)(high & 1) << 3, MEMORY};
	unsigned bytes = prefix + 1 + modrm_bytes(code + prefix + 1);
	int reg = (modrm >> 3 & 7) | (int)(high & 4) << 1;
	int rm = modrm >> 6 == 3 ? (modrm & 7) | (int)(high & 1) << 3 : MEMORY;
	switch (operation) {
	case 0x8b: /* mov */
		return (struct instruction){bytes, reg, rm};
	case 0x8d: /* lea */
	case 0x63: /* movslq */
	case 0x33: /* xor */
		return (struct instruction){bytes, reg, MEMORY};
	case 0x89: /* mov */
		return (struct instruction){bytes, rm, reg};
	case 0x31: /* xor */
		return (struct instruction){bytes, rm, MEMORY};
	case 0xc7: /* mov of a constant */
		return (struct instruction){bytes + 4, rm, MEMORY};
	default:
		return other;
	}
}

/* True where nothing but arguments is laid out from `code` on, and neither rax nor that other
 * register is written. */
static bool only_arguments(const unsigned char *code, const unsigned char *end, int spared)
{
	while (code < end) {
		struct instruction it = instruction_at(code, end);
		if (!it.bytes || it.to == RAX || (it.to != MEMORY && it.to == spared))
			return false;
		code += it.bytes;
	}
	return code == end;
}

/* True where `code` may begin an instruction by itself: no prefix goes before that changes its
 * register. */
static bool has_no_prefix(const unsigned char *code)
{
	return (code[-1] & 0xf1) != 0x41;
}

/* What the registers hold by an instruction's number for them. */
static long value_of(const ucontext_t *context, int number)
{
	static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				      REG_RSI, REG_RDI, REG_R8,	 REG_R9,  REG_R10, REG_R11,
				      REG_R12, REG_R13, REG_R14, REG_R15};
	return (long)context->uc_mcontext.gregs[order[number]];
}

/* The number that the instruction at `at` loads; -1 where it loads none, or what follows is not
 * plain. A call leaves all registers but rax, rcx and r11 as they were. */
static long number_loaded_at(const unsigned char *at, const unsigned char *call,
			     const ucontext_t *context)
{
	struct instruction it = instruction_at(at, call);
	int32_t number;
	if (!it.bytes || it.to != RAX || at + it.bytes > call || !has_no_prefix(at))
		return -1;
	if (it.from != MEMORY) {
		bool is_kept = it.from != RAX && it.from != RCX && it.from != R11;
		return is_kept && only_arguments(at + it.bytes, call, it.from)
			   ? value_of(context, it.from)
			   : -1;
	}
	bool is_constant = at[0] == 0xb8 || (at[0] == 0x48 && at[1] == 0xc7);
	bool is_zero = at[0] == 0x31 && at[1] == 0xc0;
	if ((!is_constant && !is_zero) || !only_arguments(at + it.bytes, call, MEMORY))
		return -1;
	if (is_zero)
		return 0;
	memcpy(&number, at + it.bytes - sizeof(number), sizeof(number));
	return number;
}

long sn_machine_syscall_number(const unsigned char *end, const ucontext_t *context)
{
	const unsigned char *call = end - SN_MACHINE_SYSCALL_LENGTH;
	if (!sn_machine_is_syscall(call))
		return -1;
	for (const unsigned char *at = call - 2; at > end - SN_MACHINE_SYSCALL_BYTES; at--) {
		long number = number_loaded_at(at, call, context);
		if (number >= 0)
			return number;
	}
	return -1;
}
