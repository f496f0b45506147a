/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XLA adapter: finds jaxlib, puts the hooks in place, says what is measured. It attaches when a
 * thread is made: jaxlib makes its threads before it runs anything.
 */
#include "xla.h"

#include "collect/interface/operator.h"
#include "collect/core/hash.h"
#include "collect/core/line.h"
#include "collect/record/trace.h"

#include <errno.h>
#include <string.h>

/* Since 0.7, and before. */
static const char *const libraries[] = {"libjax_common.so", "xla_extension.so"};

static uint32_t xla_module = SN_MODULE_NONE;
static const char *failure;
static char status_line[512];

static uint32_t find_library(void)
{
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		uint32_t found = sn_module_by_name(libraries[i]);
		if (found != SN_MODULE_NONE)
			return found;
	}
	return SN_MODULE_NONE;
}

static int give_up(const char *why)
{
	failure = why;
	return -ENOTSUP;
}

static int attach(void)
{
	if (!sn_operators_wanted())
		return give_up("operators off as asked");
	uint32_t module = find_library();
	if (module == SN_MODULE_NONE)
		return -EAGAIN;
	xla_module = module;
	if (sn_xla_symbols_find(sn_module_at(module)))
		return give_up("its file cannot be read or has no local symbols");
	const uint32_t *entries = sn_xla_entries();
	if (!entries[SN_XLA_LAUNCH] && !entries[SN_XLA_THUNK] && !entries[SN_XLA_NAME])
		return -EAGAIN; /* the loader has just mapped it */
	if (sn_xla_unknown_form(entries))
		return give_up(sn_xla_unknown_form(entries));
	sn_xla_programs_init();
	if (!sn_xla_entries_replace(sn_xla_hooks))
		return give_up("its virtual tables cannot be written");
	return 0;
}

struct sn_xla_thread *sn_xla_thread(struct sn_thread *thread)
{
	struct sn_xla_thread *self = thread->adapters[SN_ADAPTER_SLOT_xla];
	if (__builtin_expect(self != NULL, 1))
		return self;
	self = sn_pages_map(sizeof(*self));
	if (self) {
		self->thread = thread;
		memset(self->copies, 0xff, sizeof(self->copies));
	}
	thread->adapters[SN_ADAPTER_SLOT_xla] = self;
	return self;
}

uint32_t sn_xla_own_context(struct sn_xla_thread *self, struct sn_xla_context of)
{
	if (of.thread == SN_ID_NONE || of.node == SN_NODE_NONE)
		return SN_NODE_NONE;
	if (of.thread == self->thread->index)
		return of.node;
	uint32_t place =
	    (of.node * 0x9E3779B1u ^ of.thread * 0x85EBCA77u) >> (32 - SN_XLA_COPY_BITS);
	typeof(&self->copies[0]) entry = &self->copies[place];
	if (entry->of.thread != of.thread || entry->of.node != of.node) {
		const struct sn_thread *other = sn_thread_at(of.thread);
		uint32_t copy = sn_cct_copy_path(&self->thread->cct, &other->cct, of.node,
						 SN_COPY_ALL, &self->room);
		if (copy == SN_NODE_NONE)
			return SN_NODE_NONE;
		entry->of = of;
		entry->copy = copy;
	}
	return entry->copy;
}

void sn_xla_drop_stale(struct sn_thread *thread, uintptr_t stack)
{
	for (struct sn_shadow *top;
	     (top = sn_shadow_top(thread)) && sn_xla_is_ours(top) && top->stack <= stack;)
		sn_shadow_pop(thread);
}

/* The interval of a call or a computation that ends, where it was timed. */
static void trace_end(struct sn_thread *thread, const struct sn_shadow *shadow)
{
	uint32_t node = shadow->node;
	if (node == SN_NODE_NONE && shadow->prefix != SN_NODE_NONE)
		node = sn_cct_child(&thread->cct, shadow->prefix, &shadow->frame);
	if (node != SN_NODE_NONE)
		sn_trace_interval(thread, node, shadow->start_ns, sn_now_ns());
}

void sn_xla_pop(uint32_t token)
{
	struct sn_thread *thread = token == SN_XLA_NOT_PUSHED ? NULL : sn_enter();
	if (!thread)
		return;
	while (thread->shadow_depth > token) {
		const struct sn_shadow *shadow = sn_shadow_pop(thread);
		if (shadow && sn_xla_is_ours(shadow) && shadow->start_ns)
			trace_end(thread, shadow);
	}
	sn_leave(thread);
}

/* A record may have been another thread's before, which ended in a call. */
static void thread_begin(struct sn_thread *thread)
{
	struct sn_xla_thread *self = thread->adapters[SN_ADAPTER_SLOT_xla];
	if (self)
		self->calls = NULL;
}

static void after_fork(void)
{
	struct sn_thread *thread = sn_thread_self();
	struct sn_xla_thread *self = thread ? thread->adapters[SN_ADAPTER_SLOT_xla] : NULL;
	if (self)
		memset(self->copies, 0xff, sizeof(self->copies));
	sn_xla_calls_after_fork();
	sn_xla_executions_after_fork();
	sn_xla_programs_after_fork();
}

static void detach(void)
{
	sn_xla_entries_restore();
}

static const char *status(void)
{
	struct sn_line line = SN_LINE(status_line);
	if (failure && xla_module == SN_MODULE_NONE)
		return failure;
	if (xla_module == SN_MODULE_NONE)
		return "JAX is not loaded";
	SN_LINE_ADD(&line, sn_module_at(xla_module)->path, ": ", failure);
	if (failure)
		return status_line;
	sn_line_add(&line, "compiled functions as operators");
	if (!sn_xla_entries()[SN_XLA_THUNK])
		sn_line_add(&line, ", not what they run on CPUs, whose form is not known");
	else if (!sn_xla_thunks_readable())
		sn_line_add(&line,
			    ", not what they run on CPUs, which is described in an unknown way");
	else
		sn_line_add(&line, ", and what they run on CPUs");
	return status_line;
}

const struct sn_adapter sn_adapter_xla = {
    .name = "xla",
    .attach = attach,
    .detach = detach,
    .after_fork = after_fork,
    .thread_begin = thread_begin,
    .status = status,
};
