/* SPDX-License-Identifier: Apache-2.0 */
/* Call chains of known shape against the unwinder: calls, reuse of the previous path, signals,
 * other stacks. */
#include "collect/core/arena.h"
#include "collect/unwind/module_list.h"
#include "collect/unwind/unwind.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <cmocka.h>

#define NOINLINE __attribute__((noinline, noclone))
/* Keeps a call from becoming a jump. */
#define STAY()	 __asm__ volatile("" ::: "memory")

static struct sn_unwinder unwinder;
static uintptr_t stack_low, stack_high;
static struct sn_unwind_result result;

static void find_stack(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;
	assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	stack_low = (uintptr_t)low;
	stack_high = stack_low + bytes;
}

static int set_up(void **state)
{
	(void)state;
	find_stack();
	sn_modules_init();
	sn_unwind_set_shadow(true);
	sn_unwind_set_reuse(true);
	return 0;
}

/* The caller of a function of this file by the compiler's own knowledge. */
#define MAX_CHAIN 512
static uintptr_t chain[MAX_CHAIN]; /* return addresses, outermost first */
static unsigned chain_length;
#define ENTER() (chain[chain_length++] = (uintptr_t)__builtin_return_address(0))
#define LEAVE() (chain_length--)

static void assert_good(void)
{
	assert_true(result.complete);
	assert_false(result.scanned);
	assert_false(result.mismatch);
	assert_false(result.too_deep);
}

/* result.frames[first] and outwards are the return addresses on the chain, innermost first. */
static void assert_chain(unsigned first)
{
	for (unsigned index = 0; index < chain_length; index++) {
		assert_true(first + index < result.count);
		assert_int_equal(result.frames[first + index].pc, chain[chain_length - 1 - index]);
		assert_int_equal(result.frames[first + index].flags & SN_NATIVE_RETURN_ADDRESS, 1);
	}
}

static void NOINLINE look(void)
{
	ENTER();
	result = sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL);
	assert_good();
	assert_chain(1); /* result.frames[0] is in this function */
	LEAVE();
}

/* ---- calls ---- */

static void NOINLINE recurse(unsigned depth)
{
	ENTER();
	if (depth)
		recurse(depth - 1);
	else
		look();
	look();
	LEAVE();
}

static void test_calls(void **state)
{
	(void)state;
	recurse(40);
	recurse(3);
	recurse(200);
}

static void NOINLINE with_array(unsigned bytes, unsigned depth)
{
	ENTER();
	volatile char *array = alloca(bytes);
	array[0] = 1;
	if (depth)
		with_array(bytes * 7 % 1000 + 16, depth - 1);
	look();
	array[bytes - 1] = 2;
	LEAVE();
}

/* The same return addresses with other frame sizes: the stack holds remains of earlier paths. */
static void test_changing_frames(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 50; round++)
		with_array(16 + round * 24, round % 9);
}

/*
 * The trap for reuse: `place` is called through `between`, then directly from the same call
 * instruction, and makes its frame so large that what it calls has the stack pointer that it had
 * before. Everything the first path's return addresses lay in is unchanged: what lay in the frames
 * that are gone lies in an array now. Only the frame pointer tells the paths apart.
 */
static uintptr_t array_at;    /* the stack pointer below the array */
static uintptr_t array_slack; /* what the compiler takes more than it is asked for */

static void NOINLINE bare_leaf(void)
{
	result = sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL);
	STAY();
}

static void NOINLINE framed_leaf(void)
{
	volatile char *array =
	    alloca((size_t)(array_at % 16 + 32)); /* makes it keep a frame pointer */
	array[0] = 1;
	result = sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL);
	STAY();
	array[1] = 2;
}

static inline __attribute__((always_inline)) uintptr_t stack_pointer(void)
{
	uintptr_t sp;
	__asm__ volatile("movq %%rsp, %0" : "=r"(sp));
	return sp;
}

static void NOINLINE place(void (*leaf)(void))
{
	uintptr_t before = stack_pointer();
	volatile uintptr_t bytes = array_at ? before - array_at - array_slack : 16;
	volatile char *array = alloca(bytes);
	array[0] = 1;
	if (!array_at)
		array_slack = before - stack_pointer() - bytes;
	array_at = stack_pointer();
	leaf();
	STAY();
}

