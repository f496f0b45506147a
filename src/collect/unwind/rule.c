/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles call frame information to rules, and keeps them in a table that threads share. */
#include "rule.h"

#include "module_list.h"
#include "own_stack.h"
#include "unwind/cfi.h"
#include "unwind/expression.h"
#include "step.h"

#include <stdatomic.h>

_Static_assert(SN_MODULE_MAX <= SN_RULE_MODULE_NONE, "a module's index fits in a rule");

/* ---- packing ---- */

static uint64_t pack(enum sn_rule_kind kind, int64_t offset)
{
	return (uint64_t)kind | (uint64_t)offset << 40 | 1u << 5;
}

static bool fits(int64_t value, unsigned bits)
{
	int64_t limit = (int64_t)1 << (bits - 1);
	return value >= -limit && value < limit;
}

/* The form of the CFA at this pc; false where it has none that fits. */
static bool cfa_form(const struct sn_cfi_row *row, uintptr_t inside, struct sn_value *value)
{
	struct sn_expression_input input = {.pc = inside};
	if (!row->cfa_is_expression)
		*value = (struct sn_value){.form = SN_FORM_REGISTER,
					   .number = row->cfa_register,
					   .offset = row->cfa_offset};
	else if (!sn_expression_evaluate(row->cfa_expression, &input, value))
		return false;
	return value->form != SN_FORM_NUMBER &&
	       (value->number == SN_REG_SP || value->number == SN_REG_FP);
}

static bool pack_cfa(const struct sn_value *value, uint64_t *rule)
{
	bool by_fp = value->number == SN_REG_FP;
	if (value->form == SN_FORM_REGISTER) {
		*rule = pack(by_fp ? SN_RULE_FP : SN_RULE_SP, value->offset);
		return fits(value->offset, 24);
	}
	*rule = pack(by_fp ? SN_RULE_WORD_FP : SN_RULE_WORD_SP, value->inner) |
		((uint64_t)value->offset & 0x7ff) << 29;
	return fits(value->inner, 24) && fits(value->offset, 11);
}

/* Where the caller's frame pointer is; false where it does not fit. */
static bool pack_saved(const struct sn_cfi_row *row, uintptr_t inside, uint64_t *rule)
{
	struct sn_expression_input input = {.pc = inside};
	struct sn_value value;
	int64_t distance = -row->values[SN_REG_FP];
	uint64_t bits = SN_RULE_SAVED;
	switch (row->kinds[SN_REG_FP]) {
	case SN_CFI_UNSET:
	case SN_CFI_SAME:
	case SN_CFI_UNDEFINED: /* then it is not needed */
		return true;
	case SN_CFI_OFFSET:
		if (distance < 8)
			return false;
		break;
	case SN_CFI_EXPRESSION:
		/* a realigned frame saves it where it points */
		if (!sn_expression_evaluate(sn_cfi_expression_of(row, SN_REG_FP), &input, &value) ||
		    value.form != SN_FORM_REGISTER || value.number != SN_REG_FP || value.offset)
			return false;
		*rule |= SN_RULE_SAVED | SN_RULE_SAVED_BY_FP;
		return true;
	default:
		return false;
	}
	if (distance % 8 || distance / 8 > 0x3ff)
		return false;
	*rule = (*rule & ~((uint64_t)0x3ff << 5)) | (uint64_t)(distance / 8) << 5 | bits;
	return true;
}

