/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions: shadow frames with a time of their own, and the hooks of sonde.h.
 *
 * A region's exclusive time is its wall time less that of regions nested in it. Its context is
 * found when it ends, so an entry costs one call path. This file also finds the notes by which
 * programs that include sonde.h ask for its hooks. It does not know NVTX (nvtx.c) or ITT (itt.c).
 */
#include "collect/core/callpath.h"
#include "collect/core/adapter.h"
#include "collect/core/line.h"

#define SONDE_TYPES_ONLY
#include "sonde/sonde.h"

#include "collect/record/graph.h"
#include "collect/intercept/intercept.h"
#include "message.h"
#include "region.h"
#include "collect/record/trace.h"
#include "collect/unwind/elf_symbol.h"
#include "unwind/python/unicode.h"

/* A binding between an interpreter and a C call has few frames; deeper, compiled code is calling.
 */
#define BINDING_FRAMES	8u
#define BINDING_MODULES 2u
#define WALK_MAX	256u

static _Atomic uint32_t time_metric = SN_ID_NONE, calls_metric = SN_ID_NONE,
			mark_metric = SN_ID_NONE, range_metric = SN_ID_NONE;

/* ---- where Python opened it ---- */

/* Files whose functions open a region for their caller. */
static const char *const helper_files[] = {
    "/sonde/__init__.py", "/contextlib.py",    "/torch/cuda/nvtx.py", "/torch/profiler/itt.py",
    "/nvtx/nvtx.py",	  "/ittapi/region.py", "/ittapi/task.py",     "/torch/random.py",
};

static bool is_helper(const struct sn_cct *cct, uint32_t code)
{
	const struct sn_cct_code *entry = sn_array_at(&cct->codes, code);
	const struct sn_cct_string *file = sn_array_at(&cct->strings, entry->record.file);
	for (size_t i = 0; i < sizeof(helper_files) / sizeof(*helper_files); i++) {
		size_t length = strlen(helper_files[i]);
		if (file->length >= length &&
		    !memcmp(file->text + file->length - length, helper_files[i], length))
			return true;
	}
	return false;
}

/* The innermost Python frame that is not a helper's: its depth, from 1, and line; 0 unknown. */
struct place {
	uint32_t depth, line;
};

static struct place python_place(struct sn_thread *thread)
{
	const struct sn_python_frame *frames;
	int count = sn_callpath_python(thread, &frames), helpers = 0;
	while (helpers < count && frames[helpers].code != SN_ID_NONE &&
	       is_helper(&thread->cct, frames[helpers].code))
		helpers++;
	if (count <= helpers)
		return (struct place){0, 0};
	return (struct place){(uint32_t)(count - helpers), frames[helpers].line};
}

/*
 * True where the caller is a binding: between here and the interpreter's evaluation loop lie only
 * few frames, of the interpreter, of an extension and perhaps of one library below it.
 */
static bool called_by_binding(struct sn_thread *thread)
{
	struct sn_unwind_result path =
	    sn_unwind_here(&thread->unwinder, thread->stack_low, thread->stack_high, WALK_MAX);
	uint32_t own = sn_module_find((uintptr_t)called_by_binding);
	uint32_t last = own, changes = 0, others = 0;
	for (uint32_t index = 0; index < path.count; index++) {
		const struct sn_native_frame *frame = &path.frames[index];
		if (sn_python_is_eval(frame->pc))
			return true;
		if (frame->module == own || sn_python_is_interpreter(frame->pc))
			continue;
		changes += frame->module != last;
		last = frame->module;
		if (++others > BINDING_FRAMES || changes > BINDING_MODULES)
			return false;
	}
	return false;
}

/* ---- those in which devices are sampled ---- */

static _Atomic uint32_t chosen_regions, chosen_ranges; /* that are open */
static _Atomic bool chosen_came;

bool sn_region_chosen_is_open(void)
{
	return chosen_regions || chosen_ranges;
}

bool sn_region_chosen_came(void)
{
	return chosen_came;
}

