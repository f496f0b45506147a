/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the definition of a function behind ours, as the program would: also in libraries that
 * Python loads without RTLD_GLOBAL, where dlsym(RTLD_NEXT) does not look.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#ifndef SN_COLLECT_REAL_SYMBOL_H
#define SN_COLLECT_REAL_SYMBOL_H

#include <stdatomic.h>

/* The definition that the program would use of a symbol that we stand in front of, or of any
 * other; NULL for none. */
void *sn_real_symbol(const char *name);
/* The same, found once and then kept in *known, NULL at first. AS-safe: yes once it is found. */
void *sn_real_symbol_once(_Atomic(void *) *known, const char *name);

/* sn_real_symbol of a constant name, found once at each place that says this. */
#define SN_REAL_SYMBOL(name)                                                                       \
	({                                                                                         \
		static _Atomic(void *) known;                                                      \
		sn_real_symbol_once(&known, name);                                                 \
	})

#endif
