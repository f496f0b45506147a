/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of load modules, read from /proc/self/maps.
 *
 * Refreshing may happen inside a signal handler, in any thread: it takes a try-lock (whoever does
 * not get it uses the list as it is), reads with plain system calls into its own buffer, and
 * publishes a new sorted index with one store. Another thread may still be reading an old one, for
 * as long as it was interrupted: indexes are never unmapped. Their storage is used again, and a
 * reader whose index was overwritten meanwhile sees that by its version and looks again.
 *
 * Programs move their own code: to huge pages at the same address, where /proc shows anonymous
 * memory in the middle of a file's. It is still the file's as long as it lies where the file's ELF
 * header says that its segments are (find_covering).
 */
#include "module_list.h"

#include "elf_symbol.h"
#include "own_stack.h"
#include "collect/core/arena.h"
#include "collect/core/clock.h"
#include "collect/core/line.h"
#include "collect/core/lock.h"
#include "unwind/memory.h"
#include "format/measurement/measurement.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPS_BUFFER_BYTES 65536u
#define REFRESH_PAUSE_NS  50000000u
#define PATH_BYTES_MAX	  4096u
#define QUIET_PAGES	  4u
#define PAGE_BYTES	  4096u
#define INDEXES		  4u
#define LOOKS_MAX	  16u
#define SETTLE_TRIES	  64u

/* A stretch of executable memory and the module it belongs to. */
struct range {
	_Atomic uintptr_t start, end;
	_Atomic uint32_t module;
};

struct index {
	_Atomic uint32_t version; /* odd while it is being written */
	_Atomic uint32_t count;
	uint32_t capacity;
	struct range ranges[];
};

static struct sn_array modules; /* struct sn_module */
static struct sn_bump paths;
static _Atomic(struct index *) current;
static _Atomic uint32_t generation, unloads;
/* The list is stale where these differ, or while something is being unloaded. */
static _Atomic uint32_t marks, marks_seen;
static _Atomic int32_t unloading;

/* Pages for which a refresh found nothing, and until when it is not tried again. */
static struct quiet {
	_Atomic uintptr_t page;
	_Atomic uint64_t until_ns;
} quiet_pages[QUIET_PAGES];

static _Atomic bool full;

static bool read_memory(uintptr_t address, void *into, size_t bytes)
{
	return sn_memory_read(address, into, bytes) == bytes;
}

/* ---- one line of /proc/self/maps ---- */

struct mapping {
	uintptr_t start, end;
	uint64_t offset, inode;
	bool executable;
	const char *path; /* "" for anonymous memory */
};

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
	line = sn_parse_number(line, 16, &start);
	if (*line++ != '-')
		return false;
	line = sn_parse_number(line, 16, &end);
	if (*line++ != ' ')
		return false;
	mapping->start = start;
	mapping->end = end;
	mapping->executable = line[0] && line[1] && line[2] == 'x';
	line = sn_parse_number(skip_word(line), 16, &mapping->offset);
	line = skip_word(skip_word(line)); /* now at the inode */
	line = sn_parse_inode(line, &mapping->inode);
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
	struct sn_elf_note note;
	for (const unsigned char *at = buffer; sn_elf_note_next(&at, buffer + bytes, &note);)
		if (note.type == NT_GNU_BUILD_ID && note.name_bytes == 4 &&
		    !memcmp(note.name, "GNU", 4)) {
			module->build_id_bytes = note.bytes < 20 ? note.bytes : 20;
			memcpy(module->build_id, note.description, module->build_id_bytes);
			return;
		}
}

/* A segment that may be read as the file says; what is not there after all is left out. */
static void add_segment(struct sn_module *module, const Elf64_Phdr *program)
{
	unsigned char byte;
	uintptr_t start = module->bias + program->p_vaddr, end = start + program->p_filesz;
	uintptr_t memory_end = start + program->p_memsz;
	if (memory_end > module->end && memory_end > start)
		module->end = (memory_end + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
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
			add_segment(module, program);
		if (program->p_type == PT_GNU_EH_FRAME)
			module->eh_frame_hdr =
			    (const unsigned char *)(module->bias + program->p_vaddr);
	}
	uintptr_t header = (uintptr_t)module->eh_frame_hdr;
	module->is_permanent = !sn_module_generation();
	for (uint32_t index = 0; index < module->readable_count; index++)
		if (header >= module->readable[index].start && header < module->readable[index].end)
			module->eh_frame_hdr_end = module->readable[index].end;
	if (!module->eh_frame_hdr_end)
		module->eh_frame_hdr = NULL;
}

