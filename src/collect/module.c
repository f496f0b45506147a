/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of load modules, read from /proc/self/maps; see module.h.
 *
 * Refreshing may happen inside a signal handler, in any thread: it takes a try-lock (whoever does
 * not get it uses the list as it is), reads with plain system calls into its own buffer, and
 * publishes a new sorted index with one store. Another thread may still be reading the old one, so
 * an index is given back only when OLD_INDEXES newer ones have been published.
 */
#include "module.h"
#include "arena.h"
#include "memory.h"
#include "format/measurement.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPS_BUFFER_BYTES 65536u
#define REFRESH_PAUSE_NS  50000000u
#define PATH_BYTES_MAX	  4096u
#define QUIET_PAGES	  4u
#define PAGE_BYTES	  4096u
#define OLD_INDEXES	  16u

/* A stretch of executable memory and the module it belongs to. */
struct range {
	uintptr_t start, end;
	uint32_t module;
};

struct index {
	uint32_t count;
	uint32_t capacity;
	struct range ranges[];
};

static struct sn_array modules; /* struct sn_module */
static struct sn_bump paths;
static _Atomic(struct index *) current;
static _Atomic uint32_t generation, unloads;
static _Atomic int refreshing;
static _Atomic bool stale;

/* Pages for which a refresh found nothing, and until when it is not tried again. */
static struct quiet {
	_Atomic uintptr_t page;
	_Atomic uint64_t until_ns;
} quiet_pages[QUIET_PAGES];

static _Atomic bool full;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool read_memory(uintptr_t address, void *into, size_t bytes)
{
	return sn_memory_read(address, into, bytes) == bytes;
}

/* ---- one line of /proc/self/maps ---- */

struct mapping {
	uintptr_t start, end;
	uint64_t offset, inode;
	bool readable, executable;
	const char *path; /* "" for anonymous memory */
};

static const char *parse_hexadecimal(const char *text, uint64_t *number)
{
	uint64_t value = 0;
	for (;; text++) {
		if (*text >= '0' && *text <= '9')
			value = value << 4 | (uint64_t)(*text - '0');
		else if (*text >= 'a' && *text <= 'f')
			value = value << 4 | (uint64_t)(*text - 'a' + 10);
		else
			break;
	}
	*number = value;
	return text;
}

static const char *skip_word(const char *text)
{
	while (*text && *text != ' ')
		text++;
	while (*text == ' ')
		text++;
	return text;
}

/* START-END PERM OFFSET DEVICE INODE PATH; false where the line is not of that form. */
static bool parse_mapping(const char *line, struct mapping *mapping)
{
	uint64_t start, end;
	line = parse_hexadecimal(line, &start);
	if (*line++ != '-')
		return false;
	line = parse_hexadecimal(line, &end);
	if (*line++ != ' ')
		return false;
	mapping->start = start;
	mapping->end = end;
	mapping->readable = line[0] == 'r';
	mapping->executable = line[0] && line[1] && line[2] == 'x';
	line = parse_hexadecimal(skip_word(line), &mapping->offset);
	line = skip_word(skip_word(line)); /* now at the inode */
	mapping->inode = 0;
	for (; *line >= '0' && *line <= '9'; line++)
		mapping->inode = mapping->inode * 10 + (uint64_t)(*line - '0');
	while (*line == ' ')
		line++;
	mapping->path = line;
	return true;
}

/* ---- a module's headers ---- */

struct headers {
	Elf64_Ehdr file;
	Elf64_Phdr program[64];
	uint32_t count;
};

static bool read_headers(uintptr_t base, struct headers *headers)
{
	Elf64_Ehdr *file = &headers->file;
	if (!read_memory(base, file, sizeof(*file)) || memcmp(file->e_ident, ELFMAG, SELFMAG) ||
	    file->e_ident[EI_CLASS] != ELFCLASS64 || file->e_phentsize != sizeof(Elf64_Phdr))
		return false;
	headers->count = file->e_phnum < 64 ? file->e_phnum : 64;
	return read_memory(base + file->e_phoff, headers->program,
			   headers->count * sizeof(Elf64_Phdr));
}