static void NOINLINE between(void (*leaf)(void))
{
	volatile char room[64];
	room[array_at % 64] = 1;
	place(leaf);
	STAY();
	room[1] = room[0];
}

static void NOINLINE compare_places(void (*leaf)(void))
{
	void (*const volatile ways[2])(void (*)(void)) = {between, place};
	struct sn_unwind_result results[2];
	uintptr_t places[2];
	array_at = 0;
	static volatile unsigned way_count = 2; /* one call instruction for both */
	for (unsigned way = 0; way < way_count; way++) {
		ways[way](leaf);
		results[way] = result;
		places[way] = array_at;
	}
	assert_int_equal(places[0], places[1]); /* or the trap is none */
	result = results[1];
	assert_good();
	assert_int_equal(results[0].count, results[1].count + 1);
}

static void test_remains(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	skip(); /* the sanitizer lays out frames its own way, and the trap does not come about */
#endif
	(void)state;
	compare_places(bare_leaf);
	compare_places(framed_leaf);
	sn_unwind_set_shadow(false); /* its own calls would tread on the remains */
	compare_places(bare_leaf);
	compare_places(framed_leaf);
}

static void NOINLINE realigned(unsigned depth)
{
	ENTER();
	volatile char __attribute__((aligned(128))) block[128];
	block[0] = (char)depth;
	STAY();
	assert_int_equal((uintptr_t)block % 128, 0);
	assert_int_equal(block[0], (char)depth);
	if (depth)
		realigned(depth - 1);
	look();
	LEAVE();
}

static void NOINLINE realigned_array(unsigned bytes)
{
	ENTER();
	volatile char __attribute__((aligned(64))) block[64];
	volatile char *array = alloca(bytes);
	block[0] = array[0] = (char)bytes;
	realigned(2);
	look();
	assert_int_equal(block[0], array[0]);
	LEAVE();
}

static void test_realigned(void **state)
{
	(void)state;
	realigned(5);
	realigned_array(100);
	realigned_array(1000);
}

static jmp_buf back;

static volatile bool jumping = true;

static void NOINLINE jump(unsigned depth)
{
	ENTER();
	if (depth)
		jump(depth - 1);
	look();
	if (jumping)
		longjmp(back, 1);
	STAY();
	LEAVE();
}

static void test_longjmp(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		if (!setjmp(back))
			jump(100 + round);
		chain_length = 0;
		look();
	}
}

/* ---- depth ---- */

static unsigned wanted_most; /* 0: the whole path */

static void NOINLINE deep(unsigned depth)
{
	if (depth)
		deep(depth - 1);
	else
		result = sn_unwind_here(&unwinder, stack_low, stack_high,
					wanted_most ? wanted_most : SN_UNWIND_ALL);
	STAY();
}

/* The same depth by two functions, whose frames differ in size. */
static void NOINLINE mutual(unsigned depth);
static void NOINLINE mutual_large(unsigned depth)
{
	volatile char room[200];
	room[depth % 200] = 1;
	mutual(depth);
	STAY();
	room[1] = room[0];
}

static void NOINLINE mutual(unsigned depth)
{
	if (depth)
		mutual_large(depth - 1);
	else
		deep(0);
	STAY();
}

/* However deep, with all of its outer end, and again after it was shallow. */
static void test_deep(void **state)
{
	(void)state;
	const unsigned depths[] = {10, 1020, 1024, 5000, 50000, 3, 40000, 50001};
	deep(0);
	uint32_t shallow = result.count;
	uintptr_t first = result.frames[shallow - 1].pc;
	for (unsigned index = 0; index < sizeof(depths) / sizeof(*depths); index++) {
		deep(depths[index]);
		assert_good();
		assert_int_equal(result.count, shallow + depths[index]);
		assert_int_equal(result.frames[result.count - 1].pc, first);
		for (unsigned frame = 2; frame < depths[index]; frame++)
			assert_int_equal(result.frames[frame].pc, result.frames[2].pc);
	}
	mutual(20000);
	assert_good();
	assert_int_equal(result.count, shallow + 2 * 20000 + 1);
}

