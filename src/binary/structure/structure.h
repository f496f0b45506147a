/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structure of a whole binary: for each function a tree of loops, inlined calls and lines.
 *
 * Functions are analysed in parallel, in batches that do not depend on the number of threads, and
 * passed on in the order of their addresses: the same file always gives the same calls. Memory
 * holds only a few batches. code.h finds functions, nest.h places loops among inlined calls.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SN_SCOPE_NONE UINT32_MAX

enum sn_scope_kind { SN_SCOPE_FUNCTION, SN_SCOPE_LOOP, SN_SCOPE_INLINED, SN_SCOPE_LINE };

struct sn_scope {
	enum sn_scope_kind kind;
	uint32_t parent, first_child, next; /* scopes, by the lowest address; SN_SCOPE_NONE */
	const char *name;		    /* functions: readable; NULL unknown */
	const char *linkage_name;	    /* ... their symbol if it differs; NULL */
	const char *file;		    /* NULL unknown */
	uint32_t line;	    /* of a line or loop; where a function is declared; 0 unknown */
	uint32_t last_line; /* the greatest of its lines in `file` */
	uint32_t call_line; /* inlined: where it was called, in the file of the scope around it */
	const char *call_file;
	uint64_t start;			  /* a loop's header, else the lowest address */
	uint64_t bytes;			  /* of instructions in it, with all below */
	uint32_t first_range, last_range; /* of instructions in it but not in a child */
	uint32_t number;	/* among several loops of one line, from 1; 0 the only one */
	uint32_t machine_loops; /* the compiler's loops for it */
	bool is_irreducible;	/* one of them is entered at several places */
};

struct sn_scope_range {
	uint64_t start, end;
	uint32_t next; /* SN_SCOPE_NONE */
};

/* A call instruction. */
struct sn_structure_call {
	uint64_t start, end;
	uint64_t target; /* 0: known only at run time */
};

struct sn_structure_function {
	const struct sn_scope *scopes; /* scopes[0] is the function itself */
	const struct sn_scope_range *ranges;
	uint32_t scope_count;
	uint32_t block_count;
	uint32_t loop_count;	    /* of the binary, before those of one line are united */
	uint32_t irreducible_count; /* ... of them */
	uint32_t jump_count;	    /* indirect ones */
	uint32_t unresolved_count;  /* ... that are unresolved */
	const struct sn_structure_call *calls; /* by address; if requested */
	uint32_t call_count;
};

struct sn_structure_options {
	unsigned jobs;		/* threads; 0: one for each processor */
	const char *debug_path; /* as in struct sn_symbolizer_options */
	const char *function;	/* only functions with this name or symbol; NULL all */
	bool wants_calls;
	bool no_lines; /* neither lines nor inlined calls, unless they contain a loop */
};

struct sn_structure_info {
	const char
	    *machine;	    /* "x86-64", "AArch64"; of GPU binaries the target: "sm_90", "gfx90a" */
	const char *status; /* enum sn_symbol_status, as text */
	char build_id[129]; /* in hexadecimal; "" without */
	bool has_lines, has_jump_tables;
	uint64_t code_bytes;
};

struct sn_structure;

/* Also for a file that is a GPU binary. SN_ERR_IO, SN_ERR_FORMAT (no ELF file, no known machine),
 * SN_ERR_UNSUPPORTED (a GPU that is too old), SN_ERR_MEMORY. */
int sn_structure_open(const char *path, const struct sn_structure_options *options,
		      struct sn_structure **structure, struct sn_error *error);
/* The same for a GPU binary in memory, as found by gpu/bundle.h; it must outlive the structure.
 * `name` is its name in errors. */
int sn_structure_open_image(const void *image, size_t bytes, const char *name,
			    const struct sn_structure_options *options,
			    struct sn_structure **structure, struct sn_error *error);
void sn_structure_free(struct sn_structure *structure);
const struct sn_structure_info *sn_structure_info(const struct sn_structure *structure);

struct sn_structure_writer {
	/* Writes one function; called by several threads at once. MT: must be. */
	void (*write)(void *data, const struct sn_structure_function *function, FILE *out);
	/* Receives the text of the next functions, in order; called by one thread at a time, which
	 * may be any thread. False: stop. */
	bool (*put)(void *data, const char *text, size_t length);
	void *data;
};

/* SN_ERR_MEMORY or 0, also if `put` stopped it. */
int sn_structure_write(struct sn_structure *structure, const struct sn_structure_writer *writer,
		       struct sn_error *error);
