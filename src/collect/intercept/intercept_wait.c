/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait. If real time is measured, the waiting time is charged to the call path, with the
 * call as an os frame below it: a sleeping thread cannot be sampled without waking it.
 *
 * A sample that arrives just as a thread goes to sleep restarts the call (interrupted_call.h) with
 * its full timeout. For calls whose timeout is neither kept by the kernel nor an absolute time, the
 * deadline is recorded here.
 */
#include "intercept.h"
#include "served_start.h"
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Shorter waits are left to the samples: charging them would cost more than they last. */
#define WAIT_LEAST_NS 20000u

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

/* A call that waits: the C library's, which `find` looks up, charged. */
#define WAITS_BY(find, result, name, parameters, arguments)                                        \
	SN_REAL_BY(find, result, name, parameters)                                                 \
	SN_EXPORT result name parameters                                                           \
	{                                                                                          \
		return CHARGED(#name, real_##name##_get() arguments);                              \
	}
#define WAITS(result, name, parameters, arguments)                                                 \
	WAITS_BY(sn_real, result, name, parameters, arguments)

/* The same of one whose parameter `mask` is the thread's mask meanwhile. */
#define WAITS_MASKED(name, parameters, arguments)                                                  \
	SN_REAL(int, name, parameters)                                                             \
	SN_EXPORT int name parameters                                                              \
	{                                                                                          \
		struct sn_mask_of_call outer = sn_mask_of_call_begin(&mask);                       \
		int status = CHARGED(#name, real_##name##_get() arguments);                        \
		sn_mask_of_call_end(outer);                                                        \
		return status;                                                                     \
	}

/* ---- polling ---- */

/* A call that gets its timeout in milliseconds in a register. */
#define UNTIL(milliseconds, expression)                                                            \
	({                                                                                         \
		sn_call_wait_begins(milliseconds);                                                 \
		__typeof__(expression) until_result = (expression);                                \
		sn_call_deadline.ns = 0;                                                           \
		until_result;                                                                      \
	})

WAITS(int, select,
      (int count, fd_set *reads, fd_set *writes, fd_set *errors, struct timeval *timeout),
      (count, reads, writes, errors, timeout))
WAITS_MASKED(pselect,
	     (int count, fd_set *reads, fd_set *writes, fd_set *errors,
	      const struct timespec *timeout, const sigset_t *mask),
	     (count, reads, writes, errors, timeout, mask))
WAITS_MASKED(ppoll,
	     (struct pollfd * fds, nfds_t count, const struct timespec *timeout,
	      const sigset_t *mask),
	     (fds, count, timeout, mask))
WAITS_MASKED(epoll_pwait2,
	     (int fd, struct epoll_event *events, int count, const struct timespec *timeout,
	      const sigset_t *mask),
	     (fd, events, count, timeout, mask))

SN_REAL(int, poll, (struct pollfd *, nfds_t, int))
SN_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
	if (!sn_thread_self() || sn_confined())
		return real_poll_get()(fds, count, timeout_ms);
	/* the kernel keeps what is left of this timeout */
	return CHARGED("poll",
		       real_ppoll_get()(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL));
}

/* What _FORTIFY_SOURCE makes of poll and ppoll. */
SN_CHECKED(int, __poll_chk, (struct pollfd * fds, nfds_t count, int timeout_ms, size_t room),
	   room / sizeof(*fds) >= count, poll(fds, count, timeout_ms))
SN_CHECKED(int, __ppoll_chk,
	   (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
	    size_t room),
	   room / sizeof(*fds) >= count, ppoll(fds, count, timeout, mask))

SN_REAL(int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *))
SN_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout_ms,
			  const sigset_t *mask)
{
	struct sn_mask_of_call outer = sn_mask_of_call_begin(&mask);
	int status =
	    CHARGED("epoll_pwait",
		    UNTIL(timeout_ms, real_epoll_pwait_get()(fd, events, count, timeout_ms, mask)));
	sn_mask_of_call_end(outer);
	return status;
}

SN_REAL(int, epoll_wait, (int, struct epoll_event *, int, int))
SN_EXPORT int epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
	return CHARGED("epoll_wait",
		       UNTIL(timeout_ms, real_epoll_wait_get()(fd, events, count, timeout_ms)));
}

/* ---- sleeping ---- */

SN_REAL(int, clock_nanosleep, (clockid_t, int, const struct timespec *, struct timespec *))

/* The kernel writes what is left when a sample comes, and the call goes on: the program is told of
 * it where the call ends so. */
