/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait. Where real time is measured, the time spent waiting is charged to the call path
 * that waits, with the call as an os frame below it: a sleeping thread cannot be sampled without
 * waking it.
 *
 * A sample that falls just as a thread goes to sleep starts the call again (interrupted_call.h),
 * with the timeout it was given: calls whose timeout neither the kernel nor an absolute time keeps
 * are told here when they end.
 */
#include "intercept.h"
#include "collect/sample/interrupted_call.h"
#include "collect/sample/program_memory.h"
#include "collect/sample/sample.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Shorter waits are left to the samples: charging them would cost more than they last. */
#define WAIT_LEAST_NS 20000u

SN_REAL(int, poll, (struct pollfd *, nfds_t, int))
SN_REAL(int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))
SN_REAL(int, pselect,
	(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *))
SN_REAL(int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *))
SN_REAL(int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *))
SN_REAL(int, epoll_pwait2,
	(int, struct epoll_event *, int, const struct timespec *, const sigset_t *))
SN_REAL(int, epoll_wait, (int, struct epoll_event *, int, int))
SN_REAL(int, clock_nanosleep, (clockid_t, int, const struct timespec *, struct timespec *))
SN_REAL(int, sigsuspend, (const sigset_t *))
SN_REAL(int, semop, (int, struct sembuf *, size_t))
SN_REAL(int, semtimedop, (int, struct sembuf *, size_t, const struct timespec *))
SN_REAL(ssize_t, msgrcv, (int, void *, size_t, long, int))
SN_REAL(int, msgsnd, (int, const void *, size_t, int))
SN_REAL(int, pthread_join, (pthread_t, void **))
SN_REAL(int, sem_wait, (sem_t *))
SN_REAL(int, sem_timedwait, (sem_t *, const struct timespec *))
SN_REAL(ssize_t, read, (int, void *, size_t))
SN_REAL(ssize_t, recv, (int, void *, size_t, int))
SN_REAL(ssize_t, recvfrom, (int, void *, size_t, int, struct sockaddr *, socklen_t *))
SN_REAL(ssize_t, recvmsg, (int, struct msghdr *, int))
SN_REAL(int, recvmmsg, (int, struct mmsghdr *, unsigned, int, struct timespec *))
SN_REAL(int, accept, (int, struct sockaddr *, socklen_t *))
SN_REAL(int, accept4, (int, struct sockaddr *, socklen_t *, int))
SN_REAL(pid_t, wait4, (pid_t, int *, int, struct rusage *))
SN_REAL(pid_t, waitpid, (pid_t, int *, int))
SN_REAL(int, waitid, (idtype_t, id_t, siginfo_t *, int))
SN_REAL(int, flock, (int, int))
SN_REAL(int, fsync, (int))
SN_REAL(int, fdatasync, (int))

/* ---- charging a wait ---- */

/* A program in seccomp's strict mode may not even read the clock's counter. */
static uint64_t wait_begin(void)
{
	return sn_config.real_time && sn_measuring() && sn_thread_self() ? sn_now_ns() : 0;
}

/* Keeps errno, like every hook. */
static void wait_end(uint64_t start_ns, const char *call)
{
	if (!start_ns)
		return;
	uint64_t waited_ns = sn_now_ns() - start_ns;
	if (waited_ns < WAIT_LEAST_NS || !sn_measuring())
		return;
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	sn_sampling_charge_wait(thread, call, waited_ns);
	sn_leave(thread);
}

/* A call charged as a wait, whatever it returns. */
#define CHARGED(call_name, expression)                                                             \
	({                                                                                         \
		uint64_t start_ns = wait_begin();                                                  \
		__typeof__(expression) charged_result = (expression);                              \
		wait_end(start_ns, call_name);                                                     \
		charged_result;                                                                    \
	})

/* ---- polling ---- */

/* A call that gets its timeout in milliseconds in a register. */
#define UNTIL(milliseconds, expression)                                                            \
	({                                                                                         \
		sn_call_wait_begins(milliseconds);                                                 \
		__typeof__(expression) until_result = (expression);                                \
		sn_call_deadline.ns = 0;                                                           \
		until_result;                                                                      \
	})

static struct timespec from_ms(long milliseconds)
{
	return (struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000};
}

SN_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		    const sigset_t *mask)
{
	sigset_t storage;
	mask = sn_signal_mask_of_call(mask, &storage);
	return CHARGED("ppoll", real_ppoll_get()(fds, count, timeout, mask));
}

SN_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec timeout = from_ms(timeout_ms);
	if (!sn_thread_self() || sn_confined())
		return real_poll_get()(fds, count, timeout_ms);
	/* the kernel keeps what is left of this timeout */
	return CHARGED("poll",
		       real_ppoll_get()(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL));
}

