/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jaxlib exports nothing, but its file keeps the names of its local symbols. This reads the file
 * once (symbols.c) and replaces entries of the virtual tables found there. An entry is replaced only
 * if it holds the very function of that name.
 */
#include "xla.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES_MAX 192u
#define TABLE_BITS  9u

struct entry {
	uintptr_t *place, before;
	enum sn_xla_function function;
};

static struct sn_xla_symbols symbols;
static uintptr_t bias; /* of the module */
static struct entry entries[ENTRIES_MAX];
static uint32_t entry_count;
static uint32_t counts[SN_XLA_FUNCTION_COUNT];
static uintptr_t shared[SN_XLA_FUNCTION_COUNT];
static uintptr_t relro_from, relro_end; /* pages that the loader has made read-only */

/* From a class's virtual table, as its objects name it, to its Thunk::Execute. */
static struct {
	uintptr_t table, function;
} thunks[1u << TABLE_BITS];

static uint32_t place_of(uintptr_t table)
{
	return (uint32_t)((table >> 3) * 0x9E3779B97F4A7C15ull >> (64 - TABLE_BITS));
}

uintptr_t sn_xla_thunk_function(uintptr_t table)
{
	uint32_t place = place_of(table);
	while (thunks[place].table && thunks[place].table != table)
		place = (place + 1) % (1u << TABLE_BITS);
	return thunks[place].function;
}

uintptr_t sn_xla_jit_descriptor(void)
{
	return symbols.jit_descriptor ? bias + symbols.jit_descriptor : 0;
}

static void add_thunk(uintptr_t table, uintptr_t function)
{
	uint32_t place = place_of(table);
	while (thunks[place].table)
		place = (place + 1) % (1u << TABLE_BITS);
	thunks[place].table = table;
	thunks[place].function = function;
}

uintptr_t sn_xla_function(enum sn_xla_function function)
{
	return shared[function];
}

const uint32_t *sn_xla_entries(void)
{
	return counts;
}

static int read_file(const struct sn_module *module)
{
	size_t bytes;
	const void *file = sn_module_map_file(module, &bytes);
	if (!file)
		return -ENOENT;
	int result = sn_xla_symbols_read(&symbols, file, bytes);
	bias = module->bias;
	sn_module_unmap_file(file, bytes);
	return result;
}

static const struct sn_xla_symbol *function_at(uintptr_t address)
{
	for (uint32_t i = 0; i < symbols.function_count; i++)
		if (bias + symbols.functions[i].address == address)
			return &symbols.functions[i];
	return NULL;
}

static void note_entries(uintptr_t from, uintptr_t end)
{
	enum { BEFORE_FUNCTIONS = 2 }; /* the offset to the top and the type */
	for (uintptr_t at = from + BEFORE_FUNCTIONS * sizeof(void *); at < end;
	     at += sizeof(void *)) {
		uintptr_t *place = (uintptr_t *)at;
		const struct sn_xla_symbol *found = function_at(*place);
		if (!found || entry_count == ENTRIES_MAX)
			continue;
		entries[entry_count++] = (struct entry){place, *place, found->function};
		counts[found->function]++;
		shared[found->function] = *place;
		if (found->function == SN_XLA_THUNK)
			add_thunk(from + BEFORE_FUNCTIONS * sizeof(void *), *place);
	}
}

static void find_relro(const struct sn_module *module)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)module->base;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(module->base + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_GNU_RELRO) {
			relro_from = (module->bias + segments[i].p_vaddr) & ~4095ul;
			relro_end =
			    (module->bias + segments[i].p_vaddr + segments[i].p_memsz) & ~4095ul;
		}
}

int sn_xla_symbols_find(const struct sn_module *module)
{
	if (!symbols.table_count) {
		int result = read_file(module);
		if (result)
			return result;
		find_relro(module);
	}
	memset(counts, 0, sizeof(counts));
	memset(thunks, 0, sizeof(thunks));
	entry_count = 0;
	for (uint32_t i = 0; i < symbols.table_count; i++)
		note_entries(bias + symbols.tables[i].from, bias + symbols.tables[i].end);
	return 0;
}

/* ---- replacing ---- */

static bool protect(const uintptr_t *place, int protection)
{
	uintptr_t page = (uintptr_t)place & ~4095ul;
	return page < relro_from || page >= relro_end ||
	       !syscall(SYS_mprotect, page, 4096ul, protection);
}

/* Each with one store: other threads call through the entry meanwhile. */
static bool store(const struct entry *entry, uintptr_t function)
{
	if (!protect(entry->place, PROT_READ | PROT_WRITE))
		return false;
	__atomic_store_n(entry->place, function, __ATOMIC_RELEASE);
	protect(entry->place, PROT_READ);
	return true;
}

bool sn_xla_entries_replace(void *const hooks[SN_XLA_FUNCTION_COUNT])
{
	for (uint32_t i = 0; i < entry_count; i++)
		if (hooks[entries[i].function] &&
		    !store(&entries[i], (uintptr_t)hooks[entries[i].function])) {
			sn_xla_entries_restore();
			return false;
		}
	return true;
}

void sn_xla_entries_restore(void)
{
	for (uint32_t i = 0; i < entry_count; i++)
		if (*entries[i].place != entries[i].before)
			store(&entries[i], entries[i].before);
}
