/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the loader and its tracing layer. The layer is there once zeInit has succeeded, if ZE_ENABLE_TRACING_LAYER was set
 * before: `sonde run` does that. So zeInit is wrapped. A library that finds the loader by dlopen() calls it past the wrapper:
 * then the adapter attaches as it is noticed that the layer was loaded, or as SYCL's runtime says so.
 */
#include "call.h"

#include "collect/core/line.h"
#include "collect/core/lock.h"
#include "collect/intercept/intercept.h"
#include "collect/intercept/real_symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LOOKS   4u
#define EXIT_WAIT_NS  2000000000u
#define EXIT_STILL_NS 200000000u

enum state { WAITING, TRYING, ACTIVE, ENDED };

struct sn_ze sn_ze;
static _Atomic int state;
static void *tracer;
static char status[256];

bool sn_ze_is_active(void)
{
	/* acquire: what attaching has stored */
	return atomic_load_explicit(&state, memory_order_acquire) == ACTIVE;
}

static void say_more(const char *text, const char *more)
{
	struct sn_line line = SN_LINE(status);
	SN_LINE_ADD(&line, text, more);
}

static void say(const char *text)
{
	say_more(text, NULL);
}

/* ---- the interface ---- */

/* The loader, its layers, or Intel's driver. */
static bool is_of_levelzero(uint32_t module)
{
	static struct sn_gpu_modules modules = {.prefixes = {"libze_"}};
	return sn_gpu_is_inside(&modules, module);
}

struct sn_gpu_interface sn_levelzero =
    SN_GPU_INTERFACE(levelzero, .device = "Level Zero device ", .is_inside = is_of_levelzero);

/* ---- attaching ---- */

