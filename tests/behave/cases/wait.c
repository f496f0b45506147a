/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -lrt @libaio@ */
/*
 * Calls that wait. Where no handler of the program runs, none of them ends by EINTR. Each case
 * makes one call many times, for a fraction of a millisecond, after as much computing: a sample may
 * fall just as the thread goes to sleep.
 */
#include "wait_on.h"

#include <aio.h>
#include <linux/futex.h>
#include <termios.h>
#include <threads.h>
#if __has_include(<libaio.h>)
#include <libaio.h>
#define HAS_LIBAIO 1
#endif

#define ROUNDS	    500
#define TICK_ROUNDS 120 /* of calls whose limit is rounded up to the tick */
#define SHORT_NS    150000

static const struct timespec short_time = {0, SHORT_NS};

static int call_recv(void)
{
	char byte;
	return OR_ERRNO(recv(on.pair[0], &byte, 1, 0));
}
static int call_read_limited(void)
{
	char byte;
	return OR_ERRNO(read(on.pair[0], &byte, 1));
}
static int call_recvmsg(void)
{
	char byte;
	struct iovec part = {&byte, 1};
	return OR_ERRNO(
	    recvmsg(on.pair[0], &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1}, 0));
}
static int call_recvfrom(void)
{
	char byte;
	return OR_ERRNO(recvfrom(on.pair[0], &byte, 1, 0, NULL, NULL));
}
static int call_recvmmsg(void)
{
	char byte;
	struct iovec part = {&byte, 1};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
	struct timespec limit = short_time;
	return OR_ERRNO(recvmmsg(on.pair[0], &message, 1, 0, &limit));
}
static int call_send_limited(void)
{
	return OR_ERRNO(send(on.full[0], "x", 1, 0));
}
static int call_write_limited(void)
{
	return OR_ERRNO(write(on.full[0], "x", 1));
}
static int call_accept(void)
{
	return OR_ERRNO(accept(on.listener, NULL, NULL));
}
static int call_accept4(void)
{
	return OR_ERRNO(accept4(on.listener, NULL, NULL, SOCK_CLOEXEC));
}
static int call_poll(void)
{
	struct pollfd wait_for = {on.pipe[0], POLLIN, 0};
	return OR_ERRNO(poll(&wait_for, 1, 1));
}
static int call_ppoll(void)
{
	struct pollfd wait_for = {on.pipe[0], POLLIN, 0};
	return OR_ERRNO(ppoll(&wait_for, 1, &short_time, NULL));
}
static int call_select(void)
{
	struct timeval limit = {0, SHORT_NS / 1000};
	fd_set set;
	FD_ZERO(&set);
	FD_SET(on.pipe[0], &set);
	return OR_ERRNO(select(on.pipe[0] + 1, &set, NULL, NULL, &limit));
}
static int call_pselect(void)
{
	return OR_ERRNO(pselect(0, NULL, NULL, NULL, &short_time, NULL));
}
static int call_epoll_wait(void)
{
	struct epoll_event event;
	return OR_ERRNO(epoll_wait(on.set, &event, 1, 1));
}
static int call_epoll_pwait(void)
{
	struct epoll_event event;
	return OR_ERRNO(epoll_pwait(on.set, &event, 1, 1, NULL));
}
static int call_epoll_pwait2(void)
{
	struct epoll_event event;
	return OR_ERRNO(epoll_pwait2(on.set, &event, 1, &short_time, NULL));
}
static int call_epoll_raw(void)
{
	struct epoll_event event;
	return OR_ERRNO(syscall(SYS_epoll_wait, on.set, &event, 1, 1));
}
static int call_nanosleep(void)
{
	return OR_ERRNO(nanosleep(&short_time, NULL));
}
static int call_nanosleep_raw(void)
{
	return OR_ERRNO(syscall(SYS_nanosleep, &short_time, NULL));
}
static int call_clock_nanosleep(void)
{
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL);
}
static int call_clock_nanosleep_until(void)
{
	struct timespec until = from_now(CLOCK_MONOTONIC, SHORT_NS);
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
static int call_usleep(void)
{
	return OR_ERRNO(usleep(SHORT_NS / 1000));
}
static int call_thrd_sleep(void)
{
	return thrd_sleep(&short_time, NULL) ? EINTR : 0;
}
static int call_sem_timedwait(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, SHORT_NS);
	return OR_ERRNO(sem_timedwait(&on.semaphore, &until));
}
static int call_sem_clockwait(void)
{
	struct timespec until = from_now(CLOCK_MONOTONIC, SHORT_NS);
	return OR_ERRNO(sem_clockwait(&on.semaphore, CLOCK_MONOTONIC, &until));
}
static int call_cond_timedwait(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, SHORT_NS);
	pthread_mutex_lock(&on.mutex);
	int error = pthread_cond_timedwait(&on.condition, &on.mutex, &until);
	pthread_mutex_unlock(&on.mutex);
	return error;
}
static int call_cond_clockwait(void)
{
	struct timespec until = from_now(CLOCK_MONOTONIC, SHORT_NS);
	pthread_mutex_lock(&on.mutex);
	int error = pthread_cond_clockwait(&on.condition, &on.mutex, CLOCK_MONOTONIC, &until);
	pthread_mutex_unlock(&on.mutex);
	return error;
}
static int call_sigtimedwait(void)
{
	sigset_t set = set_of(SIGUSR2, 0);
	return OR_ERRNO(sigtimedwait(&set, NULL, &short_time));
}
static int call_mq_timedreceive(void)
{
	char text[16];
	struct timespec until = from_now(CLOCK_REALTIME, SHORT_NS);
	return OR_ERRNO(mq_timedreceive(on.messages, text, sizeof(text), NULL, &until));
}
static int call_mq_timedsend(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, SHORT_NS);
	mq_timedsend(on.messages, "x", 1, 0, &until);
	return OR_ERRNO(mq_timedsend(on.messages, "x", 1, 0, &until));
}
static int call_semtimedop(void)
{
	struct sembuf operation = {0, -1, 0};
	return OR_ERRNO(semtimedop(on.semaphores, &operation, 1, &short_time));
}
static int call_futex_raw(void)
{
	return OR_ERRNO(syscall(SYS_futex, &on.word, FUTEX_WAIT_PRIVATE, 0, &short_time));
}
static int call_timerfd(void)
{
	uint64_t count;
	struct itimerspec set = {.it_value = short_time};
	timerfd_settime(on.timer, 0, &set, NULL);
	return OR_ERRNO(read(on.timer, &count, sizeof(count)));
}
static int call_aio_suspend(void)
{
	static struct aiocb request;
	const struct aiocb *list[] = {&request};
	static bool begun;
	static char byte;
	if (!begun) {
		request =
		    (struct aiocb){.aio_fildes = on.pair[1], .aio_buf = &byte, .aio_nbytes = 1};
		MUST(aio_read(&request));
	}
	begun = true;
	return OR_ERRNO(aio_suspend(list, 1, &short_time));
}
#ifdef HAS_LIBAIO
static int call_io_getevents(void)
{
	static io_context_t context;
	struct io_event event;
	struct timespec limit = short_time;
	if (!context && io_setup(4, &context))
		return 0;
	int status = io_getevents(context, 1, 1, &event, &limit);
	return status < 0 ? -status : 0;
}
#endif

