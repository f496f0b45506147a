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
#ifndef SN_COLLECT_ADAPTER_H
#define SN_COLLECT_ADAPTER_H

#include "collect/unwind/module_list.h"
#include "thread.h"

/* A Python frame as the adapter reads it, innermost first. */
struct sn_python_frame {
	uint32_t code;	 /* index for the thread's code table, from sn_cct_code */
	uint32_t line;	 /* 0 unknown */
	bool is_entry;	 /* the outermost Python frame that its native evaluation frame runs */
	uintptr_t frame; /* the interpreter's own, for as long as it lasts */
};

struct sn_adapter {
	const char *name;    /* as `sonde doctor` prints it */
	const char *purpose; /* half a line */
	/* Any of these is NULL where not needed; without `attach` there is nothing to find. */
	int (*attach)(void);
	void (*detach)(void);
	void (*after_fork)(void);
	/* Thread life, on the thread itself; between sn_enter and sn_leave. */
	void (*thread_begin)(struct sn_thread *thread);
	void (*thread_end)(struct sn_thread *thread);
	/* One line: what is measured, or why nothing is. Written to the environment section. Static
	 * storage. */
	const char *(*status)(void);
};

/* --- what callpath.c asks of the Python adapter (adapters/python) --- */

/* The Python frames of the calling thread, innermost first, into frames[0..max); their number, 0
 * where the thread runs no Python, or negative errno where they cannot be read. */
int sn_python_walk(struct sn_thread *thread, struct sn_python_frame *frames, uint32_t max);
/* The innermost Python frame of the calling thread, the interpreter's own; 0 where it runs no
 * Python, SN_PYTHON_UNKNOWN where that cannot be read. AS-safe: no, a frame may be half made. */
uintptr_t sn_python_innermost(struct sn_thread *thread);
/* A number that stands for what sn_python_walk would give, at a fraction of the price: where it is
 * the same again, so are the frames' codes, lines and is_entry, by the same signs by which the
 * walk knows a code object. `innermost` is what sn_python_innermost has just given. 0 where there
 * is none: too many frames, or some that cannot be read. AS-safe: no. */
uint64_t sn_python_fingerprint(struct sn_thread *thread, uintptr_t innermost);
/* The frame that called `frame`, or 0. AS-safe: no. */
uintptr_t sn_python_caller(struct sn_thread *thread, uintptr_t frame);
/* The name of the code object that is the first argument of the function which `frame` of the last
 * walk runs, into name[0..capacity); its length in bytes, not terminated. -ENOENT where that is no
 * code object, -EFAULT where it cannot be read. */
ssize_t sn_python_code_argument(struct sn_thread *thread, const struct sn_python_frame *frame,
				char *name, size_t capacity);
/* The object that is the first argument of the function which `frame` of the last walk runs; 0
 * where it cannot be read. */
uintptr_t sn_python_first_argument(struct sn_thread *thread, const struct sn_python_frame *frame);
/* The calling thread's PyThreadState, by which another thread can walk its frames; 0 for none. */
uintptr_t sn_python_state(void);
/* As sn_python_walk, into `thread`'s tree, of the frames of another thread that stands still: its
 * state and its pthread_t. */
int sn_python_walk_other(struct sn_thread *thread, uintptr_t state, uintptr_t other,
			 struct sn_python_frame *frames, uint32_t max);
/* True where `pc` lies in the interpreter's evaluation loop. MT: yes. */
bool sn_python_is_eval(uintptr_t pc);
/* True where `pc` lies in the interpreter (its executable or libpython). MT: yes. */
bool sn_python_is_interpreter(uintptr_t pc);

#endif
