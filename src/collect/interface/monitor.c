/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public monitor interface: callbacks by domain, and call paths as frames; see sonde/monitor.h.
 *
 * Call paths are those of the calling context tree. Seen from a callback a path ends with the
 * tool's own frames and the hook's, which are taken off again. Nothing here decides what is
 * observed: that is up to the adapters, which report through monitor.h.
 */
#include "collect/core/adapter.h"
#include "collect/core/adapters.h"
#include "collect/intercept/intercept.h"
#include "monitor.h"
#include "collect/core/line.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLBACK_MAX 8u

struct listener {
	_Atomic(sonde_callback *) callback;
	void *user;
};

_Atomic uint32_t sn_monitored, sn_values_monitored;

static struct {
	_Atomic uint32_t count;
	struct listener listeners[CALLBACK_MAX];
} domains[SONDE_DOMAIN_COUNT];

static void *tool;
/* What a callback does itself is not reported. */
static __thread bool in_callback __attribute__((tls_model("initial-exec")));

SN_EXPORT int sonde_monitor_init(uint32_t version)
{
	if (version != SONDE_MONITOR_VERSION)
		return -ENOTSUP;
	sn_start_monitoring();
	return sn_measuring() ? 0 : -ENODEV;
}

/* Puts this library into OPENCL_LAYERS, where `sonde run` has not: a loader reads it at the program's
 * first call. */
static void name_layer(void)
{
	const char *before = getenv("OPENCL_LAYERS");
	Dl_info info;
	if (!dladdr((void *)name_layer, &info) || (before && strstr(before, info.dli_fname)))
		return;
	size_t bytes = strlen(info.dli_fname) + (before ? strlen(before) : 0) + sizeof(":");
	char *value = malloc(bytes);
	struct sn_line line = {value, bytes, 0};
	if (!value)
		return;
	SN_LINE_ADD(&line, info.dli_fname, before && *before ? ":" : "", before ? before : "");
	setenv("OPENCL_LAYERS", value, 1);
	free(value);
}

SN_EXPORT int sonde_monitor_want_values(enum sonde_domain domain)
{
	if (domain != SONDE_FRAMEWORK && domain != SONDE_GPU)
		return -EINVAL;
	atomic_fetch_or_explicit(&sn_values_monitored, 1u << domain, memory_order_relaxed);
	return 0;
}

SN_EXPORT int sonde_monitor_register(enum sonde_domain domain, sonde_callback *callback, void *user)
{
	if ((unsigned)domain >= SONDE_DOMAIN_COUNT || !callback)
		return -EINVAL;
	if (domain == SONDE_FRAMEWORK)
		sn_config.operators = "exact";
	if (domain == SONDE_GPU)
		name_layer();
	if (domain == SONDE_MEMORY)
		sn_config.tensor_memory = true;
	uint32_t place = atomic_fetch_add_explicit(&domains[domain].count, 1, memory_order_relaxed);
	if (place >= CALLBACK_MAX) {
		atomic_fetch_sub_explicit(&domains[domain].count, 1, memory_order_relaxed);
		return -ENOSPC;
	}
	struct listener *listener = &domains[domain].listeners[place];
	listener->user = user;
	/* release: a thread that sees the callback sees its user */
	atomic_store_explicit(&listener->callback, callback, memory_order_release);
	atomic_fetch_or_explicit(&sn_monitored, 1u << domain, memory_order_relaxed);
	return 0;
}

SN_EXPORT void sonde_monitor_finalize(void)
{
	atomic_store_explicit(&sn_monitored, 0, memory_order_relaxed);
	atomic_store_explicit(&sn_values_monitored, 0, memory_order_relaxed);
	for (unsigned domain = 0; domain < SONDE_DOMAIN_COUNT; domain++)
		for (uint32_t place = 0; place < CALLBACK_MAX; place++)
			atomic_store_explicit(&domains[domain].listeners[place].callback, NULL,
					      memory_order_relaxed);
}

void sn_monitor_emit(struct sonde_event event)
{
	if (in_callback)
		return;
	int saved_errno = errno;
	struct sn_thread *thread = sn_thread_self();
	in_callback = true;
	if (thread)
		thread->hidden_stack = SN_CALLER_STACK;
	event.struct_bytes = sizeof(event);
	event.time_ns = sn_now_ns();
	for (uint32_t place = 0; place < CALLBACK_MAX; place++) {
		struct listener *listener = &domains[event.domain].listeners[place];
		/* acquire: pairs with the release when it was registered */
		sonde_callback *callback =
		    atomic_load_explicit(&listener->callback, memory_order_acquire);
		if (callback)
			callback(&event, listener->user);
	}
	if (thread)
		thread->hidden_stack = 0;
	in_callback = false;
	errno = saved_errno;
}

