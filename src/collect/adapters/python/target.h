/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter found in this process: its module, symbols, layout, and the addresses of its
 * evaluation loop. Filled once, outside signal handlers, and constant after it is published.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: once, before the target is
 * published.
 */
#pragma once

#include "collect/unwind/module_list.h"
#include "unwind/python/eval_parts.h"
#include "unwind/python/layout.h"

#include <stdatomic.h>

struct sn_python_target {
	const struct sn_module *module;
	const struct sn_module
	    *launcher; /* a python executable that only calls libpython, or NULL */
	uint32_t hex;  /* PY_VERSION_HEX; the patch level is unknown before 3.11 */
	uintptr_t runtime;
	size_t runtime_bytes;
	struct sn_python_layout layout;
	void *(*thread_state)(void); /* PyGILState_GetThisThreadState */
	_Atomic bool key_is_wrong;   /* set once, if the key does not lead to the state */
	uint32_t range_count;	     /* of the evaluation loop; the first is the function itself */
	struct sn_address_range ranges[SN_EVAL_RANGES];
};

/* Looks for a CPython in `module` and fills `target`. 0; -ENOENT: none here; -ENOTSUP: one that is
 * not supported, with the reason in `reason`. */
int sn_python_target_find(struct sn_python_target *target, const struct sn_module *module,
			  const char **reason);

/* The calling thread's PyThreadState, also while it has released the global lock; 0 if it has none.
 * The address is not checked. AS-safe: yes. MT: yes. */
uintptr_t sn_python_thread_state(const struct sn_python_target *target);

/* To be called until the layout is verified: checks whether the runtime's key is the right one. */
void sn_python_check_key(struct sn_python_target *target);
