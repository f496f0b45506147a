/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that a server forks on request: multiprocessing's "forkserver" is started once, by the line that needs it
 * first, and forks a child for each line that asks for one later. The child belongs below the line that asked
 * (docs/design/python-frames.md).
 *
 * The line that asks sends the server a message with descriptors of pipes that it has just made. The first pipe's number, which
 * no other pipe has while it is open, names a text with the line's path in the measurement folder; the server's child takes it.
 *
 * All functions here, unless they say otherwise: MT: yes.
 */
#pragma once

#include "collect/core/thread.h"

#include <sys/socket.h>

/* Before a message is sent. The program may have passed anything. Not between sn_enter and sn_leave.
 * AS-safe: yes. MT: yes. */
void sn_served_start_ask(const struct msghdr *message);
/* After one was received. AS-safe: yes. MT: yes. */
void sn_served_start_hear(const struct msghdr *message);
/* In the child of a fork: its thread begins below the line that asked for it, if one did. Not between sn_enter and sn_leave.
 * AS-safe: no. MT: the only thread. */
void sn_served_start_begin(struct sn_thread *thread);
