/* SPDX-License-Identifier: Apache-2.0 */
/* Line number programs; see dwarf_line.h. */
#include "dwarf_line.h"
#include "base/search.h"
#include "base/vec.h"

#include <stdlib.h>

#define ENTRY_FORMATS_MAX 16
#define PATH_PARTS_MAX	  256

size_t sn_dwarf_target_at(const struct sn_dwarf_target *targets, size_t count, uint64_t address)
{
	return sn_search(i, count, targets[i].address < address);
}

/* ---- tables of folders and files ---- */

static bool add_folder(struct sn_dwarf_lines *lines, const char *name)
{
	lines->failed |=
	    sn_vec_push(&lines->folders, &lines->folder_capacity, &lines->folder_count, name) < 0;
	return !lines->failed;
}

static bool add_file(struct sn_dwarf_lines *lines, const char *name, uint64_t folder)
{
	lines->failed |= sn_vec_push(&lines->files, &lines->file_capacity, &lines->file_count,
				     (struct sn_dwarf_source){name, folder, NULL}) < 0;
	return !lines->failed;
}

/* Versions 2 to 4: names one after the other, numbered from 1; folder 0 is the unit's. */
static void read_tables_before_5(struct sn_dwarf_unit *unit, struct sn_dwarf_lines *lines,
				 struct sn_cursor *cursor)
{
	const char *name;
	add_folder(lines, unit->folder);
	add_file(lines, unit->name, 0);
	while ((name = sn_cursor_string(cursor)) && name[0] && sn_dwarf_spend(unit->file, 1))
		if (!add_folder(lines, name))
			return;
	while ((name = sn_cursor_string(cursor)) && name[0] && sn_dwarf_spend(unit->file, 1)) {
		if (!add_file(lines, name, sn_cursor_uleb(cursor)))
			return;
		sn_cursor_uleb(cursor);
		sn_cursor_uleb(cursor);
	}
}

/* Version 5: entries of a described format, numbered from 0. */
static bool read_table_5(struct sn_dwarf_unit *unit, struct sn_dwarf_lines *lines,
			 struct sn_cursor *cursor, bool are_files)
{
	uint64_t formats[ENTRY_FORMATS_MAX][2];
	uint8_t format_count = sn_cursor_u8(cursor);
	if (format_count > ENTRY_FORMATS_MAX)
		return false;
	for (unsigned i = 0; i < format_count; i++) {
		formats[i][0] = sn_cursor_uleb(cursor);
		formats[i][1] = sn_cursor_uleb(cursor);
	}
	uint64_t count = sn_cursor_uleb(cursor);
	for (uint64_t i = 0; i < count; i++) {
		const char *name = NULL;
		uint64_t folder = 0;
		if (cursor->failed || !sn_dwarf_spend(unit->file, 1))
			return false;
		for (unsigned j = 0; j < format_count; j++) {
			struct sn_dwarf_value value =
			    sn_dwarf_read(unit, cursor, (uint16_t)formats[j][1], 0);
			if (formats[j][0] == DW_LNCT_path)
				name = value.string;
			else if (formats[j][0] == DW_LNCT_directory_index)
				folder = value.number;
		}
		if (!(are_files ? add_file(lines, name, folder) : add_folder(lines, name)))
			return false;
	}
	return !cursor->failed;
}

/* ---- header ---- */

bool sn_dwarf_lines_read(struct sn_dwarf_unit *unit, struct sn_dwarf_lines *lines,
			 struct sn_cursor *rest)
{
	struct sn_cursor all = sn_cursor_at(unit->file->line, unit->line_offset), *cursor = rest;
	/* the assembler may write this section in another format than the compiler the others */
	struct sn_dwarf_unit own_format = *unit;
	uint64_t length = sn_dwarf_initial_length(&all, &own_format.offset_bytes);
	*cursor = sn_cursor_slice(&all, length);
	lines->version = sn_cursor_u16(cursor);
	if (lines->version < 2 || lines->version > 5)
		return false;
	if (lines->version >= 5)
		sn_cursor_skip(cursor, 2); /* bytes of addresses and segment selectors */
	uint64_t header_bytes = sn_cursor_uint(cursor, own_format.offset_bytes);
	lines->program = *cursor;
	sn_cursor_skip(&lines->program, header_bytes);
	lines->min_instruction_bytes = sn_cursor_u8(cursor);
	lines->operations_max = lines->version >= 4 ? sn_cursor_u8(cursor) : 1;
	sn_cursor_u8(cursor); /* default_is_stmt: every row counts */
	lines->line_base = (int8_t)sn_cursor_u8(cursor);
	lines->line_range = sn_cursor_u8(cursor);
	lines->opcode_base = sn_cursor_u8(cursor);
	lines->operand_counts = cursor->at;
	sn_cursor_skip(cursor, lines->opcode_base ? lines->opcode_base - 1u : 0);
	if (cursor->failed || lines->program.failed || lines->line_range == 0 ||
	    lines->opcode_base == 0)
		return false;
	if (lines->version < 5)
		read_tables_before_5(unit, lines, cursor);
	else if (read_table_5(&own_format, lines, cursor, false))
		read_table_5(&own_format, lines, cursor, true);
	return true;
}

