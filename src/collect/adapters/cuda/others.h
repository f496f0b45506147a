/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dlsym asks of others.c: CUPTI's functions that pass through the collector.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>

bool sn_cuda_has_stand_in(const char *name);
/* What a program gets that asks for a function of this name and would get `found`: a function in front of it, or `found` itself. */
void *sn_cuda_stand_in(const char *name, void *found);
