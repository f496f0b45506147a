/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that wait for one thing each: planted NAME [TURNS], where planted_NAME takes nearly all of the time. What each waits for is in its comment. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define APART __attribute__((noinline, noclone))
enum { BYTES = 1 << 26, LINE = 64, PAGE = 4096, LINES = BYTES / LINE };

static char *memory;
static volatile uint64_t result;

static uint64_t mixed(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

/* The data cache: each address is in the line before, anywhere in 64 MiB. */
APART static void planted_chase(uint64_t turns)
{
	char **at = (char **)memory;
	for (uint64_t i = 0; i < turns * 100000; i++)
		at = (char **)*at;
	result = (uint64_t)at;
}

/* The data TLB: a line of each of 16,384 pages, which the caches hold and the TLB does not. */
APART static void planted_pages(uint64_t turns)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < turns * 10; i++)
		for (const char *at = memory; at < memory + BYTES; at += PAGE + LINE)
			sum += *(const uint64_t *)at;
	result = sum;
}

/* Branches that nobody can foresee. */
APART static void planted_branch(uint64_t turns)
{
	uint64_t state = 88172645463325252u, odd = 0, even = 0;
	for (uint64_t i = 0; i < turns * 200000; i++) {
		if (mixed(&state) & 1) {
			odd += 3;
			__asm__ volatile("" : "+r"(odd));
		} else {
			even ^= state;
			__asm__ volatile("" : "+r"(even));
		}
	}
	result = odd + even;
}

/* The divider. */
APART static void planted_divide(uint64_t turns)
{
	uint64_t value = UINT64_MAX, sum = 0;
	for (uint64_t i = 1; i < turns * 100000; i++) {
		value = (value / (i | 1)) | UINT64_C(1) << 63;
		sum += value;
	}
	result = sum;
}

/* The store buffer: stores alone, each to another line. */
APART static void planted_stores(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		for (char *at = memory; at < memory + BYTES / 4; at += LINE)
			*(volatile uint64_t *)at = i;
}

/* The instruction cache: 1 MiB of code, a few instructions of each second line. */
APART static void planted_code(uint64_t turns)
{
	uint64_t value = 1;
	for (uint64_t i = 0; i < turns * 10; i++)
		__asm__ volatile(".rept 8192\n\t"
				 "addq $3, %0\n\t"
				 "xorq $5, %0\n\t"
				 "jmp 1f\n\t"
				 ".p2align 7\n"
				 "1:\n\t"
				 ".endr"
				 : "+r"(value)
				 :
				 : "cc");
	result = value;
}

static uint64_t shared;

/* Synchronization: a counter that two threads add to. */
APART static void *planted_lock(void *turns)
{
	for (uint64_t i = 0; i < *(uint64_t *)turns * 100000; i++)
		__atomic_fetch_add(&shared, i, __ATOMIC_SEQ_CST);
	return NULL;
}

static void lock_twice(uint64_t turns)
{
	pthread_t other;
	pthread_create(&other, NULL, planted_lock, &turns);
	planted_lock(&turns);
	pthread_join(other, NULL);
}

/* ---- the same causes in other clothes: written when the weights of suspicions were fixed, and not looked at before ---- */

/* The data cache: words of 64 MiB in random order, none of which says where the next one is. */
APART static void planted_hash(uint64_t turns)
{
	uint64_t state = 1, sum = 0;
	for (uint64_t i = 0; i < turns * 100000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		sum += ((const uint64_t *)memory)[state >> 41];
	}
	result = sum;
}

/* The data cache: a list that is looked through for what is not there. */
APART static void planted_search(uint64_t turns)
{
	uint64_t left = turns * 100000;
	for (const uint64_t *at = (const uint64_t *)memory; left; left--) {
		if (at[1] == 12345)
			break;
		at = (const uint64_t *)*at;
	}
	result = left;
}

/* The data TLB: columns of a matrix, whose rows are more than a page. */
APART static void planted_column(uint64_t turns)
{
	enum { ROWS = 4000, WORDS = 520 };
	double sum = 0;
	for (uint64_t i = 0; i < turns * 10; i++)
		for (int column = 0; column < 8; column++)
			for (int row = 0; row < ROWS; row++)
				sum += ((const double *)memory)[row * WORDS + column * 8];
	result = (uint64_t)sum;
}

