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
#include "base/intern.h"
#include "base/search.h"
#include "base/vec.h"
#include "gpu_private.h"

#include <stdio.h>
#include <string.h>

enum {
	LNS_COPY = 1,
	LNS_ADVANCE_PC,
	LNS_ADVANCE_LINE,
	LNS_SET_FILE,
	LNS_SET_COLUMN,
	LNS_NEGATE_STMT,
	LNS_SET_BASIC_BLOCK,
	LNS_CONST_ADD_PC,
	LNS_FIXED_ADVANCE_PC,
	LNE_END_SEQUENCE = 1,
	LNE_SET_ADDRESS = 2,
	LNE_DEFINE_FILE = 3,
	LNE_INLINED_CALL = 0x90,
};

struct relocation {
	uint64_t offset; /* in .debug_line */
	uint64_t value;
	bool has_addend; /* else it lies in the section */
};

struct row {
	uint64_t address;
	uint32_t file, line;
	uint32_t inlined;
};

struct source_file {
	const char *name;
	uint64_t folder;
	const char *path; /* once asked for */
};

struct lines {
	struct sn_gpu_binary *binary;
	struct sn_bytes section, strings;
	struct relocation *relocations; /* by offset */
	size_t relocation_count, relocation_capacity;
	struct sn_intern inlined; /* struct sn_gpu_inlined */
	/* of the unit */
	const char **folders;
	struct source_file *files;
	size_t folder_count, folder_capacity, file_count, file_capacity;
	uint8_t line_range, opcode_base, least_bytes;
	int8_t line_base;
	uint8_t opcode_operands[256];
	uint64_t names; /* in .debug_str */
	/* of the sequence */
	struct row *rows;
	size_t row_count, row_capacity;
	uint64_t address;
	uint64_t file, line;
	uint64_t context, name; /* of LNE_INLINED_CALL */
	bool has_address;	/* a relocated one: without, nobody knows whose lines these are */
};

