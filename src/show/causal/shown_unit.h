/* SPDX-License-Identifier: Apache-2.0 */
/* In which unit the values of a column are shown. */
#pragma once

#include "causal/table.h"

/* As sn_number_format takes it: that of the file, else by the end of the name ("_ns", "_bytes"); "1" where neither says one, of counts, and where it has
 * more than SN_SHOWN_UNIT_MOST characters. Owned by the column. */
const char *sn_causal_shown_unit(const struct sn_causal_column *column);

#define SN_SHOWN_UNIT_MOST 11u
