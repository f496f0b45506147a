/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of HIP, in whose table each function is replaced, and who is told of them. */
#include "../hip_runtime.h"
#include "sdk.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTER = 1, EXIT = 2, HIP_RUNTIME = 5 };

static _Atomic uint64_t correlations;
static __thread uint64_t stack[16];
static __thread unsigned depth;

struct payload {
	uint64_t size, words[8];
	int result;
};

uint64_t fake_sdk_correlation(void)
{
	return depth ? stack[(depth - 1) % 16] : 0;
}

static void tell(int32_t operation, uint32_t phase, struct payload *payload)
{
	for (uint32_t index = 0; index < fake_context_count; index++) {
		const struct fake_context *context = &fake_contexts[index];
		struct fake_call_record record = {.context = index + 1,
						  .thread = (uint64_t)syscall(SYS_gettid),
						  .correlation = fake_sdk_correlation(),
						  .kind = HIP_RUNTIME,
						  .operation = operation,
						  .phase = phase,
						  .payload = payload};
		uint64_t word = 0;
		if (context->is_active && context->on_call && context->wanted[operation])
			context->on_call(record, &word, context->call_data);
	}
}

static void enter(int32_t operation, struct payload *payload)
{
	stack[depth++ % 16] = ++correlations;
	tell(operation, ENTER, payload);
}

static void leave(int32_t operation, struct payload *payload)
{
	tell(operation, EXIT, payload);
	depth--;
}

#define W(word) (uint64_t)(uintptr_t)(word),
#define HIP(place, name, parameters, arguments, given)                                             \
	static hipError_t(*real_##name) parameters;                                                \
	static hipError_t traced_##name parameters                                                 \
	{                                                                                          \
		struct payload payload = {.size = sizeof(payload), .words = {given}};              \
		enter(place, &payload);                                                            \
		hipError_t error = real_##name arguments;                                          \
		payload.result = error;                                                            \
		leave(place, &payload);                                                            \
		return error;                                                                      \
	}
#include "../hip.def"
#undef HIP

void fake_wrap_table(void *table)
{
	void **functions = (void **)table + 1;
#define HIP(place, name, parameters, arguments, given)                                             \
	real_##name = (hipError_t(*) parameters)functions[place];                                  \
	functions[place] = (void *)traced_##name;
#include "../hip.def"
#undef HIP
}

const char *fake_function_name(int32_t operation)
{
	switch (operation) {
#define HIP(place, name, parameters, arguments, given)                                             \
	case place:                                                                                \
		return #name;
#include "../hip.def"
#undef HIP
	default:
		return NULL;
	}
}
