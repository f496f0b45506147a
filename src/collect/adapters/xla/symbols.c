/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jaxlib exports nothing, but its file keeps the names of its local symbols (.symtab). This reads
 * them once from the file, picks virtual tables and functions of known names, and replaces entries
 * of those tables. An entry is replaced only if it holds the very function of that name.
 */
#include "xla.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TABLES_MAX    128u
#define FUNCTIONS_MAX 192u
#define ENTRIES_MAX   192u
#define TABLE_BITS    9u
#define CLASS	      "_ZN3xla4ifrt20PjRtLoadedExecutable"
#define CONST_CLASS   "_ZNK3xla4ifrt20PjRtLoadedExecutable"
#define POOL	      "15ThreadPoolTemplIN3tsl6thread16EigenEnvironmentEE"

/* How a symbol's name begins and ends. What the end tells is how arguments are passed. */
struct pattern {
	const char *begin, *end;
	enum sn_xla_function function;
};

static const struct pattern patterns[] = {
    {CLASS "7ExecuteEN4absl",
     "EEERKNS0_14ExecuteOptionsESt8optionalINS0_18RCReferenceWrapperINS0_10DeviceListEEEE",
     SN_XLA_LAUNCH},
    {CONST_CLASS "4nameEv", "", SN_XLA_NAME},
    {CONST_CLASS "19addressable_devicesEv", "", SN_XLA_DEVICES},
    {CONST_CLASS "27GetHumanReadableProgramTextB5cxx11Ev", "", SN_XLA_PROGRAM_TEXT},
    {"_ZN3xla3cpu", "7ExecuteERKNS0_5Thunk13ExecuteParamsE", SN_XLA_THUNK},
    {"_ZN5Eigen" POOL "8ScheduleESt8functionIFvvEE", "", SN_XLA_SCHEDULE},
    {"_ZN5Eigen" POOL "16ScheduleWithHintESt8functionIFvvEEii", "", SN_XLA_SCHEDULE_HINT},
};

static const struct {
	const char *begin, *within, *end;
} table_patterns[] = {
    {"_ZTVN3xla4ifrt20PjRtLoadedExecutableE", "", ""},
    {"_ZTVN3xla3cpu", "Thunk", "E"},
    {"_ZTVN5Eigen" POOL "E", "", ""},
};

struct found {
	uintptr_t address;
	enum sn_xla_function function;
};

struct entry {
	uintptr_t *place, before;
	enum sn_xla_function function;
};

static struct found functions[FUNCTIONS_MAX];
static struct {
	uintptr_t from, end;
} tables[TABLES_MAX];
static struct entry entries[ENTRIES_MAX];
static uint32_t function_count, table_count, entry_count;
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

uint32_t sn_xla_entries(enum sn_xla_function function)
{
	return counts[function];
}

static bool matches(const char *name, const char *begin, const char *end)
{
	size_t length = strlen(begin);
	if (strncmp(name, begin, length) != 0)
		return false;
	size_t rest = strlen(name + length), last = strlen(end);
	return last ? rest >= last && !strcmp(name + length + rest - last, end) : rest == 0;
}

static void note_function(const char *name, uintptr_t address)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (function_count < FUNCTIONS_MAX &&
		    matches(name, patterns[i].begin, patterns[i].end)) {
			functions[function_count++] = (struct found){address, patterns[i].function};
			return;
		}
}

static void note_table(const char *name, uintptr_t address, size_t bytes)
{
	for (size_t i = 0; i < sizeof(table_patterns) / sizeof(*table_patterns); i++)
		if (table_count < TABLES_MAX &&
		    matches(name, table_patterns[i].begin, table_patterns[i].end) &&
		    strstr(name, table_patterns[i].within)) {
			tables[table_count].from = address;
			tables[table_count++].end = address + bytes;
			return;
		}
}

/* A section of a mapped file, NULL where it does not lie in it. */
static const Elf64_Shdr *sections_of(const char *file, size_t bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	if (bytes < sizeof(*header) || memcmp(file, ELFMAG, SELFMAG) != 0 ||
	    header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff > bytes ||
	    header->e_shnum * sizeof(Elf64_Shdr) > bytes - header->e_shoff)
		return NULL;
	return (const Elf64_Shdr *)(file + header->e_shoff);
}

static bool lies_within(const Elf64_Shdr *section, size_t bytes)
{
	return section->sh_offset <= bytes && section->sh_size <= bytes - section->sh_offset;
}

/* Our names begin so: most of the names of a large library are passed by a look at four bytes. */
static bool is_candidate(const char *name)
{
	return name[0] == '_' && name[1] == 'Z' &&
	       ((name[2] == 'N' && (name[3] == '3' || name[3] == '5' || name[3] == 'K')) ||
		(name[2] == 'T' && name[3] == 'V'));
}

static int read_symbols(const char *file, size_t bytes, uintptr_t bias)
{
	const Elf64_Shdr *sections = sections_of(file, bytes), *symbols = NULL;
	uint32_t count = sections ? ((const Elf64_Ehdr *)file)->e_shnum : 0;
	for (uint32_t i = 0; i < count; i++)
		if (sections[i].sh_type == SHT_SYMTAB)
			symbols = &sections[i];
	if (!symbols || symbols->sh_link >= count || !lies_within(symbols, bytes) ||
	    !lies_within(&sections[symbols->sh_link], bytes))
		return -ENOEXEC;
	const Elf64_Sym *symbol = (const Elf64_Sym *)(file + symbols->sh_offset);
	const Elf64_Sym *end = symbol + symbols->sh_size / sizeof(*symbol);
	const char *names = file + sections[symbols->sh_link].sh_offset;
	size_t names_bytes = sections[symbols->sh_link].sh_size;
	if (!names_bytes || names[names_bytes - 1])
		return -ENOEXEC;
	for (; symbol < end; symbol++) {
		const char *name = names + symbol->st_name;
		if (!symbol->st_value || symbol->st_name + 4ul > names_bytes || !is_candidate(name))
			continue;
		if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
			note_function(name, bias + symbol->st_value);
		else if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT)
			note_table(name, bias + symbol->st_value, symbol->st_size);
	}
	return 0;
}

/* The file that is mapped, and no other that has its name by now. */
static int read_file(const struct sn_module *module)
{
	struct stat status;
	int fd =
	    (int)syscall(SYS_openat, AT_FDCWD, module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	void *file = MAP_FAILED;
	if (!syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) &&
	    status.st_ino == module->inode)
		file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	syscall(SYS_close, fd);
	if (file == MAP_FAILED)
		return -ENOENT;
	int result = read_symbols(file, (size_t)status.st_size, module->bias);
	syscall(SYS_munmap, file, (size_t)status.st_size);
	return result;
}

static const struct found *function_at(uintptr_t address)
{
	for (uint32_t i = 0; i < function_count; i++)
		if (functions[i].address == address)
			return &functions[i];
	return NULL;
}

static void note_entries(uintptr_t from, uintptr_t end)
{
	enum { BEFORE_FUNCTIONS = 2 }; /* the offset to the top and the type */
	for (uintptr_t at = from + BEFORE_FUNCTIONS * sizeof(void *); at < end;
	     at += sizeof(void *)) {
		uintptr_t *place = (uintptr_t *)at;
		const struct found *found = function_at(*place);
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
	if (!table_count) {
		int result = read_file(module);
		if (result)
			return result;
		find_relro(module);
	}
	memset(counts, 0, sizeof(counts));
	memset(thunks, 0, sizeof(thunks));
	entry_count = 0;
	for (uint32_t i = 0; i < table_count; i++)
		note_entries(tables[i].from, tables[i].end);
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
