/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executing other programs: exec and posix_spawn pass the collector's environment on even if the
 * caller passes another one, and the data is written before an image is replaced; _exit ends
 * measuring like exit. fork is handled by pthread_atfork (init.c). Children that will write no
 * measurement are counted (losses.h).
 *
 * Everything here may run in the child of a vfork, on its parent's memory: nothing is allocated
 * that the parent's thread does not keep.
 */
#include "collect/record/checkpoint.h"
#include "collect/sample/filters.h"
#include "intercept.h"
#include "collect/core/line.h"
#include "collect/record/losses.h"
#include "collect/interface/monitor.h"
#include "collect/unwind/own_stack.h"
#include "collect/sample/program_memory.h"
#include "collect/record/property.h"
#include "collect/sample/sample.h"
#include "collect/sample/sample_signal.h"

#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

SN_REAL(int, execve, (const char *, char *const *, char *const *))
SN_REAL(int, execvpe, (const char *, char *const *, char *const *))
SN_REAL(int, fexecve, (int, char *const *, char *const *))
SN_REAL(int, execveat, (int, const char *, char *const *, char *const *, int))
SN_REAL(int, posix_spawn,
	(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
	 char *const *, char *const *))
SN_REAL(int, posix_spawnp,
	(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
	 char *const *, char *const *))
SN_REAL(void, _exit, (int))
SN_REAL(void, quick_exit, (int))
SN_REAL(pid_t, _Fork, (void))
SN_REAL(int, daemon, (int, int))
SN_REAL(int, system, (const char *))
SN_REAL(void *, popen, (const char *, const char *))

#define CARRIED_MAX 32u
#define PRELOAD	    "LD_PRELOAD="
#define SETTINGS    "SONDE_"

/* Lists, separated by colons, in which `sonde run` puts something of ours before the user's. */
static const char *const lists[] = {
    PRELOAD, "OPENCL_LAYERS=", "NVTX_INJECTION64_PATH=", "INTEL_LIBITTNOTIFY64=", "ASAN_OPTIONS="};
#define LIST_COUNT	  (sizeof(lists) / sizeof(*lists))
#define OURS_IN_SANITIZER "verify_asan_link_order=0"

/* What the environment must hold for a new image to be measured; fixed when measuring starts. */
static const char *carried[CARRIED_MAX];
static uint32_t carried_count;
static const char *preload; /* the value of LD_PRELOAD we were started with */
static const char *library; /* our own path, as the loader was given it */
static bool is_stripping;   /* nothing is carried any more */

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
	    "OUTPUT=",		"EVENTS=", "CALL_PATH=",   "OPERATORS=",    "MEMORY=",
	    "GRAPH=",		"SHADOW=", "FILTERS=",	   "FRAMEWORKS=",   "CHECKPOINT_MS=",
	    "MEMORY_LIMIT_MB=", "TRACE=",  "TRACE_LIMIT=", "TRACE_PAUSED=", "TRACE_SIGNAL=",
	    "TRACE_WINDOW_MS=", "FOLDER=", "SHARE=",	   "COMMAND="};
	if (strncmp(entry, SETTINGS, strlen(SETTINGS)))
		return false;
	for (size_t index = 0; index < sizeof(names) / sizeof(*names); index++)
		if (!strncmp(entry + strlen(SETTINGS), names[index], strlen(names[index])))
			return true;
	return false;
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

