/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the definition of a function that the program would use without the collector's: also in
 * libraries that Python loads without RTLD_GLOBAL, which dlsym(RTLD_NEXT) does not search.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include <stdatomic.h>

/* The definition that the program would use of a symbol that the collector wraps, or of any other;
 * NULL for none. */
void *sn_real_symbol(const char *name);
/* The same, looked up once and cached in *known, NULL at first. AS-safe: yes after it is found. */
void *sn_real_symbol_once(_Atomic(void *) *known, const char *name);

/* sn_real_symbol of a constant name, looked up once at each place of use. */
#define SN_REAL_SYMBOL(name)                                                                       \
	({                                                                                         \
		static _Atomic(void *) known;                                                      \
		sn_real_symbol_once(&known, name);                                                 \
	})
