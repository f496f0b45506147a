/* SPDX-License-Identifier: Apache-2.0 */
/* One callback before and one after each call of calls.def. The tracing layer does not say which call it reports. */
#include "call.h"

#include "collect/core/line.h"
#include "collect/core/lock.h"

#include <dlfcn.h>

/* In the layer's callback, or where our own work calls Level Zero. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

bool sn_ze_enter(void)
{
	if (is_inside)
		return false;
	is_inside = true;
	return true;
}

void sn_ze_leave(void)
{
	is_inside = false;
}

/* The layer's frame has the parameters: frames above it are the program's. */
static void call_begins(const char *name, void **parameters)
{
	sn_gpu_call_enter(&sn_levelzero, &(struct sn_gpu_api_call){.name = name,
								   .object = (uintptr_t)parameters,
								   .stack = (uintptr_t)parameters});
}

#define CALLBACK(when, name, ...)                                                                  \
	static void when##_##name(void **parameters, sn_ze_result result, void *data, void **call) \
	{                                                                                          \
		(void)parameters, (void)result, (void)data, (void)call;                            \
		if (!sn_ze_is_active() || !sn_ze_enter())                                          \
			return;                                                                    \
		__VA_ARGS__                                                                        \
		sn_ze_leave();                                                                     \
	}

#define BEGINS(name) call_begins("ze" #name, parameters);
#define ENDED	     sn_gpu_call_exit();

#define SN_ZE_APPEND(name, kind, place)                                                            \
	static const struct sn_ze_append append_##name = {SN_ZE_API_##name, kind, place};          \
	CALLBACK(before, name, BEGINS(name) sn_ze_append_begins(&append_##name, parameters);)      \
	CALLBACK(after, name, sn_ze_append_ended(&append_##name, parameters, result); ENDED)
#define SN_ZE_WAIT(name)                                                                           \
	CALLBACK(before, name, BEGINS(name))                                                       \
	CALLBACK(after, name, sn_ze_wait_ended(); ENDED)
#define SN_ZE_CALL(name)                                                                           \
	CALLBACK(before, name, BEGINS(name))                                                       \
	CALLBACK(after, name, ENDED)
#define SN_ZE_EXECUTE(name)                                                                        \
	CALLBACK(before, name, BEGINS(name) sn_ze_execute_begins(parameters);)                     \
	CALLBACK(after, name, sn_ze_execute_ended(parameters, result); ENDED)

static inline void with_lock(void (*work)(void **parameters, sn_ze_result result),
			     void **parameters, sn_ze_result result)
{
	if (!work)
		return;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	work(parameters, result);
	sn_lock_release(SN_LOCK_LEVELZERO);
}

#define SN_ZE_OBJECT(name, before_it, after_it)                                                    \
	CALLBACK(before, name, with_lock(before_it, parameters, result);)                          \
	CALLBACK(after, name, with_lock(after_it, parameters, result);)

#include "calls.def"

#undef SN_ZE_APPEND
#undef SN_ZE_WAIT
#undef SN_ZE_CALL
#undef SN_ZE_EXECUTE
#undef SN_ZE_OBJECT

static const struct {
	const char *name;
	sn_zel_callback before, after;
} callbacks[] = {
#define SN_ZE_APPEND(name, kind, place)	  {#name, before_##name, after_##name},
#define SN_ZE_WAIT(name)		  {#name, before_##name, after_##name},
#define SN_ZE_CALL(name)		  {#name, before_##name, after_##name},
#define SN_ZE_EXECUTE(name)		  {#name, before_##name, after_##name},
#define SN_ZE_OBJECT(name, before, after) {#name, before_##name, after_##name},
#include "calls.def"
};

void sn_ze_register(void *library, void *tracer)
{
	char symbol[128];
	for (size_t index = 0; index < sizeof(callbacks) / sizeof(*callbacks); index++) {
		struct sn_line line = SN_LINE(symbol);
		SN_LINE_ADD(&line, "zelTracer", callbacks[index].name, "RegisterCallback");
		sn_zel_register listen = (sn_zel_register)dlsym(library, symbol);
		if (!listen)
			continue;
		listen(tracer, SN_ZEL_PROLOGUE, callbacks[index].before);
		listen(tracer, SN_ZEL_EPILOGUE, callbacks[index].after);
	}
}
