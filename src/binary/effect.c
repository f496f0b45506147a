/* SPDX-License-Identifier: Apache-2.0 */
/* See effect.h. x86-64 by capstone's names and operands. */
#include "effect.h"

#include "structure/jump_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static const struct sn_insn_effect nothing = {.kind = SN_EFFECT_NOTHING,
					      .base = SN_EFFECT_NO_REGISTER,
					      .index = SN_EFFECT_NO_REGISTER,
					      .stepped = SN_EFFECT_NO_REGISTER,
					      .shifted = SN_EFFECT_NO_REGISTER};

#ifdef SN_HAVE_CAPSTONE
#include "late_capstone.h"

struct sn_effect_decoder {
	csh handle;
	cs_insn *insn;
};

struct sn_effect_decoder *sn_effect_decoder_new(uint16_t machine)
{
	struct sn_effect_decoder *decoder;
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
	sn_effect_decoder_free(decoder);
	return NULL;
}

void sn_effect_decoder_free(struct sn_effect_decoder *decoder)
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
		return SN_EFFECT_FLAGS;
	for (uint8_t i = 0; i < 16; i++)
		for (unsigned j = 0; j < 5; j++)
			if (names[i][j] && names[i][j] == reg)
				return i;
	return SN_EFFECT_NO_REGISTER;
}

static uint64_t bit_of(unsigned reg)
{
	uint8_t number = register_of(reg);
	return number == SN_EFFECT_NO_REGISTER ? 0 : UINT64_C(1) << number;
}

enum { STACK_REGISTER = 4 };

static void take_registers(const struct sn_effect_decoder *decoder, struct sn_insn_effect *effect)
{
	cs_regs reads, writes;
	uint8_t read_count = 0, write_count = 0;
	if (cs_regs_access(decoder->handle, decoder->insn, reads, &read_count, writes,
			   &write_count) != CS_ERR_OK)
		return;
	for (uint8_t i = 0; i < read_count; i++)
		effect->reads |= bit_of(reads[i]);
	for (uint8_t i = 0; i < write_count; i++)
		effect->writes |= bit_of(writes[i]);
}

/* ---- memory ---- */

static void take_address(const cs_x86_op *op, struct sn_insn_effect *effect)
{
	effect->base = register_of(op->mem.base);
	effect->index = register_of(op->mem.index);
	effect->scale = (uint8_t)op->mem.scale;
	effect->address |= bit_of(op->mem.base) | bit_of(op->mem.index);
	effect->is_stack =
	    effect->index == SN_EFFECT_NO_REGISTER &&
	    (effect->base == STACK_REGISTER || effect->base == SN_EFFECT_NO_REGISTER);
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

static void take_memory(const cs_insn *insn, struct sn_insn_effect *effect)
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
		take_address(op, effect);
		effect->loads |= is_read;
		effect->stores |= is_written;
	}
	if (insn->id == X86_INS_PUSH || insn->id == X86_INS_POP || insn->id == X86_INS_LEAVE) {
		effect->is_stack |= !effect->loads;
		effect->stores |= insn->id == X86_INS_PUSH;
		effect->loads |= insn->id != X86_INS_PUSH;
	}
}

/* ---- kinds ---- */

