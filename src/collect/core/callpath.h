/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that callpath.c uses or offers beyond thread.h and adapter.h.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include "thread.h"

/* A buffer for the frames of a walk, for hooks that walk themselves, because the program's stack
 * may be small. NULL without memory. sn_callpath of this thread overwrites it. Between sn_enter and
 * sn_leave. */
#define SN_CALLPATH_FRAMES 1024u
struct sn_python_frame *sn_callpath_python_frames(struct sn_thread *thread);
/* All Python frames of this thread, as returned by sn_python_walk and valid as long. */
int sn_callpath_python(struct sn_thread *thread, const struct sn_python_frame **frames);

/* A call of a library, which calls back from inside. */
struct sn_callpath_call {
	/* A module (SN_MODULE_NONE: code of none) is the library, or what it calls back through. NULL: none is. AS-safe: yes */
	bool (*is_inside)(uint32_t module);
	uintptr_t
	    object; /* the address of something in the frame of the called function, 0: none is known */
	uintptr_t
	    stack; /* is set: where the called function's frame begins; 0 where that is not known */
};

/* As sn_callpath with the user's sources, without the frames of the call. */
uint32_t sn_callpath_of_call(struct sn_thread *thread, struct sn_callpath_call *call);

/* True where `pc` lies in libsonde.so itself. MT: yes. */
bool sn_module_is_own(uintptr_t pc);
/* True where `pc` lies in the C library. MT: yes. */
bool sn_module_is_libc(uintptr_t pc);

/* Recognises PyTorch's dispatcher entry points (at::_ops::NAME::call) by address and stores the
 * operator's frame. `again` is set for an entry point (::redispatch) that may only continue the
 * operator that called it. False for any other pc. */
bool sn_torch_operator_frame(uintptr_t pc, struct sn_thread *thread, struct sn_frame *frame,
			     bool *again);
