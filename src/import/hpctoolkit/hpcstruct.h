/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program structure as HPCToolkit's hpcstruct writes it (.hpcstruct: XML, version 4.x, also
 * compressed by gzip), and as `sonde structure --format xml` does: of each load module (LM) the
 * files (F), functions (P), loops (L), inlined calls (a pair of A) and lines (S; C is a line that
 * calls), with the addresses of each line.
 *
 * Unknown elements are skipped with their contents. If two lines claim an address, the first one
 * gets it, as in hpcstruct's own reader.
 */
#pragma once

#include "base/error.h"
#include "base/intern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_HPCSTRUCT_NONE UINT32_MAX

enum sn_hpcstruct_kind { SN_HPCSTRUCT_FUNCTION, SN_HPCSTRUCT_LOOP, SN_HPCSTRUCT_LINE };

struct sn_hpcstruct_function {
	uint32_t name, file; /* strings; the file SN_HPCSTRUCT_NONE where unknown */
	uint32_t link_name;  /* string: the symbol; SN_HPCSTRUCT_NONE where it is the name */
	uint32_t line;
	bool is_inlined; /* an instance of it in another function */
	uint64_t entry;	 /* 0 where inlined */
};

/* A scope inside the one that is its parent. */
struct sn_hpcstruct_node {
	uint32_t parent; /* SN_HPCSTRUCT_NONE: a function */
	enum sn_hpcstruct_kind kind;
	uint32_t function;   /* FUNCTION */
	uint32_t file, line; /* LOOP, LINE */
	uint64_t address;    /* LOOP: of its head */
};

/* Addresses begin .. end - 1 are of this line. */
struct sn_hpcstruct_leaf {
	uint64_t begin, end;
	uint32_t node;
	uint32_t function; /* that the code belongs to */
};

struct sn_hpcstruct_call {
	uint64_t address; /* of the instruction that calls */
	uint32_t caller, callee;
};

struct sn_hpcstruct {
	struct sn_intern strings; /* without a NUL */
	struct sn_hpcstruct_function *functions;
	struct sn_hpcstruct_node *nodes;
	struct sn_hpcstruct_leaf *leaves; /* by address */
	struct sn_hpcstruct_call *calls;
	size_t function_count, node_count, leaf_count, call_count;
	bool has_calls;	    /* the file tells that calls were recorded */
	bool calls_damaged; /* the target of a call is no function */
};

/*
 * Calls `found` with the name of each load module in the file, in order; stops where it returns
 * other than 0 and returns that. `index` counts them.
 */
typedef int sn_hpcstruct_found(void *context, const char *name, uint32_t index);
int sn_hpcstruct_list(const char *path, sn_hpcstruct_found *found, void *context,
		      struct sn_error *error);

/* Reads load module `index`. Release in either case. */
int sn_hpcstruct_read(struct sn_hpcstruct *structure, const char *path, uint32_t index,
		      struct sn_error *error);
void sn_hpcstruct_release(struct sn_hpcstruct *structure);

/* The leaf with that address, or NULL. */
const struct sn_hpcstruct_leaf *sn_hpcstruct_find(const struct sn_hpcstruct *structure,
						  uint64_t address);
