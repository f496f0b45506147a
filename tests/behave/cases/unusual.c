/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -w */
/*
 * What hardly any program does, and every program may: handlers left for another thread, code that
 * cannot be read, the processor's flags and counter, calls dispatched to the program, pages that it
 * serves itself, pointers that lead nowhere, a machine of its own.
 */
#include "../behave.h"

#include <linux/kvm.h>
#include <linux/userfaultfd.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/uio.h>

/* ---- frames ---- */

static ucontext_t task, first_scheduler, second_scheduler;
static volatile int has_left, has_returned;

static stack_t kernel_stack(void)
{
	stack_t stack;
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_sigaltstack), "D"(0), "S"(&stack)
			 : "rcx", "r11", "memory");
	return stack;
}

static void leave(int signal)
{
	swapcontext(&task, &first_scheduler);
}

static void *foreign_stack;
static bool has_foreign_stack;

static void task_body(void)
{
	foreign_stack = kernel_stack().ss_sp;
	raise(SIGUSR1); /* returns in the second thread */
	has_foreign_stack = foreign_stack && kernel_stack().ss_sp == foreign_stack;
	work(50);
	setcontext(&second_scheduler);
}

static void *first_thread(void *nothing)
{
	swapcontext(&first_scheduler, &task);
	has_left = 1;
	while (!has_returned)
		work(5);
	return NULL;
}

static void *second_thread(void *nothing)
{
	while (!has_left)
		;
	swapcontext(&second_scheduler, &task);
	has_returned = 1;
	work(50);
	return NULL;
}

CASE(frame_returns_elsewhere)
{
	pthread_t threads[2];
	set_handler(SIGUSR1, leave, 0);
	getcontext(&task);
	task.uc_stack.ss_sp = guarded_new(256 << 10).start;
	task.uc_stack.ss_size = 256 << 10;
	makecontext(&task, task_body, 0);
	pthread_create(&threads[0], NULL, first_thread, NULL);
	pthread_create(&threads[1], NULL, second_thread, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	say("the other thread's signal stack: %d\n", has_foreign_stack);
}

static stack_t told;
static void note_stack(int signal, siginfo_t *info, void *context)
{
	told = ((ucontext_t *)context)->uc_stack;
}

/* Whether SS_DISABLE is among the flags depends on who executed the program. */
CASE(stack_in_frame)
{
	set_info_handler(SIGUSR1, note_stack, 0);
	raise(SIGUSR1);
	say("%p %zu %d\n", told.ss_sp, told.ss_size, told.ss_flags & SS_ONSTACK);
	set_info_handler(SIGUSR1, note_stack, SA_ONSTACK);
	raise(SIGUSR1);
	say("%p %zu %d\n", told.ss_sp, told.ss_size, told.ss_flags & SS_ONSTACK);
	work(20);
}

/* ---- the processor ---- */

CASE(alignment_checked)
{
	for (int round = 0; round < 100; round++) {
		long turns = 2000000;
		__asm__ volatile("subq $256, %%rsp\n"
				 "pushfq\n orl $0x40000, (%%rsp)\n popfq\n"
				 "1: dec %0\n jnz 1b\n"
				 "pushfq\n andl $~0x40000, (%%rsp)\n popfq\n"
				 "addq $256, %%rsp"
				 : "+r"(turns)
				 :
				 : "cc", "memory");
	}
	say("done\n");
}

static void spin_checked(int signal)
{
	long turns = 20000000;
	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(turns) : : "cc");
}

CASE(alignment_checked_in_handler)
{
	set_handler(SIGUSR1, spin_checked, 0);
	for (int round = 0; round < 3; round++) {
		long result, tid = syscall(SYS_gettid);
		__asm__ volatile("subq $256, %%rsp\n"
				 "pushfq\n orl $0x40000, (%%rsp)\n popfq\n"
				 "syscall\n"
				 "pushfq\n andl $~0x40000, (%%rsp)\n popfq\n"
				 "addq $256, %%rsp"
				 : "=a"(result)
				 : "a"(SYS_tkill), "D"(tid), "S"(SIGUSR1)
				 : "rcx", "r11", "cc", "memory");
	}
	say("done\n");
}

static bool has_vsyscall_page(void)
{
	char line[512];
	bool has = false;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps))
		has |= strstr(line, "[vsyscall]") != NULL;
	fclose(maps);
	return has;
}

/* time() on the page that older kernels' programs called, which can be executed and not read. */
CASE(executed_only)
{
	long found = 0;
	if (!has_vsyscall_page())
		skip("no page of vsyscalls here");
	for (int round = 0; round < 1000000; round++) {
		long seconds;
		__asm__ volatile("xorl %%edi, %%edi\n call *%1"
				 : "=a"(seconds)
				 : "r"(0xffffffffff600400ul)
				 : "rdi", "rcx", "r11", "memory");
		found += seconds > 0;
	}
	say("%ld\n", found);
}

