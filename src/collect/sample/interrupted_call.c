/* SPDX-License-Identifier: Apache-2.0 */
/* Restarting interrupted system calls; see interrupted_call.h. */
#include "interrupted_call.h"

#include "collect/intercept/intercept.h"
#include "unwind/machine.h"
#include "unwind/memory.h"
#include "sample_signal.h"

#include <errno.h>
#include <linux/kvm.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

__thread volatile uintptr_t sn_call_cut_sp;
__thread struct sn_call_deadline sn_call_deadline;

/* Calls that did nothing where they return EINTR, and may be made again as they were. */
const bool sn_call_is_repeatable[SN_CALL_NUMBERS] = {
    [SYS_accept] = true,	 [SYS_accept4] = true,	       [SYS_clock_nanosleep] = true,
    [SYS_connect] = true,	 [SYS_copy_file_range] = true, [SYS_epoll_pwait] = true,
    [SYS_epoll_pwait2] = true,	 [SYS_epoll_wait] = true,      [SYS_fcntl] = true,
    [SYS_flock] = true,		 [SYS_futex] = true,	       [SYS_futex_waitv] = true,
    [SYS_getrandom] = true,	 [SYS_io_getevents] = true,    [SYS_io_pgetevents] = true,
    [SYS_io_uring_enter] = true, [SYS_mq_timedreceive] = true, [SYS_mq_timedsend] = true,
    [SYS_msgrcv] = true,	 [SYS_msgsnd] = true,	       [SYS_nanosleep] = true,
    [SYS_open] = true,		 [SYS_openat] = true,	       [SYS_pause] = true,
    [SYS_poll] = true,		 [SYS_ppoll] = true,	       [SYS_preadv] = true,
    [SYS_pselect6] = true,	 [SYS_pwritev] = true,	       [SYS_read] = true,
    [SYS_readv] = true,		 [SYS_recvfrom] = true,	       [SYS_recvmmsg] = true,
    [SYS_recvmsg] = true,	 [SYS_rt_sigsuspend] = true,   [SYS_rt_sigtimedwait] = true,
    [SYS_select] = true,	 [SYS_semop] = true,	       [SYS_semtimedop] = true,
    [SYS_sendfile] = true,	 [SYS_sendmmsg] = true,	       [SYS_sendmsg] = true,
    [SYS_sendto] = true,	 [SYS_splice] = true,	       [SYS_tee] = true,
    [SYS_vmsplice] = true,	 [SYS_wait4] = true,	       [SYS_waitid] = true,
    [SYS_write] = true,		 [SYS_writev] = true,
};

static bool is_repeatable(long number)
{
	return number >= 0 && number < SN_CALL_NUMBERS && sn_call_is_repeatable[number];
}

/* tcdrain(3), for a line that has no more to send has none the second time; a virtual processor,
 * which goes on where it was. */
static bool is_repeatable_ioctl(const greg_t *registers)
{
	return registers[REG_RSI] == KVM_RUN ||
	       (registers[REG_RSI] == TCSBRK && registers[REG_RDX]);
}

static bool may_be_repeated(long number, const greg_t *registers)
{
	return is_repeatable(number) || (number == SYS_ioctl && is_repeatable_ioctl(registers));
}

/* ---- the program's own signals ---- */

