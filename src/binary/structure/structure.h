/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structure of a whole binary: of each function a tree of what its instructions are in, in the
 * source: loops, inlined calls, lines.
 *
 * Functions are worked on in parallel, in batches that do not depend on the number of threads, and
 * are given in the order of their addresses: the same file gives the same calls, always. Memory
 * holds a few batches, never the whole. Which functions there are says code.h, where loops stand
 * among inlined calls nest.h.
 */
#ifndef SN_BINARY_STRUCTURE_STRUCTURE_H
#define SN_BINARY_STRUCTURE_STRUCTURE_H

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
	const char *name;		    /* functions: for people; NULL unknown */
	const char *linkage_name;	    /* ... their symbol where that is another; NULL */
	const char *file;		    /* NULL unknown */
	uint32_t line;	    /* of a line or loop; where a function is declared; 0 unknown */
	uint32_t last_line; /* the greatest in `file` that lies in it */
	uint32_t call_line; /* inlined: where it was called, in the file of the scope around it */
	const char *call_file;
	uint64_t start;			  /* a loop's header, else the lowest address */
	uint64_t bytes;			  /* of instructions in it, with all below */
	uint32_t first_range, last_range; /* of instructions in it but not in a child */
	uint32_t number;	/* of several loops of one line: which, from 1; 0 the only one */
	uint32_t machine_loops; /* that the compiler made of a loop */
	bool is_irreducible;	/* one of them is entered at several places */
};

struct sn_scope_range {
	uint64_t start, end;
	uint32_t next; /* SN_SCOPE_NONE */
};

/* A call instruction. */
struct sn_structure_call {
	uint64_t start, end;
	uint64_t target; /* 0: known only when it runs */
};

struct sn_structure_function {
	const struct sn_scope *scopes; /* scopes[0] is the function itself */
	const struct sn_scope_range *ranges;
	uint32_t scope_count, range_count;
	uint64_t end;	     /* of the function's part that begins at its start */
	uint32_t part_count; /* 1, and its split-off parts */
	uint32_t block_count;
	uint32_t loop_count;	    /* of the binary, before those of one line are united */
	uint32_t irreducible_count; /* ... of them */
	uint32_t jump_count;	    /* indirect ones */
	uint32_t unresolved_count;  /* ... that are not understood */
	const struct sn_structure_call *calls; /* by address; where they are wanted */
	uint32_t call_count;
};

struct sn_structure_options {
	unsigned jobs;		/* threads; 0: one for each processor */
	const char *debug_path; /* as in struct sn_symbolizer_options */
	const char *function;	/* only functions whose name or symbol this is; NULL all */
	bool wants_calls;
	bool no_lines; /* neither lines nor what is inlined, unless a loop is in it */
};

struct sn_structure_info {
	const char
	    *machine;	    /* "x86-64", "AArch64"; of GPU binaries the target: "sm_90", "gfx90a" */
	const char *status; /* enum sn_symbol_status, for people */
	char build_id[129]; /* in hexadecimal; "" without */
	bool has_lines, has_jump_tables;
	uint64_t code_bytes;
};

struct sn_structure;

/* Also of a file that is a GPU binary. SN_ERR_IO, SN_ERR_FORMAT (no ELF file, no known machine),
 * SN_ERR_UNSUPPORTED (a GPU that is too old), SN_ERR_MEMORY. */
int sn_structure_open(const char *path, const struct sn_structure_options *options,
		      struct sn_structure **structure, struct sn_error *error);
/* The same of a GPU binary in memory, as gpu/bundle.h finds them; it outlives the structure. `name`
 * is what errors call it. */
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

/* SN_ERR_MEMORY or 0, also where `put` stopped it. */
int sn_structure_write(struct sn_structure *structure, const struct sn_structure_writer *writer,
		       struct sn_error *error);

#endif
