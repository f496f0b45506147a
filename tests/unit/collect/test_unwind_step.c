/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions are run one instruction at a time, and the stack is unwound at every single one: in
 * prologues and epilogues, in PLT entries and the resolver behind them, in the vdso, while C++
 * throws.
 *
 * The truth does not come from an unwinder: each step looks at the instruction before it. A call
 * pushes the slot and the return address it wrote on a list; entries whose slot lies below the
 * stack pointer are popped. Outside of what is stepped lies the chain recorded beforehand.
 */
#include "unwind/machine.h"
#include "collect/unwind/module_list.h"
#include "collect/unwind/unwind.h"
#include "unwind_step_cases.h"

#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STAY()	 __asm__ volatile("" ::: "memory")
#define TRAP	 0x100 /* the trap flag in EFLAGS */

#define CALLS_MAX 512
#define WRONG_MAX 512

#define OUTER_MOST 1024

static struct sn_unwinder unwinder;
static uintptr_t stack_low, stack_high;

/* What is stepped at the moment. */
static struct {
	volatile bool stepping, other_stack;
	uintptr_t previous_pc, previous_sp;
	struct {
		uintptr_t slot, pc;
	} calls[CALLS_MAX];
	unsigned call_count;
	uintptr_t outer[OUTER_MOST]; /* return addresses outside of the stepper, innermost first */
	unsigned outer_count;
	uintptr_t outer_sp;
	unsigned long steps, wrong, mismatches, incomplete;
	struct {
		uintptr_t pc, found;
		unsigned long times;
		const char *why;
	} places[WRONG_MAX];
	unsigned place_count;
} step;

static void note(uintptr_t pc, uintptr_t found, const char *why)
{
	step.wrong++;
	for (unsigned index = 0; index < step.place_count; index++)
		if (step.places[index].pc == pc) {
			step.places[index].times++;
			return;
		}
	if (step.place_count == WRONG_MAX)
		return;
	step.places[step.place_count].pc = pc;
	step.places[step.place_count].found = found;
	step.places[step.place_count].why = why;
	step.places[step.place_count++].times = 1;
}

/* ---- the truth ---- */

/* The instruction at `pc`, executed just now, was a call: e8, or ff /2 with its prefixes. */
static bool was_call(uintptr_t pc)
{
	const unsigned char *code = (const unsigned char *)pc;
	while (*code == 0xf2 || *code == 0x3e || (*code & 0xf0) == 0x40)
		code++;
	return *code == 0xe8 || (*code == 0xff && (code[1] >> 3 & 7) == 2);
}

static void follow(uintptr_t pc, uintptr_t sp)
{
	while (step.call_count && step.calls[step.call_count - 1].slot < sp)
		step.call_count--;
	if (step.previous_pc && sp == step.previous_sp - 8 && was_call(step.previous_pc) &&
	    step.call_count < CALLS_MAX) {
		step.calls[step.call_count].slot = sp;
		step.calls[step.call_count++].pc = *(const uintptr_t *)sp;
	}
	step.previous_pc = pc;
	step.previous_sp = sp;
}

static uintptr_t expected(unsigned index, uintptr_t pc)
{
	if (!index)
		return pc;
	if (--index < step.call_count)
		return step.calls[step.call_count - 1 - index].pc;
	index -= step.call_count;
	return index < step.outer_count ? step.outer[index] : 0;
}

static void compare(const struct sn_unwind_result *result, uintptr_t pc)
{
	unsigned count = 1 + step.call_count + step.outer_count;
	for (unsigned index = 0; index < count && index < result->count; index++)
		if (result->frames[index].pc != expected(index, pc))
			return note(pc, result->frames[index].pc, "a frame");
	if (result->count != count || !result->complete)
		return note(pc, result->count, "the end");
	for (unsigned index = 0; index < step.call_count; index++)
		if (result->frames[index].cfa != step.calls[step.call_count - 1 - index].slot + 8)
			return note(pc, result->frames[index].cfa, "a CFA");
}

