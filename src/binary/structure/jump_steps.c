/* SPDX-License-Identifier: Apache-2.0 */
/* From capstone's instructions to steps; see jump_table.h. */
#include "jump_table.h"

#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef SN_HAVE_CAPSTONE
#include "late_capstone.h"

static bool is_loaded;

struct sn_jump_decoder {
	csh handle;
	cs_insn *insn;
	uint16_t machine;
};

static struct sn_jump_decoder *make(uint16_t machine)
{
	bool is_arm = machine == EM_AARCH64;
	struct sn_jump_decoder *decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return NULL;
	decoder->machine = machine;
	if (cs_open(is_arm ? CS_ARCH_ARM64 : CS_ARCH_X86, is_arm ? CS_MODE_ARM : CS_MODE_64,
		    &decoder->handle) != CS_ERR_OK) {
		free(decoder);
		return NULL;
	}
	cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
	decoder->insn = cs_malloc(decoder->handle);
	if (!decoder->insn) {
		sn_jump_decoder_free(decoder);
		return NULL;
	}
	return decoder;
}

/* capstone (4.0.2, for one) sorts tables of its own when it first decodes, in whatever threads do,
 * and another one that looks into them meanwhile finds what it likes. So one does, alone. */
static void decode_first(void)
{
	static const uint8_t x86_add[] = {0x48, 0x01, 0xc8}, arm_add[] = {0x20, 0x00, 0x02, 0x8b};
	struct sn_jump_decoder *x86 = make(EM_X86_64), *arm = make(EM_AARCH64);
	struct sn_step step;
	if (x86)
		sn_jump_decoder_step(x86, x86_add, sizeof(x86_add), 0, &step);
	if (arm)
		sn_jump_decoder_step(arm, arm_add, sizeof(arm_add), 0, &step);
	sn_jump_decoder_free(x86);
	sn_jump_decoder_free(arm);
}

static void begin(void)
{
	is_loaded = sn_late_capstone_load();
	if (is_loaded)
		decode_first();
}

bool sn_jump_table_is_available(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, begin);
	return is_loaded;
}

struct sn_jump_decoder *sn_jump_decoder_new(uint16_t machine)
{
	return sn_jump_table_is_available() ? make(machine) : NULL;
}

void sn_jump_decoder_free(struct sn_jump_decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->insn)
		cs_free(decoder->insn, 1);
	cs_close(&decoder->handle);
	free(decoder);
}

/* ---- x86-64 ---- */

static uint8_t x86_register(unsigned reg)
{
	static const uint16_t names[16][4] = {
	    {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL},
	    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},
	    {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},
	    {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL},
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
	for (uint8_t i = 0; i < 16; i++)
		for (unsigned j = 0; j < 4; j++)
			if (names[i][j] == reg)
				return i;
	return SN_STEP_NO_REGISTER;
}

/* Takes the address of a memory operand in. False for what no table's address looks like. */
static bool x86_memory(const struct sn_jump_decoder *decoder, const cs_x86_op *op,
		       struct sn_step *step)
{
	const cs_insn *insn = decoder->insn;
	if (op->mem.segment != X86_REG_INVALID && op->mem.segment != X86_REG_DS)
		return false;
	step->addend = (uint64_t)op->mem.disp;
	if (op->mem.base == X86_REG_RIP)
		step->addend += insn->address + insn->size;
	else if (op->mem.base != X86_REG_INVALID)
		step->a = x86_register(op->mem.base);
	if (op->mem.index != X86_REG_INVALID && op->mem.index != X86_REG_RIZ)
		step->b = x86_register(op->mem.index);
	step->shift = op->mem.scale == 8 ? 3 : op->mem.scale == 4 ? 2 : op->mem.scale == 2 ? 1 : 0;
	return true;
}