/* Who asks for the innermost frames alone gets these, and spoils nothing that is known. */
static void test_innermost(void **state)
{
	(void)state;
	deep(10);
	uint32_t whole = result.count;
	assert_true(result.is_kept);
	for (wanted_most = 1; wanted_most <= whole + 2; wanted_most++) {
		deep(10);
		assert_int_equal(result.count, wanted_most < whole ? wanted_most : whole);
		assert_int_equal(result.too_deep, wanted_most <= whole && !result.complete);
		assert_false(result.mismatch);
		assert_false(result.is_kept);
	}
	wanted_most = 1500; /* more than there is room for at first */
	deep(3000);
	assert_int_equal(result.count, 1500);
	assert_true(result.too_deep);
	wanted_most = 0;
	deep(10);
	assert_good();
	assert_int_equal(result.count, whole);
}

static void NOINLINE twice_here(struct sn_unwind_result results[3], unsigned turns)
{
	for (unsigned turn = 0; turn < turns; turn++) {
		deep(turn * 3);
		results[turn] = result;
	}
	STAY();
}

static void NOINLINE twice_below(unsigned depth, struct sn_unwind_result results[3])
{
	if (depth)
		twice_below(depth - 1, results);
	else
		twice_here(results, 3);
	STAY();
}

/* A path says how much of it is that of the one before. */
static void test_repeated(void **state)
{
	(void)state;
	struct sn_unwind_result results[3];
	twice_below(2000, results);
	for (unsigned turn = 0; turn < 3; turn++) {
		assert_true(results[turn].complete && results[turn].is_kept);
		assert_int_equal(results[turn].count, results[0].count + 3 * turn);
	}
	assert_in_range(results[0].repeated, 0, results[0].count - 2000);
	assert_in_range(results[1].repeated, 2000, results[0].count);
	/* the same call of deep() is not the same frame where it has gone on inside */
	assert_in_range(results[2].repeated, 2000, results[1].count);
}

/* Without memory for more, a path is what there is room for, and later paths are whole again. */
static void test_without_memory(void **state)
{
	(void)state;
	sn_unwinder_release(&unwinder);
	deep(0);
	uint32_t shallow = result.count;
	sn_pages_set_limit(1);
	deep(3000);
	assert_true(result.too_deep);
	assert_false(result.complete);
	assert_in_range(result.count, 1000, 2000);
	deep(0);
	assert_good();
	assert_int_equal(result.count, shallow);
	sn_pages_set_limit(0);
	deep(3000);
	assert_good();
	assert_int_equal(result.count, shallow + 3000);
}

/* ---- signals ---- */

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	/* from the interrupted state */
	result = sn_unwind(&unwinder, context, stack_low, stack_high, SN_UNWIND_ALL);
	assert_good();
	assert_int_equal(result.frames[0].flags, 0);
	/* and through the signal frame */
	result = sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL);
	assert_good();
	unsigned trampolines = 0, first = 0;
	for (unsigned index = 0; index < result.count; index++)
		if (result.frames[index].flags & SN_NATIVE_SIGNAL) {
			trampolines++;
			first = index;
		}
	assert_int_equal(trampolines, 1);
	assert_int_equal(result.frames[first + 1].flags, 0);
	/* raise() has frames of its own below ours; find where the chain begins */
	while (first < result.count && result.frames[first].pc != chain[chain_length - 1])
		first++;
	assert_chain(first);
}

static void NOINLINE interrupt(unsigned depth)
{
	ENTER();
	if (depth)
		interrupt(depth - 1);
	else
		raise(SIGUSR1);
	STAY();
	LEAVE();
}

static void handle(int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
	sigaction(SIGUSR1, &action, NULL);
}

static void test_signal(void **state)
{
	(void)state;
	handle(0);
	interrupt(4);
	interrupt(30);
}

