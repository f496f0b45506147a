/* SPDX-License-Identifier: Apache-2.0 */
/* Sections, loaded data and lookups; see code.h. */
#include "code.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "code_private.h"

#include <stdlib.h>
#include <string.h>

#ifndef R_AARCH64_RELATIVE
#define R_AARCH64_RELATIVE 1027
#endif

SN_SORT_BY(sort_by_section_start, struct sn_code_section, const void *,
	   SN_ORDER_BY(a, b, start, end));

static int find_sections(struct sn_code *code)
{
	struct sn_elf_file *file = code->file;
	uint32_t kept = 0;
	code->sections = calloc(file->section_count + 1u, sizeof(*code->sections));
	if (!code->sections)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < file->section_count; i++) {
		struct sn_elf_section *section = &file->sections[i];
		const Elf64_Shdr *header = &section->header;
		uint64_t both = SHF_ALLOC | SHF_EXECINSTR;
		if ((header->sh_flags & both) != both || header->sh_type != SHT_PROGBITS)
			continue;
		struct sn_bytes bytes = sn_elf_section_contents(file, section);
		if (bytes.size == 0 || header->sh_addr > UINT64_MAX - bytes.size)
			continue;
		code->sections[code->section_count++] =
		    (struct sn_code_section){header->sh_addr, header->sh_addr + bytes.size,
					     bytes.data, sn_elf_section_is_plt(section)};
	}
	sort_by_section_start(code->sections, code->section_count, NULL);
	/* no linker lays sections over each other; a file that does keeps the first */
	for (uint32_t i = 0; i < code->section_count; i++)
		if (kept == 0 || code->sections[i].start >= code->sections[kept - 1].end)
			code->sections[kept++] = code->sections[i];
	code->section_count = kept;
	return 0;
}

const struct sn_code_section *sn_code_section_at(const struct sn_code *code, uint64_t address)
{
	uint32_t next = sn_search(i, code->section_count, code->sections[i].start <= address);
	if (next == 0 || address >= code->sections[next - 1].end)
		return NULL;
	return &code->sections[next - 1];
}

uint32_t sn_code_function_at(const struct sn_code *code, uint64_t address)
{
	uint32_t next = sn_search(i, code->function_count, code->functions[i].start <= address);
	if (next == 0 || address >= code->functions[next - 1].end)
		return SN_CODE_NONE;
	return next - 1;
}

struct sn_bytes sn_code_bytes(const struct sn_code *code, uint64_t address)
{
	const struct sn_code_section *section = sn_code_section_at(code, address);
	if (!section)
		return (struct sn_bytes){NULL, 0};
	return (struct sn_bytes){section->bytes + (address - section->start),
				 (size_t)(section->end - address)};
}

struct sn_bytes sn_code_data(const struct sn_code *code, uint64_t address)
{
	const struct sn_elf_file *file = code->file;
	for (uint32_t i = 0; i < file->segment_count; i++) {
		Elf64_Phdr segment;
		memcpy(&segment, file->segments + i * sizeof(segment), sizeof(segment));
		uint64_t into = address - segment.p_vaddr;
		if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
		    into >= segment.p_filesz || segment.p_offset > file->bytes.size ||
		    segment.p_filesz > file->bytes.size - segment.p_offset)
			continue;
		return (struct sn_bytes){file->bytes.data + segment.p_offset + into,
					 (size_t)(segment.p_filesz - into)};
	}
	return (struct sn_bytes){NULL, 0};
}

/* ---- words that the loader writes ---- */

SN_SORT_BY(sort_by_place, struct sn_code_pointer, const void *, SN_ORDER(a->at, b->at));

static uint32_t relative_type(const struct sn_code *code)
{
	return code->file->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
}

