/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our unwinder beside libunwind in any program: a library to preload. A timer interrupts the first
 * thread, both unwind from the same registers, and all program counters are compared. At exit one
 * file for each process is written to the folder ORACLE_OUTPUT: the line "samples N frames N differ
 * N", then for each of the first differences the two call paths.
 */
#include "collect/unwind/module_list.h"
#include "collect/unwind/unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAMES_MAX	512u
#define DIFFERENCES_MAX 40u
#define PERIOD_NS	700001 /* of no common factor with what programs do regularly */

struct path {
	unsigned count;
	uintptr_t pcs[FRAMES_MAX];
};

static struct sn_unwinder unwinder;
static uintptr_t stack_low, stack_high;
static unsigned long sample_count, frame_count, difference_count;
static struct path differences[DIFFERENCES_MAX][2];
static pid_t process;

static void by_ours(const ucontext_t *context, struct path *path)
{
	struct sn_unwind_result result =
	    sn_unwind(&unwinder, context, stack_low, stack_high, FRAMES_MAX);
	path->count = result.count;
	for (unsigned index = 0; index < result.count; index++)
		path->pcs[index] = result.frames[index].pc;
}

static void by_libunwind(const ucontext_t *context, struct path *path)
{
	unw_cursor_t cursor;
	static unw_context_t copy;
	memcpy(&copy, context, sizeof(copy));
	path->count = 0;
	if (unw_init_local2(&cursor, &copy, UNW_INIT_SIGNAL_FRAME) < 0)
		return;
	do {
		unw_word_t pc;
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc)
			path->pcs[path->count++] = pc;
	} while (path->count < FRAMES_MAX && unw_step(&cursor) > 0);
}

static void compare(int signal, siginfo_t *info, void *context)
{
	static struct path ours, theirs;
	int saved_errno = errno;
	(void)signal;
	(void)info;
	by_ours(context, &ours);
	by_libunwind(context, &theirs);
	sample_count++;
	frame_count += ours.count;
	if (ours.count != theirs.count ||
	    memcmp(ours.pcs, theirs.pcs, ours.count * sizeof(*ours.pcs))) {
		if (difference_count < DIFFERENCES_MAX) {
			differences[difference_count][0] = ours;
			differences[difference_count][1] = theirs;
		}
		difference_count++;
	}
	errno = saved_errno;
}

static void print_path(FILE *out, const char *whose, const struct path *path)
{
	fprintf(out, "%s", whose);
	for (unsigned index = 0; index < path->count; index++) {
		uint32_t number = sn_module_find(path->pcs[index]);
		const struct sn_module *module =
		    number == SN_MODULE_NONE ? NULL : sn_module_at(number);
		const char *slash = module ? strrchr(module->path, '/') : NULL;
		fprintf(out, " %s+%#lx",
			slash	 ? slash + 1
			: module ? module->path
				 : "?",
			path->pcs[index] - (module ? module->bias : 0));
	}
	fprintf(out, "\n");
}

static void __attribute__((destructor)) report(void)
{
	char name[4096];
	const char *folder = getenv("ORACLE_OUTPUT");
	signal(SIGURG, SIG_IGN);
	if (!folder || getpid() != process)
		return;
	snprintf(name, sizeof(name), "%s/%d", folder, (int)process);
	FILE *out = fopen(name, "w");
	if (!out)
		return;
	fprintf(out, "samples %lu frames %lu differ %lu\n", sample_count, frame_count,
		difference_count);
	for (unsigned index = 0; index < difference_count && index < DIFFERENCES_MAX; index++) {
		print_path(out, "ours", &differences[index][0]);
		print_path(out, "libunwind", &differences[index][1]);
	}
	fclose(out);
}

static void find_stack(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	stack_low = (uintptr_t)low;
	stack_high = stack_low + bytes;
}

static void __attribute__((constructor)) begin(void)
{
	static unsigned char handler_stack[1 << 20];
	stack_t alternate = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
	struct sigaction action = {.sa_sigaction = compare,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};
	timer_t timer;
	process = getpid();
	find_stack();
	sn_modules_init();
	sigfillset(&action.sa_mask);
	sigaltstack(&alternate, NULL);
	sigaction(SIGURG, &action, NULL);
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	/* not tick-limited, unlike timers of CPU time */
	if (!timer_create(CLOCK_MONOTONIC, &event, &timer))
		timer_settime(timer, 0, &period, NULL);
}
