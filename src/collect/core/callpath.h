/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What callpath.c asks of its neighbours beyond thread.h and adapter.h.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#ifndef SN_COLLECT_CALLPATH_H
#define SN_COLLECT_CALLPATH_H

#include "thread.h"

/* Room for the frames of a walk, for hooks that walk by themselves: the program's stack may be small.
 * NULL without memory. Void once this thread's call path is asked for. Between sn_enter and sn_leave. */
#define SN_CALLPATH_FRAMES 1024u
struct sn_python_frame *sn_callpath_python_frames(struct sn_thread *thread);
/* All of this thread's Python frames, as sn_python_walk gives them, and as long valid. */
int sn_callpath_python(struct sn_thread *thread, const struct sn_python_frame **frames);

/* True where `pc` lies in libsonde.so itself. MT: yes. */
bool sn_module_is_own(uintptr_t pc);
/* True where `pc` lies in the C library. MT: yes. */
bool sn_module_is_libc(uintptr_t pc);

/* Recognises PyTorch's dispatcher entry points (at::_ops::NAME::call) by address and gives the
 * operator's frame. `again` tells an entry point (::redispatch) that may only continue the
 * operator that called it. False for any other pc. */
bool sn_torch_operator_frame(uintptr_t pc, struct sn_thread *thread, struct sn_frame *frame,
			     bool *again);

#endif
