/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of one profile on their way into a builder: added up by context and metric here, because
 * a builder keeps what it is given until it is written, and a trace has a value for each event.
 */
#ifndef SN_IMPORT_TOTALS_H
#define SN_IMPORT_TOTALS_H

#include "format/database/database_writer.h"

struct sn_total {
	uint64_t key; /* metric above context */
	struct sonde_db_stat stat;
};

/* All zeroes is an empty one. */
struct sn_totals {
	struct sn_total *sums; /* in the order they were met */
	uint32_t *slots;       /* one more than a number in `sums`; 0: free */
	size_t count, capacity, slot_count;
};

/* One value. 0 or SN_ERR_MEMORY. */
int sn_totals_add(struct sn_totals *totals, uint32_t context, uint32_t metric, double value);
/* Gives all to the builder and forgets them. */
void sn_totals_flush(struct sn_totals *totals, struct sn_db_builder *builder, uint32_t profile);
void sn_totals_release(struct sn_totals *totals);

#endif
