/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that stays valid until the process ends, for any thread: names whose handles other
 * libraries hold, records of objects.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stddef.h>

/* Zeroed, aligned to 16; NULL without memory or for more than a little below 64 KiB. */
void *sn_keep(size_t bytes);
