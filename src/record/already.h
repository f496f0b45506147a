/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs already when sampling begins: the kernel tells of new threads and mappings alone, so names of threads and the code that processes have mapped are read
 * from /proc.
 */
#pragma once

#include "perf_pipe.h"

#include "base/intern.h"

#include <linux/perf_event.h>
#include <sys/types.h>

/* Calls `see` with each process of the machine, or each thread of a process (`pid` above 0), until it returns other than 0, and returns that. A process that ends
 * meanwhile has no more threads. An errno where they cannot be listed: ENOENT if there is none. */
int sn_already_each(pid_t pid, int (*see)(void *context, pid_t id), void *context);
/* Build ids of files that processes have mapped, by device and inode, so that each is looked at once: the kernel tells those of what is mapped later, and a file of two
 * identities would be two. All zeroes is empty. */
struct sn_already_files {
	struct sn_intern keys;
	struct sn_already_id *ids;
	size_t capacity;
};
void sn_already_files_release(struct sn_already_files *files);

/* Appends a process's names and mappings as perf's records. One that has ended has none. */
void sn_already_put(struct sn_already_files *files, struct sn_buffer *buffer,
		    const struct perf_event_attr *attr, pid_t pid);
/* The file of a mapping as the process sees it: what is mapped, which may have no name any more, or what its name leads to there. NULL if it is not to be had; the
 * caller's to free. */
struct sn_elf_file *sn_already_open(pid_t pid, const struct sn_mapping *mapping);
/* The name of a thread; false if there is none. */
bool sn_already_name(pid_t pid, pid_t tid, char name[64]);
