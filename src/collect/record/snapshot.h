/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot: the sections of the measurement format, encoded from the collector's live data and
 * written with checksums. Memory is mapped while it is written.
 *
 * All functions here: AS-safe: yes. MT: the holder of the lock CHECKPOINT.
 */
#pragma once

#include "format/checksum.h"
#include "format/measurement/measurement.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_thread_extent;

struct sn_snapshot {
	const char *exit_text;
	bool has_graph;
	uint32_t thread_count;
	struct sn_thread_extent
	    *extents; /* the data that each thread had published at the beginning */
	struct sn_section_entry *entries;
	uint32_t entry_count;
	void *scratch;
	size_t scratch_bytes;
	uint64_t bound_bytes; /* upper bound of its length */
	uint64_t length;      /* known after writing */
	/* the output: a buffer, the written part of the current section, and the first error */
	int fd;
	int status;
	uint64_t file_offset; /* of the snapshot in the file */
	uint64_t position;    /* in the snapshot */
	unsigned char *buffer;
	size_t buffered;
	struct sn_checksum checksum;
};

/* Determines how much of each thread's data is written. 0 or -ENOMEM. */
int sn_snapshot_begin(struct sn_snapshot *snapshot, const char *exit_text);
/* Writes it at `offset` of `fd`. 0 or negative errno (-ENOSPC, -EDQUOT, ...). */
int sn_snapshot_write(struct sn_snapshot *snapshot, int fd, uint64_t offset);
void sn_snapshot_end(struct sn_snapshot *snapshot);
