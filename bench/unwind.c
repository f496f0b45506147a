/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds a frame of unwinding, beside what else there is, on stacks made by code compiled in
 * many ways. All are run in turn many times within one run; the median of the turns is printed.
 * "walk" is ours without, "reuse" with the previous path; "top" changes the innermost frames
 * between unwinds as a running program does; "cold" is the first meeting of a pc. Last, the first
 * meeting of pcs all over the C library, with its tables read in place and copied by the kernel.
 */
#define UNW_LOCAL_ONLY
#include "collect/unwind/module_list.h"
#include "collect/unwind/rule.h"
#include "collect/unwind/step.h"
#include "collect/unwind/unwind.h"

#include <dlfcn.h>
#ifdef SN_HAVE_LIBUNWIND
#include <libunwind.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS	    41
#define DEPTH	    32
#define FRAMES_MOST 1024

static struct sn_unwinder unwinder;
static uintptr_t stack_low, stack_high;
static unsigned mismatches, unwinds;

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- what is measured; each gives the number of frames ---- */

static unsigned by_walk(void)
{
	sn_unwind_set_reuse(false);
	return sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL).count;
}

static unsigned by_reuse(void)
{
	sn_unwind_set_reuse(true);
	return sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL).count;
}

static unsigned __attribute__((noinline)) one_way(void)
{
	unsigned count = sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL).count;
	__asm__ volatile("");
	return count;
}

static unsigned __attribute__((noinline)) other_way(void)
{
	unsigned count = one_way();
	__asm__ volatile("");
	return count;
}

static unsigned by_reuse_top(void)
{
	static unsigned turn;
	sn_unwind_set_reuse(true);
	return ++turn & 1 ? one_way() : other_way();
}

static unsigned by_compiling(void)
{
	sn_unwind_set_reuse(true);
	struct sn_unwind_result result =
	    sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL);
	bool lasting;
	for (unsigned index = 0; index < result.count; index++)
		sn_rule_compile(result.frames[index].pc - 1, &lasting);
	return result.count;
}

#ifdef SN_HAVE_LIBUNWIND
static unsigned by_unw_step(void)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;
	unsigned count = 0;
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		count++;
	} while (unw_step(&cursor) > 0);
	return count;
}

static unsigned by_unw_backtrace(void)
{
	static void *addresses[FRAMES_MOST];
	return (unsigned)unw_backtrace(addresses, FRAMES_MOST);
}
#endif

static unsigned by_backtrace(void)
{
	static void *addresses[FRAMES_MOST];
	/* libunwind has a function of this name as well */
	static int (*real)(void **, int);
	if (!real)
		*(void **)&real = dlsym(dlopen("libc.so.6", RTLD_LAZY), "backtrace");
	return (unsigned)real(addresses, FRAMES_MOST);
}

/* Right only where all code keeps frame pointers; what it costs is the same where it is wrong. */
static unsigned by_frame_pointer(void)
{
	static uintptr_t addresses[FRAMES_MOST];
	const uintptr_t *frame = __builtin_frame_address(0);
	unsigned count = 0;
	while (count < FRAMES_MOST && (uintptr_t)frame > stack_low &&
	       (uintptr_t)frame < stack_high - 16 && frame[1]) {
		addresses[count++] = frame[1];
		if (frame[0] <= (uintptr_t)frame)
			break;
		frame = (const uintptr_t *)frame[0];
	}
	__asm__ volatile("" : : "r"(addresses) : "memory");
	return count;
}

static const struct method {
	const char *name;
	unsigned (*run)(void);
	unsigned repeat;
} methods[] = {
    {"walk", by_walk, 400},
    {"reuse", by_reuse, 400},
    {"top", by_reuse_top, 400},
    {"cold", by_compiling, 4},
    {"frame-ptr", by_frame_pointer, 400},
#ifdef SN_HAVE_LIBUNWIND
    {"unw_backtrace", by_unw_backtrace, 100},
    {"unw_step", by_unw_step, 4},
#endif
    {"backtrace", by_backtrace, 10},
};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