void sn_dwarf_lines_release(struct sn_dwarf_lines *lines)
{
	free(lines->folders);
	free(lines->files);
}

static struct sn_dwarf_lines *lines_of(struct sn_dwarf_unit *unit)
{
	struct sn_cursor rest;
	if (unit->lines || !unit->has_lines)
		return unit->lines;
	unit->lines = calloc(1, sizeof(*unit->lines));
	if (unit->lines && !sn_dwarf_lines_read(unit, unit->lines, &rest)) {
		sn_dwarf_lines_free(unit);
		unit->has_lines = false;
	}
	return unit->lines;
}

void sn_dwarf_lines_free(struct sn_dwarf_unit *unit)
{
	if (unit->lines)
		sn_dwarf_lines_release(unit->lines);
	free(unit->lines);
	unit->lines = NULL;
}

/* ---- the program ---- */

static void advance(struct sn_dwarf_run *run, uint64_t operations)
{
	const struct sn_dwarf_lines *lines = run->lines;
	if (lines->operations_max > 1) {
		uint64_t total = run->operation + operations;
		run->operation = (uint32_t)(total % lines->operations_max);
		operations = total / lines->operations_max;
	}
	run->row.address += operations * lines->min_instruction_bytes;
}

/* SN_DWARF_PROGRAM_END: no event. */
static enum sn_dwarf_event run_extended(struct sn_dwarf_run *run)
{
	uint64_t length = sn_cursor_uleb(&run->cursor);
	struct sn_cursor operands = sn_cursor_slice(&run->cursor, length);
	if (operands.failed || length == 0)
		return SN_DWARF_PROGRAM_END;
	run->opcode = sn_cursor_u8(&operands);
	run->operands = operands;
	switch (run->opcode) {
	case DW_LNE_end_sequence:
		run->in_sequence = false;
		return SN_DWARF_SEQUENCE_END;
	case DW_LNE_set_address:
		run->row.address =
		    sn_cursor_uint(&operands, length - 1 <= 8 ? (unsigned)length - 1 : 8);
		run->operation = 0;
		return SN_DWARF_ADDRESS_SET;
	case DW_LNE_set_discriminator:
		run->row.discriminator = (uint32_t)sn_cursor_uleb(&operands);
		return SN_DWARF_PROGRAM_END;
	}
	return SN_DWARF_EXTENDED;
}

