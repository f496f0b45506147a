/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetPjrtApi, as the program looks it up (intercept_dl.c; plugin.c).
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include <stdbool.h>

/* Whether it is the name. AS-safe: yes. */
bool sn_pjrt_has_stand_in(const char *name);
/* What the program is to get when it looks the name up in a library and `found` is there. */
void *sn_pjrt_stand_in(const char *name, void *found);
/* The same for RTLD_DEFAULT and RTLD_NEXT, by which our own function would be found. For RTLD_DEFAULT the `caller` counts, whose
 * library may have a scope of its own behind the program's; else NULL. */
void *sn_pjrt_lookup_global(const void *caller);
