/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that sampling by signals can cost: a preloaded library that arms what Sonde arms, a
 * perf task-clock event (or at most 250 Hz, a CPU-time timer), with a handler that returns at once.
 * What a profiler costs above this is its own. FLOOR_HZ in the environment sets the rate.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void on_signal(int signal, siginfo_t *info, void *context)
{
}

static void arm_perf(unsigned hz)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
					     .size = sizeof(attributes),
					     .config = PERF_COUNT_SW_TASK_CLOCK,
					     .sample_period = 1000000000u / hz,
					     .wakeup_events = 1,
					     .exclude_hv = 1,
					     .exclude_idle = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
	struct f_owner_ex owner = {F_OWNER_TID, (int)syscall(SYS_gettid)};
	fcntl(fd, F_SETSIG, SIGURG);
	fcntl(fd, F_SETOWN_EX, &owner);
	fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
}

static void arm_timer(unsigned hz)
{
	struct sigevent notify = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	notify._sigev_un._tid = (int)syscall(SYS_gettid);
	struct timespec period = {0, 1000000000 / (long)hz};
	struct itimerspec setting = {period, period};
	timer_t timer;
	timer_create(CLOCK_THREAD_CPUTIME_ID, &notify, &timer);
	timer_settime(timer, 0, &setting, NULL);
}

__attribute__((constructor)) static void start(void)
{
	const char *rate = getenv("FLOOR_HZ");
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGURG, &action, NULL);
	unsigned hz = rate ? (unsigned)atoi(rate) : 199;
	if (hz > 250)
		arm_perf(hz);
	else
		arm_timer(hz);
}
