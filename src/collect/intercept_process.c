/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that become other programs: exec and posix_spawn carry the collector's environment along
 * even when the caller passes another one, and what was measured is written before an image is
 * replaced; _exit ends measuring like exit. fork is followed by pthread_atfork (init.c).
 *
 * Everything here may run in the child of a vfork, on its parent's memory: no allocation but the
 * stack.
 */
#include "checkpoint.h"
#include "intercept.h"
#include "line.h"
#include "monitor.h"

#include <alloca.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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

#define CARRIED_MAX 32u
#define PRELOAD	    "LD_PRELOAD="

/* What the environment must hold for a new image to be measured; fixed when measuring starts. */
static const char *carried[CARRIED_MAX];
static uint32_t carried_count;
static const char *preload; /* the value of LD_PRELOAD we were started with */

void sn_environment_keep(void)
{
	static const char *const prefixes[] = {"SONDE_", "OPENCL_LAYERS=", "NVTX_INJECTION64_PATH=",
					       "INTEL_LIBITTNOTIFY64=", "ASAN_OPTIONS="};
	preload = getenv("LD_PRELOAD");
	preload = preload ? strdup(preload) : NULL;
	for (char **entry = environ; entry && *entry; entry++)
		for (size_t index = 0; index < sizeof(prefixes) / sizeof(*prefixes); index++)
			if (!strncmp(*entry, prefixes[index], strlen(prefixes[index])) &&
			    carried_count < CARRIED_MAX)
				carried[carried_count++] = strdup(*entry);
}

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

/* The bytes needed beside the pointers, for a LD_PRELOAD of both the program's objects and ours. */
static size_t preload_bytes(char *const *environment)
{
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, PRELOAD, strlen(PRELOAD)))
			return strlen(*environment) + strlen(preload) + 2;
	return strlen(PRELOAD) + strlen(preload) + 1;
}

/*
 * A program whose loader is musl's does not start with a library for glibc. False as well where
 * nothing tells; a script's interpreter is not looked for.
 */
static bool is_of_other_libc(const char *path)
{
	_Alignas(Elf64_Ehdr) char head[2048];
	int saved_errno = errno;
	int fd =
	    path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	long bytes = fd < 0 ? -1 : syscall(SYS_pread64, fd, head, sizeof(head) - 1, 0);
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved_errno;
	const Elf64_Ehdr *file = (const Elf64_Ehdr *)head;
	if (bytes < (long)sizeof(*file) || memcmp(head, ELFMAG, SELFMAG) ||
	    file->e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	head[bytes] = 0;
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

/* The same environment without our library: what the caller passes may hold it already. */
static char **leave_alone(char **entries, char *others, char *const *environment)
{
	size_t count = 0;
	for (char *const *entry = environment; entry && *entry; entry++) {
		bool is_preload = !strncmp(*entry, PRELOAD, strlen(PRELOAD));
		const char *value = *entry + strlen(PRELOAD);
		if (!is_preload || !preloads_us(value)) {
			entries[count++] = *entry;
			continue;
		}
		value += strcspn(preload, ": ");
		if (*value)
			entries[count++] = strcat(strcpy(others, PRELOAD), value + 1);
	}
	entries[count] = NULL;
	return entries;
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
	if (is_of_other_libc(path))
		return leave_alone(completed, joined, environment);
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

/*
 * The environment completed, on the caller's stack: a macro because alloca must be in its frame.
 * `path` is the program's, NULL where it is not known.
 */
#define CARRY(path, environment)                                                                   \
	(preload && !sn_confined() && (sn_measuring() || !sn_is_measured_process())                \
	     ? carry(path,                                                                         \
		     alloca((count_entries(environment) + CARRIED_MAX + 2) * sizeof(char *)),      \
		     alloca(preload_bytes(environment)), environment)                              \
	     : (char **)(environment))

/* A name that is searched for in PATH is not looked at. */
static const char *slashed(const char *file)
{
	return file && strchr(file, '/') ? file : NULL;
}

/* The image is about to be replaced, unless exec fails: then measuring goes on. */
static void before_exec(void)
{
	if (!sn_measuring() || !sn_is_measured_process())
		return;
	if (sn_monitor_wants(SONDE_OS))
		sn_monitor_emit((struct sonde_event){.domain = SONDE_OS, .kind = SONDE_EXEC});
	struct sn_thread *thread = sn_enter();
	sn_checkpoint_now("exec");
	if (thread)
		sn_leave(thread);
}

SN_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
	before_exec();
	return real_execve_get()(path, arguments, CARRY(path, environment));
}

SN_EXPORT int execv(const char *path, char *const arguments[])
{
	before_exec();
	return real_execve_get()(path, arguments, CARRY(path, environ));
}

SN_EXPORT int execvp(const char *file, char *const arguments[])
{
	before_exec();
	return real_execvpe_get()(file, arguments, CARRY(slashed(file), environ));
}

SN_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	before_exec();
	return real_execvpe_get()(file, arguments, CARRY(slashed(file), environment));
}

SN_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
	before_exec();
	return real_fexecve_get()(fd, arguments, CARRY(NULL, environment));
}

SN_EXPORT int execveat(int directory, const char *path, char *const arguments[],
		       char *const environment[], int flags)
{
	before_exec();
	return real_execveat_get()(directory, path, arguments, CARRY(NULL, environment), flags);
}

/* The arguments of the execl family, up to their NULL, as an array on the caller's stack. */
#define COLLECT_ARGUMENTS(list, first, arguments)                                                  \
	do {                                                                                       \
		va_list counting;                                                                  \
		va_copy(counting, list);                                                           \
		size_t count = 1;                                                                  \
		while (va_arg(counting, char *))                                                   \
			count++;                                                                   \
		va_end(counting);                                                                  \
		(arguments) = alloca((count + 1) * sizeof(char *));                                \
		(arguments)[0] = (char *)(first);                                                  \
		for (size_t index = 1; index <= count; index++)                                    \
			(arguments)[index] = va_arg(list, char *);                                 \
	} while (0)

SN_EXPORT int execl(const char *path, const char *first, ...)
{
	char **arguments;
	va_list list;
	va_start(list, first);
	COLLECT_ARGUMENTS(list, first, arguments);
	va_end(list);
	return execv(path, arguments);
}

SN_EXPORT int execlp(const char *file, const char *first, ...)
{
	char **arguments;
	va_list list;
	va_start(list, first);
	COLLECT_ARGUMENTS(list, first, arguments);
	va_end(list);
	return execvp(file, arguments);
}

SN_EXPORT int execle(const char *path, const char *first, ...)
{
	char **arguments;
	va_list list;
	va_start(list, first);
	COLLECT_ARGUMENTS(list, first, arguments);
	char *const *environment = va_arg(list, char *const *);
	va_end(list);
	return execve(path, arguments, environment);
}

SN_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attributes, char *const arguments[],
			  char *const environment[])
{
	return real_posix_spawn_get()(pid, path, actions, attributes, arguments,
				      CARRY(path, environment));
}

SN_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const arguments[],
			   char *const environment[])
{
	return real_posix_spawnp_get()(pid, file, actions, attributes, arguments,
				       CARRY(slashed(file), environment));
}

static void stop_with_status(int status)
{
	char text[4];
	struct sn_line line = SN_LINE(text);
	sn_line_add_number(&line, (unsigned)status & 0xff);
	sn_stop(text);
}

SN_EXPORT void _exit(int status)
{
	if (sn_measuring())
		stop_with_status(status);
	real__exit_get()(status);
	__builtin_unreachable();
}

SN_EXPORT void _Exit(int status)
{
	_exit(status);
}
