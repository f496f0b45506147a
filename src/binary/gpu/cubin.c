/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's cubins: which functions there are, what the linker knows about their calls, and where
 * their indirect jumps may go. Lines are cubin_lines.c's.
 */
#include "base/vec.h"
#include "gpu_private.h"

#include <stdio.h>
#include <string.h>

#define ENTRY_POINT 0x10 /* in a symbol's st_other: a kernel */

/* .nv.info.NAME: format, attribute, then two bytes of value or the number of bytes that follow */
#define INFO_SIZED	      4
#define INFO_INDIRECT_TARGETS 0x34

static uint32_t file_u32(const struct sn_elf_file *file, uint64_t offset)
{
	struct sn_bytes bytes = sn_bytes_slice(file->bytes, offset, 4);
	uint32_t value = 0;
	if (bytes.data)
		memcpy(&value, bytes.data, 4);
	return value;
}

/* Since version 8 of the ABI the architecture is in the second byte of e_flags. */
static int read_target(struct sn_gpu_binary *binary, struct sn_error *error)
{
	const struct sn_elf_file *file = binary->private->file;
	uint32_t flags = file_u32(file, offsetof(Elf64_Ehdr, e_flags));
	uint8_t version = file->bytes.size > EI_ABIVERSION ? file->bytes.data[EI_ABIVERSION] : 0;
	binary->vendor = SN_GPU_NVIDIA;
	binary->architecture = version >= 8 ? flags >> 8 & 0xff : flags & 0xff;
	snprintf(binary->target, sizeof(binary->target), "sm_%u", binary->architecture);
	if (binary->architecture < 70)
		return sn_fail(error, SN_ERR_UNSUPPORTED,
			       "code for %s: sm_70 is the oldest that is read", binary->target);
	return 0;
}

static bool is_code(const struct sn_elf_section *section)
{
	return section->header.sh_type == SHT_PROGBITS &&
	       (section->header.sh_flags & SHF_EXECINSTR) &&
	       strncmp(section->name, ".text.", 6) == 0;
}

/* has_function, by section: whether one begins where it does. */
static int read_symbols(struct sn_gpu_binary *binary, bool *has_function)
{
	struct sn_elf_file *file = binary->private->file;
	struct sn_elf_section *table = sn_elf_file_section_of_type(file, SHT_SYMTAB);
	struct sn_bytes symbols = sn_elf_section_contents(file, table);
	struct sn_bytes names = {0};
	if (table && table->header.sh_link < file->section_count)
		names = sn_elf_section_strings(file, &file->sections[table->header.sh_link]);
	int status = 0;
	for (size_t i = 0; status == 0 && i + sizeof(Elf64_Sym) <= symbols.size;
	     i += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		memcpy(&symbol, symbols.data + i, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    symbol.st_shndx >= file->section_count ||
		    !is_code(&file->sections[symbol.st_shndx]))
			continue;
		const char *name = sn_bytes_string(names, symbol.st_name);
		uint64_t base = file->sections[symbol.st_shndx].header.sh_offset;
		symbol.st_value &= ~15ull;
		if (!name || !name[0] ||
		    symbol.st_value >= file->sections[symbol.st_shndx].header.sh_size)
			continue;
		if (symbol.st_value == 0)
			has_function[symbol.st_shndx] = true;
		status = sn_gpu_add_function(binary, name, base + symbol.st_value, base,
					     symbol.st_other & ENTRY_POINT);
	}
	return status;
}

