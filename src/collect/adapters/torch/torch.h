/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the parts of the PyTorch adapter.
 *
 *	hooks.c     the functions of libtorch and libc10 that this library wraps
 *	torch.c     finds libtorch, determines what can be measured, reports it
 *	context.c   the calling context of a point inside an operator, cached by its call path
 *	forward.c   which context created the autograd node of which sequence number
 *	backward.c  which autograd node runs, and its operator frame under the forward context
 *	node.c      reading an autograd node: its numbers and its name
 *	compile.c   what torch.compile compiles, and when
 *	operators.c operators recognised by address, if native frames are left out
 *	exact.c     a callback at every operator, on request; by default at those whose entry has no name
 *	callbacks.c for which operators PyTorch calls the callbacks
 *	memory.c    tensor memory, on request
 *	gloo.c      messages of torch.distributed between processes
 *	graph*.c    the dataflow graph, on request; graph.h
 *
 * docs/design/torch-operators.md gives reasons and costs.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes, each thread with its own
 * `self`.
 */
#pragma once

#include "collect/core/adapters.h"
#include "collect/core/context.h"

/* Marks a shadow frame as this adapter's, in its `user`; the second value marks a node that is
 * being evaluated but has not run, and may never run if only its gradient was requested. */
#define SN_TORCH_SHADOW	     0x746f7262u
#define SN_TORCH_SHADOW_IDLE 0x746f7263u

/* AS-safe: yes. */
static inline bool sn_torch_is_ours(const struct sn_shadow *shadow)
{
	return (shadow->user | 1) == SN_TORCH_SHADOW_IDLE;
}

#define SN_TORCH_NO_SEQUENCE UINT64_MAX

/* Symbols of libtorch_cpu, mangled. */
#define SN_TORCH_SEQUENCE "_ZN2at15sequence_number17get_and_incrementEv"
#define SN_TORCH_EVALUATE                                                                          \
	"_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_"       \
	"4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE"

/* With a shared_ptr<Node>, and with an intrusive_ptr<Node>, as newer releases have it. */
#define SN_TORCH_EXECUTE_SHARED                                                                    \
	"_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_9GraphTaskEE"     \
	"S2_INS0_4NodeEEONS0_11InputBufferE"
#define SN_TORCH_EXECUTE                                                                           \
	"_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_9GraphTaskEE"     \
	"N3c1013intrusive_ptrINS0_4NodeENS7_6detail34intrusive_target_default_null_typeIS9_EEEE"   \
	"ONS0_11InputBufferE"

/* The same of libtorch_cpu, and of libtorch_python for its own calls. */
#define SN_TORCH_STEP_CALLBACKS	 "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE"
#define SN_TORCH_ADD_GLOBAL	 "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
#define SN_TORCH_ADD_LOCAL	 "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE"
#define SN_TORCH_REMOVE		 "_ZN2at14removeCallbackEm"
#define SN_TORCH_RECORD_FUNCTION "_ZN2at14RecordFunctionC1ENS_11RecordScopeE"
#define SN_TORCH_ENGINE_LOOP                                                                       \
	"_ZN5torch8autograd6Engine11thread_mainERKSt10shared_ptrINS0_9GraphTaskEE"

#define SN_TORCH_CHUNK_BITS 12u
#define SN_TORCH_CHUNKS	    16u

/* The adapter's state of a thread; referenced by sn_thread.adapters, never freed. */
struct sn_torch_thread {
	struct sn_thread *thread;
	uint64_t torch_id; /* at::RecordFunction::currentThreadId of this thread, 0 not asked yet */
	/* the ring of forward contexts: SN_TORCH_CHUNKS chunks of 1 << SN_TORCH_CHUNK_BITS entries
	 */
	_Atomic(_Atomic uint64_t *) ring[SN_TORCH_CHUNKS];
	_Atomic uint64_t next_sequence;	   /* one past the last number assigned in this thread */
	struct sn_torch_copy *copies;	   /* of forward.c */
	struct sn_torch_names *names;	   /* of operators.c */
	struct sn_torch_values *values;	   /* of exact.c */
	struct sn_torch_graph *graph;	   /* of graph.c */
	struct sn_torch_code *graph_codes; /* of graph_module.c */
	struct sn_torch_place *graph_places;
};

/* --- torch.c --- */

