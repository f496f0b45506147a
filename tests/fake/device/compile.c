/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver's compiler makes of PTX: a cubin with a section and a symbol for each kernel, as long as it has statements, of which each
 * is an instruction of nothing. It has no lines.
 */
#include "kernels.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KERNELS	  64
#define INSTRUCTION_BYTES 16
#define MACHINE_CUDA	  190

/* Sections: none, names, symbols, and a kernel's each. */
enum { NAMES = 1, SYMBOLS, FIRST_CODE };

struct entry {
	char section[256]; /* .text.NAME */
	size_t code_bytes;
};

/* Where the text goes on behind a kernel's body; NULL: there is none. */
static const char *read_entry(const char *text, struct entry *entry)
{
	const char *name = text + strspn(text, " \t"), *body = strchr(name, '{');
	size_t length = strcspn(name, "( \t\n{"), statements = 0, depth = 0;
	if (!body || !length || length >= sizeof(entry->section) - 6)
		return NULL;
	memcpy(entry->section, ".text.", 6);
	memcpy(entry->section + 6, name, length);
	entry->section[6 + length] = '\0';
	for (; *body; body++) {
		statements += *body == ';';
		depth += *body == '{';
		depth -= *body == '}';
		if (!depth)
			break;
	}
	entry->code_bytes = statements * INSTRUCTION_BYTES;
	return body;
}

static int read_entries(const char *ptx, struct entry *entries)
{
	int count = 0;
	for (const char *at = strstr(ptx, ".entry"); at && count < MOST_KERNELS;
	     at = strstr(at, ".entry")) {
		at = read_entry(at + strlen(".entry"), &entries[count]);
		if (!at)
			break;
		count++;
	}
	return count;
}

/* Head, sections, symbols, code, names. */
static void lay_out(char *image, const struct entry *entries, int count)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)image;
	Elf64_Shdr *sections = (Elf64_Shdr *)(head + 1);
	Elf64_Sym *symbols = (Elf64_Sym *)(sections + FIRST_CODE + count);
	char *code = (char *)(symbols + 1 + count), *names = code;
	*head = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = MACHINE_CUDA,
			     .e_version = EV_CURRENT,
			     .e_shoff = sizeof(*head),
			     .e_ehsize = sizeof(*head),
			     .e_shentsize = sizeof(*sections),
			     .e_shnum = (Elf64_Half)(FIRST_CODE + count),
			     .e_shstrndx = NAMES};
	for (int index = 0; index < count; index++)
		names += entries[index].code_bytes;
	sections[SYMBOLS] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
					 .sh_offset = (Elf64_Off)((char *)symbols - image),
					 .sh_size = (size_t)(1 + count) * sizeof(*symbols),
					 .sh_link = NAMES,
					 .sh_entsize = sizeof(*symbols)};
	size_t name = 1;
	for (int index = 0; index < count; index++) {
		sections[FIRST_CODE + index] = (Elf64_Shdr){.sh_name = (Elf64_Word)name,
							    .sh_type = SHT_PROGBITS,
							    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
							    .sh_offset = (Elf64_Off)(code - image),
							    .sh_size = entries[index].code_bytes};
		symbols[1 + index] = (Elf64_Sym){.st_name = (Elf64_Word)(name + strlen(".text.")),
						 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
						 .st_shndx = (Elf64_Section)(FIRST_CODE + index),
						 .st_size = entries[index].code_bytes};
		strcpy(names + name, entries[index].section);
		name += strlen(entries[index].section) + 1;
		code += entries[index].code_bytes;
	}
	sections[NAMES] = (Elf64_Shdr){
	    .sh_type = SHT_STRTAB, .sh_offset = (Elf64_Off)(names - image), .sh_size = name};
}

void *fake_compile(const char *ptx, size_t *bytes)
{
	struct entry *entries = calloc(MOST_KERNELS, sizeof(*entries));
	int count = read_entries(ptx, entries);
	char *image = NULL;
	*bytes = sizeof(Elf64_Ehdr) + (size_t)(FIRST_CODE + count) * sizeof(Elf64_Shdr) +
		 (size_t)(1 + count) * sizeof(Elf64_Sym) + 1;
	for (int index = 0; index < count; index++)
		*bytes += entries[index].code_bytes + strlen(entries[index].section) + 1;
	if (count) {
		image = calloc(1, *bytes);
		lay_out(image, entries, count);
	}
	free(entries);
	return image;
}
