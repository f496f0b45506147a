/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XLA adapter's parts, to each other: JAX's compiled functions as operators, wherever their
 * work runs.
 *
 *	xla.c      the adapter: finds jaxlib, puts the hooks in place, says what is measured
 *	symbols.c  reads jaxlib's local symbols, in the commands as well
 *	tables.c   replaces entries of its virtual tables
 *	hooks.c    the functions that stand in these entries
 *	launch.c   the call of a compiled function: its operator frame, and what its work looks up
 *	thunk.c    one computation of a function on CPUs, on whichever thread
 *	task.c     parts of a computation that a pool of threads runs
 *	program.c  keeps the program of each function for the analysis
 *	label.c    tells programs of one name apart
 *
 * docs/design/jax.md says why it is done so and what it costs.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes, each thread with its own
 * `self`.
 */
#pragma once

#include "symbols.h"

#include "collect/adapters/python/guard.h"
#include "collect/core/adapters.h"
#include "collect/core/cct_copy.h"

/* In the `user` of a shadow: a function that is called, a computation, what a pool of threads runs
 * for either. */
#define SN_XLA_CALL	   0x786c6163u
#define SN_XLA_COMPUTATION 0x786c6164u
#define SN_XLA_PART	   0x786c6165u

/* AS-safe: yes. */
static inline bool sn_xla_is_ours(const struct sn_shadow *shadow)
{
	return shadow->user >= SN_XLA_CALL && shadow->user <= SN_XLA_PART;
}

/* A text as std::string_view holds it, which is returned in two registers. */
struct sn_xla_text {
	size_t length;
	const char *text;
};

/* --- tables.c --- */

/* Finds the functions in `module`, and the entries of virtual tables that lead to them. 0; -EAGAIN where the
 * loader has not filled these in yet; else negative errno. MT: once. */
int sn_xla_symbols_find(const struct sn_module *module);
/* The function, which all classes but for SN_XLA_THUNK share; 0 where there is none. AS-safe: yes. */
uintptr_t sn_xla_function(enum sn_xla_function function);
/* Entries found, by the function that they lead to. AS-safe: yes. */
const uint32_t *sn_xla_entries(void);
/* The list of the code that XLA makes, as GDB reads it; 0 where there is none. AS-safe: yes. */
uintptr_t sn_xla_jit_descriptor(void);
/* What a computation of the class with this virtual table does itself. AS-safe: yes. */
uintptr_t sn_xla_thunk_function(uintptr_t table);
/* Puts `hooks`, by function, NULL for those that stay, into the entries, and takes them out again.
 * False where the pages cannot be written; then nothing is changed. */
bool sn_xla_entries_replace(void *const hooks[SN_XLA_FUNCTION_COUNT]);
void sn_xla_entries_restore(void);

/* --- xla.c --- */

#define SN_XLA_THUNK_BITS 9u
#define SN_XLA_COPY_BITS  8u

struct sn_xla_program;
struct sn_xla_executable;

/* A context of another thread. */
struct sn_xla_context {
	uint32_t thread; /* in the registry; SN_ID_NONE: none */
	uint32_t node;	 /* of its tree */
};

/* A computation that this thread has run before. */
struct sn_xla_known_thunk {
	uintptr_t thunk;
	const char *name;
	size_t length;
	int64_t module;
	struct sn_xla_executable *executable;
	const struct sn_xla_text *label; /* of its program, as in: */
	uint32_t frame_name;		 /* in this thread's tree */
};

/* What the adapter keeps for a thread; reached from sn_thread.adapters, never freed. */
struct sn_xla_thread {
	struct sn_thread *thread;
	const struct sn_xla_program *calls; /* the function whose call this thread is in */
	uint64_t call;			    /* the number of that call */
	uint32_t call_node;		    /* its context */
	struct sn_guard guard;
	struct sn_copy_room room;
	struct sn_xla_known_thunk thunks[1u << SN_XLA_THUNK_BITS];
	struct {
		struct sn_xla_context of;
		uint32_t copy;
	} copies[1u << SN_XLA_COPY_BITS];
};

