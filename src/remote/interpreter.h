/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython in another process: where its parts are, and its threads. Its symbols are those of the file that the process has mapped; nothing of the process is
 * changed or called.
 */
#pragma once

#include "python_files.h"
#include "remote.h"
#include "unwind/python/layout.h"

/* A thread that has run Python, by the kernel's number. */
struct sn_remote_thread {
	pid_t tid;
	uintptr_t state;
};

struct sn_python_interpreter {
	struct sn_python_layout layout;
	uintptr_t eval, eval_bytes; /* the evaluation loop's function */
	uintptr_t runtime;
	uintptr_t threads; /* where the first thread state's address is, before 3.13 */
	struct sn_remote_thread *known;
	size_t known_count, known_capacity;
	uint64_t next_list_ns, pause_ns; /* threads are not listed again before that */
};

/* Whether a file of that path may be CPython. */
bool sn_python_is_named(const char *path);
/* 0; SN_ERR_MISSING: the process has none, or has not begun yet; SN_ERR_UNSUPPORTED with the reason, a constant; SN_ERR_MEMORY. */
int sn_python_interpreter_find(struct sn_python_interpreter *interpreter, struct sn_remote *remote,
			       struct sn_python_files *files, const char **reason);
void sn_python_interpreter_release(struct sn_python_interpreter *interpreter);
/* The state of a thread, which is its own at this moment. 0: it has run no Python, as far as is known: threads are listed anew, but not each time. False where they cannot be
 * listed: the process may be another program by now. */
bool sn_python_interpreter_state(struct sn_python_interpreter *interpreter,
				 struct sn_remote *remote, pid_t tid, uintptr_t *state);
