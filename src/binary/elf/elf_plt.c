/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for entries of procedure linkage tables, which have no symbols of their own.
 *
 * An entry jumps through a slot of the global offset table; a relocation binds that slot to a
 * symbol. So the entry's jump is decoded instead of counting entries, which serves .plt, .plt.sec
 * and .plt.got alike. x86-64 and AArch64.
 */
#include "elf_symbols.h"

#define ENTRY_BYTES_MAX 16

/* The index of the relocation that an entry pushes for lazy binding, or -1. */
static int64_t x86_pushed_index(const uint8_t *code, size_t bytes)
{
	for (size_t i = 0; i + 5 <= bytes && i <= 6; i++) {
		if (code[i] == 0x68) { /* push $index */
			uint32_t index;
			memcpy(&index, code + i + 1, sizeof(index));
			return index;
		}
	}
	return -1;
}

/* The slot that an entry jumps through, or 0. */
static uint64_t x86_slot(const uint8_t *code, size_t bytes, uint64_t address)
{
	for (size_t i = 0; i + 6 <= bytes; i++) {
		if (code[i] == 0xff && code[i + 1] == 0x25) { /* jmp *displacement(%rip) */
			int32_t displacement;
			memcpy(&displacement, code + i + 2, sizeof(displacement));
			return address + i + 6 + (uint64_t)(int64_t)displacement;
		}
		if (code[i] == 0x68) /* the lazy half of an entry that jumps elsewhere */
			return 0;
	}
	return 0;
}

/* adrp x16, page; ldr x17, [x16, offset] */
static uint64_t arm_slot(const uint8_t *code, size_t bytes, uint64_t address)
{
	for (size_t i = 0; i + 8 <= bytes; i += 4) {
		uint32_t adrp, ldr;
		memcpy(&adrp, code + i, 4);
		memcpy(&ldr, code + i + 4, 4);
		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		uint64_t pages = ((adrp >> 29) & 3) | (((adrp >> 5) & 0x7ffff) << 2);
		int64_t delta = (int64_t)(pages << 43) >> 31; /* sign-extended, times 4096 */
		return ((address + i) & ~0xfffull) + (uint64_t)delta + ((ldr >> 10) & 0xfff) * 8;
	}
	return 0;
}

uint64_t sn_elf_plt_slot(const struct sn_elf_file *file, const uint8_t *code, size_t bytes,
			 uint64_t address)
{
	if (file->machine == EM_X86_64)
		return x86_slot(code, bytes, address);
	return file->machine == EM_AARCH64 ? arm_slot(code, bytes, address) : 0;
}

/* The symbol that a slot is bound to, or the one of the index-th .rela.plt entry. */
static const char *bound_symbol(struct sn_elf_file *file, uint64_t slot, int64_t index)
{
	for (uint32_t i = 0; i < file->section_count; i++) {
		struct sn_elf_section *section = &file->sections[i];
		bool is_plt = strcmp(section->name, ".rela.plt") == 0;
		if (section->header.sh_type != SHT_RELA || (slot == 0 && !is_plt))
			continue;
		struct sn_elf_relocations relocations = sn_elf_relocations(file, section);
		Elf64_Rela entry;
		if (slot == 0)
			sn_cursor_skip(&relocations.cursor, (uint64_t)index * sizeof(entry));
		while (sn_elf_relocations_next(&relocations, &entry))
			if (slot == 0 || entry.r_offset == slot)
				return sn_elf_relocation_name(&relocations, &entry);
	}
	return NULL;
}

static void resolve_one(struct sn_elf_file *file, const struct sn_elf_section *section,
			struct sn_bytes code, uint64_t address, struct sn_elf_hit *hit)
{
	/* 8-byte entries exist in .plt.got only, where they are nothing but the jump */
	uint64_t entry_bytes = section->header.sh_entsize == 8 ? 8 : ENTRY_BYTES_MAX;
	uint64_t at = (address - section->header.sh_addr) / entry_bytes * entry_bytes;
	if (at >= code.size)
		return;
	uint64_t start = section->header.sh_addr + at;
	size_t bytes = code.size - at < entry_bytes ? code.size - at : entry_bytes;
	uint64_t slot = sn_elf_plt_slot(file, code.data + at, bytes, start);
	int64_t index = -1;
	if (file->machine == EM_X86_64)
		index = x86_pushed_index(code.data + at, bytes);
	hit->start = start;
	hit->end = start + bytes;
	if (slot == 0 && index < 0)
		return;
	hit->name = bound_symbol(file, slot, index);
	hit->is_plt = hit->name != NULL;
}

void sn_elf_plt_resolve(struct sn_elf_file *file, const uint64_t *addresses, size_t count,
			struct sn_elf_hit *hits)
{
	for (uint32_t i = 0; i < file->section_count; i++) {
		struct sn_elf_section *section = &file->sections[i];
		if (!sn_elf_section_is_plt(section))
			continue;
		struct sn_bytes code = sn_elf_section_contents(file, section);
		for (size_t j = 0; j < count; j++) {
			uint64_t offset = addresses[j] - section->header.sh_addr;
			bool is_nameless = !hits[j].name || hits[j].end == hits[j].start;
			if (!is_nameless || offset >= section->header.sh_size)
				continue;
			hits[j] = (struct sn_elf_hit){0};
			resolve_one(file, section, code, addresses[j], &hits[j]);
		}
	}
}
