/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's locks. locks.def names each one, in the order in which they may be taken.
 *
 * A handler may interrupt the thread that holds a lock, so handlers only try, or wait with a bound.
 * A lock is held for a few instructions, or while one file is read or written. In the child of a
 * fork all are released, because the threads that held them do not exist there.
 *
 * Not locks: cells that a thread claims by compare-and-swap and for which no thread waits (kept
 * messages, tensors' addresses, NVTX ranges, places of descriptors, starts of threads), and states
 * that are left once (init.c's phase).
 *
 * libsonde-checked.so ends the program if a thread waits for a lock without a bound in a handler,
 * or while it holds a lock that follows in locks.def.
 *
 * All functions here: AS-safe: yes, but for sn_lock_acquire. MT: yes.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

enum sn_lock {
#define SN_LOCK(name) SN_LOCK_##name,
#include "locks.def"
#undef SN_LOCK
	SN_LOCK_COUNT
};

/* A bounded wait lasts this many pauses of SN_LOCK_PAUSE_NS, plus the kernel's delays. */
#define SN_LOCK_PATIENCE 200u
#define SN_LOCK_PAUSE_NS 5000

/* Takes the lock if it is free. Acquire: the last holder's stores are visible. */
bool sn_lock_try(enum sn_lock lock);
/* Waits with a bound; false if the lock was not free in that time. */
bool sn_lock_wait(enum sn_lock lock);
/* Waits until the lock is free. AS-safe: no. */
void sn_lock_acquire(enum sn_lock lock);
void sn_lock_release(enum sn_lock lock);

/* The same for one of many objects that each have a lock: `held` is the object's, 0 at first. */
bool sn_lock_try_one(enum sn_lock lock, _Atomic int *held);
bool sn_lock_wait_one(enum sn_lock lock, _Atomic int *held);
void sn_lock_release_one(enum sn_lock lock, _Atomic int *held);

/* In the child of a fork: releases all locks but those of objects. */
void sn_locks_after_fork(void);
/* A pause between two tries of any operation that another thread finishes soon. */
void sn_lock_pause(void);
