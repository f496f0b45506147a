/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define CLASS		 "_ZN3xla4ifrt20PjRtLoadedExecutable"
#define CONST_CLASS	 "_ZNK3xla4ifrt20PjRtLoadedExecutable"
#define DESCRIPTOR_BYTES 24 /* of GDB's interface */
#define POOL		 "15ThreadPoolTemplIN3tsl6thread16EigenEnvironmentEE"

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

static bool matches(const char *name, const char *begin, const char *end)
{
	size_t length = strlen(begin);
	if (strncmp(name, begin, length) != 0)
		return false;
	size_t rest = strlen(name + length), last = strlen(end);
	return last ? rest >= last && !strcmp(name + length + rest - last, end) : rest == 0;
}

static void note_function(struct sn_xla_symbols *found, const char *name, uintptr_t address)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (found->function_count < SN_XLA_FUNCTIONS_MAX &&
		    matches(name, patterns[i].begin, patterns[i].end)) {
			enum sn_xla_function function = patterns[i].function;
			found->functions[found->function_count++] =
			    (struct sn_xla_symbol){address, function};
			found->counts[function]++;
			return;
		}
}

static void note_table(struct sn_xla_symbols *found, const char *name, uintptr_t address,
		       size_t bytes)
{
	for (size_t i = 0; i < sizeof(table_patterns) / sizeof(*table_patterns); i++)
		if (found->table_count < SN_XLA_TABLES_MAX &&
		    matches(name, table_patterns[i].begin, table_patterns[i].end) &&
		    strstr(name, table_patterns[i].within)) {
			found->tables[found->table_count].from = address;
			found->tables[found->table_count++].end = address + bytes;
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

int sn_xla_symbols_read(struct sn_xla_symbols *found, const void *mapped, size_t bytes)
{
	const char *file = mapped;
	const Elf64_Shdr *sections = sections_of(file, bytes), *symbols = NULL;
	uint32_t count = sections ? ((const Elf64_Ehdr *)file)->e_shnum : 0;
	for (uint32_t i = 0; i < count; i++)
		if (sections[i].sh_type == SHT_SYMTAB)
			symbols = &sections[i];
	memset(found, 0, sizeof(*found));
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
		if (symbol->st_size >= DESCRIPTOR_BYTES && symbol->st_name < names_bytes &&
		    name[0] == '_' && name[1] == '_' && !strcmp(name, "__jit_debug_descriptor"))
			found->jit_descriptor = symbol->st_value;
		if (!symbol->st_value || symbol->st_name + 4ul > names_bytes || !is_candidate(name))
			continue;
		if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
			note_function(found, name, symbol->st_value);
		else if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT)
			note_table(found, name, symbol->st_value, symbol->st_size);
	}
	return 0;
}

const char *sn_xla_unknown_form(const uint32_t counts[SN_XLA_FUNCTION_COUNT])
{
	if (!counts[SN_XLA_LAUNCH])
		return "its ifrt::PjRtLoadedExecutable::Execute is none of the known form";
	if (!counts[SN_XLA_NAME] || counts[SN_XLA_LAUNCH] > 1)
		return "its executables are not as known";
	return NULL;
}