/* ---- the table ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

static unsigned agreement(void)
{
	sn_unwind_set_shadow(true);
	for (unsigned index = 0; index < 20; index++, unwinds++) {
		struct sn_unwind_result result =
		    sn_unwind_here(&unwinder, stack_low, stack_high, SN_UNWIND_ALL);
		mismatches += result.mismatch || !result.complete;
	}
	sn_unwind_set_shadow(false);
	return mismatches;
}

static const char *variant;

static void visit(void)
{
	static double times[METHODS][ROUNDS];
	unsigned counts[METHODS];
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned method = 0; method < METHODS; method++) {
			counts[method] = methods[method].run(); /* warm, but for "cold" */
			double start = now_ns();
			for (unsigned turn = 0; turn < methods[method].repeat; turn++)
				counts[method] = methods[method].run();
			times[method][round] = (now_ns() - start) / methods[method].repeat /
					       (counts[method] + !counts[method]);
		}
	agreement();
	printf("%-34s %6u", variant, counts[0]);
	for (unsigned method = 0; method < METHODS; method++) {
		printf(" %*.2f", (int)strlen(methods[method].name) + 3, median(times[method]));
		if (counts[method] + 3 < counts[0])
			printf("!"); /* it lost frames: not comparable */
		else
			printf(" ");
	}
	putchar('\n');
}

/* ---- pcs met for the first time ---- */

#define MEETINGS 2000

/* Addresses that the module's tables describe, all over it, in no order of place. */
static unsigned choose_pcs(const struct sn_module *module, uintptr_t pcs[MEETINGS])
{
	unsigned count = 0;
	struct sn_cfi_row row;
	uint64_t random = 1;
	for (unsigned attempt = 0; attempt < 100 * MEETINGS && count < MEETINGS; attempt++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		uintptr_t pc = module->start + (random >> 20) % (module->end - module->start);
		if (sn_row_find(module, pc, &row) == 0)
			pcs[count++] = pc;
	}
	return count;
}

static double meet(const uintptr_t *pcs, unsigned count)
{
	bool lasting;
	double start = now_ns();
	for (unsigned i = 0; i < count; i++)
		sn_rule_compile(pcs[i], &lasting);
	return (now_ns() - start) / count;
}

static void first_meetings(void)
{
	static uintptr_t pcs[MEETINGS];
	static double in_place[ROUNDS], copied[ROUNDS];
	uint32_t index = sn_module_by_name("libc.so");
	if (index == SN_MODULE_NONE)
		return;
	struct sn_module *module = (struct sn_module *)sn_module_at(index);
	unsigned count = choose_pcs(module, pcs);
	for (unsigned round = 0; round < ROUNDS && count > 0; round++) {
		module->is_permanent = true;
		in_place[round] = meet(pcs, count);
		module->is_permanent = false;
		copied[round] = meet(pcs, count);
	}
	printf("%u pcs of the C library met first: %.0f ns with tables in place, %.0f ns copied\n",
	       count, median(in_place), median(copied));
}

#define SN_VARIANT(name, text) int name##_a(int depth, void (*visitor)(void));
#include "unwind_variants.h"
#undef SN_VARIANT

int main(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	stack_low = (uintptr_t)low;
	stack_high = stack_low + bytes;
	sn_modules_init();
	printf("%-34s %6s", "ns a frame, by compiler flags", "frames");
	for (unsigned method = 0; method < METHODS; method++)
		printf("    %s", methods[method].name);
	putchar('\n');
#define SN_VARIANT(name, text)                                                                     \
	variant = text;                                                                            \
	name##_a(DEPTH, visit);
#include "unwind_variants.h"
#undef SN_VARIANT
	printf("shadow check: %u of %u unwinds disagree or are incomplete\n", mismatches, unwinds);
	printf("! lost frames, so the figure is of a shorter path\n");
	first_meetings();
	return 0;
}
