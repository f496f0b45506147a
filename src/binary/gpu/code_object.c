/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's code objects: ordinary shared libraries whose kernels are known by their descriptors
 * (NAME.kd), from version 3 of the ABI on, or by the type of their symbol before.
 */
#include "gpu_private.h"

#include "binary/dwarf/dwarf.h"

#include <stdio.h>
#include <stdlib.h>
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
	struct sn_bytes field =
	    sn_bytes_slice(binary->private->file->bytes, offsetof(Elf64_Ehdr, e_flags), 4);
	uint8_t machine = field.data ? field.data[0] : 0;
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

static int read_sections(struct sn_gpu_binary *binary)
{
	struct sn_elf_file *file = binary->private->file;
	for (uint32_t i = 0; i < file->section_count; i++) {
		struct sn_elf_section *section = &file->sections[i];
		if (is_code(section) &&
		    sn_gpu_add_section(binary, section->header.sh_addr,
				       sn_elf_section_contents(file, section), i) != 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* Where the code of a kernel of the old ABI begins, or 0. */
static uint64_t old_kernel_entry(struct sn_elf_file *file, const struct sn_elf_section *section,
				 uint64_t address)
{
	uint64_t within = address - section->header.sh_addr;
	if (within >= section->header.sh_size ||
	    section->header.sh_size - within < OLD_KERNEL_ENTRY_FIELD + 8)
		return 0;
	struct sn_bytes field = sn_bytes_slice(
	    file->bytes, section->header.sh_offset + within + OLD_KERNEL_ENTRY_FIELD, 8);
	uint64_t distance = 0;
	if (field.data)
		memcpy(&distance, field.data, 8);
	return address + distance;
}

struct names {
	const char **items;
	size_t count;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether a descriptor of that name is among the sorted names of descriptors. */
static bool has_descriptor(const struct names *descriptors, const char *name)
{
	size_t length = strlen(name), low = 0, high = descriptors->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *item = descriptors->items[middle];
		int order = strncmp(item, name, length);
		if (order == 0)
			order = strcmp(item + length, ".kd");
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

struct table {
	struct sn_elf_file *file;
	struct sn_bytes symbols, names;
};

static bool symbol_at(const struct table *table, size_t index, Elf64_Sym *symbol, const char **name)
{
	memcpy(symbol, table->symbols.data + index * sizeof(*symbol), sizeof(*symbol));
	*name = sn_bytes_string(table->names, symbol->st_name);
	return *name && (*name)[0] && symbol->st_shndx < table->file->section_count;
}

static int find_descriptors(const struct table *table, struct names *descriptors)
{
	size_t count = table->symbols.size / sizeof(Elf64_Sym);
	descriptors->items = calloc(count + 1, sizeof(*descriptors->items));
	if (!descriptors->items)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol;
		const char *name;
		if (!symbol_at(table, i, &symbol, &name))
			continue;
		size_t length = strlen(name);
		if (length > 3 && strcmp(name + length - 3, ".kd") == 0)
			descriptors->items[descriptors->count++] = name;
	}
	qsort(descriptors->items, descriptors->count, sizeof(*descriptors->items), by_text);
	return 0;
}

static int add_functions(struct sn_gpu_binary *binary, const struct table *table,
			 const struct names *descriptors)
{
	for (size_t i = 0; i < table->symbols.size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;
		const char *name;
		if (!symbol_at(table, i, &symbol, &name))
			continue;
		const struct sn_elf_section *section = &table->file->sections[symbol.st_shndx];
		unsigned type = ELF64_ST_TYPE(symbol.st_info);
		uint64_t start = symbol.st_value;
		if (!is_code(section) || (type != STT_FUNC && type != OLD_KERNEL_SYMBOL))
			continue;
		if (type == OLD_KERNEL_SYMBOL)
			start = old_kernel_entry(table->file, section, start);
		bool is_kernel = type == OLD_KERNEL_SYMBOL || has_descriptor(descriptors, name);
		if (sn_gpu_add_function(binary, name, start, 0, is_kernel) != 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int read_symbols(struct sn_gpu_binary *binary)
{
	struct table table = {.file = binary->private->file};
	struct sn_elf_section *section = sn_elf_file_section_of_type(table.file, SHT_SYMTAB);
	if (!section)
		section = sn_elf_file_section_of_type(table.file, SHT_DYNSYM);
	if (!section || section->header.sh_link >= table.file->section_count)
		return 0;
	table.symbols = sn_elf_section_contents(table.file, section);
	table.names =
	    sn_elf_section_strings(table.file, &table.file->sections[section->header.sh_link]);
	struct names descriptors = {0};
	int status = find_descriptors(&table, &descriptors);
	if (status == 0)
		status = add_functions(binary, &table, &descriptors);
	free(descriptors.items);
	return status;
}

/* Code that no symbol begins: still code, and named by its place. */
static int name_the_rest(struct sn_gpu_binary *binary)
{
	char name[32];
	if (binary->function_count > 0)
		return 0;
	for (size_t i = 0; i < binary->private->section_count; i++) {
		uint64_t start = binary->private->sections[i].start;
		snprintf(name, sizeof(name), "0x%llx", (unsigned long long)start);
		if (sn_gpu_add_function(binary, name, start, 0, false) != 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

int sn_code_object_read(struct sn_gpu_binary *binary, struct sn_error *error)
{
	int status = read_target(binary, error);
	if (status == 0)
		status = read_sections(binary);
	if (status == 0)
		status = read_symbols(binary);
	return status != 0 ? status : name_the_rest(binary);
}