SN_EXPORT int pselect(int count, fd_set *reads, fd_set *writes, fd_set *errors,
		      const struct timespec *timeout, const sigset_t *mask)
{
	sigset_t storage;
	mask = sn_signal_mask_of_call(mask, &storage);
	return CHARGED("pselect", real_pselect_get()(count, reads, writes, errors, timeout, mask));
}

SN_EXPORT int select(int count, fd_set *reads, fd_set *writes, fd_set *errors,
		     struct timeval *timeout)
{
	return CHARGED("select", real_select_get()(count, reads, writes, errors, timeout));
}

/* What _FORTIFY_SOURCE makes of poll and ppoll. */
void __chk_fail(void) __attribute__((noreturn));
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t bytes);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t bytes);

SN_EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t bytes)
{
	if (bytes / sizeof(*fds) < count)
		__chk_fail();
	return poll(fds, count, timeout_ms);
}

SN_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			  const sigset_t *mask, size_t bytes)
{
	if (bytes / sizeof(*fds) < count)
		__chk_fail();
	return ppoll(fds, count, timeout, mask);
}

SN_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout_ms,
			  const sigset_t *mask)
{
	sigset_t storage;
	mask = sn_signal_mask_of_call(mask, &storage);
	return CHARGED("epoll_pwait", UNTIL(timeout_ms, real_epoll_pwait_get()(fd, events, count,
									       timeout_ms, mask)));
}

SN_EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int count,
			   const struct timespec *timeout, const sigset_t *mask)
{
	sigset_t storage;
	mask = sn_signal_mask_of_call(mask, &storage);
	return CHARGED("epoll_pwait2", real_epoll_pwait2_get()(fd, events, count, timeout, mask));
}

SN_EXPORT int epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
	return CHARGED("epoll_wait",
		       UNTIL(timeout_ms, real_epoll_wait_get()(fd, events, count, timeout_ms)));
}

/* ---- sleeping ---- */

/* The kernel writes what is left when a sample comes, and the call goes on: the program is told of
 * it where the call ends so. */
static int sleep_for(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	struct timespec rest = {0, 0};
	if (left) /* all of it where the call ends before it has begun */
		sn_program_take(time, &rest, sizeof(rest));
	int error = real_clock_nanosleep_get()(clock, flags, time, left ? &rest : NULL);
	bool is_told = error == EINTR && left && !(flags & TIMER_ABSTIME);
	return is_told && sn_program_give(left, &rest, sizeof(rest)) ? EFAULT : error;
}

SN_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			      struct timespec *left)
{
	int saved_errno = errno;
	int error = CHARGED("clock_nanosleep", sleep_for(clock, flags, time, left));
	errno = saved_errno;
	return error;
}

SN_EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
	int error = CHARGED("nanosleep", sleep_for(CLOCK_REALTIME, 0, time, left));
	if (!error)
		return 0;
	errno = error;
	return -1;
}

SN_EXPORT int usleep(useconds_t microseconds)
{
	struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
	return nanosleep(&time, NULL);
}

SN_EXPORT unsigned sleep(unsigned seconds)
{
	struct timespec left = {seconds, 0};
	int saved_errno = errno;
	if (nanosleep(&left, &left))
		return (unsigned)left.tv_sec;
	errno = saved_errno;
	return 0;
}

SN_EXPORT int sigsuspend(const sigset_t *mask)
{
	sigset_t storage;
	mask = sn_signal_mask_of_call(mask, &storage);
	return CHARGED("sigsuspend", real_sigsuspend_get()(mask));
}

SN_REAL(int, pause, (void))

SN_EXPORT int pause(void)
{
	return CHARGED("pause", real_pause_get()());
}

/* ---- System V ---- */

SN_EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
	return CHARGED("semop", real_semop_get()(id, operations, count));
}

SN_EXPORT int semtimedop(int id, struct sembuf *operations, size_t count,
			 const struct timespec *timeout)
{
	return CHARGED("semtimedop", real_semtimedop_get()(id, operations, count, timeout));
}

SN_EXPORT ssize_t msgrcv(int id, void *message, size_t bytes, long type, int flags)
{
	return CHARGED("msgrcv", real_msgrcv_get()(id, message, bytes, type, flags));
}

SN_EXPORT int msgsnd(int id, const void *message, size_t bytes, int flags)
{
	return CHARGED("msgsnd", real_msgsnd_get()(id, message, bytes, flags));
}

/* ---- threads: these restart by themselves ---- */

SN_EXPORT int pthread_join(pthread_t thread, void **result)
{
	return CHARGED("pthread_join", real_pthread_join_get()(thread, result));
}

SN_EXPORT int sem_wait(sem_t *semaphore)
{
	return CHARGED("sem_wait", real_sem_wait_get()(semaphore));
}

