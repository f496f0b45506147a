/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a load module: its bytes, and the begin and end of its functions.
 *
 * Functions come from the symbol table, from .eh_frame (which stripped files have too), and, for
 * code that neither covers, from the entry point, from targets of calls and from code after
 * padding. Parts that a compiler split off (foo.cold) belong to their function. Functions that
 * never return are found here too, because control does not continue after their calls. PLT entries
 * are no functions.
 *
 * Results depend on the file alone, never on earlier calls.
 *
 * MT: all functions but sn_code_open and sn_code_free may be called by several threads at once on
 * one code.
 */
#pragma once

#include "binary/elf/elf_file.h"
#include "insn.h"

#include <stdatomic.h>

#define SN_CODE_NONE UINT32_MAX

/* A contiguous piece of code: a function or a split-off part of one. */
struct sn_code_function {
	uint64_t start, end;
	uint64_t exceptions; /* the address of what says where they land; 0 none */
	const char *name;    /* a symbol, in the file's string table; NULL none */
	uint32_t owner;	     /* the function of a part; itself for a function */
	uint32_t group;	     /* of symbols of one source file */
	bool is_sized;	     /* the file says where it ends */
	bool is_cold;	     /* named as a split-off part */
	bool in_frame;	     /* entered with a frame that another piece created */
};

/* A section of code. */
struct sn_code_section {
	uint64_t start, end;
	const uint8_t *bytes;
	bool is_plt;
};

struct sn_code {
	struct sn_elf_file *file;
	sn_insn_decode *decode;
	unsigned alignment;
	struct sn_code_section *sections; /* by ascending start */
	uint32_t section_count;
	struct sn_code_function *functions; /* by ascending start; they do not overlap */
	uint32_t function_count;
	/* Private to code.c and returns.c. */
	uint64_t *noreturn_slots; /* sorted: addresses of pointers to functions that never return */
	uint32_t noreturn_slot_count;
	_Atomic uint16_t *returns;	  /* by function: results of returns.c */
	struct sn_code_pointer *pointers; /* sorted; see sn_code_pointer_at */
	size_t pointer_count;
};

/* A word that the loader writes: an address of this module. */
struct sn_code_pointer {
	uint64_t at, value;
};

/*
 * `file` is the module's own; `symbols` a file with its symbol table (the same, or its debug file),
 * or NULL. Both must outlive the code. *code is NULL for an unknown machine. SN_ERR_MEMORY or 0.
 */
int sn_code_open(struct sn_elf_file *file, struct sn_elf_file *symbols, struct sn_code **code);
void sn_code_free(struct sn_code *code);

/* The function or part that holds an address, or SN_CODE_NONE. */
uint32_t sn_code_function_at(const struct sn_code *code, uint64_t address);
/* The bytes from `address` to the end of its section; empty outside of code. */
struct sn_bytes sn_code_bytes(const struct sn_code *code, uint64_t address);
/* The bytes loaded at `address`, code or data; empty if there are none. */
struct sn_bytes sn_code_data(const struct sn_code *code, uint64_t address);
/* The address in the word at `at`, as the loader leaves it; 0 unknown. */
uint64_t sn_code_pointer_at(const struct sn_code *code, uint64_t at);

/* Whether a call to `target`, or through the slot at `slot` (0: none), may return. */
bool sn_code_call_returns(struct sn_code *code, uint64_t target, uint64_t slot);
/* Whether a function of that name is known never to return. */
bool sn_code_name_is_noreturn(const char *symbol);