static int by_offset(const void *a, const void *b)
{
	const struct relocation *x = a, *y = b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool symbol_address(const struct sn_elf_file *file, struct sn_bytes symbols, uint64_t index,
			   uint64_t *address)
{
	Elf64_Sym symbol;
	if (index >= symbols.size / sizeof(symbol))
		return false;
	memcpy(&symbol, symbols.data + index * sizeof(symbol), sizeof(symbol));
	if (symbol.st_shndx >= file->section_count)
		return false;
	*address = file->sections[symbol.st_shndx].header.sh_offset + symbol.st_value;
	return true;
}

static int read_relocations(struct lines *lines, const char *name)
{
	struct sn_elf_file *file = lines->binary->private->file;
	struct sn_elf_section *section = sn_elf_file_section(file, name);
	if (!section || section->header.sh_link >= file->section_count)
		return 0;
	struct sn_bytes entries = sn_elf_section_contents(file, section);
	struct sn_bytes symbols =
	    sn_elf_section_contents(file, &file->sections[section->header.sh_link]);
	bool has_addend = section->header.sh_type == SHT_RELA;
	size_t size = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	for (size_t i = 0; i + size <= entries.size; i += size) {
		Elf64_Rela entry = {0};
		uint64_t value;
		memcpy(&entry, entries.data + i, size);
		if (!symbol_address(file, symbols, ELF64_R_SYM(entry.r_info), &value))
			continue;
		if (sn_vec_reserve(&lines->relocations, &lines->relocation_capacity,
				   lines->relocation_count + 1) != 0)
			return SN_ERR_MEMORY;
		lines->relocations[lines->relocation_count++] = (struct relocation){
		    entry.r_offset, value + (uint64_t)entry.r_addend, has_addend};
	}
	return 0;
}

static const struct relocation *relocation_at(const struct lines *lines, uint64_t offset)
{
	size_t first = sn_search(i, lines->relocation_count, lines->relocations[i].offset < offset);
	if (first == lines->relocation_count || lines->relocations[first].offset != offset)
		return NULL;
	return &lines->relocations[first];
}

static int read_folders(struct lines *lines, struct sn_cursor *cursor)
{
	lines->folder_count = 0;
	for (;;) {
		const char *folder = sn_cursor_string(cursor);
		if (!folder || !folder[0])
			return 0;
		if (sn_vec_reserve(&lines->folders, &lines->folder_capacity,
				   lines->folder_count + 1) != 0)
			return SN_ERR_MEMORY;
		lines->folders[lines->folder_count++] = folder;
	}
}

static int add_file(struct lines *lines, struct sn_cursor *cursor, const char *name)
{
	if (sn_vec_reserve(&lines->files, &lines->file_capacity, lines->file_count + 1) != 0)
		return SN_ERR_MEMORY;
	struct source_file *file = &lines->files[lines->file_count++];
	*file = (struct source_file){.name = name, .folder = sn_cursor_uleb(cursor)};
	sn_cursor_uleb(cursor);
	sn_cursor_uleb(cursor);
	return 0;
}

static int read_files(struct lines *lines, struct sn_cursor *cursor)
{
	lines->file_count = 0;
	for (;;) {
		const char *name = sn_cursor_string(cursor);
		if (!name || !name[0])
			return 0;
		if (add_file(lines, cursor, name) != 0)
			return SN_ERR_MEMORY;
	}
}

/* The path of a file of the unit, counted from 1; NULL unknown. */
static const char *path_of(struct lines *lines, uint64_t number)
{
	if (number == 0 || number > lines->file_count)
		return NULL;
	struct source_file *file = &lines->files[number - 1];
	if (file->path)
		return file->path;
	struct sn_string_pool *pool = &lines->binary->private->pool;
	const char *folder = file->folder > 0 && file->folder <= lines->folder_count
				 ? lines->folders[file->folder - 1]
				 : NULL;
	if (!folder || file->name[0] == '/') {
		file->path = sn_string_pool_string(pool, file->name);
		return file->path;
	}
	char path[4096];
	int length = snprintf(path, sizeof(path), "%s/%s", folder, file->name);
	if (length > 0 && (size_t)length < sizeof(path))
		file->path = sn_string_pool_string(pool, path);
	return file->path;
}

/* The inlined call that the next row is in, or SN_GPU_NONE. */
static int inlined_of_row(struct lines *lines, uint32_t *inlined)
{
	*inlined = SN_GPU_NONE;
	if (lines->context == 0 || lines->context > lines->row_count)
		return 0;
	const struct row *call = &lines->rows[lines->context - 1];
	const char *name = lines->name < lines->strings.size - lines->names
			       ? sn_bytes_string(lines->strings, lines->names + lines->name)
			       : NULL;
	struct sn_gpu_inlined key;
	memset(&key, 0, sizeof(key));
	key.parent = call->inlined;
	key.call_line = call->line;
	key.call_file = path_of(lines, call->file);
	key.function = sn_string_pool_string(&lines->binary->private->pool, name);
	*inlined = sn_intern_add(&lines->inlined, &key, sizeof(key));
	return *inlined == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
}

static int add_row(struct lines *lines)
{
	struct row row = {.address = lines->address,
			  .file = (uint32_t)lines->file,
			  .line = (uint32_t)lines->line};
	if (inlined_of_row(lines, &row.inlined) != 0 ||
	    sn_vec_reserve(&lines->rows, &lines->row_capacity, lines->row_count + 1) != 0)
		return SN_ERR_MEMORY;
	lines->rows[lines->row_count++] = row;
	return 0;
}

static void begin_sequence(struct lines *lines)
{
	lines->row_count = 0;
	lines->address = 0;
	lines->file = lines->line = 1;
	lines->context = lines->name = 0;
	lines->has_address = false;
}

/* Of rows at one address the last is the line; those before it are calls that were inlined. */
static int end_sequence(struct lines *lines)
{
	int status = 0;
	for (size_t i = 0; i < lines->row_count && lines->has_address && status == 0; i++) {
		const struct row *row = &lines->rows[i];
		uint64_t end =
		    i + 1 < lines->row_count ? lines->rows[i + 1].address : lines->address;
		struct sn_gpu_line line = {.start = row->address,
					   .end = end,
					   .file = path_of(lines, row->file),
					   .line = row->line,
					   .inlined = row->inlined};
		status = sn_gpu_add_line(lines->binary, &line);
	}
	begin_sequence(lines);
	return status;
}

static void set_address(struct lines *lines, struct sn_cursor *cursor, uint64_t bytes)
{
	uint64_t offset = (uint64_t)(cursor->at - lines->section.data);
	const struct relocation *relocation = relocation_at(lines, offset);
	uint64_t value = sn_cursor_uint(cursor, bytes > 8 ? 8 : (unsigned)bytes);
	lines->has_address = relocation != NULL;
	if (relocation)
		lines->address = relocation->value + (relocation->has_addend ? 0 : value);
}

static int extended(struct lines *lines, struct sn_cursor *cursor)
{
	uint64_t bytes = sn_cursor_uleb(cursor);
	if (bytes == 0 || bytes > sn_cursor_left(cursor)) {
		sn_cursor_fail(cursor);
		return 0;
	}
	struct sn_cursor own = {cursor->at, cursor->at + bytes, false};
	sn_cursor_skip(cursor, bytes);
	switch (sn_cursor_u8(&own)) {
	case LNE_END_SEQUENCE:
		return end_sequence(lines);
	case LNE_SET_ADDRESS:
		set_address(lines, &own, bytes - 1);
		return 0;
	case LNE_DEFINE_FILE: {
		const char *name = sn_cursor_string(&own);
		return name ? add_file(lines, &own, name) : 0;
	}
	case LNE_INLINED_CALL:
		lines->context = sn_cursor_uleb(&own);
		lines->name = sn_cursor_uleb(&own);
		return 0;
	default:
		return 0;
	}
}

static int standard(struct lines *lines, struct sn_cursor *cursor, uint8_t opcode)
{
	switch (opcode) {
	case LNS_COPY:
		return add_row(lines);
	case LNS_ADVANCE_PC:
		lines->address += sn_cursor_uleb(cursor) * lines->least_bytes;
		return 0;
	case LNS_ADVANCE_LINE:
		lines->line += (uint64_t)sn_cursor_sleb(cursor);
		return 0;
	case LNS_SET_FILE:
		lines->file = sn_cursor_uleb(cursor);
		return 0;
	case LNS_CONST_ADD_PC:
		lines->address +=
		    (uint64_t)((255 - lines->opcode_base) / lines->line_range) * lines->least_bytes;
		return 0;
	case LNS_FIXED_ADVANCE_PC:
		lines->address += sn_cursor_u16(cursor);
		return 0;
	default:
		for (uint8_t i = 0; i < lines->opcode_operands[opcode]; i++)
			sn_cursor_uleb(cursor);
		return 0;
	}
}

static int run(struct lines *lines, struct sn_cursor *cursor)
{
	int status = 0;
	begin_sequence(lines);
	while (status == 0 && sn_cursor_left(cursor) > 0) {
		uint8_t opcode = sn_cursor_u8(cursor);
		if (opcode == 0) {
			status = extended(lines, cursor);
		} else if (opcode < lines->opcode_base) {
			status = standard(lines, cursor, opcode);
		} else {
			uint8_t step = (uint8_t)(opcode - lines->opcode_base);
			lines->address += (uint64_t)(step / lines->line_range) * lines->least_bytes;
			lines->line +=
			    (uint64_t)(int64_t)(lines->line_base + step % lines->line_range);
			status = add_row(lines);
		}
	}
	return status;
}

/* One unit; the cursor holds it whole, without its length. */
static int read_unit(struct lines *lines, struct sn_cursor unit, unsigned offset_bytes)
{
	uint16_t version = sn_cursor_u16(&unit);
	if (version < 2 || version > 4)
		return 0;
	uint64_t header_bytes = sn_cursor_uint(&unit, offset_bytes);
	if (unit.failed || header_bytes > sn_cursor_left(&unit))
		return 0;
	struct sn_cursor header = {unit.at, unit.at + header_bytes, false};
	sn_cursor_skip(&unit, header_bytes);
	lines->least_bytes = sn_cursor_u8(&header);
	if (version >= 4)
		sn_cursor_skip(&header, 1);
	sn_cursor_skip(&header, 1);
	lines->line_base = (int8_t)sn_cursor_u8(&header);
	lines->line_range = sn_cursor_u8(&header);
	lines->opcode_base = sn_cursor_u8(&header);
	if (lines->line_range == 0 || lines->opcode_base == 0)
		return 0;
	memset(lines->opcode_operands, 0, sizeof(lines->opcode_operands));
	for (unsigned i = 1; i < lines->opcode_base; i++)
		lines->opcode_operands[i] = sn_cursor_u8(&header);
	if (read_folders(lines, &header) != 0 || read_files(lines, &header) != 0)
		return SN_ERR_MEMORY;
	lines->names = sn_cursor_left(&header) >= 4 ? sn_cursor_u32(&header) : 0;
	if (lines->names > lines->strings.size)
		lines->names = lines->strings.size;
	return run(lines, &unit);
}

static int read_units(struct lines *lines)
{
	struct sn_cursor cursor = sn_cursor_at(lines->section, 0);
	int status = 0;
	while (status == 0 && sn_cursor_left(&cursor) > 4) {
		unsigned offset_bytes = 4;
		uint64_t bytes = sn_cursor_u32(&cursor);
		if (bytes == 0xffffffff) {
			bytes = sn_cursor_u64(&cursor);
			offset_bytes = 8;
		}
		if (bytes > sn_cursor_left(&cursor))
			break;
		struct sn_cursor unit = {cursor.at, cursor.at + bytes, false};
		sn_cursor_skip(&cursor, bytes);
		status = read_unit(lines, unit, offset_bytes);
	}
	return status;
}

static int take_inlined(struct lines *lines)
{
	struct sn_gpu_binary *binary = lines->binary;
	uint32_t count = lines->inlined.count;
	binary->inlined = calloc((size_t)count + 1, sizeof(*binary->inlined));
	if (!binary->inlined)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		memcpy(&binary->inlined[i], sn_intern_at(&lines->inlined, i, NULL),
		       sizeof(*binary->inlined));
	binary->inlined_count = count;
	return 0;
}

int sn_cubin_lines(struct sn_gpu_binary *binary)
{
	struct sn_elf_file *file = binary->private->file;
	struct lines lines = {.binary = binary,
			      .section = sn_elf_file_contents(file, ".debug_line")};
	lines.strings = sn_elf_section_strings(file, sn_elf_file_section(file, ".debug_str"));
	sn_intern_init(&lines.inlined);
	int status = read_relocations(&lines, ".rel.debug_line");
	if (status == 0)
		status = read_relocations(&lines, ".rela.debug_line");
	if (status == 0 && lines.relocation_count > 0)
		qsort(lines.relocations, lines.relocation_count, sizeof(*lines.relocations),
		      by_offset);
	if (status == 0)
		status = read_units(&lines);
	if (status == 0)
		status = take_inlined(&lines);
	sn_intern_release(&lines.inlined);
	free(lines.relocations);
	free(lines.folders);
	free(lines.files);
	free(lines.rows);
	return status;
}