static void read_build_id(struct sn_module *module, const Elf64_Phdr *notes)
{
	unsigned char buffer[1024];
	size_t bytes = notes->p_memsz < sizeof(buffer) ? notes->p_memsz : sizeof(buffer);
	if (!read_memory(module->bias + notes->p_vaddr, buffer, bytes))
		return;
	for (size_t place = 0; place + sizeof(Elf64_Nhdr) <= bytes;) {
		Elf64_Nhdr note;
		memcpy(&note, buffer + place, sizeof(note));
		place += sizeof(note);
		size_t name = (note.n_namesz + 3ul) & ~3ul, text = (note.n_descsz + 3ul) & ~3ul;
		if (name > bytes - place || text > bytes - place - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(buffer + place, "GNU", 4)) {
			module->build_id_bytes = note.n_descsz < 20 ? note.n_descsz : 20;
			memcpy(module->build_id, buffer + place + name, module->build_id_bytes);
			return;
		}
		place += name + text;
	}
}

/* A segment that may be read as the file says; what is not there after all is left out. */
static void add_readable(struct sn_module *module, const Elf64_Phdr *program)
{
	unsigned char byte;
	uintptr_t start = module->bias + program->p_vaddr, end = start + program->p_filesz;
	if (!(program->p_flags & PF_R) || end <= start ||
	    module->readable_count == SN_MODULE_RANGES || !read_memory(start, &byte, 1) ||
	    !read_memory(end - 1, &byte, 1))
		return;
	module->readable[module->readable_count++] = (struct sn_module_range){start, end};
}

static bool find_bias(struct sn_module *module, uintptr_t base, const struct headers *headers)
{
	for (uint32_t index = 0; index < headers->count; index++) {
		const Elf64_Phdr *program = &headers->program[index];
		if (program->p_type != PT_LOAD)
			continue;
		module->bias = base - (program->p_vaddr - program->p_offset);
		return true;
	}
	return false;
}

/* The lowest address a file is mapped at holds its headers; everything else follows from them. */
static void read_module(struct sn_module *module, uintptr_t base)
{
	struct headers headers;
	if (!read_headers(base, &headers) || !find_bias(module, base, &headers))
		return;
	for (uint32_t index = 0; index < headers.count; index++) {
		const Elf64_Phdr *program = &headers.program[index];
		if (program->p_type == PT_NOTE && !module->build_id_bytes)
			read_build_id(module, program);
		if (program->p_type == PT_LOAD)
			add_readable(module, program);
		if (program->p_type == PT_GNU_EH_FRAME)
			module->eh_frame_hdr =
			    (const unsigned char *)(module->bias + program->p_vaddr);
	}
	uintptr_t header = (uintptr_t)module->eh_frame_hdr;
	for (uint32_t index = 0; index < module->readable_count; index++)
		if (header >= module->readable[index].start && header < module->readable[index].end)
			module->eh_frame_hdr_end = module->readable[index].end;
	if (!module->eh_frame_hdr_end)
		module->eh_frame_hdr = NULL;
}

/* ---- the list ---- */

static bool same_path(const struct sn_module *module, const char *path)
{
	return !strcmp(module->path, path);
}

/* The module already known at the place and of the file of this mapping. */
static uint32_t find_known(const struct mapping *mapping, uintptr_t base)
{
	uint32_t count = sn_array_count(&modules);
	for (uint32_t index = count; index-- > 0;) {
		const struct sn_module *module = sn_array_at(&modules, index);
		if (atomic_load_explicit(&module->dead, memory_order_relaxed))
			continue;
		if (module->base == base && same_path(module, mapping->path))
			return index;
	}
	return SN_MODULE_NONE;
}

static const char *keep_path(const char *path)
{
	size_t bytes = strlen(path) + 1;
	char *copy = sn_bump_take(&paths, bytes);
	if (!copy)
		return "";
	memcpy(copy, path, bytes);
	return copy;
}

static uint32_t add_module(const struct mapping *mapping, uintptr_t base)
{
	uint32_t index =
	    sn_array_count(&modules) < SN_MODULE_MAX ? sn_array_reserve(&modules) : UINT32_MAX;
	if (index == UINT32_MAX) {
		atomic_store_explicit(&full, true, memory_order_relaxed);
		return SN_MODULE_NONE;
	}
	struct sn_module *module = sn_array_at(&modules, index);
	*module = (struct sn_module){.start = base,
				     .end = mapping->end,
				     .base = base,
				     .bias = base,
				     .path = keep_path(mapping->path)};
	if (!mapping->inode && strcmp(mapping->path, "[vdso]"))
		module->flags = SN_MODULE_ANONYMOUS;
	else
		read_module(module, base);
	if (!strcmp(mapping->path, "[vdso]"))
		module->flags |= SN_MODULE_VDSO;
	if (!index)
		module->flags |= SN_MODULE_MAIN;
	sn_array_commit(&modules);
	return index;
}