/* On another stack only the chain's outer end is known. */
static void compare_end(const struct sn_unwind_result *result, uintptr_t pc)
{
	if (!result->complete || result->count < step.outer_count + 1)
		return note(pc, result->count, "the end");
	for (unsigned index = 0; index < step.outer_count; index++)
		if (result->frames[result->count - step.outer_count + index].pc !=
		    step.outer[index])
			return note(pc, 0, "the end");
}

static void on_trap(int signal, siginfo_t *info, void *opaque)
{
	(void)signal, (void)info;
	ucontext_t *context = opaque;
	uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	uintptr_t sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
	if (!step.stepping) {
		context->uc_mcontext.gregs[REG_EFL] &= ~TRAP;
		return;
	}
	struct sn_unwind_result result =
	    sn_unwind(&unwinder, context, stack_low, stack_high, SN_UNWIND_ALL);
	step.steps++;
	step.mismatches += result.mismatch;
	if (step.other_stack) {
		step.previous_pc = 0;
		return compare_end(&result, pc);
	}
	follow(pc, sp);
	compare(&result, pc);
}

/* ---- the stepper ---- */

static void trap_on(void)
{
	__asm__ volatile("subq $128, %%rsp\n\t"
			 "pushfq\n\t"
			 "orq $0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "leaq 128(%%rsp), %%rsp\n\t"
			 :
			 :
			 : "memory", "cc");
}

/* Runs the function step by step. The frame of this function is the innermost of the outer ones. */
static void NOINLINE run_stepped(void (*function)(void))
{
	/* its own frame changes its pc while it runs; it is left to the call that is followed */
	struct sn_unwind_result result =
	    sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL);
	assert_true(result.complete);
	assert_in_range(result.count, 1, OUTER_MOST);
	step.outer_count = result.count - 1;
	for (unsigned index = 0; index < step.outer_count; index++)
		step.outer[index] = result.frames[index + 1].pc;
	step.call_count = 0;
	step.previous_pc = 0;
	step.stepping = true;
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tnop" ::: "memory", "cc");
	function(); /* the first trap comes before this call */
	step.stepping = false;
	STAY();
}

static void describe_place(unsigned index)
{
	Dl_info info = {0};
	uintptr_t pc = step.places[index].pc;
	dladdr((void *)pc, &info);
	print_message("    %s+%#lx (%s) %s, %lu times, found %#lx\n",
		      info.dli_fname ? info.dli_fname : "?", pc - (uintptr_t)info.dli_fbase,
		      info.dli_sname ? info.dli_sname : "?", step.places[index].why,
		      step.places[index].times, step.places[index].found);
}

/*
 * Some code has no path: longjmp between the old and the new stack pointer (its information
 * describes where it goes to), swapcontext likewise, and libgcc while it replaces the saved
 * registers of its own frames by those of the landing pad. What is wrong in `switching`, a
 * library's name, is counted apart and bounded.
 */
static void forgive(const char *switching)
{
	unsigned long forgiven = 0;
	for (unsigned index = 0; index < step.place_count; index++) {
		Dl_info info = {0};
		if (dladdr((void *)step.places[index].pc, &info) &&
		    strstr(info.dli_fname, switching))
			forgiven += step.places[index].times;
	}
	print_message("  %lu of the following while switching, in %s\n", forgiven, switching);
	assert_true(forgiven * 100 <= step.steps);
	step.wrong -= forgiven;
}

static void check(const char *name, void (*function)(void))
{
	step.steps = step.wrong = step.mismatches = 0;
	step.place_count = 0;
	step.other_stack = false;
	run_stepped(function);
	print_message("  %-28s %8lu instructions, %lu wrong (%.3f %%), %lu disagreeing\n", name,
		      step.steps, step.wrong, 100.0 * (double)step.wrong / (double)step.steps,
		      step.mismatches);
	for (unsigned index = 0; index < step.place_count && index < 12; index++)
		describe_place(index);
}

static void assert_right(unsigned long at_least)
{
	assert_true(step.steps >= at_least);
	assert_true(step.wrong * 1000 <= step.steps);
	assert_true(step.mismatches * 1000 <= step.steps);
}

