/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers of the C library's functions, by which the collector learns of threads and processes and
 * stays invisible itself. Each interceptor is one file, intercept_*.c; each wrapper does what the
 * real function does, even if the collector fails.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

#include "collect/core/thread.h"

#include <signal.h>

/* Marks a function that replaces one of the C library's. */
#define SN_EXPORT __attribute__((visibility("default")))

/* A macro's number in the text of assembly. */
#define SN_ASM_TEXT(number)  SN_ASM_TEXT_(number)
#define SN_ASM_TEXT_(number) #number

/* dlsym without the collector's interception. AS-safe: no. */
void *sn_real_dlsym(void *library, const char *name);
/* The next definition of `name`; never NULL for functions of the C library. AS-safe: no. */
void *sn_real(const char *name);
/*
 * A pointer to the real function of the C library: SN_REAL(int, close, (int)) defines real_close_get(). SN_REAL_BY looks it up by
 * another function than sn_real. All are looked up when the library is loaded, for that takes a lock of the loader's, and the thread
 * that has it may be stopped by a signal until another one has made a call that is wrapped. A call that comes before looks up its own.
 */
struct sn_real_function {
	const char *name;
	void *(*find)(const char *name);
	_Atomic(void *) address; /* NULL: not yet looked up, or not there */
};
static inline void *sn_real_address(struct sn_real_function *function)
{
	void *address = atomic_load_explicit(&function->address, memory_order_relaxed);
	if (__builtin_expect(!address, 0)) {
		address = function->find(function->name);
		atomic_store_explicit(&function->address, address, memory_order_relaxed);
	}
	return address;
}
void sn_real_find_all(void);
#define SN_REAL(result, name, parameters) SN_REAL_BY(sn_real, result, name, parameters)
#define SN_REAL_BY(find, result, name, parameters)                                                 \
	static struct sn_real_function real_##name##_function = {#name, find, NULL};               \
	static struct sn_real_function *const real_##name##_entry                                  \
	    __attribute__((section("sn_real_functions"), used)) = &real_##name##_function;         \
	static result(*real_##name##_get(void)) parameters                                         \
	{                                                                                          \
		return (result(*) parameters)sn_real_address(&real_##name##_function);             \
	}

/* Begins the definition of a function that no public header declares. */
#define SN_PUBLIC(result, name, parameters)                                                        \
	SN_EXPORT result name parameters;                                                          \
	result name parameters

/* The same for one that replaces a C++ function, by its mangled name. */
#define SN_REPLACES(symbol, result, name, parameters)                                              \
	SN_EXPORT result name parameters __asm__(symbol);                                          \
	result name parameters

/* The form of a call with _FORTIFY_SOURCE: it ends the program unless there is room. */
#define SN_CHECKED(result, name, parameters, has_room, call)                                       \
	SN_PUBLIC(result, name, parameters)                                                        \
	{                                                                                          \
		void __chk_fail(void) __attribute__((noreturn));                                   \
		if (!(has_room))                                                                   \
			__chk_fail();                                                              \
		return call;                                                                       \
	}

/* sigaction without the collector's interception. */
int sn_real_sigaction(int signal, const struct sigaction *new_action, struct sigaction *old_action);

/* Creates the calling thread's own stack and makes it the signal stack if the program has set none.
 * MT: the thread itself. */
bool sn_signal_stack_install(void);
/* Measures the size of the kernel's signal frame, from its address in a handler of the collector.
 * */
void sn_signal_stack_learn(uintptr_t frame);

/* A child is about to be made by clone(2). */
void sn_before_clone(int flags);

/* Gives these signals to the program and sets the mask that the calling thread's program believes.
 */
void sn_signal_yield(uint64_t signals);
/* Adds a signal (an int) that is the program's now to its signalfds that were created with a filled
 * set. On the collector's stack. */
void sn_signalfds_complete(void *signal);
/* Updates the set that the calling thread waits for: all signals but the sample signal, and always
 * `theirs`; also while it waits, because the kernel reads the set again when the call restarts. */
void sn_signal_wait_complete(uint64_t theirs);

/* Writes the last snapshot and then performs a signal's default action. For the collector's
 * handlers; `context` is the interrupted state. */
void sn_signal_end_program(int signal, void *context);

/*
 * A call whose argument `mask` is the thread's mask meanwhile: *mask is what the kernel is to be given, in which the sample signal is open. A
 * signal that becomes the program's during the call is kept out by what follows, and let in at its end. MT: the thread itself.
 */
struct sn_mask_of_call {
	uint64_t asked;	 /* by the program; 0: the kernel has the program's own */
	uint64_t spared; /* samples that the thread has blocked */
	uint64_t passed; /* to the kernel */
	uint64_t kept;	 /* signals that were kept out of the call */
};
struct sn_mask_of_call sn_mask_of_call_begin(const sigset_t **mask);
/* Keeps errno. */
void sn_mask_of_call_end(struct sn_mask_of_call outer);
/* In a handler: `context` was interrupted in such a call, whose mask has the signal. */
bool sn_mask_of_call_blocks(int signal, const ucontext_t *context);
/* The signal is in the mask when the call is made again. */
void sn_mask_of_call_keep(int signal);

/* Handles a call by number that concerns signals; true if that completes it, and *result is what
 * syscall(2) returns. */
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
/* The same where the program asks for it, and goes on: what it starts later is not measured either. AS-safe: no. */
void sn_stop_asked(void);
/* True while the handler of a fatal signal does so: the program may hold any lock of a library's. */
bool sn_ends_in_handler(void);

/* Ends measuring before the process forbids system calls that the collector makes; from then on the
 * wrappers make none of their own. AS-safe: no. */
void sn_confine(void);
bool sn_confined(void);
/* Asks the kernel whether the process has confined itself by an instruction, past all wrappers; if
 * so, ends measuring without a further call. */
bool sn_confined_unasked(void);
/* True where the program started under a filter of system calls, a container's say. */
bool sn_began_filtered(void);

/* False in a child that shares this process's memory or was created by a bare system call: it must
 * not write to the files. */
bool sn_is_measured_process(void);

/* Ends measuring when the process ends with an exit status. */
void sn_end_with_status(int status);
/* The same at the end of quick_exit, after the program's own handlers. AS-safe: no. */
void sn_end_quickly(void);

/* Installs and removes handlers for signals whose default action ends the program.
 * MT: once. */
void sn_fatal_init(void);
void sn_fatal_release(void);
