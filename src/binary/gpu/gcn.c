/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths and control flow of AMD's instruction sets: GCN 5 and CDNA (gfx9), RDNA 1 to 4 (gfx10,
 * gfx11, gfx12).
 *
 * The highest bits of the first word say the encoding, and with it 4, 8 or 12 bytes. One more word
 * follows where an operand is a literal constant, where the first source stands for a DPP or SDWA
 * word, and after the few opcodes that always carry a constant.
 */
#include "instruction.h"

#include <string.h>

enum {
	SOURCE_LITERAL = 255,
	SOURCE_DPP = 250,
	SOURCE_SDWA = 249, /* gfx9, gfx10 */
	SOURCE_DPP8 = 233, /* gfx10 on, and 234 */
	SOURCE_DPP8_FI = 234,
};

static bool is_extra_word(uint32_t source, enum sn_gcn_isa isa)
{
	switch (source) {
	case SOURCE_LITERAL:
	case SOURCE_DPP:
		return true;
	case SOURCE_SDWA:
		return isa <= SN_GCN_10;
	case SOURCE_DPP8:
	case SOURCE_DPP8_FI:
		return isa >= SN_GCN_10;
	default:
		return false;
	}
}

/* Opcodes of VOP2 that carry a constant: v_madmk, v_madak, v_fmamk, v_fmaak. */
static bool vop2_has_constant(uint32_t opcode, enum sn_gcn_isa isa)
{
	switch (isa) {
	case SN_GCN_9:
		/* 23, 24 also are v_fmamk_f32, v_fmaak_f32 of gfx940 */
		return opcode == 23 || opcode == 24 || opcode == 36 || opcode == 37;
	case SN_GCN_10:
		return opcode == 32 || opcode == 33 || opcode == 44 || opcode == 45 ||
		       opcode == 55 || opcode == 56;
	default:
		return opcode == 44 || opcode == 45 || opcode == 55 || opcode == 56;
	}
}

/* VOP1, VOP2, VOPC. */
static unsigned vop_length(uint32_t word, enum sn_gcn_isa isa)
{
	if (is_extra_word(word & 0x1ff, isa))
		return 8;
	return vop2_has_constant(word >> 25 & 0x3f, isa) ? 8 : 4;
}

static bool is_setreg_constant(uint32_t opcode, enum sn_gcn_isa isa)
{
	switch (isa) {
	case SN_GCN_9:
		return opcode == 20;
	case SN_GCN_10:
		return opcode == 21;
	default:
		return opcode == 19;
	}
}

/* SOP1, SOP2, SOPC, SOPK, SOPP. */
static unsigned scalar_length(uint32_t word, enum sn_gcn_isa isa)
{
	uint32_t source0 = word & 0xff, source1 = word >> 8 & 0xff;
	if ((word >> 23 & 0x1ff) == 0x17f) /* SOPP */
		return 4;
	if ((word >> 23 & 0x1ff) == 0x17d) /* SOP1 */
		return source0 == SOURCE_LITERAL ? 8 : 4;
	if ((word >> 23 & 0x1ff) == 0x17e) /* SOPC */
		return source0 == SOURCE_LITERAL || source1 == SOURCE_LITERAL ? 8 : 4;
	if (word >> 28 == 0xb) /* SOPK */
		return is_setreg_constant(word >> 23 & 0x1f, isa) ? 8 : 4;
	uint32_t opcode = word >> 23 & 0x7f; /* SOP2; 69, 70: s_fmaak_f32, s_fmamk_f32 */
	if (isa >= SN_GCN_11 && (opcode == 69 || opcode == 70))
		return 8;
	return source0 == SOURCE_LITERAL || source1 == SOURCE_LITERAL ? 8 : 4;
}

/* VOP3, VOP3P: three sources in the second word, any of which may be a literal, from gfx10 on; the
 * first may be a DPP word from gfx11 on. */
static unsigned vop3_length(const uint32_t words[2], enum sn_gcn_isa isa)
{
	if (isa == SN_GCN_9)
		return 8;
	uint32_t source0 = words[1] & 0x1ff;
	if (source0 == SOURCE_LITERAL || (words[1] >> 9 & 0x1ff) == SOURCE_LITERAL ||
	    (words[1] >> 18 & 0x1ff) == SOURCE_LITERAL)
		return 12;
	return isa >= SN_GCN_11 && is_extra_word(source0, isa) ? 12 : 8;
}

