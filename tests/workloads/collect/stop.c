/* SPDX-License-Identifier: Apache-2.0 */
/* Computes, ends being measured in the middle, and computes on: in two threads. With "twice" it ends so twice, with "start" it starts a
 * program afterwards, with "fork" a child; with "calls" the other thread goes on to call what is heard, and with "child" a child of fork ends
 * it. Prints what of the collector's the process has after that. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sonde/sonde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void burn(int milliseconds)
{
	struct timespec now;
	volatile unsigned long work = 1;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	long until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + milliseconds;
	do {
		for (int step = 0; step < 10000; step++)
			work = work * 6364136223846793005ul + 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until);
}

static void __attribute__((noinline)) before(void)
{
	SONDE_REGION("measured");
	burn(200);
	__asm__ volatile("");
}

static void __attribute__((noinline)) after(void)
{
	SONDE_REGION("unmeasured");
	burn(300);
	__asm__ volatile("");
}

static pthread_barrier_t barrier;

/* The kernel's answer, past all wrappers. */
static void *signal_stack(void)
{
	stack_t stack = {0};
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_sigaltstack), "D"(NULL), "S"(&stack)
			 : "rcx", "r11", "memory");
	return result || stack.ss_flags & SS_DISABLE ? NULL : stack.ss_sp;
}

static long resident_pages(void)
{
	long all, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (file && fscanf(file, "%ld %ld", &all, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return resident;
}

/* Of regions alone, 20,000 names would take some MiB. */
static int calls_are_kept(void)
{
	char name[32];
	long before = resident_pages();
	sonde_region_end(); /* begun before the stop */
	for (int round = 0; round < 20000; round++) {
		snprintf(name, sizeof(name), "unmeasured %d", round);
		sonde_region_begin(name);
		sonde_message_sent(sonde_message_begin(), 1, 0, 8);
		sonde_message_received(sonde_message_begin(), 1, 0, 8);
		if (round % 2)
			sonde_region_end();
	}
	sonde_trace_start();
	sonde_iteration_begin("unmeasured");
	sonde_iteration_end();
	sonde_trace_stop();
	return resident_pages() - before > 128;
}

static int left; /* of the collector's, and what it keeps */

static void *other(void *how)
{
	void *stack = signal_stack();
	before();
	if (!strcmp(how, "calls"))
		sonde_region_begin("open");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	if (!strcmp(how, "calls"))
		left += calls_are_kept();
	after();
	return stack;
}

static void *late(void *unused)
{
	after();
	return unused;
}

static int timers(void)
{
	int count = 0;
	char line[256];
	FILE *file = fopen("/proc/self/timers", "r");
	while (file && fgets(line, sizeof(line), file))
		count += !strncmp(line, "ID:", 3);
	if (file)
		fclose(file);
	return count;
}

static int events(void)
{
	int count = 0;
	char path[300], target[64] = "";
	DIR *directory = opendir("/proc/self/fd");
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		ssize_t length = readlink(path, target, sizeof(target) - 1);
		target[length < 0 ? 0 : length] = 0;
		count += !strcmp(target, "anon_inode:[perf_event]");
	}
	if (directory)
		closedir(directory);
	return count;
}

static int is_mapped(void *address)
{
	unsigned char there;
	return address && !mincore(address, 1, &there);
}

/* Strings and array as the program was given them. */
static int has_changed(char **environment)
{
	static char *entries[1024], *texts[1024];
	int changed = 0;
	for (int at = 0; at < 1023 && (entries[at] || environment[at]); at++) {
		changed +=
		    texts[at] && (entries[at] != environment[at] || strcmp(texts[at], entries[at]));
		if (environment[at] && !texts[at])
			texts[at] = strdup(entries[at] = environment[at]);
	}
	return changed;
}

static void wait_for(pid_t child)
{
	int status;
	waitpid(child, &status, 0);
	if (status)
		printf("child %d\n", status);
}

static void end_in_child(void)
{
	pid_t child = fork();
	if (!child) {
		before();
		sonde_stop();
		after();
		exit(0);
	}
	wait_for(child);
	before();
	printf("%s\n", "parent goes on");
}

int main(int argc, char **argv, char **environment)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread, later;
	void *stack;
	int changed;
	if (!strcmp(how, "child")) {
		end_in_child();
		return 0;
	}
	pthread_barrier_init(&barrier, NULL, 2);
	has_changed(environment);
	pthread_create(&thread, NULL, other, (void *)how);
	before();
	pthread_barrier_wait(&barrier);
	sonde_stop();
	if (!strcmp(how, "twice"))
		sonde_stop();
	left = timers();
	pthread_barrier_wait(&barrier);
	after();
	pthread_create(&later, NULL, late, NULL);
	pthread_join(later, NULL);
	pthread_join(thread, &stack);
	left += is_mapped(stack) + events();
	changed = has_changed(environment);
	if (!strcmp(how, "fork")) {
		pid_t child = fork();
		if (!child) {
			after();
			exit(0);
		}
		wait_for(child);
	}
	if (!strcmp(how, "start"))
		printf("%s %d\n", getenv("LD_PRELOAD") ? "preloaded" : "not preloaded",
		       system("true"));
	printf("preloaded: %s; %d changed in the environment; %d left\n",
	       getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "", changed, left + timers());
	return 5;
}
