/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's clocks in nanoseconds.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* 0 if the clock cannot be read. */
static inline uint64_t sn_clock_ns(clockid_t clock)
{
	struct timespec now;
	if (clock_gettime(clock, &now))
		return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC. */
static inline uint64_t sn_now_ns(void)
{
	return sn_clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread. */
static inline uint64_t sn_thread_cpu_ns(void)
{
	return sn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