/* Counts it in, if it has that name. */
static bool choose(const char *name, size_t length, _Atomic uint32_t *open)
{
	const char *wanted = sn_config.gpu_samples_in;
	if (!wanted || strlen(wanted) != length || memcmp(wanted, name, length) != 0)
		return false;
	(*open)++;
	chosen_came = true;
	return true;
}

/* Other threads' are the parent's; a range is of the process, and may end here as well. */
static void region_after_fork(void)
{
	const struct sn_thread *thread = sn_thread_self();
	uint32_t open = 0;
	for (uint32_t index = thread ? sn_shadow_count(thread) : 0; index--;)
		open += thread->shadows[index].is_chosen;
	chosen_regions = open;
	chosen_came = sn_region_chosen_is_open();
}

/* ---- begin and end ---- */

static struct sn_thread *enter(void)
{
	return sn_measuring() && sn_config.sources & SN_SOURCE_REGION ? sn_enter() : NULL;
}

/* The context of a name below the caller's call path; SN_NODE_NONE without memory. */
static uint32_t context_of(struct sn_thread *thread, const char *name, size_t length)
{
	return sn_cct_named_child(&thread->cct, sn_callpath(thread, NULL, 0), SN_FRAME_REGION, name,
				  length);
}

uint32_t sn_region_begin(const struct sn_region_start *start)
{
	struct sn_thread *thread = enter();
	if (!thread)
		return 0;
	struct sn_frame frame = {.kind = start->frame_kind ? start->frame_kind : SN_FRAME_REGION,
				 .flags = start->frame_flags,
				 .id = sn_cct_string(&thread->cct, start->name, start->length)};
	struct place place = {0, 0};
	if (start->origin == SN_REGION_PYTHON ||
	    (start->origin == SN_REGION_EITHER && called_by_binding(thread)))
		place = python_place(thread);
	struct sn_shadow *shadow = sn_shadow_push(thread, &frame, start->stack);
	if (shadow && frame.kind == SN_FRAME_REGION && frame.flags & SN_FRAME_ITERATION)
		sn_graph_iteration_begins();
	if (shadow) {
		/* a sample in between sees the line first, which means nothing without the depth */
		shadow->python_line = place.line;
		atomic_signal_fence(memory_order_release);
		shadow->python_depth = place.depth;
		shadow->user = start->user;
		shadow->start_ns = sn_now_ns();
		shadow->is_chosen = frame.kind == SN_FRAME_REGION &&
				    choose(start->name, start->length, &chosen_regions);
		sn_trace_enters(thread, SN_TRACE_SOURCE_REGIONS, shadow->start_ns);
	}
	uint32_t token = thread->shadow_depth;
	sn_leave(thread);
	return token;
}

static bool is_region_of(const struct sn_shadow *shadow, uint32_t user)
{
	return (shadow->frame.kind == SN_FRAME_REGION ||
		shadow->frame.kind == SN_FRAME_GRAPH_NODE) &&
	       shadow->user == user;
}

/* Index + 1 of the region that a token means, of the user's innermost for 0; 0 for none. */
static uint32_t find_region(const struct sn_thread *thread, uint32_t user, uint32_t token)
{
	uint32_t depth = thread->shadow_depth;
	if (token && token <= depth && is_region_of(&thread->shadows[token - 1], user))
		return token;
	while (depth && !is_region_of(&thread->shadows[depth - 1], user))
		depth--;
	return depth;
}

struct tracer {
	sn_region_tracer *function; /* NULL: the region's interval */
	void *data;
};

static void trace(struct sn_thread *thread, const struct sn_shadow *shadow, uint64_t end_ns,
		  const struct tracer *tracer)
{
	if (tracer->function)
		tracer->function(thread, shadow->node, shadow->start_ns, end_ns, tracer->data);
	else if (shadow->node != SN_NODE_NONE && sn_trace_wants(SN_TRACE_SOURCE_REGIONS))
		sn_trace_interval(thread, shadow->node, shadow->start_ns, end_ns);
}

