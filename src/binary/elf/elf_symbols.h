/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols that contain given addresses: from symbol tables, PLT entries and unwind tables.
 *
 * A table is scanned once and not sorted: each of its symbols is looked up in the (few, sorted)
 * addresses, so that half a million symbols cost milliseconds and only used names are read. Does
 * not demangle.
 */
#pragma once

#include "elf_file.h"

struct sn_elf_hit {
	const char *name; /* in the file's string table; NULL none */
	uint64_t start;	  /* ELF virtual address of the function; 0 unknown */
	uint64_t end;	  /* one past it; start if the symbol has no size */
	uint8_t rank;	  /* of the name among aliases, see elf_symbols.c; smaller is better */
	bool is_plt;	  /* an entry of the procedure linkage table that jumps to `name` */
};

/* Data for symbols without a size; zeroed for the first table. One per address. */
struct sn_elf_near {
	const char *name;
	uint64_t start;
	uint64_t sized_end; /* the furthest end of a sized symbol that starts before the address */
	uint8_t rank;
	uint32_t section;
};

/*
 * Merges the function symbols of one table (SHT_SYMTAB or SHT_DYNSYM) into hits[count], which start
 * zeroed and may have results of an earlier table. The addresses ascend. near[count] is scratch.
 */
void sn_elf_symbols_resolve(struct sn_elf_file *file, struct sn_elf_section *table,
			    const uint64_t *addresses, size_t count, struct sn_elf_hit *hits,
			    struct sn_elf_near *near);

/* Names PLT entries among the addresses by the symbols their slots are bound to. */
void sn_elf_plt_resolve(struct sn_elf_file *file, const uint64_t *addresses, size_t count,
			struct sn_elf_hit *hits);

/* The slot that the PLT entry in code[bytes] at `address` jumps through, or 0. */
uint64_t sn_elf_plt_slot(const struct sn_elf_file *file, const uint8_t *code, size_t bytes,
			 uint64_t address);

/* A function as .eh_frame describes it. */
struct sn_elf_frame {
	uint64_t start, end;
	uint64_t exceptions; /* address of its exception table; 0 none */
	bool in_frame; /* a part that a compiler split off: entered with its function's frame */
};

/* Visits each one, by ascending start. */
void sn_elf_unwind_each(struct sn_elf_file *file,
			void (*visit)(void *data, const struct sn_elf_frame *frame), void *data);

/* Gives addresses without a hit the start and end of the function that .eh_frame describes there.
 */
void sn_elf_unwind_resolve(struct sn_elf_file *file, const uint64_t *addresses, size_t count,
			   struct sn_elf_hit *hits);
