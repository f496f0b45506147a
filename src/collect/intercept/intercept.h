/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's functions that the collector stands in front of, so that it sees threads and
 * processes come and go and stays unseen itself. Each interceptor is one file, intercept_*.c; each
 * wrapper does what the real function does, whatever happens to ours.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_INTERCEPT_H
#define SN_COLLECT_INTERCEPT_H

#include "collect/core/thread.h"

#include <signal.h>

/* Marks a function that replaces one of the C library's. */
#define SN_EXPORT __attribute__((visibility("default")))

/* A macro's number in the text of assembly. */
#define SN_ASM_TEXT(number)  SN_ASM_TEXT_(number)
#define SN_ASM_TEXT_(number) #number

/* The next definition of `name`; never NULL for functions of the C library. AS-safe: no. */
void *sn_real(const char *name);
/*
 * A pointer to the real function, looked up once:
 *	SN_REAL(int, close, (int)) makes real_close_get().
 * SN_REAL_BY looks it up by another function than sn_real.
 */
#define SN_REAL(result, name, parameters) SN_REAL_BY(sn_real, result, name, parameters)
#define SN_REAL_BY(find, result, name, parameters)                                                 \
	static result(*real_##name##_get(void)) parameters                                         \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
		void *function = atomic_load_explicit(&found, memory_order_relaxed);               \
		if (__builtin_expect(!function, 0)) {                                              \
			function = find(#name);                                                    \
			atomic_store_explicit(&found, function, memory_order_relaxed);             \
		}                                                                                  \
		return (result(*) parameters)function;                                             \
	}

/* Begins the definition of a function that no header of the program's declares. */
#define SN_PUBLIC(result, name, parameters)                                                        \
	SN_EXPORT result name parameters;                                                          \
	result name parameters

/* The same of one that replaces a C++ function, by its mangled name. */
#define SN_REPLACES(symbol, result, name, parameters)                                              \
	SN_EXPORT result name parameters __asm__(symbol);                                          \
	result name parameters

/* What _FORTIFY_SOURCE makes of a call: it ends the program unless there is room. */
#define SN_CHECKED(result, name, parameters, has_room, call)                                       \
	SN_PUBLIC(result, name, parameters)                                                        \
	{                                                                                          \
		void __chk_fail(void) __attribute__((noreturn));                                   \
		if (!(has_room))                                                                   \
			__chk_fail();                                                              \
		return call;                                                                       \
	}

/* sigaction without our own interception. */
int sn_real_sigaction(int signal, const struct sigaction *new_action, struct sigaction *old_action);

/* Gives the calling thread its own stack, and the kernel that as its signal stack where the
 * program has none. MT: the thread itself. */
bool sn_signal_stack_install(void);
/* A handler of ours tells where the kernel put its frame: how much a frame takes is learnt. */
void sn_signal_stack_learn(uintptr_t frame);

/* A child is about to be made by clone(2). */
void sn_before_clone(int flags);

/* Gives these signals to the program, with all that the calling thread's program believes of them.
 */
void sn_signal_yield(uint64_t signals);
/* The program's signalfds that were given a filled set get the signal (an int) that is theirs now.
 * On our own stack. */
void sn_signalfds_complete(void *signal);
/* The set that the calling thread waits for has all but the sample signal, and has `theirs` in any
 * case; also where it waits already and its call is made again. */
void sn_signal_wait_complete(uint64_t theirs);

/* Does what a signal's default action does to the program, with the last snapshot before. For our
 * handlers; `context` is what they interrupted. */
void sn_signal_end_program(int signal, void *context);

/* A mask for the time of one call, without our signal where it was filled; where the program means
 * that signal, it gets it. */
const sigset_t *sn_signal_mask_of_call(const sigset_t *mask, sigset_t *storage);

/* A call of the program's by number that is about signals: gives it what it asks for; true where
 * that was all, and *result is what syscall(2) returns. */
bool sn_raw_signal_call(long number, const long arguments[4], long *result);

/* The program is about to set a limit, of its own or of `process`, as by prlimit(2). */
void sn_before_limit(pid_t process, int resource, const void *limit);

/* Starts measuring this process image, once; called by the constructor or by the first interceptor
 * that runs before it. AS-safe: no. */
void sn_start(void);
/* The same for a tool alone, where nothing was to be measured. AS-safe: no. */
void sn_start_monitoring(void);
/* Ends measuring for good: stops samples, writes the last snapshot. */
void sn_stop(const char *exit_text);

/* Ends measuring before the process gives up system calls that we make; the wrappers make none of
 * their own from then on. AS-safe: no. */
void sn_confine(void);
bool sn_confined(void);
/* Asks the kernel whether the process has confined itself by an instruction of its own, where no
 * wrapper stands, and then ends measuring without a further call. */
bool sn_confined_unasked(void);

/* False in a child that shares our memory or came by a raw system call: nothing may be written
 * there. */
bool sn_is_measured_process(void);

/* Remembers what the environment must hold for a new program image to be measured. AS-safe: no.
 * MT: once. */
void sn_environment_keep(void);
/* From now on what this process executes starts without us. Changes the environment in place, and
 * makes no system call. AS-safe: no. */
void sn_environment_strip(void);

/* The same but for the environment, which the program may just be changing: what it hands to exec
 * is stripped there. */
void sn_environment_leave(void);

/* Ends measuring where the process ends with an exit status. */
void sn_end_with_status(int status);
/* The same at the end of quick_exit, after the program's own handlers. AS-safe: no. */
void sn_end_quickly(void);

/* Installs handlers for signals whose default action ends the program, and takes them away.
 * MT: once. */
void sn_fatal_init(void);
void sn_fatal_release(void);

#endif