static int sleep_for(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	struct timespec rest = {0, 0};
	if (left) /* all of it where the call ends before it has begun */
		sn_program_read(time, &rest, sizeof(rest));
	int error = real_clock_nanosleep_get()(clock, flags, time, left ? &rest : NULL);
	bool is_told = error == EINTR && left && !(flags & TIMER_ABSTIME);
	return is_told && sn_program_write(left, &rest, sizeof(rest)) ? EFAULT : error;
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

WAITS_MASKED(sigsuspend, (const sigset_t *mask), (mask))
WAITS(int, pause, (void), ())

/* ---- System V ---- */

WAITS(int, semop, (int id, struct sembuf *operations, size_t count), (id, operations, count))
WAITS(int, semtimedop,
      (int id, struct sembuf *operations, size_t count, const struct timespec *timeout),
      (id, operations, count, timeout))
WAITS(ssize_t, msgrcv, (int id, void *message, size_t bytes, long type, int flags),
      (id, message, bytes, type, flags))
WAITS(int, msgsnd, (int id, const void *message, size_t bytes, int flags),
      (id, message, bytes, flags))

/* ---- threads: these restart by themselves ---- */

WAITS(int, pthread_join, (pthread_t thread, void **result), (thread, result))
WAITS(int, sem_wait, (sem_t * semaphore), (semaphore))
WAITS(int, sem_timedwait, (sem_t * semaphore, const struct timespec *deadline),
      (semaphore, deadline))

/* glibc keeps an old and a new version of condition variables; RTLD_NEXT alone finds the old one.
 */
static void *condition(const char *name)
{
	void *function = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
	return function ? function : dlsym(RTLD_NEXT, name);
}

WAITS_BY(condition, int, pthread_cond_wait, (pthread_cond_t * variable, pthread_mutex_t *mutex),
	 (variable, mutex))
WAITS_BY(condition, int, pthread_cond_timedwait,
	 (pthread_cond_t * variable, pthread_mutex_t *mutex, const struct timespec *deadline),
	 (variable, mutex, deadline))
WAITS(int, pthread_cond_clockwait,
      (pthread_cond_t * variable, pthread_mutex_t *mutex, clockid_t clock,
       const struct timespec *deadline),
      (variable, mutex, clock, deadline))

/* ---- files, sockets, children: restarted by SA_RESTART ---- */

SN_REAL(ssize_t, read, (int, void *, size_t))
SN_EXPORT ssize_t read(int fd, void *buffer, size_t bytes)
{
	sn_call_cut_forget();
	ssize_t done = CHARGED("read", real_read_get()(fd, buffer, bytes));
	return sn_call_was_cut() && done > 0 ? sn_read_rest(fd, buffer, bytes, done) : done;
}

/* A call that receives, with parameters `fd` and `flags`, and what is done where it has; where it is to wait
 * for all and a sample cut it after `done` bytes, `rest` goes on. */
#define RECEIVES(name, parameters, arguments, received, rest)                                      \
	SN_REAL(ssize_t, name, parameters)                                                         \
	SN_EXPORT ssize_t name parameters                                                          \
	{                                                                                          \
		sn_call_cut_forget();                                                              \
		ssize_t done = CHARGED(#name, real_##name##_get() arguments);                      \
		if (done >= 0)                                                                     \
			received;                                                                  \
		return sn_call_was_cut() && done > 0 && flags & MSG_WAITALL ? rest : done;         \
	}
RECEIVES(recv, (int fd, void *buffer, size_t bytes, int flags), (fd, buffer, bytes, flags), (void)0,
	 sn_recv_rest(fd, buffer, bytes, flags, done))
RECEIVES(recvfrom,
	 (int fd, void *buffer, size_t bytes, int flags, struct sockaddr *from,
	  socklen_t *from_bytes),
	 (fd, buffer, bytes, flags, from, from_bytes), (void)0,
	 sn_recv_rest(fd, buffer, bytes, flags, done))
RECEIVES(recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags),
	 sn_served_start_hear(message), sn_recvmsg_rest(fd, message, flags, done))

/* The kernel looks at the time after each message, and leaves there what is left of it. */
bool sn_receives_on(int flags, const struct timespec *timeout)
{
	return !(flags & MSG_WAITFORONE) && (!timeout || timeout->tv_sec || timeout->tv_nsec);
}

SN_REAL(int, recvmmsg, (int, struct mmsghdr *, unsigned, int, struct timespec *))
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

WAITS(int, accept, (int fd, struct sockaddr *from, socklen_t *from_bytes), (fd, from, from_bytes))
WAITS(int, accept4, (int fd, struct sockaddr *from, socklen_t *from_bytes, int flags),
      (fd, from, from_bytes, flags))
WAITS(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage),
      (pid, status, options, usage))
WAITS(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
WAITS(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options),
      (type, id, info, options))
WAITS(int, flock, (int fd, int operation), (fd, operation))
WAITS(int, fsync, (int fd), (fd))
WAITS(int, fdatasync, (int fd), (fd))

SN_EXPORT pid_t wait(int *status)
{
	return CHARGED("wait", real_waitpid_get()(-1, status, 0));
}
