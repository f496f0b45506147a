/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of programs that this process executes: completed with what makes them measured,
 * or without anything of ours where they are not to be; and the line that starts them.
 *
 * All of it but what is said of system(3) may run in the child of a vfork, on its parent's memory:
 * nothing is allocated that the parent's thread does not keep.
 */
#include "environment.h"

#include "collect/core/adapter.h"
#include "collect/core/line.h"
#include "collect/core/lock.h"
#include "collect/core/start_path.h"
#include "collect/record/losses.h"
#include "collect/sample/filters.h"
#include "collect/sample/program_memory.h"
#include "collect/unwind/own_stack.h"
#include "intercept.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CARRIED_MAX 32u
#define PRELOAD	    "LD_PRELOAD="
#define SETTINGS    "SONDE_"
#define OUTPUT	    SETTINGS "OUTPUT="

/* Lists, separated by colons, in which `sonde run` puts something of ours before the user's. */
static const char *const lists[] = {PRELOAD,
				    "OPENCL_LAYERS=",
				    "NVTX_INJECTION64_PATH=",
				    "INTEL_LIBITTNOTIFY64=",
				    "CUDA_INJECTION64_PATH=",
				    "XPTI_SUBSCRIBERS=",
				    "ASAN_OPTIONS="};
/* Switches that `sonde run` sets where the user has not; SONDE_SWITCHES names those, with colons between them. */
static const char *const switches[] = {"ZE_ENABLE_TRACING_LAYER=1", "XPTI_TRACE_ENABLE=1",
				       "XPTI_FRAMEWORK_DISPATCHER=libxptifw.so"};
#define SWITCHES SETTINGS "SWITCHES"

#define LIST_COUNT	  (sizeof(lists) / sizeof(*lists))
#define OURS_IN_SANITIZER "verify_asan_link_order=0"

/* What the environment must hold for a new image to be measured; fixed when measuring starts. */
static const char *carried[CARRIED_MAX];
static uint32_t carried_count;
static const char *preload;		  /* the value of LD_PRELOAD we were started with */
static const char *library;		  /* our own path, as the loader was given it */
static const char *start_path;		  /* SN_START_PATH as we were started with it, or NULL */
static char shows_none[] = SN_START_PATH; /* all that the program sees of it */
static const char *switches_set;	  /* those that are ours, or NULL */
static bool is_stripping;		  /* nothing is carried any more */

/* The one of `lists` that an entry of an environment is, or NULL. */
static const char *list_of(const char *entry)
{
	for (size_t index = 0; index < LIST_COUNT; index++)
		if (!strncmp(entry, lists[index], strlen(lists[index])))
			return lists[index];
	return NULL;
}

/* What `sonde run` sets; the user's own variables of that prefix are none of these. */
static bool is_setting(const char *entry)
{
	static const char *const names[] = {
	    "OUTPUT=",		"EVENTS=",     "CALL_PATH=",   "OPERATORS=",	"MEMORY=",
	    "GRAPH=",		"SHADOW=",     "FILTERS=",     "FRAMEWORKS=",	"CHECKPOINT_MS=",
	    "MEMORY_LIMIT_MB=", "TRACE=",      "TRACE_LIMIT=", "TRACE_PAUSED=", "TRACE_SIGNAL=",
	    "TRACE_WINDOW_MS=", "FOLDER=",     "SHARE=",       "COMMAND=",	"START_PATH=",
	    "SWITCHES=",	"GPU_GRAPHS=", "GPU_API="};
	if (strncmp(entry, SETTINGS, strlen(SETTINGS)))
		return false;
	for (size_t index = 0; index < sizeof(names) / sizeof(*names); index++)
		if (!strncmp(entry + strlen(SETTINGS), names[index], strlen(names[index])))
			return true;
	return false;
}

/* True of a switch that is ours, and that nobody has changed since. */
static bool is_switch(const char *entry)
{
	for (size_t index = 0; switches_set && index < sizeof(switches) / sizeof(*switches);
	     index++) {
		size_t length = strcspn(switches[index], "=");
		const char *set = switches_set;
		while (*set && (strncmp(set, switches[index], length) ||
				(set[length] && set[length] != ':')))
			set += strcspn(set, ":") + (strchr(set, ':') != NULL);
		if (*set && !strcmp(entry, switches[index]))
			return true;
	}
	return false;
}

static bool is_start_path(const char *entry)
{
	return !strncmp(entry, SN_START_PATH, strlen(SN_START_PATH));
}

