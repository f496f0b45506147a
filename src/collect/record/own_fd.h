/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's descriptors in a program that may close any number, open a file of its own under
 * it, or have few left.
 *
 * They have high numbers, which programs rarely use, and are identified: a perf event by the unique
 * number that the kernel gives it, a file by device and inode. A descriptor is identified before
 * each read, change or close, by a call that has no effect on other files; a descriptor that is no
 * longer the collector's is not touched.
 *
 * All functions here: AS-safe: yes. MT: yes; for an event, its thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct perf_event_attr;

/* Moves a descriptor to a high number and notes it as the collector's until sn_own_fd_close().
 * Returns the new number, or the old one if there is no higher; -1 for -1. */
int sn_own_fd_adopt(int fd);
/* Closes `fd`, which the caller has just identified. */
void sn_own_fd_close(int fd);
/* True if the number is noted as the collector's. No system call; for the program's calls use
 * sn_own_fd_is_hidden(). */
bool sn_own_fd_is_noted(int fd);
/* True if the number still is the collector's: for the program it is not open. A number that the
 * program has reused is forgotten. */
bool sn_own_fd_is_hidden(int fd);
/* Forgets a number that the program has reused. */
void sn_own_fd_forget(int fd);
/* Around a fork, in the parent: no event is opened meanwhile (with a bound). */
void sn_own_fds_before_fork(void);
void sn_own_fds_after_fork_in_parent(void);
/* In the child of a fork: closes and forgets the descriptors that still are the collector's. */
void sn_own_fds_after_fork(void);
/* True if the program's limit of descriptors is so low that the collector should not keep `fd` open.
 * A number that the limit does not cover takes none from the program. */
bool sn_own_fd_is_scarce(int fd);

/* A perf event of the calling thread. */
struct sn_own_event {
	int fd;		   /* -1: none */
	uint64_t id;	   /* the kernel's unique number */
	uint64_t period;   /* events between two overflows, or overflows a second */
	bool is_frequency; /* the latter */
	bool sends, is_enabled;
	uint32_t owed; /* signals that were handled and not yet renewed by PERF_EVENT_IOC_REFRESH */
};

/* The most pending signals of an event: the queue is shared by all processes of a user. */
#define SN_OWN_EVENT_ROOM 32u

/*
 * Opens the event of `attributes`. 0; -EMFILE if all events together would take more than a share
 * of the program's limit (SN_OWN_EVENTS_SHARE); else a negative errno. After an error event->fd is
 * -1.
 */
int sn_own_event_open(struct sn_own_event *event, struct perf_event_attr *attributes);
#define SN_OWN_EVENTS_SHARE 16u /* one in so many of RLIMIT_NOFILE */
/* When enabled, its overflows send `signal` to the thread `tid`: with POLL_IN, and with POLL_HUP
 * when it stops because SN_OWN_EVENT_ROOM signals are pending. 0 or negative errno. */
int sn_own_event_signal(struct sn_own_event *event, int signal, int32_t tid);
/* A signal was handled or discarded; `is_last` if the event stopped after it. The event continues.
 * */
void sn_own_event_came(struct sn_own_event *event, bool is_last);
/* No signal came for so long that the last one must have been lost. The event continues. */
void sn_own_event_revive(struct sn_own_event *event);
/* True if its descriptor still is that event. */
bool sn_own_event_is_open(const struct sn_own_event *event);
/* False if the descriptor is not that event, or cannot be read. */
bool sn_own_event_read(const struct sn_own_event *event, uint64_t *count);
/* Stops counting and sending signals. */
void sn_own_event_disable(struct sn_own_event *event);
/* Restarts the period, multiplied by 1 << `slowness`, for all following overflows. */
void sn_own_event_begin_period(const struct sn_own_event *event, unsigned slowness);
/* Starts it, at first or again; none of its signals may be pending. */
void sn_own_event_enable(struct sn_own_event *event);
/* Stops its signals; it continues to count. */
void sn_own_event_silence(struct sn_own_event *event);
/* Closes it and sets event->fd to -1. False if the program had reused its descriptor. */
bool sn_own_event_close(struct sn_own_event *event);
