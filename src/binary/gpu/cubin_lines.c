/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and inlined calls of NVIDIA's cubins, from .debug_line.
 *
 * It is a line number program of DWARF 2 with two additions. The header ends with four bytes more:
 * where the unit's names of functions begin in .debug_str. And the extended opcode 0x90 (context,
 * name) says of the rows that follow that they were inlined: context is the number of an earlier
 * row of the sequence, counted from 1, which is the call, and name the function's offset among the
 * unit's names; context 0 ends that. Inlined calls nest because the row of a call may be in an
 * inlined function itself. Addresses are relocated by .rel.debug_line or .rela.debug_line.
 */
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "binary/dwarf/dwarf_line.h"
#include "gpu_private.h"

#include <stdio.h>
#include <string.h>

enum { INLINED_CALL = 0x90 };

struct relocation {
	uint64_t offset; /* in .debug_line */
	uint64_t value;
	bool has_addend; /* else it lies in the section */
};

struct row {
	struct sn_dwarf_row at;
	uint32_t inlined;
};

struct lines {
	struct sn_gpu_binary *binary;
	struct sn_dwarf_file file;
	struct relocation *relocations; /* by offset */
	size_t relocation_count, relocation_capacity;
	/* of the unit */
	struct sn_dwarf_lines unit;
	uint64_t names; /* in .debug_str */
	/* of the sequence */
	struct row *rows;
	size_t row_count, row_capacity;
	uint64_t context, name; /* of INLINED_CALL */
	bool has_address; /* a relocated one: without it the function of these lines is unknown */
	bool failed;
};

SN_SORT_BY(sort_by_offset, struct relocation, const void *, SN_ORDER(a->offset, b->offset));

static void read_relocations(struct lines *lines, const char *name)
{
	struct sn_elf_file *file = lines->binary->private->file;
	struct sn_elf_relocations relocations =
	    sn_elf_relocations(file, sn_elf_file_section(file, name));
	Elf64_Rela entry;
	Elf64_Sym symbol;
	while (sn_elf_relocations_next(&relocations, &entry)) {
		if (!sn_elf_symbol_at(&relocations.symbols, ELF64_R_SYM(entry.r_info), &symbol) ||
		    symbol.st_shndx >= file->section_count)
			continue;
		uint64_t value = file->sections[symbol.st_shndx].header.sh_offset +
				 symbol.st_value + (uint64_t)entry.r_addend;
		lines->failed |=
		    sn_vec_push(
			&lines->relocations, &lines->relocation_capacity, &lines->relocation_count,
			(struct relocation){entry.r_offset, value, relocations.has_addends}) < 0;
	}
}

/* The path of a file of the unit, counted from 1; NULL unknown. */
static const char *path_of(struct lines *lines, uint64_t number)
{
	char path[4096];
	if (number >= lines->unit.file_count || !lines->unit.files[number].name)
		return NULL;
	struct sn_dwarf_source *file = &lines->unit.files[number];
	const char *folder =
	    file->folder < lines->unit.folder_count ? lines->unit.folders[file->folder] : NULL;
	if (file->path)
		return file->path;
	bool is_whole = !folder || file->name[0] == '/';
	int length = is_whole ? 0 : snprintf(path, sizeof(path), "%s/%s", folder, file->name);
	if (length < (int)sizeof(path))
		file->path = sn_string_pool_string(&lines->binary->private->pool,
						   is_whole ? file->name : path);
	return file->path;
}

/* The inlined call that the next row is in, or SN_GPU_NONE. */
static uint32_t inlined_of_row(struct lines *lines)
{
	if (lines->context == 0 || lines->context > lines->row_count)
		return SN_GPU_NONE;
	const struct row *call = &lines->rows[lines->context - 1];
	struct sn_bytes strings = lines->file.str;
	const char *name = lines->name < strings.size - lines->names
			       ? sn_bytes_string(strings, lines->names + lines->name)
			       : NULL;
	return sn_gpu_add_inlined(lines->binary, call->inlined, path_of(lines, call->at.file),
				  call->at.line,
				  sn_string_pool_string(&lines->binary->private->pool, name));
}