static void test_signal_alternate_stack(void **state)
{
	(void)state;
	stack_t alternate = {.ss_size = 1 << 18};
	alternate.ss_sp = mmap(NULL, alternate.ss_size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(sigaltstack(&alternate, NULL), 0);
	handle(SA_ONSTACK);
	interrupt(4);
	interrupt(30);
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
	munmap(alternate.ss_sp, alternate.ss_size);
	recurse(4);
}

/* ---- other stacks ---- */

static ucontext_t main_context, coroutine_context;

static void coroutine(void)
{
	chain_length = 0;
	recurse(10);
	swapcontext(&coroutine_context, &main_context);
	recurse(5);
}

static void test_coroutine(void **state)
{
	(void)state;
	size_t bytes = 1 << 17;
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = bytes;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
	chain_length = 0;
	recurse(10);
	swapcontext(&main_context, &coroutine_context);
	munmap(stack, bytes);
	chain_length = 0;
	recurse(10);
}

/* A thread's function has the thread's start behind it, and its own stack. */
static void *thread_main(void *argument)
{
	(void)argument;
	uintptr_t low = stack_low, high = stack_high;
	struct sn_unwinder saved = unwinder;
	unwinder = (struct sn_unwinder){0};
	find_stack();
	chain_length = 0;
	recurse(20);
	sn_unwinder_release(&unwinder);
	unwinder = saved;
	stack_low = low;
	stack_high = high;
	return NULL;
}

static void test_thread(void **state)
{
	(void)state;
	pthread_t thread;
	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
}

/* A stack whose bounds are unknown is read all the same. */
static void test_unknown_bounds(void **state)
{
	(void)state;
	uintptr_t low = stack_low, high = stack_high;
	stack_low = stack_high = 0;
	chain_length = 0;
	recurse(20);
	stack_low = low;
	stack_high = high;
	recurse(20);
}

/* ---- damaged stacks ---- */

static void try_context(uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	ucontext_t context = {0};
	context.uc_mcontext.gregs[REG_RIP] = (long long)pc;
	context.uc_mcontext.gregs[REG_RSP] = (long long)sp;
	context.uc_mcontext.gregs[REG_RBP] = (long long)fp;
	result = sn_unwind(&unwinder, &context, stack_low, stack_high, SN_UNWIND_ALL);
	assert_false(result.mismatch);
	assert_true(result.count <= 1024);
}

/* Nonsense in registers and on the stack ends the walk and does no harm. */
static void test_nonsense(void **state)
{
	(void)state;
	uintptr_t words[256];
	uintptr_t codes[] = {(uintptr_t)test_nonsense,
			     (uintptr_t)recurse + 5,
			     (uintptr_t)malloc,
			     (uintptr_t)realigned + 20,
			     1,
			     UINTPTR_MAX,
			     0};
	uint64_t random = 88172645463325252ull;
	for (unsigned round = 0; round < 20000; round++) {
		for (unsigned index = 0; index < 256; index++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			words[index] = index % 3 == 0	? codes[random % 7] + random % 64
				       : index % 3 == 1 ? (uintptr_t)&words[random % 256]
							: random;
		}
		uintptr_t sp = random % 5 ? (uintptr_t)&words[random % 200] : words[random % 256];
		try_context(codes[random / 7 % 7] + random % 300, sp, words[random / 11 % 256]);
	}
}

/* A chain of frame pointers, in code without information, that comes back to where it began: upwards on
 * one stack and down again by another. Only a count ends it. */
static void test_rings(void **state)
{
	(void)state;
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	memset(code, 0x90, 4096);
	code[95] = 0xe8; /* call: so that code + 100 is where one returns to */
	uintptr_t *stack = calloc(512, sizeof(*stack)), at = (uintptr_t)stack;
	for (unsigned index = 0; index < 4; index++) {
		stack[index * 64] = (uintptr_t)&stack[(index + 1) % 4 * 64];
		stack[index * 64 + 1] = (uintptr_t)code + 100;
	}
	sn_unwind_set_other_stacks(true);
	try_context((uintptr_t)code + 100, at, at);
	try_context((uintptr_t)code + 100, at + 64 * 8 + 16, at);
	sn_unwind_set_other_stacks(false);
	free(stack);
	munmap(code, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_calls, set_up),
	    cmocka_unit_test_setup(test_changing_frames, set_up),
	    cmocka_unit_test_setup(test_remains, set_up),
	    cmocka_unit_test_setup(test_realigned, set_up),
	    cmocka_unit_test_setup(test_longjmp, set_up),
	    cmocka_unit_test_setup(test_deep, set_up),
	    cmocka_unit_test_setup(test_innermost, set_up),
	    cmocka_unit_test_setup(test_repeated, set_up),
	    cmocka_unit_test_setup(test_without_memory, set_up),
	    cmocka_unit_test_setup(test_rings, set_up),
	    cmocka_unit_test_setup(test_signal, set_up),
	    cmocka_unit_test_setup(test_signal_alternate_stack, set_up),
	    cmocka_unit_test_setup(test_coroutine, set_up),
	    cmocka_unit_test_setup(test_thread, set_up),
	    cmocka_unit_test_setup(test_unknown_bounds, set_up),
	    cmocka_unit_test_setup(test_nonsense, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
