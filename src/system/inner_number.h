/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in other pid namespaces. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The number that a thread of a process has in its own namespace, or its own if that is not known. */
pid_t sn_inner_number(pid_t pid, pid_t tid);
/* Whether a process is in another pid namespace than this one. */
bool sn_inner_is_apart(pid_t pid);
