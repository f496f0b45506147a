/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line number programs (.debug_line): the line of given addresses, and names of source files.
 * Internal to the DWARF reader (dwarf.h). Rows are matched as they are produced; none is kept.
 */
#ifndef SN_BINARY_DWARF_LINE_H
#define SN_BINARY_DWARF_LINE_H

#include "dwarf_unit.h"
#include "binary/string_pool.h"

/* An address that is sought, and what was found. A unit's targets ascend. */
struct sn_dwarf_target {
	uint64_t address;
	uint32_t unit;
	uint32_t index; /* in the caller's array */
	uint32_t node;	/* the innermost function, see dwarf_function.h */
	uint32_t file, line, column;
	uint32_t discriminator; /* of blocks of code at one line and column; 0 mostly */
	uint32_t block;		/* the lexical block around it, within `node`; 0 none */
	bool has_line;
};

/* The first target at or after an address. */
size_t sn_dwarf_target_at(const struct sn_dwarf_target *targets, size_t count, uint64_t address);

/* Runs the unit's line program; fills in file, line and has_line. */
void sn_dwarf_lines_resolve(struct sn_dwarf_unit *unit, const struct sn_elf_file *code,
			    struct sn_dwarf_target *targets, size_t count);
/* The path of a file of the unit's line program, tidied and kept in the pool; NULL unknown. */
const char *sn_dwarf_lines_file(struct sn_dwarf_unit *unit, uint64_t file,
				struct sn_string_pool *pool);
void sn_dwarf_lines_free(struct sn_dwarf_unit *unit);

#endif
