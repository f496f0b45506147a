/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a store is to be pushed next: the flushes of the oldest epoch that were not pushed yet. Epochs that were merged are
 * never pushed: while a store is pushed, its writer merges those alone that were (epoch_writer.h, `unmerged_from`), or those that are
 * too old.
 */
#pragma once

#include "cursor.h"

/* Flushes that are older are given up: a store of profiles would hardly take them. The writer waits a little longer. */
#define SN_PUSH_AGE_NS	 (UINT64_C(24) * 3600 * 1000000000)
#define SN_PUSH_MERGE_NS (UINT64_C(25) * 3600 * 1000000000)

struct sn_push_unit {
	uint64_t epoch, first, last; /* the parts from `first` to before `last` */
	uint64_t begin_ns, end_ns;   /* CLOCK_REALTIME */
	uint64_t samples;	     /* that it holds */
};

/*
 * 1 and the next unit, 0 if there is none, or a negative enum sn_err. Moves the cursor over epochs of which nothing is left to push,
 * and counts what waits behind the unit and in it. Parts of an interrupted request (`sending`) come alone, as they were.
 * `damage`, if it is not empty afterwards, tells what was passed over as it cannot be read.
 */
int sn_push_next(const char *store, struct sn_push_cursor *cursor, struct sn_push_unit *unit,
		 struct sn_error *damage, struct sn_error *error);
