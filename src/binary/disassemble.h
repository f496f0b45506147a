/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of CPUs as text. By capstone, which is loaded when it is first needed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_syntax { SN_SYNTAX_ATT, SN_SYNTAX_INTEL }; /* of x86; other machines have one */
enum { SN_INSTRUCTION_CHARS = 224 };

struct sn_disassembler;

/* For a machine of <elf.h>; NULL for another one, without capstone, or without memory. */
struct sn_disassembler *sn_disassembler_new(uint16_t machine, enum sn_syntax syntax);
void sn_disassembler_free(struct sn_disassembler *disassembler);

/* The instruction at the begin of code[bytes], at `address`: "mov    %rax, (%rbx)". Its length, 0 where there is none. */
unsigned sn_disassemble(struct sn_disassembler *disassembler, const uint8_t *code, size_t bytes,
			uint64_t address, char text[SN_INSTRUCTION_CHARS]);