SN_EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *deadline)
{
	return CHARGED("sem_timedwait", real_sem_timedwait_get()(semaphore, deadline));
}

/* glibc keeps an old and a new version of condition variables; RTLD_NEXT alone finds the old one.
 */
static void *condition(const char *name)
{
	void *function = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
	return function ? function : dlsym(RTLD_NEXT, name);
}

SN_EXPORT int pthread_cond_wait(pthread_cond_t *variable, pthread_mutex_t *mutex)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *);
	if (!real)
		real = condition("pthread_cond_wait");
	return CHARGED("pthread_cond_wait", real(variable, mutex));
}

SN_EXPORT int pthread_cond_timedwait(pthread_cond_t *variable, pthread_mutex_t *mutex,
				     const struct timespec *deadline)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	if (!real)
		real = condition("pthread_cond_timedwait");
	return CHARGED("pthread_cond_timedwait", real(variable, mutex, deadline));
}

SN_REAL(int, pthread_cond_clockwait,
	(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))

SN_EXPORT int pthread_cond_clockwait(pthread_cond_t *variable, pthread_mutex_t *mutex,
				     clockid_t clock, const struct timespec *deadline)
{
	return CHARGED("pthread_cond_clockwait",
		       real_pthread_cond_clockwait_get()(variable, mutex, clock, deadline));
}

/* ---- files, sockets, children: restarted by SA_RESTART ---- */

SN_EXPORT ssize_t read(int fd, void *buffer, size_t bytes)
{
	sn_call_cut_forget();
	ssize_t done = CHARGED("read", real_read_get()(fd, buffer, bytes));
	return sn_call_was_cut() && done > 0 ? sn_read_rest(fd, buffer, bytes, done) : done;
}

SN_EXPORT ssize_t recv(int fd, void *buffer, size_t bytes, int flags)
{
	sn_call_cut_forget();
	ssize_t done = CHARGED("recv", real_recv_get()(fd, buffer, bytes, flags));
	if (sn_call_was_cut() && done > 0 && flags & MSG_WAITALL)
		return sn_recv_rest(fd, buffer, bytes, flags, done);
	return done;
}

SN_EXPORT ssize_t recvfrom(int fd, void *buffer, size_t bytes, int flags, struct sockaddr *from,
			   socklen_t *from_bytes)
{
	sn_call_cut_forget();
	ssize_t done =
	    CHARGED("recvfrom", real_recvfrom_get()(fd, buffer, bytes, flags, from, from_bytes));
	if (sn_call_was_cut() && done > 0 && flags & MSG_WAITALL)
		return sn_recv_rest(fd, buffer, bytes, flags, done);
	return done;
}

SN_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	sn_call_cut_forget();
	ssize_t done = CHARGED("recvmsg", real_recvmsg_get()(fd, message, flags));
	if (sn_call_was_cut() && done > 0 && flags & MSG_WAITALL)
		return sn_recvmsg_rest(fd, message, flags, done);
	return done;
}

/* The kernel looks at the time after each message, and leaves there what is left of it. */
bool sn_receives_on(int flags, const struct timespec *timeout)
{
	return !(flags & MSG_WAITFORONE) && (!timeout || timeout->tv_sec || timeout->tv_nsec);
}

SN_EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
		       struct timespec *timeout)
{
	sn_call_cut_forget();
	int done = CHARGED("recvmmsg", real_recvmmsg_get()(fd, messages, count, flags, timeout));
	/* the rest is a cancellation point as well */
	return done > 0 && sn_receives_on(flags, timeout)
		   ? sn_messages_rest(real_recvmmsg_get(), fd, messages, count, flags, timeout,
				      done)
		   : done;
}

SN_EXPORT int accept(int fd, struct sockaddr *from, socklen_t *from_bytes)
{
	return CHARGED("accept", real_accept_get()(fd, from, from_bytes));
}

SN_EXPORT int accept4(int fd, struct sockaddr *from, socklen_t *from_bytes, int flags)
{
	return CHARGED("accept4", real_accept4_get()(fd, from, from_bytes, flags));
}

SN_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return CHARGED("wait4", real_wait4_get()(pid, status, options, usage));
}

SN_EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	return CHARGED("waitpid", real_waitpid_get()(pid, status, options));
}

SN_EXPORT pid_t wait(int *status)
{
	return CHARGED("wait", real_waitpid_get()(-1, status, 0));
}

SN_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	return CHARGED("waitid", real_waitid_get()(type, id, info, options));
}

SN_EXPORT int flock(int fd, int operation)
{
	return CHARGED("flock", real_flock_get()(fd, operation));
}

SN_EXPORT int fsync(int fd)
{
	return CHARGED("fsync", real_fsync_get()(fd));
}

SN_EXPORT int fdatasync(int fd)
{
	return CHARGED("fdatasync", real_fdatasync_get()(fd));
}