/* Jumps that nobody can foresee. */
APART static void planted_switch(uint64_t turns)
{
	static const void *const places[] = {&&one, &&two, &&three, &&four};
	uint64_t state = 88172645463325252u, sum = 0, left = turns * 100000;
next:
	if (!left--) {
		result = sum;
		return;
	}
	goto *places[mixed(&state) & 3];
one:
	sum += 1;
	goto next;
two:
	sum ^= 2;
	goto next;
three:
	sum -= 3;
	goto next;
four:
	sum *= 5;
	goto next;
}

/* The unit for roots. */
APART static void planted_root(uint64_t turns)
{
	double value = 2;
	for (uint64_t i = 0; i < turns * 100000; i++)
		__asm__ volatile("sqrtsd %0, %0" : "+x"(value));
	result = (uint64_t)value;
}

/* The store buffer: words of 64 MiB in random order. */
APART static void planted_scatter(uint64_t turns)
{
	uint64_t state = 1;
	for (uint64_t i = 0; i < turns * 100000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		((uint64_t *)memory)[state >> 41] = state;
	}
}

/* Synchronization: a fence behind each store. */
APART static void planted_fence(uint64_t turns)
{
	for (uint64_t i = 0; i < turns * 100000; i++) {
		*(volatile uint64_t *)memory = i;
		__asm__ volatile("mfence" ::: "memory");
	}
}

static uint64_t turn_of;

/* Synchronization: two threads take turns, and pause meanwhile. */
APART static void *planted_spin(void *turns)
{
	static uint64_t next_number;
	uint64_t own = __atomic_fetch_add(&next_number, 1, __ATOMIC_SEQ_CST);
	for (uint64_t i = own; i < *(uint64_t *)turns * 10000; i += 2) {
		while (__atomic_load_n(&turn_of, __ATOMIC_ACQUIRE) != i)
			__builtin_ia32_pause();
		__atomic_store_n(&turn_of, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void spin_twice(uint64_t turns)
{
	pthread_t other;
	pthread_create(&other, NULL, planted_spin, &turns);
	planted_spin(&turns);
	pthread_join(other, NULL);
}

/* A ring through all lines in random order. */
static void make_ring(void)
{
	uint32_t *order = malloc(LINES * sizeof(*order));
	uint64_t state = 88172645463325252u;
	for (uint32_t i = 0; i < LINES; i++)
		order[i] = i;
	for (uint32_t i = LINES - 1; i > 0; i--) {
		uint32_t other = (uint32_t)(mixed(&state) % (i + 1)), kept = order[i];
		order[i] = order[other];
		order[other] = kept;
	}
	for (uint32_t i = 0; i < LINES; i++)
		*(char **)(memory + (size_t)order[i] * LINE) =
		    memory + (size_t)order[(i + 1) % LINES] * LINE;
	free(order);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(uint64_t turns);
		uint64_t turns;
	} all[] = {{"chase", planted_chase, 150},     {"pages", planted_pages, 800},
		   {"branch", planted_branch, 1000},  {"divide", planted_divide, 2000},
		   {"stores", planted_stores, 1000},  {"code", planted_code, 1500},
		   {"lock", lock_twice, 300},	      {"search", planted_search, 150},
		   {"hash", planted_hash, 400},	      {"column", planted_column, 100},
		   {"switch", planted_switch, 800},   {"root", planted_root, 800},
		   {"scatter", planted_scatter, 300}, {"fence", planted_fence, 300},
		   {"spin", spin_twice, 50}};
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, BYTES, MADV_NOHUGEPAGE);
	memset(memory, 1, BYTES);
	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(argv[1], all[i].name) != 0)
			continue;
		if (!strcmp(argv[1], "chase") || !strcmp(argv[1], "search"))
			make_ring();
		all[i].run(argc > 2 ? strtoull(argv[2], NULL, 10) : all[i].turns);
		return 0;
	}
	fprintf(stderr, "planted NAME [TURNS]\n");
	return 1;
}
