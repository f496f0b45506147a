/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates DWARF expressions: a stack machine over numbers and simple forms. */
#include "expression.h"

#include <string.h>

#define STACK_DEPTH 16u
#define STEPS_MAX   256u /* branches could loop for ever */
#define BYTES_MAX   256u /* the longest in use, OpenSSL's, has 30 */

struct evaluation {
	const struct sn_expression_input *input;
	const unsigned char *start, *at, *end;
	struct sn_value stack[STACK_DEPTH];
	unsigned depth;
	bool bad;
};

/* Fields are read as unsigned and computed so: wrapping around is what the machine does. */
static struct sn_value number(uint64_t value)
{
	return (struct sn_value){.form = SN_FORM_NUMBER, .offset = (int64_t)value};
}

static void push(struct evaluation *evaluation, struct sn_value value)
{
	if (evaluation->depth == STACK_DEPTH)
		evaluation->bad = true;
	else
		evaluation->stack[evaluation->depth++] = value;
}

static struct sn_value pop(struct evaluation *evaluation)
{
	if (evaluation->depth)
		return evaluation->stack[--evaluation->depth];
	evaluation->bad = true;
	return number(0);
}

static uint64_t pop_number(struct evaluation *evaluation)
{
	struct sn_value value = pop(evaluation);
	if (value.form != SN_FORM_NUMBER)
		evaluation->bad = true;
	return (uint64_t)value.offset;
}

static void push_copy(struct evaluation *evaluation, uint64_t below_top)
{
	if (below_top >= evaluation->depth)
		evaluation->bad = true;
	else
		push(evaluation, evaluation->stack[evaluation->depth - 1 - below_top]);
}

/* ---- operands ---- */

static uint64_t operand(struct evaluation *evaluation, unsigned bytes, bool is_signed)
{
	uint64_t value = 0;
	if ((size_t)(evaluation->end - evaluation->at) < bytes) {
		evaluation->bad = true;
		return 0;
	}
	memcpy(&value, evaluation->at, bytes);
	evaluation->at += bytes;
	unsigned unused = 64 - 8 * bytes;
	if (is_signed && unused)
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	return value;
}

static uint64_t operand_leb(struct evaluation *evaluation, bool is_signed)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t byte = operand(evaluation, 1, false);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (is_signed && shift + 7 < 64 && (byte & 0x40))
			value |= ~0ull << (shift + 7);
		return value;
	}
	evaluation->bad = true;
	return 0;
}

/* ---- operations ---- */

static void push_register(struct evaluation *evaluation, uint64_t which, uint64_t offset)
{
	const struct sn_expression_input *input = evaluation->input;
	if (which >= SN_REG_COUNT) {
		evaluation->bad = true;
	} else if (input->registers) {
		if (!(input->registers->known & SN_KNOWN(which)))
			evaluation->bad = true;
		push(evaluation, number(input->registers->value[which] + offset));
	} else if (which == SN_REG_PC) {
		push(evaluation, number(input->pc + offset));
	} else {
		push(evaluation, (struct sn_value){.form = SN_FORM_REGISTER,
						   .number = (uint8_t)which,
						   .offset = (int64_t)offset});
	}
}

static void dereference(struct evaluation *evaluation)
{
	struct sn_value address = pop(evaluation);
	uintptr_t word = 0;
	if (address.form == SN_FORM_REGISTER) {
		push(evaluation, (struct sn_value){.form = SN_FORM_WORD,
						   .number = address.number,
						   .inner = address.offset});
		return;
	}
	if (address.form != SN_FORM_NUMBER || !evaluation->input->registers ||
	    !sn_stack_read(evaluation->input->stack, (uintptr_t)address.offset, &word))
		evaluation->bad = true;
	push(evaluation, number(word));
}

static void add(struct evaluation *evaluation, struct sn_value a, struct sn_value b)
{
	if (a.form == SN_FORM_NUMBER) {
		struct sn_value swap = a;
		a = b;
		b = swap;
	}
	if (b.form != SN_FORM_NUMBER)
		evaluation->bad = true;
	a.offset = (int64_t)((uint64_t)a.offset + (uint64_t)b.offset);
	push(evaluation, a);
}

static uint64_t shifted(unsigned opcode, uint64_t a, uint64_t b)
{
	if (opcode == 0x26)
		return (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
	if (b >= 64)
		return 0;
	return opcode == 0x24 ? a << b : a >> b;
}

static void compute(struct evaluation *evaluation, unsigned opcode)
{
	uint64_t b = pop_number(evaluation), a = pop_number(evaluation);
	int64_t sb = (int64_t)b, sa = (int64_t)a;
	switch (opcode) {
	case 0x1a: /* and */
		return push(evaluation, number(a & b));
	case 0x1b: /* div, signed */
		if (!b || (sb == -1 && sa == INT64_MIN))
			break;
		return push(evaluation, number((uint64_t)(sa / sb)));
	case 0x1d: /* mod, unsigned */
		if (!b)
			break;
		return push(evaluation, number(a % b));
	case 0x1e: /* mul */
		return push(evaluation, number(a * b));
	case 0x21: /* or */
		return push(evaluation, number(a | b));
	case 0x24: /* shl, shr, shra */
	case 0x25:
	case 0x26:
		return push(evaluation, number(shifted(opcode, a, b)));
	case 0x27: /* xor */
		return push(evaluation, number(a ^ b));
	case 0x29: /* eq, ge, gt, le, lt, ne */
		return push(evaluation, number(sa == sb));
	case 0x2a:
		return push(evaluation, number(sa >= sb));
	case 0x2b:
		return push(evaluation, number(sa > sb));
	case 0x2c:
		return push(evaluation, number(sa <= sb));
	case 0x2d:
		return push(evaluation, number(sa < sb));
	case 0x2e:
		return push(evaluation, number(sa != sb));
	}
	evaluation->bad = true;
}

static void push_constant(struct evaluation *evaluation, unsigned opcode)
{
	static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8}; /* const1u, const1s, ... const8s */
	if (opcode == 0x03)					 /* addr */
		push(evaluation, number(operand(evaluation, 8, false)));
	else if (opcode >= 0x10) /* constu, consts */
		push(evaluation, number(operand_leb(evaluation, opcode == 0x11)));
	else
		push(evaluation, number(operand(evaluation, sizes[opcode - 0x08], opcode & 1)));
}

