/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp. A process that confines itself lists the system calls that it will make, and ours are
 * not among them: the kernel would kill it at the next sample. What was measured is therefore
 * written just before, and measuring ends for good. Nobody can tell here which calls a filter lets
 * pass, so every filter counts; a program that starts inside one (a container's) is measured.
 */
#include "intercept.h"
#include "interrupted_call.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SYS_seccomp
#error "no seccomp on this machine"
#endif

SN_REAL(int, prctl, (int, unsigned long, unsigned long, unsigned long, unsigned long))

SN_EXPORT int prctl(int operation, ...)
{
	unsigned long arguments[4];
	va_list list;
	va_start(list, operation);
	for (int index = 0; index < 4; index++)
		arguments[index] = va_arg(list, unsigned long);
	va_end(list);
	if (operation == PR_SET_SECCOMP)
		sn_confine();
	return real_prctl_get()(operation, arguments[0], arguments[1], arguments[2], arguments[3]);
}

#ifdef __x86_64__
/*
 * syscall() is jumped through, not called through: SYS_vfork and SYS_clone return twice, the second
 * time perhaps on another stack.
 */
long (*sn_real_syscall)(long, ...) __attribute__((visibility("hidden")));
void sn_before_syscall(long number, long first) __attribute__((visibility("hidden")));

void sn_before_syscall(long number, long first)
{
	if (!sn_real_syscall)
		sn_real_syscall = sn_real("syscall");
	if (number == SYS_seccomp ? first != SECCOMP_GET_ACTION_AVAIL
				  : number == SYS_prctl && first == PR_SET_SECCOMP)
		sn_confine();
}

#define TEXT_OF(number) #number
#define TEXT(number)	TEXT_OF(number)

__asm__(
    ".globl syscall\n"
    ".type syscall, @function\n"
    "syscall:\n"
    "	.cfi_startproc\n"
    "	cmpq	$" TEXT(
	__NR_seccomp) ", %rdi\n"
		      "	je	1f\n"
		      "	cmpq	$" TEXT(
			  __NR_prctl) ", %rdi\n"
				      "	je	1f\n"
				      "	cmpq	$" TEXT(
					  SN_CALL_NUMBERS) ", %rdi\n"
							   "	jae	3f\n"
							   "	leaq	"
							   "sn_call_is_repeatable(%rip), %rax\n"
							   "	cmpb	$0, (%rax,%rdi)\n"
							   "	jne	sn_restartable_syscall\n"
							   "3:\n"
							   "	cmpq	$0, sn_real_syscall(%rip)\n"
							   "	je	1f\n"
							   "	jmp	*sn_real_syscall(%rip)\n"
							   /* six registers of arguments, and 8
							      bytes more to keep the stack aligned
							      to 16 */
							   "1:	pushq	%rdi\n	"
							   ".cfi_adjust_cfa_offset 8\n"
							   "	pushq	%rsi\n	"
							   ".cfi_adjust_cfa_offset 8\n"
							   "	pushq	%rdx\n	"
							   ".cfi_adjust_cfa_offset 8\n"
							   "	pushq	%rcx\n	"
							   ".cfi_adjust_cfa_offset 8\n"
							   "	pushq	%r8\n	"
							   ".cfi_adjust_cfa_offset 8\n"
							   "	pushq	%r9\n	"
							   ".cfi_adjust_cfa_offset 8\n"
							   "	subq	$8, %rsp\n	"
							   ".cfi_adjust_cfa_offset 8\n"
							   "	call	sn_before_syscall\n"
							   "	addq	$8, %rsp\n	"
							   ".cfi_adjust_cfa_offset -8\n"
							   "	popq	%r9\n	"
							   ".cfi_adjust_cfa_offset -8\n"
							   "	popq	%r8\n	"
							   ".cfi_adjust_cfa_offset -8\n"
							   "	popq	%rcx\n	"
							   ".cfi_adjust_cfa_offset -8\n"
							   "	popq	%rdx\n	"
							   ".cfi_adjust_cfa_offset -8\n"
							   "	popq	%rsi\n	"
							   ".cfi_adjust_cfa_offset -8\n"
							   "	popq	%rdi\n	"
							   ".cfi_adjust_cfa_offset -8\n"
							   "	jmp	*sn_real_syscall(%rip)\n"
							   "	.cfi_endproc\n"
							   ".size syscall, .-syscall\n");
#endif
