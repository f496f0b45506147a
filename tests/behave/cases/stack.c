/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal stacks and stacks with little room. A profiler's handler may run wherever the stack
 * pointer is: on a signal stack as small as the old SIGSTKSZ, on one so small that not even the
 * kernel's frame fits, on none at all.
 */
#include "../behave.h"

#include <spawn.h>
#include <sys/auxv.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#define OLD_SIGSTKSZ 8192 /* the constant of programs that were compiled before glibc 2.34 */

static volatile sig_atomic_t calls;
static volatile uintptr_t handler_stack;

static void count(int number)
{
	char here;
	handler_stack = (uintptr_t)&here;
	calls++;
	(void)number;
}

static void count_and_spin(int number)
{
	count(number);
	for (int round = 0; round < 100; round++)
		spin();
}

static size_t frame_bytes(void)
{
	size_t bytes = getauxval(AT_MINSIGSTKSZ);
	return bytes ? bytes : 2048;
}

static void use_stack(void *start, size_t bytes, int flags)
{
	stack_t stack = {.ss_sp = start, .ss_size = bytes, .ss_flags = flags};
	MUST(sigaltstack(&stack, NULL));
}

static bool is_within(uintptr_t address, const void *start, size_t bytes)
{
	return address >= (uintptr_t)start && address < (uintptr_t)start + bytes;
}

static void say_stack(const char *when, const void *mine)
{
	stack_t stack;
	MUST(sigaltstack(NULL, &stack));
	say("%s: flags %d size %zu, %s\n", when, stack.ss_flags, stack.ss_size,
	    !stack.ss_sp	  ? "none"
	    : stack.ss_sp == mine ? "mine"
				  : "unknown");
}

/* ---- what the program is told ---- */

static void *query_in_thread(void *unused)
{
	work(10);
	say_stack("thread at start", unused);
	struct guarded stack = guarded_new(OLD_SIGSTKSZ);
	use_stack(stack.start, stack.bytes, 0);
	say_stack("thread's own", stack.start);
	return NULL;
}

CASE(query)
{
	say_stack("at start", NULL);
	work(20);
	say_stack("after work", NULL);
	struct guarded stack = guarded_new(20000);
	use_stack(stack.start, stack.bytes, 0);
	say_stack("set", stack.start);
	work(20);
	say_stack("set, after work", stack.start);
	pthread_t thread;
	pthread_create(&thread, NULL, query_in_thread, NULL);
	pthread_join(thread, NULL);
	if (!fork()) {
		work(10);
		say_stack("child", stack.start);
		_exit(0);
	}
	wait(NULL);
	stack_t old, none = {.ss_flags = SS_DISABLE};
	MUST(sigaltstack(&none, &old));
	say("old one: flags %d size %zu %d\n", old.ss_flags, old.ss_size, old.ss_sp == stack.start);
	say_stack("disabled", stack.start);
	work(20);
	say_stack("disabled, after work", stack.start);
	MUST(sigaltstack(&(stack_t){.ss_sp = stack.start, .ss_size = 16384}, &old));
	say("before: flags %d size %zu\n", old.ss_flags, old.ss_size);
}

CASE(query_raw)
{
	stack_t stack = {0};
	work(20);
	MUST(syscall(SYS_sigaltstack, NULL, &stack));
	say("flags %d size %zu %s\n", stack.ss_flags, stack.ss_size, stack.ss_sp ? "some" : "none");
}

static void say_in_handler(int number)
{
	(void)number;
	stack_t stack;
	sigaltstack(NULL, &stack);
	say("in handler: flags %d\n", stack.ss_flags);
	stack_t none = {.ss_flags = SS_DISABLE};
	int status = sigaltstack(&none, NULL);
	say("changing it: %d %s\n", status, status ? strerror(errno) : "");
	work(20);
}

