/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of machine code that is made at run time, of compilers that tell debuggers of each piece by a
 * list of object files in memory (GDB's interface, __jit_debug_descriptor): XLA and LLVM. The
 * addresses of their functions go into a file of the measurement, in the form of perf's maps;
 * `sonde run` puts that into the process's map.
 *
 * Another thread may change the list meanwhile, so it is read through the kernel, and what is no
 * object file is passed over.
 */
#include "jit.h"

#include "collect/core/arena.h"
#include "collect/core/clock.h"
#include "collect/core/hash.h"
#include "collect/core/line.h"
#include "collect/core/word_table.h"
#include "collect/record/own_file.h"
#include "format/measurement/measurement.h"
#include "unwind/memory.h"

#include <elf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEEN_BITS     14u
#define MOST_BYTES    (16ul << 20)
#define MOST_SECTIONS 64u
#define MOST_SYMBOLS  4096u
#define NAME_MOST     512u

/* GDB's, "JIT Compilation Interface". */
struct entry {
	uintptr_t next, previous, object;
	uint64_t bytes;
};

struct descriptor {
	uint32_t version, action;
	uintptr_t relevant, first;
};

static struct sn_word_table seen = {.bits = SEEN_BITS};
static struct sn_own_file file = {.fd = -1};
static uint64_t written;
/* Of the object that is read; not on the stack, which is the program's. */
static Elf64_Shdr sections[MOST_SECTIONS];
static char name[NAME_MOST], text[NAME_MOST + 64];

static bool read_all(uintptr_t from, void *into, size_t bytes)
{
	return sn_memory_read(from, into, bytes) == bytes;
}

/* "START BYTES NAME" */
static void write_line(uint64_t start, uint64_t bytes)
{
	struct sn_line line = SN_LINE(text);
	sn_line_add_in_base(&line, start, 16);
	sn_line_add(&line, " ");
	sn_line_add_in_base(&line, bytes, 16);
	SN_LINE_ADD(&line, " ", name, "\n");
	if (written + line.length > MOST_BYTES || !sn_own_file_is_allowed(written + line.length))
		return;
	long done = syscall(SYS_pwrite64, file.fd, line.text, line.length, written);
	if (done > 0)
		written += (uint64_t)done;
}

static void note_symbol(const struct entry *entry, const Elf64_Sym *symbol, const Elf64_Shdr *names,
			unsigned section_count)
{
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_size ||
	    symbol->st_shndx >= section_count || symbol->st_name >= names->sh_size)
		return;
	size_t bytes = names->sh_size - symbol->st_name;
	bytes = bytes < sizeof(name) - 1 ? bytes : sizeof(name) - 1;
	if (!read_all(entry->object + names->sh_offset + symbol->st_name, name, bytes))
		return;
	name[bytes] = '\0';
	if (*name && !strchr(name, '\n'))
		write_line(sections[symbol->st_shndx].sh_addr + symbol->st_value, symbol->st_size);
}

static bool lies_within(const Elf64_Shdr *section, uint64_t bytes)
{
	return section->sh_offset <= bytes && section->sh_size <= bytes - section->sh_offset;
}

/* The functions of an object, whose sections have the addresses at which they lie. */
static void note_object(const struct entry *entry)
{
	Elf64_Ehdr header;
	if (entry->bytes < sizeof(header) || !read_all(entry->object, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_shentsize != sizeof(*sections) || header.e_shnum > MOST_SECTIONS ||
	    header.e_shoff > entry->bytes ||
	    header.e_shnum * sizeof(*sections) > entry->bytes - header.e_shoff ||
	    !read_all(entry->object + header.e_shoff, sections, header.e_shnum * sizeof(*sections)))
		return;
	for (unsigned i = 0; i < header.e_shnum; i++) {
		const Elf64_Shdr *symbols = &sections[i];
		if (symbols->sh_type != SHT_SYMTAB || symbols->sh_link >= header.e_shnum ||
		    !lies_within(symbols, entry->bytes) ||
		    !lies_within(&sections[symbols->sh_link], entry->bytes))
			continue;
		size_t count = symbols->sh_size / sizeof(Elf64_Sym);
		for (size_t at = 0; at < count && at < MOST_SYMBOLS; at++) {
			Elf64_Sym symbol;
			if (read_all(entry->object + symbols->sh_offset + at * sizeof(symbol),
				     &symbol, sizeof(symbol)))
				note_symbol(entry, &symbol, &sections[symbols->sh_link],
					    header.e_shnum);
		}
	}
}

/* False where it was noted before. */
static bool is_new(uintptr_t place, const struct entry *entry)
{
	uint64_t hash = sn_hash_mix(sn_hash_mix(place, entry->object), entry->bytes);
	uintptr_t word = (uintptr_t)hash & ~(uintptr_t)7;
	return word && !sn_word_find(&seen, word) && sn_word_add(&seen, word, 1);
}

void sn_jit_note(uintptr_t list)
{
	struct descriptor descriptor;
	struct entry entry;
	if (!list || !read_all(list, &descriptor, sizeof(descriptor)) || descriptor.version != 1)
		return;
	bool is_ready = sn_word_prepare(&seen) &&
			(file.inode ? sn_own_file_ready(&file)
				    : !sn_own_file_create(&file, sn_now_ns(), SN_CODE_FILE_SUFFIX));
	/* the newest is in front */
	for (uintptr_t at = descriptor.first;
	     is_ready && at && read_all(at, &entry, sizeof(entry)) && is_new(at, &entry);
	     at = entry.next)
		note_object(&entry);
	sn_own_file_close(&file);
}

void sn_jit_after_fork(void)
{
	sn_word_clear(&seen);
	file = (struct sn_own_file){.fd = -1};
	written = 0;
}
