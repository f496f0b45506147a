/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line on a terminal that says what a command is doing; see command.h. A thread draws it. Others
 * that write to stderr erase it first, under the stream's own lock.
 */
#include "command.h"

#include "base/progress/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What is done sooner needs no line. */
enum { FIRST_MS = 1000, NEXT_MS = 200 };

static struct {
	pthread_t thread;
	pthread_mutex_t lock; /* of is_over */
	pthread_cond_t ended;
	bool is_over, is_running;
	struct timespec start;
} display = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool is_drawn;
static char drawn[160];

void sn_progress_erase(void)
{
	static const char erase[] = "\r\033[K";
	if (atomic_exchange(&is_drawn, false) && write(STDERR_FILENO, erase, strlen(erase)) < 0)
		return; /* the terminal is gone */
}

/* The columns of stderr; a line that reaches the last one would go on in the next. */
static int columns(void)
{
	struct winsize size;
	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

static void draw(void)
{
	struct sn_progress now = sn_progress_now();
	struct timespec time;
	char line[sizeof(drawn)], share[16] = "";
	/* another command of the shell has the terminal */
	if (tcgetpgrp(STDERR_FILENO) != getpgrp())
		return;
	clock_gettime(CLOCK_MONOTONIC, &time);
	if (now.done && now.done <= now.total)
		snprintf(share, sizeof(share), "%" PRIu64 "%%, ",
			 (uint64_t)((double)now.done / (double)now.total * 100));
	int length = snprintf(line, sizeof(line), "\r\033[Ksonde: %s, %s%lld s",
			      now.step ? now.step : "working", share,
			      (long long)(time.tv_sec - display.start.tv_sec));
	int most = columns() - 1 + (int)strlen("\r\033[K");
	line[length < most ? length : most] = 0;
	flockfile(stderr);
	if (!atomic_exchange(&is_drawn, true) || strcmp(line, drawn) != 0) {
		strcpy(drawn, line);
		if (write(STDERR_FILENO, line, strlen(line)) < 0)
			atomic_store(&is_drawn, false);
	}
	funlockfile(stderr);
}

static void *show(void *unused)
{
	struct timespec next = display.start;
	(void)unused;
	pthread_mutex_lock(&display.lock);
	for (long wait_ms = FIRST_MS; !display.is_over; wait_ms = NEXT_MS) {
		next.tv_sec += wait_ms / 1000;
		next.tv_nsec += wait_ms % 1000 * 1000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		while (!display.is_over &&
		       !pthread_cond_timedwait(&display.ended, &display.lock, &next))
			;
		if (!display.is_over)
			draw();
	}
	pthread_mutex_unlock(&display.lock);
	return unused;
}

static bool is_file(int fd)
{
	struct stat status;
	return !fstat(fd, &status) && S_ISREG(status.st_mode);
}

void sn_progress_show(bool prints_meanwhile)
{
	pthread_condattr_t clock;
	sigset_t all, before;
	if (display.is_running || !sn_terminal_obeys(stderr) ||
	    (prints_meanwhile && !is_file(STDOUT_FILENO)) || sn_progress_watch())
		return;
	display.is_over = false;
	clock_gettime(CLOCK_MONOTONIC, &display.start);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&display.ended, &clock);
	pthread_condattr_destroy(&clock);
	/* signals are for the threads that work */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	display.is_running = !pthread_create(&display.thread, NULL, show, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sn_progress_end(void)
{
	if (!display.is_running)
		return;
	pthread_mutex_lock(&display.lock);
	display.is_over = true;
	pthread_cond_signal(&display.ended);
	pthread_mutex_unlock(&display.lock);
	pthread_join(display.thread, NULL);
	pthread_cond_destroy(&display.ended);
	display.is_running = false;
	sn_progress_erase();
}