/* Two operations in one: X in the first word, Y's destination and second source in the second. */
static unsigned vopd_length(const uint32_t words[2])
{
	uint32_t x = words[0] >> 22 & 0xf, y = words[0] >> 17 & 0x1f;
	bool has_constant = x == 1 || x == 2 || y == 1 || y == 2; /* v_dual_fmaak, _fmamk */
	if (has_constant || (words[0] & 0x1ff) == SOURCE_LITERAL ||
	    (words[1] & 0x1ff) == SOURCE_LITERAL)
		return 12;
	return 8;
}

static unsigned gfx9_length(const uint32_t words[2])
{
	switch (words[0] >> 26) {
	case 0x35: /* VINTRP */
		return 4;
	case 0x30: /* SMEM */
	case 0x31: /* EXP */
	case 0x34: /* VOP3, VOP3P */
	case 0x36: /* DS */
	case 0x37: /* FLAT */
	case 0x38: /* MUBUF */
	case 0x3a: /* MTBUF */
	case 0x3c: /* MIMG */
		return 8;
	default:
		return 0;
	}
}

static unsigned gfx10_length(const uint32_t words[2])
{
	switch (words[0] >> 26) {
	case 0x32: /* VINTRP */
		return 4;
	case 0x33: /* VOP3P */
	case 0x35: /* VOP3 */
		return vop3_length(words, SN_GCN_10);
	case 0x3c: /* MIMG, with up to three words of addresses */
		return 8 + 4 * (words[0] >> 1 & 3);
	case 0x36: /* DS */
	case 0x37: /* FLAT */
	case 0x38: /* MUBUF */
	case 0x3a: /* MTBUF */
	case 0x3d: /* SMEM */
	case 0x3e: /* EXP */
		return 8;
	default:
		return 0;
	}
}

/* What gfx11 and gfx12 share. */
static unsigned rdna3_length(const uint32_t words[2], enum sn_gcn_isa isa)
{
	switch (words[0] >> 26) {
	case 0x32: /* VOPD */
		return vopd_length(words);
	case 0x33:
		switch (words[0] >> 24) {
		case 0xcc: /* VOP3P */
			return vop3_length(words, isa);
		case 0xcd: /* VINTERP */
			return 8;
		case 0xce: /* LDSDIR, VDSDIR */
			return 4;
		default:
			return 0;
		}
	case 0x35: /* VOP3 */
		return vop3_length(words, isa);
	case 0x36: /* DS */
	case 0x3d: /* SMEM */
	case 0x3e: /* EXP */
		return 8;
	default:
		return 0;
	}
}

static unsigned gfx11_length(const uint32_t words[2])
{
	switch (words[0] >> 26) {
	case 0x37: /* FLAT */
	case 0x38: /* MUBUF */
	case 0x3a: /* MTBUF */
		return 8;
	case 0x3c: /* MIMG, with a word of addresses or without */
		return words[0] & 1 ? 12 : 8;
	default:
		return rdna3_length(words, SN_GCN_11);
	}
}

static unsigned gfx12_length(const uint32_t words[2])
{
	switch (words[0] >> 26) {
	case 0x31: /* VBUFFER */
	case 0x34: /* VIMAGE */
	case 0x39: /* VSAMPLE */
	case 0x3b: /* VFLAT, VGLOBAL, VSCRATCH */
		return 12;
	default:
		return rdna3_length(words, SN_GCN_12);
	}
}

/* 0 where no encoding begins so. */
static unsigned length_of(const uint32_t words[2], enum sn_gcn_isa isa)
{
	if (!(words[0] >> 31))
		return vop_length(words[0], isa);
	if (words[0] >> 30 == 2)
		return scalar_length(words[0], isa);
	switch (isa) {
	case SN_GCN_9:
		return gfx9_length(words);
	case SN_GCN_10:
		return gfx10_length(words);
	case SN_GCN_11:
		return gfx11_length(words);
	default:
		return gfx12_length(words);
	}
}

static void branch(struct sn_gpu_instruction *instruction, uint32_t word, bool is_conditional)
{
	instruction->flow = SN_GPU_BRANCH;
	instruction->has_target = true;
	instruction->target =
	    instruction->address + 4 + (uint64_t)((int64_t)(int16_t)(word & 0xffff) * 4);
	instruction->is_conditional = is_conditional;
}

