/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the memory of another process, which runs meanwhile: any word may be a new one, and any address gone. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct sn_remote {
	pid_t pid;
	bool is_refused; /* the kernel does not let this user read it */
};

/* False where not all of it can be read. */
static inline bool sn_remote_read(struct sn_remote *remote, uintptr_t address, void *to,
				  size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)address, bytes};
	ssize_t got = process_vm_readv(remote->pid, &here, 1, &there, 1, 0);
	remote->is_refused |= got < 0 && errno == EPERM;
	return got == (ssize_t)bytes;
}

static inline bool sn_remote_word(struct sn_remote *remote, uintptr_t address, uintptr_t *word)
{
	return sn_remote_read(remote, address, word, sizeof(*word));
}