static void find_library(void)
{
	Dl_info found;
	if (!library && dladdr(&library, &found) && found.dli_fname)
		library = found.dli_fname;
}

static void keep(const char *entry)
{
	if (carried_count < CARRIED_MAX)
		carried[carried_count++] = strdup(entry);
}

/* The most of another process's environment that is read. */
#define PARENTS_BYTES (256u << 10)

/*
 * system(3) and popen(3) hand on what `environ` holds, which shows no path: what the caller began
 * below is in the environment that it was started with. `ours` is SONDE_OUTPUT of this process: in
 * another measurement it began elsewhere. NULL where there is none.
 */
static const char *start_path_of_parent(const char *ours)
{
	char name[48], *text = sn_pages_map(PARENTS_BYTES);
	struct sn_line line = {name, sizeof(name), 0};
	const char *path = NULL;
	bool is_same = false;
	sn_line_add(&line, "/proc/");
	sn_line_add_number(&line, (uint64_t)getppid());
	sn_line_add(&line, "/environ");
	size_t bytes = text ? sn_read_text(AT_FDCWD, name, text, PARENTS_BYTES) : 0;
	for (const char *entry = text; entry < text + bytes; entry += strlen(entry) + 1) {
		is_same |= !strcmp(entry, ours);
		if (is_start_path(entry) && strcmp(entry, shows_none) != 0)
			path = entry;
	}
	path = path && is_same ? strdup(path) : NULL;
	sn_pages_unmap(text, PARENTS_BYTES);
	return path;
}

/* Takes the path out of what the program sees: it must not see by which line it was started. */
static void keep_start_path(void)
{
	const char *ours = NULL;
	for (char **entry = environ; entry && *entry; entry++) {
		if (!strncmp(*entry, OUTPUT, strlen(OUTPUT)))
			ours = *entry;
		if (!is_start_path(*entry))
			continue;
		start_path = strdup(*entry);
		if (strcmp(*entry, shows_none) != 0)
			*entry = shows_none;
	}
	if (ours && start_path && !strcmp(start_path, shows_none)) {
		const char *parents = start_path_of_parent(ours);
		start_path = parents ? parents : start_path;
	}
}

const char *sn_environment_start_path(void)
{
	return start_path ? start_path + strlen(SN_START_PATH) : NULL;
}

void sn_environment_keep(void)
{
	static char filters[] = SETTINGS "FILTERS=0000000000";
	find_library();
	preload = getenv("LD_PRELOAD");
	preload = preload ? strdup(preload) : NULL;
	switches_set = getenv(SWITCHES);
	switches_set = switches_set ? strdup(switches_set) : NULL;
	keep_start_path();
	for (char **entry = environ; entry && *entry; entry++)
		if (!is_start_path(*entry) &&
		    (!strncmp(*entry, SETTINGS, strlen(SETTINGS)) || is_switch(*entry) ||
		     (list_of(*entry) && list_of(*entry) != lists[0])))
			keep(*entry);
	if (getenv(SETTINGS "FILTERS"))
		return;
	/* started by hand: the filters of now are those that let measuring pass */
	struct sn_line line = {filters, sizeof(filters), strlen(SETTINGS "FILTERS=")};
	int now = sn_filters_in_force();
	sn_line_add_number(&line, now > 0 ? (uint64_t)now : 0);
	if (now >= 0)
		keep(filters);
}

/* ---- an environment without us ---- */

/* Writes a list without what is ours in it to `to`, which may be where it stands. False where
 * nothing is left. */
static bool without_ours(char *to, const char *entry, const char *list)
{
	const char *item = entry + strlen(list);
	const char *ours = strcmp(list, lists[LIST_COUNT - 1]) ? library : OURS_IN_SANITIZER;
	memmove(to, entry, strlen(list));
	to += strlen(list);
	char *first = to;
	while (ours && *item) {
		size_t length = strcspn(item, ": ");
		const char *next = item + length + (item[length] != 0);
		if (length && (strlen(ours) != length || memcmp(item, ours, length))) {
			if (to != first)
				*to++ = ':';
			memmove(to, item, length);
			to += length;
		}
		item = next;
	}
	*to = 0;
	return to != first;
}

/* The entries that a program would have been given without us; lists are rewritten at `text`, or
 * where they stand if that is NULL. `entries` may be `environment`. */
