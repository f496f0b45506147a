/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's descriptors: their numbers, and whether they are still ours; see own_fd.h.
 *
 * A table of fixed size has a place for each number modulo its length, so a lookup is one load. A
 * number whose place is taken is not used: the next one is requested.
 */
#include "own_fd.h"
#include "collect/core/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES	     4096u
#define HIGHEST_FROM 1024u
#define SCARCE	     64u

struct place {
	_Atomic int number;		/* the descriptor plus 1; 0: nothing */
	_Atomic uint64_t id;		/* of a perf event, 0: a file */
	_Atomic uint64_t device, inode; /* of a file */
};

static struct place places[PLACES];
static _Atomic unsigned event_count;
static _Atomic unsigned places_end; /* none behind it has ever been used */

/* ---- identity ---- */

/* The kernel's number of the perf event at `fd`; 0 where there is none. Other files refuse it. */
static uint64_t event_id(int fd)
{
	uint64_t id = 0;
	int saved_errno = errno;
	if (syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ID, &id))
		id = 0;
	errno = saved_errno;
	return id;
}

static struct place *place_of(int fd)
{
	struct place *place = &places[(unsigned)fd % PLACES];
	bool is_noted =
	    fd >= 0 && atomic_load_explicit(&place->number, memory_order_acquire) == fd + 1;
	return is_noted ? place : NULL;
}

static bool is_still_there(const struct place *place, int fd)
{
	uint64_t id = atomic_load_explicit(&place->id, memory_order_relaxed);
	struct stat status;
	int saved_errno = errno;
	if (id)
		return event_id(fd) == id;
	bool is_same =
	    !fstat(fd, &status) && status.st_dev == place->device && status.st_ino == place->inode;
	errno = saved_errno;
	return is_same;
}

/* False where another number has the place. */
static bool note(int fd)
{
	struct place *place = &places[(unsigned)fd % PLACES];
	struct stat status;
	int nothing = 0;
	if (!atomic_compare_exchange_strong_explicit(&place->number, &nothing, -1,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	unsigned end = atomic_load_explicit(&places_end, memory_order_relaxed);
	while (end <= (unsigned)fd % PLACES &&
	       !atomic_compare_exchange_weak_explicit(&places_end, &end, (unsigned)fd % PLACES + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
	bool is_known = !fstat(fd, &status);
	atomic_store_explicit(&place->id, event_id(fd), memory_order_relaxed);
	atomic_store_explicit(&place->device, is_known ? status.st_dev : 0, memory_order_relaxed);
	atomic_store_explicit(&place->inode, is_known ? status.st_ino : 0, memory_order_relaxed);
	/* release: a thread that sees the number sees the identity */
	atomic_store_explicit(&place->number, fd + 1, memory_order_release);
	return true;
}

void sn_own_fd_forget(int fd)
{
	struct place *place = place_of(fd);
	if (place)
		atomic_store_explicit(&place->number, 0, memory_order_release);
}

bool sn_own_fd_is_noted(int fd)
{
	return place_of(fd) != NULL;
}

bool sn_own_fd_is_hidden(int fd)
{
	const struct place *place = place_of(fd);
	if (!place)
		return false;
	if (is_still_there(place, fd))
		return true;
	sn_own_fd_forget(fd);
	return false;
}

/* ---- numbers ---- */

static rlim_t limit_now(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) ? 0 : limit.rlim_cur;
}

bool sn_own_fd_is_scarce(int fd)
{
	rlim_t limit = limit_now();
	return limit && limit <= SCARCE && (rlim_t)fd < limit;
}

/* True if the process has no other thread. Where /proc cannot tell, it may have some. */
static bool is_single_threaded(void)
{
	struct stat tasks; /* 2 links, and 1 for each thread */
	return !stat("/proc/self/task", &tasks) && tasks.st_nlink == 3;
}

/*
 * A copy of `fd` at the first number that the limit keeps from the program, and so takes none from
 * it; -1 where there is none. For the copy alone the limit is higher. Another thread could see that,
 * or fork meanwhile, so that this is only for a process of one.
 */
static int move_beyond_limit(int fd)
{
	struct rlimit limit, higher;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > HIGHEST_FROM ||
	    limit.rlim_cur >= limit.rlim_max || !is_single_threaded())
		return -1;
	higher = limit;
	higher.rlim_cur += PLACES;
	if (higher.rlim_cur > limit.rlim_max)
		higher.rlim_cur = limit.rlim_max;
	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &higher, NULL))
		return -1;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)limit.rlim_cur);
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
	return high;
}

