/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions (DWARF 5, section 2.5) in call frame information.
 *
 * With registers and a stack the evaluator computes a number. Without them it computes a form, such
 * as "the word at rbp - 8": most expressions in real files reduce to one, and unlike a number a
 * form can be cached.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

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
	uintptr_t pc;			      /* known also without registers */
	const uintptr_t *cfa;		      /* pushed first, where not NULL */
};

/* False if it needs an unknown value, is damaged, too long, or has no such form. */
bool sn_expression_evaluate(struct sn_cfi_expression expression,
			    const struct sn_expression_input *input, struct sn_value *result);
