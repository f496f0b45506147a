/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the values of one profile by context and metric before they go to a builder, because a
 * builder keeps all added values until it is written, and a trace has a value for each event.
 */
#pragma once

#include "base/table.h"
#include "format/database/database_writer.h"

struct sn_total {
	uint32_t context, metric;
	struct sonde_db_stat stat;
};

/* All zeroes is an empty one. */
struct sn_totals {
	struct sn_table keys;  /* metric above context */
	struct sn_total *sums; /* by number of the key */
	size_t capacity;
};

/* One value. 0 or SN_ERR_MEMORY. */
int sn_totals_add(struct sn_totals *totals, uint32_t context, uint32_t metric, double value);
/* Gives all to the builder and forgets them. */
void sn_totals_flush(struct sn_totals *totals, struct sn_db_builder *builder, uint32_t profile);
void sn_totals_release(struct sn_totals *totals);
