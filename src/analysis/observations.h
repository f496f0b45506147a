/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sonde/analysis.h. */
#pragma once

#include "causal/table.h"
#include "sonde/analysis.h"

struct sonde_table {
	struct sn_causal_table table;
	size_t column_capacity;
	bool is_read; /* from a file */
};
