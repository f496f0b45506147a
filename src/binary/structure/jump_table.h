/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets of indirect jumps through a table: switch statements and computed gotos.
 *
 * The jump's register is followed backwards, through copies, sums and spills, to a load from
 * constant + unknown x stride: that is the table. Its entries are addresses (absolute, or written
 * by the loader) or distances from a constant. The comparison before the jump, or the mask on the
 * index, gives their number; without either, entries count as long as they lead into the function.
 * This covers the code of gcc and clang at all levels on x86-64 and AArch64, and jumps of threaded
 * interpreters. Other jumps are reported as unresolved, never guessed.
 *
 * Operands come from capstone; without it no jump is resolved.
 */
#pragma once

#include "flow.h"

/* The effect of an instruction on registers, for any machine. Registers are 0 to 31. */
enum { SN_STEP_NO_REGISTER = 0xff };
struct sn_step {
	enum {
		SN_STEP_OTHER, /* writes an unknown value */
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
 * Calls add for each target of the indirect jump at `jump`. False if it cannot be resolved. The
 * transfers found so far give the code before the jump.
 */
bool sn_jump_table_resolve(struct sn_flow *flow, uint64_t jump,
			   void (*add)(struct sn_flow *flow, uint64_t from, uint64_t to));
void sn_jump_decoder_free(struct sn_jump_decoder *decoder);

/* Whether this build has capstone. */
bool sn_jump_table_is_available(void);

/* jump_steps.c: NULL without memory, or without capstone. */
struct sn_jump_decoder *sn_jump_decoder_new(uint16_t machine);
bool sn_jump_decoder_step(struct sn_jump_decoder *decoder, const uint8_t *bytes, size_t size,
			  uint64_t address, struct sn_step *step);
/* The registers that a call may change; bit r. */
uint32_t sn_jump_decoder_call_writes(const struct sn_jump_decoder *decoder);
/* Whether a register holds the stack's frame. */
bool sn_jump_decoder_is_stack(const struct sn_jump_decoder *decoder, uint8_t reg);