/* ---- the list ---- */

static bool is_of(const struct sn_module *module, const struct mapping *mapping, uintptr_t base)
{
	return module->base == base && module->inode == mapping->inode &&
	       !strcmp(module->path, mapping->path);
}

/* The live module at the place and of the file of this mapping. */
static uint32_t find_known(const struct mapping *mapping, uintptr_t base)
{
	uint32_t count = sn_array_count(&modules);
	for (uint32_t index = count; index-- > 0;) {
		const struct sn_module *module = sn_array_at(&modules, index);
		if (!atomic_load_explicit(&module->dead, memory_order_relaxed) &&
		    is_of(module, mapping, base))
			return index;
	}
	return SN_MODULE_NONE;
}

static bool same_module(const struct sn_module *a, const struct sn_module *b)
{
	return a->bias == b->bias && a->eh_frame_hdr == b->eh_frame_hdr &&
	       a->readable_count == b->readable_count &&
	       !memcmp(a->readable, b->readable, sizeof(a->readable)) &&
	       a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, sizeof(a->build_id));
}

/*
 * A module that was unloaded and is there again as it was: programs load and unload without end,
 * and a record is for ever. Its rules are void all the same, since unloading was counted.
 */
static uint32_t revive(const struct sn_module *fresh, const struct mapping *mapping)
{
	uint32_t count = sn_array_count(&modules);
	for (uint32_t index = count; index-- > 0;) {
		struct sn_module *module = sn_array_at(&modules, index);
		if (atomic_load_explicit(&module->dead, memory_order_relaxed) &&
		    is_of(module, mapping, fresh->base) && same_module(module, fresh)) {
			atomic_store_explicit(&module->dead, false, memory_order_relaxed);
			return index;
		}
	}
	return SN_MODULE_NONE;
}

static const char *keep_path(const char *path)
{
	size_t bytes = strlen(path) + 1;
	char *copy = sn_bump_alloc(&paths, bytes);
	if (!copy)
		return "";
	memcpy(copy, path, bytes);
	return copy;
}

/*
 * A second mapping of code: V8 maps its builtins once more, near the code it makes. Its addresses
 * are named as those of the file; there is no call frame information for them.
 */
static void read_alias(struct sn_module *module, const struct mapping *mapping)
{
	uint32_t count = sn_array_count(&modules);
	struct headers headers;
	for (uint32_t index = 0; index < count; index++) {
		const struct sn_module *other = sn_array_at(&modules, index);
		if (other->inode != mapping->inode || strcmp(other->path, mapping->path) ||
		    !read_headers(other->base, &headers))
			continue;
		for (uint32_t segment = 0; segment < headers.count; segment++) {
			const Elf64_Phdr *program = &headers.program[segment];
			uint64_t inside = mapping->offset - program->p_offset;
			if (program->p_type == PT_LOAD && inside < program->p_filesz)
				module->bias = mapping->start - (program->p_vaddr + inside);
		}
		module->build_id_bytes = other->build_id_bytes;
		memcpy(module->build_id, other->build_id, sizeof(module->build_id));
		return;
	}
}

static void read_mapping(struct sn_module *module, const struct mapping *mapping, uintptr_t base)
{
	*module = (struct sn_module){.start = base,
				     .end = mapping->end,
				     .base = base,
				     .inode = mapping->inode,
				     .bias = base};
	if (!mapping->inode && strcmp(mapping->path, "[vdso]"))
		module->flags = SN_MODULE_ANONYMOUS;
	else if (mapping->start == base && mapping->offset)
		read_alias(module, mapping);
	else
		read_module(module, base);
	if (!strcmp(mapping->path, "[vdso]"))
		module->flags |= SN_MODULE_VDSO;
}

static uint32_t add_module(const struct mapping *mapping, uintptr_t base)
{
	struct sn_module fresh;
	read_mapping(&fresh, mapping, base);
	uint32_t index = revive(&fresh, mapping);
	if (index != SN_MODULE_NONE)
		return index;
	index = sn_array_count(&modules) < SN_MODULE_MAX ? sn_array_reserve(&modules) : UINT32_MAX;
	if (index == UINT32_MAX) {
		atomic_store_explicit(&full, true, memory_order_relaxed);
		return SN_MODULE_NONE;
	}
	struct sn_module *module = sn_array_at(&modules, index);
	*module = fresh;
	module->path = keep_path(mapping->path);
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
	uintptr_t file_end;   /* where its segments end in memory; 0: not known yet */
	uintptr_t file_last;  /* where its last mapping so far ends */
	uint32_t file_module; /* SN_MODULE_NONE until an executable mapping of it is met */
	bool changed;
};