/* gfx9 and gfx10. */
static void sopp_flow_before_11(struct sn_gpu_instruction *instruction, uint32_t word)
{
	switch (word >> 16 & 0x7f) {
	case 1:	 /* s_endpgm */
	case 27: /* s_endpgm_saved */
	case 30: /* s_endpgm_ordered_ps_done */
	case 31: /* s_code_end of gfx10 */
		instruction->flow = SN_GPU_EXIT;
		break;
	case 2:
		branch(instruction, word, false);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
	case 9: /* s_cbranch_scc0 .. s_cbranch_execnz */
	case 23:
	case 24:
	case 25:
	case 26: /* s_cbranch_cdbgsys ... */
		branch(instruction, word, true);
		break;
	default:
		break;
	}
}

static void sopp_flow(struct sn_gpu_instruction *instruction, uint32_t word)
{
	uint32_t opcode = word >> 16 & 0x7f;
	if (opcode == 32)
		branch(instruction, word, false);
	else if (opcode >= 33 && opcode <= 42) /* s_cbranch_... */
		branch(instruction, word, true);
	else if (opcode == 31 || (opcode >= 48 && opcode <= 50)) /* s_code_end, s_endpgm ... */
		instruction->flow = SN_GPU_EXIT;
}

/* The opcode of s_getpc_b64; s_setpc_b64, s_swappc_b64 and s_rfe_b64 follow it. */
static uint32_t getpc_opcode(enum sn_gcn_isa isa)
{
	return isa == SN_GCN_9 ? 28 : isa == SN_GCN_10 ? 31 : 71;
}

/* s[30:31] is where compiled functions keep the return address; other registers hold it as well,
 * so that whatever is not known to be something else is a return. */
static void sop1_flow(struct sn_gpu_instruction *instruction, uint32_t word, enum sn_gcn_isa isa)
{
	uint32_t opcode = word >> 8 & 0xff, first = getpc_opcode(isa);
	instruction->target_register = SN_GPU_NO_REGISTER;
	if (opcode == first + 1 || opcode == first + 3)
		instruction->flow = SN_GPU_RETURN;
	else if (opcode == first + 2)
		instruction->flow = SN_GPU_CALL;
	else
		return;
	instruction->target_register = word & 0xff;
}

static void sopk_flow(struct sn_gpu_instruction *instruction, uint32_t word, enum sn_gcn_isa isa)
{
	uint32_t opcode = word >> 23 & 0x1f;
	uint32_t call = isa == SN_GCN_9 ? 21 : isa == SN_GCN_10 ? 22 : 20;
	if (opcode == call) {
		branch(instruction, word, false);
		instruction->flow = SN_GPU_CALL;
	} else if (isa == SN_GCN_9 && opcode == 16) { /* s_cbranch_i_fork */
		branch(instruction, word, true);
	} else if (isa >= SN_GCN_10 && isa <= SN_GCN_11 &&
		   (opcode == (isa == SN_GCN_10 ? 27u : 22u) ||
		    opcode == (isa == SN_GCN_10 ? 28u : 23u))) { /* s_subvector_loop_... */
		branch(instruction, word, true);
	}
}

bool sn_gcn_decode(const uint8_t *bytes, size_t left, enum sn_gcn_isa isa, uint64_t address,
		   struct sn_gpu_instruction *instruction)
{
	uint32_t words[2] = {0, 0};
	*instruction = (struct sn_gpu_instruction){.address = address,
						   .length = 4,
						   .target_register = SN_GPU_NO_REGISTER,
						   .written_register = SN_GPU_NO_REGISTER};
	if (left < 4)
		return false;
	memcpy(words, bytes, left < 8 ? 4 : 8);
	unsigned length = length_of(words, isa);
	if (length == 0 || length > left)
		return false;
	instruction->length = (uint8_t)length;
	uint32_t scalar = words[0] >> 23 & 0x1ff;
	if (scalar == 0x17f) {
		if (isa <= SN_GCN_10)
			sopp_flow_before_11(instruction, words[0]);
		else
			sopp_flow(instruction, words[0]);
	} else if (scalar == 0x17d) {
		sop1_flow(instruction, words[0], isa);
	} else if (words[0] >> 28 == 0xb && scalar < 0x17d) {
		sopk_flow(instruction, words[0], isa);
	}
	return true;
}
