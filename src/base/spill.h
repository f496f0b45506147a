/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file without a name, for data that is too large for memory; it vanishes with the process.
 *
 * Either one thread appends through a buffer (sn_spill_write, then sn_spill_finish), or any number
 * of threads append directly and get the offset (sn_spill_append). Reading is possible at any
 * offset.
 *
 *	struct sn_spill spill = {.folder = sn_spill_folder(NULL), .fd = -1};
 *	sn_spill_write(&spill, bytes, length);
 *	result = sn_spill_finish(&spill, error);
 *	if (!result)
 *		result = sn_spill_read(&spill, bytes, length, 0, error);
 *	sn_spill_close(&spill);
 */
#pragma once

#include "error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct sn_spill {
	const char *folder;	 /* not owned; NULL: it was opened beside an output */
	int fd;			 /* -1: nothing was written yet */
	_Atomic uint64_t length; /* bytes appended so far */
	unsigned char *buffer;
	size_t buffered;
	int failed; /* errno of the first failure; later writes do nothing */
};

/* The folder, or if it is NULL or "" the one for temporary files: $TMPDIR, else /tmp. */
const char *sn_spill_folder(const char *folder);
/* Opens it at once, beside the file or folder `output`, where as much space is needed anyway; for a
 * device or pipe in the folder for temporary files. 0 or a negative enum sn_err; close it in either
 * case. */
int sn_spill_open_beside(struct sn_spill *spill, const char *output, struct sn_error *error);
void sn_spill_close(struct sn_spill *spill);

/* Appends; buffered. sn_spill_finish reports a failure. */
void sn_spill_write(struct sn_spill *spill, const void *bytes, size_t length);
/* Writes the buffer. 0, SN_ERR_IO or SN_ERR_MEMORY. */
int sn_spill_finish(struct sn_spill *spill, struct sn_error *error);

/* Appends directly to an open spill; stores the place in *offset. 0 or SN_ERR_IO. MT: yes, while no
 * thread uses sn_spill_write. */
int sn_spill_append(struct sn_spill *spill, const void *bytes, size_t length, uint64_t *offset,
		    struct sn_error *error);
/* Reads bytes that sn_spill_finish or sn_spill_append has written. 0 or SN_ERR_IO. MT: yes. */
int sn_spill_read(const struct sn_spill *spill, void *bytes, size_t length, uint64_t offset,
		  struct sn_error *error);
