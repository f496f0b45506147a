/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effect of an instruction on control flow, and its length: control flow recovery needs nothing
 * else of nearly all instructions.
 *
 * Own decoders, because a disassembler that also decodes operands and prints text takes some 7
 * times as long (a third of a microsecond; libtorch has 60 million instructions). If operands
 * matter, at the few indirect jumps, jump_table.c uses a disassembler; tests compare the two on
 * whole libraries. x86-64 by the maps of the Intel SDM, volume 2, appendix A, and the AMD APM,
 * volume 3, appendix A; AArch64 by the Arm ARM, C4.1.
 *
 * MT: all functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_insn_kind {
	SN_INSN_OTHER,	       /* continues with the next */
	SN_INSN_PADDING,       /* the same, but does nothing: between functions */
	SN_INSN_BRANCH,	       /* to `target`, or to the next */
	SN_INSN_JUMP,	       /* to `target` */
	SN_INSN_CALL,	       /* of `target`, which returns or not */
	SN_INSN_JUMP_INDIRECT, /* through a register, or the memory at `target` if that is not 0 */
	SN_INSN_CALL_INDIRECT, /* likewise */
	SN_INSN_RETURN,	       /* also from an interrupt or system call */
	SN_INSN_TRAP,	       /* control ends */
};

struct sn_insn {
	uint8_t length; /* bytes */
	uint8_t kind;	/* enum sn_insn_kind */
	uint64_t target;
};

/* Decodes the instruction at the beginning of code[bytes], at `address`. False if there is none, or
 * it is incomplete. */
typedef bool sn_insn_decode(const uint8_t *code, size_t bytes, uint64_t address,
			    struct sn_insn *insn);
sn_insn_decode sn_insn_decode_x86;
sn_insn_decode sn_insn_decode_arm;

/* For a machine of <elf.h> (EM_X86_64, EM_AARCH64), or NULL. */
sn_insn_decode *sn_insn_decoder(uint16_t machine);
/* The alignment of instructions. */
static inline unsigned sn_insn_alignment(sn_insn_decode *decode)
{
	return decode == sn_insn_decode_arm ? 4 : 1;
}