void sn_environment_keep(void)
{
	static char filters[] = SETTINGS "FILTERS=0000000000";
	find_library();
	preload = getenv("LD_PRELOAD");
	preload = preload ? strdup(preload) : NULL;
	for (char **entry = environ; entry && *entry; entry++)
		if (!strncmp(*entry, SETTINGS, strlen(SETTINGS)) ||
		    (list_of(*entry) && list_of(*entry) != lists[0]))
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
		if (is_setting(*entry) || (list && !without_ours(place, *entry, list)))
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

void sn_environment_strip(void)
{
	find_library();
	sn_environment_leave();
	if (environ)
		strip(environ, NULL, environ);
}

/* ---- an environment with us ---- */

static size_t count_entries(char *const *entries)
{
	size_t count = 0;
	while (entries && entries[count])
		count++;
	return count;
}

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
	size_t bytes = strlen(PRELOAD) + (preload ? strlen(preload) : 0) + 2;
	for (; environment && *environment; environment++)
		if (list_of(*environment))
			bytes += strlen(*environment) + 1;
	return bytes;
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

static char **carry(const char *path, char **completed, char *joined, char *const *environment)
{
	size_t count = 0;
	/* in this order: a process that confined itself makes no call of ours */
	if (is_stripping || is_of_other_libc(path) || !has_room() || !is_within_reach())
		return strip(completed, joined, environment);
	for (char *const *entry = environment; entry && *entry; entry++)
		if (strncmp(*entry, PRELOAD, strlen(PRELOAD)))
			completed[count++] = *entry;
	join_preload(joined, environment);
	completed[count++] = joined;
	for (uint32_t index = 0; index < carried_count; index++)
		if (!has_variable(environment, carried[index]))
			completed[count++] = (char *)carried[index];
	completed[count] = NULL;
	return completed;
}

struct carrying {
	const char *path;
	char *const *environment;
	char **completed;
};

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

static void carry_in_room(void *argument)
{
	struct carrying *it = argument;
	size_t entries = (count_entries(it->environment) + CARRIED_MAX + 2) * sizeof(char *);
	char *place = room_for(entries + text_bytes(it->environment));
	if (place)
		it->completed = carry(it->path, (char **)place, place + entries, it->environment);
}

/* The environment completed: the caller's own where there is nothing to carry, or no memory.
 * `path` is the program's, NULL where it is not known. Valid until this thread's next call. */
static char *const *carried_with(const char *path, char *const *environment)
{
	struct carrying it = {path, environment, (char **)environment};
	/* the kernel refuses it */
	if (!sn_program_list_is_readable(environment))
		return environment;
	if (is_stripping || (preload && (sn_measuring() || !sn_is_measured_process())))
		sn_on_own_stack(carry_in_room, &it);
	return it.completed;
}

/* A name that is searched for in PATH is not looked at. */
static const char *slashed(const char *file)
{
	return file && strchr(file, '/') ? file : NULL;
}

/* A child that was made without fork and is not measured becomes a program, which will be; or it
 * does not after all (-1). */
static void count_started(int by)
{
	if (sn_losses_is_unseen()) {
		sn_losses_note_unseen();
		sn_losses_add(SN_LOSS_UNSEEN, -by);
	}
	sn_losses_add(SN_LOSS_STARTED, by);
}

/* What is to be taken back where an image was not replaced after all. */
struct replacing {
	bool was_counted;
	struct sn_sampling_pause pause;
	uint64_t believed; /* of sn_believed_begin */
};

/* True in a child in which that was counted. */
static bool note_exec(const char *path)
{
	if (!sn_measuring() || sn_confined_unasked())
		return false;
	if (!sn_is_measured_process()) {
		count_started(1);
		return true;
	}
	if (sn_monitor_wants(SONDE_OS))
		SN_MONITOR_EMIT(.domain = SONDE_OS, .kind = SONDE_EXEC);
	struct sn_thread *thread = sn_enter();
	sn_property_set("executed", path && sn_program_text_is_readable(path) ? path : "");
	sn_checkpoint_now("exec");
	if (thread)
		sn_leave(thread);
	return false;
}

/* The image is about to be replaced, unless exec fails: then measuring goes on. */
static struct replacing before_exec(const char *path)
{
	struct replacing it = {.was_counted = note_exec(path)};
	if (sn_confined())
		return it;
	it.pause = sn_sampling_pause_for_exec();
	it.believed = sn_believed_begin();
	return it;
}

static int after_exec(struct replacing it, int result)
{
	sn_believed_end(it.believed);
	sn_sampling_resume_after_exec(it.pause);
	if (it.was_counted)
		count_started(-1);
	return result;
}

/* Replaces the image by `call`, unless that fails; `path`: the program's, NULL where it is unknown.
 */
#define REPLACING(path, call)                                                                      \
	({                                                                                         \
		struct replacing it = before_exec(path);                                           \
		after_exec(it, call);                                                              \
	})

/* The exported functions below call these, and not each other: a program may export one as well. */
static int execute(const char *path, char *const arguments[], char *const environment[])
{
	return REPLACING(path, real_execve_get()(path, arguments, carried_with(path, environment)));
}

static int search_and_execute(const char *file, char *const arguments[], char *const environment[])
{
	return REPLACING(
	    file, real_execvpe_get()(file, arguments, carried_with(slashed(file), environment)));
}

SN_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
	return execute(path, arguments, environment);
}

SN_EXPORT int execv(const char *path, char *const arguments[])
{
	return execute(path, arguments, environ);
}

SN_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return search_and_execute(file, arguments, environment);
}

SN_EXPORT int execvp(const char *file, char *const arguments[])
{
	return search_and_execute(file, arguments, environ);
}

SN_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
	return REPLACING(NULL, real_fexecve_get()(fd, arguments, carried_with(NULL, environment)));
}

SN_EXPORT int execveat(int directory, const char *path, char *const arguments[],
		       char *const environment[], int flags)
{
	return REPLACING(path, real_execveat_get()(directory, path, arguments,
						   carried_with(NULL, environment), flags));
}

/* One of the execl family: its arguments up to their NULL, then more in `list`, go to `call` as an
 * array on its stack. */
