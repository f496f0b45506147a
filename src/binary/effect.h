/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an instruction of a CPU reads, writes and occupies: registers, memory, and how long it takes where nothing is waited for. All that is
 * known of a machine beyond control flow (structure/insn.h) is here; what is made of it knows none.
 *
 * Latencies are those of recent processors, by kind of instruction: Intel, "Optimization Reference Manual", appendix on latency and throughput. They
 * are for where no better model is at hand. Operands come from capstone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_effect_kind {
	SN_EFFECT_SIMPLE,   /* of integers, one cycle */
	SN_EFFECT_MULTIPLY, /* of integers */
	SN_EFFECT_VECTOR,   /* of vectors or floating point, a few cycles */
	SN_EFFECT_LONG,	    /* a unit that takes one at a time: divisions, roots */
	SN_EFFECT_STRING,   /* repeats itself over memory */
	SN_EFFECT_WAIT,	    /* gives way to others: pause */
	SN_EFFECT_FENCE,    /* waits for all memory, or all before it */
	SN_EFFECT_BRANCH,   /* with a condition, to one place */
	SN_EFFECT_JUMP,	    /* to one place, always */
	SN_EFFECT_INDIRECT, /* to what a register or memory says; returns are none */
	SN_EFFECT_CALL,	    /* also an indirect one, which reads what it goes to */
	SN_EFFECT_RETURN,
	SN_EFFECT_NOTHING,
};

enum { SN_EFFECT_NO_REGISTER = 0xff, SN_EFFECT_FLAGS = 63 };

struct sn_insn_effect {
	uint64_t reads,
	    writes; /* registers, bit r: 0 to 31 of integers and addresses, then vectors; the last one is the flags */
	uint64_t address;	/* those of `reads` that an address in memory is made of */
	uint8_t kind;		/* enum sn_effect_kind */
	uint8_t latency, parts; /* cycles without its load; micro-operations */
	bool loads, stores;	/* memory, beside calls and returns */
	bool is_atomic;		/* locked: no other processor comes between */
	bool is_stack; /* the memory is of the function's frame, or has one address always */
	/* The address of the memory operand: base + index * scale + displacement. */
	uint8_t base, index, scale;
	/* Where all that it does is to change a register by a constant. */
	uint8_t stepped; /* SN_EFFECT_NO_REGISTER: it is not so */
	int64_t step;
	uint8_t shifted; /* where it shifts a register left by `step` */
};

struct sn_effect_decoder;

/* For a machine of <elf.h>; NULL for another than x86-64, without capstone, or without memory. */
struct sn_effect_decoder *sn_effect_decoder_new(uint16_t machine);
void sn_effect_decoder_free(struct sn_effect_decoder *decoder);
/* The instruction at the begin of code[bytes]. False where there is none; *effect is then SN_EFFECT_NOTHING. */
bool sn_effect_decode(struct sn_effect_decoder *decoder, const uint8_t *code, size_t bytes,
		      uint64_t address, struct sn_insn_effect *effect);