/* By the first letters of a name, the first that fits. */
static const struct {
	const char *begin;
	uint8_t kind, latency, parts;
} names[] = {
    {"divs", SN_EFFECT_LONG, 12, 1},	   {"divp", SN_EFFECT_LONG, 12, 1},
    {"vdiv", SN_EFFECT_LONG, 13, 1},	   {"sqrt", SN_EFFECT_LONG, 15, 1},
    {"vsqrt", SN_EFFECT_LONG, 15, 1},	   {"fdiv", SN_EFFECT_LONG, 15, 1},
    {"fidiv", SN_EFFECT_LONG, 15, 2},	   {"fsqrt", SN_EFFECT_LONG, 20, 1},
    {"fsin", SN_EFFECT_LONG, 60, 50},	   {"fcos", SN_EFFECT_LONG, 60, 50},
    {"fprem", SN_EFFECT_LONG, 25, 20},	   {"div", SN_EFFECT_LONG, 15, 4},
    {"idiv", SN_EFFECT_LONG, 15, 4},	   {"cpuid", SN_EFFECT_LONG, 100, 30},
    {"rdtsc", SN_EFFECT_LONG, 25, 15},	   {"rdrand", SN_EFFECT_LONG, 200, 16},
    {"xsave", SN_EFFECT_LONG, 60, 40},	   {"xrstor", SN_EFFECT_LONG, 60, 40},
    {"pause", SN_EFFECT_WAIT, 60, 4},	   {"mfence", SN_EFFECT_FENCE, 33, 3},
    {"lfence", SN_EFFECT_FENCE, 6, 2},	   {"sfence", SN_EFFECT_FENCE, 6, 2},
    {"serialize", SN_EFFECT_FENCE, 40, 3}, {"mulx", SN_EFFECT_MULTIPLY, 4, 2},
    {"muls", SN_EFFECT_VECTOR, 4, 1},	   {"mulp", SN_EFFECT_VECTOR, 4, 1},
    {"mul", SN_EFFECT_MULTIPLY, 3, 2},	   {"imul", SN_EFFECT_MULTIPLY, 3, 1},
    {"crc32", SN_EFFECT_MULTIPLY, 3, 1},   {"popcnt", SN_EFFECT_MULTIPLY, 3, 1},
    {"bsf", SN_EFFECT_MULTIPLY, 3, 1},	   {"bsr", SN_EFFECT_MULTIPLY, 3, 1},
    {"tzcnt", SN_EFFECT_MULTIPLY, 3, 1},   {"lzcnt", SN_EFFECT_MULTIPLY, 3, 1},
    {"pdep", SN_EFFECT_MULTIPLY, 3, 1},	   {"pext", SN_EFFECT_MULTIPLY, 3, 1},
    {"adds", SN_EFFECT_VECTOR, 4, 1},	   {"addp", SN_EFFECT_VECTOR, 4, 1},
    {"subs", SN_EFFECT_VECTOR, 4, 1},	   {"subp", SN_EFFECT_VECTOR, 4, 1},
    {"cvt", SN_EFFECT_VECTOR, 6, 2},	   {"vcvt", SN_EFFECT_VECTOR, 6, 2},
    {"vmovmsk", SN_EFFECT_VECTOR, 3, 1},   {"pmovmsk", SN_EFFECT_VECTOR, 3, 1},
    {"vpmovmsk", SN_EFFECT_VECTOR, 3, 1},  {"pmul", SN_EFFECT_VECTOR, 5, 1},
    {"vpmul", SN_EFFECT_VECTOR, 5, 1},	   {"vadd", SN_EFFECT_VECTOR, 4, 1},
    {"vsub", SN_EFFECT_VECTOR, 4, 1},	   {"vmul", SN_EFFECT_VECTOR, 4, 1},
    {"vfm", SN_EFFECT_VECTOR, 4, 1},	   {"vfn", SN_EFFECT_VECTOR, 4, 1},
    {"fadd", SN_EFFECT_VECTOR, 3, 1},	   {"fmul", SN_EFFECT_VECTOR, 4, 1},
    {"xchg", SN_EFFECT_SIMPLE, 2, 3},	   {"cmpxchg", SN_EFFECT_SIMPLE, 5, 6},
    {"xadd", SN_EFFECT_SIMPLE, 2, 4},
};

static void take_kind(const cs_insn *insn, struct sn_insn_effect *effect)
{
	effect->kind = SN_EFFECT_SIMPLE;
	effect->latency = effect->parts = 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(insn->mnemonic, names[i].begin, strlen(names[i].begin)) != 0)
			continue;
		effect->kind = names[i].kind;
		effect->latency = names[i].latency;
		effect->parts = names[i].parts;
		return;
	}
}

