/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dlsym asks of the adapter: CUPTI's functions that pass through the collector (others.c), and the driver's that hands others out
 * (calls.c).
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>

bool sn_cuda_has_stand_in(const char *name);
/* What a program gets that asks for a function of this name and would get `found`: a function in front of it, or `found` itself. */
void *sn_cuda_stand_in(const char *name, void *found);
/* The program looks up the function by which the driver hands out others: its library may be new. AS-safe: no. */
void sn_cuda_asked(void);