/* dest = source, whatever that is; `is_signed` says how a short one is extended. */
static void x86_move(const struct sn_jump_decoder *decoder, const cs_x86 *x86, bool is_signed,
		     struct sn_step *step)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	if (to->type == X86_OP_MEM && from->type == X86_OP_REG && from->size == 8) {
		if (x86_memory(decoder, to, step)) {
			step->op = SN_STEP_STORE;
			step->dest = x86_register(from->reg);
		}
		return;
	}
	/* a short register keeps the rest of the long one */
	if (to->type != X86_OP_REG || to->size < 4)
		return;
	step->dest = x86_register(to->reg);
	step->is_signed = is_signed;
	step->size = from->size;
	if (from->type == X86_OP_IMM) {
		step->op = SN_STEP_SUM;
		step->addend = (uint64_t)from->imm;
	} else if (from->type == X86_OP_REG) {
		step->op = SN_STEP_SUM;
		step->b = x86_register(from->reg);
	} else if (x86_memory(decoder, from, step)) {
		step->op = SN_STEP_LOAD;
	}
}

static void x86_add(const cs_x86 *x86, struct sn_step *step)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	if (to->type != X86_OP_REG || to->size < 4)
		return;
	step->dest = step->a = x86_register(to->reg);
	if (from->type == X86_OP_IMM)
		step->addend = (uint64_t)from->imm;
	else if (from->type == X86_OP_REG)
		step->b = x86_register(from->reg);
	else
		return;
	step->op = SN_STEP_SUM;
}

static void x86_with_immediate(const cs_x86 *x86, unsigned id, struct sn_step *step)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	if (x86->op_count < 2 || from->type != X86_OP_IMM)
		return;
	if (to->type == X86_OP_REG)
		step->dest = x86_register(to->reg);
	step->addend = (uint64_t)from->imm;
	if (id == X86_INS_CMP) {
		step->op = SN_STEP_COMPARE;
	} else if (id == X86_INS_AND && to->type == X86_OP_REG) {
		step->op = SN_STEP_LIMIT;
	} else if (id == X86_INS_SHL && to->type == X86_OP_REG && from->imm < 8) {
		step->op = SN_STEP_SUM;
		step->b = step->dest;
		step->shift = (uint8_t)from->imm;
		step->addend = 0;
	}
}

static void x86_step(const struct sn_jump_decoder *decoder, struct sn_step *step)
{
	const cs_insn *insn = decoder->insn;
	const cs_x86 *x86 = &insn->detail->x86;
	switch (insn->id) {
	case X86_INS_LEA:
		step->dest = x86_register(x86->operands[0].reg);
		if (x86_memory(decoder, &x86->operands[1], step))
			step->op = SN_STEP_SUM;
		break;
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
		x86_move(decoder, x86, false, step);
		break;
	case X86_INS_MOVSXD:
	case X86_INS_MOVSX:
		x86_move(decoder, x86, true, step);
		break;
	case X86_INS_CDQE:
		*step = (struct sn_step){SN_STEP_SUM, step->writes, 0, SN_STEP_NO_REGISTER, 0, 0,
					 4,	      true,	    0};
		break;
	case X86_INS_ADD:
		x86_add(x86, step);
		break;
	case X86_INS_CMP:
	case X86_INS_AND:
	case X86_INS_SHL:
		x86_with_immediate(x86, insn->id, step);
		break;
	case X86_INS_JA:
	case X86_INS_JBE:
		step->op = SN_STEP_BRANCH_ABOVE;
		break;
	case X86_INS_JAE:
	case X86_INS_JB:
		step->op = SN_STEP_BRANCH_ABOVE_SAME;
		break;
	case X86_INS_CALL:
		step->op = SN_STEP_CALL;
		break;
	case X86_INS_JMP:
		step->size = 8;
		if (x86->operands[0].type == X86_OP_REG) {
			step->op = SN_STEP_SUM;
			step->a = x86_register(x86->operands[0].reg);
		} else if (x86->operands[0].type == X86_OP_MEM &&
			   x86_memory(decoder, &x86->operands[0], step)) {
			step->op = SN_STEP_LOAD;
		}
		break;
	}
}

/* ---- AArch64 ---- */

static uint8_t arm_register(unsigned reg)
{
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
		return (uint8_t)(reg - ARM64_REG_X0);
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
		return (uint8_t)(reg - ARM64_REG_W0);
	if (reg == ARM64_REG_X29 || reg == ARM64_REG_X30)
		return reg == ARM64_REG_X29 ? 29 : 30;
	return reg == ARM64_REG_SP ? 31 : SN_STEP_NO_REGISTER;
}