static void take_transfer(const cs_insn *insn, struct sn_insn_effect *effect)
{
	bool is_known =
	    insn->detail->x86.op_count && insn->detail->x86.operands[0].type == X86_OP_IMM;
	if (insn->id == X86_INS_JMP)
		effect->kind = is_known ? SN_EFFECT_JUMP : SN_EFFECT_INDIRECT;
	else if (insn->id == X86_INS_CALL)
		effect->kind = SN_EFFECT_CALL;
	else if (insn->id == X86_INS_RET || insn->id == X86_INS_RETF)
		effect->kind = SN_EFFECT_RETURN;
	else if (insn->mnemonic[0] == 'j' || !strncmp(insn->mnemonic, "loop", 4))
		effect->kind = SN_EFFECT_BRANCH;
	else if (insn->id == X86_INS_NOP || insn->id == X86_INS_ENDBR64)
		effect->kind = SN_EFFECT_NOTHING;
}

static void take_prefix(const cs_insn *insn, struct sn_insn_effect *effect)
{
	static const uint16_t strings[] = {
	    X86_INS_MOVSB, X86_INS_MOVSW, X86_INS_MOVSQ, X86_INS_STOSB, X86_INS_STOSW,
	    X86_INS_STOSD, X86_INS_STOSQ, X86_INS_SCASB, X86_INS_SCASW, X86_INS_SCASD,
	    X86_INS_SCASQ, X86_INS_CMPSB, X86_INS_CMPSW, X86_INS_CMPSQ, 0};
	uint8_t prefix = insn->detail->x86.prefix[0];
	bool is_memory = effect->loads || effect->stores;
	effect->is_atomic = prefix == X86_PREFIX_LOCK || (insn->id == X86_INS_XCHG && is_memory);
	if (effect->is_atomic) {
		effect->latency = 18;
		effect->loads = effect->stores = true;
	}
	if ((prefix == X86_PREFIX_REP || prefix == X86_PREFIX_REPNE) &&
	    is_one_of(insn->id, strings)) {
		effect->kind = SN_EFFECT_STRING;
		effect->latency = 30;
		effect->parts = 20;
	}
}

/* What only changes a register by a constant, and what shifts one. */
static void take_step(const cs_insn *insn, struct sn_insn_effect *effect)
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
			effect->stepped = reg;
			effect->step = insn->id == X86_INS_ADD ? from->imm : -from->imm;
		}
		break;
	case X86_INS_INC:
	case X86_INS_DEC:
		effect->stepped = reg;
		effect->step = insn->id == X86_INS_INC ? 1 : -1;
		break;
	case X86_INS_LEA:
		if (x86->op_count > 1 && from->mem.index == X86_REG_INVALID &&
		    register_of(from->mem.base) == reg) {
			effect->stepped = reg;
			effect->step = from->mem.disp;
		}
		break;
	case X86_INS_SHL:
		if (is_constant) {
			effect->shifted = reg;
			effect->step = from->imm;
		}
		break;
	}
}

/* A register with itself: xor, sub and the like, which need not wait for it. */
static void forget_zeroed(const cs_insn *insn, struct sn_insn_effect *effect)
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
		effect->reads &= ~bit_of(a->reg);
}

bool sn_effect_decode(struct sn_effect_decoder *decoder, const uint8_t *code, size_t bytes,
		      uint64_t address, struct sn_insn_effect *effect)
{
	*effect = nothing;
	if (!cs_disasm_iter(decoder->handle, &code, &bytes, &address, decoder->insn))
		return false;
	const cs_insn *insn = decoder->insn;
	take_registers(decoder, effect);
	take_memory(insn, effect);
	take_kind(insn, effect);
	take_transfer(insn, effect);
	take_prefix(insn, effect);
	take_step(insn, effect);
	forget_zeroed(insn, effect);
	return true;
}
#else
struct sn_effect_decoder *sn_effect_decoder_new(uint16_t machine)
{
	(void)machine;
	return NULL;
}

void sn_effect_decoder_free(struct sn_effect_decoder *decoder)
{
	(void)decoder;
}

bool sn_effect_decode(struct sn_effect_decoder *decoder, const uint8_t *code, size_t bytes,
		      uint64_t address, struct sn_insn_effect *effect)
{
	(void)decoder;
	(void)code;
	(void)bytes;
	(void)address;
	*effect = nothing;
	return false;
}
#endif
