/* SPDX-License-Identifier: Apache-2.0 */
/* Effects that need not rise or fall: a column's rows in groups, and how much of another column their means explain. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Groups of rows with one value each where there are at most so many values, else so many groups of about as many rows each. */
#define SN_LEVELS_VALUES 20
#define SN_LEVELS_GROUPS 10

/* Writes each row's group, 0 .. *count - 1, in the order of the values. 0 or SN_ERR_MEMORY. */
int sn_levels(const double *values, size_t rows, uint8_t *levels, uint32_t *count);

/*
 * The part of the variance of `values` that lies between the groups, without what chance alone would put there (Kelley's epsilon squared, 1935),
 * at least 0. `times`: how often each row counts, or NULL: once.
 */
double sn_levels_share(const uint8_t *levels, uint32_t count, const double *values, size_t rows,
		       const uint32_t *times);
