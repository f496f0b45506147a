/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's locks. locks.def names each one, in the order in which they may be taken.
 *
 * A handler may interrupt the thread that holds a lock, so handlers only try, or wait with a bound.
 * Nothing is held for longer than a few instructions, or one file's reading or writing. In the
 * child of a fork all are free again, for the threads that held them are not there.
 *
 * No locks, and therefore not here: cells that a thread claims by compare-and-swap and that nobody
 * waits for (kept messages, tensors' addresses, NVTX ranges, places of descriptors, starts of
 * threads), and states that are left once (init.c's phase).
 *
 * libsonde-checked.so ends the program where a lock is waited for without bound in a handler, or
 * while one that stands below it in locks.def is held.
 *
 * All functions here: AS-safe: yes, but for sn_lock_acquire. MT: yes.
 */
#ifndef SN_COLLECT_LOCK_H
#define SN_COLLECT_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

enum sn_lock {
#define SN_LOCK(name) SN_LOCK_##name,
#include "locks.def"
#undef SN_LOCK
	SN_LOCK_COUNT
};

/* How long a bounded wait lasts: so many pauses of SN_LOCK_PAUSE_NS, and what the kernel adds. */
#define SN_LOCK_PATIENCE 200u
#define SN_LOCK_PAUSE_NS 5000

/* Takes it if it is free. Acquire: what the last holder did is seen. */
bool sn_lock_try(enum sn_lock lock);
/* Waits for a time; false where it was not free in that time. */
bool sn_lock_wait(enum sn_lock lock);
/* Waits until it is free. AS-safe: no. */
void sn_lock_acquire(enum sn_lock lock);
void sn_lock_release(enum sn_lock lock);

/* The same of one of many objects that have a lock each: `held` is the object's, 0 at first. */
bool sn_lock_try_one(enum sn_lock lock, _Atomic int *held);
bool sn_lock_wait_one(enum sn_lock lock, _Atomic int *held);
void sn_lock_release_one(enum sn_lock lock, _Atomic int *held);

/* In the child of a fork: all are free, but those of objects. */
void sn_locks_after_fork(void);
/* Between two tries of something else that other threads finish soon. */
void sn_lock_pause(void);

#endif