/* EINTR after computing, with a helper that keeps asking for the processor? None: counted as plain.
 */
static void never_cut(int (*call)(void), int rounds)
{
	int cut = 0;
	sigset_t two = set_of(SIGUSR2, 0);
	set_up();
	sigprocmask(SIG_BLOCK, &two, NULL);
	for (int round = 0; round < rounds; round++) {
		spin();
		cut += call() == EINTR;
	}
	say("cut: %d\n", cut);
	tear_down();
}

#define NEVER_CUT_LONG(name)                                                                       \
	CASE(name)                                                                                 \
	{                                                                                          \
		never_cut(call_##name, TICK_ROUNDS);                                               \
	}
#define NEVER_CUT(name)                                                                            \
	CASE(name)                                                                                 \
	{                                                                                          \
		never_cut(call_##name, ROUNDS);                                                    \
	}

NEVER_CUT_LONG(recv)
NEVER_CUT_LONG(read_limited)
NEVER_CUT_LONG(recvmsg)
NEVER_CUT_LONG(recvfrom)
NEVER_CUT_LONG(recvmmsg)
NEVER_CUT_LONG(send_limited)
NEVER_CUT_LONG(write_limited)
NEVER_CUT_LONG(accept)
NEVER_CUT_LONG(accept4)
NEVER_CUT(poll)
NEVER_CUT(ppoll)
NEVER_CUT(select)
NEVER_CUT(pselect)
NEVER_CUT(epoll_wait)
NEVER_CUT(epoll_pwait)
NEVER_CUT(epoll_pwait2)
NEVER_CUT(epoll_raw)
NEVER_CUT(nanosleep)
NEVER_CUT(nanosleep_raw)
NEVER_CUT(clock_nanosleep)
NEVER_CUT(clock_nanosleep_until)
NEVER_CUT(usleep)
NEVER_CUT(thrd_sleep)
NEVER_CUT(sem_timedwait)
NEVER_CUT(sem_clockwait)
NEVER_CUT(cond_timedwait)
NEVER_CUT(cond_clockwait)
NEVER_CUT(sigtimedwait)
NEVER_CUT(mq_timedreceive)
NEVER_CUT(mq_timedsend)
NEVER_CUT(semtimedop)
NEVER_CUT(futex_raw)
NEVER_CUT(timerfd)
NEVER_CUT(aio_suspend)
#ifdef HAS_LIBAIO
NEVER_CUT(io_getevents)
#endif

/* ---- calls that another thread ends ---- */

static int (*woken_call)(void);
static volatile bool over;

static int wake_futex(void)
{
	int error = 0;
	while (!__atomic_exchange_n(&on.word, 0, __ATOMIC_SEQ_CST))
		if (syscall(SYS_futex, &on.word, FUTEX_WAIT, 0, NULL) < 0 && errno == EINTR)
			error = EINTR;
	return error;
}

static void wake(void)
{
	struct {
		long type;
		char text[8];
	} message = {1, "x"};
	uint64_t one = 1;
	struct sembuf operation = {0, 1, 0};
	if (woken_call == wake_read)
		MUST(write(on.pipe[1], "x", 1));
	else if (woken_call == wake_event)
		MUST(write(on.event, &one, 8));
	else if (woken_call == wake_sem_wait)
		sem_post(&on.semaphore);
	else if (woken_call == wake_semop)
		MUST(semop(on.semaphores, &operation, 1));
	else if (woken_call == wake_msgrcv)
		MUST(msgsnd(on.queue, &message, 8, 0));
	else if (woken_call == wake_mq_receive)
		MUST(mq_send(on.messages, "x", 1, 0));
	else if (woken_call == wake_inotify)
		close(MUST(open("watched", O_CREAT | O_RDWR | O_TRUNC, 0600)));
	else {
		__atomic_store_n(&on.word, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &on.word, FUTEX_WAKE, 1);
	}
}

static sem_t turn;

static void *waker(void *unused)
{
	while (!sem_wait(&turn) && !over) {
		pause_ns(120000);
		wake();
	}
	return unused;
}

static void woken(int (*call)(void))
{
	pthread_t thread;
	int failed = 0, error = 0;
	set_up();
	if (call == wake_inotify)
		MUST(inotify_add_watch(on.inotify, ".", IN_CREATE | IN_CLOSE_WRITE));
	woken_call = call;
	sem_init(&turn, 0, 0);
	pthread_create(&thread, NULL, waker, NULL);
	for (int round = 0; round < 400; round++) {
		sem_post(&turn);
		spin();
		int now = call();
		failed += now != 0;
		error = now ? now : error;
	}
	over = true;
	sem_post(&turn);
	pthread_join(thread, NULL);
	unlink("watched");
	say("failed: %d %s\n", failed, error ? strerror(error) : "");
	tear_down();
}

#define WOKEN(name)                                                                                \
	CASE(woken_##name)                                                                         \
	{                                                                                          \
		woken(wake_##name);                                                                \
	}

WOKEN(read)
WOKEN(event)
WOKEN(sem_wait)
WOKEN(semop)
WOKEN(msgrcv)
WOKEN(mq_receive)
WOKEN(inotify)
WOKEN(futex)

/* ---- locks and children ---- */

CASE(file_locks)
{
	int mine = MUST(open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600)), failed = 0, ends[2];
	MUST(pipe(ends));
	pid_t child = MUST(fork());
	if (!child) {
		int own = MUST(open("lock", O_RDWR));
		for (char byte; read(ends[0], &byte, 1) == 1 && byte != 'e';) {
			struct flock lock = {.l_type = F_WRLCK};
			flock(own, LOCK_EX);
			fcntl(own, F_SETLKW, &lock);
			pause_ns(200000);
			lock.l_type = F_UNLCK;
			fcntl(own, F_SETLKW, &lock);
			flock(own, LOCK_UN);
		}
		_exit(0);
	}
	for (int round = 0; round < 200; round++) {
		struct flock lock = {.l_type = F_WRLCK};
		MUST(write(ends[1], "x", 1));
		spin();
		failed += flock(mine, LOCK_EX) != 0;
		failed += flock(mine, LOCK_UN) != 0;
		failed += fcntl(mine, F_SETLKW, &lock) != 0;
		lock.l_type = F_UNLCK;
		fcntl(mine, F_SETLKW, &lock);
	}
	MUST(write(ends[1], "e", 1));
	say("failed %d, %s\n", failed, ended(child));
	unlink("lock");
}

CASE(children)
{
	int failed = 0;
	for (int round = 0; round < 120; round++) {
		pid_t child = MUST(fork());
		if (!child) {
			pause_ns(200000);
			_exit(round & 7);
		}
		int status = 0;
		siginfo_t info = {0};
		spin();
		if (round % 3 == 0)
			failed += waitpid(child, &status, 0) != child ||
				  WEXITSTATUS(status) != (round & 7);
		else if (round % 3 == 1)
			failed += wait4(child, &status, 0, &(struct rusage){0}) != child;
		else
			failed += waitid(P_PID, (id_t)child, &info, WEXITED) ||
				  info.si_status != (round & 7);
	}
	say("failed %d\n", failed);
}

CASE(connect)
{
	set_up();
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	MUST(getsockname(on.listener, (struct sockaddr *)&address, &length));
	int failed = 0;
	for (int round = 0; round < 300; round++) {
		int fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
		spin();
		failed += connect(fd, (struct sockaddr *)&address, length) != 0;
		int other = accept(on.listener, NULL, NULL);
		failed += other < 0;
		close(other);
		close(fd);
	}
	say("failed %d\n", failed);
	tear_down();
}

CASE(drain)
{
	int master = MUST(posix_openpt(O_RDWR | O_NOCTTY)), failed = 0;
	grantpt(master);
	unlockpt(master);
	int slave = MUST(open(ptsname(master), O_RDWR | O_NOCTTY));
	for (int round = 0; round < 300; round++) {
		char text[64];
		spin();
		MUST(write(slave, "text\n", 5));
		failed += tcdrain(slave) != 0;
		MUST(read(master, text, sizeof(text)));
	}
	say("failed %d\n", failed);
}

CASE(sleeps)
{
	int left = 0;
	alarm(0);
	for (int round = 0; round < 1; round++) {
		spin();
		left += (int)sleep(1);
	}
	say("left %d\n", left);
}
