/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where indirect jumps lead that go through a table: switch statements and computed gotos.
 *
 * The register that is jumped to is followed backwards, through copies, sums and spills, to a load
 * from constant + unknown x stride: that is the table. Its entries are addresses (absolute, or
 * written by the loader) or distances from a constant. How many there are says the comparison
 * before the jump, or the mask on the index; without either, as many as lead into the function.
 * That covers what gcc and clang write at all levels on x86-64 and AArch64, and jumps of threaded
 * interpreters. What is not understood is said to be so, never guessed.
 *
 * Operands come from capstone; without it nothing is understood.
 */
#ifndef SN_BINARY_STRUCTURE_JUMP_TABLE_H
#define SN_BINARY_STRUCTURE_JUMP_TABLE_H

#include "flow.h"

/* What an instruction does to registers, of any machine. Registers are 0 to 31. */
enum { SN_STEP_NO_REGISTER = 0xff };
struct sn_step {
	enum {
		SN_STEP_OTHER, /* writes what cannot be known */
		SN_STEP_SUM,   /* dest = addend + a + (b << shift) */
		SN_STEP_LOAD,  /* dest = memory at that sum */
		SN_STEP_STORE, /* memory at that sum = dest, eight bytes */
		SN_STEP_LIMIT, /* dest is now at most `addend` */
		SN_STEP_CALL,
		SN_STEP_COMPARE,	  /* with `addend` */
		SN_STEP_BRANCH_ABOVE,	  /* branches if above, or if not */
		SN_STEP_BRANCH_ABOVE_SAME /* ... if above or the same, or if not */
	} op;
	uint32_t writes; /* registers; bit r */
	uint8_t dest, a, b, shift;
	uint8_t size;	/* loads: bytes; sums: the bytes of b that count, 0 all */
	bool is_signed; /* ... and how they are extended */
	uint64_t addend;
};

struct sn_jump_decoder;

/*
 * Where the indirect jump at `jump` may lead: calls add for each target. False where it is not
 * understood. The transfers found so far tell what precedes the jump.
 */
bool sn_jump_table_resolve(struct sn_flow *flow, uint64_t jump,
			   void (*add)(struct sn_flow *flow, uint64_t from, uint64_t to));
void sn_jump_decoder_free(struct sn_jump_decoder *decoder);

/* Whether this build has capstone. */
bool sn_jump_table_is_available(void);

/* jump_steps.c: NULL for lack of memory, or without capstone. */
struct sn_jump_decoder *sn_jump_decoder_new(uint16_t machine);
bool sn_jump_decoder_step(struct sn_jump_decoder *decoder, const uint8_t *bytes, size_t size,
			  uint64_t address, struct sn_step *step);
/* The registers that a call may change; bit r. */
uint32_t sn_jump_decoder_call_writes(const struct sn_jump_decoder *decoder);
/* Whether a register holds the stack's frame. */
bool sn_jump_decoder_is_stack(const struct sn_jump_decoder *decoder, uint8_t reg);

#endif
