/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -lrt */
/*
 * A handler of the program's own, without SA_RESTART, still ends the calls that wait, and one with
 * SA_RESTART ends only those that never restart.
 */
#include "wait_on.h"

/* ---- the program's own handlers still cut calls ---- */

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static const struct {
	const char *name;
	int (*call)(void);
} cut_calls[] = {
    {"read", wake_read},       {"event", wake_event},	{"sem_wait", wake_sem_wait},
    {"semop", wake_semop},     {"msgrcv", wake_msgrcv}, {"mq_receive", wake_mq_receive},
    {"inotify", wake_inotify},
};

static int long_poll(void)
{
	return OR_ERRNO(poll(NULL, 0, 2000));
}
static int long_select(void)
{
	return OR_ERRNO(select(0, NULL, NULL, NULL, &(struct timeval){2, 0}));
}
static int long_pselect(void)
{
	return OR_ERRNO(pselect(0, NULL, NULL, NULL, &(struct timespec){2, 0}, NULL));
}
static int long_ppoll(void)
{
	return OR_ERRNO(ppoll(NULL, 0, &(struct timespec){2, 0}, NULL));
}
static int long_epoll(void)
{
	struct epoll_event event;
	return OR_ERRNO(epoll_wait(on.set, &event, 1, 2000));
}
static int long_nanosleep(void)
{
	struct timespec left = {0};
	int error = OR_ERRNO(nanosleep(&(struct timespec){2, 0}, &left));
	return left.tv_sec == 1 ? error : -1;
}
static int long_clock_nanosleep(void)
{
	struct timespec left = {0};
	int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){2, 0}, &left);
	return left.tv_sec == 1 ? error : -1;
}
static int long_usleep(void)
{
	return OR_ERRNO(usleep(900000));
}
static int long_sleep(void)
{
	return sleep(3) ? EINTR : 0;
}
static int long_pause(void)
{
	return OR_ERRNO(pause());
}
static int long_suspend(void)
{
	sigset_t none;
	sigemptyset(&none);
	return OR_ERRNO(sigsuspend(&none));
}
static int long_wait(void)
{
	return OR_ERRNO(wait(NULL));
}
static int long_flock(void)
{
	int own = open("held", O_RDWR);
	int error = OR_ERRNO(flock(own, LOCK_EX));
	close(own);
	return error;
}
static int long_accept(void)
{
	return OR_ERRNO(accept(on.listener, NULL, NULL));
}
static int long_recv(void)
{
	char byte;
	return OR_ERRNO(recv(on.pair[1], &byte, 1, 0));
}
static int long_write(void)
{
	return OR_ERRNO(write(on.full[0], "x", 1));
}
static int long_sem_timedwait(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, 900000000);
	return OR_ERRNO(sem_timedwait(&on.semaphore, &until));
}
static int long_sigtimedwait(void)
{
	sigset_t set = set_of(SIGUSR2, 0);
	return OR_ERRNO(sigtimedwait(&set, NULL, &(struct timespec){2, 0}));
}
static int long_getitimer_join(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, 30000000);
	pthread_mutex_lock(&on.mutex);
	int error = pthread_cond_timedwait(&on.condition, &on.mutex, &until);
	pthread_mutex_unlock(&on.mutex);
	return error;
}

static const struct {
	const char *name;
	int (*call)(void);
} long_calls[] = {
    {"poll", long_poll},
    {"select", long_select},
    {"pselect", long_pselect},
    {"ppoll", long_ppoll},
    {"epoll_wait", long_epoll},
    {"nanosleep", long_nanosleep},
    {"clock_nanosleep", long_clock_nanosleep},
    {"usleep", long_usleep},
    {"sleep", long_sleep},
    {"pause", long_pause},
    {"sigsuspend", long_suspend},
    {"wait", long_wait},
    {"flock", long_flock},
    {"accept", long_accept},
    {"recv", long_recv},
    {"write", long_write},
    {"sem_timedwait", long_sem_timedwait},
    {"sigtimedwait", long_sigtimedwait},
    {"condition", long_getitimer_join},
};

static void own_alarm(int first_ms, int flags)
{
	struct itimerval once = {.it_value = {0, first_ms * 1000}, .it_interval = {0, 50000}},
			 off = {0};
	set_up();
	MUST(inotify_add_watch(on.inotify, "/", IN_UNMOUNT));
	limit_waits(on.full[0]);
	setsockopt(on.listener, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){2, 0},
		   sizeof(struct timeval));
	setsockopt(on.full[0], SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){2, 0},
		   sizeof(struct timeval));
	int held = MUST(open("held", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	MUST(flock(held, LOCK_EX));
	pid_t child = MUST(fork());
	if (!child)
		for (;;)
			pause();
	set_handler(SIGALRM, on_alarm, flags);
	for (size_t index = 0; index < sizeof(cut_calls) / sizeof(*cut_calls); index++) {
		setitimer(ITIMER_REAL, &once, NULL);
		spin();
		int error = cut_calls[index].call();
		setitimer(ITIMER_REAL, &off, NULL);
		say("%s: %s\n", cut_calls[index].name, strerror(error));
	}
	for (size_t index = 0; index < sizeof(long_calls) / sizeof(*long_calls); index++) {
		alarms = 0;
		setitimer(ITIMER_REAL, &once, NULL);
		spin();
		int error = long_calls[index].call();
		setitimer(ITIMER_REAL, &off, NULL);
		say("%s: %s, alarms %d\n", long_calls[index].name, strerror(error), alarms ? 1 : 0);
	}
	kill(child, SIGKILL);
	say("%s\n", ended(child));
	unlink("held");
	tear_down();
}

CASE(own_alarm_cuts)
{
	own_alarm(20, 0);
}

/* With SA_RESTART only those that never restart are cut; the others get what they wait for. */
CASE(own_alarm_restarts)
{
	struct itimerval once = {.it_value = {0, 20000}};
	int ends[2];
	char byte = 0;
	MUST(pipe(ends));
	set_handler(SIGALRM, on_alarm, SA_RESTART);
	for (int round = 0; round < 8; round++) {
		pid_t child = MUST(fork());
		if (!child) {
			pause_ns(60000000);
			MUST(write(ends[1], "x", 1));
			_exit(0);
		}
		setitimer(ITIMER_REAL, &once, NULL);
		spin();
		ssize_t got = read(ends[0], &byte, 1);
		say("read %zd, alarms %d, ", got, (int)alarms);
		setitimer(ITIMER_REAL, &once, NULL);
		say("%s\n", ended(child));
	}
	setitimer(ITIMER_REAL, &once, NULL);
	spin();
	say("poll: %s\n", strerror(long_poll()));
}

/* A short write that the program's own handler makes: some bytes went, and it is told how many. */
CASE(own_alarm_short_write)
{
	int ends[2];
	static char bytes[1 << 20];
	/* again and again, for the first may come before the write */
	struct itimerval often = {{0, 30000}, {0, 30000}}, never = {0};
	MUST(pipe(ends));
	set_handler(SIGALRM, on_alarm, 0);
	for (int round = 0; round < 5; round++) {
		alarms = 0;
		setitimer(ITIMER_REAL, &often, NULL);
		spin();
		ssize_t wrote = write(ends[1], bytes, sizeof(bytes));
		setitimer(ITIMER_REAL, &never, NULL);
		say("wrote %zd, alarms %d\n", wrote, alarms > 0);
		for (ssize_t left = wrote, got; left > 0; left -= got)
			got = MUST(read(ends[0], bytes, (size_t)left));
		if (wrote < 0)
			break;
	}
}
