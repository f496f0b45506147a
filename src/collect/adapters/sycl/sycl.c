/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SYCL: while its runtime hands a kernel or a copy to the device's interface, an operator frame names it and the line that
 * submitted it. What the OpenCL or Level Zero adapter measures then is below that frame, and counts once.
 *
 * The runtime may hand it over later, and in a thread of its own: when what was submitted waits for something. So the call path of
 * each submission is kept under its event until then, and that thread's path continues below it. docs/design/sycl.md gives
 * reasons.
 */
#include "xpti.h"

#include "collect/adapters/gpu/gpu.h"
#include "collect/adapters/levelzero/levelzero.h"
#include "collect/core/callpath.h"
#include "collect/core/cct_copy.h"
#include "collect/core/hash.h"
#include "collect/core/line.h"
#include "collect/intercept/intercept.h"

#include <dlfcn.h>
#include <string.h>

#define SUBMISSIONS 4096u
#define NESTED	    8u

#define POINTER(type, name, parameters) type(*name) parameters;
static struct {
	SN_XPTI_FUNCTIONS(POINTER)
} xpti;
#undef POINTER

static char status[256];

static void say(const char *text)
{
	struct sn_line line = SN_LINE(status);
	sn_line_add(&line, text);
}

/* ---- submissions ---- */

/* The last one whose event falls on a place. A reader sees a whole one, or none: `key` is 0 meanwhile. */
static struct submission {
	_Atomic uint64_t key;
	_Atomic(struct sn_thread *) thread;
	_Atomic uint32_t node;
} submissions[SUBMISSIONS];

static uint64_t key_of(const void *event, uint64_t instance)
{
	return sn_hash_mix(sn_hash_mix(0, (uintptr_t)event), instance) | 1;
}

static void keep(uint64_t key, struct sn_thread *thread, uint32_t node)
{
	struct submission *place = &submissions[(key >> 20) % SUBMISSIONS];
	/* release: no key while the rest changes, and the rest before its key */
	atomic_store_explicit(&place->key, 0, memory_order_relaxed);
	atomic_store_explicit(&place->thread, thread, memory_order_release);
	atomic_store_explicit(&place->node, node, memory_order_release);
	atomic_store_explicit(&place->key, key, memory_order_release);
}

/* False where it is not known. */
static bool find(uint64_t key, struct sn_thread **thread, uint32_t *node)
{
	struct submission *place = &submissions[(key >> 20) % SUBMISSIONS];
	/* acquire: what is read next is of this key, or later */
	if (atomic_load_explicit(&place->key, memory_order_acquire) != key)
		return false;
	*thread = atomic_load_explicit(&place->thread, memory_order_acquire);
	*node = atomic_load_explicit(&place->node, memory_order_acquire);
	return *thread && atomic_load_explicit(&place->key, memory_order_relaxed) == key;
}

/* ---- call paths ---- */

/* SYCL's runtime, its framework for tools, and what lies between it and the device's interface. */
static bool is_of_sycl(uint32_t module)
{
	static struct sn_gpu_modules modules = {.prefixes = {"libsycl", "libxptifw", "libur_"}};
	return sn_gpu_is_inside(&modules, module);
}

/* What this thread hands over at the moment. */
static __thread struct {
	uint32_t depth; /* of tasks that have begun */
	uint32_t shadows[NESTED];
	struct sn_copy_room room;
} current __attribute__((tls_model("initial-exec")));

static void on_submission(uint16_t point, void *parent, void *event, uint64_t instance,
			  const void *data)
{
	(void)point, (void)parent, (void)data;
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	struct sn_callpath_call call = {is_of_sycl, 0, 0};
	uint32_t node = sn_callpath_of_call(thread, &call);
	if (node != SN_NODE_NONE)
		keep(key_of(event, instance), thread, node);
	sn_leave(thread);
}

/* "NAME (FILE:LINE)", as much as is known; SN_ID_NONE where nothing is. */
static uint32_t name_of(struct sn_thread *thread, void *event)
{
	const struct sn_xpti_payload *payload = event ? xpti.xptiQueryPayload(event) : NULL;
	char text[1024];
	struct sn_line line = SN_LINE(text);
	if (!payload || !payload->name || !*payload->name)
		return SN_ID_NONE;
	sn_line_add(&line, payload->name);
	if (payload->file && *payload->file && payload->line) {
		const char *slash = strrchr(payload->file, '/');
		SN_LINE_ADD(&line, " (", slash ? slash + 1 : payload->file, ":");
		sn_line_add_number(&line, payload->line);
		sn_line_add(&line, ")");
	}
	return sn_cct_string(&thread->cct, text, line.length);
}