static uint64_t pack_row(const struct sn_cfi_row *row, uintptr_t inside)
{
	struct sn_value cfa;
	uint64_t rule;
	bool has_form = cfa_form(row, inside, &cfa);
	if (row->kinds[SN_REG_PC] == SN_CFI_UNDEFINED) {
		bool simple = has_form && cfa.form == SN_FORM_REGISTER && cfa.number == SN_REG_SP &&
			      fits(cfa.offset, 24);
		return pack(SN_RULE_END, simple ? cfa.offset : 0);
	}
	bool plain = row->kinds[SN_REG_PC] == SN_CFI_OFFSET &&
		     row->values[SN_REG_PC] == -(int64_t)SN_RETURN_SLOT &&
		     row->kinds[SN_REG_SP] == SN_CFI_UNSET && !row->is_signal_frame;
	if (!plain || !has_form || !pack_cfa(&cfa, &rule) || !pack_saved(row, inside, &rule))
		return pack(SN_RULE_SLOW, 0);
	/* the fast walk knows no frame pointer saved by itself; realigned frames do both */
	if ((rule & SN_RULE_SAVED_BY_FP) && !SN_RULE_IS_SPECIAL(rule))
		return pack(SN_RULE_SLOW, 0);
	return rule;
}

uint64_t sn_rule_compile(uintptr_t inside, bool *lasting)
{
	struct sn_cfi_row row;
	uint32_t module = sn_module_find_or_refresh(inside);
	*lasting = module != SN_MODULE_NONE;
	if (module == SN_MODULE_NONE)
		return pack(SN_RULE_GUESS, 0) | (uint64_t)SN_RULE_MODULE_NONE << 15;
	bool described = !sn_row_find(sn_module_at(module), inside, &row);
	uint64_t rule = described ? pack_row(&row, inside) : pack(SN_RULE_GUESS, 0);
	/* code is returned to at its first byte; the byte before it is what is looked up */
	enum sn_code code =
	    !described || row.is_signal_frame ? sn_code_at(inside + 1) : SN_CODE_OTHER;
	if (code == SN_CODE_SIGNAL_RETURN)
		rule = pack(SN_RULE_SIGNAL, 0);
	else if (code == SN_CODE_CONTEXT_START && !described)
		rule = pack(SN_RULE_END, 0);
	return rule | (uint64_t)module << 15;
}

/* ---- the shared table ---- */

#define TABLE_BITS	 15u
#define FIRST_PAGE_BYTES 4096u

/*
 * Two words written by any thread at any time, without order. `check` is the key and the rule
 * combined, so that words of two writes do not pass for one entry.
 */
struct entry {
	_Atomic uint64_t check, rule;
};

static struct entry table[1u << TABLE_BITS];

struct compilation {
	uintptr_t inside;
	uint64_t rule;
	bool lasting;
};

static void compile(void *argument)
{
	struct compilation *it = argument;
	it->rule = sn_rule_compile(it->inside, &it->lasting);
}

uint64_t sn_rule_find(uintptr_t inside, bool *lasting)
{
	/* neither the first page nor the kernel's half is code of ours, and an empty entry would
	 * pass for that of address 0 */
	*lasting = false;
	if ((intptr_t)inside < (intptr_t)FIRST_PAGE_BYTES)
		return pack(SN_RULE_GUESS, 0) | (uint64_t)SN_RULE_MODULE_NONE << 15;
	/* user addresses leave the upper bits alone: a key is void once a module is unloaded */
	uint64_t key = inside ^ (uint64_t)sn_module_unloads() << 48;
	uint64_t mixed = key * 0x9E3779B185EBCA87ull;
	struct entry *entry = &table[mixed >> (64 - TABLE_BITS)];
	/* relaxed: a torn or stale pair fails the comparison and is compiled again */
	uint64_t rule = atomic_load_explicit(&entry->rule, memory_order_relaxed);
	*lasting = true;
	if ((atomic_load_explicit(&entry->check, memory_order_relaxed) ^ rule) == key)
		return rule;
	struct compilation it = {.inside = inside};
	sn_on_own_stack(compile, &it);
	*lasting = it.lasting;
	rule = it.rule;
	if (!it.lasting)
		return rule;
	atomic_store_explicit(&entry->rule, rule, memory_order_relaxed);
	atomic_store_explicit(&entry->check, key ^ rule, memory_order_relaxed);
	return rule;
}
