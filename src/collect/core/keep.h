/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that stays until the process ends, for any thread: names that other libraries hold handles
 * of, records of objects.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_KEEP_H
#define SN_COLLECT_KEEP_H

#include <stddef.h>

/* Zeroed, aligned to 16; NULL without memory or beyond 64 KiB less a little. */
void *sn_keep(size_t bytes);

#endif
