/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operators PyTorch announces to callbacks.
 *
 * Every operator asks at::getStepCallbacksUnlessEmpty whether there is a callback, through the
 * linkage table, where this library comes first (hooks.c). If none of our callbacks wants the
 * operator (it runs inside another operator, say) and nobody else has registered a callback, the
 * answer is "none", and the operator runs as in a program without callbacks. It also need not
 * collect its inputs and outputs if only the graph would want them, and not in this iteration.
 *
 * Some announcements do not ask first (at::RecordFunction's constructor with a scope), above all
 * that of each autograd node's evaluation, for which PyTorch composes a text that backward.c does
 * not need. If nobody wants such an announcement, it is made in a scope without callbacks, and then
 * costs what it costs in a program without any. An autograd node also asks, in a scope of its own,
 * just before it runs; only that moment is of interest.
 *
 * The answer is a std::optional of a structure of PyTorch's. Its layout is learned from two
 * answers: in one without callbacks only the flag is written; one with only our callbacks begins
 * with our functions. If either is not as expected, every operator is announced, and our callbacks
 * ignore the unwanted ones.
 */
#include "graph.h"

#include <errno.h>
#include <string.h>

enum { ANSWER_BYTES = 512, OURS_MAX = 2, PATTERN = 0xA5 };
/* at::RecordScope::BUILD_FEATURE, for which we have no callback */
enum { QUIET_SCOPE = 5 };
/* In StepCallbacks, after the vector of callbacks and the thread's number. */
enum { SCOPE_AT = 88, NEEDS_INPUTS_AT = 89, NEEDS_OUTPUTS_AT = 90 };
/* c10::optional has its flag in front; std::optional, from 2.1 on, at the end. */
enum { C10_VALUE_AT = 8, STD_FLAG_AT = 96 };

/* StepCallbacks begins with a c10::SmallVector of StepCallbacks::StartEndPair. */
struct answer {
	const struct functions {
		void *(*start)(void **context, const void *function);
		void (*end)(const void *function, void *context);
	} * callbacks;
	uint32_t count, capacity;
};

static struct sn_torch_callback ours[OURS_MAX];
static uint64_t handles[OURS_MAX];
static uint32_t ours_count;
static bool needs_tensors;
static bool is_learned;
static size_t flag_at, value_at;
static _Atomic bool is_known;
static uintptr_t engine_start, engine_end; /* the loop that evaluates autograd nodes */
/* The callbacks that others have registered and not removed. */
static _Atomic int32_t others;

typedef void *answer_function(void *answer, uint8_t scope);

static answer_function *real_function(void)
{
	return (answer_function *)sn_torch_symbol(SN_TORCH_STEP_CALLBACKS);
}

static bool is_ours_only(const void *memory)
{
	const struct answer *answer = (const void *)((const uint8_t *)memory + value_at);
	if (!((const uint8_t *)memory)[flag_at] || answer->count != ours_count)
		return false;
	for (uint32_t i = 0; i < ours_count; i++)
		if (answer->callbacks[i].start != ours[i].start ||
		    answer->callbacks[i].end != ours[i].end)
			return false;
	return true;
}

void sn_torch_callbacks_learn(void)
{
	uint8_t memory[ANSWER_BYTES] __attribute__((aligned(16)));
	answer_function *function = real_function();
	size_t written = 0, at = 0;
	memset(memory, PATTERN, sizeof(memory));
	if (!function)
		return;
	function(memory, 0);
	for (size_t i = 0; i < sizeof(memory); i++)
		if (memory[i] != PATTERN) {
			at = i;
			written++;
		}
	flag_at = at;
	value_at = at ? 0 : C10_VALUE_AT;
	is_learned = written == 1 && !memory[at] && (!at || at == STD_FLAG_AT);
}

int sn_torch_callbacks_add(struct sn_torch_callback callback)
{
	uint64_t (*add)(struct sn_torch_callback) =
	    (uint64_t(*)(struct sn_torch_callback))sn_torch_symbol(SN_TORCH_ADD_GLOBAL);
	if (!add)
		return -ENOTSUP;
	bool is_counted = callback.scopes[SN_TORCH_SCOPE_FUNCTION];
	if (is_counted && ours_count == OURS_MAX)
		return -ENOSPC;
	uint64_t handle = add(callback);
	if (!is_counted)
		return 0;
	needs_tensors |= callback.needs_inputs;
	handles[ours_count] = handle;
	ours[ours_count++] = callback;
	return 0;
}

void sn_torch_callbacks_withdraw(void)
{
	void (*take_back)(uint64_t) = (void (*)(uint64_t))sn_torch_symbol(SN_TORCH_REMOVE);
	while (take_back && ours_count)
		take_back(handles[--ours_count]);
}

void sn_torch_callbacks_ready(void)
{
	uint8_t memory[ANSWER_BYTES] __attribute__((aligned(16)));
	answer_function *function = real_function();
	if (!is_learned || !ours_count || !function)
		return;
	memset(memory, PATTERN, sizeof(memory));
	function(memory, SN_TORCH_SCOPE_FUNCTION);
	const uint8_t *value = memory + value_at;
	bool is_as_known = memory[flag_at] == 1 && is_ours_only(memory) &&
			   value[SCOPE_AT] == SN_TORCH_SCOPE_FUNCTION &&
			   value[NEEDS_INPUTS_AT] == needs_tensors &&
			   value[NEEDS_OUTPUTS_AT] == needs_tensors;
	size_t bytes = 0;
	engine_start = sn_torch_symbol_size(SN_TORCH_ENGINE_LOOP, &bytes);
	engine_end = engine_start + bytes;
	atomic_store_explicit(&is_known, is_as_known, memory_order_release);
}

bool sn_torch_callbacks_known(void)
{
	return atomic_load_explicit(&is_known, memory_order_acquire);
}

void sn_torch_callbacks_others(int change)
{
	atomic_fetch_add_explicit(&others, change, memory_order_relaxed);
}

/* What our callbacks want of an operator that begins in the calling thread at `stack`. `self` is
 * NULL if nothing was recorded in the thread yet. */
static enum sn_torch_wish wish_of(const struct sn_torch_thread *self, uintptr_t stack, uintptr_t pc)
{
	enum sn_torch_wish exact = sn_torch_exact_wish(self, stack, pc);
	enum sn_torch_wish graph = sn_torch_graph_wish(self, stack);
	return exact > graph ? exact : graph;
}

static bool is_alone(void)
{
	return atomic_load_explicit(&others, memory_order_relaxed) <= 0;
}

static enum sn_torch_wish wish_at(uintptr_t stack, uintptr_t pc)
{
	if (!sn_measuring())
		return SN_TORCH_WISH_NOTHING;
	struct sn_thread *thread = sn_thread_self();
	struct sn_torch_thread *self = thread ? thread->adapters[SN_ADAPTER_SLOT_torch] : NULL;
	return wish_of(self, stack, pc);
}

/* Handles the question of an autograd node, which shows that it runs now. */
static void *answer_node(void *answer, void *(*function)(void *, uint8_t))
{
	struct sn_thread *thread = sn_thread_self();
	if (thread && sn_torch_exact_metric() != SN_ID_NONE)
		sn_torch_exact_node_runs(thread);
	return function(answer, SN_TORCH_SCOPE_BACKWARD_FUNCTION);
}

void *sn_torch_callbacks_answer(void *answer, uint8_t scope, uintptr_t stack, uintptr_t pc,
				void *(*function)(void *, uint8_t))
{
	uint8_t *bytes = answer;
	if (scope == SN_TORCH_SCOPE_BACKWARD_FUNCTION)
		return answer_node(answer, function);
	if (scope)
		return function(answer, scope);
	enum sn_torch_wish wish = wish_at(stack, pc);
	if (!is_alone())
		return function(answer, scope);
	if (wish == SN_TORCH_WISH_NOTHING) {
		bytes[flag_at] = 0;
		return answer;
	}
	function(answer, scope);
	if (wish != SN_TORCH_WISH_TENSORS && is_ours_only(answer))
		bytes[value_at + NEEDS_INPUTS_AT] = bytes[value_at + NEEDS_OUTPUTS_AT] = 0;
	return answer;
}

uint8_t sn_torch_callbacks_scope(uint8_t scope, uintptr_t stack, uintptr_t pc)
{
	if (scope || !is_alone())
		return scope;
	if (pc - engine_start < engine_end - engine_start || !wish_at(stack, 0))
		return QUIET_SCOPE;
	return scope;
}
