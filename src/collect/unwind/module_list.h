/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load modules of this process: which file is mapped where.
 *
 * The list is read from /proc/self/maps: that takes no lock, so it can be done from a signal
 * handler when a pc is met that lies in no known module. Records are append-only and never reused:
 * a module unloaded stays in the list, marked dead, and its index keeps its meaning in every
 * context.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_MODULE_LIST_H
#define SN_COLLECT_MODULE_LIST_H

#include "unwind/module.h"

#include <stdbool.h>
#include <stdint.h>

#define SN_MODULE_MAX  8192
#define SN_MODULE_NONE UINT32_MAX

/* Reads the list for the first time. 0 or negative errno. AS-safe: no. MT: once. */
int sn_modules_init(void);
/* After fork, in the child; the list stays. MT: the only thread. */
void sn_modules_after_fork(void);

/* Index of the live module that holds `address`, or SN_MODULE_NONE. Never reads /proc. */
uint32_t sn_module_find(uintptr_t address);
/* The same, reading the list anew where the address is unknown, at most four times in 50 ms for
 * addresses in no mapping. */
uint32_t sn_module_find_or_refresh(uintptr_t address);
/* Valid for ever. */
const struct sn_module *sn_module_at(uint32_t index);
uint32_t sn_module_count(void);
/* Counts every change of the list. */
uint32_t sn_module_generation(void);
/* Counts the modules unloaded so far; a cache keyed by address is void when it changes. */
uint32_t sn_module_unloads(void);
/* Marks the list stale: something was unloaded. */
void sn_modules_stale(void);
/* Around dlclose: from when it begins, an address may be unmapped and be another module's the next
 * moment, so the list is stale until it has ended. */
void sn_modules_unloading(bool begins);
/* Reads the list anew where it is stale. What was learned about addresses before is void if
 * sn_module_unloads has changed. */
void sn_modules_settle(void);
/* The first live module from index `from` whose path's base name starts with `prefix`, or
 * SN_MODULE_NONE. */
uint32_t sn_module_by_name(const char *prefix, uint32_t from);

#endif
