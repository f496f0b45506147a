/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load modules of HPCToolkit measurements and the data of their addresses: program structure
 * (hpcstruct.h), kernel symbols, tables of logical code (an interpreter's functions).
 *
 * Structure is found by the module's path and read when the module is first used. Binaries on this
 * machine are not read: measurements have no build ids, and a wrong name is worse than none. The
 * vdso has no file: hpcrun keeps a copy (vdso/HASH.vdso), whose symbols name its functions if there
 * is no structure of it or none is requested. If the copy is missing, structure of the vdso is only
 * used for the functions' names.
 */
#pragma once

#include "hpcstruct.h"
#include "hpctoolkit_tree.h"

#include "base/arena.h"
#include "base/buffer.h"

struct sn_hpct_symbol {
	uint64_t address;
	uint64_t end;  /* one past it; UINT64_MAX: the next symbol's address */
	uint32_t name; /* builder's string */
};

/* A function or a file of logical code, by number. */
struct sn_hpct_logical {
	uint32_t id;
	uint32_t name, file; /* builder's strings or SONDE_NONE */
	uint32_t line;
};

struct sn_hpct_module {
	char *path; /* absolute where the folder is known */
	char *file; /* the file in the measurement that has its symbols; path: maybe the same */
	uint32_t module; /* builder's */
	bool is_gpu;
	bool is_read;	      /* the following fields have been read */
	bool is_symbols_only; /* of the structure, names of functions alone are used */
	struct sn_hpcstruct structure;
	struct sn_hpct_symbol *symbols; /* by address */
	size_t symbol_count;
	bool is_logical;
	uint32_t logical_module;	  /* builder's */
	struct sn_hpct_logical *logicals; /* by id */
	size_t logical_count;
};

struct sn_hpct_structure_file {
	char *path;	/* of the file */
	char *module;	/* that it is of: absolute, or as the file has it */
	uint32_t index; /* in the file */
};

struct sn_hpct_code {
	struct sn_hpct_tree *tree;
	struct sn_arena arena; /* of paths */
	struct sn_buffer scratch;
	struct sn_hpct_module *modules;
	size_t module_count, module_capacity;
	struct sn_intern paths; /* number of a module by its absolute path */
	struct sn_hpct_structure_file *structures;
	size_t structure_count, structure_capacity;
	bool no_structure;
};

void sn_hpct_code_release(struct sn_hpct_code *code);

/* Lists the structure files of a folder, or one such file. `base` is the measurement folder that
 * relative names of modules count from, or NULL. */
int sn_hpct_code_structures(struct sn_hpct_code *code, const char *path, const char *base,
			    struct sn_error *error);

/* The number of a module: `path` as a profile in the folder `base` (absolute) has it. */
int sn_hpct_code_module(struct sn_hpct_code *code, const char *base, const char *path,
			uint32_t *module, struct sn_error *error);
/* Reads all data of a module, once. Numbers stay valid, pointers to modules only until the next
 * module is added. */
int sn_hpct_code_load(struct sn_hpct_code *code, uint32_t module, struct sn_error *error);

/* The contexts below a parent that calls an address. */
struct sn_hpct_place_found {
	uint32_t full;	 /* the context of the instruction */
	uint32_t called; /* the outermost context added for it: the function that was called */
};
/* The module has been loaded. SONDE_NONE in both without memory. */
struct sn_hpct_place_found sn_hpct_code_place(struct sn_hpct_code *code, uint32_t parent,
					      uint32_t module, uint64_t offset);
/* The context of a function of a module's structure, called by `parent`. */
uint32_t sn_hpct_code_function(struct sn_hpct_code *code, uint32_t parent,
			       enum sn_hpct_relation relation, uint32_t module, uint32_t function);