CASE(query_in_handler)
{
	struct guarded stack = guarded_new(frame_bytes() * 3 + 16384);
	use_stack(stack.start, stack.bytes, 0);
	set_handler(SIGUSR1, say_in_handler, SA_ONSTACK);
	raise(SIGUSR1);
	set_handler(SIGUSR1, say_in_handler, 0);
	raise(SIGUSR1);
	say_stack("afterwards", stack.start);
}

CASE(query_bad)
{
	char small[1000];
	int status = sigaltstack(&(stack_t){.ss_sp = small, .ss_size = sizeof(small)}, NULL);
	say("too small: %d %s\n", status, strerror(errno));
	status = sigaltstack(&(stack_t){.ss_sp = small, .ss_size = 8192, .ss_flags = 77}, NULL);
	say("wrong flags: %d %s\n", status, strerror(errno));
	status = sigaltstack((stack_t *)8, NULL);
	say("no address: %d %s\n", status, strerror(errno));
	say_stack("after all", NULL);
}

/* ---- small ones ---- */

/* man 2 sigaltstack, in the heap, with neighbours. */
CASE(textbook)
{
	unsigned char *blocks[8];
	for (int block = 0; block < 8; block++)
		memset(blocks[block] = malloc(OLD_SIGSTKSZ), block, OLD_SIGSTKSZ);
	use_stack(blocks[4], OLD_SIGSTKSZ, 0);
	set_handler(SIGSEGV, count, SA_ONSTACK);
	work(200);
	for (int block = 0; block < 8; block++) {
		int changed = 0;
		for (int at = 0; at < OLD_SIGSTKSZ; at++)
			changed += blocks[block][at] != block;
		say("block %d: %s\n", block,
		    block == 4 ? "the stack"
		    : changed  ? "overwritten"
			       : "whole");
	}
	use_stack(NULL, 0, SS_DISABLE);
	for (int block = 0; block < 8; block++)
		free(blocks[block]);
	say("freed\n");
}

/* The program never uses it, so plain nobody can tell that no frame fits. */
static void never_used(size_t bytes)
{
	struct guarded stack = guarded_new(bytes);
	use_stack(stack.start, stack.bytes, 0);
	work(120);
	say_stack("set", stack.start);
	say("below: %s\n", guarded_overrun(&stack) ? "OVERWRITTEN" : "whole");
}

CASE(unused_2048)
{
	never_used(2048);
}
CASE(unused_3000)
{
	never_used(3000);
}
CASE(unused_4096)
{
	never_used(4096);
}
CASE(unused_8192)
{
	never_used(8192);
}
CASE(unused_64k)
{
	never_used(65536);
}

/* A handler that computes on a stack in which it fits, with a little room besides. */
static void used(size_t bytes)
{
	struct guarded stack = guarded_new(bytes);
	use_stack(stack.start, stack.bytes, 0);
	set_handler(SIGUSR1, count_and_spin, SA_ONSTACK);
	for (int round = 0; round < 20; round++) {
		raise(SIGUSR1);
		work(3);
	}
	say("calls %d, on it %d, below: %s\n", (int)calls,
	    is_within(handler_stack, stack.start, stack.bytes),
	    guarded_overrun(&stack) ? "OVERWRITTEN" : "whole");
}

/*
 * What a handler on a small stack reads of masks, and what it hands on to whom it makes. It opens
 * every signal, and none comes.
 */
static void say_blocked(const char *who)
{
	sigset_t blocked, pending;
	MUST(sigprocmask(SIG_BLOCK, NULL, &blocked));
	MUST(sigpending(&pending));
	say("%s blocks", who);
	EACH_SIGNAL(number)
	{
		if (sigismember(&blocked, number) || sigismember(&pending, number))
			say(" %d", number);
	}
	say(".\n");
}

PART(blocked_from_the_start)
{
	say_blocked("a program");
}

static void *blocked_in_thread(void *nothing)
{
	say_blocked("a thread");
	return nothing;
}