/* What hooks measure; constant after attaching. */
struct sn_torch_duties {
	_Atomic bool autograd;
	_Atomic bool memory;
};
extern struct sn_torch_duties sn_torch_duties;
/* The first call from inside PyTorch: tries to attach. */
void sn_torch_called(uintptr_t from);
/* True until attaching has succeeded or failed. AS-safe: yes. */
bool sn_torch_undecided(void);
/* The state of `thread`, created if missing; NULL without memory. Between sn_enter and sn_leave. */
struct sn_torch_thread *sn_torch_thread(struct sn_thread *thread);
/* A symbol of libtorch_cpu, or 0. AS-safe: yes. */
uintptr_t sn_torch_symbol(const char *name);
/* The same, with its size. AS-safe: yes. */
uintptr_t sn_torch_symbol_size(const char *name, size_t *bytes);

/* --- forward.c --- */

/* PyTorch has assigned `sequence` to an autograd node that the calling thread is creating. */
void sn_torch_forward(uint64_t sequence, uintptr_t stack, uintptr_t pc);
/* The context, in `self`'s tree, in which the thread `torch_id` created node `sequence`;
 * SN_NODE_NONE if unknown. */
uint32_t sn_torch_forward_context(struct sn_torch_thread *self, uint64_t torch_id,
				  uint64_t sequence);
/* PyTorch's number of the calling thread is known, by which contexts of other threads are kept. False if it cannot be asked. */
bool sn_torch_is_known(struct sn_torch_thread *self);
/* A context of another thread, in `self`'s tree; SN_NODE_NONE without memory. */
uint32_t sn_torch_context_of(struct sn_torch_thread *self, const struct sn_torch_thread *other,
			     uint32_t node);
/* True if `sequence` has been assigned in the thread `torch_id`. */
bool sn_torch_was_given(uint64_t torch_id, uint64_t sequence);

/* --- engine.c --- */

/* Around the call of the engine that runs a graph task: begin returns a token for end. `stack` and `pc` as for sn_context. */
uint32_t sn_torch_engine_begin(uintptr_t task, uintptr_t stack, uintptr_t pc);
void sn_torch_engine_end(uint32_t token);
/* The context of the call that runs the task, in `self`'s tree, where another thread made it; else SN_NODE_NONE. */
uint32_t sn_torch_engine_context(struct sn_torch_thread *self, uintptr_t task);

/* --- node.c --- */

struct sn_torch_node {
	uint64_t sequence, torch_id; /* SN_TORCH_NO_SEQUENCE if it has none or it cannot be read */
	const char *name;	     /* NULL: no operator, leave it out */
	size_t name_length;
	bool unproved; /* it has numbers, but their place is not known yet */
};
/* Prepares names. MT: once. */
void sn_torch_node_init(void);
/* Reads a torch::autograd::Node. `storage` holds a name that is not cached. May run the program's
 * code (the node's own name function); call it outside sn_enter. */
void sn_torch_node_read(const void *node, struct sn_torch_node *out, char *storage, size_t bytes);
/* False after no layout fitted; then forward contexts cannot be found. */
bool sn_torch_node_readable(void);

/* --- backward.c --- */

/* Around the evaluation of one autograd node of a graph task: begin returns a token for end. */
uint32_t sn_torch_backward_begin(uintptr_t task, const void *node, uintptr_t stack, uintptr_t pc);
void sn_torch_backward_end(uint32_t token, uintptr_t stack);
/* The same if an exception ends the evaluation; `sp` is the stack pointer of the frame it leaves.
 * */
void sn_torch_backward_unwound(uintptr_t sp);

/* --- compile.c --- */

/* The caller saves, or restores, the random number generator's state, as torch.compile does around
 * each compilation. `stack` as for sn_shadow_push. Outside sn_enter. */
void sn_torch_compile_begins(uintptr_t stack);
void sn_torch_compile_ends(void);

/* --- operators.c --- */

/* Lists libtorch_cpu's dispatcher entry points; returns their number. MT: once. */
uint32_t sn_torch_operators_init(const struct sn_module *module);

/* True if `pc`, from which an operator calls at::getStepCallbacksUnlessEmpty, lies in a listed entry
 * point, whose name is then the operator's. */
bool sn_torch_operator_is_named(uintptr_t pc);