static char **strip(char **entries, char *text, char *const *environment)
{
	size_t count = 0;
	for (char *const *entry = environment; entry && *entry; entry++) {
		const char *list = list_of(*entry);
		char *place = !list ? *entry : text ? text : *entry;
		if (is_setting(*entry) || is_switch(*entry) ||
		    (list && !without_ours(place, *entry, list)))
			continue;
		if (list && text)
			text += strlen(text) + 1;
		entries[count++] = place;
	}
	entries[count] = NULL;
	return entries;
}

void sn_environment_leave(void)
{
	is_stripping = true;
}

static void begin_stripping(void)
{
	find_library();
	if (!switches_set)
		switches_set = getenv(SWITCHES);
	sn_environment_leave();
}

void sn_environment_strip(void)
{
	begin_stripping();
	if (environ)
		strip(environ, NULL, environ);
}

static size_t count_entries(char *const *entries)
{
	size_t count = 0;
	while (entries && entries[count])
		count++;
	return count;
}

/* The bytes that lists take where they are rewritten. */
static size_t list_text_bytes(char *const *environment)
{
	size_t bytes = 0;
	for (; environment && *environment; environment++)
		if (list_of(*environment))
			bytes += strlen(*environment) + 1;
	return bytes;
}

void sn_environment_replace(void)
{
	size_t list = (count_entries(environ) + 1) * sizeof(char *);
	begin_stripping();
	char **entries = environ ? malloc(list + list_text_bytes(environ)) : NULL;
	if (entries)
		environ = strip(entries, (char *)entries + list, environ);
}

/* ---- an environment with us ---- */

static bool has_variable(char *const *environment, const char *entry)
{
	size_t length = strcspn(entry, "=") + 1;
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, entry, length))
			return true;
	return false;
}

/* True where a list of objects separated by spaces or colons begins with ours. */
static bool preloads_us(const char *value)
{
	size_t length = strcspn(preload, ": ");
	return !strncmp(value, preload, length) && (!value[length] || strchr(": ", value[length]));
}

/* The bytes needed beside the pointers: lists rewritten, a LD_PRELOAD of both the program's objects
 * and ours. */
static size_t text_bytes(char *const *environment)
{
	return strlen(PRELOAD) + (preload ? strlen(preload) : 0) + 2 + list_text_bytes(environment);
}

/*
 * A program whose loader is musl's does not start with a library for glibc. False as well where
 * nothing tells; a script's interpreter is not looked for.
 */
static bool is_of_other_libc(const char *path)
{
	_Alignas(Elf64_Ehdr) char head[2048];
	long bytes = path ? (long)sn_read_text(AT_FDCWD, path, head, sizeof(head)) : 0;
	const Elf64_Ehdr *file = (const Elf64_Ehdr *)head;
	if (bytes < (long)sizeof(*file) || memcmp(head, ELFMAG, SELFMAG) ||
	    file->e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (uint32_t index = 0; index < file->e_phnum; index++) {
		Elf64_Phdr program;
		uint64_t place = file->e_phoff + index * sizeof(program);
		if (place > (uint64_t)bytes - sizeof(program))
			return false;
		memcpy(&program, head + place, sizeof(program));
		if (program.p_type == PT_INTERP && program.p_offset < (uint64_t)bytes)
			return strstr(head + program.p_offset, "/ld-musl-") != NULL;
	}
	return false;
}

/* Whether the loader of a new image would find our library: the process may have changed its root
 * or its user. Where not, it would complain on the program's standard error. */
static bool is_within_reach(void)
{
	int saved_errno = errno;
	int fd =
	    (int)syscall(SYS_openat, AT_FDCWD, library ? library : preload, O_RDONLY | O_CLOEXEC);
	bool is_scarce = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved_errno;
	return fd >= 0 || is_scarce;
}

/* Whether a new image has room for our library beside its own: the loader ends it otherwise. */
#define LEAST_ADDRESS_BYTES (64ull << 20)
#define LEAST_DATA_BYTES    (16ull << 20)
static bool has_room(void)
{
	struct rlimit space, data;
	return !getrlimit(RLIMIT_AS, &space) && space.rlim_cur >= LEAST_ADDRESS_BYTES &&
	       !getrlimit(RLIMIT_DATA, &data) && data.rlim_cur >= LEAST_DATA_BYTES;
}

static void join_preload(char *joined, char *const *environment)
{
	const char *own = NULL;
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, PRELOAD, strlen(PRELOAD)))
			own = *environment + strlen(PRELOAD);
	strcpy(joined, PRELOAD);
	if (own && preloads_us(own)) {
		strcat(joined, own);
		return;
	}
	size_t ours = strcspn(preload, ": ");
	strncat(joined, preload, ours);
	if (own && *own)
		strcat(strcat(joined, ":"), own);
}

