/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's code objects: ordinary shared libraries whose kernels are known by their descriptors
 * (NAME.kd), from version 3 of the ABI on, or by the type of their symbol before.
 */
#include "base/text.h"
#include "gpu_private.h"

#include <stdio.h>
#include <string.h>

#define OLD_KERNEL_SYMBOL      10 /* the type of a symbol; it lies before the kernel's code */
#define OLD_KERNEL_ENTRY_FIELD 16 /* in what it points at: the distance to the code */

static const struct {
	uint8_t machine;
	uint16_t isa;
	char name[16];
} targets[] = {
#define SN_AMD_TARGET(machine, isa, name) {machine, isa, name},
#include "amd_targets.def"
#undef SN_AMD_TARGET
};

static int read_target(struct sn_gpu_binary *binary, struct sn_error *error)
{
	struct sn_cursor flags =
	    sn_cursor_at(binary->private->file->bytes, offsetof(Elf64_Ehdr, e_flags));
	uint8_t machine = sn_cursor_u8(&flags);
	binary->vendor = SN_GPU_AMD;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (targets[i].machine != machine)
			continue;
		binary->architecture = targets[i].isa;
		snprintf(binary->target, sizeof(binary->target), "%s", targets[i].name);
		return 0;
	}
	return sn_fail(error, SN_ERR_UNSUPPORTED,
		       "code for an AMD GPU that is not known (number 0x%x)", machine);
}

static bool is_code(const struct sn_elf_section *section)
{
	return section->header.sh_type == SHT_PROGBITS &&
	       (section->header.sh_flags & SHF_EXECINSTR) && (section->header.sh_flags & SHF_ALLOC);
}

static void read_sections(struct sn_gpu_binary *binary)
{
	struct sn_elf_file *file = binary->private->file;
	for (uint32_t i = 0; i < file->section_count; i++)
		if (is_code(&file->sections[i]))
			sn_gpu_add_section(binary, file->sections[i].header.sh_addr,
					   sn_elf_section_contents(file, &file->sections[i]), i);
}

/* Where the code of a kernel of the old ABI begins, or 0. */
static uint64_t old_kernel_entry(struct sn_elf_file *file, const struct sn_elf_section *section,
				 uint64_t address)
{
	uint64_t within = address - section->header.sh_addr;
	if (within >= section->header.sh_size ||
	    section->header.sh_size - within < OLD_KERNEL_ENTRY_FIELD + 8)
		return 0;
	struct sn_cursor field =
	    sn_cursor_at(file->bytes, section->header.sh_offset + within + OLD_KERNEL_ENTRY_FIELD);
	return address + sn_cursor_u64(&field);
}

/* The names in front of ".kd". */
static void find_descriptors(const struct sn_elf_file *file, const struct sn_elf_symbols *table,
			     struct sn_intern *descriptors, bool *failed)
{
	Elf64_Sym symbol;
	for (size_t i = 0; sn_elf_symbol_at(table, i, &symbol); i++) {
		const char *name = sn_elf_symbol_name(table, &symbol);
		if (name && name[0] && symbol.st_shndx < file->section_count &&
		    sn_text_ends(name, ".kd"))
			*failed |=
			    sn_intern_add(descriptors, name, strlen(name) - 3) == SN_INTERN_NONE;
	}
}

static void add_functions(struct sn_gpu_binary *binary, const struct sn_elf_symbols *table,
			  const struct sn_intern *descriptors)
{
	struct sn_elf_file *file = binary->private->file;
	Elf64_Sym symbol;
	for (size_t i = 0; sn_elf_symbol_at(table, i, &symbol); i++) {
		const char *name = sn_elf_symbol_name(table, &symbol);
		unsigned type = ELF64_ST_TYPE(symbol.st_info);
		uint64_t start = symbol.st_value;
		if (!name || !name[0] || symbol.st_shndx >= file->section_count ||
		    !is_code(&file->sections[symbol.st_shndx]) ||
		    (type != STT_FUNC && type != OLD_KERNEL_SYMBOL))
			continue;
		if (type == OLD_KERNEL_SYMBOL)
			start = old_kernel_entry(file, &file->sections[symbol.st_shndx], start);
		bool is_kernel = type == OLD_KERNEL_SYMBOL ||
				 sn_intern_find(descriptors, name, strlen(name)) != SN_INTERN_NONE;
		sn_gpu_add_function(binary, name, start, 0, is_kernel);
	}
}

static void read_symbols(struct sn_gpu_binary *binary)
{
	struct sn_elf_file *file = binary->private->file;
	struct sn_intern descriptors = {0};
	struct sn_elf_section *section = sn_elf_file_section_of_type(file, SHT_SYMTAB);
	if (!section)
		section = sn_elf_file_section_of_type(file, SHT_DYNSYM);
	struct sn_elf_symbols table = sn_elf_symbols(file, section);
	find_descriptors(file, &table, &descriptors, &binary->private->failed);
	add_functions(binary, &table, &descriptors);
	sn_intern_release(&descriptors);
}

/* Code that no symbol begins: still code, and named by its place. */
static void name_the_rest(struct sn_gpu_binary *binary)
{
	char name[32];
	if (binary->function_count > 0)
		return;
	for (size_t i = 0; i < binary->private->section_count; i++) {
		uint64_t start = binary->private->sections[i].start;
		snprintf(name, sizeof(name), "0x%llx", (unsigned long long)start);
		sn_gpu_add_function(binary, name, start, 0, false);
	}
}

int sn_code_object_read(struct sn_gpu_binary *binary, struct sn_error *error)
{
	int status = read_target(binary, error);
	if (status == 0) {
		read_sections(binary);
		read_symbols(binary);
		name_the_rest(binary);
	}
	return status;
}