static void look_and_make(int number)
{
	char *arguments[] = {"behave", "blocked_from_the_start", NULL};
	sigset_t none;
	pthread_t thread;
	pid_t child;
	work(20);
	say_blocked("the handler");
	sigemptyset(&none);
	MUST(sigprocmask(SIG_SETMASK, &none, NULL));
	work(20);
	say_blocked("the handler");
	if (number != SIGUSR1)
		return;
	child = fork();
	if (!child)
		become("blocked_from_the_start", NULL);
	say("%s\n", ended(child));
	child = vfork();
	if (!child) {
		execv(own_program(), arguments);
		_exit(127);
	}
	say("%s\n", ended(child));
	if (posix_spawn(&child, own_program(), NULL, NULL, arguments, environ))
		behave_fail("posix_spawn");
	say("%s\n", ended(child));
	if (!pthread_create(&thread, NULL, blocked_in_thread, NULL))
		pthread_join(thread, NULL);
	execl("/nowhere", "nowhere", (char *)NULL);
	say_blocked("the handler");
}

CASE(masks_on_a_small_stack)
{
	struct guarded stack = guarded_new(frame_bytes() + 12288);
	use_stack(stack.start, stack.bytes, 0);
	set_handler(SIGUSR1, look_and_make, SA_ONSTACK);
	set_handler(SIGUSR2, look_and_make, SA_ONSTACK);
	work(20);
	raise(SIGUSR1);
	for (int round = 0; round < 10; round++)
		raise(SIGUSR2);
	work(20);
	say_blocked("the program");
	say("below: %s\n", guarded_overrun(&stack) ? "OVERWRITTEN" : "whole");
}

CASE(used_tight)
{
	used(frame_bytes() + 1024);
}
CASE(used_8192)
{
	used(frame_bytes() + 1024 > 8192 ? frame_bytes() + 1024 : 8192);
}
CASE(used_two_frames)
{
	used(2 * frame_bytes() + 1024);
}
CASE(used_64k)
{
	used(65536);
}

static void *tight_thread(void *unused)
{
	struct guarded stack = guarded_new(frame_bytes() + 1024);
	use_stack(stack.start, stack.bytes, 0);
	for (int round = 0; round < 10; round++) {
		pthread_kill(pthread_self(), SIGUSR1);
		work(2);
	}
	bool whole = !guarded_overrun(&stack);
	stack_t now;
	sigaltstack(NULL, &now);
	return (void *)(intptr_t)(whole && now.ss_sp == stack.start && !unused);
}

CASE(used_in_threads)
{
	pthread_t threads[8];
	set_handler(SIGUSR1, count_and_spin, SA_ONSTACK);
	int good = 0;
	for (int index = 0; index < 8; index++)
		pthread_create(&threads[index], NULL, tight_thread, NULL);
	for (int index = 0; index < 8; index++) {
		void *result;
		pthread_join(threads[index], &result);
		good += result != NULL;
	}
	say("threads whose stack is whole: %d\n", good);
}

CASE(autodisarm)
{
	struct guarded stack = guarded_new(frame_bytes() + 2048);
	use_stack(stack.start, stack.bytes, (int)(1u << 31));
	set_handler(SIGUSR1, count_and_spin, SA_ONSTACK);
	for (int round = 0; round < 20; round++) {
		raise(SIGUSR1);
		work(3);
	}
	say_stack("afterwards", stack.start);
	say("on it %d, below: %s\n", is_within(handler_stack, stack.start, stack.bytes),
	    guarded_overrun(&stack) ? "OVERWRITTEN" : "whole");
}

/* ---- none at all: SA_ONSTACK then means the thread's own ---- */

static void *thread_without(void *unused)
{
	pthread_attr_t attributes;
	void *start;
	size_t bytes;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &start, &bytes);
	work(20);
	pthread_kill(pthread_self(), SIGUSR1);
	say("handler on the thread's stack: %d\n", is_within(handler_stack, start, bytes));
	return unused;
}

