/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's clocks in nanoseconds. MT: yes. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t sn_clock_now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
