/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: decodes from a module's .eh_frame how to find the caller's registers at a
 * pc.
 *
 * The format is DWARF 5, section 6.4, in the .eh_frame variant of the Linux Standard Base. Only
 * decodes bytes to a row; caches nothing and reads no register or stack. Every read is checked
 * against its readable segment, so that damaged tables only give an error. The kernel copies tables
 * of modules that can be unloaded, a piece at a time, because another thread may unmap them at any
 * moment.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include "machine.h"
#include "module.h"

#include <stdbool.h>
#include <stdint.h>

enum sn_cfi_kind {
	SN_CFI_UNSET,		 /* no rule: the ABI's default */
	SN_CFI_SAME,		 /* the caller's value is this frame's */
	SN_CFI_UNDEFINED,	 /* lost */
	SN_CFI_OFFSET,		 /* at CFA + value */
	SN_CFI_VALUE_OFFSET,	 /* is CFA + value */
	SN_CFI_REGISTER,	 /* in register `value` */
	SN_CFI_EXPRESSION,	 /* at the address computed by the expression */
	SN_CFI_VALUE_EXPRESSION, /* the value of the expression */
};

struct sn_cfi_expression {
	uintptr_t address; /* of its bytes in the module's memory, which may have been unmapped */
	uint32_t length;
};

/* One row of the described table: the rules at a pc. */
struct sn_cfi_row {
	bool cfa_is_expression;
	bool is_signal_frame; /* the caller was interrupted, not calling */
	uint8_t cfa_register;
	int64_t cfa_offset;
	struct sn_cfi_expression cfa_expression;
	uint8_t kinds[SN_REG_COUNT]; /* enum sn_cfi_kind */
	uint16_t lengths[SN_REG_COUNT];
	int64_t values[SN_REG_COUNT]; /* of an expression, its address */
};

/* The expression of a register's rule. */
static inline struct sn_cfi_expression sn_cfi_expression_of(const struct sn_cfi_row *row,
							    unsigned number)
{
	return (struct sn_cfi_expression){(uintptr_t)row->values[number], row->lengths[number]};
}

/* 0; -ENOENT if no information covers `pc`; -EINVAL if it is damaged. */
int sn_cfi_find(const struct sn_module *module, uintptr_t pc, struct sn_cfi_row *row);

/* The same from one FDE; nothing outside [low, high) is read. For tests and fuzzers. */
int sn_cfi_decode(const unsigned char *low, const unsigned char *high, const unsigned char *fde,
		  uintptr_t pc, struct sn_cfi_row *row);