/* Builds the next index while the maps are read, in order of address. */
struct refresh {
	struct index *next;
	char file_path[PATH_BYTES_MAX]; /* of the file whose mappings are being read */
	uintptr_t file_base;
	uint64_t file_inode;
	uint32_t file_module; /* SN_MODULE_NONE until an executable mapping of it is met */
	bool changed;
};

static bool append_range(struct refresh *refresh, const struct mapping *mapping, uint32_t module)
{
	struct index *next = refresh->next;
	if (next->count == next->capacity)
		return false;
	next->ranges[next->count++] = (struct range){mapping->start, mapping->end, module};
	return true;
}

static void extend(uint32_t module, uintptr_t end)
{
	struct sn_module *record = sn_array_at(&modules, module);
	if (end > record->end)
		record->end = end;
}

static void take_mapping(struct refresh *refresh, const struct mapping *mapping)
{
	bool is_file = mapping->inode || !strcmp(mapping->path, "[vdso]");
	if (is_file && (mapping->inode != refresh->file_inode || !mapping->inode ||
			strcmp(mapping->path, refresh->file_path) || mapping->offset == 0)) {
		refresh->file_inode = mapping->inode;
		refresh->file_base = mapping->start;
		refresh->file_module = SN_MODULE_NONE;
		strncpy(refresh->file_path, mapping->path, sizeof(refresh->file_path) - 1);
	}
	if (is_file && refresh->file_module != SN_MODULE_NONE)
		extend(refresh->file_module, mapping->end);
	if (!mapping->executable || !strcmp(mapping->path, "[vsyscall]"))
		return;
	uintptr_t base = is_file ? refresh->file_base : mapping->start;
	uint32_t module = find_known(mapping, base);
	if (module == SN_MODULE_NONE) {
		module = add_module(mapping, base);
		refresh->changed = true;
	}
	if (module == SN_MODULE_NONE)
		return;
	if (is_file)
		refresh->file_module = module;
	extend(module, mapping->end);
	append_range(refresh, mapping, module);
}

/* Modules that no range names any more have been unloaded. */
static void bury_missing(struct refresh *refresh)
{
	uint32_t count = sn_array_count(&modules);
	for (uint32_t module = 0; module < count; module++) {
		struct sn_module *record = sn_array_at(&modules, module);
		if (atomic_load_explicit(&record->dead, memory_order_relaxed))
			continue;
		bool found = false;
		for (uint32_t index = 0; index < refresh->next->count && !found; index++)
			found = refresh->next->ranges[index].module == module;
		if (found)
			continue;
		atomic_store_explicit(&record->dead, true, memory_order_relaxed);
		atomic_fetch_add_explicit(&unloads, 1, memory_order_release);
		refresh->changed = true;
	}
}

static bool read_maps(struct refresh *refresh, char *buffer)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size_t held = 0;
	for (;;) {
		ssize_t got = syscall(SYS_read, fd, buffer + held, MAPS_BUFFER_BYTES - 1 - held);
		if (got <= 0)
			break;
		held += (size_t)got;
		buffer[held] = 0;
		char *line = buffer, *newline;
		while ((newline = memchr(line, '\n', held - (size_t)(line - buffer)))) {
			struct mapping mapping;
			*newline = 0;
			if (parse_mapping(line, &mapping))
				take_mapping(refresh, &mapping);
			line = newline + 1;
		}
		held -= (size_t)(line - buffer);
		memmove(buffer, line, held);
		if (held >= MAPS_BUFFER_BYTES - 1)
			held = 0; /* a line longer than any path can be */
	}
	syscall(SYS_close, fd);
	return true;
}

/* Old and new hold the same ranges: nothing to publish. */
static bool same_index(const struct index *a, const struct index *b)
{
	return a && a->count == b->count &&
	       !memcmp(a->ranges, b->ranges, a->count * sizeof(struct range));
}

static size_t index_bytes(uint32_t capacity)
{
	return sizeof(struct index) + capacity * sizeof(struct range);
}

/* release: who reads the index sees the modules it names */
static void publish(struct index *next)
{
	static struct index *old[OLD_INDEXES];
	static uint32_t oldest;
	sn_pages_unmap(old[oldest], old[oldest] ? index_bytes(old[oldest]->capacity) : 0);
	old[oldest] = atomic_exchange_explicit(&current, next, memory_order_release);
	oldest = (oldest + 1) % OLD_INDEXES;
}

