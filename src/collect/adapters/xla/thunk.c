/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One computation of a compiled function on CPUs, a "thunk": a kernel, a product, a loop. Whichever
 * thread runs it, its path is that of the function's call with one frame for the computation,
 * "FUNCTION/COMPUTATION", as graphs call it.
 *
 * A thunk holds the names of its computation and its program, and the program's number. All thunks
 * of an execution are given the same parameters, by which they find the call that the execution is
 * of: the first computation that a program ever ran begins each of its executions, and the
 * parameters lead to the number of its launch.
 */
#include "xla.h"

#include "collect/core/hash.h"
#include "collect/core/keep.h"
#include "collect/record/trace.h"

#include <string.h>

#define EXECUTABLE_BITS 12u
#define EXECUTION_BITS	8u
#define PROBES		8u
#define NAME_MOST	1024u
#define FAILURES_MOST	64u

/* A std::string of libstdc++, and what a cpu::Thunk begins with. */
struct text {
	const char *text;
	size_t length;
	char inside[16];
};

struct thunk {
	uintptr_t table;
	int64_t kind;
	struct text name, program;
	int64_t module; /* the program's number, of no other in this process */
};

struct sn_xla_executable {
	int64_t module;
	struct sn_xla_program *program;
	_Atomic(const struct sn_xla_text *) label; /* NULL before it has begun */
	_Atomic bool is_certain;		   /* the label */
	_Atomic uintptr_t first;		   /* the thunk that begins an execution */
};

static _Atomic(struct sn_xla_executable *) executables[1u << EXECUTABLE_BITS];

/* Executions under way, by their parameters. */
static struct {
	_Atomic uint64_t key;
	_Atomic uint64_t context; /* thread << 32 | node */
} executions[1u << EXECUTION_BITS];

static _Atomic int failures;
static _Atomic bool proved;

bool sn_xla_thunks_readable(void)
{
	return atomic_load_explicit(&failures, memory_order_relaxed) < (int)FAILURES_MOST;
}

/* ---- what a thunk tells ---- */

static bool is_text(struct sn_xla_thread *self, const struct text *text)
{
	return text->length && text->length <= NAME_MOST && text->text &&
	       (text->text == text->inside ||
		sn_guard_readable(&self->guard, (uintptr_t)text->text, text->length + 1)) &&
	       !text->text[text->length];
}

/* The function of a thunk, where it is described as expected. Until that has held once, each read
 * is asked for. */
static struct sn_xla_program *program_of(struct sn_xla_thread *self, const struct thunk *thunk)
{
	struct sn_xla_program *program = NULL;
	sn_guard_begin(&self->guard);
	if (sn_guard_readable(&self->guard, (uintptr_t)thunk, sizeof(*thunk)) &&
	    is_text(self, &thunk->name) && is_text(self, &thunk->program))
		program = sn_xla_program_find(
		    (struct sn_xla_text){thunk->program.length, thunk->program.text});
	if (program)
		atomic_store_explicit(&proved, true, memory_order_relaxed);
	else if (!atomic_load_explicit(&proved, memory_order_relaxed))
		atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
	return program;
}

static struct sn_xla_executable *make(int64_t module, struct sn_xla_program *program)
{
	struct sn_xla_executable *made = sn_keep(sizeof(*made));
	if (made) {
		made->module = module;
		made->program = program;
	}
	return made;
}

/* Of a program's number. Where all its places are taken the newest has the last. */
static struct sn_xla_executable *executable_of(int64_t module, struct sn_xla_program *program)
{
	uint64_t hash = sn_hash_mix(0, (uint64_t)module) >> 40;
	struct sn_xla_executable *made = NULL;
	for (unsigned probe = 0; probe < PROBES; probe++) {
		_Atomic(struct sn_xla_executable *) *place =
		    &executables[(hash + probe) % (1u << EXECUTABLE_BITS)];
		/* acquire: it is complete */
		struct sn_xla_executable *there = atomic_load_explicit(place, memory_order_acquire);
		if (there && there->module == module)
			return there;
		if (there && probe + 1 < PROBES)
			continue;
		made = make(module, program);
		if (!made || atomic_compare_exchange_strong(place, &there, made))
			return made;
		if (there->module == module)
			return there;
	}
	return made;
}

static struct sn_xla_known_thunk *known_thunk(struct sn_xla_thread *self, const struct thunk *thunk)
{
	uint32_t place =
	    (uint32_t)(((uintptr_t)thunk >> 4) * 0x9E3779B97F4A7C15ull >> (64 - SN_XLA_THUNK_BITS));
	return &self->thunks[place];
}

static bool is_known(const struct sn_xla_known_thunk *known, const struct thunk *thunk)
{
	return known->thunk == (uintptr_t)thunk && known->name == thunk->name.text &&
	       known->length == thunk->name.length && known->module == thunk->module;
}

/* "FUNCTION/COMPUTATION" */
static uint32_t frame_name(struct sn_thread *thread, struct sn_xla_text function,
			   struct sn_xla_text computation)
{
	char *name = sn_bump_alloc(&thread->cct.text, function.length + computation.length + 1);
	if (!name)
		return SN_ID_NONE;
	memcpy(name, function.text, function.length);
	name[function.length] = '/';
	memcpy(name + function.length + 1, computation.text, computation.length);
	return sn_cct_string(&thread->cct, name, function.length + 1 + computation.length);
}