/* Its own time, and the length of the whole. */
static void add_times(struct sn_thread *thread, const struct sn_shadow *shadow, uint64_t elapsed_ns)
{
	sn_cct_add(&thread->cct, shadow->node,
		   sn_metric_once(&time_metric, "region-time", "ns", "region", SN_METRIC_TIME),
		   elapsed_ns > shadow->children_ns ? elapsed_ns - shadow->children_ns : 0);
	sn_cct_add(&thread->cct, shadow->node,
		   sn_metric_once(&calls_metric, "region-time" SN_METRIC_CALLS_SUFFIX, "ns",
				  "region", SN_METRIC_CALLS),
		   elapsed_ns);
}

static void add_time(struct sn_thread *thread, uint32_t index, const struct tracer *tracer)
{
	struct sn_shadow *shadow = &thread->shadows[index];
	uint64_t end_ns = sn_now_ns(), elapsed_ns = end_ns - shadow->start_ns;
	if (shadow->frame.kind == SN_FRAME_GRAPH_NODE) {
		sn_graph_executed(shadow->user & ~SN_REGION_NODE, shadow->start_ns, end_ns);
		if (sn_trace_wants(SN_TRACE_SOURCE_REGIONS)) {
			sn_callpath(thread, NULL, 0);
			trace(thread, shadow, end_ns, tracer);
		}
		return;
	}
	if (shadow->frame.flags & SN_FRAME_ITERATION)
		sn_graph_iteration_ends(shadow->start_ns, end_ns);
	sn_callpath(thread, NULL, 0);
	trace(thread, shadow, end_ns, tracer);
	if (shadow->node != SN_NODE_NONE)
		add_times(thread, shadow, elapsed_ns);
	while (index--)
		if (thread->shadows[index].frame.kind == SN_FRAME_REGION) {
			thread->shadows[index].children_ns += elapsed_ns;
			break;
		}
}

/* Takes the shadow at `index` out; those above it move down. */
static void remove_shadow(struct sn_thread *thread, uint32_t index)
{
	uint32_t above = thread->shadow_depth - 1 - index;
	chosen_regions -= thread->shadows[index].is_chosen;
	/* a sample in between sees one frame twice or one too few, never garbage */
	memmove(&thread->shadows[index], &thread->shadows[index + 1],
		above * sizeof(struct sn_shadow));
	atomic_signal_fence(memory_order_seq_cst);
	thread->shadow_depth--;
}

static void end_region(struct sn_thread *thread, uint32_t user, uint32_t token,
		       const struct tracer *tracer)
{
	if (thread->shadow_depth > SN_SHADOW_DEPTH) {
		thread->shadow_depth--; /* was counted as too deep when it began */
		return;
	}
	uint32_t found = find_region(thread, user, token);
	if (!found) {
		sn_drop(thread, SN_DROP_REGION_UNBALANCED, 1);
		return;
	}
	if (found != thread->shadow_depth || (token && token != found))
		sn_drop(thread, SN_DROP_REGION_UNBALANCED, 1);
	add_time(thread, found - 1, tracer);
	remove_shadow(thread, found - 1);
}

void sn_region_end(uint32_t user, uint32_t token)
{
	sn_region_end_traced(user, token, NULL, NULL);
}

void sn_region_end_traced(uint32_t user, uint32_t token, sn_region_tracer *function, void *data)
{
	struct sn_thread *thread = enter();
	if (!thread)
		return;
	end_region(thread, user, token, &(struct tracer){function, data});
	sn_leave(thread);
}

void sn_region_mark(const char *name, size_t length)
{
	struct sn_thread *thread = enter();
	if (!thread)
		return;
	uint32_t node = context_of(thread, name, length);
	if (node != SN_NODE_NONE)
		sn_cct_add(
		    &thread->cct, node,
		    sn_metric_once(&mark_metric, "marks", "marks", "region", SN_METRIC_COUNT), 1);
	if (node != SN_NODE_NONE && sn_trace_wants(SN_TRACE_SOURCE_REGIONS))
		SN_TRACE_ADD(thread, .kind = SN_TRACE_INSTANT, .context = node,
			     .start_ns = sn_now_ns());
	sn_leave(thread);
}

