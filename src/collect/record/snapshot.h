/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot: the sections of the measurement format, made from the collector's live data and
 * written with checksums as they go. Async-signal-safe; memory is mapped for the time of the write.
 *
 * All functions here: AS-safe: yes. MT: who holds the lock CHECKPOINT.
 */
#ifndef SN_COLLECT_SNAPSHOT_H
#define SN_COLLECT_SNAPSHOT_H

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
	struct sn_thread_extent *extents; /* what each thread had published at the beginning */
	struct sn_section_entry *entries;
	uint32_t entry_count;
	void *scratch;
	size_t scratch_bytes;
	uint64_t bound_bytes; /* the snapshot cannot be longer */
	uint64_t length;      /* known after writing */
	/* the output: a buffer, what of the current section has gone through it, and the first
	 * error */
	int fd;
	int status;
	uint64_t file_offset; /* of the snapshot in the file */
	uint64_t position;    /* in the snapshot */
	unsigned char *buffer;
	size_t buffered;
	struct sn_checksum checksum;
};

/* Fixes how much of each thread's data is written. 0 or -ENOMEM. */
int sn_snapshot_begin(struct sn_snapshot *snapshot, const char *exit_text);
/* Writes it at `offset` of `fd`. 0 or negative errno (-ENOSPC, -EDQUOT, ...). */
int sn_snapshot_write(struct sn_snapshot *snapshot, int fd, uint64_t offset);
void sn_snapshot_end(struct sn_snapshot *snapshot);

#endif