/* A program that a process is about to execute. */
struct carrying {
	const char *path;
	char *const *arguments, *const *environment;
	char **completed;
	/* below which context of whose tree it is to begin; else below what we began below */
	const struct sn_thread *thread;
	uint32_t node;
	const char *written; /* the variable of it, where it is for system(3) */
};

/* What the kernel certainly takes of arguments and environment is 128 KiB (execve(2)): a path must
 * not be the cause that it refuses them. */
#define WITH_PATH_BYTES (96u << 10)

static size_t list_bytes(char *const *list)
{
	size_t bytes = 0;
	for (; list && *list; list++)
		bytes += is_start_path(*list) ? 0 : strlen(*list) + 1 + sizeof(*list);
	return bytes;
}

static bool has_room_for_path(const struct carrying *it)
{
	return list_bytes(it->arguments) + list_bytes(it->environment) + SN_START_PATH_BYTES <=
	       WITH_PATH_BYTES;
}

/* True where `sonde run`, measured itself, starts a program into a measurement of its own. */
static bool is_of_other_measurement(char *const *environment)
{
	for (; environment && *environment; environment++)
		for (uint32_t index = 0; index < carried_count; index++)
			if (!strncmp(*environment, OUTPUT, strlen(OUTPUT)) &&
			    !strncmp(carried[index], OUTPUT, strlen(OUTPUT)) &&
			    strcmp(*environment, carried[index]) != 0)
				return true;
	return false;
}

/* The variable that tells below which line the program begins, NULL for none; in `place` where it
 * is written anew. */
static const char *path_for(const struct carrying *it, void *place)
{
	if (!has_room_for_path(it))
		return NULL;
	if (is_of_other_measurement(it->environment))
		return shows_none;
	return it->thread ? sn_start_path_write(&it->thread->cct, it->node, place) : start_path;
}

static char **carry(const struct carrying *it, char **completed, char *joined, void *path_room)
{
	size_t count = 0;
	char *const *environment = it->environment;
	/* in this order: a process that confined itself makes no call of ours */
	if (is_stripping || is_of_other_libc(it->path) || !has_room() || !is_within_reach())
		return strip(completed, joined, environment);
	for (char *const *entry = environment; entry && *entry; entry++)
		if (strncmp(*entry, PRELOAD, strlen(PRELOAD)) && !is_start_path(*entry))
			completed[count++] = *entry;
	join_preload(joined, environment);
	completed[count++] = joined;
	for (uint32_t index = 0; index < carried_count; index++)
		if (!has_variable(environment, carried[index]))
			completed[count++] = (char *)carried[index];
	const char *path = path_for(it, path_room);
	if (path)
		completed[count++] = (char *)path;
	completed[count] = NULL;
	return completed;
}

/*
 * The line that this thread executes a program from. The child of a vfork has the record of its
 * parent's thread for itself, as it has the stack, and no sample interrupts it there. In a child
 * that no handler of fork has run in, nobody may be left to release a lock; one that was made
 * beside its parent shares the record.
 */
static void note_line(struct carrying *it)
{
	if (!sn_measuring() || sn_losses_is_unseen() || sn_own_stacks_are_parents())
		return;
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	it->node = sn_start_path_now(thread);
	it->thread = it->node == SN_NODE_NONE ? NULL : thread;
	sn_leave(thread);
}

/* Where this thread builds environments: it is its own while it executes something, and so is the
 * child of a vfork, which has no other. */
static __thread struct {
	char *pages;
	size_t bytes;
} room __attribute__((tls_model("initial-exec")));

static char *room_for(size_t bytes)
{
	if (bytes > room.bytes) {
		sn_pages_unmap(room.pages, room.bytes);
		room.bytes = (bytes + 4095) & ~(size_t)4095;
		room.pages = sn_pages_map(room.bytes);
		room.bytes = room.pages ? room.bytes : 0;
	}
	return room.pages;
}

void sn_environment_release(void)
{
	sn_pages_unmap(room.pages, room.bytes);
	room.pages = NULL;
	room.bytes = 0;
}

/* Other threads may be changing the environment, as far as the kernel is concerned: what counts is a
 * copy, whose length is known. */