static int refresh_list(void)
{
	static struct refresh refresh; /* guarded by `refreshing` */
	struct index *old = atomic_load_explicit(&current, memory_order_acquire);
	uint32_t capacity = old ? old->count + old->count / 2 + 256 : 512;
	struct index *next = sn_pages_map(index_bytes(capacity));
	char *buffer = sn_pages_map(MAPS_BUFFER_BYTES);
	int status = next && buffer ? 0 : -ENOMEM;
	if (!status) {
		next->capacity = capacity;
		refresh.next = next;
		refresh.file_path[0] = 0;
		refresh.file_inode = 0;
		refresh.file_module = SN_MODULE_NONE;
		refresh.changed = false;
		status = read_maps(&refresh, buffer) ? 0 : -errno;
	}
	if (!status) {
		bury_missing(&refresh);
		if (!same_index(old, next)) {
			publish(next);
			next = NULL;
		}
		if (refresh.changed)
			atomic_fetch_add_explicit(&generation, 1, memory_order_release);
	}
	sn_pages_unmap(next, next ? index_bytes(capacity) : 0);
	sn_pages_unmap(buffer, MAPS_BUFFER_BYTES);
	return status;
}

static int try_refresh(void)
{
	int expected = 0;
	if (!atomic_compare_exchange_strong_explicit(&refreshing, &expected, 1,
						     memory_order_acquire, memory_order_relaxed))
		return -EBUSY;
	atomic_store_explicit(&stale, false, memory_order_relaxed);
	int status = refresh_list();
	atomic_store_explicit(&refreshing, 0, memory_order_release);
	return status;
}

int sn_modules_init(void)
{
	if (!modules.element_bytes)
		sn_array_init(&modules, sizeof(struct sn_module), 6);
	return try_refresh();
}

void sn_modules_after_fork(void)
{
	atomic_store_explicit(&refreshing, 0, memory_order_relaxed);
}

void sn_modules_stale(void)
{
	atomic_store_explicit(&stale, true, memory_order_relaxed);
}

uint32_t sn_module_find(uintptr_t address)
{
	const struct index *index = atomic_load_explicit(&current, memory_order_acquire);
	uint32_t low = 0, high = index ? index->count : 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (address >= index->ranges[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	if (!index || low == index->count || address < index->ranges[low].start)
		return SN_MODULE_NONE;
	return index->ranges[low].module;
}

/*
 * Where to note that a page is of no module; NULL where it is noted, or too many are: then the list
 * is not read again for a while. Nonsense met in one place must not hide new code in another.
 */
static struct quiet *find_quiet(uintptr_t address, uint64_t now)
{
	struct quiet *vacant = NULL;
	for (uint32_t index = 0; index < QUIET_PAGES; index++) {
		struct quiet *entry = &quiet_pages[index];
		if (now >= atomic_load_explicit(&entry->until_ns, memory_order_relaxed))
			vacant = entry;
		else if (atomic_load_explicit(&entry->page, memory_order_relaxed) ==
			 address / PAGE_BYTES)
			return NULL;
	}
	return vacant;
}

uint32_t sn_module_find_or_refresh(uintptr_t address)
{
	bool is_stale = atomic_load_explicit(&stale, memory_order_relaxed);
	uint32_t module = sn_module_find(address);
	if (module != SN_MODULE_NONE && !is_stale)
		return module;
	/* neither the first page nor the kernel's half holds code of ours: no reason to look */
	if ((intptr_t)address < 4096)
		return SN_MODULE_NONE;
	uint64_t now = now_ns();
	struct quiet *quiet = find_quiet(address, now);
	if (!is_stale && !quiet)
		return SN_MODULE_NONE;
	try_refresh();
	module = sn_module_find(address);
	if (module == SN_MODULE_NONE && quiet) {
		atomic_store_explicit(&quiet->page, address / PAGE_BYTES, memory_order_relaxed);
		atomic_store_explicit(&quiet->until_ns, now + REFRESH_PAUSE_NS,
				      memory_order_relaxed);
	}
	return module;
}

const struct sn_module *sn_module_at(uint32_t index)
{
	return sn_array_at(&modules, index);
}

uint32_t sn_module_count(void)
{
	return modules.element_bytes ? sn_array_count(&modules) : 0;
}

uint32_t sn_module_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_acquire);
}

uint32_t sn_module_unloads(void)
{
	return atomic_load_explicit(&unloads, memory_order_acquire);
}

uint32_t sn_module_by_name(const char *prefix, uint32_t from)
{
	uint32_t count = sn_module_count();
	for (uint32_t index = from; index < count; index++) {
		const struct sn_module *module = sn_module_at(index);
		const char *slash = strrchr(module->path, '/');
		if (!atomic_load_explicit(&module->dead, memory_order_relaxed) &&
		    !strncmp(slash ? slash + 1 : module->path, prefix, strlen(prefix)))
			return index;
	}
	return SN_MODULE_NONE;
}
