/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions (DWARF 5, section 2.5) as call frame information uses them.
 *
 * One evaluator serves twice. With registers and a stack it computes a number. Without them it
 * computes a form, such as "the word at rbp - 8": most expressions in real files reduce to one, and
 * a form can be cached where a number cannot.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_UNWIND_EXPRESSION_H
#define SN_UNWIND_EXPRESSION_H

#include "cfi.h"
#include "memory.h"

enum sn_form {
	SN_FORM_NUMBER,	  /* offset */
	SN_FORM_REGISTER, /* register + offset */
	SN_FORM_WORD,	  /* the word at (register + inner), + offset */
};

struct sn_value {
	uint8_t form;	/* enum sn_form */
	uint8_t number; /* of the register */
	int64_t inner, offset;
};

struct sn_expression_input {
	const struct sn_registers *registers; /* NULL: compute a form */
	struct sn_stack *stack;		      /* with registers */
	uintptr_t pc;	      /* without registers: the one that is known all the same */
	const uintptr_t *cfa; /* pushed first, where not NULL */
};

/* False where it needs something unknown, is damaged, too long, or has no such form. */
bool sn_expression_evaluate(struct sn_cfi_expression expression,
			    const struct sn_expression_input *input, struct sn_value *result);

#endif