static void carry_in_room(void *argument)
{
	struct carrying *it = argument;
	size_t count = count_entries(it->environment), text = text_bytes(it->environment), at = 0;
	size_t list = (count + CARRIED_MAX + 3) * sizeof(char *);
	size_t path = it->thread ? sn_start_path_room(&it->thread->cct, it->node) : 0;
	char *place = room_for(2 * list + path + text), **copy = (char **)(place + list);
	if (!place)
		return;
	for (; at < count && it->environment[at]; at++)
		copy[at] = it->environment[at];
	copy[at] = NULL;
	if (text_bytes(copy) > text)
		return;
	it->environment = copy;
	it->completed = carry(it, (char **)place, place + 2 * list + path, place + 2 * list);
}

char *const *sn_environment_carried(const char *path, char *const *arguments,
				    char *const *environment)
{
	struct carrying it = {path, arguments, environment, (char **)environment};
	/* the kernel refuses it */
	if (!sn_program_list_is_readable(environment) || !sn_program_list_is_readable(arguments))
		return environment;
	if (is_stripping || (preload && (sn_measuring() || !sn_is_measured_process()))) {
		if (!is_stripping)
			note_line(&it);
		sn_on_own_stack(carry_in_room, &it);
	}
	return it.completed;
}

/* ---- system(3), whose child has what `environ` holds ---- */

/* The calls under way, the path of the first of them, and the entry that was there before. */
static struct {
	uint32_t calls;
	char *before;
	char text[SN_START_PATH_BYTES];
} shown;

/* `environ`, which other threads of the program may be changing: its bytes with those of the
 * pointers, and its entry with a path, NULL for none. */
struct look {
	size_t bytes;
	char *path;
};

#define BLOCK 64u

/* The length of a text, read in blocks that lie on one page each; its first bytes are compared with
 * SN_START_PATH. */
static size_t length_of(const char *text, bool *is_path)
{
	char begin[sizeof(SN_START_PATH) - 1], block[BLOCK];
	*is_path = sn_program_read(text, begin, sizeof(begin)) &&
		   !memcmp(begin, SN_START_PATH, sizeof(begin));
	for (size_t length = 0;;) {
		size_t bytes = BLOCK - (uintptr_t)(text + length) % BLOCK;
		if (!sn_program_read(text + length, block, bytes))
			return length;
		const char *end = memchr(block, 0, bytes);
		if (end)
			return length + (size_t)(end - block);
		length += bytes;
	}
}

static struct look look_at_environ(void)
{
	struct look look = {0};
	char *entry;
	for (char **at = environ; at && sn_program_read(at, &entry, sizeof(entry)) && entry; at++) {
		bool is_path;
		look.bytes += length_of(entry, &is_path) + 1 + sizeof(entry);
		look.path = is_path ? entry : look.path;
	}
	return look;
}

static void write_path_in_room(void *argument)
{
	struct carrying *it = argument;
	void *place = room_for(sn_start_path_room(&it->thread->cct, it->node));
	if (place)
		it->written = sn_start_path_write(&it->thread->cct, it->node, place);
}

static bool is_ours(const char *entry)
{
	return entry == shown.text || entry == shows_none;
}

/* putenv(3) allocates nothing, as the variable is there. */
static void show(const char *text, char *before)
{
	sn_lock_acquire(SN_LOCK_START_PATH);
	if (!shown.calls++) {
		shown.before = is_ours(before) ? shown.before : before;
		strcpy(shown.text, text);
	}
	putenv(strcmp(shown.text, text) ? shows_none : shown.text);
	sn_lock_release(SN_LOCK_START_PATH);
}

bool sn_environment_show_line(const char *command, uintptr_t caller)
{
	struct carrying it = {0};
	if (!command || !sn_python_is_interpreter(caller))
		return false;
	note_line(&it);
	struct look look = it.thread ? look_at_environ() : (struct look){0};
	if (!look.path || look.bytes + strlen(command) + SN_START_PATH_BYTES > WITH_PATH_BYTES)
		return false;
	sn_on_own_stack(write_path_in_room, &it);
	if (it.written)
		show(it.written, look.path);
	return it.written;
}

void sn_environment_hide_line(void)
{
	bool is_path;
	sn_lock_acquire(SN_LOCK_START_PATH);
	/* what was there is put back, unless a program that sets its title has written over it */
	if (!--shown.calls && is_ours(look_at_environ().path)) {
		length_of(shown.before, &is_path);
		putenv(is_path ? shown.before : shows_none);
	}
	sn_lock_release(SN_LOCK_START_PATH);
}

void sn_environment_after_fork(void)
{
	shown.calls = 0;
}
