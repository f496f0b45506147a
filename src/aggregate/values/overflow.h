/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A temporary file that takes what does not fit into memory. It lies beside the output, where there
 * must be room for as much anyway, and has no name, so that nothing is left however the program
 * ends.
 *
 * MT: append and read by any thread.
 */
#ifndef SN_AGGREGATE_OVERFLOW_H
#define SN_AGGREGATE_OVERFLOW_H

#include "base/error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct sn_overflow {
	int fd; /* -1 before it is opened */
	_Atomic uint64_t end;
};

/* Beside `output`. Release it in either case. */
int sn_overflow_open(struct sn_overflow *spill, const char *output, struct sn_error *error);
void sn_overflow_release(struct sn_overflow *spill);
/* Where the bytes are then, in *offset. */
int sn_overflow_append(struct sn_overflow *spill, const void *bytes, size_t length,
		       uint64_t *offset, struct sn_error *error);
int sn_overflow_read(const struct sn_overflow *spill, uint64_t offset, void *bytes, size_t length,
		     struct sn_error *error);

#endif
