/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions and iterations whose number and place are known, for tests/cli/collect/test_region.py.
 * The same file is compiled as C and C++, in many ways, and once more as a library that is loaded
 * while running.
 */
#include <sonde/sonde.h>

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static NOINLINE void burn(long milliseconds)
{
	struct timespec now, start;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec <
	       milliseconds * 1000000);
}

#ifdef AS_LIBRARY

#ifdef __cplusplus
extern "C"
#endif
    void
    library_work(void);

NOINLINE void library_work(void)
{
	SONDE_REGION("of the library");
	burn(2);
}

#else

static NOINLINE void inner(void)
{
	for (int i = 0; i < 4; i++) {
		SONDE_ITERATION("turn");
		burn(3);
	}
}

static NOINLINE int early(int value)
{
	SONDE_REGION("early");
	if (value)
		return value;
	burn(1000);
	return 0;
}

static NOINLINE void outer(void)
{
#ifdef __cplusplus
	sonde::region whole{"outer"};
#else
	SONDE_REGION("outer");
#endif
	burn(2);
	inner();
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		outer();
	printf("early %d\n", early(7));
	sonde_region_begin("plain");
	burn(1);
	sonde_region_end();
	sonde_region_end(); /* one too many */
	if (argc > 1) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void (*work)(void) =
		    library ? (void (*)(void))dlsym(library, "library_work") : NULL;
		if (!work) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		work();
	}
	sonde_region_begin("left open");
	return 0;
}

#endif