/* The id in `self`'s tree of a text that stays valid and unchanged at its address. AS-safe: yes. */
uint32_t sn_torch_text_id(struct sn_torch_thread *self, const char *text, size_t length);

/* The same for a NUL-terminated text that may change at its address. */
uint32_t sn_torch_name_id(struct sn_torch_thread *self, const char *name);

/* --- callbacks.c --- */

/* at::RecordFunctionCallback, as it has been from 1.13 to 2.15, with room for scopes and flags that
 * later releases may add. */
struct sn_torch_callback {
	void *(*start)(void **context, const void *function);
	void (*end)(const void *function, void *context);
	double sampling_probability;
	uint8_t scopes[10];
	uint8_t needs_inputs, needs_outputs, needs_ids;
	uint8_t reserved[27];
};
enum { SN_TORCH_SCOPE_FUNCTION = 0, SN_TORCH_SCOPE_BACKWARD_FUNCTION = 1 };

/* Learns the layout of PyTorch's answer without callbacks; before the first is added. MT: once. */
void sn_torch_callbacks_learn(void);
/* Registers one. 0, or negative errno. */
int sn_torch_callbacks_add(struct sn_torch_callback callback);
/* Removes all of them. MT: once. */
void sn_torch_callbacks_withdraw(void);
/* After the last one: from now on callbacks are called only for the operators that they need. */
void sn_torch_callbacks_ready(void);
/* Whether that is possible. */
bool sn_torch_callbacks_known(void);
/* Another tool has registered a callback, or removed one (-1). */
void sn_torch_callbacks_others(int change);
/* What the collector's callbacks need of an operator. */
enum sn_torch_wish {
	SN_TORCH_WISH_NOTHING,
	SN_TORCH_WISH_EVENT,   /* its begin and end */
	SN_TORCH_WISH_TENSORS, /* and its inputs and outputs */
};
/* Replaces at::getStepCallbacksUnlessEmpty, which is `function`; if sn_torch_callbacks_known. An
 * operator calls it from `pc`. */
void *sn_torch_callbacks_answer(void *answer, uint8_t scope, uintptr_t stack, uintptr_t pc,
				void *(*function)(void *, uint8_t));
/* The scope to pass to at::RecordFunction instead of `scope`, for a call from `pc`; if
 * sn_torch_callbacks_known. */
uint8_t sn_torch_callbacks_scope(uint8_t scope, uintptr_t stack, uintptr_t pc);

/* --- exact.c --- */

enum sn_torch_exactness {
	SN_TORCH_SAMPLED, /* only operators whose entry has no name, and without their times */
	SN_TORCH_NODES,	  /* only operators that the program calls itself */
	SN_TORCH_EXACT,
};
/* Registers the callback. 0, or negative errno. MT: once. */
int sn_torch_exact_start(enum sn_torch_exactness exactness);
/* What it needs of an operator that the calling thread, at `stack`, is about to begin; `pc` is the
 * address of the operator's call, 0 for other functions. */
enum sn_torch_wish sn_torch_exact_wish(const struct sn_torch_thread *self, uintptr_t stack,
				       uintptr_t pc);
/* The autograd node that `thread`, the calling one, evaluates does run. */
void sn_torch_exact_node_runs(struct sn_thread *thread);
/* Registers a callback that reports this, if sn_torch_callbacks_known is false. MT: once. */
void sn_torch_exact_announce_nodes(void);
/* The metric of exact operator times, SN_ID_NONE before it is registered. */
uint32_t sn_torch_exact_metric(void);
/* The link of the trace file between operators of the forward and the backward pass. */
uint64_t sn_torch_link(uint64_t torch_id, uint64_t sequence);
/* The running operator has created node `sequence`. */
void sn_torch_exact_link(struct sn_torch_thread *self, uint64_t sequence);
/* Ends the topmost operator shadow, and adds its time if exact times are measured. */
void sn_torch_exact_pop(struct sn_torch_thread *self);

/* --- memory.c --- */

/* MT: once. */
int sn_torch_memory_start(void);
void sn_torch_allocated(const void *memory, size_t bytes, uintptr_t stack, uintptr_t pc);
void sn_torch_released(const void *memory, uintptr_t stack, uintptr_t pc);
/* An allocator that reports sizes itself: negative bytes are a release. */
void sn_torch_reported(int64_t bytes, uintptr_t stack, uintptr_t pc);