/* A section whose function has no symbol, as stripped files may have, is one by its own name. */
static int read_sections(struct sn_gpu_binary *binary, const bool *has_function)
{
	struct sn_elf_file *file = binary->private->file;
	for (uint32_t i = 0; i < file->section_count; i++) {
		struct sn_elf_section *section = &file->sections[i];
		uint64_t start = section->header.sh_offset;
		if (!is_code(section))
			continue;
		if (sn_gpu_add_section(binary, start, sn_elf_section_contents(file, section), i) !=
		    0)
			return SN_ERR_MEMORY;
		if (!has_function[i] &&
		    sn_gpu_add_function(binary, section->name + 6, start, start, false) != 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int add_jump(struct sn_gpu_private *private, uint64_t from, uint64_t to)
{
	if (sn_vec_reserve(&private->jumps, &private->jump_capacity, private->jump_count + 1) != 0)
		return SN_ERR_MEMORY;
	private->jumps[private->jump_count++] = (struct sn_gpu_jump){from, to};
	return 0;
}

/* {the jump's offset, 0, number of targets, their offsets} as often as there are jumps. */
static int read_indirect_targets(struct sn_gpu_private *private, struct sn_bytes value,
				 uint64_t base)
{
	struct sn_cursor cursor = sn_cursor_at(value, 0);
	while (sn_cursor_left(&cursor) >= 12) {
		uint32_t from = sn_cursor_u32(&cursor);
		sn_cursor_skip(&cursor, 4);
		uint32_t count = sn_cursor_u32(&cursor);
		for (uint32_t i = 0; i < count && sn_cursor_left(&cursor) >= 4; i++)
			if (add_jump(private, base + from, base + sn_cursor_u32(&cursor)) != 0)
				return SN_ERR_MEMORY;
	}
	return 0;
}

static int read_info(struct sn_gpu_private *private, struct sn_bytes info, uint64_t base)
{
	struct sn_cursor cursor = sn_cursor_at(info, 0);
	while (sn_cursor_left(&cursor) >= 4) {
		uint8_t format = sn_cursor_u8(&cursor), attribute = sn_cursor_u8(&cursor);
		uint16_t size = sn_cursor_u16(&cursor);
		if (format != INFO_SIZED)
			continue;
		if (size > sn_cursor_left(&cursor))
			return 0;
		if (attribute == INFO_INDIRECT_TARGETS &&
		    read_indirect_targets(private, (struct sn_bytes){cursor.at, size}, base) != 0)
			return SN_ERR_MEMORY;
		sn_cursor_skip(&cursor, size);
	}
	return 0;
}

/* The info of one function names it by its section (sh_info). */
static int read_infos(struct sn_gpu_binary *binary)
{
	struct sn_elf_file *file = binary->private->file;
	int status = 0;
	for (uint32_t i = 0; i < file->section_count && status == 0; i++) {
		struct sn_elf_section *section = &file->sections[i];
		uint32_t code = section->header.sh_info;
		if (strncmp(section->name, ".nv.info.", 9) != 0 || code >= file->section_count ||
		    !is_code(&file->sections[code]))
			continue;
		status = read_info(binary->private, sn_elf_section_contents(file, section),
				   file->sections[code].header.sh_offset);
	}
	return status;
}

/* Symbols of functions and of code sections, to their unique address. */
static bool code_symbol(const struct sn_elf_file *file, struct sn_bytes symbols, uint64_t index,
			uint64_t *address)
{
	Elf64_Sym symbol;
	if (index >= symbols.size / sizeof(symbol))
		return false;
	memcpy(&symbol, symbols.data + index * sizeof(symbol), sizeof(symbol));
	if (symbol.st_shndx >= file->section_count || !is_code(&file->sections[symbol.st_shndx]))
		return false;
	*address = file->sections[symbol.st_shndx].header.sh_offset + symbol.st_value;
	return true;
}

/* REL: the addend lies in the instruction; those that matter here, of calls, have none. */
static int read_relocations_of(struct sn_gpu_binary *binary, struct sn_elf_section *section)
{
	struct sn_gpu_private *private = binary->private;
	struct sn_elf_file *file = private->file;
	struct sn_bytes entries = sn_elf_section_contents(file, section);
	uint32_t link = section->header.sh_link;
	if (link >= file->section_count)
		return 0;
	struct sn_bytes symbols = sn_elf_section_contents(file, &file->sections[link]);
	uint64_t base = file->sections[section->header.sh_info].header.sh_offset;
	bool has_addend = section->header.sh_type == SHT_RELA;
	size_t size = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	for (size_t i = 0; i + size <= entries.size; i += size) {
		Elf64_Rela entry = {0};
		uint64_t value;
		memcpy(&entry, entries.data + i, size);
		if (!code_symbol(file, symbols, ELF64_R_SYM(entry.r_info), &value))
			continue;
		if (sn_vec_reserve(&private->relocations, &private->relocation_capacity,
				   private->relocation_count + 1) != 0)
			return SN_ERR_MEMORY;
		private->relocations[private->relocation_count++] = (struct sn_gpu_relocation){
		    base + (entry.r_offset & ~15ull), value + (uint64_t)entry.r_addend};
	}
	return 0;
}

static int read_relocations(struct sn_gpu_binary *binary)
{
	struct sn_elf_file *file = binary->private->file;
	int status = 0;
	for (uint32_t i = 0; i < file->section_count && status == 0; i++) {
		struct sn_elf_section *section = &file->sections[i];
		uint32_t type = section->header.sh_type;
		if ((type == SHT_REL || type == SHT_RELA) &&
		    section->header.sh_info < file->section_count &&
		    is_code(&file->sections[section->header.sh_info]))
			status = read_relocations_of(binary, section);
	}
	return status;
}

static int read_functions(struct sn_gpu_binary *binary)
{
	bool *has_function = calloc((size_t)binary->private->file->section_count + 1, 1);
	if (!has_function)
		return SN_ERR_MEMORY;
	int status = read_symbols(binary, has_function);
	if (status == 0)
		status = read_sections(binary, has_function);
	free(has_function);
	return status;
}

int sn_cubin_read(struct sn_gpu_binary *binary, struct sn_error *error)
{
	int status = read_target(binary, error);
	if (status == 0)
		status = read_functions(binary);
	if (status == 0)
		status = read_infos(binary);
	return status != 0 ? status : read_relocations(binary);
}
