/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an adapter is: the collector's knowledge of one runtime (an interpreter, a framework, a
 * device API), in a file or folder of its own under adapters/.
 *
 * Lifetimes. An adapter is compiled into libsonde.so and listed in adapters/list.def. `attach` is
 * tried when the process starts and again, from a hook and never from a signal handler, each time
 * the list of modules has grown; it returns 0 once it has found its runtime and is measuring,
 * -EAGAIN while the runtime is not loaded, and any other negative errno to switch itself off for
 * good, with the reason in `status`. After fork the child calls `after_fork`. `detach` is called
 * once, when measuring ends.
 *
 * An adapter finds its runtime with dlsym or by reading modules; it links nothing but libc.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include "collect/unwind/module_list.h"
#include "thread.h"

/* A Python frame as the adapter reads it, innermost first. */
struct sn_python_frame {
	uint32_t code;	 /* index for the thread's code table, from sn_cct_code */
	uint32_t line;	 /* 0 unknown */
	bool is_entry;	 /* the outermost Python frame that its native evaluation frame runs */
	uintptr_t frame; /* the interpreter's frame, valid while it runs */
};

struct sn_adapter {
	const char *name; /* as `sonde doctor` prints it */
	/* Each of these may be NULL; without `attach` the adapter has no runtime to find. */
	int (*attach)(void);
	void (*detach)(void);
	void (*after_fork)(void);
	/* When a thread begins, on that thread; between sn_enter and sn_leave. */
	void (*thread_begin)(struct sn_thread *thread);
	void (*thread_end)(struct sn_thread *thread);
	/* One line: what is measured, or why nothing is. Written to the environment section. Static
	 * storage. NULL for what serves other adapters; may return NULL, always or never,
	 * where there is nothing to say. */
	const char *(*status)(void);
};

/* --- what callpath.c asks of the Python adapter (adapters/python) --- */

/* Stores the Python frames of the calling thread, innermost first, in frames[0..max). Returns their
 * number, 0 if the thread runs no Python, or a negative errno if they cannot be read. */
int sn_python_walk(struct sn_thread *thread, struct sn_python_frame *frames, uint32_t max);
/* Address of the innermost Python frame of the calling thread; 0 if it runs no Python,
 * SN_PYTHON_UNKNOWN if that cannot be read. AS-safe: no, a frame may be under construction. */
uintptr_t sn_python_innermost(struct sn_thread *thread);
/* A hash of the frames that sn_python_walk would return, at a fraction of its cost: equal
 * fingerprints have equal codes, lines and is_entry. It covers the same fields by which the walk
 * identifies a code object. `innermost` is the result of sn_python_innermost. 0 if there are too
 * many frames or one cannot be read. AS-safe: no. */
uint64_t sn_python_fingerprint(struct sn_thread *thread, uintptr_t innermost);
/* The frame that called `frame`, or 0. AS-safe: no. */
uintptr_t sn_python_caller(struct sn_thread *thread, uintptr_t frame);
/* `frame` is one of the last walk. If the first argument of its function is a code object, stores
 * the code's name, not terminated, in name[0..capacity) and returns its length in bytes. -ENOENT if
 * it is no code object, -EFAULT if it cannot be read. */
ssize_t sn_python_code_argument(struct sn_thread *thread, const struct sn_python_frame *frame,
				char *name, size_t capacity);
/* The first argument, an object, of the function of `frame`, a frame of the last walk; 0 if it
 * cannot be read. */
uintptr_t sn_python_first_argument(struct sn_thread *thread, const struct sn_python_frame *frame);
/* The calling thread's PyThreadState, by which another thread can walk its frames; 0 for none. */
uintptr_t sn_python_state(void);
/* As sn_python_walk, with codes in `thread`'s tree, for the frames of another thread, which does
 * not run meanwhile: `state` is its PyThreadState and `other` its pthread_t. */
int sn_python_walk_other(struct sn_thread *thread, uintptr_t state, uintptr_t other,
			 struct sn_python_frame *frames, uint32_t max);
/* False where the calling thread certainly runs no Python: at little cost. */
bool sn_python_may_run(void);
/* True where `pc` lies in the interpreter's evaluation loop. MT: yes. */
bool sn_python_is_eval(uintptr_t pc);
/* True where `pc` lies in the interpreter (its executable or libpython). MT: yes. */
bool sn_python_is_interpreter(uintptr_t pc);
