/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts processes that can write no measurement of their own. The counters lie in the header page
 * of their parent's measurement file (struct sn_losses_record): a child shares that page with its
 * parent even where it may no longer open files, write, or find a path.
 *
 * A count is added by the kernel (futex), because a store would end the program by SIGBUS where
 * somebody truncated the file.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_LOSSES_H
#define SN_COLLECT_LOSSES_H

#include "format/measurement/measurement.h"

#include <stdbool.h>

/* Once, when measuring starts: from now on processes made without fork's handlers are known.
 * AS-safe: no. MT: once. */
void sn_losses_init(void);
/* The page of the measurement file `fd` is where losses are counted from now on, by this process
 * and those that it makes. Where it cannot be mapped nothing is counted. MT: the only thread. */
void sn_losses_open(int fd);
/* In the child of a fork, by its handlers: this process is known. MT: the only thread. */
void sn_losses_after_fork(void);

/* Adds `by`, 1 or -1. Keeps errno. Processes may do so at the same time. */
void sn_losses_add(enum sn_loss loss, int by);

/* True in a process that was made by a system call and shares no memory with its maker: no handler
 * of fork has run in it. */
bool sn_losses_is_unseen(void);
/* Counts such a process, once. Called where a process ends, forks or executes. */
void sn_losses_note_unseen(void);

#endif
