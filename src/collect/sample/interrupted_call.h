/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that a sample interrupts go on, or end, as if the sample had not come.
 *
 * The kernel restarts most calls after a handler with SA_RESTART. Those that it does not restart
 * (signal(7): poll, nanosleep, sigtimedwait, socket calls with a timeout, ...) return EINTR; our
 * handler makes them start again, by the interrupted registers. What was transferred in part comes
 * back short; the wrapper of such a call (intercept_transfer.c) asks sn_call_was_cut and goes on.
 * Where a signal of the program's is due at the same moment, the call ends as that signal ends it.
 *
 * All functions here: AS-safe: yes. MT: the thread itself.
 */
#ifndef SN_COLLECT_INTERRUPTED_CALL_H
#define SN_COLLECT_INTERRUPTED_CALL_H

#include "collect/core/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

/*
 * The stack pointer in the call of the calling thread's that a sample cut short last; 0: none. A
 * wrapper that is near to it made that call: a handler that runs meanwhile cuts its own.
 */
extern __thread volatile uintptr_t sn_call_cut_sp
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* From a wrapper's frame down to the instruction of its call, and no frame of a signal is so small;
 * or up, from a function that the wrapper calls to go on. */
#define SN_CALL_DOWN_BYTES 1024u
#define SN_CALL_UP_BYTES   1024u
static inline bool sn_call_was_cut(void);
static inline void sn_call_cut_forget(void)
{
	sn_call_cut_sp = 0;
}

/*
 * When the wait that the calling thread is about to begin ends, for calls that get their timeout in
 * milliseconds in a register, below what stack pointer; a handler may leave it for good.
 */
struct sn_call_deadline {
	uint64_t ns; /* CLOCK_MONOTONIC; 0: the call itself knows */
	uintptr_t sp;
};
extern __thread struct sn_call_deadline sn_call_deadline
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline void sn_call_wait_begins(long milliseconds);

/* For the sample handler, with all signals blocked: mends the interrupted registers. */
void sn_interrupted_call_mend(ucontext_t *context);

/* The handler of `signal`, one of the program's, is about to run where `context` was interrupted:
 * a call that ended there has ended for it, and a sample that comes just when it returns leaves it
 * so. */
void sn_interrupted_call_handled(ucontext_t *context, int signal);

/*
 * Goes on with a read of an endless device, or with a recv that waits for all (MSG_WAITALL), of
 * which `done` bytes came before a sample cut it; all that came.
 */
ssize_t sn_read_rest(int fd, void *buffer, size_t bytes, ssize_t done);
struct msghdr;
ssize_t sn_recvmsg_rest(int fd, const struct msghdr *message, int flags, ssize_t done);
ssize_t sn_recv_rest(int fd, void *buffer, size_t bytes, int flags, ssize_t done);

static inline __attribute__((always_inline)) bool sn_call_was_cut(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	return here - sn_call_cut_sp + SN_CALL_UP_BYTES < SN_CALL_DOWN_BYTES + SN_CALL_UP_BYTES;
}

static inline __attribute__((always_inline)) void sn_call_wait_begins(long milliseconds)
{
	uint64_t ns = milliseconds > 0 ? sn_now_ns() + (uint64_t)milliseconds * 1000000u : 0;
	sn_call_deadline = (struct sn_call_deadline){ns, (uintptr_t)__builtin_frame_address(0)};
}

/* True where recvmmsg waits for more messages once some have come. */
struct timespec;
bool sn_receives_on(int flags, const struct timespec *timeout);

/* Goes on with a sendmmsg or recvmmsg, by `several`, of which `done` messages of `count` went
 * before a sample cut it; all that went. */
struct mmsghdr;
typedef int sn_messages_call(int fd, struct mmsghdr *messages, unsigned count, int flags,
			     struct timespec *timeout);
int sn_messages_rest(sn_messages_call *several, int fd, struct mmsghdr *messages, unsigned count,
		     int flags, struct timespec *timeout, int done);

/* The C library's syscall(2), once it was asked for. */
extern long (*sn_real_syscall)(long, ...) __attribute__((visibility("hidden")));

/* Goes on with a transfer by number of which `done` bytes went before a sample cut it; all that
 * went. syscall(2) is no cancellation point, and neither is this. */
long sn_transfer_rest(long number, const long arguments[6], long done)
    __attribute__((visibility("hidden")));

/* The program's syscall(2) for such a call. */
long sn_program_syscall(long number, long a, long b, long c, long d, long e, long f)
    __attribute__((visibility("hidden")));

#define SN_CALL_NUMBERS 512
extern const bool sn_call_is_repeatable[SN_CALL_NUMBERS] __attribute__((visibility("hidden")));

/* The kernel's call, one that our handler can start again; errno as syscall(2). */
long sn_restartable_syscall(long number, long a, long b, long c, long d, long e, long f)
    __attribute__((visibility("hidden")));

#endif