/* Nothing but the end of the child, or of the process, ends this wait. */
CASE(ended_in_vfork)
{
	pid_t parent = fork();
	if (!parent) {
		work(10);
		if (!vfork()) {
			pause_ns(700000000);
			_exit(0);
		}
		_exit(3);
	}
	pause_ns(250000000);
	uint64_t start_ns = now_ns(CLOCK_MONOTONIC);
	kill(parent, SIGTERM);
	say("%s", ended(parent));
	say(" %s\n", now_ns(CLOCK_MONOTONIC) - start_ns < 200000000 ? "at once" : "later");
}

CASE(counter_taken)
{
	SAY_RESULT(prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	for (volatile long turn = 0; turn < 100000000; turn++)
		;
	say("done\n");
}

/* ---- the kernel ---- */

static volatile char dispatches;
static volatile int dispatched;
static void on_dispatch(int signal, siginfo_t *info, void *context)
{
	dispatches = 0;
	dispatched++;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
}

CASE(calls_dispatched)
{
	unsigned long low = 0, high = 0, from, to;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "libc.so.6") && sscanf(line, "%lx-%lx", &from, &to) == 2) {
			low = low ? low : from;
			high = to;
		}
	fclose(maps);
	set_info_handler(SIGSYS, on_dispatch, 0);
	int status = prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, low, high - low, &dispatches);
	if (status)
		skip("no dispatch of system calls here");
	for (int round = 0; round < 10; round++) {
		long result;
		dispatches = 1;
		for (volatile long turn = 0; turn < 10000000; turn++)
			;
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "a"(SYS_getppid)
				 : "rcx", "r11", "memory");
		dispatches = 1;
		syscall(SYS_nanosleep, &(struct timespec){0, 1000}, NULL);
		dispatches = 0;
	}
	say("%d\n", dispatched);
}

CASE(pages_of_its_own)
{
	int fd = (int)syscall(SYS_userfaultfd, O_NONBLOCK | O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		skip("no userfaultfd here");
	char *memory =
	    mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(unsigned long)memory, 1 << 20},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	MUST(ioctl(fd, UFFDIO_REGISTER, &range));
	/* push %rdi; 1: dec %rsi; jnz 1b; pop %rax; ret */
	static const unsigned char code[] = {0x57, 0x48, 0xff, 0xce, 0x75, 0xfb, 0x58, 0xc3};
	void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(made, code, sizeof(code));
	((void (*)(char *, long))made)(memory + 8192, 1500000000);
	struct pollfd faults = {fd, POLLIN};
	say("faults %d\n", poll(&faults, 1, 0));
}

static volatile int step;
static int ends[2];
static void *cancelled(void *nothing)
{
	char bytes[4];
	struct iovec piece = {bytes, 2};
	pthread_cancel(pthread_self());
	syscall(SYS_write, ends[1], "ab", 2);
	step = 1;
	syscall(SYS_read, ends[0], bytes, 2);
	step = 2;
	syscall(SYS_writev, ends[1], &piece, 1);
	step = 3;
	syscall(SYS_sendto, ends[1], bytes, 2, 0, NULL, 0);
	step = 4;
	pthread_testcancel();
	step = 5;
	return NULL;
}

CASE(calls_by_number_are_no_cancellation_points)
{
	pthread_t thread;
	void *result;
	MUST(pipe(ends));
	pthread_create(&thread, NULL, cancelled, NULL);
	pthread_join(thread, &result);
	say("%d %d\n", step, result == PTHREAD_CANCELED);
}

/* A call by an instruction of its own whose number stands in a register, as compilers have it where
 * several calls follow each other. */
static long sleep_by_register(const struct timespec *time)
{
	long result;
	register long number __asm__("rbx") = SYS_nanosleep;
	__asm__ volatile("movl %%ebx, %%eax\n xorl %%esi, %%esi\n syscall"
			 : "=a"(result)
			 : "r"(number), "D"(time)
			 : "rsi", "rcx", "r11", "memory");
	return result;
}

CASE(sleeps_by_register)
{
	int cut = 0;
	for (int round = 0; round < 20000; round++) {
		spin();
		cut += sleep_by_register(&(struct timespec){0, 20000}) == -EINTR;
	}
	say("cut: %d\n", cut != 0);
}

/* ---- signals ---- */

static void no_action(int signal)
{
}

CASE(interrupting_signal)
{
	struct sigaction action;
	siginterrupt(SIGUSR1, 1);
	signal(SIGUSR1, no_action);
	sigaction(SIGUSR1, NULL, &action);
	say("restarts %d\n", !!(action.sa_flags & SA_RESTART));
	siginterrupt(SIGUSR1, 0);
	sigaction(SIGUSR1, NULL, &action);
	say("restarts %d\n", !!(action.sa_flags & SA_RESTART));
	SAY_RESULT(signal(SIGUSR1, SIG_ERR));
	SAY_RESULT(siginterrupt(99, 1));
}

