/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of sealed epochs: which are merged and which are deleted (for epoch_writer.c, and ages for others). */
#pragma once

#include "base/error.h"
#include "base/table.h"
#include "epoch_payload.h"
#include "epoch_writer.h"

/* What a writer knows of its store. */
struct sn_epoch_keep {
	const char *path; /* for messages */
	int folder;
	bool group_reads, no_sync;
	struct sn_epoch_policy policy;
	struct sn_epoch_moment now;
	uint64_t next_id; /* of a new epoch; grows */
	struct sn_table
	    damaged; /* ids of epochs that cannot be merged; released by sn_epoch_keep */
};

/* How long ago an epoch ended. By the clock that nobody sets, where it is of one boot: a calendar that jumps deletes nothing. */
uint64_t sn_epoch_age(const struct sn_epoch_summary *summary, const struct sn_epoch_moment *now);
/* Merges and deletes as the policy says. 0 or a negative enum sn_err. */
int sn_epoch_keep(struct sn_epoch_keep *keep, struct sn_error *error);
/* Removes what a killed writer left: unfinished files, and epochs that others replace. *next_id is
 * above all ids. */
int sn_epoch_keep_tidy(const char *path, int folder, uint64_t *next_id, struct sn_error *error);
/* Makes changes of names last; not for tests. What fails here is not known to matter. */
void sn_epoch_keep_sync(int folder, bool is_off);