static int set_up(void **state)
{
	(void)state;
	pthread_attr_t attributes;
	void *low;
	size_t bytes;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	stack_low = (uintptr_t)low;
	stack_high = stack_low + bytes;
	/* the handler's own stack: what lies below the stepped function's stack pointer stays as it
	 * is */
	static unsigned char handler_stack[1 << 16];
	stack_t alternate = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
	sigaltstack(&alternate, NULL);
	struct sigaction action = {.sa_sigaction = on_trap,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	sigaction(SIGTRAP, &action, NULL);
	sn_modules_init();
	sn_unwind_set_shadow(true);
	return 0;
}

/* ---- what is stepped ---- */

static void nothing(void)
{
}

#define STEP_RUN(name)                                                                             \
	static void run_##name(void)                                                               \
	{                                                                                          \
		name##_a(23, nothing);                                                             \
	}                                                                                          \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		check(#name, run_##name);                                                          \
		assert_right(300);                                                                 \
	}
STEP_WORKLOADS(STEP_RUN)

static volatile int sink;

static void run_library(void)
{
	sink = step_library_sort(7);
	sink = step_library_first(3);
	sink = step_library_first(4);
}

static void test_library(void **state)
{
	(void)state;
	check("PLT, lazily bound", run_library);
	assert_right(2000); /* the resolver alone takes that many */
}

static void run_vdso(void)
{
	struct timespec now;
	for (int index = 0; index < 3; index++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	sink = (int)time(NULL);
}

static void test_vdso(void **state)
{
	(void)state;
	check("vdso", run_vdso);
	assert_right(50);
}

static int NOINLINE variable(int bytes)
{
	volatile char *array = alloca((size_t)bytes);
	char more[bytes];
	memset(more, bytes, sizeof(more));
	array[bytes / 2] = more[1];
	if (bytes > 100)
		sink = variable(bytes - 57);
	return array[bytes / 2] + more[2];
}

static void run_variable(void)
{
	sink = variable(400);
}

static void test_variable(void **state)
{
	(void)state;
	check("alloca", run_variable);
	assert_right(200);
}

static int NOINLINE aligned(int depth)
{
	volatile char __attribute__((aligned(64))) block[192];
	volatile char *array = alloca((size_t)depth * 16 + 8);
	block[depth] = array[0] = (char)depth;
	if (depth)
		sink = aligned(depth - 1);
	return block[depth] + array[0];
}

static int NOINLINE aligned_leaf(const double *values)
{
	double __attribute__((aligned(64))) block[16];
	for (int index = 0; index < 16; index++)
		block[index] = values[index % 4] * index;
	STAY();
	return (int)block[sink & 15];
}

static void run_aligned(void)
{
	double values[4] = {1, 2, 3, 4};
	sink = aligned(5);
	sink = aligned_leaf(values);
}

static void test_aligned(void **state)
{
	(void)state;
	check("realigned", run_aligned);
	assert_right(150);
}

static jmp_buf back;
static volatile bool jumping = true;

static void NOINLINE jump(int depth)
{
	char text[32];
	if (!depth && jumping)
		longjmp(back, 1);
	if (depth)
		jump(depth - 1);
	snprintf(text, sizeof(text), "%d", depth);
	sink = text[0];
}

static void run_jump(void)
{
	if (!setjmp(back))
		jump(20);
}

static void test_jump(void **state)
{
	(void)state;
	check("longjmp", run_jump);
	forgive("libc.so");
	assert_right(100);
}

static void run_libc(void)
{
	char text[200];
	snprintf(text, sizeof(text), "%d %s %g %5.2Lf", 42, "word", 2.5, 3.25L);
	sink = (int)strtod("1.5e10", NULL);
	void *block = malloc(5000);
	memset(block, 1, 5000);
	free(realloc(block, 90000));
	sink = (int)strlen(text) + (int)(strchr(text, 'w') - text) + memcmp(text, text + 1, 9);
	FILE *file = fopen("/proc/self/stat", "r");
	if (file) {
		sink = fscanf(file, "%199s", text);
		fclose(file);
	}
}

static void test_libc(void **state)
{
	(void)state;
	check("libc", run_libc);
	assert_right(2000);
}

static void test_cxx_throw(void **state)
{
	(void)state;
	check("C++ throw", step_cxx_throw);
	forgive("libgcc_s.so");
	assert_right(10000);
}

static void test_cxx_strings(void **state)
{
	(void)state;
	check("C++ containers", step_cxx_strings);
	assert_right(2000);
}

/* ---- other stacks ---- */

static void on_signal(int signal)
{
	(void)signal;
	trap_on();
	sink = step_library_sort(3);
	STAY();
}

static void run_signal(void)
{
	step.other_stack = true;
	raise(SIGUSR1);
	step.other_stack = false;
}

static void test_signal(void **state)
{
	(void)state;
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGUSR1, &action, NULL);
	check("in a signal handler", run_signal);
	assert_right(500);
}

static ucontext_t here, there;

static void coroutine(void)
{
	sink = step_library_sort(12);
}

static void run_coroutine(void)
{
	step.other_stack = true;
	step.outer_count = 0; /* the coroutine's first frame has no caller */
	swapcontext(&here, &there);
	step.stepping = false;
}

static void test_coroutine(void **state)
{
	(void)state;
	static unsigned char stack[1 << 16];
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	check("in a coroutine", run_coroutine);
	step.other_stack = false;
	forgive("libc.so");
	assert_right(500);
}

/* ---- code without information ---- */

static void *install(const unsigned char *code, size_t bytes)
{
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, code, bytes);
	return page;
}