static volatile int for_parent, for_child;
static void parents(int signal)
{
	for_parent++;
}
static void childs(int signal)
{
	for_child++;
}

static int child_with_handler(void *nothing)
{
	set_handler(SIGUSR1, childs, 0);
	raise(SIGUSR1);
	return 0;
}

CASE(handlers_of_children_on_shared_memory)
{
	struct sigaction action;
	set_handler(SIGUSR1, parents, 0);
	char *stack = guarded_new(64 << 10).start;
	pid_t child = clone(child_with_handler, stack + (64 << 10), CLONE_VM | SIGCHLD, NULL);
	say("%s\n", ended(child));
	raise(SIGUSR1);
	sigaction(SIGUSR1, NULL, &action);
	say("%d %d %d\n", for_parent, for_child, action.sa_handler == parents);
	child = vfork();
	if (!child) {
		set_handler(SIGUSR1, childs, 0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	raise(SIGUSR1);
	say("%d %d\n", for_parent, for_child);
}

CASE(own_sigio_ends)
{
	pid_t child = MUST(fork());
	if (!child) {
		int pair[2];
		MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		fcntl(pair[0], F_SETOWN, getpid());
		fcntl(pair[0], F_SETFL, O_ASYNC | O_RDWR);
		work(50);
		write(pair[1], "x", 1);
		work(5);
		_exit(1);
	}
	say("%s\n", ended(child));
}

static volatile int sigios;
static void on_sigio(int signal)
{
	sigios++;
}

CASE(no_room_for_pending_signals)
{
	struct rlimit none = {0, 0};
	signal(SIGIO, on_sigio);
	work(20);
	setrlimit(RLIMIT_SIGPENDING, &none);
	work(200);
	say("SIGIO %d\n", sigios);
}

/* ---- pointers that lead nowhere ---- */

#define NOWHERE ((void *)16)

#define IN_CHILD(expression)                                                                       \
	do {                                                                                       \
		pid_t tried = MUST(fork());                                                        \
		if (!tried) {                                                                      \
			SAY_RESULT(expression);                                                    \
			_exit(0);                                                                  \
		}                                                                                  \
		say("%s\n", ended(tried));                                                         \
	} while (0)

CASE(pointers_of_exec)
{
	static char *arguments[] = {"true", NULL}, *none[] = {NULL};
	static char *broken[] = {"A=1", NOWHERE, NULL};
	pid_t child;
	IN_CHILD(execve("/bin/true", arguments, NOWHERE));
	IN_CHILD(execve(NOWHERE, arguments, none));
	IN_CHILD(execve("/bin/true", arguments, broken));
	IN_CHILD(execveat(AT_FDCWD, NOWHERE, arguments, none, 0));
	IN_CHILD(execveat(AT_FDCWD, "/bin/true", arguments, NOWHERE, 0));
	IN_CHILD(fexecve(1, arguments, NOWHERE));
	IN_CHILD(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, NOWHERE));
	IN_CHILD(posix_spawn(&child, NOWHERE, NULL, NULL, arguments, none));
	IN_CHILD(syscall(SYS_execve, "/bin/true", arguments, NOWHERE));
	IN_CHILD(syscall(SYS_execve, NOWHERE, arguments, none));
}

CASE(pointers_of_waits)
{
	struct timespec moment = {0, 1000};
	struct epoll_event event;
	int fd = MUST(epoll_create1(0));
	work(10);
	IN_CHILD(ppoll(NULL, 0, &moment, NOWHERE));
	IN_CHILD(pselect(0, NULL, NULL, NULL, &moment, NOWHERE));
	IN_CHILD(epoll_pwait(fd, &event, 1, 0, NOWHERE));
	IN_CHILD(sigsuspend(NOWHERE));
	IN_CHILD(sigtimedwait(NOWHERE, NULL, &moment));
	IN_CHILD(sigwaitinfo(NOWHERE, NULL));
	IN_CHILD(signalfd(-1, NOWHERE, 0));
	IN_CHILD(syscall(SYS_rt_sigtimedwait, NOWHERE, NULL, NULL, 8));
	IN_CHILD(syscall(SYS_signalfd4, -1, NOWHERE, 8, 0));
	IN_CHILD(setrlimit(RLIMIT_SIGPENDING, NOWHERE));
}

CASE(pointers_of_signals)
{
	IN_CHILD(sigaltstack(NOWHERE, NULL));
	IN_CHILD(sigaltstack(NULL, NOWHERE));
	IN_CHILD(syscall(SYS_sigaltstack, NULL, NOWHERE));
	IN_CHILD(syscall(SYS_rt_sigaction, SIGUSR1, NOWHERE, NULL, 8));
	IN_CHILD(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NOWHERE, 8));
	IN_CHILD(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 4));
	IN_CHILD(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NOWHERE, NULL, 8));
	IN_CHILD(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, NOWHERE, 8));
	IN_CHILD(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, NULL, 4));
	IN_CHILD(syscall(SYS_rt_sigprocmask, 77, NULL, NOWHERE, 8));
}

