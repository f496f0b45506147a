/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line number programs (.debug_line): the line of given addresses, and names of source files.
 * Internal to the DWARF reader (dwarf.h); NVIDIA's dialect (gpu/cubin_lines.c) runs programs too.
 * Rows are matched as they are produced; none is kept.
 */
#pragma once

#include "dwarf_unit.h"
#include "binary/string_pool.h"

struct sn_dwarf_source {
	const char *name; /* NULL unknown */
	uint64_t folder;
	const char *path; /* after its first use; the pool's */
};

/* The header of a program, with its folders and files. */
struct sn_dwarf_lines {
	struct sn_cursor program;
	uint16_t version;
	uint8_t min_instruction_bytes, operations_max, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *operand_counts; /* of opcodes 1 .. opcode_base - 1 */
	const char **folders;
	struct sn_dwarf_source *files; /* from 0, which is the unit's own */
	uint32_t folder_count, file_count;
	size_t folder_capacity, file_capacity;
	bool failed; /* some are missing for lack of memory */
};

/* Reads the header of the unit's program. False if there is none that can be run. `rest` is the
 * data after the tables; a truncated table has its complete entries. */
bool sn_dwarf_lines_read(struct sn_dwarf_unit *unit, struct sn_dwarf_lines *lines,
			 struct sn_cursor *rest);
void sn_dwarf_lines_release(struct sn_dwarf_lines *lines);

struct sn_dwarf_row {
	uint64_t address;
	uint32_t file, line, column, discriminator;
};

/* A program while it runs. Zeroed at first but for its lines and cursor, which is lines->program.
 */
struct sn_dwarf_run {
	const struct sn_dwarf_lines *lines;
	struct sn_cursor cursor;
	struct sn_cursor operands; /* of SN_DWARF_ADDRESS_SET and SN_DWARF_EXTENDED */
	struct sn_dwarf_row row;
	uint32_t operation; /* within an instruction bundle */
	uint8_t opcode;	    /* of SN_DWARF_EXTENDED */
	bool in_sequence;
};

enum sn_dwarf_event {
	SN_DWARF_PROGRAM_END,
	SN_DWARF_ROW,
	SN_DWARF_SEQUENCE_END, /* row.address is one past it */
	SN_DWARF_ADDRESS_SET,
	SN_DWARF_EXTENDED, /* an opcode that this does not know */
};

/* Runs to the next event. Each opcode takes a step from the file's budget. */
enum sn_dwarf_event sn_dwarf_run_next(struct sn_dwarf_run *run, struct sn_dwarf_file *file);

/* An address to look up, and its results. A unit's targets ascend. */
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
/* The normalised path of a file of the unit's line program, in the pool; NULL unknown. */
const char *sn_dwarf_lines_file(struct sn_dwarf_unit *unit, uint64_t file,
				struct sn_string_pool *pool);
/* Frees the unit's program and paths. */
void sn_dwarf_lines_free(struct sn_dwarf_unit *unit);
