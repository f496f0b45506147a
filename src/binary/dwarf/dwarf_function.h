/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions and inlined calls around given addresses, and their names.
 * Internal to the DWARF reader (dwarf.h).
 */
#pragma once

#include "dwarf_line.h"

#define SN_DWARF_NO_NODE UINT32_MAX

/* A function, or an inlined call in one, that encloses a target. */
struct sn_dwarf_node {
	uint32_t parent; /* SN_DWARF_NO_NODE: a physical function */
	uint32_t call_line, call_column, call_discriminator;
	uint32_t call_block; /* the lexical block of the parent that the call is in */
	uint64_t call_file;  /* of the unit's line program */
	uint64_t die;	     /* offset of its entry, in the unit's file */
	uint64_t start;	     /* its entry */
};

struct sn_dwarf_nodes {
	struct sn_dwarf_node *list;
	uint32_t count;
	size_t capacity;
};

/* Finds the innermost node of each target of a unit; targets' nodes start SN_DWARF_NO_NODE. 0 or
 * SN_ERR_MEMORY. `nodes` is appended to. */
int sn_dwarf_functions_resolve(struct sn_dwarf_unit *unit, const struct sn_elf_file *code,
			       struct sn_dwarf_target *targets, size_t count,
			       struct sn_dwarf_nodes *nodes);

struct sn_dwarf_function {
	const char *linkage_name, *name; /* in the file, or the pool's; NULL none */
	uint32_t line;			 /* where it is declared */
};

/* The names of a function: follows abstract origins and specifications, and puts the scopes in
 * front of a name without a symbol. */
struct sn_dwarf_function sn_dwarf_function_at(struct sn_dwarf_unit *unit, uint64_t die,
					      struct sn_string_pool *pool);