static void branch(struct evaluation *evaluation, bool taken)
{
	int64_t distance = (int64_t)operand(evaluation, 2, true);
	if (!taken || evaluation->bad)
		return;
	if (distance < evaluation->start - evaluation->at ||
	    distance > evaluation->end - evaluation->at)
		evaluation->bad = true;
	else
		evaluation->at += distance;
}

static void rearrange(struct evaluation *evaluation, unsigned opcode)
{
	struct sn_value top, second, third;
	switch (opcode) {
	case 0x12: /* dup, over, pick */
		return push_copy(evaluation, 0);
	case 0x14:
		return push_copy(evaluation, 1);
	case 0x15:
		return push_copy(evaluation, operand(evaluation, 1, false));
	case 0x13: /* drop */
		pop(evaluation);
		return;
	case 0x16: /* swap */
		top = pop(evaluation);
		second = pop(evaluation);
		push(evaluation, top);
		return push(evaluation, second);
	case 0x17: /* rot */
		top = pop(evaluation);
		second = pop(evaluation);
		third = pop(evaluation);
		push(evaluation, top);
		push(evaluation, third);
		return push(evaluation, second);
	}
}

static void execute_other(struct evaluation *evaluation, unsigned opcode)
{
	struct sn_value top, second;
	switch (opcode) {
	case 0x06:
		return dereference(evaluation);
	case 0x19: { /* abs */
		uint64_t value = pop_number(evaluation);
		return push(evaluation, number((int64_t)value < 0 ? -value : value));
	}
	case 0x1c: /* minus: the second entry less the top */
		top = number(-pop_number(evaluation));
		return add(evaluation, pop(evaluation), top);
	case 0x1f:
		return push(evaluation, number(-pop_number(evaluation)));
	case 0x20:
		return push(evaluation, number(~pop_number(evaluation)));
	case 0x22: /* plus */
		top = pop(evaluation);
		second = pop(evaluation);
		return add(evaluation, second, top);
	case 0x23: /* plus_uconst */
		return add(evaluation, pop(evaluation), number(operand_leb(evaluation, false)));
	case 0x28: /* bra */
		return branch(evaluation, pop_number(evaluation) != 0);
	case 0x2f: /* skip */
		return branch(evaluation, true);
	case 0x96: /* nop */
		return;
	}
	compute(evaluation, opcode);
}

static void execute(struct evaluation *evaluation)
{
	unsigned opcode = (unsigned)operand(evaluation, 1, false);
	if (opcode >= 0x30 && opcode <= 0x4f) /* lit0..31 */
		push(evaluation, number(opcode - 0x30));
	else if (opcode >= 0x50 && opcode <= 0x6f) /* reg0..31: their contents, in an expression */
		push_register(evaluation, opcode - 0x50, 0);
	else if (opcode >= 0x70 && opcode <= 0x8f) /* breg0..31 */
		push_register(evaluation, opcode - 0x70, operand_leb(evaluation, true));
	else if (opcode == 0x92) { /* bregx */
		uint64_t which = operand_leb(evaluation, false);
		push_register(evaluation, which, operand_leb(evaluation, true));
	} else if (opcode == 0x03 || (opcode >= 0x08 && opcode <= 0x11))
		push_constant(evaluation, opcode);
	else if (opcode >= 0x12 && opcode <= 0x17)
		rearrange(evaluation, opcode);
	else
		execute_other(evaluation, opcode);
}

bool sn_expression_evaluate(struct sn_cfi_expression expression,
			    const struct sn_expression_input *input, struct sn_value *result)
{
	unsigned char bytes[BYTES_MAX];
	if (expression.length > sizeof(bytes) ||
	    sn_memory_read(expression.address, bytes, expression.length) != expression.length)
		return false;
	struct evaluation evaluation = {
	    .input = input, .start = bytes, .at = bytes, .end = bytes + expression.length};
	if (input->cfa)
		push(&evaluation, number(*input->cfa));
	for (unsigned steps = 0; evaluation.at < evaluation.end && !evaluation.bad; steps++) {
		if (steps == STEPS_MAX)
			return false;
		execute(&evaluation);
	}
	*result = pop(&evaluation);
	return !evaluation.bad;
}
