/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers of functions of libtorch_cpu and libc10. PyTorch calls these functions through its
 * linkage tables, even within one library, and the loader binds such calls to this library, because
 * it is preloaded. Each wrapper calls the real function, whether or not its own work succeeds.
 * docs/design/torch-operators.md gives the reasons and the builds that were checked.
 *
 * A wrapper has the mangled name of the function that it replaces, and passes the C++ arguments on
 * unchanged.
 */
#include "graph.h"

#include "collect/intercept/intercept.h"
#include "collect/intercept/real_symbol.h"

static inline bool is_wanted(_Atomic bool *duty)
{
	return atomic_load_explicit(duty, memory_order_relaxed);
}

static inline void notice(uintptr_t from)
{
	if (__builtin_expect(sn_torch_undecided(), 0))
		sn_torch_called(from);
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* void torch::autograd::set_default_engine_stub(Engine &(*)()): libtorch_python's initialisation
 * calls it once, when libtorch_cpu is ready and no operator has run. */
#define SET_STUB "_ZN5torch8autograd23set_default_engine_stubEPFRNS0_6EngineEvE"
SN_REPLACES(SET_STUB, void, sn_torch_set_stub, (void *stub))
{
	void (*function)(void *) = SN_REAL_SYMBOL(SET_STUB);
	if (function)
		function(stub);
	notice(CALLER);
}

/* uint64_t at::sequence_number::get_and_increment(): called once for each new autograd node. */
SN_REPLACES(SN_TORCH_SEQUENCE, uint64_t, sn_torch_get_and_increment, (void))
{
	uint64_t (*function)(void) = SN_REAL_SYMBOL(SN_TORCH_SEQUENCE);
	uint64_t sequence = function();
	notice(CALLER);
	if (__builtin_expect(is_wanted(&sn_torch_duties.autograd), 1))
		sn_torch_forward(sequence, SN_CALLER_STACK, CALLER);
	return sequence;
}

/*
 * The C++ unwinder calls this when an exception leaves sn_torch_evaluate. It closes the node's frame
 * and lets unwinding continue. It needs no landing pad, and so no C++ runtime.
 */
int sn_torch_personality(int version, int actions, uint64_t class, void *exception, void *context);
__attribute__((visibility("hidden"), used)) int
sn_torch_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	enum { CLEANUP_PHASE = 2, CONTINUE_UNWIND = 8 };
	/* returns the stack pointer of the frame that the exception leaves */
	uintptr_t (*frame_of)(void *) = SN_REAL_SYMBOL("_Unwind_GetCFA");
	if ((actions & CLEANUP_PHASE) && frame_of)
		sn_torch_backward_unwound(frame_of(context));
	return CONTINUE_UNWIND;
}

/* The object that a shared_ptr holds. */
static uintptr_t task_of(const void *pointer)
{
	return *(const uintptr_t *)pointer;
}

/*
 * intrusive_ptr<Future> Engine::execute_with_graph_task(const shared_ptr<GraphTask> &, a pointer to a Node, InputBuffer &&): the calling
 * thread runs a backward pass, and waits for what other threads run of it. The result is returned through a hidden first argument; the
 * pointer to a node is passed by its address.
 */
static void *execute(void *function, void *result, void *engine, void *task, void *root,
		     void *inputs, uintptr_t stack, uintptr_t pc)
{
	bool is_measured = is_wanted(&sn_torch_duties.autograd);
	uint32_t token = is_measured ? sn_torch_engine_begin(task_of(task), stack, pc) : UINT32_MAX;
	void *answer = ((void *(*)(void *, void *, void *, void *, void *))function)(
	    result, engine, task, root, inputs);
	sn_torch_engine_end(token);
	return answer;
}

SN_REPLACES(SN_TORCH_EXECUTE, void *, sn_torch_execute,
	    (void *result, void *engine, void *task, void *root, void *inputs))
{
	return execute(SN_REAL_SYMBOL(SN_TORCH_EXECUTE), result, engine, task, root, inputs,
		       SN_CALLER_STACK, CALLER);
}

