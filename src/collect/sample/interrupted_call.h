/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that a sample interrupts continue, or end, as without the sample.
 *
 * The kernel restarts most calls after a handler with SA_RESTART. Those that it does not restart
 * (signal(7): poll, nanosleep, sigtimedwait, socket calls with a timeout, ...) return EINTR; the
 * sample handler restarts them through the interrupted registers. A partial transfer returns a
 * short count; the wrapper of such a call (intercept_transfer.c) tests sn_call_was_cut and
 * continues. If a signal of the program is due at the same moment, the call ends as that signal
 * ends it.
 *
 * All functions here: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include "collect/core/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

/*
 * The stack pointer in this thread's last call that a sample cut short; 0: none. The wrapper whose
 * frame is near to it made that call: calls of a handler that runs meanwhile have another one.
 */
extern __thread volatile uintptr_t sn_call_cut_sp
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* The most from a wrapper's frame down to the stack pointer of its call, less than the size of a
 * signal frame; or up, from a function that the wrapper calls to continue. */
#define SN_CALL_DOWN_BYTES 1024u
#define SN_CALL_UP_BYTES   1024u
static inline bool sn_call_was_cut(void);
static inline void sn_call_cut_forget(void)
{
	sn_call_cut_sp = 0;
}

/*
 * When the wait that the calling thread is about to begin ends, for calls whose timeout in
 * milliseconds is in a register, and the stack pointer below which the call is made; a handler may
 * leave the wait by longjmp.
 */
struct sn_call_deadline {
	uint64_t ns; /* CLOCK_MONOTONIC; 0: the call keeps its own deadline */
	uintptr_t sp;
};
extern __thread struct sn_call_deadline sn_call_deadline
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline void sn_call_wait_begins(long milliseconds);

/* For the sample handler, with all signals blocked: corrects the interrupted registers. */
void sn_interrupted_call_mend(ucontext_t *context);

/* The program's handler of `signal` is about to run after `context` was interrupted: a call that
 * was interrupted there ends because of it, and a sample that arrives when the handler returns does
 * not restart it. */
void sn_interrupted_call_handled(ucontext_t *context, int signal);

/*
 * Continues a read of an endless device, or a recv that waits for all (MSG_WAITALL), of which
 * `done` bytes had arrived before a sample cut it. Returns all bytes that arrived.
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

/* True if recvmmsg waits for more messages after the first ones. */
struct timespec;
bool sn_receives_on(int flags, const struct timespec *timeout);

/* Continues a sendmmsg or recvmmsg, `several`, of which `done` of `count` messages were transferred
 * before a sample cut it. Returns all transferred messages. */
struct mmsghdr;
typedef int sn_messages_call(int fd, struct mmsghdr *messages, unsigned count, int flags,
			     struct timespec *timeout);
int sn_messages_rest(sn_messages_call *several, int fd, struct mmsghdr *messages, unsigned count,
		     int flags, struct timespec *timeout, int done);

/* The C library's syscall(2), after its first use. */
extern long (*sn_real_syscall)(long, ...) __attribute__((visibility("hidden")));

/* Continues a transfer by call number of which `done` bytes were transferred before a sample cut
 * it. Returns all transferred bytes. Like syscall(2), not a cancellation point. */
long sn_transfer_rest(long number, const long arguments[6], long done)
    __attribute__((visibility("hidden")));

/* The program's syscall(2) for such a call. */
long sn_program_syscall(long number, long a, long b, long c, long d, long e, long f)
    __attribute__((visibility("hidden")));

#define SN_CALL_NUMBERS 512
extern const bool sn_call_is_repeatable[SN_CALL_NUMBERS] __attribute__((visibility("hidden")));

/* The kernel's call, in a form that the sample handler can restart; errno as syscall(2). */
long sn_restartable_syscall(long number, long a, long b, long c, long d, long e, long f)
    __attribute__((visibility("hidden")));
