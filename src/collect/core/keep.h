/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that stays valid until the process ends, for any thread: names whose handles other
 * libraries hold, records of objects.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stddef.h>

/* A terminated copy of a name, the same one each time, but that threads which race may make two. NULL without memory, or for a name that is
 * too long for sn_keep. */
const char *sn_keep_name(const char *name, size_t length);

/* Zeroed, aligned to 16; NULL without memory or for more than a little below 64 KiB. */
void *sn_keep(size_t bytes);
