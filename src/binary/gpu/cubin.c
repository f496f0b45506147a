/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's cubins: which functions there are, what the linker knows about their calls, and where
 * their indirect jumps may go. Lines are cubin_lines.c's.
 */
#include "base/text.h"
#include "base/vec.h"
#include "gpu_private.h"

#include <stdio.h>

#define ENTRY_POINT 0x10 /* in a symbol's st_other: a kernel */

/* .nv.info.NAME: format, attribute, then two bytes of value or the number of bytes that follow */
#define INFO_SIZED	      4
#define INFO_INDIRECT_TARGETS 0x34

/* Since version 8 of the ABI the architecture is in the second byte of e_flags. */
static int read_target(struct sn_gpu_binary *binary, struct sn_error *error)
{
	const struct sn_elf_file *file = binary->private->file;
	struct sn_cursor header = sn_cursor_at(file->bytes, offsetof(Elf64_Ehdr, e_flags));
	uint32_t flags = sn_cursor_u32(&header);
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
	       sn_text_begins(section->name, ".text.");
}

/* has_function, by section: whether one begins where it does. */
static void read_symbols(struct sn_gpu_binary *binary, bool *has_function)
{
	struct sn_elf_file *file = binary->private->file;
	struct sn_elf_symbols table =
	    sn_elf_symbols(file, sn_elf_file_section_of_type(file, SHT_SYMTAB));
	Elf64_Sym symbol;
	for (size_t i = 0; sn_elf_symbol_at(&table, i, &symbol); i++) {
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    symbol.st_shndx >= file->section_count ||
		    !is_code(&file->sections[symbol.st_shndx]))
			continue;
		const Elf64_Shdr *section = &file->sections[symbol.st_shndx].header;
		const char *name = sn_elf_symbol_name(&table, &symbol);
		symbol.st_value &= ~15ull;
		if (!name || !name[0] || symbol.st_value >= section->sh_size)
			continue;
		has_function[symbol.st_shndx] |= symbol.st_value == 0;
		sn_gpu_add_function(binary, name, section->sh_offset + symbol.st_value,
				    section->sh_offset, symbol.st_other & ENTRY_POINT);
	}
}

/* A section whose function has no symbol, as stripped files may have, is one by its own name. */
static void read_sections(struct sn_gpu_binary *binary, const bool *has_function)
{
	struct sn_elf_file *file = binary->private->file;
	for (uint32_t i = 0; i < file->section_count; i++) {
		struct sn_elf_section *section = &file->sections[i];
		uint64_t start = section->header.sh_offset;
		if (!is_code(section))
			continue;
		sn_gpu_add_section(binary, start, sn_elf_section_contents(file, section), i);
		if (!has_function[i])
			sn_gpu_add_function(binary, section->name + 6, start, start, false);
	}
}

/* {the jump's offset, 0, number of targets, their offsets} as often as there are jumps. */
static void read_indirect_targets(struct sn_gpu_private *private, struct sn_cursor cursor,
				  uint64_t base)
{
	while (sn_cursor_left(&cursor) >= 12) {
		uint64_t from = base + sn_cursor_u32(&cursor);
		sn_cursor_skip(&cursor, 4);
		uint32_t count = sn_cursor_u32(&cursor);
		for (uint32_t i = 0; i < count && sn_cursor_left(&cursor) >= 4; i++)
		private->failed |=
		    sn_vec_push(&private->jumps, &private->jump_capacity, &private->jump_count,
				(struct sn_gpu_jump){from, base + sn_cursor_u32(&cursor)}) < 0;
	}
}

static void read_info(struct sn_gpu_private *private, struct sn_bytes info, uint64_t base)
{
	struct sn_cursor cursor = sn_cursor_at(info, 0);
	while (sn_cursor_left(&cursor) >= 4) {
		uint8_t format = sn_cursor_u8(&cursor), attribute = sn_cursor_u8(&cursor);
		uint16_t size = sn_cursor_u16(&cursor);
		if (format != INFO_SIZED)
			continue;
		struct sn_cursor value = sn_cursor_slice(&cursor, size);
		if (attribute == INFO_INDIRECT_TARGETS)
			read_indirect_targets(private, value, base);
	}
}

/* The section of code that another one's header names in sh_info; NULL none. */
static const struct sn_elf_section *code_of(const struct sn_elf_file *file,
					    const struct sn_elf_section *section)
{
	uint32_t code = section->header.sh_info;
	return code < file->section_count && is_code(&file->sections[code]) ? &file->sections[code]
									    : NULL;
}

/* REL: the addend lies in the instruction; those that matter here, of calls, have none. */
static void read_relocations(struct sn_gpu_private *private, struct sn_elf_section *section,
			     uint64_t base)
{
	struct sn_elf_file *file = private->file;
	struct sn_elf_relocations relocations = sn_elf_relocations(file, section);
	Elf64_Rela entry;
	Elf64_Sym symbol;
	while (sn_elf_relocations_next(&relocations, &entry)) {
		if (!sn_elf_symbol_at(&relocations.symbols, ELF64_R_SYM(entry.r_info), &symbol) ||
		    symbol.st_shndx >= file->section_count ||
		    !is_code(&file->sections[symbol.st_shndx]))
			continue;
		uint64_t value = file->sections[symbol.st_shndx].header.sh_offset +
				 symbol.st_value + (uint64_t)entry.r_addend;
		private->failed |= sn_vec_push(&private->relocations, &private->relocation_capacity,
					       &private->relocation_count,
					       (struct sn_gpu_relocation){
						   base + (entry.r_offset & ~15ull), value}) < 0;
	}
}

/* What the linker knows of jumps and calls. */
static void read_links(struct sn_gpu_private *private)
{
	struct sn_elf_file *file = private->file;
	for (uint32_t i = 0; i < file->section_count; i++) {
		struct sn_elf_section *section = &file->sections[i];
		const struct sn_elf_section *code = code_of(file, section);
		uint32_t type = section->header.sh_type;
		if (code && sn_text_begins(section->name, ".nv.info."))
			read_info(private, sn_elf_section_contents(file, section),
				  code->header.sh_offset);
		if (code && (type == SHT_REL || type == SHT_RELA))
			read_relocations(private, section, code->header.sh_offset);
	}
}

int sn_cubin_read(struct sn_gpu_binary *binary, struct sn_error *error)
{
	struct sn_gpu_private *private = binary->private;
	bool *has_function = calloc((size_t) private->file->section_count + 1, 1);
	int status = read_target(binary, error);
	private->failed |= !has_function;
	if (status == 0 && has_function) {
		read_symbols(binary, has_function);
		read_sections(binary, has_function);
		read_links(private);
	}
	free(has_function);
	return status;
}
