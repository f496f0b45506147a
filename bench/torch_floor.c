/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that PyTorch's announcing of operators can cost: a preloaded library that registers the
 * callbacks that Sonde registers, for the same operators, and does nothing in them. What Sonde
 * costs above this is its own; bench/torch_switched.py measures both.
 *
 * torch_floor_start(which) is called once PyTorch is there: 0 for the operators that the program
 * calls itself and the autograd nodes, 1 for all operators, 2 as 0 with inputs and outputs.
 * torch_floor_on switches, torch_floor_count counts what was announced. One thread only.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define STEP_CALLBACKS	"_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE"
#define RECORD_FUNCTION "_ZN2at14RecordFunctionC1ENS_11RecordScopeE"
#define EVALUATE                                                                                   \
	"_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_"       \
	"4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE"
enum { NODES, ALL, NODES_WITH_TENSORS };
enum { ANSWER_BYTES = 512, PATTERN = 0xA5 };

struct callback {
	void *(*start)(void **context, const void *function);
	void (*end)(const void *function, void *context);
	double sampling_probability;
	uint8_t scopes[10];
	uint8_t needs_inputs, needs_outputs, needs_ids;
	uint8_t reserved[27];
};
typedef void *answer_function(void *answer, uint8_t scope);
typedef void evaluate_function(void *, void *, void *, void *, void *);

int torch_floor_on;
uint64_t torch_floor_count;
int torch_floor_start(int which);
static int depth;
static int selects; /* whether inner operators are not announced */
static size_t flag_at;

static void *libtorch(void)
{
	static void *library;
	if (!library)
		library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
	return library;
}

#define REAL(type, name)                                                                           \
	({                                                                                         \
		static type *known;                                                                \
		if (!known)                                                                        \
			known = (type *)dlsym(libtorch(), name);                                   \
		known;                                                                             \
	})

void *floor_answer(void *answer, uint8_t scope) __asm__(STEP_CALLBACKS);
void *floor_answer(void *answer, uint8_t scope)
{
	answer_function *function = REAL(answer_function, STEP_CALLBACKS);
	if (!torch_floor_on || !selects || scope || !depth)
		return function(answer, scope);
	((uint8_t *)answer)[flag_at] = 0;
	return answer;
}

/* at::RecordFunction's constructor: what announces itself so, as the evaluation of an autograd node
 * does, is put into a scope in which nobody listens. */
void floor_record_function(void *self, uint8_t scope) __asm__(RECORD_FUNCTION);
void floor_record_function(void *self, uint8_t scope)
{
	enum { BUILD_FEATURE = 5 };
	typedef void record_function(void *, uint8_t);
	REAL(record_function, RECORD_FUNCTION)
	(self, !scope && torch_floor_on ? BUILD_FEATURE : scope);
}

void floor_evaluate(void *engine, void *task, void *node, void *inputs,
		    void *queue) __asm__(EVALUATE);
void floor_evaluate(void *engine, void *task, void *node, void *inputs, void *queue)
{
	depth++;
	torch_floor_count += torch_floor_on;
	REAL(evaluate_function, EVALUATE)(engine, task, node, inputs, queue);
	depth--;
}

static void *on_start(void **context, const void *function)
{
	*context = NULL;
	depth++;
	torch_floor_count++;
	return context;
}

static void on_end(const void *function, void *context)
{
	depth--;
}

/* Where the answer says that there is one: all that is written of one without callbacks. */
static int learn(void)
{
	uint8_t memory[ANSWER_BYTES] __attribute__((aligned(16)));
	memset(memory, PATTERN, sizeof(memory));
	REAL(answer_function, STEP_CALLBACKS)(memory, 0);
	int written = 0;
	for (size_t at = 0; at < sizeof(memory); at++)
		if (memory[at] != PATTERN) {
			flag_at = at;
			written++;
		}
	return written == 1;
}

int torch_floor_start(int which)
{
	uint64_t (*add)(struct callback) = (uint64_t(*)(struct callback))dlsym(
	    libtorch(), "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
	struct callback operators = {.start = on_start, .end = on_end, .sampling_probability = 1.0};
	if (!add || !learn())
		return -1;
	selects = which != ALL;
	operators.needs_inputs = operators.needs_outputs = which == NODES_WITH_TENSORS;
	operators.scopes[0] = 1;
	add(operators);
	return 0;
}