#define EXECL(name, call)                                                                          \
	SN_EXPORT int name(const char *path, const char *first, ...)                               \
	{                                                                                          \
		va_list list, counting;                                                            \
		size_t count = 1;                                                                  \
		va_start(list, first);                                                             \
		va_copy(counting, list);                                                           \
		while (va_arg(counting, char *))                                                   \
			count++;                                                                   \
		va_end(counting);                                                                  \
		char **arguments = alloca((count + 1) * sizeof(char *));                           \
		arguments[0] = (char *)first;                                                      \
		for (size_t index = 1; index <= count; index++)                                    \
			arguments[index] = va_arg(list, char *);                                   \
		int result = call;                                                                 \
		va_end(list);                                                                      \
		return result;                                                                     \
	}
EXECL(execl, execute(path, arguments, environ))
EXECL(execlp, search_and_execute(path, arguments, environ))
EXECL(execle, execute(path, arguments, va_arg(list, char *const *)))

/* A child of the C library's own making is about to execute something, with this thread's mask. */
static struct replacing before_start(void)
{
	struct replacing it = {0};
	if (sn_measuring() && !sn_confined_unasked())
		sn_losses_note_unseen();
	if (sn_confined())
		return it;
	if (sn_samples_spared())
		it.pause = sn_sampling_pause_for_exec();
	it.believed = sn_believed_begin();
	return it;
}

static void started(bool is_running, struct replacing it)
{
	sn_believed_end(it.believed);
	sn_sampling_resume_after_exec(it.pause);
	if (is_running && sn_measuring() && sn_is_measured_process())
		sn_losses_add(SN_LOSS_STARTED, 1);
}

/* A call that starts a program; `is_running` sees its `result`. */
#define STARTING(call, is_running)                                                                 \
	({                                                                                         \
		struct replacing it = before_start();                                              \
		__typeof__(call) result = (call);                                                  \
		int saved_errno = errno;                                                           \
		started(is_running, it);                                                           \
		errno = saved_errno;                                                               \
		result;                                                                            \
	})

SN_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attributes, char *const arguments[],
			  char *const environment[])
{
	return STARTING(real_posix_spawn_get()(pid, path, actions, attributes, arguments,
					       carried_with(path, environment)),
			!result);
}

SN_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const arguments[],
			   char *const environment[])
{
	return STARTING(real_posix_spawnp_get()(pid, file, actions, attributes, arguments,
						carried_with(slashed(file), environment)),
			!result);
}

SN_EXPORT int system(const char *command)
{
	return STARTING(real_system_get()(command), command && result != -1);
}

/* Its stream is opaque: nothing of stdio is used here. */
SN_PUBLIC(void *, popen, (const char *command, const char *mode))
{
	return STARTING(real_popen_get()(command, mode), result != NULL);
}

/* ---- forks without handlers, and exits without exit handlers ---- */

SN_EXPORT pid_t _Fork(void)
{
	pid_t (*real)(void) = real__Fork_get();
	/* before glibc 2.34 there is none, but a program may look whether there is */
	pid_t child = real ? real() : (pid_t)syscall(SYS_fork);
	if (!child)
		sn_losses_note_unseen();
	return child;
}

/* The C library ends the parent itself, without calling a wrapper. If there is no child, measuring
 * goes on. */
SN_EXPORT int daemon(int stays, int keeps)
{
	if (sn_measuring() && sn_is_measured_process()) {
		struct sn_thread *thread = sn_enter();
		sn_checkpoint_now("0");
		if (thread)
			sn_leave(thread);
	}
	return real_daemon_get()(stays, keeps);
}

void sn_end_with_status(int status)
{
	char text[4];
	struct sn_line line = SN_LINE(text);
	sn_line_add_number(&line, (unsigned)status & 0xff);
	sn_stop(text);
}

SN_EXPORT void _exit(int status)
{
	sn_end_with_status(status);
	real__exit_get()(status);
	__builtin_unreachable();
}

SN_EXPORT void _Exit(int status)
{
	_exit(status);
}

static _Atomic int quick_status;

void sn_end_quickly(void)
{
	sn_end_with_status(atomic_load_explicit(&quick_status, memory_order_relaxed));
}

SN_EXPORT void quick_exit(int status)
{
	atomic_store_explicit(&quick_status, status, memory_order_relaxed);
	real_quick_exit_get()(status);
	__builtin_unreachable();
}

/* ---- children on this process's memory ---- */

SN_REAL(int, clone, (int (*)(void *), void *, int, void *, ...))

void sn_before_clone(int flags)
{
	/* one of a vfork has it for itself */
	if ((flags & (CLONE_VM | CLONE_VFORK | CLONE_THREAD)) == CLONE_VM)
		sn_own_stacks_share();
}

SN_EXPORT int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
	va_list list;
	va_start(list, argument);
	/* not all of them need be there: the C library takes what the registers hold, too */
	void *parent_tid = va_arg(list, void *), *tls = va_arg(list, void *),
	     *child_tid = va_arg(list, void *);
	va_end(list);
	sn_before_clone(flags);
	return real_clone_get()(function, stack, flags, argument, parent_tid, tls, child_tid);
}