/* All but DW_LNS_copy. */
static void run_standard(struct sn_dwarf_run *run, uint8_t opcode)
{
	const struct sn_dwarf_lines *lines = run->lines;
	struct sn_cursor *cursor = &run->cursor;
	switch (opcode) {
	case DW_LNS_advance_pc:
		advance(run, sn_cursor_uleb(cursor));
		break;
	case DW_LNS_advance_line:
		run->row.line += (uint32_t)sn_cursor_sleb(cursor);
		break;
	case DW_LNS_set_file:
		run->row.file = (uint32_t)sn_cursor_uleb(cursor);
		break;
	case DW_LNS_set_column:
		run->row.column = (uint32_t)sn_cursor_uleb(cursor);
		break;
	case DW_LNS_const_add_pc:
		advance(run, (255u - lines->opcode_base) / lines->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		run->row.address += sn_cursor_u16(cursor);
		run->operation = 0;
		break;
	default: /* negate_stmt and the like, and what later versions add */
		for (unsigned i = 0; i < lines->operand_counts[opcode - 1]; i++)
			sn_cursor_uleb(cursor);
	}
}

enum sn_dwarf_event sn_dwarf_run_next(struct sn_dwarf_run *run, struct sn_dwarf_file *file)
{
	const struct sn_dwarf_lines *lines = run->lines;
	if (!run->in_sequence) {
		run->row = (struct sn_dwarf_row){.file = 1, .line = 1};
		run->operation = 0;
		run->in_sequence = true;
	}
	while (run->cursor.at < run->cursor.end && sn_dwarf_spend(file, 1)) {
		enum sn_dwarf_event event = SN_DWARF_PROGRAM_END;
		uint8_t opcode = sn_cursor_u8(&run->cursor);
		if (opcode >= lines->opcode_base) {
			unsigned adjusted = opcode - lines->opcode_base;
			advance(run, adjusted / lines->line_range);
			run->row.line +=
			    (uint32_t)(lines->line_base + (int)(adjusted % lines->line_range));
			return SN_DWARF_ROW;
		}
		if (opcode == DW_LNS_copy)
			return SN_DWARF_ROW;
		if (opcode == 0)
			event = run_extended(run);
		else
			run_standard(run, opcode);
		if (event != SN_DWARF_PROGRAM_END)
			return event;
	}
	return SN_DWARF_PROGRAM_END;
}

/* ---- the lines of targets ---- */

struct matching {
	struct sn_dwarf_target *targets;
	size_t count;
	size_t at; /* the first target that is not before the last row */
	struct sn_dwarf_row last;
	bool has_last; /* a row of this sequence precedes */
	bool is_dead;  /* the linker discarded the sequence's code */
};

/* What the last row said holds up to here. */
static void add_row(struct matching *matching, const struct sn_dwarf_row *row,
		    const struct sn_elf_file *code)
{
	size_t count = matching->count;
	if (!matching->has_last || row->address < matching->last.address) {
		if (!matching->has_last)
			matching->is_dead = !sn_elf_file_is_code(code, row->address);
		matching->at = sn_dwarf_target_at(matching->targets, count, row->address);
	}
	while (!matching->is_dead && matching->at < count &&
	       matching->targets[matching->at].address < row->address) {
		struct sn_dwarf_target *target = &matching->targets[matching->at++];
		if (target->has_line)
			continue;
		target->has_line = true;
		target->file = matching->last.file;
		target->line = matching->last.line;
		target->column = matching->last.column;
		target->discriminator = matching->last.discriminator;
	}
	matching->has_last = true;
	matching->last = *row;
}

void sn_dwarf_lines_resolve(struct sn_dwarf_unit *unit, const struct sn_elf_file *code,
			    struct sn_dwarf_target *targets, size_t count)
{
	struct sn_dwarf_lines *lines = lines_of(unit);
	struct matching matching = {.targets = targets, .count = count};
	struct sn_dwarf_run run = {.lines = lines};
	enum sn_dwarf_event event;
	if (!lines)
		return;
	run.cursor = lines->program;
	while ((event = sn_dwarf_run_next(&run, unit->file)) != SN_DWARF_PROGRAM_END) {
		if (event != SN_DWARF_ROW && event != SN_DWARF_SEQUENCE_END)
			continue;
		add_row(&matching, &run.row, code);
		run.row.discriminator = 0;
		matching.has_last = event == SN_DWARF_ROW;
	}
}

/* ---- paths ---- */

/* Joins up to three parts, dropping empty ones, "." and "x/..". */
static const char *join_path(const char *const parts[3], struct sn_string_pool *pool)
{
	char path[4096];
	size_t starts[PATH_PARTS_MAX], depth = 0, length = 0;
	for (unsigned p = 0; p < 3; p++) {
		const char *at = parts[p] ? parts[p] : "";
		if (at[0] == '/') {
			length = depth = 0;
			path[length++] = '/';
		}
		while (*at) {
			size_t bytes = strcspn(at, "/");
			bool is_up = bytes == 2 && memcmp(at, "..", 2) == 0;
			if (is_up && depth > 0) {
				length = starts[--depth];
			} else if (bytes > 0 && !(bytes == 1 && at[0] == '.')) {
				if (length + bytes + 2 > sizeof(path) || depth == PATH_PARTS_MAX)
					return NULL;
				/* what ".." goes up from must be known */
				if (!is_up)
					starts[depth++] = length;
				if (length > 0 && path[length - 1] != '/')
					path[length++] = '/';
				memcpy(path + length, at, bytes);
				length += bytes;
			}
			at += bytes + (at[bytes] == '/');
		}
	}
	struct sn_pooled *pooled = length > 0 ? sn_string_pool_intern(pool, path, length) : NULL;
	return pooled ? pooled->text : NULL;
}

const char *sn_dwarf_lines_file(struct sn_dwarf_unit *unit, uint64_t file,
				struct sn_string_pool *pool)
{
	struct sn_dwarf_lines *lines = lines_of(unit);
	if (!lines || file >= lines->file_count || !lines->files[file].name)
		return NULL;
	struct sn_dwarf_source *entry = &lines->files[file];
	if (!entry->path) {
		const char *folder =
		    entry->folder < lines->folder_count ? lines->folders[entry->folder] : NULL;
		entry->path =
		    join_path((const char *const[3]){unit->folder, folder, entry->name}, pool);
	}
	return entry->path;
}
