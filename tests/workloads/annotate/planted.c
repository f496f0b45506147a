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
	} all[] = {{"chase", planted_chase, 150},    {"pages", planted_pages, 800},
		   {"branch", planted_branch, 1000}, {"divide", planted_divide, 2000},
		   {"stores", planted_stores, 1000}, {"code", planted_code, 1500},
		   {"lock", lock_twice, 300}};
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, BYTES, MADV_NOHUGEPAGE);
	memset(memory, 1, BYTES);
	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(argv[1], all[i].name) != 0)
			continue;
		if (i == 0)
			make_ring();
		all[i].run(argc > 2 ? strtoull(argv[2], NULL, 10) : all[i].turns);
		return 0;
	}
	fprintf(stderr, "planted chase|pages|branch|divide|stores|code|lock [TURNS]\n");
	return 1;
}