CASE(pointers_of_transfers)
{
	int sockets[2];
	struct iovec piece = {NOWHERE, 8};
	struct msghdr message = {.msg_iov = NOWHERE, .msg_iovlen = 1};
	struct mmsghdr several = {.msg_hdr = message};
	MUST(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, sockets));
	MUST(send(sockets[1], "text", 4, 0));
	work(10);
	IN_CHILD(send(sockets[0], NOWHERE, 8, 0));
	IN_CHILD(recv(sockets[0], NOWHERE, 8, 0));
	IN_CHILD(sendto(sockets[0], "text", 4, 0, NOWHERE, 16));
	IN_CHILD(recvfrom(sockets[0], &piece, 4, MSG_PEEK, NOWHERE, NOWHERE));
	IN_CHILD(sendmsg(sockets[0], NOWHERE, 0));
	IN_CHILD(recvmsg(sockets[0], NOWHERE, 0));
	IN_CHILD(sendmsg(sockets[0], &message, 0));
	IN_CHILD(recvmsg(sockets[0], &message, 0));
	IN_CHILD(sendmmsg(sockets[0], NOWHERE, 1, 0));
	IN_CHILD(recvmmsg(sockets[0], NOWHERE, 1, 0, NULL));
	IN_CHILD(sendmmsg(sockets[0], &several, 1, 0));
	IN_CHILD(recvmmsg(sockets[0], &several, 1, 0, NOWHERE));
	IN_CHILD(writev(sockets[0], NOWHERE, 1));
	IN_CHILD(readv(sockets[0], NOWHERE, 1));
	IN_CHILD(writev(sockets[0], &piece, 1));
	IN_CHILD(readv(sockets[0], &piece, 1));
	IN_CHILD(accept(sockets[0], NOWHERE, NOWHERE));
	IN_CHILD(connect(sockets[0], NOWHERE, 16));
}

/* ---- a machine of its own ---- */

#define GUEST_START 0x1000

/* Counts down, then halts. */
static const unsigned char guest[] = {
    0xb9, 0x00, 0x00, 0x04, 0x00, /* movl $0x40000, %ecx */
    0x49,			  /* decl %ecx */
    0x75, 0xfd,			  /* jnz */
    0xf4,			  /* hlt */
};

static int new_machine(void)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int machine = kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
	if (machine < 0)
		skip("there is no /dev/kvm that it may use");
	unsigned char *memory =
	    MUST(mmap(NULL, 0x2000, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	memcpy(memory + GUEST_START, guest, sizeof(guest));
	MUST(ioctl(machine, KVM_SET_USER_MEMORY_REGION,
		   &(struct kvm_userspace_memory_region){.memory_size = 0x2000,
							 .userspace_addr = (uintptr_t)memory}));
	return machine;
}

CASE(virtual_processor)
{
	struct kvm_sregs segments;
	int rounds = 0, interrupted = 0, halted = 0;
	int processor = MUST(ioctl(new_machine(), KVM_CREATE_VCPU, 0));
	struct kvm_run *run =
	    MUST(mmap(NULL, 0x1000, PROT_READ | PROT_WRITE, MAP_SHARED, processor, 0));
	MUST(ioctl(processor, KVM_GET_SREGS, &segments));
	segments.cr0 |= 1; /* 32 bits, for other code may be emulated, an instruction a time */
	segments.cs = (struct kvm_segment){
	    .limit = 0xffffffff, .selector = 8, .type = 11, .present = 1, .db = 1, .s = 1, .g = 1};
	segments.ss = segments.ds = segments.es = segments.fs = segments.gs = (struct kvm_segment){
	    .limit = 0xffffffff, .selector = 16, .type = 3, .present = 1, .db = 1, .s = 1, .g = 1};
	MUST(ioctl(processor, KVM_SET_SREGS, &segments));
	for (uint64_t end = now_ns(CLOCK_MONOTONIC) + 500000000; now_ns(CLOCK_MONOTONIC) < end;
	     rounds++) {
		MUST(ioctl(processor, KVM_SET_REGS,
			   &(struct kvm_regs){.rip = GUEST_START, .rflags = 2}));
		interrupted += ioctl(processor, KVM_RUN, 0) < 0 && errno == EINTR;
		halted += run->exit_reason == KVM_EXIT_HLT;
	}
	say("%d interrupted, all halted: %d\n", interrupted, halted == rounds);
}
