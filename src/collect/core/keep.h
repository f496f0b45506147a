/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that lives as long as the process and that any thread may take: names that other libraries
 * hold handles of, records of objects that are never forgotten.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_KEEP_H
#define SN_COLLECT_KEEP_H

#include <stddef.h>

/* Zeroed, aligned to 16; NULL without memory or beyond 64 KiB less a little. */
void *sn_keep(size_t bytes);

#endif
