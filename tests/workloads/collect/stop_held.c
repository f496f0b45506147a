/* SPDX-License-Identifier: Apache-2.0 */
/* A thread is held where it writes the measurement, by a process that traces it. Meanwhile the program ends being measured: "checkpoint": another
 * thread does, after it has computed; "stop": the held one does, and so does another; "exit": the held one does, and another exits. */
#include <pthread.h>
#include <signal.h>
#include <sonde/sonde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int to_holder[2], to_held[2], to_main[2];
static volatile int is_over;
static volatile int *may_be_held; /* of both processes */

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
	burn(200);
	__asm__ volatile("");
}

static void __attribute__((noinline)) after(void)
{
	burn(100);
	__asm__ volatile("");
}

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		abort();
}

static void hear(int fd)
{
	char byte;
	if (read(fd, &byte, 1) != 1)
		exit(1);
}

/* Whether it is about to write the measurement. A trace is written before that, and whenever there is enough of it. */
static int is_writing(pid_t tid)
{
	static const char suffix[] = ".sonde-process";
	struct user_regs_struct registers = {0};
	char link[64], file[4096];
	if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) || registers.orig_rax != SYS_pwrite64 ||
	    !*may_be_held)
		return 0;
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", tid, (int)registers.rdi);
	ssize_t length = readlink(link, file, sizeof(file) - 1);
	ssize_t rest = length - (ssize_t)strlen(suffix);
	return rest > 0 && !memcmp(file + rest, suffix, strlen(suffix));
}

/* Until the thread is about to write, until it is said that it may, and for a while. */
static void hold(void)
{
	int status, signal, writes = 0;
	pid_t tid;
	if (read(to_holder[0], &tid, sizeof(tid)) != sizeof(tid) ||
	    ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return;
	tell(to_held[1]);
	while (!writes) {
		if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return;
		signal = status >> 16 || WSTOPSIG(status) & 0x80 ? 0 : WSTOPSIG(status);
		writes = is_writing(tid);
		if (!writes)
			ptrace(PTRACE_SYSCALL, tid, NULL, signal);
	}
	tell(to_main[1]);
	hear(to_holder[0]);
	usleep(300000);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

static void *held(void *how)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	before();
	if (write(to_holder[1], &tid, sizeof(tid)) != sizeof(tid))
		abort();
	hear(to_held[0]);
	*may_be_held = 1;
	if (strcmp(how, "checkpoint"))
		sonde_stop();
	while (!is_over)
		burn(1);
	return NULL;
}

int main(int argc, char **argv)
{
	char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	may_be_held = mmap(NULL, sizeof(*may_be_held), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (may_be_held == MAP_FAILED || pipe(to_holder) || pipe(to_held) || pipe(to_main))
		return 1;
	pid_t holder = fork();
	if (!holder) {
		close(to_holder[1]);
		hold();
		_exit(0);
	}
	close(to_held[1]);
	close(to_main[1]);
	prctl(PR_SET_PTRACER, holder, 0, 0, 0);
	pthread_create(&thread, NULL, held, how);
	hear(to_main[0]); /* it writes */
	before();
	tell(to_holder[1]);
	if (!strcmp(how, "exit"))
		exit(5);
	sonde_stop();
	after();
	is_over = 1;
	return 5;
}