bool sn_range_begin(struct sn_range *range, const char *name, size_t length)
{
	struct sn_thread *thread = enter();
	if (!thread)
		return false;
	range->node = context_of(thread, name, length);
	range->thread = thread->index;
	range->start_ns = sn_now_ns();
	range->is_chosen = range->node != SN_NODE_NONE && choose(name, length, &chosen_ranges);
	sn_leave(thread);
	return range->node != SN_NODE_NONE;
}

void sn_range_end(const struct sn_range *range)
{
	chosen_ranges -= range->is_chosen;
	struct sn_thread *thread = sn_measuring() ? sn_enter() : NULL;
	if (!thread)
		return;
	uint64_t end_ns = sn_now_ns();
	if (thread->index == range->thread)
		sn_cct_add(
		    &thread->cct, range->node,
		    sn_metric_once(&range_metric, "range-time", "ns", "region", SN_METRIC_TIME),
		    end_ns - range->start_ns);
	else
		sn_drop(thread, SN_DROP_REGION_UNBALANCED, 1);
	sn_leave(thread);
}

size_t sn_region_narrow(const wchar_t *wide, char *narrow, size_t size)
{
	size_t length = 0;
	for (; *wide && length + 4 < size; wide++)
		length += sn_utf8_encode((uint32_t)*wide, narrow + length);
	return length;
}

/* ---- sonde.h ---- */

static uint32_t begin(const char *name, unsigned flags, uintptr_t stack,
		      enum sn_region_origin origin)
{
	return SN_REGION_BEGIN(.name = name, .length = strlen(name), .stack = stack,
			       .origin = origin, .user = SN_REGION_SONDE,
			       .frame_flags =
				   flags & SONDE_REGION_ITERATION ? SN_FRAME_ITERATION : 0);
}

static void hook_begin(const char *name, const void *frame, unsigned flags)
{
	begin(name, flags, (uintptr_t)frame, SN_REGION_NATIVE);
}

static void hook_end(void)
{
	sn_region_end(SN_REGION_SONDE, 0);
}

static const struct sonde_hooks hooks = {hook_begin, hook_end};

static void hook_trace(int is_running)
{
	sn_trace_run(is_running);
}

static const struct sonde_trace_hooks trace_hooks = {hook_trace};

static const struct sonde_measure_hooks measure_hooks = {sn_stop_asked};

SN_PUBLIC(void, sonde_stop, (void))
{
	sn_stop_asked();
}

/* For other languages, by dlsym. The caller's stack pointer is as near as they can come. */
SN_PUBLIC(void, sonde_trace_start, (void))
{
	sn_trace_run(true);
}

SN_PUBLIC(void, sonde_trace_stop, (void))
{
	sn_trace_run(false);
}

SN_PUBLIC(void, sonde_region_begin, (const char *name))
{
	begin(name, 0, SN_CALLER_STACK, SN_REGION_EITHER);
}

SN_PUBLIC(void, sonde_region_end, (void))
{
	hook_end();
}

SN_PUBLIC(void, sonde_iteration_begin, (const char *name))
{
	begin(name, SONDE_REGION_ITERATION, SN_CALLER_STACK, SN_REGION_EITHER);
}

SN_PUBLIC(void, sonde_iteration_end, (void))
{
	hook_end();
}

/* For Python: a token, so that regions of interleaved coroutines may end in any order. */
SN_PUBLIC(uint32_t, sonde_python_region_begin, (const char *name, unsigned flags))
{
	return begin(name, flags, SN_CALLER_STACK, SN_REGION_PYTHON);
}

SN_PUBLIC(void, sonde_python_region_end, (uint32_t token))
{
	if (token)
		sn_region_end(SN_REGION_SONDE, token);
}

