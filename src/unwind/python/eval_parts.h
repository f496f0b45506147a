/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of CPython's evaluation loop: those of its function, and of the parts that a compiler moved away from it.
 */
#pragma once

#include "unwind/module.h"

#include <stdint.h>

#define SN_EVAL_RANGES 64

struct sn_address_range {
	uintptr_t start, end;
};

/* Appends to ranges[*count], the first of which is the function itself, its other parts in the module, whose memory is read. AS-safe: no. MT: yes. */
void sn_python_eval_parts(const struct sn_module *module,
			  struct sn_address_range ranges[SN_EVAL_RANGES], uint32_t *count);
