/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executing other programs: exec and posix_spawn pass the collector's environment on
 * (environment.h), and the data is written before an image is replaced; _exit ends measuring like
 * exit. fork is handled by pthread_atfork (init.c). Children that will write no
 * measurement are counted (losses.h).
 *
 * Everything here may run in the child of a vfork, on its parent's memory: nothing is allocated
 * that the parent's thread does not keep.
 */
#include "collect/record/checkpoint.h"
#include "environment.h"
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
#include <errno.h>
#include <sched.h>
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
SN_REAL(void, quick_exit, (int))
SN_REAL(pid_t, _Fork, (void))
SN_REAL(int, daemon, (int, int))
SN_REAL(int, system, (const char *))
SN_REAL(void *, popen, (const char *, const char *))

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
	return REPLACING(path,
			 real_execve_get()(path, arguments,
					   sn_environment_carried(path, arguments, environment)));
}

static int search_and_execute(const char *file, char *const arguments[], char *const environment[])
{
	return REPLACING(file, real_execvpe_get()(
				   file, arguments,
				   sn_environment_carried(slashed(file), arguments, environment)));
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
	return REPLACING(NULL,
			 real_fexecve_get()(fd, arguments,
					    sn_environment_carried(NULL, arguments, environment)));
}

SN_EXPORT int execveat(int directory, const char *path, char *const arguments[],
		       char *const environment[], int flags)
{
	return REPLACING(
	    path, real_execveat_get()(directory, path, arguments,
				      sn_environment_carried(NULL, arguments, environment), flags));
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
	return STARTING(
	    real_posix_spawn_get()(pid, path, actions, attributes, arguments,
				   sn_environment_carried(path, arguments, environment)),
	    !result);
}

SN_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const arguments[],
			   char *const environment[])
{
	return STARTING(
	    real_posix_spawnp_get()(pid, file, actions, attributes, arguments,
				    sn_environment_carried(slashed(file), arguments, environment)),
	    !result);
}

/* Its child has what `environ` holds, inside the C library. */
static int run_below_line(const char *command, uintptr_t caller)
{
	bool is_shown = sn_environment_show_line(command, caller);
	int status = real_system_get()(command), saved_errno = errno;
	if (is_shown)
		sn_environment_hide_line();
	errno = saved_errno;
	return status;
}

SN_EXPORT int system(const char *command)
{
	return STARTING(run_below_line(command, (uintptr_t)__builtin_return_address(0)),
			command && result != -1);
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