static bool is_handled(int signal, bool without_restart)
{
	struct sigaction action;
	if (sn_real_sigaction(signal, NULL, &action) ||
	    (without_restart && action.sa_flags & SA_RESTART))
		return false;
	return action.sa_flags & SA_SIGINFO ||
	       (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

/*
 * Whether a handler of the program's runs as soon as ours returns; if `without_restart`, one that
 * ends the call. What is only to be ignored waits here as well, for our handler blocks all. The
 * mask may be a call's own, which ends with it (sigsuspend): such a call made again sees its
 * signal.
 */
static bool handler_is_due(const ucontext_t *context, bool without_restart)
{
	uint64_t pending = 0, blocked = sn_signal_bits(&context->uc_sigmask);
	if (syscall(SYS_rt_sigpending, &pending, sizeof(pending)))
		return false;
	for (pending &= ~blocked; pending; pending &= pending - 1) {
		int signal = __builtin_ctzll(pending) + 1;
		if (signal != sn_sample_signal() && is_handled(signal, without_restart))
			return true;
	}
	return false;
}

/* ---- registers ---- */

extern const unsigned char sn_restartable_syscall_end[] __attribute__((visibility("hidden")));

/* The number of the call whose instruction ends at `end`; -1 where nothing tells. */
static long number_of(const ucontext_t *context, const unsigned char *end)
{
	unsigned char code[SN_MACHINE_SYSCALL_BYTES];
	if (end == sn_restartable_syscall_end)
		return (long)context->uc_mcontext.gregs[REG_RBX];
	if (sn_memory_read((uintptr_t)end - sizeof(code), code, sizeof(code)) != sizeof(code))
		return -1;
	return sn_machine_syscall_number(code + sizeof(code), context);
}

static bool is_epoll_wait(long number)
{
	return number == SYS_epoll_wait || number == SYS_epoll_pwait;
}

/* What is left of a wait that a register gives in milliseconds, rounded up as the kernel does. */
static void shorten_wait(ucontext_t *context, long number)
{
	greg_t *registers = context->uc_mcontext.gregs;
	struct sn_call_deadline deadline = sn_call_deadline;
	bool is_its = deadline.sp - (uintptr_t)registers[REG_RSP] < SN_CALL_DOWN_BYTES;
	if (!deadline.ns || !is_its || !is_epoll_wait(number))
		return;
	uint64_t now = sn_now_ns();
	uint64_t left = deadline.ns > now ? deadline.ns - now : 0;
	registers[REG_R10] = (greg_t)((left + 999999) / 1000000);
}

static void after_call(ucontext_t *context, const unsigned char *end)
{
	greg_t *registers = context->uc_mcontext.gregs;
	if (registers[REG_RAX] > 0) {
		if (!handler_is_due(context, false))
			sn_call_cut_sp = (uintptr_t)registers[REG_RSP];
		return;
	}
	if (registers[REG_RAX] != -EINTR)
		return;
	long number = number_of(context, end);
	if (!may_be_repeated(number, registers) || handler_is_due(context, false))
		return;
	shorten_wait(context, number);
	registers[REG_RAX] = number;
	registers[REG_RIP] -= SN_MACHINE_SYSCALL_LENGTH;
}

static bool may_end(const greg_t *registers)
{
	return is_repeatable((long)registers[REG_RAX]) && registers[REG_RAX] != SYS_open &&
	       registers[REG_RAX] != SYS_openat;
}

static void end_call(greg_t *registers)
{
	registers[REG_RAX] = -EINTR;
	registers[REG_RIP] += SN_MACHINE_SYSCALL_LENGTH;
}

/* The kernel is about to restart the call for our SA_RESTART; a handler of the program's that is
 * due now might not want that. A call that had not begun yet looks the same, and may as well end
 * so. */
static void before_call(ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	if (may_end(registers) && handler_is_due(context, true))
		end_call(registers);
}

/* Where the call ended that `context` interrupted or is about to start again; 0: none. No memory is
 * looked at but just before that: code need not be readable. */
static uintptr_t interrupted_end(const ucontext_t *context)
{
	uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	uintptr_t end = sn_machine_syscall_end(context);
	unsigned char code[SN_MACHINE_SYSCALL_LENGTH];
	if (end != pc && end != pc + SN_MACHINE_SYSCALL_LENGTH)
		return 0;
	bool is_call = sn_memory_read(end - sizeof(code), code, sizeof(code)) == sizeof(code) &&
		       sn_machine_is_syscall(code);
	return is_call ? end : 0;
}

void sn_interrupted_call_mend(ucontext_t *context)
{
	int saved_errno = errno;
	uintptr_t end = interrupted_end(context);
	if (end && end == (uintptr_t)context->uc_mcontext.gregs[REG_RIP])
		after_call(context, (const unsigned char *)end);
	else if (end)
		before_call(context);
	errno = saved_errno;
}

/*
 * The register that holds the address after the call has no meaning after a call, and comes back as
 * it is here when the handler returns. A call that begins again although the handler does not want
 * that does so for a sample, which came before the handler's signal did.
 */
void sn_interrupted_call_handled(ucontext_t *context, int signal)
{
	int saved_errno = errno;
	greg_t *registers = context->uc_mcontext.gregs;
	uintptr_t end = sn_confined() ? 0 : interrupted_end(context);
	if (end && end != (uintptr_t)registers[REG_RIP] && may_end(registers) &&
	    is_handled(signal, true))
		end_call(registers);
	if (end)
		sn_machine_forget_syscall(context);
	errno = saved_errno;
}

/* ---- syscall(2) ---- */

/* What `syscall` means in this library (meson.build): not the program's, which is looked at. Its
 * arguments lie where the function below has them. */
__asm__(".globl sn_own_syscall\n"
	".hidden sn_own_syscall\n"
	".set sn_own_syscall, sn_restartable_syscall\n");

__attribute__((noinline, noclone)) long sn_restartable_syscall(long number, long a, long b, long c,
							       long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall\n"
			 ".globl sn_restartable_syscall_end\n"
			 ".hidden sn_restartable_syscall_end\n"
			 "sn_restartable_syscall_end:"
			 : "=a"(result)
			 : "a"(number), "b"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

/* Calls that cannot go on where they were cut. */
static bool is_held(long number, const long call[6])
{
	switch (number) {
	case SYS_fallocate:
		return true;
	case SYS_sendmsg:
		return call[2] & MSG_ZEROCOPY;
	case SYS_sendto:
	case SYS_sendmmsg:
		return call[3] & MSG_ZEROCOPY;
	default:
		return false;
	}
}

long sn_program_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	const long arguments[6] = {a, b, c, d, e, f};
	/* where calls are dispatched to the program, only the C library's own instruction may pass
	 */
	if (sn_confined() && sn_real_syscall)
		return sn_real_syscall(number, a, b, c, d, e, f);
	sn_call_cut_forget();
	if (is_epoll_wait(number))
		sn_call_wait_begins((int)d);
	uint64_t held = is_held(number, arguments) ? sn_samples_hold() : 0;
	long done = sn_restartable_syscall(number, a, b, c, d, e, f);
	sn_samples_release(held);
	return sn_call_was_cut() && done > 0 ? sn_transfer_rest(number, arguments, done) : done;
}
