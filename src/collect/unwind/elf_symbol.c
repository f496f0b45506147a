/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol lookup in a mapped ELF image, by the hash table that the dynamic linker itself uses:
 * DT_GNU_HASH, or DT_HASH where a module has only the old one. Symbol versions are not looked at:
 * of several versions the first in the table is taken. .symtab is not mapped and therefore not
 * read.
 */
#include "elf_symbol.h"

/* glibc writes addresses into a mapped dynamic section, other loaders and the vdso leave offsets.
 */
static const void *dynamic_address(const struct sn_module *module, uintptr_t value)
{
	return (const void *)(value >= module->start && value < module->end ? value
									    : module->bias + value);
}

static const ElfW(Dyn) * dynamic_section(const struct sn_module *module)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)module->start;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_phentsize != sizeof(ElfW(Phdr)))
		return NULL;
	if (header->e_phoff > module->end - module->start ||
	    header->e_phnum * sizeof(ElfW(Phdr)) > module->end - module->start - header->e_phoff)
		return NULL;
	const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(module->start + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		uintptr_t address = module->bias + segments[i].p_vaddr;
		if (segments[i].p_type == PT_DYNAMIC && address >= module->start &&
		    address < module->end)
			return (const ElfW(Dyn) *)address;
	}
	return NULL;
}

bool sn_elf_dynamic_read(const struct sn_module *module, struct sn_elf_dynamic *dynamic)
{
	const ElfW(Dyn) *entry = dynamic_section(module);
	memset(dynamic, 0, sizeof(*dynamic));
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		const void *address = dynamic_address(module, entry->d_un.d_ptr);
		switch (entry->d_tag) {
		case DT_SYMTAB:
			dynamic->symbols = address;
			break;
		case DT_STRTAB:
			dynamic->strings = address;
			break;
		case DT_GNU_HASH:
			dynamic->gnu_hash = address;
			break;
		case DT_HASH:
			dynamic->old_hash = address;
			break;
		case DT_JMPREL:
			dynamic->relocations[0] = address;
			break;
		case DT_PLTRELSZ:
			dynamic->relocation_bytes[0] = entry->d_un.d_val;
			break;
		case DT_RELA:
			dynamic->relocations[1] = address;
			break;
		case DT_RELASZ:
			dynamic->relocation_bytes[1] = entry->d_un.d_val;
			break;
		}
	}
	return dynamic->symbols && dynamic->strings;
}

static bool symbol_matches(const struct sn_elf_dynamic *dynamic, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &dynamic->symbols[index];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	return symbol->st_shndx != SHN_UNDEF && type != STT_TLS && type != STT_GNU_IFUNC &&
	       strcmp(dynamic->strings + symbol->st_name, name) == 0;
}

/* 0 is the undefined symbol, hence also "not found". */
static uint32_t find_by_gnu_hash(const struct sn_elf_dynamic *dynamic, const char *name)
{
	const uint32_t *table = dynamic->gnu_hash;
	uint32_t bucket_count = table[0], first = table[1], bloom_words = table[2],
		 shift = table[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)&table[4];
	const uint32_t *buckets = (const uint32_t *)&bloom[bloom_words];
	const uint32_t *chain = &buckets[bucket_count];
	const unsigned word_bits = 8 * sizeof(ElfW(Addr));
	uint32_t hash = 5381;
	if (bucket_count == 0 || bloom_words == 0)
		return 0;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	ElfW(Addr) word = bloom[(hash / word_bits) % bloom_words];
	if (!(word >> (hash % word_bits) & 1) || !(word >> ((hash >> shift) % word_bits) & 1))
		return 0;
	uint32_t index = buckets[hash % bucket_count];
	if (index < first)
		return 0;
	for (;; index++) {
		uint32_t entry = chain[index - first];
		if ((entry | 1) == (hash | 1) && symbol_matches(dynamic, index, name))
			return index;
		if (entry & 1)
			return 0;
	}
}

static uint32_t find_by_old_hash(const struct sn_elf_dynamic *dynamic, const char *name)
{
	const uint32_t *table = dynamic->old_hash;
	uint32_t bucket_count = table[0], chain_count = table[1], hash = 0;
	const uint32_t *buckets = &table[2], *chain = &buckets[bucket_count];
	if (bucket_count == 0)
		return 0;
	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash ^= (hash >> 24) & 0xf0;
		hash &= 0x0fffffff;
	}
	for (uint32_t index = buckets[hash % bucket_count]; index && index < chain_count;
	     index = chain[index])
		if (symbol_matches(dynamic, index, name))
			return index;
	return 0;
}

uintptr_t sn_elf_symbol(const struct sn_module *module, const char *name, size_t *size_bytes)
{
	struct sn_elf_dynamic dynamic;
	if (!sn_elf_dynamic_read(module, &dynamic) || (!dynamic.gnu_hash && !dynamic.old_hash))
		return 0;
	uint32_t index =
	    dynamic.gnu_hash ? find_by_gnu_hash(&dynamic, name) : find_by_old_hash(&dynamic, name);
	if (index == 0)
		return 0;
	if (size_bytes)
		*size_bytes = dynamic.symbols[index].st_size;
	return module->bias + dynamic.symbols[index].st_value;
}

bool sn_elf_module_of(const struct dl_phdr_info *info, struct sn_module *module)
{
	*module = (struct sn_module){.start = UINTPTR_MAX, .bias = info->dlpi_addr};
	for (int index = 0; index < info->dlpi_phnum; index++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
		if (segment->p_type != PT_LOAD)
			continue;
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		if (start < module->start)
			module->start = start & ~(uintptr_t)4095;
		if (start + segment->p_memsz > module->end)
			module->end = start + segment->p_memsz;
	}
	return module->end != 0;
}
