/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow of AArch64 instructions; see insn.h. All are four bytes long. */
#include "insn.h"

#include <elf.h>
#include <string.h>

/* A signed field of `bits` bits at `low`, in instructions: as a distance in bytes. */
static uint64_t distance(uint32_t word, unsigned low, unsigned bits)
{
	uint64_t field = (uint64_t)word >> low << (64 - bits);
	return (uint64_t)((int64_t)field >> (64 - bits)) * 4;
}

/* Unconditional branches to a register: br, blr, ret, eret and those that authenticate. */
static uint8_t kind_of_register_branch(uint32_t word)
{
	switch (word >> 21 & 0xf) {
	case 0:
	case 8:
		return SN_INSN_JUMP_INDIRECT;
	case 1:
	case 9:
		return SN_INSN_CALL_INDIRECT;
	default:
		return SN_INSN_RETURN;
	}
}

bool sn_insn_decode_arm(const uint8_t *code, size_t bytes, uint64_t address, struct sn_insn *insn)
{
	uint32_t word;
	if (bytes < sizeof(word))
		return false;
	memcpy(&word, code, sizeof(word));
	*insn = (struct sn_insn){.length = 4, .kind = SN_INSN_OTHER};
	if ((word & 0x7c000000) == 0x14000000) { /* b, bl */
		insn->kind = word >> 31 ? SN_INSN_CALL : SN_INSN_JUMP;
		insn->target = address + distance(word, 0, 26);
	} else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
		insn->kind = SN_INSN_BRANCH; /* b.cond; cbz, cbnz */
		insn->target = address + distance(word, 5, 19);
	} else if ((word & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		insn->kind = SN_INSN_BRANCH;
		insn->target = address + distance(word, 5, 14);
	} else if ((word & 0xfe000000) == 0xd6000000) {
		insn->kind = kind_of_register_branch(word);
	} else if (word == 0xd503201f) { /* nop */
		insn->kind = SN_INSN_PADDING;
	} else if (word >> 16 == 0 || (word & 0xffe0001f) == 0xd4200000 ||
		   (word & 0xffe0001f) == 0xd4400000) { /* udf, brk, hlt */
		insn->kind = SN_INSN_TRAP;
	}
	return true;
}

sn_insn_decode *sn_insn_decoder(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return sn_insn_decode_x86;
	case EM_AARCH64:
		return sn_insn_decode_arm;
	}
	return NULL;
}
