/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads whose CPU-time timers come late, as on a busy machine: here because the kernel works long
 * for one call. A profiler may look for another clock then, in the middle of what the program does.
 */
#include "behave.h"

#define LONG_CALL_BYTES (1ul << 30)

/* One call that takes some 100 ms of CPU time, and little memory: page tables to the page of
 * zeros. */
static void call_long(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_POPULATE;
	munmap(MUST(mmap(NULL, LONG_CALL_BYTES, PROT_READ, flags, -1, 0)), LONG_CALL_BYTES);
}

static void starve(int calls)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	while (calls--)
		call_long();
}

/* What replaces the image takes long, too. */
#define ENTRIES 400000
CASE(exec)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	char **environment = MUST(malloc((ENTRIES + 1) * sizeof(char *)));
	int bad = 0;
	for (int index = 0; index < ENTRIES; index++)
		environment[index] = "A=";
	environment[ENTRIES] = NULL;
	if (setrlimit(RLIMIT_STACK, &unlimited))
		skip("the stack is limited");
	for (int round = 0; round < 6; round++) {
		pid_t child = MUST(fork());
		if (!child) {
			starve(3);
			execve("/bin/true", (char *[]){"true", NULL}, environment);
			say("not executed: %s\n", strerror(errno));
			_exit(1);
		}
		bad += strcmp(ended(child), "exit 0") != 0;
	}
	say("%d ended otherwise\n", bad);
}
