/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that come and go at the same addresses while threads run in them and are sampled.
 *
 * reload SECONDS-OF-CPU FIRST.so SECOND.so: each of four threads loads one of the two, works in it,
 * unloads it, and so on; the libraries are this file compiled with -DSN_LIBRARY=NAME -shared.
 * reload huge: the program copies its own code to anonymous memory at the same address, then works.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static double cpu_seconds(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#ifdef SN_LIBRARY
#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define FRAME	     (256 + 64 * (sizeof(SN_TEXT) - 1))

static uint64_t NOINLINE PASTE(SN_LIBRARY, _work)(uint64_t rounds)
{
	volatile char frame[FRAME];
	uint64_t sum = 0;
	for (uint64_t round = 0; round < rounds; round++) {
		frame[round % FRAME] = (char)round;
		sum += (uint64_t)frame[(round * 7) % FRAME];
	}
	return sum;
}

uint64_t library_entry(uint64_t rounds);
uint64_t NOINLINE library_entry(uint64_t rounds)
{
	uint64_t sum = PASTE(SN_LIBRARY, _work)(rounds) + cpu_seconds(CLOCK_MONOTONIC) / 1e6;
	__asm__ volatile("" ::: "memory");
	return sum;
}
#else
static double wanted;
static char **libraries;

static void *NOINLINE load_work_unload(void *number)
{
	double end = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) + wanted;
	for (unsigned round = (unsigned)(uintptr_t)number;
	     cpu_seconds(CLOCK_THREAD_CPUTIME_ID) < end; round++) {
		void *handle = dlopen(libraries[round % 2], RTLD_NOW | RTLD_LOCAL);
		uint64_t (*entry)(uint64_t);
		*(void **)&entry = handle ? dlsym(handle, "library_entry") : NULL;
		if (!entry)
			exit(3);
		entry(200000);
		dlclose(handle);
	}
	return NULL;
}

static int reload(void)
{
	pthread_t threads[4];
	for (uintptr_t number = 0; number < 4; number++)
		pthread_create(&threads[number], NULL, load_work_unload, (void *)number);
	for (unsigned number = 0; number < 4; number++)
		pthread_join(threads[number], NULL);
	return 0;
}

static void NOINLINE burn(double seconds)
{
	double end = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds;
	for (volatile unsigned round = 0; cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) < end;)
		for (unsigned inner = 0; inner < 10000; inner++)
			round++;
}

extern char __executable_start, etext;

/* All pages of code at once: mremap is in the C library, which stays where it is. */
static void NOINLINE move_to_huge_pages(void)
{
	uintptr_t page = 4096, start = (uintptr_t)move_to_huge_pages & ~(page - 1);
	uintptr_t end = ((uintptr_t)&etext + page - 1) & ~(page - 1);
	void *copy =
	    mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, (void *)start, end - start);
	mprotect(copy, end - start, PROT_READ | PROT_EXEC);
	mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start);
}

int main(int count, char **arguments)
{
	if (count == 2 && !strcmp(arguments[1], "huge")) {
		burn(0.05);
		move_to_huge_pages();
		burn(0.5);
		return 0;
	}
	if (count != 4)
		return 2;
	wanted = atof(arguments[1]);
	libraries = arguments + 2;
	return reload();
}
#endif
