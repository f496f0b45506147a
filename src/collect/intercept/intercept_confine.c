/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls by number, and calls that confine a process. A process that confines itself
 * (seccomp) allows the calls that it will make, but not the collector's: the kernel would kill it
 * at the next sample. A process that has its calls dispatched to itself (Wine) would get the
 * collector's. Therefore the data is written just before, and measuring ends for good. Which calls
 * a filter allows cannot be determined here, so every filter counts; init.c handles a program that
 * starts inside one.
 *
 * Through syscall() a program can also fork, execute and end without the C library's functions.
 */
#include "intercept.h"
#include "collect/sample/interrupted_call.h"
#include "collect/core/kernel.h"
#include "collect/core/line.h"
#include "collect/record/losses.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_seccomp
#error "no seccomp on this machine"
#endif

SN_REAL(int, prctl, (int, unsigned long, unsigned long, unsigned long, unsigned long))

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF	     0
#endif

/* Calls without a filter, by which libraries ask what the kernel can do, install none. */
static bool prctl_confines(long operation, long mode, long filter)
{
	if (operation == PR_SET_SYSCALL_USER_DISPATCH)
		return mode != PR_SYS_DISPATCH_OFF;
	return operation == PR_SET_SECCOMP && (mode != SECCOMP_MODE_FILTER || filter);
}

static void before_prctl(long operation, long first, long second)
{
	if (prctl_confines(operation, first, second)) {
		if (!sn_real_syscall)
			sn_real_syscall = sn_real("syscall");
		sn_confine();
	} else if (operation == PR_SET_TSC && first != PR_TSC_ENABLE) {
		sn_clock_spare_counter();
	}
}

static bool seccomp_confines(long operation, long flags, long filter)
{
	return operation == SECCOMP_SET_MODE_STRICT
		   ? !flags && !filter
		   : operation == SECCOMP_SET_MODE_FILTER && filter;
}

SN_EXPORT int prctl(int operation, ...)
{
	unsigned long arguments[4];
	va_list list;
	va_start(list, operation);
	for (int index = 0; index < 4; index++)
		arguments[index] = va_arg(list, unsigned long);
	va_end(list);
	before_prctl(operation, (long)arguments[0], (long)arguments[1]);
	return real_prctl_get()(operation, arguments[0], arguments[1], arguments[2], arguments[3]);
}

#ifdef __x86_64__
/*
 * syscall() is jumped through, not called through: SYS_vfork and SYS_clone return twice, the second
 * time perhaps on another stack. Only calls with a mark in the table are looked at first.
 */
enum verdict { JUMP, RETURN, CALL };
struct answer {
	long verdict; /* of enum verdict; the registers are those that the assembly below reads */
	long result;  /* of RETURN */
};

long (*sn_real_syscall)(long, ...);
struct answer sn_before_syscall(long number, long first, long second, long third, long fourth,
				long fifth) __attribute__((visibility("hidden")));
long sn_after_fork_call(long child) __attribute__((visibility("hidden")));

/* What asm knows of the table: its length. */
#define TABLE_LENGTH 512
_Static_assert(TABLE_LENGTH == SN_CALL_NUMBERS, "one bound for both tables");
unsigned char sn_watched_calls[TABLE_LENGTH] __attribute__((visibility("hidden"))) = {
    [SYS_seccomp] = 1,
    [SYS_prctl] = 1,
    [SYS_fork] = 1,
    [SYS_clone] = 1,
    [SYS_rt_sigaction] = 1,
    [SYS_rt_sigprocmask] = 1,
    [SYS_rt_sigtimedwait] = 1,
    [SYS_signalfd] = 1,
    [SYS_signalfd4] = 1,
    [SYS_sigaltstack] = 1,
    [SYS_execve] = 1,
    [SYS_execveat] = 1,
    [SYS_exit] = 1,
    [SYS_exit_group] = 1,
    [SYS_fallocate] = 1,
    [SYS_setrlimit] = 1,
    [SYS_prlimit64] = 1,
};

/* A main thread that has ended before the others stays, as a zombie, until they have. */
static bool main_has_ended(void)
{
	char text[128]; /* "NUMBER (NAME) STATE ..." */
	sn_read_text(AT_FDCWD, "/proc/self/stat", text, sizeof(text));
	const char *end_of_name = strrchr(text, ')');
	return end_of_name && end_of_name[1] == ' ' && end_of_name[2] == 'Z';
}

/* Whether the calling thread is the process's last that runs; threads that clone(2) made are in no
 * list of ours. */
static bool is_alone(void)
{
	struct stat tasks;
	if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0))
		return false;
	/* the folder's own two links, and one for each thread */
	return tasks.st_nlink == 3 || (tasks.st_nlink == 4 && main_has_ended());
}