/* Keeps the addresses that point into code: nothing else is ever asked for. */
static int find_pointers(struct sn_code *code)
{
	size_t capacity = 0;
	uint32_t relative = relative_type(code);
	bool is_sorted = true;
	for (uint32_t i = 0; i < code->file->section_count; i++) {
		struct sn_elf_section *section = &code->file->sections[i];
		if (section->header.sh_type != SHT_RELA)
			continue;
		struct sn_elf_relocations relocations = sn_elf_relocations(code->file, section);
		Elf64_Rela entry;
		while (sn_elf_relocations_next(&relocations, &entry)) {
			uint64_t value = (uint64_t)entry.r_addend;
			if (ELF64_R_TYPE(entry.r_info) != relative ||
			    !sn_code_section_at(code, value))
				continue;
			is_sorted &= code->pointer_count == 0 ||
				     code->pointers[code->pointer_count - 1].at <= entry.r_offset;
			if (sn_vec_push(&code->pointers, &capacity, &code->pointer_count,
					(struct sn_code_pointer){entry.r_offset, value}))
				return SN_ERR_MEMORY;
		}
	}
	if (!is_sorted)
		sort_by_place(code->pointers, code->pointer_count, NULL);
	return 0;
}

uint64_t sn_code_pointer_at(const struct sn_code *code, uint64_t at)
{
	uint64_t value;
	size_t first = sn_search(i, code->pointer_count, code->pointers[i].at < at);
	if (first < code->pointer_count && code->pointers[first].at == at)
		return code->pointers[first].value;
	struct sn_bytes bytes = sn_code_data(code, at);
	if (bytes.size < sizeof(value))
		return 0;
	memcpy(&value, bytes.data, sizeof(value));
	return value;
}

/* ---- slots of functions that never return ---- */

static bool is_function_slot(const struct sn_code *code, uint32_t type)
{
	if (code->file->machine == EM_AARCH64)
		return type == R_AARCH64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT;
	return type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT;
}

static int read_slots(struct sn_code *code, struct sn_elf_section *section, size_t *capacity)
{
	struct sn_elf_relocations relocations = sn_elf_relocations(code->file, section);
	Elf64_Rela entry;
	while (sn_elf_relocations_next(&relocations, &entry)) {
		const char *name = is_function_slot(code, (uint32_t)ELF64_R_TYPE(entry.r_info))
				       ? sn_elf_relocation_name(&relocations, &entry)
				       : NULL;
		if (name && sn_code_name_is_noreturn(name) &&
		    sn_vec_push(&code->noreturn_slots, capacity, &code->noreturn_slot_count,
				entry.r_offset))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int find_noreturn_slots(struct sn_code *code)
{
	size_t capacity = 0;
	for (uint32_t i = 0; i < code->file->section_count; i++) {
		struct sn_elf_section *section = &code->file->sections[i];
		if (section->header.sh_type == SHT_RELA && section->header.sh_link > 0 &&
		    read_slots(code, section, &capacity) < 0)
			return SN_ERR_MEMORY;
	}
	sn_sort_u64(code->noreturn_slots, code->noreturn_slot_count);
	return 0;
}

int sn_code_open(struct sn_elf_file *file, struct sn_elf_file *symbols, struct sn_code **code)
{
	struct sn_code *created;
	*code = NULL;
	if (!sn_insn_decoder(file->machine))
		return 0;
	created = calloc(1, sizeof(*created));
	if (!created)
		return SN_ERR_MEMORY;
	created->file = file;
	created->decode = sn_insn_decoder(file->machine);
	created->alignment = sn_insn_alignment(created->decode);
	if (find_sections(created) == 0 && find_pointers(created) == 0 &&
	    find_noreturn_slots(created) == 0 && sn_code_find_functions(created, symbols) == 0)
		created->returns = calloc(created->function_count + 1u, sizeof(*created->returns));
	if (!created->returns) {
		sn_code_free(created);
		return SN_ERR_MEMORY;
	}
	*code = created;
	return 0;
}

void sn_code_free(struct sn_code *code)
{
	if (!code)
		return;
	free(code->sections);
	free(code->functions);
	free(code->noreturn_slots);
	free((void *)code->returns);
	free(code->pointers);
	free(code);
}