SN_REPLACES(SN_TORCH_EXECUTE_SHARED, void *, sn_torch_execute_shared,
	    (void *result, void *engine, void *task, void *root, void *inputs))
{
	return execute(SN_REAL_SYMBOL(SN_TORCH_EXECUTE_SHARED), result, engine, task, root, inputs,
		       SN_CALLER_STACK, CALLER);
}

/* void Engine::evaluate_function(shared_ptr<GraphTask> &, Node *, InputBuffer &, const
 * shared_ptr<ReadyQueue> &): runs one node of the backward pass and its hooks, and passes its
 * gradients to the next nodes. If an exception passes through, the personality above closes the
 * node's frame. */
SN_REPLACES(SN_TORCH_EVALUATE, __attribute__((noinline, noclone)) void, sn_torch_evaluate,
	    (void *engine, void *task, void *node, void *inputs, void *queue))
{
	__asm__ volatile(".cfi_personality 0x1b, sn_torch_personality");
	void (*function)(void *, void *, void *, void *, void *) =
	    SN_REAL_SYMBOL(SN_TORCH_EVALUATE);
	notice(CALLER);
	uint32_t token = sn_torch_backward_begin(task_of(task), node, SN_CALLER_STACK, CALLER);
	function(engine, task, node, inputs, queue);
	sn_torch_backward_end(token, SN_CALLER_STACK);
}

/* Tensor at::Generator::get_state() const and void at::Generator::set_state(const Tensor &):
 * torch.compile calls them before and after each compilation, other code rarely. The Tensor is
 * returned through a hidden first argument. */
#define GET_STATE "_ZNK2at9Generator9get_stateEv"
SN_REPLACES(GET_STATE, void *, sn_torch_get_state, (void *result, const void *generator))
{
	void *(*function)(void *, const void *) = SN_REAL_SYMBOL(GET_STATE);
	function(result, generator);
	sn_torch_compile_begins(SN_CALLER_STACK);
	return result;
}

#define SET_STATE "_ZN2at9Generator9set_stateERKNS_6TensorE"
SN_REPLACES(SET_STATE, void, sn_torch_set_state, (void *generator, const void *state))
{
	void (*function)(void *, const void *) = SN_REAL_SYMBOL(SET_STATE);
	function(generator, state);
	sn_torch_compile_ends();
}

/* const std::shared_ptr<TracingState> &torch::jit::tracer::getTracingState(): each call of an
 * nn.Module calls it. */
#define TRACING "_ZN5torch3jit6tracer15getTracingStateEv"
SN_REPLACES(TRACING, const void *, sn_torch_tracing, (void))
{
	const void *(*function)(void) = SN_REAL_SYMBOL(TRACING);
	if (sn_torch_graph_on())
		sn_torch_module_called();
	return function();
}

/* std::optional<StepCallbacks> at::getStepCallbacksUnlessEmpty(RecordScope): each operator calls
 * it. The optional is returned through a hidden first argument. */
SN_REPLACES(SN_TORCH_STEP_CALLBACKS, void *, sn_torch_step_callbacks, (void *answer, uint8_t scope))
{
	void *(*function)(void *, uint8_t) = SN_REAL_SYMBOL(SN_TORCH_STEP_CALLBACKS);
	if (!sn_torch_callbacks_known())
		return function(answer, scope);
	return sn_torch_callbacks_answer(answer, scope, SN_CALLER_STACK, CALLER, function);
}

/* at::RecordFunction::RecordFunction(RecordScope): announces functions that the dispatcher does not
 * call, such as the evaluation of an autograd node. */
SN_REPLACES(SN_TORCH_RECORD_FUNCTION, void, sn_torch_record_function, (void *self, uint8_t scope))
{
	void (*function)(void *, uint8_t) = SN_REAL_SYMBOL(SN_TORCH_RECORD_FUNCTION);
	if (sn_torch_callbacks_known())
		scope = sn_torch_callbacks_scope(scope, SN_CALLER_STACK, CALLER);
	function(self, scope);
}