CASE(onstack_without)
{
	char here;
	pthread_t thread;
	set_handler(SIGUSR1, count, SA_ONSTACK);
	work(20);
	raise(SIGUSR1);
	say("handler on the main stack: %d\n", is_within(handler_stack, &here - 65536, 65536));
	pthread_create(&thread, NULL, thread_without, NULL);
	pthread_join(thread, NULL);
}

/* ---- leaving by a jump ---- */

static sigjmp_buf back;

static void jump(int number)
{
	(void)number;
	calls++;
	siglongjmp(back, 1);
}

CASE(jump_out)
{
	struct guarded stack = guarded_new(frame_bytes() + 1024);
	use_stack(stack.start, stack.bytes, 0);
	set_handler(SIGUSR1, jump, SA_ONSTACK);
	for (volatile int round = 0; round < 60; round++)
		if (!sigsetjmp(back, 1)) {
			work(2);
			raise(SIGUSR1);
			say("not reached\n");
		}
	sigset_t mask;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	say("calls %d, USR1 blocked %d, below: %s\n", (int)calls, sigismember(&mask, SIGUSR1),
	    guarded_overrun(&stack) ? "OVERWRITTEN" : "whole");
	say_stack("afterwards", stack.start);
}

/* As libsigsegv and the runtimes of OCaml, Guile and Rust do. */
static volatile int depth_kept;

#pragma GCC diagnostic ignored "-Winfinite-recursion"
static __attribute__((noinline)) int too_deep(int level)
{
	volatile char frame[512];
	frame[level & 511] = (char)level;
	depth_kept = level;
	return too_deep(level + 1) + frame[3];
}

