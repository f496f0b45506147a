/* SPDX-License-Identifier: Apache-2.0 */
/* See disassemble.h. */
#include "disassemble.h"

#include "structure/jump_table.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef SN_HAVE_CAPSTONE
#include "late_capstone.h"

struct sn_disassembler {
	csh handle;
	cs_insn *insn;
};

struct sn_disassembler *sn_disassembler_new(uint16_t machine, enum sn_syntax syntax)
{
	bool is_arm = machine == EM_AARCH64;
	struct sn_disassembler *created;
	if ((!is_arm && machine != EM_X86_64) || !sn_jump_table_is_available() ||
	    !(created = calloc(1, sizeof(*created))))
		return NULL;
	if (cs_open(is_arm ? CS_ARCH_ARM64 : CS_ARCH_X86, is_arm ? CS_MODE_ARM : CS_MODE_64,
		    &created->handle) != CS_ERR_OK) {
		free(created);
		return NULL;
	}
	if (!is_arm && syntax == SN_SYNTAX_ATT)
		cs_option(created->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	created->insn = cs_malloc(created->handle);
	if (created->insn)
		return created;
	sn_disassembler_free(created);
	return NULL;
}

void sn_disassembler_free(struct sn_disassembler *disassembler)
{
	if (!disassembler)
		return;
	if (disassembler->insn)
		cs_free(disassembler->insn, 1);
	cs_close(&disassembler->handle);
	free(disassembler);
}

unsigned sn_disassemble(struct sn_disassembler *disassembler, const uint8_t *code, size_t bytes,
			uint64_t address, char text[SN_INSTRUCTION_CHARS])
{
	const uint8_t *at = code;
	if (!cs_disasm_iter(disassembler->handle, &at, &bytes, &address, disassembler->insn))
		return 0;
	snprintf(text, SN_INSTRUCTION_CHARS, *disassembler->insn->op_str ? "%-6s %s" : "%s%s",
		 disassembler->insn->mnemonic, disassembler->insn->op_str);
	return (unsigned)(at - code);
}
#else
struct sn_disassembler *sn_disassembler_new(uint16_t machine, enum sn_syntax syntax)
{
	(void)machine;
	(void)syntax;
	return NULL;
}

void sn_disassembler_free(struct sn_disassembler *disassembler)
{
	(void)disassembler;
}

unsigned sn_disassemble(struct sn_disassembler *disassembler, const uint8_t *code, size_t bytes,
			uint64_t address, char text[SN_INSTRUCTION_CHARS])
{
	(void)disassembler;
	(void)code;
	(void)bytes;
	(void)address;
	*text = 0;
	return 0;
}
#endif
