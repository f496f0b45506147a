/* SPDX-License-Identifier: Apache-2.0 */
/* See operation.h. x86-64 by capstone's names and operands. */
#include "operation.h"

#include "structure/jump_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static const struct sn_operation nothing = {.kind = SN_OPERATION_NOTHING,
					    .base = SN_OPERATION_NO_REGISTER,
					    .index = SN_OPERATION_NO_REGISTER,
					    .stepped = SN_OPERATION_NO_REGISTER,
					    .shifted = SN_OPERATION_NO_REGISTER};

#ifdef SN_HAVE_CAPSTONE
#include "late_capstone.h"

struct sn_operation_decoder {
	csh handle;
	cs_insn *insn;
};

struct sn_operation_decoder *sn_operation_decoder_new(uint16_t machine)
{
	struct sn_operation_decoder *decoder;
	if (machine != EM_X86_64 || !sn_jump_table_is_available() ||
	    !(decoder = calloc(1, sizeof(*decoder))))
		return NULL;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &decoder->handle) != CS_ERR_OK) {
		free(decoder);
		return NULL;
	}
	cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
	decoder->insn = cs_malloc(decoder->handle);
	if (decoder->insn)
		return decoder;
	sn_operation_decoder_free(decoder);
	return NULL;
}

void sn_operation_decoder_free(struct sn_operation_decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->insn)
		cs_free(decoder->insn, 1);
	cs_close(&decoder->handle);
	free(decoder);
}

/* ---- registers ---- */

enum { VECTORS = 20, X87 = 52, MASKS = 53 };