/* The path of the submission, in this thread's tree; SN_NODE_NONE if it is that of now, or not known. */
static uint32_t path_of(struct sn_thread *thread, uint64_t key, uint32_t now)
{
	struct sn_thread *other;
	uint32_t node;
	if (!find(key, &other, &node) || (other == thread && node == now))
		return SN_NODE_NONE;
	return other == thread
		   ? node
		   : sn_cct_copy_path(&thread->cct, &other->cct, node, SN_COPY_ALL, &current.room);
}

/* Directly below the frame that called the runtime. */
static void push(struct sn_thread *thread, void *event, uint64_t key)
{
	struct sn_frame frame = {.kind = SN_FRAME_OPERATOR, .id = name_of(thread, event)};
	struct sn_callpath_call call = {is_of_sycl, 0, 0};
	if (frame.id == SN_ID_NONE)
		return;
	uint32_t now = sn_callpath_of_call(thread, &call);
	uint32_t path = path_of(thread, key, now);
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct sn_shadow *shadow = sn_shadow_push(thread, &frame, call.stack ? call.stack : here);
	if (shadow)
		shadow->prefix = path;
}

static void on_task_begin(uint16_t point, void *parent, void *event, uint64_t instance,
			  const void *data)
{
	(void)point, (void)parent, (void)data;
	sn_ze_notice();
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	if (current.depth < NESTED) {
		current.shadows[current.depth] = thread->shadow_depth;
		push(thread, event, key_of(event, instance));
	}
	current.depth++;
	sn_leave(thread);
}

static void on_task_end(uint16_t point, void *parent, void *event, uint64_t instance,
			const void *data)
{
	(void)point, (void)parent, (void)event, (void)instance, (void)data;
	struct sn_thread *thread = current.depth ? sn_enter() : NULL;
	if (!thread)
		return;
	/* with what was left open in between */
	if (--current.depth < NESTED && thread->shadow_depth > current.shadows[current.depth])
		thread->shadow_depth = current.shadows[current.depth];
	sn_leave(thread);
}

/* ---- the framework, which finds these in what XPTI_SUBSCRIBERS names ---- */

/* That which calls us: it may be loaded under any name. */
static bool find_functions(const void *caller)
{
	Dl_info info;
	void *library = dladdr(caller, &info) && info.dli_fname
			    ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)
			    : NULL;
	if (!library)
		return false;
	bool is_known = dlsym(library, "xptiLookupPayload");
#define FIND(type, name, parameters) xpti.name = (type(*) parameters)dlsym(library, #name);
	SN_XPTI_FUNCTIONS(FIND)
#undef FIND
	dlclose(library);
	return is_known && xpti.xptiRegisterStream && xpti.xptiRegisterCallback &&
	       xpti.xptiQueryPayload;
}

SN_EXPORT void xptiTraceInit(unsigned major, unsigned minor, const char *version,
			     const char *stream);
SN_EXPORT void xptiTraceInit(unsigned major, unsigned minor, const char *version,
			     const char *stream)
{
	(void)major, (void)minor, (void)version;
	if (!sn_measuring() || strcmp(stream, "sycl") != 0)
		return;
	if (!find_functions(__builtin_return_address(0))) {
		say("the runtime's framework for tools is not one that is known (that of 2026 is)");
		return;
	}
	uint8_t number = xpti.xptiRegisterStream(stream);
	xpti.xptiRegisterCallback(number, SN_XPTI_NODE_CREATE, on_submission);
	xpti.xptiRegisterCallback(number, SN_XPTI_TASK_BEGIN, on_task_begin);
	xpti.xptiRegisterCallback(number, SN_XPTI_TASK_END, on_task_end);
	say("submissions by name and line; the device's interface measures their times");
}

SN_EXPORT void xptiTraceFinish(const char *stream);
SN_EXPORT void xptiTraceFinish(const char *stream)
{
	(void)stream;
}

/* ---- the adapter ---- */

static void sycl_thread_end(struct sn_thread *thread)
{
	(void)thread;
	sn_copy_room_release(&current.room);
}

static const char *sycl_status(void)
{
	if (status[0])
		return status;
	return sn_module_by_name("libsycl") == SN_MODULE_NONE ? "no SYCL runtime in this process"
							      : "SYCL's runtime has no tool";
}

const struct sn_adapter sn_adapter_sycl = {
    .name = "sycl",
    .thread_end = sycl_thread_end,
    .status = sycl_status,
};