/* How the last register of an address or sum is extended and shifted. */
static void arm_extend(const cs_arm64_op *op, struct sn_step *step)
{
	static const struct {
		arm64_extender ext;
		uint8_t size;
		bool is_signed;
	} extenders[] = {{ARM64_EXT_UXTB, 1, false}, {ARM64_EXT_UXTH, 2, false},
			 {ARM64_EXT_UXTW, 4, false}, {ARM64_EXT_SXTB, 1, true},
			 {ARM64_EXT_SXTH, 2, true},  {ARM64_EXT_SXTW, 4, true}};
	for (size_t i = 0; i < sizeof(extenders) / sizeof(extenders[0]); i++) {
		if (extenders[i].ext != op->ext)
			continue;
		step->size = extenders[i].size;
		step->is_signed = extenders[i].is_signed;
	}
	if (op->shift.type == ARM64_SFT_LSL)
		step->shift = (uint8_t)op->shift.value;
}

static void arm_load(const cs_arm64 *arm, uint8_t size, bool is_signed, struct sn_step *step)
{
	const cs_arm64_op *to = &arm->operands[0], *from = &arm->operands[1];
	if (arm->op_count != 2 || from->type != ARM64_OP_MEM || arm->writeback)
		return;
	step->op = SN_STEP_LOAD;
	step->dest = arm_register(to->reg);
	step->a = arm_register(from->mem.base);
	step->addend = (uint64_t)(int64_t)from->mem.disp;
	if (from->mem.index != ARM64_REG_INVALID) {
		step->b = arm_register(from->mem.index);
		arm_extend(from, step);
	}
	step->size = size;
	step->is_signed = is_signed;
}

static void arm_sum(const cs_arm64 *arm, struct sn_step *step)
{
	if (arm->op_count != 3 || arm->operands[1].type != ARM64_OP_REG)
		return;
	const cs_arm64_op *last = &arm->operands[2];
	step->dest = arm_register(arm->operands[0].reg);
	step->a = arm_register(arm->operands[1].reg);
	if (last->type == ARM64_OP_IMM) {
		unsigned shift = last->shift.type == ARM64_SFT_LSL ? last->shift.value : 0;
		step->addend = (uint64_t)last->imm << (shift & 63);
	} else {
		step->b = arm_register(last->reg);
		arm_extend(last, step);
	}
	step->op = SN_STEP_SUM;
}

static void arm_move(const cs_arm64 *arm, struct sn_step *step)
{
	if (arm->op_count != 2)
		return;
	step->dest = arm_register(arm->operands[0].reg);
	if (arm->operands[1].type == ARM64_OP_IMM)
		step->addend = (uint64_t)arm->operands[1].imm;
	else if (arm->operands[1].type == ARM64_OP_REG)
		step->b = arm_register(arm->operands[1].reg);
	else
		return;
	step->op = SN_STEP_SUM;
}

static void arm_limit(const cs_arm64 *arm, struct sn_step *step)
{
	const cs_arm64_op *last = &arm->operands[arm->op_count > 0 ? arm->op_count - 1 : 0];
	if (last->type != ARM64_OP_IMM)
		return;
	step->dest = arm_register(arm->operands[0].reg);
	step->addend = (uint64_t)last->imm;
	step->op = SN_STEP_LIMIT;
}

static void arm_branch(const cs_arm64 *arm, struct sn_step *step)
{
	if (arm->cc == ARM64_CC_HI || arm->cc == ARM64_CC_LS)
		step->op = SN_STEP_BRANCH_ABOVE;
	else if (arm->cc == ARM64_CC_HS || arm->cc == ARM64_CC_LO)
		step->op = SN_STEP_BRANCH_ABOVE_SAME;
}

