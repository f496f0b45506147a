/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in the order of a column's values. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The places 0 .. rows - 1 in ascending order of values[kept[place]], or of values[place] where `kept` is NULL; those without a value come last, and equal ones
 * by place. The caller's to free; NULL without memory. */
uint32_t *sn_value_order(const double *values, const uint32_t *kept, size_t rows);
