/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: from a module's .eh_frame, how to find the caller's registers at a pc.
 *
 * The format is DWARF 5, section 6.4, as the Linux Standard Base's .eh_frame varies it. Pure
 * decoding: bytes in, a row out; nothing is cached and no register or stack is read here. Every
 * read is checked against the end of the section's segment, so that damaged tables give an error
 * and nothing else.
 */
#ifndef SN_COLLECT_CFI_H
#define SN_COLLECT_CFI_H

#include "module.h"

#include <stdbool.h>
#include <stdint.h>

/* DWARF's register numbers of x86-64. */
enum {
	SN_REG_RAX,
	SN_REG_RDX,
	SN_REG_RCX,
	SN_REG_RBX,
	SN_REG_RSI,
	SN_REG_RDI,
	SN_REG_RBP,
	SN_REG_RSP,
	SN_REG_R8,
	SN_REG_R9,
	SN_REG_R10,
	SN_REG_R11,
	SN_REG_R12,
	SN_REG_R13,
	SN_REG_R14,
	SN_REG_R15,
	SN_REG_RIP,
	SN_REG_COUNT
};

enum sn_cfi_kind {
	SN_CFI_SAME,		 /* the caller's value is this frame's */
	SN_CFI_UNDEFINED,	 /* lost */
	SN_CFI_OFFSET,		 /* at CFA + value */
	SN_CFI_VALUE_OFFSET,	 /* is CFA + value */
	SN_CFI_REGISTER,	 /* in register `value` */
	SN_CFI_EXPRESSION,	 /* at the address the expression gives */
	SN_CFI_VALUE_EXPRESSION, /* is what the expression gives */
};

struct sn_cfi_rule {
	uint8_t kind;
	uint32_t expression_bytes;
	int64_t value;
	const unsigned char *expression;
};

/* One row of the table that the information describes: the rules in force at a pc. */
struct sn_cfi_row {
	bool cfa_is_expression;
	uint32_t cfa_register;
	int64_t cfa_offset;
	const unsigned char *cfa_expression;
	uint32_t cfa_expression_bytes;
	bool is_signal_frame; /* the caller was interrupted, not calling */
	struct sn_cfi_rule rules[SN_REG_COUNT];
};

/* 0; -ENOENT where no information covers `pc`; -EINVAL where it is damaged. AS-safe: yes. MT: yes.
 */
int sn_cfi_find(const struct sn_module *module, uintptr_t pc, struct sn_cfi_row *row);

/* The same from one FDE in memory; for tests and fuzzers. */
int sn_cfi_decode(const unsigned char *section, const unsigned char *section_end,
		  const unsigned char *fde, uintptr_t pc, struct sn_cfi_row *row);

#endif