static int (*jit)(int (*function)(int), int value);

static int NOINLINE called_by_jit(int value)
{
	return step_library_sort(value) + 1;
}

static void run_jit(void)
{
	sink = jit(called_by_jit, 9);
}

static void test_jit_frame_pointer(void **state)
{
	(void)state;
	static const unsigned char code[] = {
	    0x55,		    /* push %rbp */
	    0x48, 0x89, 0xe5,	    /* mov %rsp, %rbp */
	    0x48, 0x83, 0xec, 0x20, /* sub $32, %rsp */
	    0x48, 0x89, 0xf8,	    /* mov %rdi, %rax */
	    0x89, 0xf7,		    /* mov %esi, %edi */
	    0xff, 0xd0,		    /* call *%rax */
	    0x83, 0xc0, 0x01,	    /* add $1, %eax */
	    0xc9,		    /* leave */
	    0xc3,		    /* ret */
	};
	*(void **)&jit = install(code, sizeof(code));
	check("JIT with frame pointer", run_jit);
	assert_right(500);
}

static void test_jit_bare(void **state)
{
	(void)state;
	static const unsigned char code[] = {
	    0x48, 0x83, 0xec, 0x18, /* sub $24, %rsp */
	    0x48, 0x89, 0xf8,	    /* mov %rdi, %rax */
	    0x89, 0xf7,		    /* mov %esi, %edi */
	    0xff, 0xd0,		    /* call *%rax */
	    0x83, 0xc0, 0x01,	    /* add $1, %eax */
	    0x48, 0x83, 0xc4, 0x18, /* add $24, %rsp */
	    0xc3,		    /* ret */
	};
	*(void **)&jit = install(code, sizeof(code));
	check("JIT without frame pointer", run_jit);
	/* a guess: what it finds must be found again, but it may be wrong in a few places */
	assert_true(step.steps >= 500);
	assert_true(step.wrong * 50 <= step.steps);
}

#define STEP_TEST(name) cmocka_unit_test_setup(test_##name, set_up),

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STEP_WORKLOADS(STEP_TEST) STEP_TEST(library) STEP_TEST(vdso) STEP_TEST(variable)
		STEP_TEST(aligned) STEP_TEST(jump) STEP_TEST(libc) STEP_TEST(cxx_throw)
		    STEP_TEST(cxx_strings) STEP_TEST(signal) STEP_TEST(coroutine)
			STEP_TEST(jit_frame_pointer) STEP_TEST(jit_bare)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
