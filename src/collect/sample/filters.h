/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of system-call filters (seccomp) in force; also used by `sonde run`.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line with a number in a status file of /proc. */
struct sn_status_line {
	const char *key; /* with its delimiters: "\nSigBlk:\t" */
	unsigned base;	 /* 10 or 16 */
	bool is_there;
	uint64_t number;
};
/* Finds the lines in a status file of /proc. 0, or a negative errno if it cannot be read. */
int sn_status_read(const char *path, struct sn_status_line *lines, size_t count);

/* The number of filters of the calling thread; before Linux 5.9, which tells only whether there are
 * any, 1 for any number. A negative errno if it cannot be determined. Its only system calls are
 * openat, read and close, which a filter must allow if a dynamically linked program starts under
 * it. */
int sn_filters_in_force(void);
