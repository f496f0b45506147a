/* SPDX-License-Identifier: Apache-2.0 */
/* See code_symbols.h. */
#include "code_symbols.h"
#include "pgo_name.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void sn_code_symbols_release(struct sn_code_symbols *symbols)
{
	free(symbols->list);
	*symbols = (struct sn_code_symbols){0};
}

/* Names are given to what has a place in memory. */
static bool has_place(const struct sn_elf_file *file, const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	return symbol->st_value && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_shndx < file->section_count && type != STT_FILE && type != STT_SECTION &&
	       (file->sections[symbol->st_shndx].header.sh_flags & SHF_ALLOC);
}

SN_SORT_BY(sort_by_name, struct sn_code_symbol, const void *,
	   SN_ORDER(b->number > 0, a->number > 0) ?: strcmp(a->name, b->name)
							 ?: SN_ORDER(a->start, b->start)
							 ?: SN_ORDER(b->is_code, a->is_code));
SN_SORT_BY(sort_by_start, struct sn_code_symbol, const void *,
	   SN_ORDER(a->start, b->start) ?: SN_ORDER(a->number > 0, b->number > 0)
					       ?: strcmp(a->name, b->name));

/* Counts the local ones, which are first, and keeps functions alone. */
static void number(struct sn_code_symbols *symbols)
{
	struct sn_code_symbol *list = symbols->list;
	size_t kept = 0;
	sort_by_name(list, symbols->count, NULL);
	for (size_t i = 1; i < symbols->count; i++)
		if (list[i].number && !strcmp(list[i].name, list[i - 1].name))
			list[i].number = list[i - 1].number + 1;
	for (size_t i = 0; i < symbols->count; i++)
		if (list[i].is_code)
			list[kept++] = list[i];
	symbols->count = kept;
	sort_by_start(list, kept, NULL);
}

int sn_code_symbols_read(struct sn_code_symbols *symbols, struct sn_elf_file *file)
{
	struct sn_elf_symbols table =
	    sn_elf_symbols(file, sn_elf_file_section_of_type(file, SHT_SYMTAB));
	int result = 0;
	*symbols = (struct sn_code_symbols){0};
	for (size_t i = 0; !result && i < table.count; i++) {
		Elf64_Sym symbol;
		if (!sn_elf_symbol_at(&table, i, &symbol) || !has_place(file, &symbol))
			continue;
		const char *name = sn_elf_symbol_name(&table, &symbol);
		if (sn_pgo_is_name(name))
			result =
			    sn_vec_push(&symbols->list, &symbols->capacity, &symbols->count,
					(struct sn_code_symbol){
					    name, symbol.st_value, symbol.st_value + symbol.st_size,
					    ELF64_ST_BIND(symbol.st_info) == STB_LOCAL,
					    ELF64_ST_TYPE(symbol.st_info) == STT_FUNC});
	}
	if (!result)
		number(symbols);
	return result;
}

const struct sn_code_symbol *sn_code_symbol_at(const struct sn_code_symbols *symbols,
					       uint64_t address)
{
	size_t next = sn_search(i, symbols->count, symbols->list[i].start <= address);
	/* of those that begin at one place the first; parts in the middle of a function are rare */
	for (; next > 0 && address < symbols->list[next - 1].end; next--)
		if (next == 1 || symbols->list[next - 2].start != symbols->list[next - 1].start)
			return &symbols->list[next - 1];
	return NULL;
}
