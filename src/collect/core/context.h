/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contexts of points that a program comes to again and again: operators, calls that launch something. With the Python frames,
 * the shadow frames and the return addresses on the stack a stack address and a return address identify a path, whose node is cached.
 * docs/design/torch-operators.md gives reasons.
 *
 * All functions here: AS-safe: no. MT: the thread itself. Between sn_enter and sn_leave.
 */
#pragma once

#include "callpath.h"

/*
 * The context of the caller's call path, as from sn_callpath; if `of_shadow`, that of the topmost
 * shadow frame. `stack` is an address at the outer end of the calling hook's frame and `pc` the
 * hook's return address.
 */
uint32_t sn_context(struct sn_thread *thread, uintptr_t stack, uintptr_t pc, bool of_shadow);

/* As from sn_callpath_of_call. `function` is any address that tells the library's functions apart. */
uint32_t sn_context_of_call(struct sn_thread *thread, uintptr_t function,
			    struct sn_callpath_call *call);

/* Forgets what is known of `thread`, which ends. */
void sn_context_release(struct sn_thread *thread);
