/* SPDX-License-Identifier: Apache-2.0 */
/*
 * long_calls N: N system calls that take some 100 ms of CPU time each, and little memory (page
 * tables to the page of zeros): CPU-time timers miss their periods, as on a busy machine.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define BYTES (1ul << 30)

int main(int argc, char **argv)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_POPULATE;
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	for (int calls = argc > 1 ? atoi(argv[1]) : 1; calls > 0; calls--) {
		void *pages = mmap(NULL, BYTES, PROT_READ, flags, -1, 0);
		if (pages == MAP_FAILED)
			return 1;
		munmap(pages, BYTES);
	}
	return 0;
}