/* ---- the notes of modules that include sonde.h ---- */

#define NOTE_OWNER   "Sonde"
#define NOTE_HOOKS   1
#define NOTE_GRAPH   2
#define NOTE_TRACE   3
#define NOTE_MESSAGE 4
#define NOTE_MEASURE 5

static bool is_writable(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) && address >= start &&
		    address + sizeof(void *) <= start + segment->p_memsz)
			return true;
	}
	return false;
}

static void fill_hooks(const struct dl_phdr_info *info, const struct sn_elf_note *note)
{
	int64_t distance;
	const void *const tables[] = {[NOTE_HOOKS] = &hooks,
				      [NOTE_GRAPH] = &sn_graph_hooks,
				      [NOTE_TRACE] = &trace_hooks,
				      [NOTE_MESSAGE] = &sn_message_hooks,
				      [NOTE_MEASURE] = &measure_hooks};
	if (note->type < NOTE_HOOKS || note->type > NOTE_MEASURE ||
	    note->name_bytes != sizeof(NOTE_OWNER) ||
	    memcmp(note->name, NOTE_OWNER, sizeof(NOTE_OWNER)) || note->bytes != sizeof(distance))
		return;
	memcpy(&distance, note->description, sizeof(distance));
	uintptr_t address = (uintptr_t)note->description + (uintptr_t)distance;
	if (address % sizeof(void *) || !is_writable(info, address))
		return;
	/* release: the table is complete before the program can see it */
	__atomic_store_n((const void **)address, tables[note->type], __ATOMIC_RELEASE);
}

static int read_notes(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct sn_elf_note note;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type != PT_NOTE || segment->p_align > 4)
			continue;
		const unsigned char *at = (void *)(info->dlpi_addr + segment->p_vaddr);
		for (const unsigned char *end = at + segment->p_memsz;
		     sn_elf_note_next(&at, end, &note);)
			fill_hooks(info, &note);
	}
	return 0;
}

/* ---- the adapter ---- */

/* For modules loaded later: sonde.h's constructors call these. */
#define REGISTERS(name, type, hooks)                                                               \
	SN_PUBLIC(void, name, (const struct type *volatile *pointer))                              \
	{                                                                                          \
		if (sn_measuring())                                                                \
			*pointer = hooks;                                                          \
	}
REGISTERS(sonde_register_hooks_v1, sonde_hooks, &hooks)
REGISTERS(sonde_register_graph_hooks_v1, sonde_graph_hooks, &sn_graph_hooks)
REGISTERS(sonde_register_trace_hooks_v1, sonde_trace_hooks, &trace_hooks)
REGISTERS(sonde_register_message_hooks_v1, sonde_message_hooks, &sn_message_hooks)
REGISTERS(sonde_register_measure_hooks_v1, sonde_measure_hooks, &measure_hooks)

static int region_attach(void)
{
	dl_iterate_phdr(read_notes, NULL);
	return 0;
}

/* Regions that were never ended. */
static void region_thread_end(struct sn_thread *thread)
{
	thread->shadow_depth = sn_shadow_count(thread);
	for (uint32_t index = thread->shadow_depth; index--;) {
		if (thread->shadows[index].frame.kind != SN_FRAME_REGION &&
		    thread->shadows[index].frame.kind != SN_FRAME_GRAPH_NODE)
			continue;
		sn_drop(thread, SN_DROP_REGION_UNBALANCED, 1);
		add_time(thread, index, &(struct tracer){NULL, NULL});
		remove_shadow(thread, index);
	}
}

static void region_detach(void)
{
	struct sn_thread *thread = sn_thread_self();
	if (thread)
		region_thread_end(thread);
}

static const char *region_status(void)
{
	return "regions of sonde.h, sonde.region, NVTX and ITT";
}

const struct sn_adapter sn_adapter_region = {
    .name = "region",
    .attach = region_attach,
    .detach = region_detach,
    .after_fork = region_after_fork,
    .thread_end = region_thread_end,
    .status = region_status,
};