/* What is known of a thunk, found out where it is not; NULL where that cannot be. */
static struct sn_xla_known_thunk *look_up(struct sn_xla_thread *self, const struct thunk *thunk)
{
	struct sn_xla_known_thunk *known = known_thunk(self, thunk);
	if (__builtin_expect(is_known(known, thunk), 1))
		return known;
	struct sn_xla_program *program = program_of(self, thunk);
	struct sn_xla_executable *executable =
	    program ? executable_of(thunk->module, program) : NULL;
	if (!executable)
		return NULL;
	*known = (struct sn_xla_known_thunk){
	    .thunk = (uintptr_t)thunk,
	    .name = thunk->name.text,
	    .length = thunk->name.length,
	    .module = thunk->module,
	    .executable = executable,
	};
	return known;
}

/* The name of its frame: known once an execution of its program has begun. */
static uint32_t name_of(struct sn_xla_thread *self, struct sn_xla_known_thunk *known)
{
	const struct sn_xla_text *label =
	    atomic_load_explicit(&known->executable->label, memory_order_acquire);
	if (label && known->label != label) {
		known->label = label;
		known->frame_name = frame_name(self->thread, *label,
					       (struct sn_xla_text){known->length, known->name});
	}
	return label ? known->frame_name : SN_ID_NONE;
}

/* ---- which execution ---- */

static uint64_t execution_key(const struct sn_xla_executable *executable, const void *parameters)
{
	/* the second word: the addresses of this execution's arguments and results */
	uintptr_t buffers = ((const uintptr_t *)parameters)[1];
	return sn_hash_mix((uint64_t)executable->module, buffers) | 1;
}

static bool begins_execution(struct sn_xla_executable *executable, uintptr_t thunk)
{
	uintptr_t first = atomic_load_explicit(&executable->first, memory_order_relaxed);
	return first == thunk ||
	       (!first && atomic_compare_exchange_strong(&executable->first, &first, thunk));
}

/* The number of the launch, 0 where it is not to be found: the sixth word of the parameters is the
 * address of what collective operations need, which begins with it. */
static uint32_t launch_of(struct sn_xla_thread *self, const void *parameters)
{
	uintptr_t collective = ((const uintptr_t *)parameters)[5];
	sn_guard_begin(&self->guard);
	return collective % sizeof(uint64_t) == 0 &&
		       sn_guard_readable(&self->guard, collective, sizeof(uint64_t))
		   ? (uint32_t) * (const uint64_t *)collective
		   : 0;
}

/* What the program is called, which a call that is known for certain decides. */
static void note_label(struct sn_xla_executable *executable, const struct sn_xla_begun *begun)
{
	if (executable->label && (executable->is_certain || !begun->is_certain))
		return;
	/* release: the label's text */
	atomic_store_explicit(&executable->label, begun->label, memory_order_release);
	atomic_store(&executable->is_certain, begun->is_certain);
}

static struct sn_xla_context context_of(struct sn_xla_thread *self,
					const struct sn_xla_known_thunk *known,
					const void *parameters)
{
	struct sn_xla_executable *executable = known->executable;
	uint64_t key = execution_key(executable, parameters);
	typeof(&executions[0]) execution = &executions[key >> (64 - EXECUTION_BITS)];
	if (!begins_execution(executable, known->thunk) &&
	    atomic_load_explicit(&execution->key, memory_order_acquire) == key) {
		uint64_t packed = atomic_load_explicit(&execution->context, memory_order_relaxed);
		return (struct sn_xla_context){(uint32_t)(packed >> 32), (uint32_t)packed};
	}
	/* on the thread that is in the call it is of that call */
	uint64_t call = self->calls == executable->program ? self->call : 0;
	struct sn_xla_begun begun =
	    sn_xla_program_begins(executable->program, call, launch_of(self, parameters));
	note_label(executable, &begun);
	struct sn_xla_context context = begun.context;
	atomic_store_explicit(&execution->context, (uint64_t)context.thread << 32 | context.node,
			      memory_order_relaxed);
	atomic_store_explicit(&execution->key, key, memory_order_release);
	return context;
}

void sn_xla_executions_after_fork(void)
{
	for (uint32_t i = 0; i < 1u << EXECUTION_BITS; i++)
		atomic_store(&executions[i].key, 0);
}

uint32_t sn_xla_thunk_begin(const void *object, const void *parameters, uintptr_t stack)
{
	struct sn_thread *thread = sn_xla_thunks_readable() ? sn_enter() : NULL;
	if (!thread)
		return SN_XLA_NOT_PUSHED;
	struct sn_xla_thread *self = sn_xla_thread(thread);
	struct sn_xla_known_thunk *known = self ? look_up(self, object) : NULL;
	uint32_t token = SN_XLA_NOT_PUSHED;
	if (known) {
		sn_xla_drop_stale(thread, stack);
		token = thread->shadow_depth;
		uint32_t prefix = sn_xla_own_context(self, context_of(self, known, parameters));
		struct sn_frame frame = {.kind = SN_FRAME_GRAPH_NODE, .id = name_of(self, known)};
		struct sn_shadow *shadow =
		    frame.id == SN_ID_NONE ? NULL : sn_shadow_push(thread, &frame, stack);
		if (shadow) {
			shadow->user = SN_XLA_COMPUTATION;
			shadow->prefix = prefix;
			if (sn_trace_wants(SN_TRACE_SOURCE_OPERATORS))
				shadow->start_ns = sn_now_ns();
		}
	}
	sn_leave(thread);
	return token;
}