static bool append_range(struct refresh *refresh, const struct mapping *mapping, uint32_t module)
{
	struct index *next = refresh->next;
	uint32_t count = atomic_load_explicit(&next->count, memory_order_relaxed);
	if (count == next->capacity)
		return false;
	struct range *range = &next->ranges[count];
	atomic_store_explicit(&range->start, mapping->start, memory_order_relaxed);
	atomic_store_explicit(&range->end, mapping->end, memory_order_relaxed);
	atomic_store_explicit(&range->module, module, memory_order_relaxed);
	atomic_store_explicit(&next->count, count + 1, memory_order_relaxed);
	return true;
}

static void extend(uint32_t module, uintptr_t end)
{
	struct sn_module *record = sn_array_at(&modules, module);
	if (end > record->end)
		record->end = end;
}

static uint32_t module_of_file(struct refresh *refresh, const struct mapping *mapping,
			       uintptr_t base)
{
	uint32_t module = find_known(mapping, base);
	if (module != SN_MODULE_NONE)
		return module;
	refresh->changed = true;
	return add_module(mapping, base);
}

/* A live module of a file whose header is still where it was, around memory that is not the
 * file's. */
static uint32_t find_moved(const struct mapping *mapping)
{
	uint32_t count = sn_array_count(&modules);
	for (uint32_t index = count; index-- > 0;) {
		const struct sn_module *module = sn_array_at(&modules, index);
		struct sn_module now = {.start = module->start};
		if (atomic_load_explicit(&module->dead, memory_order_relaxed) ||
		    mapping->start < module->start || mapping->end > module->end || !module->inode)
			continue;
		read_module(&now, module->base);
		if (now.eh_frame_hdr && same_module(module, &now))
			return index;
	}
	return SN_MODULE_NONE;
}

static uintptr_t file_end(struct refresh *refresh)
{
	struct sn_module file = {.end = refresh->file_base + 1};
	if (!refresh->file_end) {
		if (refresh->file_inode)
			read_module(&file, refresh->file_base);
		refresh->file_end = file.end;
	}
	return refresh->file_end;
}

/* The module of executable memory that lies between a file's mappings, or where a file's were. */
static uint32_t find_covering(struct refresh *refresh, const struct mapping *mapping)
{
	if (mapping->end > file_end(refresh))
		return find_moved(mapping);
	struct mapping of_file = *mapping;
	of_file.inode = refresh->file_inode;
	of_file.path = refresh->file_path;
	of_file.offset = 0;
	return refresh->file_module = module_of_file(refresh, &of_file, refresh->file_base);
}

/* lld maps the first page of a small file for each of its segments: offset 0 alone begins nothing.
 */
static bool is_continued(struct refresh *refresh, const struct mapping *mapping)
{
	return mapping->inode && mapping->inode == refresh->file_inode &&
	       !strcmp(mapping->path, refresh->file_path) &&
	       ((mapping->offset && mapping->start == refresh->file_last) ||
		mapping->end <= file_end(refresh));
}

static void begin_file(struct refresh *refresh, const struct mapping *mapping)
{
	refresh->file_inode = mapping->inode;
	refresh->file_base = mapping->start;
	refresh->file_end = 0;
	refresh->file_module = SN_MODULE_NONE;
	strncpy(refresh->file_path, mapping->path, sizeof(refresh->file_path) - 1);
}

