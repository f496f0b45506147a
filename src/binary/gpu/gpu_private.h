/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the readers of the two vendors' files and the builder of blocks. Internal to gpu/.
 */
#pragma once

#include "gpu_binary.h"
#include "instruction.h"
#include "base/intern.h"
#include "binary/string_pool.h"

/* Code at `start` of the binary's address space. */
struct sn_gpu_section {
	uint64_t start;
	struct sn_bytes code;
	uint32_t index; /* in the ELF file */
};

/* From a table of an indirect jump: the jump at `from` may go to `to`. */
struct sn_gpu_jump {
	uint64_t from, to;
};

/* An instruction that the linker filled an address into. */
struct sn_gpu_relocation {
	uint64_t at, value;
};

struct sn_gpu_private {
	struct sn_elf_file *file;
	struct sn_string_pool pool;	       /* strings, blocks, edges, calls */
	struct sn_gpu_section *sections;       /* by start */
	struct sn_gpu_jump *jumps;	       /* by from */
	struct sn_gpu_relocation *relocations; /* by address */
	size_t section_count, section_capacity, jump_count, jump_capacity;
	size_t relocation_count, relocation_capacity, function_capacity, line_capacity;
	struct sn_intern inlined; /* struct sn_gpu_inlined */
	bool failed;		  /* memory was exhausted: some data is missing */
};

/* Without memory, the functions that add set private->failed, which is tested once.
 *
 * Adds a function of a symbol table. `symbol` is copied; the function's end is found later. */
void sn_gpu_add_function(struct sn_gpu_binary *binary, const char *symbol, uint64_t start,
			 uint64_t base, bool is_kernel);
void sn_gpu_add_section(struct sn_gpu_binary *binary, uint64_t start, struct sn_bytes code,
			uint32_t index);
/* Extends the last one if it has the same source and is adjacent. */
void sn_gpu_add_line(struct sn_gpu_binary *binary, const struct sn_gpu_line *line);
/* The number of an inlined call, new or not. */
uint32_t sn_gpu_add_inlined(struct sn_gpu_binary *binary, uint32_t parent, const char *call_file,
			    uint32_t call_line, const char *function);
/* The section that an address lies in, or NULL. */
const struct sn_gpu_section *sn_gpu_section_at(const struct sn_gpu_binary *binary,
					       uint64_t address);

/* Fill in vendor, target, sections, functions, jumps and relocations, in any order. 0 or
 * SN_ERR_UNSUPPORTED. */
int sn_cubin_read(struct sn_gpu_binary *binary, struct sn_error *error);
int sn_code_object_read(struct sn_gpu_binary *binary, struct sn_error *error);

/* Builds the blocks and calls of all functions. */
void sn_gpu_build_flow(struct sn_gpu_binary *binary);

/* Add lines and inlined calls. 0 or SN_ERR_MEMORY. */
int sn_cubin_lines(struct sn_gpu_binary *binary);
int sn_code_object_lines(struct sn_gpu_binary *binary);
