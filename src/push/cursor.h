/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a store of continuous profiling has been pushed, in a file: lines "name value", which appear whole or not at all.
 *
 * All parts of the epochs before `epoch` were pushed (or given up), and `parts` parts of that epoch. While `sending` is above
 * `parts`, those up to it may have arrived: whoever finds that at its start was killed meanwhile, and cannot know.
 * The counters are for people (`sonde daemon status`).
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define SN_PUSH_CURSOR_DEFAULT "push/cursor" /* in the store's folder */

struct sn_push_cursor {
	uint64_t epoch, parts, sending;
	uint64_t sending_samples; /* of the parts up to `sending` */
	/* Samples: what was pushed, what waits; what may have arrived or not, and is not sent again; what the server refused;
	 * what could not be delivered or read, until it was too late. */
	uint64_t pushed, waiting, unsure, rejected, given_up;
	uint64_t requests;	 /* that were delivered */
	uint64_t pushed_ns;	 /* when the last one was, since the Unix epoch; 0 never */
	struct sn_error failure; /* why the last try failed; "" it did not */
};

/* 0, also of a file that is missing, which is a cursor at the begin; or a negative enum sn_err. */
int sn_push_cursor_read(struct sn_push_cursor *cursor, const char *path, struct sn_error *error);
/* On the disk when it returns 0. */
int sn_push_cursor_write(const struct sn_push_cursor *cursor, const char *path,
			 struct sn_error *error);
