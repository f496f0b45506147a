/* SPDX-License-Identifier: Apache-2.0 */
/* Code that a process has mapped, by /proc. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Code that a process has mapped. */
struct sn_mapping {
	uint64_t start, end, offset; /* of its first byte in the file */
	uint32_t major, minor;
	uint64_t inode;
	const char *path; /* of code in no file "//anon", as the kernel calls it */
};

/* Calls `see` with each mapping of code of a process, by address, until it returns other than 0, and returns that. -1 with errno where they cannot be read. */
int sn_mappings_each(pid_t pid, int (*see)(void *context, const struct sn_mapping *mapping),
		     void *context);
/* Opens the file of a mapping as the process sees it: what is mapped, which may have no name any more, or what its name leads to there. -1 if it is not to be had, or is no regular file. */
int sn_mapping_open(pid_t pid, const struct sn_mapping *mapping);
