/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stack that is not the thread's own begins and ends: a coroutine's, a signal handler's. */
#ifndef SN_COLLECT_STACK_MEMORY_H
#define SN_COLLECT_STACK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct sn_stack_bounds {
	uintptr_t low, high;
};

/* The readable and writable mapping that holds `address`, from /proc/self/maps. AS-safe: yes. MT:
 * yes. */
bool sn_stack_bounds_find(uintptr_t address, struct sn_stack_bounds *bounds);

#endif