/* The process's memory is copied, and with it the stack, so that the call may return here. */
static bool is_plain_fork(long number, long flags, long stack)
{
	return number == SYS_fork || (number == SYS_clone && !(flags & CLONE_VM) && !stack);
}

struct answer sn_before_syscall(long number, long first, long second, long third, long fourth,
				long fifth)
{
	if (!sn_real_syscall)
		sn_real_syscall = sn_real("syscall");
	if (sn_confined())
		return (struct answer){JUMP, 0};
	if (number == SYS_seccomp && seccomp_confines(first, second, third))
		sn_confine();
	if (number == SYS_prctl)
		before_prctl(first, second, third);
	if (number == SYS_setrlimit)
		sn_before_limit(0, (int)first, (const void *)second);
	if (number == SYS_prlimit64)
		sn_before_limit((pid_t)first, (int)second, (const void *)third);
	if (number == SYS_exit_group || (number == SYS_exit && is_alone()))
		sn_end_with_status((int)first);
	if (number == SYS_clone)
		sn_before_clone((int)first);
	if (is_plain_fork(number, first, second))
		return (struct answer){CALL, 0};
	struct answer answer;
	if (sn_raw_signal_call(number, (const long[]){first, second, third, fourth},
			       &answer.result)) {
		answer.verdict = RETURN;
		return answer;
	}
	/* what is watched and may have to be made again, or without samples */
	if (number == SYS_rt_sigtimedwait || number == SYS_fallocate)
		return (struct answer){
		    RETURN, sn_program_syscall(number, first, second, third, fourth, 0, 0)};
	if (number == SYS_execve)
		return (struct answer){
		    RETURN, execve((const char *)first, (char **)second, (char **)third)};
	if (number == SYS_execveat)
		return (struct answer){RETURN,
				       execveat((int)first, (const char *)second, (char **)third,
						(char **)fourth, (int)fifth)};
	return (struct answer){JUMP, 0};
}

/* In both processes; what fork's handlers do is not for a child whose maker passed them by. */
long sn_after_fork_call(long child)
{
	if (!child)
		sn_losses_note_unseen();
	return child;
}

/* clang-format off */
__asm__(
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	cmpq	$" SN_ASM_TEXT(TABLE_LENGTH) ", %rdi\n"
	"	jae	2f\n"
	"	leaq	sn_watched_calls(%rip), %rax\n"
	"	cmpb	$0, (%rax,%rdi)\n"
	"	jne	1f\n"
	"	leaq	sn_call_is_repeatable(%rip), %rax\n"
	"	cmpb	$0, (%rax,%rdi)\n"
	"	jne	sn_program_syscall\n"
	"2:	cmpq	$0, sn_real_syscall(%rip)\n"
	"	je	1f\n"
	"	jmp	*sn_real_syscall(%rip)\n"
	/* six registers of arguments, and 8 bytes more to keep the stack aligned to 16 */
	"1:	pushq	%rdi\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq	%rsi\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq	%rdx\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq	%rcx\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq	%r8\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq	%r9\n	.cfi_adjust_cfa_offset 8\n"
	"	subq	$8, %rsp\n	.cfi_adjust_cfa_offset 8\n"
	"	call	sn_before_syscall\n"
	"	movq	%rdx, %r11\n"
	"	addq	$8, %rsp\n	.cfi_adjust_cfa_offset -8\n"
	"	popq	%r9\n	.cfi_adjust_cfa_offset -8\n"
	"	popq	%r8\n	.cfi_adjust_cfa_offset -8\n"
	"	popq	%rcx\n	.cfi_adjust_cfa_offset -8\n"
	"	popq	%rdx\n	.cfi_adjust_cfa_offset -8\n"
	"	popq	%rsi\n	.cfi_adjust_cfa_offset -8\n"
	"	popq	%rdi\n	.cfi_adjust_cfa_offset -8\n"
	/* enum verdict */
	"	cmpq	$1, %rax\n"
	"	jb	3f\n"
	"	je	4f\n"
	"	subq	$8, %rsp\n	.cfi_adjust_cfa_offset 8\n"
	"	call	*sn_real_syscall(%rip)\n"
	"	movq	%rax, %rdi\n"
	"	call	sn_after_fork_call\n"
	"	addq	$8, %rsp\n	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"4:	movq	%r11, %rax\n"
	"	ret\n"
	"3:	jmp	*sn_real_syscall(%rip)\n"
	"	.cfi_endproc\n"
	".size syscall, .-syscall\n");
/* clang-format on */
#endif
