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

enum sn_operation_kind {
	SN_OPERATION_SIMPLE,   /* of integers, one cycle */
	SN_OPERATION_MULTIPLY, /* of integers */
	SN_OPERATION_VECTOR,   /* of vectors or floating point, a few cycles */
	SN_OPERATION_LONG,     /* a unit that takes one at a time: divisions, roots */
	SN_OPERATION_STRING,   /* repeats itself over memory */
	SN_OPERATION_WAIT,     /* gives way to others: pause */
	SN_OPERATION_FENCE,    /* waits for all memory, or all before it */
	SN_OPERATION_BRANCH,   /* with a condition, to one place */
	SN_OPERATION_JUMP,     /* to one place, always */
	SN_OPERATION_INDIRECT, /* to what a register or memory says; returns are none */
	SN_OPERATION_CALL,     /* also an indirect one, which reads what it goes to */
	SN_OPERATION_RETURN,
	SN_OPERATION_NOTHING,
};

enum { SN_OPERATION_NO_REGISTER = 0xff, SN_OPERATION_FLAGS = 63 };

struct sn_operation {
	uint64_t reads,
	    writes; /* registers, bit r: 0 to 31 of integers and addresses, then vectors; the last one is the flags */
	uint64_t address;	/* those of `reads` that an address in memory is made of */
	uint8_t kind;		/* enum sn_operation_kind */
	uint8_t latency, parts; /* cycles without its load; micro-operations */
	bool loads, stores;	/* memory, beside calls and returns */
	bool is_atomic;		/* locked: no other processor comes between */
	bool is_stack; /* the memory is of the function's frame, or has one address always */
	/* The address of the memory operand: base + index * scale + displacement. */
	uint8_t base, index, scale;
	/* Where all that it does is to change a register by a constant. */
	uint8_t stepped; /* SN_OPERATION_NO_REGISTER: it is not so */
	int64_t step;
	uint8_t shifted; /* where it shifts a register left by `step` */
};

struct sn_operation_decoder;

/* For a machine of <elf.h>; NULL for another than x86-64, without capstone, or without memory. */
struct sn_operation_decoder *sn_operation_decoder_new(uint16_t machine);
void sn_operation_decoder_free(struct sn_operation_decoder *decoder);
/* The instruction at the begin of code[bytes]. False where there is none; *operation is then SN_OPERATION_NOTHING. */
bool sn_operation_decode(struct sn_operation_decoder *decoder, const uint8_t *code, size_t bytes,
			 uint64_t address, struct sn_operation *operation);
