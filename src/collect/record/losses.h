/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts processes that cannot write a measurement of their own. The counters lie in the header
 * page of their parent's measurement file (struct sn_losses_record): a child shares that page with
 * its parent even if it can no longer open files, write, or find a path.
 *
 * The kernel adds to a counter (futex), because a store into a truncated file would end the program
 * by SIGBUS.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

#include "format/measurement/measurement.h"

#include <stdbool.h>

/* When measuring starts: from now on processes created without fork's handlers are detected.
 * AS-safe: no. MT: once. */
void sn_losses_init(void);
/* From now on this process and its children count losses in the header page of the measurement file
 * `fd`. If it cannot be mapped, they are not counted. MT: the only thread. */
void sn_losses_open(int fd);
/* Called by fork's handlers in the child: this process is measured. MT: the only thread. */
void sn_losses_after_fork(void);

/* Adds `by`, 1 or -1. Keeps errno. Several processes may add at the same time. */
void sn_losses_add(enum sn_loss loss, int by);

/* True in a process that was created by a bare system call and does not share its creator's memory:
 * no handler of fork has run in it. */
bool sn_losses_is_unseen(void);
/* Counts such a process, once. Called where a process ends, forks or executes. */
void sn_losses_note_unseen(void);
