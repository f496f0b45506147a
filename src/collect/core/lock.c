/* SPDX-License-Identifier: Apache-2.0 */
/* The locks themselves, and the check of their order in libsonde-checked.so. */
#include "lock.h"

#include "collect/sample/signal_check.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 64, YIELDS = 64 };

/* On a cache line each: one that is busy slows no other. */
static struct {
	_Alignas(64) _Atomic int held;
} locks[SN_LOCK_COUNT];

#ifdef SN_SIGNAL_CHECK
/* A bit for each that this thread holds. A handler gives back what it takes, so that it finds and
 * leaves the same. */
static __thread unsigned held_here __attribute__((tls_model("initial-exec")));
static void note_acquired(enum sn_lock lock)
{
	held_here |= 1u << lock;
}
static void note_released(enum sn_lock lock)
{
	held_here &= ~(1u << lock);
}
static void check_order(enum sn_lock lock)
{
	sn_signal_check_outside("a lock is waited for");
	if (held_here >> lock)
		sn_signal_check_refuse("a lock that comes later in locks.def, or this, is held");
}
#else
static void note_acquired(enum sn_lock lock)
{
}
static void note_released(enum sn_lock lock)
{
}
static void check_order(enum sn_lock lock)
{
}
#endif

void sn_lock_pause(void)
{
	struct timespec pause = {0, SN_LOCK_PAUSE_NS};
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
}

bool sn_lock_try_one(enum sn_lock lock, _Atomic int *held)
{
	int expected = 0;
	if (!atomic_compare_exchange_strong_explicit(held, &expected, 1, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	note_acquired(lock);
	return true;
}

/* Sleeps in the end: the holder may have a lower real-time priority. */
static void wait_longer(unsigned tries)
{
	if (tries >= SPINS + YIELDS)
		sn_lock_pause();
	else if (tries >= SPINS)
		sched_yield();
}

bool sn_lock_wait_one(enum sn_lock lock, _Atomic int *held)
{
	for (unsigned tries = 0; tries < SPINS + YIELDS + SN_LOCK_PATIENCE; tries++) {
		if (sn_lock_try_one(lock, held))
			return true;
		wait_longer(tries);
	}
	return sn_lock_try_one(lock, held);
}

void sn_lock_release_one(enum sn_lock lock, _Atomic int *held)
{
	note_released(lock);
	/* release: pairs with the acquire of the next holder */
	atomic_store_explicit(held, 0, memory_order_release);
}

bool sn_lock_try(enum sn_lock lock)
{
	return sn_lock_try_one(lock, &locks[lock].held);
}

bool sn_lock_wait(enum sn_lock lock)
{
	return sn_lock_wait_one(lock, &locks[lock].held);
}

void sn_lock_acquire(enum sn_lock lock)
{
	check_order(lock);
	for (unsigned tries = 0; !sn_lock_try(lock); tries++)
		wait_longer(tries);
}

void sn_lock_release(enum sn_lock lock)
{
	sn_lock_release_one(lock, &locks[lock].held);
}

void sn_locks_after_fork(void)
{
	for (unsigned lock = 0; lock < SN_LOCK_COUNT; lock++)
		sn_lock_release(lock);
}