/* The state of `thread`, made where it is missing; NULL without memory. Between sn_enter and
 * sn_leave. */
struct sn_xla_thread *sn_xla_thread(struct sn_thread *thread);
/* The node in this thread's tree for a context of any; SN_NODE_NONE where it cannot be made. */
uint32_t sn_xla_own_context(struct sn_xla_thread *self, struct sn_xla_context of);
/* Takes shadows of ours away that were entered below `stack`, by frames that are gone. */
void sn_xla_drop_stale(struct sn_thread *thread, uintptr_t stack);

#define SN_XLA_NOT_PUSHED UINT32_MAX
/* Pops what was pushed since the depth was `token`. */
void sn_xla_pop(uint32_t token);

/* --- hooks.c --- */

/* By enum sn_xla_function. */
extern void *const sn_xla_hooks[SN_XLA_FUNCTION_COUNT];

/* --- launch.c --- */

/* What is called. */
struct sn_xla_launch {
	struct sn_xla_text name;
	const struct sn_xla_text *label; /* NULL: the name */
	size_t devices;			 /* of this process, on each of which it runs */
	uint64_t options; /* their first word, either half of which is the launch's number */
};

struct sn_xla_call {
	uint32_t token; /* for sn_xla_pop */
	const struct sn_xla_program *outer;
	uint64_t outer_call;
	uint32_t outer_node;
};
/* Begins a call; `stack` and `pc` as for sn_context. */
struct sn_xla_call sn_xla_call_begin(const struct sn_xla_launch *launch, uintptr_t stack,
				     uintptr_t pc);
void sn_xla_call_end(const struct sn_xla_call *call);

/* The function of that name, NULL where it has not been called. */
struct sn_xla_program *sn_xla_program_find(struct sn_xla_text name);
/* The call that an execution belongs to. */
struct sn_xla_begun {
	struct sn_xla_context context;
	const struct sn_xla_text *label; /* of what was called */
	bool is_certain;		 /* known, and not concluded from the order of calls */
};
/* An execution begins: of the launch of that number (0: not known), or else of the call `call` (0: of
 * another thread's), or else of the oldest call whose executions have not all begun; the last one
 * where all have. */
struct sn_xla_begun sn_xla_program_begins(struct sn_xla_program *program, uint64_t call,
					  uint32_t launch);
void sn_xla_calls_after_fork(void);

/* --- thunk.c --- */

/* Around a cpu::Thunk's Execute. A token for sn_xla_pop. */
uint32_t sn_xla_thunk_begin(const void *thunk, const void *parameters, uintptr_t stack);
/* Contexts of the parent's threads are none of the child's. */
void sn_xla_executions_after_fork(void);
/* False once it has turned out that a computation's description lies elsewhere. AS-safe: yes. */
bool sn_xla_thunks_readable(void);

/* --- task.c --- */

/* A std::function<void()> of libstdc++. */
struct sn_xla_task {
	uintptr_t words[2];
	void *(*manager)(void *to, const void *from, int operation);
	void (*invoker)(void *words);
};
/* The calling thread hands a task to a pool: it becomes one that runs below this thread's path. */
void sn_xla_task_follow(struct sn_xla_task *task);

/* --- program.c --- */

/* Room to know which have been seen. MT: once. */
void sn_xla_programs_init(void);
/* Keeps the program of an executable that is called for the first time. What to call it: lasts, as
 * does the text that it points to; NULL where that is not known. Outside sn_enter. */
const struct sn_xla_text *sn_xla_program_keep(const void *executable, struct sn_xla_text name);
/* The child of a fork keeps its own. */
void sn_xla_programs_after_fork(void);

/* --- label.c --- */

/* What the function of a program of that name and text is called: by its name, or where another one
 * has that by its place as well. Lasts; NULL without memory. With SN_LOCK_XLA_PROGRAMS, between
 * sn_enter and sn_leave. */
const struct sn_xla_text *sn_xla_label(struct sn_xla_text name, struct sn_xla_text text);
