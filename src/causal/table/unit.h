/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units as Nsight Compute writes them ("usecond", "Kbyte/block", "cycle/nsecond", "Ghz"), in order to bring the values of a column to one.
 * Times become ns, in a denominator seconds; bytes, cycles, hertz and all else lose their prefix.
 */
#pragma once

#include "base/arena.h"

/* What a value of that unit is multiplied by, and the unit that it has then, of the arena; NULL: without memory. A word that is not known stays
 * as it is. */
double sn_unit_scale(const char *unit, struct sn_arena *arena, const char **base);