void sn_monitor_emit_inside(struct sn_thread *thread, struct sonde_event event)
{
	int saved_errno = thread->saved_errno;
	sn_leave(thread);
	sn_monitor_emit(event);
	if (sn_enter())
		thread->saved_errno = saved_errno;
}

/* ---- call paths ---- */

static const struct sn_node_record *record_of(const struct sn_thread *thread, uint32_t node)
{
	return &((const struct sn_cct_node *)sn_array_at(&thread->cct.nodes, node))->record;
}

static void set_name(const struct sn_thread *thread, uint32_t id, const char **text,
		     uint32_t *length)
{
	if (id == SN_ID_NONE)
		return;
	const struct sn_cct_string *string = sn_array_at(&thread->cct.strings, id);
	*text = string->text;
	*length = string->length;
}

static struct sonde_frame public_frame(const struct sn_thread *thread, const struct sn_frame *frame)
{
	struct sonde_frame out = {.kind = frame->kind};
	if (frame->kind == SN_FRAME_NATIVE) {
		out.address = out.offset = frame->value;
		if (frame->id == SN_MODULE_NONE)
			return out;
		const struct sn_module *module = sn_module_at(frame->id);
		out.address += module->bias;
		out.file = module->path;
		out.file_length = (uint32_t)strlen(module->path);
	} else if (frame->kind == SN_FRAME_PYTHON) {
		const struct sn_cct_code *code = sn_array_at(&thread->cct.codes, frame->id);
		out.line = (uint32_t)frame->value;
		set_name(thread, code->record.name, &out.name, &out.name_length);
		set_name(thread, code->record.file, &out.file, &out.file_length);
	} else {
		set_name(thread, frame->id, &out.name, &out.name_length);
	}
	return out;
}

SN_EXPORT long sonde_monitor_callpath(unsigned sources, struct sonde_frame *frames, size_t max)
{
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return -ENODEV;
	uint32_t leaf = sn_callpath(thread, NULL, sources);
	long length = -ENOMEM;
	if (leaf != SN_NODE_NONE) {
		length = 0;
		for (uint32_t node = leaf; node != SN_NODE_ROOT; length++)
			node = record_of(thread, node)->parent;
		size_t place = (size_t)length;
		for (uint32_t node = leaf; node != SN_NODE_ROOT;) {
			const struct sn_node_record *record = record_of(thread, node);
			if (--place < max)
				frames[place] = public_frame(thread, &record->frame);
			node = record->parent;
		}
	}
	sn_leave(thread);
	return length;
}

/* ---- the tool ---- */

void sn_monitor_tool_start(void)
{
	const char *path = getenv("SONDE_TOOL");
	if (!path || !*path || tool)
		return;
	tool = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*start)(void) = tool ? (int (*)(void))dlsym(tool, "sonde_tool_start") : NULL;
	if (start)
		start();
}

void sn_monitor_tool_stop(void)
{
	void (*stop)(void) = tool ? (void (*)(void))dlsym(tool, "sonde_tool_stop") : NULL;
	if (stop)
		stop();
	sonde_monitor_finalize();
}

/* ---- the adapter: threads and forks ---- */

static void report_thread(struct sn_thread *thread, enum sonde_event_kind kind)
{
	if (sn_monitor_wants(SONDE_OS))
		sn_monitor_emit_inside(thread, (struct sonde_event){.domain = SONDE_OS,
								    .kind = kind,
								    .id = (uint64_t)thread->tid});
}

static void monitor_thread_begin(struct sn_thread *thread)
{
	report_thread(thread, SONDE_THREAD_BEGIN);
}

static void monitor_thread_end(struct sn_thread *thread)
{
	report_thread(thread, SONDE_THREAD_END);
}

static void monitor_after_fork(void)
{
	if (sn_monitor_wants(SONDE_OS))
		SN_MONITOR_EMIT(.domain = SONDE_OS, .kind = SONDE_FORKED, .id = (uint64_t)getpid());
}

static const char *monitor_status(void)
{
	return tool ? "a tool is loaded (SONDE_TOOL)" : "no tool is loaded";
}

const struct sn_adapter sn_adapter_monitor = {
    .name = "monitor",
    .after_fork = monitor_after_fork,
    .thread_begin = monitor_thread_begin,
    .thread_end = monitor_thread_end,
    .status = monitor_status,
};