static uint8_t register_of(unsigned reg)
{
	static const uint16_t names[16][5] = {
	    {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
	    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
	    {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
	    {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
	    {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
	    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
	    {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
	    {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
	    {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
	    {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
	    {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
	    {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
	    {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
	    {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
	    {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
	    {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
	};
	if (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM31)
		return (uint8_t)(VECTORS + reg - X86_REG_XMM0);
	if (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM31)
		return (uint8_t)(VECTORS + reg - X86_REG_YMM0);
	if (reg >= X86_REG_ZMM0 && reg <= X86_REG_ZMM31)
		return (uint8_t)(VECTORS + reg - X86_REG_ZMM0);
	if ((reg >= X86_REG_ST0 && reg <= X86_REG_ST7) ||
	    (reg >= X86_REG_FP0 && reg <= X86_REG_FP7))
		return X87;
	if (reg >= X86_REG_K0 && reg <= X86_REG_K7)
		return (uint8_t)(MASKS + reg - X86_REG_K0);
	if (reg == X86_REG_EFLAGS)
		return SN_OPERATION_FLAGS;
	for (uint8_t i = 0; i < 16; i++)
		for (unsigned j = 0; j < 5; j++)
			if (names[i][j] && names[i][j] == reg)
				return i;
	return SN_OPERATION_NO_REGISTER;
}

static uint64_t bit_of(unsigned reg)
{
	uint8_t number = register_of(reg);
	return number == SN_OPERATION_NO_REGISTER ? 0 : UINT64_C(1) << number;
}

enum { STACK_REGISTER = 4 };

static void take_registers(const struct sn_operation_decoder *decoder,
			   struct sn_operation *operation)
{
	cs_regs reads, writes;
	uint8_t read_count = 0, write_count = 0;
	if (cs_regs_access(decoder->handle, decoder->insn, reads, &read_count, writes,
			   &write_count) != CS_ERR_OK)
		return;
	for (uint8_t i = 0; i < read_count; i++)
		operation->reads |= bit_of(reads[i]);
	for (uint8_t i = 0; i < write_count; i++)
		operation->writes |= bit_of(writes[i]);
}

/* ---- memory ---- */

static void take_address(const cs_x86_op *op, struct sn_operation *operation)
{
	operation->base = register_of(op->mem.base);
	operation->index = register_of(op->mem.index);
	operation->scale = (uint8_t)op->mem.scale;
	operation->address |= bit_of(op->mem.base) | bit_of(op->mem.index);
	operation->is_stack =
	    operation->index == SN_OPERATION_NO_REGISTER &&
	    (operation->base == STACK_REGISTER || operation->base == SN_OPERATION_NO_REGISTER);
}

static bool is_one_of(unsigned id, const uint16_t *ids)
{
	while (*ids && *ids != id)
		ids++;
	return *ids != 0;
}

/* Instructions with an operand of memory that they do not touch. */
static const uint16_t untouched[] = {X86_INS_LEA,	  X86_INS_NOP,	      X86_INS_PREFETCH,
				     X86_INS_PREFETCHNTA, X86_INS_PREFETCHT0, X86_INS_PREFETCHT1,
				     X86_INS_PREFETCHT2,  X86_INS_PREFETCHW,  0};
/* Those that read their first operand only. */
static const uint16_t reading[] = {
    X86_INS_CMP, X86_INS_TEST, X86_INS_JMP,  X86_INS_CALL, X86_INS_PUSH,
    X86_INS_BT,	 X86_INS_DIV,  X86_INS_IDIV, X86_INS_MUL,  0};

static void take_memory(const cs_insn *insn, struct sn_operation *operation)
{
	const cs_x86 *x86 = &insn->detail->x86;
	for (uint8_t i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];
		if (op->type != X86_OP_MEM || is_one_of(insn->id, untouched))
			continue;
		bool is_written = op->access & CS_AC_WRITE, is_read = op->access & CS_AC_READ;
		if (!op->access) {
			is_written = i == 0 && !is_one_of(insn->id, reading);
			is_read = !is_written;
		}
		take_address(op, operation);
		operation->loads |= is_read;
		operation->stores |= is_written;
	}
	if (insn->id == X86_INS_PUSH || insn->id == X86_INS_POP || insn->id == X86_INS_LEAVE) {
		operation->is_stack |= !operation->loads;
		operation->stores |= insn->id == X86_INS_PUSH;
		operation->loads |= insn->id != X86_INS_PUSH;
	}
}

/* ---- kinds ---- */

/* By the first letters of a name, the first that fits. */
static const struct {
	const char *begin;
	uint8_t kind, latency, parts;
} names[] = {
    {"divs", SN_OPERATION_LONG, 12, 1},	      {"divp", SN_OPERATION_LONG, 12, 1},
    {"vdiv", SN_OPERATION_LONG, 13, 1},	      {"sqrt", SN_OPERATION_LONG, 15, 1},
    {"vsqrt", SN_OPERATION_LONG, 15, 1},      {"fdiv", SN_OPERATION_LONG, 15, 1},
    {"fidiv", SN_OPERATION_LONG, 15, 2},      {"fsqrt", SN_OPERATION_LONG, 20, 1},
    {"fsin", SN_OPERATION_LONG, 60, 50},      {"fcos", SN_OPERATION_LONG, 60, 50},
    {"fprem", SN_OPERATION_LONG, 25, 20},     {"div", SN_OPERATION_LONG, 15, 4},
    {"idiv", SN_OPERATION_LONG, 15, 4},	      {"cpuid", SN_OPERATION_LONG, 100, 30},
    {"rdtsc", SN_OPERATION_LONG, 25, 15},     {"rdrand", SN_OPERATION_LONG, 200, 16},
    {"xsave", SN_OPERATION_LONG, 60, 40},     {"xrstor", SN_OPERATION_LONG, 60, 40},
    {"pause", SN_OPERATION_WAIT, 60, 4},      {"mfence", SN_OPERATION_FENCE, 33, 3},
    {"lfence", SN_OPERATION_FENCE, 6, 2},     {"sfence", SN_OPERATION_FENCE, 6, 2},
    {"serialize", SN_OPERATION_FENCE, 40, 3}, {"mulx", SN_OPERATION_MULTIPLY, 4, 2},
    {"muls", SN_OPERATION_VECTOR, 4, 1},      {"mulp", SN_OPERATION_VECTOR, 4, 1},
    {"mul", SN_OPERATION_MULTIPLY, 3, 2},     {"imul", SN_OPERATION_MULTIPLY, 3, 1},
    {"crc32", SN_OPERATION_MULTIPLY, 3, 1},   {"popcnt", SN_OPERATION_MULTIPLY, 3, 1},
    {"bsf", SN_OPERATION_MULTIPLY, 3, 1},     {"bsr", SN_OPERATION_MULTIPLY, 3, 1},
    {"tzcnt", SN_OPERATION_MULTIPLY, 3, 1},   {"lzcnt", SN_OPERATION_MULTIPLY, 3, 1},
    {"pdep", SN_OPERATION_MULTIPLY, 3, 1},    {"pext", SN_OPERATION_MULTIPLY, 3, 1},
    {"adds", SN_OPERATION_VECTOR, 4, 1},      {"addp", SN_OPERATION_VECTOR, 4, 1},
    {"subs", SN_OPERATION_VECTOR, 4, 1},      {"subp", SN_OPERATION_VECTOR, 4, 1},
    {"cvt", SN_OPERATION_VECTOR, 6, 2},	      {"vcvt", SN_OPERATION_VECTOR, 6, 2},
    {"vmovmsk", SN_OPERATION_VECTOR, 3, 1},   {"pmovmsk", SN_OPERATION_VECTOR, 3, 1},
    {"vpmovmsk", SN_OPERATION_VECTOR, 3, 1},  {"pmul", SN_OPERATION_VECTOR, 5, 1},
    {"vpmul", SN_OPERATION_VECTOR, 5, 1},     {"vadd", SN_OPERATION_VECTOR, 4, 1},
    {"vsub", SN_OPERATION_VECTOR, 4, 1},      {"vmul", SN_OPERATION_VECTOR, 4, 1},
    {"vfm", SN_OPERATION_VECTOR, 4, 1},	      {"vfn", SN_OPERATION_VECTOR, 4, 1},
    {"fadd", SN_OPERATION_VECTOR, 3, 1},      {"fmul", SN_OPERATION_VECTOR, 4, 1},
    {"xchg", SN_OPERATION_SIMPLE, 2, 3},      {"cmpxchg", SN_OPERATION_SIMPLE, 5, 6},
    {"xadd", SN_OPERATION_SIMPLE, 2, 4},
};

static void take_kind(const cs_insn *insn, struct sn_operation *operation)
{
	operation->kind = SN_OPERATION_SIMPLE;
	operation->latency = operation->parts = 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(insn->mnemonic, names[i].begin, strlen(names[i].begin)) != 0)
			continue;
		operation->kind = names[i].kind;
		operation->latency = names[i].latency;
		operation->parts = names[i].parts;
		return;
	}
}

static void take_transfer(const cs_insn *insn, struct sn_operation *operation)
{
	bool is_known =
	    insn->detail->x86.op_count && insn->detail->x86.operands[0].type == X86_OP_IMM;
	if (insn->id == X86_INS_JMP)
		operation->kind = is_known ? SN_OPERATION_JUMP : SN_OPERATION_INDIRECT;
	else if (insn->id == X86_INS_CALL)
		operation->kind = SN_OPERATION_CALL;
	else if (insn->id == X86_INS_RET || insn->id == X86_INS_RETF)
		operation->kind = SN_OPERATION_RETURN;
	else if (insn->mnemonic[0] == 'j' || !strncmp(insn->mnemonic, "loop", 4))
		operation->kind = SN_OPERATION_BRANCH;
	else if (insn->id == X86_INS_NOP || insn->id == X86_INS_ENDBR64)
		operation->kind = SN_OPERATION_NOTHING;
}

static void take_prefix(const cs_insn *insn, struct sn_operation *operation)
{
	static const uint16_t strings[] = {
	    X86_INS_MOVSB, X86_INS_MOVSW, X86_INS_MOVSQ, X86_INS_STOSB, X86_INS_STOSW,
	    X86_INS_STOSD, X86_INS_STOSQ, X86_INS_SCASB, X86_INS_SCASW, X86_INS_SCASD,
	    X86_INS_SCASQ, X86_INS_CMPSB, X86_INS_CMPSW, X86_INS_CMPSQ, 0};
	uint8_t prefix = insn->detail->x86.prefix[0];
	bool is_memory = operation->loads || operation->stores;
	operation->is_atomic = prefix == X86_PREFIX_LOCK || (insn->id == X86_INS_XCHG && is_memory);
	if (operation->is_atomic) {
		operation->latency = 18;
		operation->loads = operation->stores = true;
	}
	if ((prefix == X86_PREFIX_REP || prefix == X86_PREFIX_REPNE) &&
	    is_one_of(insn->id, strings)) {
		operation->kind = SN_OPERATION_STRING;
		operation->latency = 30;
		operation->parts = 20;
	}
}

/* What only changes a register by a constant, and what shifts one. */
static void take_step(const cs_insn *insn, struct sn_operation *operation)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	if (!x86->op_count || to->type != X86_OP_REG)
		return;
	uint8_t reg = register_of(to->reg);
	bool is_constant = x86->op_count > 1 && from->type == X86_OP_IMM;
	switch (insn->id) {
	case X86_INS_ADD:
	case X86_INS_SUB:
		if (is_constant) {
			operation->stepped = reg;
			operation->step = insn->id == X86_INS_ADD ? from->imm : -from->imm;
		}
		break;
	case X86_INS_INC:
	case X86_INS_DEC:
		operation->stepped = reg;
		operation->step = insn->id == X86_INS_INC ? 1 : -1;
		break;
	case X86_INS_LEA:
		if (x86->op_count > 1 && from->mem.index == X86_REG_INVALID &&
		    register_of(from->mem.base) == reg) {
			operation->stepped = reg;
			operation->step = from->mem.disp;
		}
		break;
	case X86_INS_SHL:
		if (is_constant) {
			operation->shifted = reg;
			operation->step = from->imm;
		}
		break;
	}
}

/* A register with itself: xor, sub and the like, which need not wait for it. */
static void forget_zeroed(const cs_insn *insn, struct sn_operation *operation)
{
	static const uint16_t zeroing[] = {
	    X86_INS_XOR,   X86_INS_SUB,	   X86_INS_XORPS,   X86_INS_PXOR,
	    X86_INS_VPXOR, X86_INS_VXORPS, X86_INS_PCMPEQD, 0};
	const cs_x86 *x86 = &insn->detail->x86;
	if (!is_one_of(insn->id, zeroing) || x86->op_count < 2)
		return;
	const cs_x86_op *a = &x86->operands[x86->op_count - 2],
			*b = &x86->operands[x86->op_count - 1];
	if (a->type == X86_OP_REG && b->type == X86_OP_REG && a->reg == b->reg)
		operation->reads &= ~bit_of(a->reg);
}

bool sn_operation_decode(struct sn_operation_decoder *decoder, const uint8_t *code, size_t bytes,
			 uint64_t address, struct sn_operation *operation)
{
	*operation = nothing;
	if (!cs_disasm_iter(decoder->handle, &code, &bytes, &address, decoder->insn))
		return false;
	const cs_insn *insn = decoder->insn;
	take_registers(decoder, operation);
	take_memory(insn, operation);
	take_kind(insn, operation);
	take_transfer(insn, operation);
	take_prefix(insn, operation);
	take_step(insn, operation);
	forget_zeroed(insn, operation);
	return true;
}
#else
struct sn_operation_decoder *sn_operation_decoder_new(uint16_t machine)
{
	(void)machine;
	return NULL;
}

void sn_operation_decoder_free(struct sn_operation_decoder *decoder)
{
	(void)decoder;
}

bool sn_operation_decode(struct sn_operation_decoder *decoder, const uint8_t *code, size_t bytes,
			 uint64_t address, struct sn_operation *operation)
{
	(void)decoder;
	(void)code;
	(void)bytes;
	(void)address;
	*operation = nothing;
	return false;
}
#endif
