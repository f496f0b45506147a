/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many filters of system calls (seccomp) are in force; `sonde run` asks it as well.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_FILTERS_H
#define SN_COLLECT_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of such a file with a number. */
struct sn_status_line {
	const char *key; /* with what is around it: "\nSigBlk:\t" */
	unsigned base;	 /* 10 or 16 */
	bool is_there;
	uint64_t number;
};
/* Finds the lines in a status file of /proc. 0; or a negative errno where it cannot be read. */
int sn_status_read(const char *path, struct sn_status_line *lines, size_t count);

/* Filters of the calling thread. 1 for any number before Linux 5.9, which tells only that there
 * are some. Negative errno where that cannot be found out. Makes no system calls but openat, read
 * and close, which any filter must allow under which a dynamically linked program starts. */
int sn_filters_in_force(void);

#endif