static void add_mapping(struct refresh *refresh, const struct mapping *mapping)
{
	bool is_file = (mapping->inode && mapping->path[0] == '/' &&
			strncmp(mapping->path, "/anon_hugepage", 14)) ||
		       !strcmp(mapping->path, "[vdso]");
	if (is_file && !is_continued(refresh, mapping))
		begin_file(refresh, mapping);
	if (is_file)
		refresh->file_last = mapping->end;
	if (is_file && refresh->file_module != SN_MODULE_NONE)
		extend(refresh->file_module, mapping->end);
	if (!mapping->executable || !strcmp(mapping->path, "[vsyscall]"))
		return;
	uint32_t module = SN_MODULE_NONE;
	if (!is_file)
		module = find_covering(refresh, mapping);
	if (module == SN_MODULE_NONE)
		module =
		    module_of_file(refresh, mapping, is_file ? refresh->file_base : mapping->start);
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
			found = atomic_load_explicit(&refresh->next->ranges[index].module,
						     memory_order_relaxed) == module;
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
				add_mapping(refresh, &mapping);
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

static size_t index_bytes(uint32_t capacity)
{
	return sizeof(struct index) + capacity * sizeof(struct range);
}

/*
 * Storage for the next index: that of the one that was current longest ago. Too small ones are left
 * to whoever may still read them; sizes double, so that is little.
 */
static struct index *begin_index(uint32_t capacity)
{
	static struct index *storage[INDEXES];
	static uint32_t oldest;
	struct index **place = &storage[oldest];
	if (!*place || (*place)->capacity < capacity) {
		struct index *larger = sn_pages_map(index_bytes(2 * capacity));
		if (!larger)
			return NULL;
		larger->capacity = 2 * capacity;
		*place = larger;
	}
	oldest = (oldest + 1) % INDEXES;
	struct index *next = *place;
	uint32_t version = atomic_load_explicit(&next->version, memory_order_relaxed);
	atomic_store_explicit(&next->version, version | 1, memory_order_relaxed);
	/* what is written from here on is not seen before the odd version is */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&next->count, 0, memory_order_relaxed);
	return next;
}

/* release: a reader of the index sees the modules it names, and all of it with the even version */
static void publish(struct index *next)
{
	atomic_fetch_add_explicit(&next->version, 1, memory_order_release);
	atomic_store_explicit(&current, next, memory_order_release);
}

static int refresh_list(void)
{
	static struct refresh refresh; /* under MODULES */
	struct index *old = atomic_load_explicit(&current, memory_order_acquire);
	uint32_t count = old ? atomic_load_explicit(&old->count, memory_order_relaxed) : 0;
	char *buffer = sn_pages_map(MAPS_BUFFER_BYTES);
	struct index *next = buffer ? begin_index(count + count / 2 + 256) : NULL;
	if (!next) {
		sn_pages_unmap(buffer, buffer ? MAPS_BUFFER_BYTES : 0);
		return -ENOMEM;
	}
	memset(&refresh, 0, sizeof(refresh));
	refresh.next = next;
	refresh.file_module = SN_MODULE_NONE;
	int status = read_maps(&refresh, buffer) ? 0 : -errno;
	sn_pages_unmap(buffer, MAPS_BUFFER_BYTES);
	if (status)
		return status; /* its version stays odd until its next turn */
	bury_missing(&refresh);
	publish(next);
	if (refresh.changed)
		atomic_fetch_add_explicit(&generation, 1, memory_order_release);
	return 0;
}

static void refresh(void *status)
{
	*(int *)status = refresh_list();
}

static int try_refresh(void)
{
	if (!sn_lock_try(SN_LOCK_MODULES))
		return -EBUSY;
	/* marks made while the list is being read may be about what was read already */
	uint32_t seen = atomic_load_explicit(&marks, memory_order_acquire);
	int status;
	sn_on_own_stack(refresh, &status);
	if (!status)
		atomic_store_explicit(&marks_seen, seen, memory_order_release);
	sn_lock_release(SN_LOCK_MODULES);
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
	/* of threads that are not here; the one that forked may be among them, see below */
	atomic_store_explicit(&unloading, 0, memory_order_relaxed);
}

void sn_modules_stale(void)
{
	atomic_fetch_add_explicit(&marks, 1, memory_order_release);
}

void sn_modules_unloading(bool begins)
{
	if (begins) {
		atomic_fetch_add_explicit(&unloading, 1, memory_order_release);
		return;
	}
	sn_modules_stale();
	/* a destructor may have forked: what began in the parent ends in the child as well */
	int32_t count = atomic_load_explicit(&unloading, memory_order_relaxed);
	while (count > 0 &&
	       !atomic_compare_exchange_weak_explicit(&unloading, &count, count - 1,
						      memory_order_release, memory_order_relaxed))
		;
}

static bool is_marked(void)
{
	return atomic_load_explicit(&marks, memory_order_acquire) !=
	       atomic_load_explicit(&marks_seen, memory_order_acquire);
}

