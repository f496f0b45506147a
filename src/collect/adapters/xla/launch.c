/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call of a compiled function: an operator frame of its name while the program is in the call,
 * and its context, kept for the work that the call leaves to other threads.
 *
 * On CPUs an execution begins later, on a thread of XLA's, when its inputs are there, and once on each
 * device of the call. So contexts wait in a queue. What begins knows its function's name and the
 * number that JAX gave the launch. Where a version hands that number on in another way, the execution
 * is of the oldest call: then two calls that wait for different inputs may exchange contexts.
 */
#include "xla.h"

#include "collect/adapters/torch/torch.h"
#include "collect/core/hash.h"
#include "collect/core/keep.h"
#include "collect/core/lock.h"
#include "collect/record/trace.h"

#include <string.h>

#define PROGRAM_BITS 12u  /* names of functions */
#define QUEUE	     128u /* JAX lets 32 executions of a device wait */
#define NAME_MOST    1024u

struct waiting {
	struct sn_xla_context context;
	const struct sn_xla_text *label;
	uint64_t options; /* as in sn_xla_launch */
	uint64_t call;
	uint32_t left; /* executions that have not begun */
};

struct sn_xla_program {
	uint64_t hash;
	struct sn_xla_text name;
	_Atomic int held; /* SN_LOCK_XLA_QUEUE */
	uint64_t next_call;
	uint32_t first, count; /* of the queue */
	struct waiting last;
	struct waiting queue[QUEUE];
};

static _Atomic(struct sn_xla_program *) programs[1u << PROGRAM_BITS];

static bool is_named(const struct sn_xla_program *program, struct sn_xla_text name, uint64_t hash)
{
	return program->hash == hash && program->name.length == name.length &&
	       !memcmp(program->name.text, name.text, name.length);
}

static _Atomic(struct sn_xla_program *) *find(struct sn_xla_text name, uint64_t hash)
{
	for (uint32_t probe = 0; probe < 1u << PROGRAM_BITS; probe++) {
		_Atomic(struct sn_xla_program *) *place =
		    &programs[(hash + probe) % (1u << PROGRAM_BITS)];
		/* acquire: its name is complete */
		struct sn_xla_program *program = atomic_load_explicit(place, memory_order_acquire);
		if (!program || is_named(program, name, hash))
			return place;
	}
	return NULL;
}

struct sn_xla_program *sn_xla_program_find(struct sn_xla_text name)
{
	_Atomic(struct sn_xla_program *) *place = find(name, sn_hash_text(name.text, name.length));
	return place ? atomic_load_explicit(place, memory_order_acquire) : NULL;
}

static struct sn_xla_program *make(struct sn_xla_text name, uint64_t hash)
{
	struct sn_xla_program *program = sn_keep(sizeof(*program) + name.length);
	if (!program)
		return NULL;
	memcpy(program + 1, name.text, name.length);
	program->name = (struct sn_xla_text){name.length, (const char *)(program + 1)};
	program->hash = hash;
	program->next_call = 1;
	program->last.label = &program->name;
	program->last.context.thread = SN_ID_NONE;
	return program;
}

/* The program of that name, made where it is missing. */
static struct sn_xla_program *program_of(struct sn_xla_text name)
{
	uint64_t hash = sn_hash_text(name.text, name.length);
	struct sn_xla_program *made = NULL, *there;
	for (;;) {
		_Atomic(struct sn_xla_program *) *place = find(name, hash);
		there = place ? atomic_load_explicit(place, memory_order_acquire) : NULL;
		if (!place || there)
			return there;
		if (!made && !(made = make(name, hash)))
			return NULL;
		/* release: whoever finds it finds its name; lost to another: looks again */
		if (atomic_compare_exchange_strong_explicit(
			place, &there, made, memory_order_release, memory_order_relaxed))
			return made;
	}
}

/* ---- the queue ---- */

static uint64_t enqueue(struct sn_xla_program *program, struct waiting waiting)
{
	if (!sn_lock_wait_one(SN_LOCK_XLA_QUEUE, &program->held))
		return 0;
	if (program->count == QUEUE) { /* programs without computations never begin */
		program->first = (program->first + 1) % QUEUE;
		program->count--;
	}
	waiting.call = program->next_call++;
	program->queue[(program->first + program->count++) % QUEUE] = waiting;
	program->last = waiting;
	sn_lock_release_one(SN_LOCK_XLA_QUEUE, &program->held);
	return waiting.call;
}

