/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of ours in a program that may close any number, put a file of its own there, or have
 * few to spare.
 *
 * Ours lie high, out of the program's way, and are known by identity: a perf event by the number
 * that the kernel gives each event once, a file by device and inode. Nothing is read from a
 * descriptor, done to it or closed unless it has just been asked who it is, by a call that does
 * nothing to a file of anybody else's; one that is not ours any more is left alone.
 *
 * All functions here: AS-safe: yes. MT: yes; of an event, the thread whose it is.
 */
#ifndef SN_COLLECT_OWN_FD_H
#define SN_COLLECT_OWN_FD_H

#include <stdbool.h>
#include <stdint.h>

struct perf_event_attr;

/* Moves a descriptor to a high number and remembers it as ours until sn_own_fd_close(). The new
 * number; -1 for -1. Nothing is lost where there is no higher number: it keeps its own. */
int sn_own_fd_adopt(int fd);
/* Closes `fd`, which the caller has just found to be what it adopted. */
void sn_own_fd_close(int fd);
/* Whether we have put something at that number and nobody is known to have taken it away. No system
 * call: for the program's calls ask sn_own_fd_is_hidden(). */
bool sn_own_fd_is_noted(int fd);
/* Whether it is there still; where the program has made the number its own, it is forgotten. For
 * the program such a number is not open. */
bool sn_own_fd_is_hidden(int fd);
/* The program has taken the number, and what was there is gone. */
void sn_own_fd_forget(int fd);
/* In the child of a fork: closes what is still ours, and forgets it. */
void sn_own_fds_after_fork(void);
/* True where the program may open so few descriptors that each of ours is one it would miss. */
bool sn_own_fds_are_scarce(void);

/* A perf event of the calling thread. */
struct sn_own_event {
	int fd;		   /* -1: none */
	uint64_t id;	   /* the kernel's, of no other event */
	uint64_t period;   /* so many events, or so many overflows a second */
	bool is_frequency; /* the latter */
	bool sends, is_enabled;
	uint32_t owed; /* signals that it may send beyond those that it was last allowed */
};

/* No event has more signals waiting, which take room that all processes of a user share. */
#define SN_OWN_EVENT_ROOM 32u

/*
 * Opens what `attributes` say. 0; -EMFILE where all events together would take more than a share of
 * the program's limit (SN_OWN_EVENTS_SHARE); else negative errno, and event->fd is -1.
 */
int sn_own_event_open(struct sn_own_event *event, struct perf_event_attr *attributes);
#define SN_OWN_EVENTS_SHARE 16u /* one in so many of RLIMIT_NOFILE */
/* Its overflows send `signal` to the thread `tid` once it is enabled: POLL_IN, and POLL_HUP where
 * it stops, for SN_OWN_EVENT_ROOM of them wait. 0 or negative errno. */
int sn_own_event_signal(struct sn_own_event *event, int signal, int32_t tid);
/* One of them was handled or taken away; the last before it stopped says so. It goes on. */
void sn_own_event_came(struct sn_own_event *event, bool is_last);
/* None came for so long that the last one must have been lost. It goes on. */
void sn_own_event_revive(struct sn_own_event *event);
/* Whether its descriptor is that event still. */
bool sn_own_event_is_open(const struct sn_own_event *event);
/* False where it is not, or cannot be read. */
bool sn_own_event_read(const struct sn_own_event *event, uint64_t *count);
/* It counts no more and sends no more signals. */
void sn_own_event_disable(struct sn_own_event *event);
/* Its next overflow is a whole period away, which is 1 << `slowness` times as long as it was opened
 * with, and so are those that follow. */
void sn_own_event_begin_period(const struct sn_own_event *event, unsigned slowness);
/* And again, or for the first time; none of its signals waits. */
void sn_own_event_enable(struct sn_own_event *event);
/* It counts on, and sends no signals any more. */
void sn_own_event_silence(struct sn_own_event *event);
/* Closes it, and event->fd is -1. False where the program had taken its descriptor. */
bool sn_own_event_close(struct sn_own_event *event);

#endif