static void on_overflow(int number, siginfo_t *info, void *context)
{
	char *pointer = (char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
	char *fault = info->si_addr;
	(void)number;
	calls += fault > pointer - 8192 && fault < pointer + 8192;
	siglongjmp(back, 1);
}

static void overflow_rounds(void)
{
	struct guarded stack = guarded_new(frame_bytes() + 2048);
	use_stack(stack.start, stack.bytes, 0);
	set_info_handler(SIGSEGV, on_overflow, SA_ONSTACK);
	for (volatile int round = 0; round < 4; round++) {
		if (!sigsetjmp(back, 1))
			depth_kept = too_deep(0);
		work(20);
	}
	say("overflows met: %d, deep: %d, below: %s\n", (int)calls, depth_kept > 100,
	    guarded_overrun(&stack) ? "OVERWRITTEN" : "whole");
}

CASE(overflow_main)
{
	overflow_rounds();
}

static void *overflow_thread_body(void *unused)
{
	work(10);
	overflow_rounds();
	return unused;
}

CASE(overflow_thread)
{
	pthread_t thread;
	pthread_create(&thread, NULL, overflow_thread_body, NULL);
	pthread_join(thread, NULL);
}

/* Without a handler and with one that has no stack: the signal ends the program. */
CASE(overflow_fatal)
{
	work(20);
	pid_t child = fork();
	if (!child)
		_exit(too_deep(0));
	say("no handler: %s\n", ended(child));
	child = fork();
	if (!child) {
		set_info_handler(SIGSEGV, on_overflow, SA_ONSTACK);
		work(10);
		_exit(too_deep(0));
	}
	say("handler without stack: %s\n", ended(child));
}

CASE(overflow_fatal_main)
{
	work(20);
	depth_kept = too_deep(0);
}

/* ---- threads with the least stack, and a stack pointer in the heap ---- */

static void *least_body(void *unused)
{
	work(30);
	execl("/nonexistent", "x", (char *)NULL);
	pause_ns(1000);
	work(10);
	return unused;
}

CASE(least_thread_stack)
{
	size_t bytes = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	struct guarded stack = guarded_new(bytes > 16384 ? bytes : 16384);
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	MUST(pthread_attr_setstack(&attributes, stack.start, stack.bytes) ? -1 : 0);
	for (int round = 0; round < 4; round++) {
		MUST(pthread_create(&thread, &attributes, least_body, NULL) ? -1 : 0);
		pthread_join(thread, NULL);
	}
	say("below: %s\n", guarded_overrun(&stack) ? "OVERWRITTEN" : "whole");
}

#ifdef __x86_64__
/* Generated code, as oneDNN's, that points the stack pointer into a block with little room below.
 */
static void spin_with_pointer_at(void *stack)
{
	__asm__ volatile("movq %%rsp, %%r12\n\t"
			 "movq %0, %%rsp\n\t"
			 "movq $60000000, %%rcx\n"
			 "1: decq %%rcx\n\t"
			 "jnz 1b\n\t"
			 "movq %%r12, %%rsp\n\t"
			 :
			 : "r"(stack)
			 : "r12", "rcx", "cc", "memory");
}

CASE(pointer_in_heap)
{
	struct guarded stack = guarded_new(256);
	for (int round = 0; round < 6; round++)
		spin_with_pointer_at(stack.start + 192);
	say("below: %s, within: %s\n", guarded_overrun(&stack) ? "OVERWRITTEN" : "whole",
	    guarded_used(&stack) ? "USED" : "untouched");
}

static void *pointer_thread(void *unused)
{
	struct guarded stack = guarded_new(256);
	spin_with_pointer_at(stack.start + 192);
	return guarded_overrun(&stack) || guarded_used(&stack) ? NULL : unused;
}

CASE(pointer_in_heap_threads)
{
	pthread_t threads[4];
	int whole = 0;
	for (int index = 0; index < 4; index++)
		pthread_create(&threads[index], NULL, pointer_thread, (void *)8);
	for (int index = 0; index < 4; index++) {
		void *result;
		pthread_join(threads[index], &result);
		whole += result != NULL;
	}
	say("whole in threads: %d\n", whole);
}

/* With a signal stack of its own that is too small for any frame. */
CASE(pointer_in_heap_small_stack)
{
	struct guarded stack = guarded_new(256), own = guarded_new(2048);
	use_stack(own.start, own.bytes, 0);
	for (int round = 0; round < 4; round++)
		spin_with_pointer_at(stack.start + 192);
	say("below: %s, signal stack: %s\n",
	    guarded_overrun(&stack) || guarded_used(&stack) ? "OVERWRITTEN" : "whole",
	    guarded_overrun(&own) || guarded_used(&own) ? "USED" : "untouched");
}

/*
 * As an interpreter or generated code: 3,000 calls deep, without unwind information or frame
 * pointers. A sample that takes as long as the period between two leaves the program no time at
 * all.
 */
long behave_deep(long levels, long rounds);
__asm__(".pushsection .text\n"
	".type behave_deep, @function\n"
	"behave_deep:\n\t"
	"subq $56, %rsp\n\t"
	"movq %rdi, 8(%rsp)\n\t"
	"decq %rdi\n\t"
	"js 1f\n\t"
	"call behave_deep\n\t"
	"jmp 2f\n"
	"1: decq %rsi\n\t"
	"jnz 1b\n"
	"2: addq 8(%rsp), %rax\n\t"
	"addq $56, %rsp\n\t"
	"ret\n"
	".popsection");

CASE(deep_without_rules)
{
	for (int round = 0; round < 4; round++)
		behave_deep(3000, 100000000);
	say("came back\n");
}

/* What leaf functions keep below the stack pointer. */
CASE(red_zone)
{
	long bad = 0;
	for (int round = 0; round < 40000; round++) {
		long kept;
		__asm__ volatile("movq $0x12345678, -8(%%rsp)\n\t"
				 "movq $0x12345678, -128(%%rsp)\n\t"
				 "movq $2000, %%rcx\n"
				 "1: decq %%rcx\n\t"
				 "jnz 1b\n\t"
				 "movq -8(%%rsp), %0\n\t"
				 "subq -128(%%rsp), %0"
				 : "=r"(kept)
				 :
				 : "rcx", "cc", "memory");
		bad += kept;
	}
	say("changed: %ld\n", bad);
}
#endif
