/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of tables as numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The field without the blanks around it, which it may cut off in place. */
const char *sn_value_trim(const char *field);
/* Whether it is what tools write for nothing: an empty field, NA, N/A, nan, null, none, "-". */
bool sn_value_is_missing(const char *text);
/* Whether the whole text is a number, also one with commas between its thousands ("1,234.5"). One that is not finite becomes NAN. The result is
 * that of strtod. */
bool sn_value_number(const char *text, double *value);
/* Whether it is a whole number of at most 64 bits, which a double may not hold: a time. */
bool sn_value_whole(const char *text, int64_t *value);
/* Whether it is three whole numbers in brackets, "(256, 1, 1)". */
bool sn_value_triple(const char *text, double values[3]);
