/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of HIP, in whose table each function is replaced, and who is told of them. */
#include "../hip_runtime.h"
#include "sdk.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTER = 1, EXIT = 2, HIP_RUNTIME = 5, HIP_STREAM = 20, STREAM_SET = 3 };

static _Atomic uint64_t correlations;
static __thread uint64_t stack[16];
static __thread unsigned depth;

struct payload {
	uint64_t size, words[8];
	union {
		int status;
		uint64_t longest[3];
	} result;
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

/* ---- streams: whoever asks is told that of a call before and after all else of it ---- */

#define STREAMS 64

/* By its handle: the default stream is 0, the others follow as they are first used. */
static uint64_t stream_number(uintptr_t handle)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uintptr_t known[STREAMS];
	uint64_t number = 0;
	pthread_mutex_lock(&lock);
	while (handle && ++number < STREAMS && known[number] && known[number] != handle)
		continue;
	if (number < STREAMS)
		known[number] = handle;
	pthread_mutex_unlock(&lock);
	return number;
}

/* `given`: the handle + 1; 0: the function has no stream. */
static void tell_stream(uintptr_t given, uint32_t phase)
{
	struct {
		uint64_t size, stream, handle;
	} payload = {sizeof(payload), given ? stream_number(given - 1) : 0, given - 1};
	for (uint32_t index = 0; given && index < fake_context_count; index++) {
		const struct fake_context *context = &fake_contexts[index];
		struct fake_call_record record = {.context = index + 1,
						  .thread = (uint64_t)syscall(SYS_gettid),
						  .kind = HIP_STREAM,
						  .operation = STREAM_SET,
						  .phase = phase,
						  .payload = &payload};
		uint64_t word = 0;
		if (context->is_active && context->on_stream)
			context->on_stream(record, &word, context->stream_data);
	}
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define W(word) _Generic((word), hipStream_t : ((uintptr_t)(word) + 1), default : (uintptr_t)0) |
#define HIP(place, name, parameters, arguments, given)                                             \
	static uintptr_t stream_of_##name parameters                                               \
	{                                                                                          \
		return given 0;                                                                    \
	}
#include "../hip.def"
#undef HIP
#undef W
#pragma GCC diagnostic pop

/* ---- calls ---- */

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
		uintptr_t of_stream = stream_of_##name arguments;                                  \
		tell_stream(of_stream, ENTER);                                                     \
		enter(place, &payload);                                                            \
		hipError_t error = real_##name arguments;                                          \
		payload.result.status = error;                                                     \
		leave(place, &payload);                                                            \
		tell_stream(of_stream, EXIT);                                                      \
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