/*
 * uint64_t at::addGlobalCallback(RecordFunctionCallback) and
 * uint64_t at::addThreadLocalCallback(RecordFunctionCallback): the structure is passed on the stack,
 * and its size depends on the release. So the wrappers cannot copy it: they jump to the real
 * function with the stack unchanged.
 */
static uint64_t no_function(void)
{
	return 0;
}

#define ADDING(name, symbol)                                                                       \
	__attribute__((used, visibility("hidden"))) void *sn_torch_real_##name(void);              \
	void *sn_torch_real_##name(void)                                                           \
	{                                                                                          \
		void *function = SN_REAL_SYMBOL(symbol);                                           \
		sn_torch_callbacks_others(1);                                                      \
		return function ? function : (void *)no_function;                                  \
	}                                                                                          \
	SN_EXPORT __attribute__((naked)) void sn_torch_##name(void) __asm__(symbol);               \
	void sn_torch_##name(void)                                                                 \
	{                                                                                          \
		__asm__("sub $8, %rsp\n\t"                                                         \
			".cfi_adjust_cfa_offset 8\n\t"                                             \
			"call sn_torch_real_" #name "\n\t"                                         \
			"add $8, %rsp\n\t"                                                         \
			".cfi_adjust_cfa_offset -8\n\t"                                            \
			"jmp *%rax");                                                              \
	}

ADDING(add_global, SN_TORCH_ADD_GLOBAL)
ADDING(add_local, SN_TORCH_ADD_LOCAL)

/* void at::removeCallback(uint64_t) */
SN_REPLACES(SN_TORCH_REMOVE, void, sn_torch_remove, (uint64_t handle))
{
	void (*function)(uint64_t) = SN_REAL_SYMBOL(SN_TORCH_REMOVE);
	function(handle);
	sn_torch_callbacks_others(-1);
}

/* void *c10::alloc_cpu(size_t) */
#define ALLOC_CPU "_ZN3c109alloc_cpuEm"
SN_REPLACES(ALLOC_CPU, void *, sn_torch_alloc_cpu, (size_t bytes))
{
	void *(*function)(size_t) = SN_REAL_SYMBOL(ALLOC_CPU);
	void *memory = function(bytes);
	notice(CALLER);
	if (is_wanted(&sn_torch_duties.memory))
		sn_torch_allocated(memory, bytes, SN_CALLER_STACK, CALLER);
	return memory;
}

/* void c10::free_cpu(void *) */
#define FREE_CPU "_ZN3c108free_cpuEPv"
SN_REPLACES(FREE_CPU, void, sn_torch_free_cpu, (void *memory))
{
	void (*function)(void *) = SN_REAL_SYMBOL(FREE_CPU);
	/* first, because afterwards another thread may get the memory and use its place in the
	 * table */
	if (is_wanted(&sn_torch_duties.memory))
		sn_torch_released(memory, SN_CALLER_STACK, CALLER);
	function(memory);
}

/*
 * void c10::reportMemoryUsageToProfiler(void *, int64_t bytes, size_t, size_t, Device): the caching
 * allocators of GPUs call it for each tensor's memory. A Device has two bytes; the first is its
 * type, 0 for the CPU. The totals were signed until 2.0, so there are two mangled names.
 */
#define REPORTS(name, symbol)                                                                      \
	SN_REPLACES(                                                                               \
	    symbol, void, name,                                                                    \
	    (void *memory, int64_t bytes, uint64_t allocated, uint64_t reserved, uint32_t device)) \
	{                                                                                          \
		void (*function)(void *, int64_t, uint64_t, uint64_t, uint32_t) =                  \
		    SN_REAL_SYMBOL(symbol);                                                        \
		if (function)                                                                      \
			function(memory, bytes, allocated, reserved, device);                      \
		if (is_wanted(&sn_torch_duties.memory) && (device & 0xff))                         \
			sn_torch_reported(bytes, SN_CALLER_STACK, CALLER);                         \
	}
REPORTS(sn_torch_report_signed, "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE")
REPORTS(sn_torch_report_unsigned, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")
