/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 64-bit little-endian ELF file, mapped and checked: its sections, build id, segments, and the
 * entries of its tables of symbols and relocations.
 *
 * The file is not trusted: sections that extend beyond it are empty. Compressed sections are
 * unpacked at their first use. Symbols and relocations are not interpreted here.
 *
 * If a mapped file is truncated by another process, reading it raises SIGBUS, as in every program
 * that maps files; installers replace files by renaming, which is safe.
 */
#pragma once

#include "base/error.h"
#include "base/cursor.h"

#include <elf.h>

#define SN_BUILD_ID_BYTES_MAX 64

struct sn_elf_section {
	const char *name;
	Elf64_Shdr header;
	struct sn_bytes contents; /* once `is_read`; unpacked */
	void *unpacked;		  /* mapped anonymously, or NULL */
	size_t unpacked_bytes;
	bool is_read;
};

struct sn_elf_file {
	struct sn_bytes bytes;
	enum { SN_ELF_BORROWED, SN_ELF_MAPPED, SN_ELF_HEAP } ownership;
	uint16_t machine;
	uint16_t type;
	struct sn_elf_section *sections;
	uint32_t section_count;
	const uint8_t *segments; /* Elf64_Phdr[], maybe unaligned */
	uint32_t segment_count;
	uint8_t build_id[SN_BUILD_ID_BYTES_MAX];
	uint32_t build_id_bytes; /* 0: has none */
	bool is_truncated;	 /* ends before its table of sections */
};

/* SN_ERR_IO, SN_ERR_FORMAT, SN_ERR_MEMORY. *file is set only on success; free it with
 * sn_elf_file_free. */
int sn_elf_file_open(const char *path, struct sn_elf_file **file, struct sn_error *error);
/* An image in memory that stays the caller's (is_heap false), or from malloc whose ownership passes
 * to the file (also freed on failure). */
int sn_elf_file_from_memory(const void *image, size_t bytes, bool is_heap,
			    struct sn_elf_file **file, struct sn_error *error);
void sn_elf_file_free(struct sn_elf_file *file);

/* The first section of that name (also found as .zdebug_ for a .debug_ name), or NULL. */
struct sn_elf_section *sn_elf_file_section(struct sn_elf_file *file, const char *name);
/* The first section of that type (SHT_SYMTAB, ...), or NULL. */
struct sn_elf_section *sn_elf_file_section_of_type(struct sn_elf_file *file, uint32_t type);
/* The section's bytes, unpacked; empty for none (section NULL, SHT_NOBITS, damaged). */
struct sn_bytes sn_elf_section_contents(struct sn_elf_file *file, struct sn_elf_section *section);
/* The same for a string table: truncated after its last NUL. */
struct sn_bytes sn_elf_section_strings(struct sn_elf_file *file, struct sn_elf_section *section);
/* Whether it contains entries of the procedure linkage table. */
bool sn_elf_section_is_plt(const struct sn_elf_section *section);
/* The contents of the section of that name. */
struct sn_bytes sn_elf_file_contents(struct sn_elf_file *file, const char *name);

/* A symbol table and its names. */
struct sn_elf_symbols {
	struct sn_bytes symbols, names;
	size_t count;
};

/* Of a section, which may be NULL: then there are none. */
struct sn_elf_symbols sn_elf_symbols(struct sn_elf_file *file, struct sn_elf_section *table);
/* False if `index` is beyond the table. */
static inline bool sn_elf_symbol_at(const struct sn_elf_symbols *table, uint64_t index,
				    Elf64_Sym *symbol)
{
	if (index >= table->count)
		return false;
	memcpy(symbol, table->symbols.data + index * sizeof(*symbol), sizeof(*symbol));
	return true;
}
/* NULL if it is outside the table of names. */
static inline const char *sn_elf_symbol_name(const struct sn_elf_symbols *table,
					     const Elf64_Sym *symbol)
{
	return sn_bytes_string(table->names, symbol->st_name);
}

/* Iterates over relocations, with or without addends, and the symbols to which they refer. */
struct sn_elf_relocations {
	struct sn_cursor cursor;
	struct sn_elf_symbols symbols;
	bool has_addends;
};

/* Of a section, which may be NULL: then there are none. */
struct sn_elf_relocations sn_elf_relocations(struct sn_elf_file *file,
					     struct sn_elf_section *section);
/* A missing addend is 0. False at the end. */
static inline bool sn_elf_relocations_next(struct sn_elf_relocations *relocations,
					   Elf64_Rela *entry)
{
	size_t bytes = relocations->has_addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	if (sn_cursor_left(&relocations->cursor) < bytes)
		return false;
	entry->r_addend = 0;
	memcpy(entry, relocations->cursor.at, bytes);
	relocations->cursor.at += bytes;
	return true;
}

/* The name of the symbol that a relocation refers to; NULL none. */
static inline const char *sn_elf_relocation_name(const struct sn_elf_relocations *relocations,
						 const Elf64_Rela *entry)
{
	Elf64_Sym symbol;
	uint64_t index = ELF64_R_SYM(entry->r_info);
	return index && sn_elf_symbol_at(&relocations->symbols, index, &symbol)
		   ? sn_elf_symbol_name(&relocations->symbols, &symbol)
		   : NULL;
}

/* Whether `address` lies in an executable segment. */
bool sn_elf_file_is_code(const struct sn_elf_file *file, uint64_t address);