/* A program expects the lowest free number: ours stay out of its way, at the upper end of what it
 * may have, though not so far up that every fork copies a long table. */
static int move_high(int fd)
{
	rlim_t limit = limit_now();
	rlim_t from = limit - limit / SN_OWN_EVENTS_SHARE;
	int high = move_beyond_limit(fd);
	if (from > HIGHEST_FROM)
		from = HIGHEST_FROM;
	for (; high < 0 && from > (rlim_t)fd; from /= 2)
		high = fcntl(fd, F_DUPFD_CLOEXEC, (int)from);
	return high;
}

int sn_own_fd_adopt(int fd)
{
	if (fd < 0)
		return fd;
	int high = move_high(fd);
	while (high >= 0 && !note(high)) {
		int next = fcntl(fd, F_DUPFD_CLOEXEC, high + 1);
		syscall(SYS_close, high);
		high = next;
	}
	if (high < 0) {
		note(fd);
		return fd;
	}
	syscall(SYS_close, fd);
	return high;
}

void sn_own_fd_close(int fd)
{
	if (fd < 0)
		return;
	sn_own_fd_forget(fd);
	syscall(SYS_close, fd);
}

/*
 * A child of a fork that another thread makes while an event is opened would have its descriptor,
 * which is not noted yet. So an event waits for forks, and a fork for events, either with a bound.
 */
static _Atomic unsigned forks, openings;

static void begin_opening(void)
{
	for (unsigned pauses = 0; pauses < SN_LOCK_PATIENCE; pauses++) {
		/* sequentially consistent, as in sn_own_fds_before_fork: one sees the other */
		atomic_fetch_add(&openings, 1);
		if (!atomic_load(&forks))
			return;
		atomic_fetch_sub(&openings, 1);
		sn_lock_pause();
	}
	atomic_fetch_add(&openings, 1);
}

static void end_opening(void)
{
	atomic_fetch_sub(&openings, 1);
}

void sn_own_fds_before_fork(void)
{
	atomic_fetch_add(&forks, 1);
	for (unsigned pauses = 0; atomic_load(&openings) && pauses < SN_LOCK_PATIENCE; pauses++)
		sn_lock_pause();
}

void sn_own_fds_after_fork_in_parent(void)
{
	atomic_fetch_sub(&forks, 1);
}

void sn_own_fds_after_fork(void)
{
	atomic_store(&forks, 0);
	atomic_store(&openings, 0);
	unsigned end = atomic_load_explicit(&places_end, memory_order_relaxed);
	for (unsigned index = 0; index < end; index++) {
		int fd = atomic_load_explicit(&places[index].number, memory_order_relaxed) - 1;
		if (fd >= 0 && is_still_there(&places[index], fd))
			syscall(SYS_close, fd);
		if (fd != -1)
			atomic_store_explicit(&places[index].number, 0, memory_order_relaxed);
	}
	atomic_store_explicit(&event_count, 0, memory_order_relaxed);
}

/* ---- perf events ---- */

static bool claim_event(void)
{
	unsigned before = atomic_fetch_add_explicit(&event_count, 1, memory_order_relaxed);
	rlim_t limit = limit_now();
	if (before < PLACES / 2 && limit > SCARCE && before < limit / SN_OWN_EVENTS_SHARE)
		return true;
	atomic_fetch_sub_explicit(&event_count, 1, memory_order_relaxed);
	return false;
}

static void release_event(void)
{
	atomic_fetch_sub_explicit(&event_count, 1, memory_order_relaxed);
}

