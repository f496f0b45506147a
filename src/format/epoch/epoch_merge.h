/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging epochs: their parts of one event and period become one part, counts of one place are
 * summed. Memory holds the dictionaries, and so many bytes of counts; what does not fit is sorted on
 * disk, in the folder of the store.
 */
#pragma once

#include "base/error.h"
#include "epoch_reader.h"

struct sn_epoch_merging {
	struct sn_epoch_reader **readers; /* at their first piece */
	size_t reader_count;
	uint64_t id; /* of the new epoch */
	uint32_t level;
	uint64_t memory_bytes;
	const char *spill_folder;
};

/* Writes the merged epoch to `fd`, an empty file; the caller makes it last and gives it its name.
 * Stores the begin of its first part. SN_ERR_FORMAT where an epoch is damaged; *number is which one. */
int sn_epoch_merge(const struct sn_epoch_merging *merging, int fd, uint64_t *begin_ns,
		   size_t *number, struct sn_error *error);