static void arm_step(const struct sn_jump_decoder *decoder, struct sn_step *step)
{
	const cs_insn *insn = decoder->insn;
	const cs_arm64 *arm = &insn->detail->arm64;
	bool is_wide =
	    arm->op_count > 0 && arm->operands[0].type == ARM64_OP_REG &&
	    !(arm->operands[0].reg >= ARM64_REG_W0 && arm->operands[0].reg <= ARM64_REG_W30);
	switch (insn->id) {
	case ARM64_INS_ADR:
	case ARM64_INS_ADRP:
	case ARM64_INS_MOV:
	case ARM64_INS_MOVZ:
		arm_move(arm, step);
		break;
	case ARM64_INS_ADD:
		arm_sum(arm, step);
		break;
	case ARM64_INS_LDR:
	case ARM64_INS_LDUR:
		arm_load(arm, is_wide ? 8 : 4, false, step);
		break;
	case ARM64_INS_LDRB:
		arm_load(arm, 1, false, step);
		break;
	case ARM64_INS_LDRH:
		arm_load(arm, 2, false, step);
		break;
	case ARM64_INS_LDRSB:
		arm_load(arm, 1, true, step);
		break;
	case ARM64_INS_LDRSH:
		arm_load(arm, 2, true, step);
		break;
	case ARM64_INS_LDRSW:
		arm_load(arm, 4, true, step);
		break;
	case ARM64_INS_STR:
		if (is_wide) {
			arm_load(arm, 8, false, step);
			step->op = step->op == SN_STEP_LOAD ? SN_STEP_STORE : SN_STEP_OTHER;
		}
		break;
	case ARM64_INS_AND:
		arm_limit(arm, step);
		break;
	case ARM64_INS_CMP:
		arm_limit(arm, step);
		step->op = step->op == SN_STEP_LIMIT ? SN_STEP_COMPARE : SN_STEP_OTHER;
		break;
	case ARM64_INS_B:
		arm_branch(arm, step);
		break;
	case ARM64_INS_BL:
	case ARM64_INS_BLR:
		step->op = SN_STEP_CALL;
		break;
	case ARM64_INS_BR:
		step->op = SN_STEP_SUM;
		step->a = arm_register(arm->operands[0].reg);
		break;
	}
}

/* ---- both ---- */

bool sn_jump_decoder_step(struct sn_jump_decoder *decoder, const uint8_t *bytes, size_t size,
			  uint64_t address, struct sn_step *step)
{
	cs_regs read, written;
	uint8_t read_count, written_count;
	bool is_arm = decoder->machine == EM_AARCH64;
	*step = (struct sn_step){.op = SN_STEP_OTHER,
				 .dest = SN_STEP_NO_REGISTER,
				 .a = SN_STEP_NO_REGISTER,
				 .b = SN_STEP_NO_REGISTER};
	if (!cs_disasm_iter(decoder->handle, &bytes, &size, &address, decoder->insn))
		return false;
	if (cs_regs_access(decoder->handle, decoder->insn, read, &read_count, written,
			   &written_count) != CS_ERR_OK)
		return false;
	for (unsigned i = 0; i < written_count; i++) {
		uint8_t reg = is_arm ? arm_register(written[i]) : x86_register(written[i]);
		if (reg != SN_STEP_NO_REGISTER)
			step->writes |= 1u << reg;
	}
	if (is_arm)
		arm_step(decoder, step);
	else
		x86_step(decoder, step);
	return true;
}

uint32_t sn_jump_decoder_call_writes(const struct sn_jump_decoder *decoder)
{
	/* rax, rcx, rdx, rsi, rdi, r8 to r11; x0 to x18 and x30 */
	return decoder->machine == EM_AARCH64 ? 0x4007ffff : 0x0fc7;
}

bool sn_jump_decoder_is_stack(const struct sn_jump_decoder *decoder, uint8_t reg)
{
	if (decoder->machine == EM_AARCH64)
		return reg == 31 || reg == 29;
	return reg == 4 || reg == 5;
}

#else

bool sn_jump_table_is_available(void)
{
	return false;
}

struct sn_jump_decoder *sn_jump_decoder_new(uint16_t machine)
{
	return NULL;
}

void sn_jump_decoder_free(struct sn_jump_decoder *decoder)
{
}

bool sn_jump_decoder_step(struct sn_jump_decoder *decoder, const uint8_t *bytes, size_t size,
			  uint64_t address, struct sn_step *step)
{
	return false;
}

uint32_t sn_jump_decoder_call_writes(const struct sn_jump_decoder *decoder)
{
	return 0;
}

bool sn_jump_decoder_is_stack(const struct sn_jump_decoder *decoder, uint8_t reg)
{
	return false;
}
#endif
