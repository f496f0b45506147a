/* SPDX-License-Identifier: Apache-2.0 */
/* See hpctoolkit_vdso.h. */
#include "hpctoolkit_vdso.h"

#include "base/vec.h"
#include "binary/elf/elf_file.h"

#include <stdlib.h>
#include <string.h>

static int compare_symbols(const void *left, const void *right)
{
	const struct sn_hpct_symbol *a = left, *b = right;
	return (a->address > b->address) - (a->address < b->address);
}

/* Of names for one function, one that is global comes before one that is weak: "time" is a weak
 * alias of "__vdso_time". */
static int add_symbol(struct sn_db_builder *builder, struct sn_hpct_module *module,
		      size_t *capacity, const Elf64_Sym *symbol, const char *name)
{
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_size == 0 || symbol->st_value + symbol->st_size < symbol->st_value)
		return 0;
	bool is_weak = ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
	for (size_t i = 0; i < module->symbol_count; i++) {
		struct sn_hpct_symbol *other = module->symbols + i;
		if (other->address != symbol->st_value)
			continue;
		if (!is_weak) {
			other->end = symbol->st_value + symbol->st_size;
			other->name = sn_db_builder_string(builder, name);
		}
		return 0;
	}
	if (sn_vec_reserve(&module->symbols, capacity, module->symbol_count + 1) < 0)
		return -1;
	module->symbols[module->symbol_count++] =
	    (struct sn_hpct_symbol){symbol->st_value, symbol->st_value + symbol->st_size,
				    sn_db_builder_string(builder, name)};
	return 0;
}

static int add_symbols(struct sn_db_builder *builder, struct sn_hpct_module *module,
		       struct sn_elf_file *file)
{
	struct sn_elf_section *table = sn_elf_file_section_of_type(file, SHT_SYMTAB);
	if (!table)
		table = sn_elf_file_section_of_type(file, SHT_DYNSYM);
	if (!table || table->header.sh_link >= file->section_count)
		return 0;
	struct sn_bytes symbols = sn_elf_section_contents(file, table);
	struct sn_bytes strings =
	    sn_elf_section_strings(file, file->sections + table->header.sh_link);
	size_t capacity = 0;
	Elf64_Sym symbol;
	for (size_t at = 0; symbols.size - at >= sizeof(symbol); at += sizeof(symbol)) {
		memcpy(&symbol, symbols.data + at, sizeof(symbol));
		if (symbol.st_name < strings.size &&
		    add_symbol(builder, module, &capacity, &symbol,
			       (const char *)strings.data + symbol.st_name) < 0)
			return -1;
	}
	if (module->symbol_count)
		qsort(module->symbols, module->symbol_count, sizeof(*module->symbols),
		      compare_symbols);
	return 0;
}

int sn_hpct_vdso_load(struct sn_db_builder *builder, struct sn_hpct_module *module, size_t bytes,
		      struct sn_error *error)
{
	enum { MOST = 1 << 20 };
	struct sn_elf_file *file;
	struct sn_error ignored;
	if (bytes > MOST || sn_elf_file_open(module->file, &file, &ignored) != 0)
		return 0;
	int code = add_symbols(builder, module, file);
	sn_elf_file_free(file);
	return code < 0 ? sn_fail(error, SN_ERR_MEMORY, "out of memory") : 0;
}
