/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file without a name, for what is too large for memory: gone with the process, however it ends.
 */
#ifndef SN_TRACE_SPILL_H
#define SN_TRACE_SPILL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sn_spill {
	const char *folder; /* not owned */
	int fd;		    /* -1: nothing was written yet */
	uint64_t length;    /* bytes given to sn_spill_write */
	unsigned char *buffer;
	size_t buffered;
	int failed; /* errno of the first failure; later writes do nothing */
};

/* Appends; buffered. A failure is remembered and reported by sn_spill_finish. */
void sn_spill_write(struct sn_spill *spill, const void *bytes, size_t length);
/* Writes what is buffered. 0 or SN_ERR_IO. */
int sn_spill_finish(struct sn_spill *spill, struct sn_error *error);
/* Reads back what sn_spill_finish has put there. 0, or -1 with errno. */
int sn_spill_read(const struct sn_spill *spill, void *bytes, size_t length, uint64_t offset);
void sn_spill_close(struct sn_spill *spill);

#endif