void sn_modules_settle(void)
{
	if (atomic_load_explicit(&unloading, memory_order_acquire) <= 0 && !is_marked())
		return;
	/* another thread that is at it will be done in an instant, unless it waits for a processor
	 */
	for (unsigned tries = 0; try_refresh() == -EBUSY && tries < SETTLE_TRIES; tries++)
		syscall(SYS_sched_yield);
}

void sn_modules_settle_unloaded(void)
{
	if (is_marked())
		sn_modules_settle();
}

static uint32_t search(const struct index *index, uintptr_t address)
{
	uint32_t count = atomic_load_explicit(&index->count, memory_order_relaxed);
	uint32_t low = 0, high = count < index->capacity ? count : index->capacity;
	count = high;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (address >=
		    atomic_load_explicit(&index->ranges[middle].end, memory_order_relaxed))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count ||
	    address < atomic_load_explicit(&index->ranges[low].start, memory_order_relaxed))
		return SN_MODULE_NONE;
	return atomic_load_explicit(&index->ranges[low].module, memory_order_relaxed);
}

uint32_t sn_module_find(uintptr_t address)
{
	for (unsigned looks = 0; looks < LOOKS_MAX; looks++) {
		const struct index *index = atomic_load_explicit(&current, memory_order_acquire);
		if (!index)
			return SN_MODULE_NONE;
		uint32_t version = atomic_load_explicit(&index->version, memory_order_acquire);
		uint32_t module = search(index, address);
		/* acquire: the version is read again after everything else */
		atomic_thread_fence(memory_order_acquire);
		if (!(version & 1) &&
		    atomic_load_explicit(&index->version, memory_order_relaxed) == version)
			return module;
	}
	return SN_MODULE_NONE;
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
	sn_modules_settle_unloaded();
	uint32_t module = sn_module_find(address);
	if (module != SN_MODULE_NONE)
		return module;
	/* neither the first page nor the kernel's half holds code of ours: no reason to look */
	if ((intptr_t)address < 4096)
		return SN_MODULE_NONE;
	uint64_t now = sn_now_ns();
	struct quiet *quiet = find_quiet(address, now);
	if (!quiet)
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

uint32_t sn_module_by_name(const char *prefix)
{
	uint32_t count = sn_module_count();
	for (uint32_t index = 0; index < count; index++) {
		const struct sn_module *module = sn_module_at(index);
		const char *slash = strrchr(module->path, '/');
		if (!atomic_load_explicit(&module->dead, memory_order_relaxed) &&
		    !strncmp(slash ? slash + 1 : module->path, prefix, strlen(prefix)))
			return index;
	}
	return SN_MODULE_NONE;
}

/* ---- code that is not mapped ---- */

static uint32_t find_file(const char *path)
{
	uint32_t count = sn_array_count(&modules);
	for (uint32_t index = 0; index < count; index++) {
		const struct sn_module *module = sn_array_at(&modules, index);
		if (!module->base && !strcmp(module->path, path))
			return index;
	}
	return SN_MODULE_NONE;
}

/* Dead from the begin: no address is in it. */
static uint32_t add_file(const char *path)
{
	uint32_t index =
	    sn_array_count(&modules) < SN_MODULE_MAX ? sn_array_reserve(&modules) : UINT32_MAX;
	if (index == UINT32_MAX)
		return SN_MODULE_NONE;
	struct sn_module *module = sn_array_at(&modules, index);
	*module = (struct sn_module){.path = keep_path(path), .dead = true};
	sn_array_commit(&modules);
	return index;
}

uint32_t sn_module_add_file(const char *path)
{
	sn_lock_acquire(SN_LOCK_MODULES);
	uint32_t index = find_file(path);
	if (index == SN_MODULE_NONE)
		index = add_file(path);
	sn_lock_release(SN_LOCK_MODULES);
	return index;
}

/* ---- their files ---- */

const void *sn_module_map_file(const struct sn_module *module, size_t *bytes)
{
	struct stat status;
	int fd =
	    (int)syscall(SYS_openat, AT_FDCWD, module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	void *contents = MAP_FAILED;
	if (!syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) &&
	    status.st_ino == module->inode)
		contents = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	syscall(SYS_close, fd);
	*bytes = contents == MAP_FAILED ? 0 : (size_t)status.st_size;
	return contents == MAP_FAILED ? NULL : contents;
}

void sn_module_unmap_file(const void *contents, size_t bytes)
{
	syscall(SYS_munmap, contents, bytes);
}
