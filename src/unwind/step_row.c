/* SPDX-License-Identifier: Apache-2.0 */
/* One frame to its caller by call frame information. Nothing here asks what this process has
 * loaded: commands unwind recorded stacks with it. */
#include "step_row.h"
#include "expression.h"

int sn_row_find(const struct sn_module *module, uintptr_t inside, struct sn_cfi_row *row)
{
	unsigned char code[4];
	int status = sn_cfi_find(module, inside, row);
	if (!status && row->kinds[SN_REG_FP] == SN_CFI_EXPRESSION && !row->cfa_is_expression &&
	    !row->is_signal_frame &&
	    sn_machine_has_restored_fp(code, sn_memory_read(inside, code, sizeof(code))))
		row->kinds[SN_REG_FP] = SN_CFI_SAME;
	return status;
}

static bool find_cfa(struct sn_unwind_cursor *cursor, const struct sn_cfi_row *row, uintptr_t *cfa)
{
	const struct sn_registers *registers = &cursor->registers;
	if (row->cfa_is_expression) {
		struct sn_expression_input input = {.registers = registers, .stack = cursor->stack};
		struct sn_value value;
		if (!sn_expression_evaluate(row->cfa_expression, &input, &value))
			return false;
		*cfa = (uintptr_t)value.offset;
		return true;
	}
	*cfa = registers->value[row->cfa_register] + (uintptr_t)row->cfa_offset;
	return registers->known & SN_KNOWN(row->cfa_register);
}

static bool evaluate_rule(struct sn_unwind_cursor *cursor, const struct sn_cfi_row *row,
			  unsigned number, uintptr_t cfa, uintptr_t *value)
{
	struct sn_expression_input input = {
	    .registers = &cursor->registers, .stack = cursor->stack, .cfa = &cfa};
	struct sn_value result;
	if (!sn_expression_evaluate(sn_cfi_expression_of(row, number), &input, &result))
		return false;
	*value = (uintptr_t)result.offset;
	return true;
}

/* The caller's value of one register; false where it is not known. */
static bool recover(struct sn_unwind_cursor *cursor, const struct sn_cfi_row *row, unsigned number,
		    uintptr_t cfa, uintptr_t *value)
{
	const struct sn_registers *registers = &cursor->registers;
	uintptr_t address = cfa + (uintptr_t)row->values[number];
	uint64_t source = number;
	switch (row->kinds[number]) {
	case SN_CFI_UNSET:
		if (!row->is_signal_frame && !(sn_machine_preserved & SN_KNOWN(number)))
			return false;
		break;
	case SN_CFI_SAME:
		break;
	case SN_CFI_REGISTER:
		source = (uint64_t)row->values[number];
		break;
	case SN_CFI_OFFSET:
		return sn_stack_read(cursor->stack, address, value);
	case SN_CFI_VALUE_OFFSET:
		*value = address;
		return true;
	case SN_CFI_EXPRESSION:
		return evaluate_rule(cursor, row, number, cfa, &address) &&
		       sn_stack_read(cursor->stack, address, value);
	case SN_CFI_VALUE_EXPRESSION:
		return evaluate_rule(cursor, row, number, cfa, value);
	default:
		return false;
	}
	if (source >= SN_REG_COUNT)
		return false;
	*value = registers->value[source];
	return registers->known & SN_KNOWN(source);
}

enum sn_step sn_step_by_row(struct sn_unwind_cursor *cursor, const struct sn_cfi_row *row,
			    struct sn_step_result *result)
{
	struct sn_registers next = {.known = 0};
	bool has_cfa = find_cfa(cursor, row, &result->cfa);
	if (row->kinds[SN_REG_PC] == SN_CFI_UNDEFINED)
		return SN_STEP_END;
	/* stacks grow; only an expression or a rule for the stack pointer may lead to another one,
	 * and vfork has its return address in a register and nothing on the stack */
	uintptr_t least =
	    cursor->registers.value[SN_REG_SP] + (row->kinds[SN_REG_PC] != SN_CFI_REGISTER);
	if (!has_cfa || (!row->cfa_is_expression && row->kinds[SN_REG_SP] == SN_CFI_UNSET &&
			 result->cfa < least))
		return SN_STEP_LOST;
	for (unsigned number = 0; number < SN_REG_COUNT; number++)
		if (recover(cursor, row, number, result->cfa, &next.value[number]))
			next.known |= SN_KNOWN(number);
	if (row->kinds[SN_REG_SP] == SN_CFI_UNSET) {
		next.value[SN_REG_SP] = result->cfa;
		next.known |= SN_KNOWN(SN_REG_SP);
	}
	uint32_t needed = SN_KNOWN(SN_REG_PC) | SN_KNOWN(SN_REG_SP);
	if ((next.known & needed) != needed)
		return SN_STEP_LOST;
	cursor->registers = next;
	cursor->is_return = !row->is_signal_frame;
	if (row->is_signal_frame)
		result->flags |= SN_NATIVE_SIGNAL;
	return SN_STEP_CALLER;
}