static int perf_open(struct perf_event_attr *attributes)
{
	long fd = syscall(SYS_perf_event_open, attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		attributes->exclude_kernel = 1; /* all that perf_event_paranoid 2 allows */
		fd = syscall(SYS_perf_event_open, attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : (int)fd;
}

static int open_claimed(struct sn_own_event *event, struct perf_event_attr *attributes)
{
	int fd = perf_open(attributes);
	uint64_t id = fd < 0 ? 0 : event_id(fd);
	if (!id) {
		/* a kernel that cannot tell events apart */
		if (fd >= 0)
			syscall(SYS_close, fd);
		return fd < 0 ? fd : -ENOTSUP;
	}
	*event = (struct sn_own_event){.fd = sn_own_fd_adopt(fd),
				       .id = id,
				       .period = attributes->sample_period,
				       .is_frequency = attributes->freq};
	return 0;
}

int sn_own_event_open(struct sn_own_event *event, struct perf_event_attr *attributes)
{
	*event = (struct sn_own_event){.fd = -1};
	attributes->read_format = PERF_FORMAT_ID;
	if (!claim_event())
		return -EMFILE;
	begin_opening();
	int error = open_claimed(event, attributes);
	end_opening();
	if (error)
		release_event();
	return error;
}

bool sn_own_event_is_open(const struct sn_own_event *event)
{
	return event->fd >= 0 && event_id(event->fd) == event->id;
}

int sn_own_event_signal(struct sn_own_event *event, int signal, int32_t tid)
{
	struct f_owner_ex owner = {F_OWNER_TID, tid};
	if (!sn_own_event_is_open(event))
		return -EBADF;
	if (fcntl(event->fd, F_SETSIG, signal) || fcntl(event->fd, F_SETOWN_EX, &owner) ||
	    fcntl(event->fd, F_SETFL, O_ASYNC | O_NONBLOCK))
		return -errno;
	if (!event->sends)
		event->owed = SN_OWN_EVENT_ROOM;
	event->sends = true;
	return 0;
}

void sn_own_event_came(struct sn_own_event *event, bool is_last)
{
	event->owed++;
	if (event->is_enabled && (is_last || event->owed >= SN_OWN_EVENT_ROOM / 2))
		sn_own_event_enable(event);
}

void sn_own_event_revive(struct sn_own_event *event)
{
	event->owed = SN_OWN_EVENT_ROOM;
	if (event->is_enabled)
		sn_own_event_enable(event);
}

bool sn_own_event_read(const struct sn_own_event *event, uint64_t *count)
{
	struct {
		uint64_t count, id; /* as PERF_FORMAT_ID has it */
	} now;
	if (!sn_own_event_is_open(event) ||
	    syscall(SYS_read, event->fd, &now, sizeof(now)) != sizeof(now) || now.id != event->id)
		return false;
	*count = now.count;
	return true;
}

void sn_own_event_disable(struct sn_own_event *event)
{
	/* harmless where another thread takes the number at this moment: other files refuse it */
	if (sn_own_event_is_open(event))
		ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
	event->is_enabled = false;
}

void sn_own_event_begin_period(const struct sn_own_event *event, unsigned slowness)
{
	uint64_t rarest = event->period >> slowness;
	uint64_t period = event->is_frequency ? rarest + !rarest : event->period << slowness;
	if (sn_own_event_is_open(event))
		ioctl(event->fd, PERF_EVENT_IOC_PERIOD, &period);
}

void sn_own_event_silence(struct sn_own_event *event)
{
	if (!sn_own_event_is_open(event))
		return;
	fcntl(event->fd, F_SETFL, O_NONBLOCK);
	ioctl(event->fd, PERF_EVENT_IOC_REFRESH, INT_MAX / 2); /* it must not stop */
	event->sends = false;
}

void sn_own_event_enable(struct sn_own_event *event)
{
	if (!sn_own_event_is_open(event))
		return;
	if (event->sends)
		ioctl(event->fd, PERF_EVENT_IOC_REFRESH, event->owed);
	else
		ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0);
	event->owed = 0;
	event->is_enabled = true;
}

bool sn_own_event_close(struct sn_own_event *event)
{
	bool is_open = sn_own_event_is_open(event);
	if (is_open)
		sn_own_fd_close(event->fd);
	if (event->fd >= 0)
		release_event();
	event->fd = -1;
	return is_open;
}