static void begin_sequence(struct lines *lines)
{
	lines->row_count = 0;
	lines->context = lines->name = 0;
	lines->has_address = false;
}

/* Of rows at one address the last is the line; those before it are calls that were inlined. */
static void end_sequence(struct lines *lines, uint64_t end)
{
	for (size_t i = 0; i < lines->row_count && lines->has_address; i++) {
		const struct row *row = &lines->rows[i];
		struct sn_gpu_line line = {.start = row->at.address,
					   .end =
					       i + 1 < lines->row_count ? row[1].at.address : end,
					   .file = path_of(lines, row->at.file),
					   .line = row->at.line,
					   .inlined = row->inlined};
		sn_gpu_add_line(lines->binary, &line);
	}
	begin_sequence(lines);
}

static void set_address(struct lines *lines, struct sn_dwarf_run *run)
{
	uint64_t offset = (uint64_t)(run->operands.at - lines->file.line.data);
	size_t first = sn_search(i, lines->relocation_count, lines->relocations[i].offset < offset);
	lines->has_address =
	    first < lines->relocation_count && lines->relocations[first].offset == offset;
	if (!lines->has_address)
		return;
	const struct relocation *relocation = &lines->relocations[first];
	run->row.address = relocation->value + (relocation->has_addend ? 0 : run->row.address);
}

static void run(struct lines *lines)
{
	struct sn_dwarf_run run = {.lines = &lines->unit, .cursor = lines->unit.program};
	enum sn_dwarf_event event;
	begin_sequence(lines);
	while ((event = sn_dwarf_run_next(&run, &lines->file)) != SN_DWARF_PROGRAM_END) {
		if (event == SN_DWARF_ROW) {
			struct row row = {run.row, inlined_of_row(lines)};
			lines->failed |= sn_vec_push(&lines->rows, &lines->row_capacity,
						     &lines->row_count, row) < 0;
		} else if (event == SN_DWARF_SEQUENCE_END) {
			end_sequence(lines, run.row.address);
		} else if (event == SN_DWARF_ADDRESS_SET) {
			set_address(lines, &run);
		} else if (run.opcode == INLINED_CALL) {
			lines->context = sn_cursor_uleb(&run.operands);
			lines->name = sn_cursor_uleb(&run.operands);
		}
	}
}

static void read_unit(struct lines *lines, uint64_t offset)
{
	struct sn_dwarf_unit unit = {.file = &lines->file, .line_offset = offset};
	struct sn_cursor rest;
	lines->unit = (struct sn_dwarf_lines){0};
	if (sn_dwarf_lines_read(&unit, &lines->unit, &rest) && lines->unit.version < 5) {
		const uint8_t *program = lines->unit.program.at;
		lines->names = rest.at + 4 <= program ? sn_cursor_u32(&rest) : 0;
		if (lines->names > lines->file.str.size)
			lines->names = lines->file.str.size;
		run(lines);
	}
	lines->failed |= lines->unit.failed;
	sn_dwarf_lines_release(&lines->unit);
}

int sn_cubin_lines(struct sn_gpu_binary *binary)
{
	struct sn_elf_file *file = binary->private->file;
	uint64_t budget = UINT64_MAX;
	struct lines lines = {.binary = binary, .file.budget = &budget};
	lines.file.line = sn_elf_file_contents(file, ".debug_line");
	lines.file.str = sn_elf_section_strings(file, sn_elf_file_section(file, ".debug_str"));
	read_relocations(&lines, ".rel.debug_line");
	read_relocations(&lines, ".rela.debug_line");
	sort_by_offset(lines.relocations, lines.relocation_count, NULL);
	struct sn_cursor units = sn_cursor_at(lines.file.line, 0);
	while (sn_cursor_left(&units) > 4 && !lines.failed) {
		uint64_t offset = (uint64_t)(units.at - lines.file.line.data);
		uint8_t offset_bytes;
		sn_cursor_skip(&units, sn_dwarf_initial_length(&units, &offset_bytes));
		if (!units.failed)
			read_unit(&lines, offset);
	}
	free(lines.relocations);
	free(lines.rows);
	return lines.failed ? SN_ERR_MEMORY : 0;
}
