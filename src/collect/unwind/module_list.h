/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load modules of this process and their addresses.
 *
 * The list is read from /proc/self/maps, which takes no lock, so a signal handler can do it for a
 * pc in no known module. Records are append-only and never reused: an unloaded module stays in the
 * list, marked dead, and its index keeps its meaning in every context.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

#include "unwind/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_MODULE_MAX  8192
#define SN_MODULE_NONE UINT32_MAX

/* Reads the list for the first time. 0 or negative errno. AS-safe: no. MT: once. */
int sn_modules_init(void);
/* In the child of a fork; keeps the list. MT: the only thread. */
void sn_modules_after_fork(void);

/* Index of the live module that holds `address`, or SN_MODULE_NONE. Never reads /proc. */
uint32_t sn_module_find(uintptr_t address);
/* The same, but reads the list again if the address is unknown, for addresses in no mapping at most
 * four times in 50 ms. */
uint32_t sn_module_find_or_refresh(uintptr_t address);
/* Valid until the process ends. */
const struct sn_module *sn_module_at(uint32_t index);
uint32_t sn_module_count(void);
/* The number of changes of the list so far. */
uint32_t sn_module_generation(void);
/* The number of modules unloaded so far; when it changes, a cache keyed by address is invalid. */
uint32_t sn_module_unloads(void);
/* Marks the list stale: a module was unloaded. */
void sn_modules_stale(void);
/* Called before and after dlclose: during it an address may be unmapped and then belong to another
 * module, so the list is stale until it has ended. */
void sn_modules_unloading(bool begins);
/* Reads the list again if it is stale. Cached data about addresses is invalid if sn_module_unloads
 * has changed. */
void sn_modules_settle(void);
/* The same, only where it is stale because of something that has been unloaded already: a load or two, for who asks often. */
void sn_modules_settle_unloaded(void);
/* The first live module whose path's base name starts with `prefix`, or SN_MODULE_NONE. */
uint32_t sn_module_by_name(const char *prefix);

/* A file that is not mapped and whose addresses contexts have: code of a device. Its index, the same for the same path; SN_MODULE_NONE where
 * there are too many. AS-safe: no. */
uint32_t sn_module_add_file(const char *path);

/* The contents of the file that a module was mapped from, and of no other that has its name by now; NULL if they
 * cannot be read. Give them back with sn_module_unmap_file. */
const void *sn_module_map_file(const struct sn_module *module, size_t *bytes);
void sn_module_unmap_file(const void *contents, size_t bytes);
