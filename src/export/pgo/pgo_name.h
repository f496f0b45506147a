/* SPDX-License-Identifier: Apache-2.0 */
/* Which symbols can stand in profiles, whose formats have blanks, lines and numbers between names, and no escapes. Those of compilers can; others are left out. */
#pragma once

#include <stdbool.h>

/* The name may be NULL. */
static inline bool sn_pgo_is_name(const char *name)
{
	if (!name || !*name || (*name >= '0' && *name <= '9'))
		return false;
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c <= ' ')
			return false;
	return true;
}
