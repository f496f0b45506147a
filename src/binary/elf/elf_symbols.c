/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that contain addresses; see elf_symbols.h. */
#include "elf_symbols.h"
#include "base/search.h"
#include "base/text.h"

/* Bounds what symbols that overlap (never in real files) can cost. */
#define COVERED_MAX 20000000u

#define BUCKETS 4096u

/* The sorted addresses, and where those of each equal part of their range begin. */
struct locator {
	const uint64_t *addresses;
	size_t count;
	unsigned shift;
	size_t first[BUCKETS + 1];
};

static void locator_init(struct locator *locator, const uint64_t *addresses, size_t count)
{
	uint64_t range = addresses[count - 1] - addresses[0];
	locator->addresses = addresses;
	locator->count = count;
	locator->shift = 0;
	while (range >> locator->shift >= BUCKETS)
		locator->shift++;
	size_t at = 0;
	for (uint64_t bucket = 0; bucket <= BUCKETS; bucket++) {
		while (at < count && (addresses[at] - addresses[0]) >> locator->shift < bucket)
			at++;
		locator->first[bucket] = at;
	}
}

/* The first address that is not before `value`: found for each of very many symbols. */
static size_t lower_bound(const struct locator *locator, uint64_t value)
{
	const uint64_t *addresses = locator->addresses;
	if (value <= addresses[0])
		return 0;
	if (value > addresses[locator->count - 1])
		return locator->count;
	uint64_t bucket = (value - addresses[0]) >> locator->shift;
	return sn_search_from(i, locator->first[bucket], locator->first[bucket + 1],
			      addresses[i] < value);
}

static unsigned leading_underscores(const char *name)
{
	/* what these begin is mangling, not modesty */
	if (sn_text_begins(name, "_Z") || sn_text_begins(name, "_R"))
		return 0;
	unsigned count = 0;
	while (name[count] == '_' && count < 3)
		count++;
	return count;
}

/*
 * Which of several names of one address people expect: a function before a label, a visible symbol
 * before a local one, then fewer leading underscores, then global before weak.
 */
static uint8_t rank_of(const Elf64_Sym *symbol, const char *name)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	unsigned binding = ELF64_ST_BIND(symbol->st_info);
	unsigned rank = type == STT_NOTYPE ? 1 : 0;
	rank = rank * 2 + (binding == STB_LOCAL ? 1 : 0);
	rank = rank * 4 + leading_underscores(name);
	return (uint8_t)(rank * 2 + (binding == STB_WEAK ? 1 : 0));
}

/* Of two names of the same rank: the shorter, then the first in order; stable whatever the table.
 */
static bool is_better(uint8_t rank, const char *name, uint8_t old_rank, const char *old)
{
	if (!old || rank != old_rank)
		return !old || rank < old_rank;
	size_t length = strlen(name), old_length = strlen(old);
	return length != old_length ? length < old_length : strcmp(name, old) < 0;
}

/* Mapping symbols ($x, $d.12) and compilers' local labels name no function. */
static bool is_function_name(const char *name)
{
	if (name[0] == '\0' || (name[0] == '.' && name[1] == 'L'))
		return false;
	return !(name[0] == '$' && name[1] != '\0' && strchr("adtx", name[1]) &&
		 (name[2] == '\0' || name[2] == '.'));
}

struct pass {
	struct sn_elf_file *file;
	struct sn_elf_symbols table;
	const uint64_t *addresses;
	size_t count;
	struct sn_elf_hit *hits;
	struct sn_elf_near *near;
	uint32_t covered;
};

static void add_sized(struct pass *pass, const Elf64_Sym *symbol, size_t first)
{
	uint64_t end = symbol->st_value + symbol->st_size;
	const char *name = NULL;
	uint8_t rank = 0;
	if (end > pass->near[first].sized_end)
		pass->near[first].sized_end = end;
	for (size_t i = first; i < pass->count && pass->addresses[i] < end; i++) {
		struct sn_elf_hit *hit = &pass->hits[i];
		if (pass->covered++ > COVERED_MAX)
			return;
		if (!name) {
			name = sn_elf_symbol_name(&pass->table, symbol);
			if (!name || !is_function_name(name))
				return;
			rank = rank_of(symbol, name);
		}
		/* the innermost function; of its names the best */
		if (hit->name && hit->start > symbol->st_value)
			continue;
		if (!hit->name || hit->start < symbol->st_value ||
		    is_better(rank, name, hit->rank, hit->name))
			*hit = (struct sn_elf_hit){name, symbol->st_value, end, rank, false};
	}
}

static void add_unsized(struct pass *pass, const Elf64_Sym *symbol, size_t first)
{
	struct sn_elf_near *near = &pass->near[first];
	if (near->name && near->start > symbol->st_value)
		return;
	const char *name = sn_elf_symbol_name(&pass->table, symbol);
	if (!name || !is_function_name(name))
		return;
	uint8_t rank = rank_of(symbol, name);
	if (near->name && near->start == symbol->st_value &&
	    !is_better(rank, name, near->rank, near->name))
		return;
	near->name = name;
	near->start = symbol->st_value;
	near->rank = rank;
	near->section = symbol->st_shndx;
}

static bool is_candidate(const struct sn_elf_file *file, const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && symbol->st_shndx < file->section_count &&
	       (file->sections[symbol->st_shndx].header.sh_flags & SHF_EXECINSTR);
}

/* Symbols without a size reach to the end of their section or to the next symbol. */
static void settle_unsized(struct pass *pass)
{
	struct sn_elf_near last = {0};
	uint64_t sized_end = 0;
	for (size_t i = 0; i < pass->count; i++) {
		struct sn_elf_near *near = &pass->near[i];
		if (near->sized_end > sized_end)
			sized_end = near->sized_end;
		if (near->name)
			last = *near;
		if (pass->hits[i].name || !last.name || last.start < sized_end ||
		    last.section >= pass->file->section_count)
			continue;
		const Elf64_Shdr *section = &pass->file->sections[last.section].header;
		if (pass->addresses[i] - section->sh_addr < section->sh_size)
			pass->hits[i] = (struct sn_elf_hit){last.name, last.start, last.start,
							    last.rank, false};
	}
}

void sn_elf_symbols_resolve(struct sn_elf_file *file, struct sn_elf_section *table,
			    const uint64_t *addresses, size_t count, struct sn_elf_hit *hits,
			    struct sn_elf_near *near)
{
	if (!table || count == 0 || table->header.sh_link >= file->section_count)
		return;
	struct pass pass = {file, sn_elf_symbols(file, table), addresses, count, hits, near, 0};
	struct locator locator;
	memset(near, 0, count * sizeof(*near));
	locator_init(&locator, addresses, count);
	Elf64_Sym symbol;
	for (size_t i = 0; sn_elf_symbol_at(&pass.table, i, &symbol); i++) {
		if (!is_candidate(file, &symbol) || symbol.st_size > UINT64_MAX - symbol.st_value)
			continue;
		size_t first = lower_bound(&locator, symbol.st_value);
		if (first == count)
			continue;
		if (symbol.st_size > 0)
			add_sized(&pass, &symbol, first);
		else
			add_unsized(&pass, &symbol, first);
	}
	settle_unsized(&pass);
}
