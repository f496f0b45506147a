/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all programs of this folder share. A program is a list of cases; `PROGRAM list` names them
 * and `PROGRAM NAME` runs one, which prints what it saw. run.py runs each case plain and measured
 * and compares. So a case prints nothing that differs between two plain runs (addresses, times,
 * numbers of processes), and tells by its text where a promise of the system was broken.
 *
 * Cases compute between the calls they try (work), else no sample would ever come.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

struct behave_case {
	const char *name;
	void (*run)(int argc, char **argv); /* the arguments behind the name */
	bool part;			    /* of another case, which executes it: not listed */
};

#define BEHAVE_CASE(id, is_part)                                                                   \
	static void run_##id(int argc, char **argv);                                               \
	static const struct behave_case case_##id = {#id, run_##id, is_part};                      \
	static const struct behave_case *const entry_##id                                          \
	    __attribute__((used, section("behave_cases"))) = &case_##id;                           \
	static void run_##id(__attribute__((unused)) int argc, __attribute__((unused)) char **argv)

#define CASE(id) BEHAVE_CASE(id, false)
#define PART(id) BEHAVE_CASE(id, true)

/* Unbuffered text on standard output, in one write. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What a call returns, and its error where that is negative. */
#define SAY_RESULT(expression)                                                                     \
	do {                                                                                       \
		long say_result = (long)(expression);                                              \
		say("%s: %ld %s\n", #expression, say_result,                                       \
		    say_result < 0 ? strerror(errno) : "");                                        \
	} while (0)

/* Ends the case with status 77: it cannot run here, for this reason. */
void skip(const char *reason) __attribute__((noreturn));

/* Ends the case where what it needs does not work. AS-safe: no */
#define MUST(expression)                                                                           \
	({                                                                                         \
		__typeof__(expression) must_result = (expression);                                 \
		if (must_result == (__typeof__(expression))-1)                                     \
			behave_fail(#expression);                                                  \
		must_result;                                                                       \
	})
void behave_fail(const char *what) __attribute__((noreturn));

/* Computes for that much of the thread's CPU time, with some page faults. AS-safe: yes */
void work(unsigned ms);
/* Some 100 us of computing without any call. AS-safe: yes */
void spin(void);

uint64_t now_ns(clockid_t clock);

/* Whether the condition came true within a generous time; sleeps between two looks. */
#define SOON(condition)                                                                            \
	({                                                                                         \
		int soon_looks = 0;                                                                \
		while (!(condition) && ++soon_looks < 20000)                                       \
			pause_ns(500000);                                                          \
		!!(condition);                                                                     \
	})
void pause_ns(long ns);

/* Waits until that thread (of any process) sleeps in the kernel, and has for a moment. */
void until_asleep(pid_t process, pid_t thread);

/* Replaces this process by this program's case or part NAME, with one argument or NULL. */
void become(const char *name, const char *argument) __attribute__((noreturn));
const char *own_program(void);

/* Waits for the child and tells how it ended, as "exit 3" or "signal 11"; static storage. */
const char *ended(pid_t child);

void set_handler(int signal, void (*handler)(int), int flags);
void set_info_handler(int signal, void (*handler)(int, siginfo_t *, void *), int flags);
sigset_t set_of(int first, ...); /* ends with 0 */

/* Every signal that a program may use for itself and a profiler might: SIGURG and the real-time
 * ones. */
#define EACH_SIGNAL(name) for (int name = SIGURG; name <= 64; name = name == SIGURG ? 34 : name + 1)

/* Memory with a known pattern below it, to see who writes there. */
struct guarded {
	unsigned char *below, *start;
	size_t below_bytes, bytes;
};
struct guarded guarded_new(size_t bytes);
/* Bytes below START that have changed. */
size_t guarded_overrun(const struct guarded *memory);
/* Bytes at the end of the memory down to the lowest that has changed: a stack's use. */
size_t guarded_used(const struct guarded *memory);