/* Executions that have begun at the front of the queue leave it. */
static void shorten(struct sn_xla_program *program)
{
	while (program->count && !program->queue[program->first].left) {
		program->first = (program->first + 1) % QUEUE;
		program->count--;
	}
}

static bool is_launch(const struct waiting *waiting, uint32_t launch)
{
	return launch && ((uint32_t)waiting->options == launch ||
			  (uint32_t)(waiting->options >> 32) == launch);
}

/* The call that an execution is of; NULL where none waits. */
static struct waiting *find_waiting(struct sn_xla_program *program, uint64_t call, uint32_t launch,
				    bool *is_certain)
{
	struct waiting *oldest = NULL, *own = NULL;
	for (uint32_t i = 0; i < program->count; i++) {
		struct waiting *waiting = &program->queue[(program->first + i) % QUEUE];
		if (!waiting->left)
			continue;
		*is_certain = is_launch(waiting, launch);
		if (*is_certain)
			return waiting;
		if (call && waiting->call == call)
			own = waiting;
		if (!oldest)
			oldest = waiting;
	}
	*is_certain = own != NULL;
	return own || call ? own : oldest;
}

struct sn_xla_begun sn_xla_program_begins(struct sn_xla_program *program, uint64_t call,
					  uint32_t launch)
{
	struct sn_xla_begun begun = {{SN_ID_NONE, SN_NODE_NONE}, &program->name, false};
	if (!sn_lock_wait_one(SN_LOCK_XLA_QUEUE, &program->held))
		return begun;
	struct waiting *waiting = find_waiting(program, call, launch, &begun.is_certain);
	if (waiting)
		waiting->left--;
	else
		waiting = &program->last;
	begun.context = waiting->context;
	begun.label = waiting->label;
	shorten(program);
	sn_lock_release_one(SN_LOCK_XLA_QUEUE, &program->held);
	return begun;
}

void sn_xla_calls_after_fork(void)
{
	for (uint32_t i = 0; i < 1u << PROGRAM_BITS; i++) {
		struct sn_xla_program *program = atomic_load(&programs[i]);
		if (program) {
			program->held = 0;
			program->count = 0;
			program->last.context.thread = SN_ID_NONE;
		}
	}
}

/* ---- calls ---- */

static void push(struct sn_xla_thread *self, struct sn_xla_program *program,
		 const struct sn_xla_launch *launch, uintptr_t stack, uintptr_t pc)
{
	struct sn_thread *thread = self->thread;
	const struct sn_xla_text *label = launch->label ? launch->label : &program->name;
	struct sn_frame frame = {.kind = SN_FRAME_OPERATOR,
				 .id = sn_cct_string(&thread->cct, label->text, label->length)};
	if (frame.id == SN_ID_NONE)
		return;
	struct sn_shadow *shadow = sn_shadow_push(thread, &frame, stack);
	if (!shadow)
		return;
	shadow->user = SN_XLA_CALL;
	shadow->node = sn_context(thread, stack, pc, true);
	if (sn_trace_wants(SN_TRACE_SOURCE_OPERATORS))
		shadow->start_ns = sn_now_ns();
	self->calls = program;
	self->call_node = shadow->node;
	self->call = enqueue(program, (struct waiting){.context = {thread->index, shadow->node},
						       .label = label,
						       .options = launch->options,
						       .left = (uint32_t)launch->devices});
}

struct sn_xla_call sn_xla_call_begin(const struct sn_xla_launch *launch, uintptr_t stack,
				     uintptr_t pc)
{
	struct sn_xla_call call = {.token = SN_XLA_NOT_PUSHED};
	struct sn_xla_text name = launch->name;
	struct sn_thread *thread = name.length && name.length <= NAME_MOST ? sn_enter() : NULL;
	if (!thread)
		return call;
	struct sn_xla_thread *self = sn_xla_thread(thread);
	struct sn_xla_program *program = self ? program_of(name) : NULL;
	if (program) {
		sn_xla_drop_stale(thread, stack);
		call = (struct sn_xla_call){thread->shadow_depth, self->calls, self->call,
					    self->call_node};
		push(self, program, launch, stack, pc);
	}
	sn_leave(thread);
	return call;
}

void sn_xla_call_end(const struct sn_xla_call *call)
{
	struct sn_thread *thread = call->token == SN_XLA_NOT_PUSHED ? NULL : sn_thread_self();
	struct sn_xla_thread *self = thread ? thread->adapters[SN_ADAPTER_SLOT_xla] : NULL;
	if (!self)
		return;
	self->calls = call->outer;
	self->call = call->outer_call;
	self->call_node = call->outer_node;
	sn_xla_pop(call->token);
}
