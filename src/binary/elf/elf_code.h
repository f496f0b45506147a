/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes of a file's code are in its own addresses: kernels tell offsets in files, symbols have addresses. */
#pragma once

#include "elf_file.h"

struct sn_elf_code_piece {
	uint64_t offset, bytes, address;
};

/* All zeroes is no code. */
struct sn_elf_code {
	struct sn_elf_code_piece *pieces; /* as malloc; NULL: not known */
	uint32_t count;
};

/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_elf_code_of(const struct sn_elf_file *file, struct sn_elf_code *code);
void sn_elf_code_release(struct sn_elf_code *code);
/* The address of a byte of the file; the offset itself where it is in no piece. */
uint64_t sn_elf_code_address(const struct sn_elf_code *code, uint64_t offset);