static bool find_functions(void *library)
{
#define FIND(name, parameters)                                                                     \
	sn_ze.name = (sn_ze_result(*) parameters)dlsym(library, #name);                            \
	if (!sn_ze.name)                                                                           \
		return false;
	SN_ZE_FUNCTIONS(FIND)
#undef FIND
	return true;
}

/* Those functions of the layer's own: the loader does not pass its calls on yet. */
static bool find_tracer(void *layer)
{
	struct sn_zel_tracers table = {0};
	sn_ze_result (*fill)(uint32_t, struct sn_zel_tracers *) = (sn_ze_result(*)(
	    uint32_t, struct sn_zel_tracers *))dlsym(layer, "zelGetTracerApiProcAddrTable");
	if (!fill || fill(SN_ZE_VERSION_1_0, &table) || !table.create || !table.set_enabled)
		return false;
	sn_ze.zelTracerCreate = table.create;
	sn_ze.zelTracerSetEnabled = table.set_enabled;
	return true;
}

/* Collects what is left before the loader's and the driver's own exit handlers run, which were registered before. */
static void finish(void);

/* The state that follows. `layer` is the tracing layer where the loader is about to use it, NULL where it does already. */
static enum state attach(void *library, void *layer)
{
	const struct sn_zel_tracer_desc desc = {.type = SN_ZEL_TRACER_DESC, .data = &sn_levelzero};
	if (!find_functions(library) || (layer && !find_tracer(layer))) {
		say("the loader lacks a function that is needed (1.7 or later has them)");
		return ENDED;
	}
	sn_ze_result error = sn_ze.zelTracerCreate(&desc, &tracer);
	if (error == SN_ZE_ERROR_UNINITIALIZED)
		return WAITING;
	if (error) {
		say("no tracing layer: ZE_ENABLE_TRACING_LAYER is not 1, or the loader does not "
		    "find it");
		return ENDED;
	}
	sn_ze_register(layer ? layer : library, tracer);
	if (sn_ze.zelTracerSetEnabled(tracer, 1)) {
		say("the tracing layer refuses");
		return ENDED;
	}
	say_more("tracing layer: kernels, copies and sets below the calls that appended them",
		 sn_gpu_counts_nothing());
	atexit(finish);
	return ACTIVE;
}

static void try_attach(void *layer)
{
	int expected = WAITING;
	if (atomic_load_explicit(&state, memory_order_relaxed) != WAITING || !sn_measuring())
		return;
	void *library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		return;
	if (atomic_compare_exchange_strong_explicit(&state, &expected, TRYING, memory_order_acquire,
						    memory_order_relaxed))
		/* release: what is stored comes before callbacks use it */
		atomic_store_explicit(&state, attach(library, layer), memory_order_release);
	dlclose(library);
}

/* Looking for the loader takes the time of some launches: after the first few, only when modules have been loaded. */
void sn_ze_notice(void)
{
	static _Atomic uint32_t looks, seen;
	uint32_t generation = sn_module_generation();
	if (atomic_load_explicit(&state, memory_order_relaxed) != WAITING)
		return;
	if (atomic_load_explicit(&looks, memory_order_relaxed) >= FIRST_LOOKS &&
	    atomic_load_explicit(&seen, memory_order_relaxed) == generation)
		return;
	atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
	atomic_store_explicit(&seen, generation, memory_order_relaxed);
	try_attach(NULL);
}

static void is_initialised(void)
{
	try_attach(NULL);
	sn_adapters_retry();
	sn_adapters_attach();
}

SN_EXPORT sn_ze_result zeInit(uint32_t flags);
SN_EXPORT sn_ze_result zeInit(uint32_t flags)
{
	sn_ze_result (*real)(uint32_t) = (sn_ze_result(*)(uint32_t))SN_REAL_SYMBOL("zeInit");
	sn_ze_result result = real ? real(flags) : SN_ZE_ERROR_UNINITIALIZED;
	if (!result)
		is_initialised();
	return result;
}

/* Since loader 1.18. */
SN_EXPORT sn_ze_result zeInitDrivers(uint32_t *count, void **drivers, void *desc);
SN_EXPORT sn_ze_result zeInitDrivers(uint32_t *count, void **drivers, void *desc)
{
	sn_ze_result (*real)(uint32_t *, void **, void *) =
	    (sn_ze_result(*)(uint32_t *, void **, void *))SN_REAL_SYMBOL("zeInitDrivers");
	sn_ze_result result = real ? real(count, drivers, desc) : SN_ZE_ERROR_UNINITIALIZED;
	if (!result)
		is_initialised();
	return result;
}

/*
 * The loader calls this function of its own when it has loaded its layers, before it initialises a driver; also where zeInit was found by
 * dlsym() in the loader, past the wrapper above.
 */
SN_EXPORT void *zeLoaderGetTracingHandle(void);
SN_EXPORT void *zeLoaderGetTracingHandle(void)
{
	void *(*real)(void) = (void *(*)(void))SN_REAL_SYMBOL("zeLoaderGetTracingHandle");
	void *layer = real ? real() : NULL;
	if (layer)
		try_attach(layer);
	return layer;
}

/* ---- the end ---- */

static void pause_ns(long ns)
{
	struct timespec time = {.tv_nsec = ns};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static uint32_t collect(void)
{
	if (!sn_lock_wait(SN_LOCK_LEVELZERO))
		return 0;
	uint32_t left = sn_ze_items_collect();
	sn_lock_release(SN_LOCK_LEVELZERO);
	return left;
}

/* As long as some finish: what waits for the host to signal an event is not waited for. */
static void collect_rest(void)
{
	uint64_t start_ns = sn_now_ns(), moved_ns = start_ns;
	uint32_t before = UINT32_MAX, left;
	while ((left = collect())) {
		uint64_t now_ns = sn_now_ns();
		moved_ns = left != before ? now_ns : moved_ns;
		before = left;
		if (now_ns - start_ns > EXIT_WAIT_NS || now_ns - moved_ns > EXIT_STILL_NS)
			break;
		pause_ns(1000000);
	}
	if (left)
		sn_drop(NULL, SN_DROP_GPU_LOST, left);
}

static void finish(void)
{
	struct sn_thread *thread = sn_thread_self();
	int expected = ACTIVE;
	if (!atomic_compare_exchange_strong_explicit(&state, &expected, ENDED, memory_order_acquire,
						     memory_order_relaxed))
		return;
	/* a crash inside the driver holds its locks: then what was not collected is missing */
	if (!sn_ends_in_handler() && sn_ze_enter()) {
		collect_rest();
		sn_ze_leave();
	}
	if (thread)
		sn_gpu_collect_all(thread);
}

/* ---- the adapter ---- */

static int levelzero_attach(void)
{
	if (sn_module_by_name("libze_tracing_layer") != SN_MODULE_NONE)
		try_attach(NULL);
	return atomic_load_explicit(&state, memory_order_relaxed) <= TRYING ? -EAGAIN : 0;
}

/* The driver and its threads are the parent's. */
static void levelzero_after_fork(void)
{
	atomic_store_explicit(&state, ENDED, memory_order_relaxed);
}

static const char *levelzero_status(void)
{
	if (status[0])
		return status;
	return sn_module_by_name("libze_loader") == SN_MODULE_NONE
		   ? "no Level Zero loader in this process"
		   : "the program has not initialised Level Zero";
}

const struct sn_adapter sn_adapter_levelzero = {
    .name = "levelzero",
    .attach = levelzero_attach,
    .detach = finish,
    .after_fork = levelzero_after_fork,
    .status = levelzero_status,
};
