/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call path through every layer (docs/design/call-paths.md): the native frames of the unwinder,
 * the Python frames of the interpreter and the shadow frames of operators and regions, put in their
 * true order and inserted in the thread's calling context tree.
 *
 * The native path is the backbone. Each evaluation-loop frame on it stands for a group of Python
 * frames, which replaces it; the interpreter's other frames between two groups are left out, those
 * below the last one are kept, since they are what the Python line was doing. A shadow frame goes
 * above the first native frame that was deeper than the shadow's entry, or, if Python entered it,
 * below the Python frame that did. This file does not decide which frames exist; it only orders
 * them.
 *
 * A thread that works for another begins below the other's path, which is assembled in the same way
 * from the place where the other waits (origin.h). The frames of the runtime between the two are
 * left out, in the starting thread as well, so that both have the same path.
 */
#include "collect/unwind/own_stack.h"
#include "adapter.h"
#include "callpath.h"
#include "cct_copy.h"

#include <errno.h>
#include <string.h>

/* Buffers double where a path is longer: these many Python frames, and frames of a path whose contexts
 * are remembered by their place in it. */
#define PYTHON_FIRST SN_CALLPATH_FRAMES
#define MEMO_FIRST   256u
#define ROOM_MOST    (1u << 22)

/* Where the frames below another thread's path have theirs, so that they do not displace its. */
#define MEMO_OF_WORK 128u
#define IDLE_NAME    "OpenMP wait"

/* What was emitted at a place last time: the next path mostly begins the same way. */
struct memo {
	struct sn_frame frame;
	uint32_t parent, node;
};

/* After a native frame of the thread's path was emitted, which had no Python frame and no work in it:
 * a path with the same native frames up to there, and the same shadows, goes on from here. */
struct stage {
	uint32_t node, emitted, shadows;
};

/* A shadow as it was when it was emitted: its context tells all but where it lies. */
struct stage_shadow {
	uintptr_t stack;
	uint32_t node;
};

/* By native frame, outermost first. */
struct stages {
	uint32_t count, room;
	unsigned sources;
	struct stage *at;
	struct stage_shadow shadows[SN_SHADOW_DEPTH];
};

struct scratch;

struct path {
	struct sn_thread *thread;	/* in whose tree it is made */
	const struct sn_thread *walked; /* whose path it is */
	unsigned sources;
	struct scratch *frames;
	const struct sn_native_frame *native_frames; /* native.frames */
	uint32_t node;
	uint32_t emitted; /* frames so far: the place of the next in the memo */
	uint32_t shadows, next_shadow;
	struct sn_unwind_result native;
	uint32_t first_native;		    /* innermost frame that is not our own */
	uint32_t python_count, python_left; /* python[python_left - 1] is the next to emit */
	uint32_t eval_count, group_count;
	uint32_t unpaired_evals; /* outermost evaluation frames without a group */
	uint32_t last_eval;	 /* index of the innermost paired evaluation frame */
	uint32_t outer_start;	 /* native frames from here outwards only start the interpreter */
	bool native_emitted, staged;
	/* work that the walked thread started: its next start, and that whose runtime frames are
	 * being passed, from `runtime_from` inwards */
	uint32_t origin_count, next_origin, runtime_from;
	const struct sn_origin *runtime;
};

struct scratch {
	struct memo *memo;
	struct sn_python_frame *python;
	uint32_t memo_room, python_room;
	struct stages stages;
	struct sn_unwinder of_others; /* for paths of other threads, so that ours is still known */
	struct sn_copy_room copied;
	struct path path;	       /* of the call path under way */
	struct sn_callpath_call *call; /* that the next path is of, or NULL */
};

/* Room for `wanted` elements at least, where the first `kept` stay. False without memory: then all is
 * as before. */
static bool __attribute__((noinline))
grow(void **array, uint32_t *room, size_t element_bytes, uint32_t wanted, uint32_t kept)
{
	uint32_t larger = *room ? *room : wanted;
	while (larger < wanted && larger < ROOM_MOST)
		larger *= 2;
	void *pages = larger < wanted ? NULL : sn_pages_map(larger * element_bytes);
	if (!pages)
		return false;
	if (kept)
		memcpy(pages, *array, kept * element_bytes);
	sn_pages_unmap(*array, *room * element_bytes);
	*array = pages;
	*room = larger;
	return true;
}

#define GROW(array, room, wanted, kept)                                                            \
	((wanted) <= *(room) || grow((void **)(array), room, sizeof(**(array)), wanted, kept))

static struct scratch *scratch_of(struct sn_thread *thread)
{
	if (thread->scratch)
		return thread->scratch;
	struct scratch *scratch = sn_pages_map(sizeof(*scratch));
	if (!scratch)
		return NULL;
	thread->scratch = scratch;
	if (!GROW(&scratch->memo, &scratch->memo_room, MEMO_FIRST, 0) ||
	    !GROW(&scratch->python, &scratch->python_room, PYTHON_FIRST, 0))
		sn_callpath_release(thread);
	return thread->scratch;
}

struct sn_python_frame *sn_callpath_python_frames(struct sn_thread *thread)
{
	struct scratch *scratch = scratch_of(thread);
	return scratch ? scratch->python : NULL;
}

void sn_callpath_release(struct sn_thread *thread)
{
	struct scratch *scratch = thread->scratch;
	if (!scratch)
		return;
	sn_pages_unmap(scratch->memo, scratch->memo_room * sizeof(*scratch->memo));
	sn_pages_unmap(scratch->python, scratch->python_room * sizeof(*scratch->python));
	sn_pages_unmap(scratch->stages.at, scratch->stages.room * sizeof(*scratch->stages.at));
	sn_copy_room_release(&scratch->copied);
	sn_unwinder_release(&scratch->of_others);
	sn_pages_unmap(scratch, sizeof(*scratch));
	thread->scratch = NULL;
}

static bool memo_is(const struct memo *memo, uint32_t parent, const struct sn_frame *frame)
{
	return memo->parent == parent && memo->frame.value == frame->value &&
	       memo->frame.id == frame->id && memo->frame.kind == frame->kind &&
	       memo->frame.flags == frame->flags;
}

/* A comparison with the last path costs a fifth of a look-up in the tree. */
static void emit(struct path *path, const struct sn_frame *frame)
{
	uint32_t place = path->emitted++;
	if (path->node == SN_NODE_NONE)
		return;
	if (place >= path->frames->memo_room) {
		path->node = sn_cct_child(&path->thread->cct, path->node, frame);
		return;
	}
	struct memo *memo = &path->frames->memo[place];
	if (!memo_is(memo, path->node, frame)) {
		uint32_t node = sn_cct_child(&path->thread->cct, path->node, frame);
		/* an unused memo has no kind, a failed one would be asked for again */
		*memo = (struct memo){*frame, node == SN_NODE_NONE ? node : path->node, node};
	}
	path->node = memo->node;
}

/* ---- shadow frames ---- */

/* Calls of a device's interface are always part of a path: what the device did hangs below them. */
static bool is_wanted(const struct path *path, uint8_t kind)
{
	switch (kind) {
	case SN_FRAME_GPU_API:
	case SN_FRAME_IDLE:
		return true;
	case SN_FRAME_NATIVE:
		return path->sources & SN_SOURCE_NATIVE;
	case SN_FRAME_PYTHON:
		return path->sources & SN_SOURCE_PYTHON;
	case SN_FRAME_REGION:
		return path->sources & SN_SOURCE_REGION;
	default:
		return path->sources & SN_SOURCE_OPERATOR;
	}
}

static bool is_by_default(const struct path *path)
{
	return path->sources == sn_config.sources;
}

/* A path that was made of what the user chose, made of what this one is made of. */
static uint32_t __attribute__((noinline)) copied_prefix(struct path *path, uint32_t prefix)
{
	uint64_t kinds = 0;
	for (uint8_t kind = 0; kind < SN_FRAME_KIND_COUNT; kind++)
		kinds |= (uint64_t)(is_by_default(path) || is_wanted(path, kind)) << kind;
	return sn_cct_copy_path(&path->thread->cct, &path->walked->cct, prefix, kinds,
				&path->frames->copied);
}

_Static_assert(SN_FRAME_KIND_COUNT <= 64, "a bit for each kind");

/* A shadow of another thread, whose ids and nodes are not ours; on our own stack always, see
 * begin_below_work. */
static void __attribute__((noinline))
emit_shadow_of_other(struct path *path, const struct sn_shadow *shadow)
{
	struct sn_cct *to = &path->thread->cct;
	const struct sn_cct *from = &path->walked->cct;
	struct sn_frame frame = shadow->frame;
	if (shadow->prefix != SN_NODE_NONE)
		path->node = copied_prefix(path, shadow->prefix);
	if (is_wanted(path, frame.kind) && sn_cct_copy_frame(to, from, &frame))
		emit(path, &frame);
}

/* From path->node, which is a shadow's prefix. */
static void begin_at_copied_prefix(void *argument)
{
	struct path *path = argument;
	path->node = copied_prefix(path, path->node);
}

static void __attribute__((noinline)) begin_at_prefix(struct path *path, uint32_t prefix)
{
	path->node = prefix;
	if (!is_by_default(path))
		sn_on_own_stack(begin_at_copied_prefix, path);
}

/* Of this thread. Its context is known for later where it is that of the user's sources. */
static void emit_own_shadow(struct path *path, struct sn_shadow *shadow)
{
	if (shadow->prefix != SN_NODE_NONE)
		begin_at_prefix(path, shadow->prefix);
	if (is_wanted(path, shadow->frame.kind))
		emit(path, &shadow->frame);
	if (is_by_default(path))
		shadow->node = path->node;
}

static void emit_shadow(struct path *path)
{
	uint32_t index = path->next_shadow++;
	if (path->walked == path->thread)
		emit_own_shadow(path, &path->thread->shadows[index]);
	else
		emit_shadow_of_other(path, &path->walked->shadows[index]);
}

static void emit_shadows_above(struct path *path, uintptr_t cfa)
{
	while (path->next_shadow < path->shadows) {
		const struct sn_shadow *shadow = &path->walked->shadows[path->next_shadow];
		if ((shadow->python_depth && path->python_count) || cfa > shadow->stack)
			return;
		emit_shadow(path);
	}
}

/* The next shadow where a Python frame of this depth entered it, or one further out; else NULL. */
static const struct sn_shadow *shadow_of_python(const struct path *path, uint32_t depth)
{
	const struct sn_shadow *shadow = &path->walked->shadows[path->next_shadow];
	bool is_next = path->next_shadow < path->shadows && shadow->python_depth &&
		       shadow->python_depth <= depth;
	return is_next ? shadow : NULL;
}

/* ---- Python ---- */

static void emit_python(struct path *path, uint32_t code, uint32_t line)
{
	emit(path, &(struct sn_frame){.kind = SN_FRAME_PYTHON, .id = code, .value = line});
}

/* A frame, on the line it is on; and the shadows it entered, each below the line it entered it on.
 */
static void emit_python_frame(struct path *path, const struct sn_python_frame *frame)
{
	uint32_t depth = path->python_count - path->python_left, line = 0;
	bool emitted = false;
	for (const struct sn_shadow *shadow; (shadow = shadow_of_python(path, depth));) {
		bool entered_here = shadow->python_depth == depth && shadow->python_line;
		uint32_t entered = entered_here ? shadow->python_line : frame->line;
		if (!emitted || line != entered)
			emit_python(path, frame->code, entered);
		emitted = true;
		line = entered;
		emit_shadow(path);
	}
	if (!emitted || line != frame->line)
		emit_python(path, frame->code, frame->line);
}

static void emit_python_group(struct path *path)
{
	while (path->python_left) {
		const struct sn_python_frame *frame = &path->frames->python[--path->python_left];
		emit_python_frame(path, frame);
		/* the next inner frame that is an entry begins the next group */
		if (path->python_left && path->frames->python[path->python_left - 1].is_entry)
			return;
	}
}

/* `count` is what the walk gave. */
static void set_python(struct path *path, int count)
{
	if (count < 0) {
		sn_drop(path->thread, SN_DROP_PYTHON_UNREADABLE, 1);
		return;
	}
	path->python_count = path->python_left = (uint32_t)count;
	for (uint32_t index = 0; index < path->python_count; index++)
		path->group_count += path->frames->python[index].is_entry;
	/* a walk cut at its limit leaves an outermost group without its entry */
	if (path->python_count && !path->frames->python[path->python_count - 1].is_entry)
		path->group_count++;
}

/* After a walk that gave so many frames: whether it is to be repeated, with more room. */
static bool __attribute__((noinline)) is_cut(struct sn_thread *thread, int count)
{
	struct scratch *scratch = thread->scratch;
	if (count < (int)scratch->python_room)
		return false;
	bool grown = GROW(&scratch->python, &scratch->python_room, scratch->python_room + 1, 0);
	if (!grown)
		sn_drop(thread, SN_DROP_PATH_TOO_DEEP, 1);
	return grown;
}

/* This thread's Python frames, in scratch->python, which grows until it holds them all; their number,
 * or negative errno. */
static inline int python_frames(struct sn_thread *thread, struct scratch *scratch)
{
	int count;
	do
		count = sn_python_walk(thread, scratch->python, scratch->python_room);
	while (is_cut(thread, count));
	return count;
}

/* The same of the thread that waits at `origin`, into this one's tree. */
static int python_frames_of_other(struct sn_thread *thread, struct scratch *scratch,
				  const struct sn_origin *origin)
{
	int count;
	do
		count = sn_python_walk_other(thread, origin->python, origin->self, scratch->python,
					     scratch->python_room);
	while (is_cut(thread, count));
	return count;
}

int sn_callpath_python(struct sn_thread *thread, const struct sn_python_frame **frames)
{
	struct scratch *scratch = scratch_of(thread);
	int count = scratch ? python_frames(thread, scratch) : -ENOMEM;
	*frames = scratch ? scratch->python : NULL;
	return count;
}

static void walk_python(struct path *path, bool interrupted)
{
	if (!(path->sources & SN_SOURCE_PYTHON))
		return;
	path->thread->interrupted = interrupted;
	set_python(path, python_frames(path->thread, path->frames));
	path->thread->interrupted = false;
}

/* ---- native ---- */

static void count_drops(const struct path *path)
{
	struct sn_thread *thread = path->thread;
	if (path->native.too_deep)
		sn_drop(thread, SN_DROP_PATH_TOO_DEEP, 1);
	else if (!path->native.complete)
		sn_drop(thread, SN_DROP_UNWIND_TRUNCATED, 1);
	if (path->native.scanned)
		sn_drop(thread, SN_DROP_UNWIND_SCANNED, 1);
	if (path->native.mismatch)
		sn_drop(thread, SN_DROP_UNWIND_MISMATCH, 1);
}

/* Of the path before, what this one does not have. */
static void forget_stages(struct path *path)
{
	struct stages *stages = &path->frames->stages;
	if (path->native.is_kept && stages->count > path->native.repeated)
		stages->count = path->native.repeated;
}

static void walk_native(struct path *path, const ucontext_t *context)
{
	struct sn_thread *thread = path->thread;
	path->native = context ? sn_unwind(&thread->unwinder, context, thread->stack_low,
					   thread->stack_high, SN_UNWIND_ALL)
			       : sn_unwind_here(&thread->unwinder, thread->stack_low,
						thread->stack_high, SN_UNWIND_ALL);
	const struct sn_native_frame *frames = path->native_frames = path->native.frames;
	forget_stages(path);
	if (!context)
		while (path->first_native < path->native.count &&
		       (frames[path->first_native].cfa <= thread->hidden_stack ||
			sn_module_is_own(frames[path->first_native].pc)))
			path->first_native++;
	count_drops(path);
}

/* True in the small program that does nothing but start a libpython. */
static bool starts_python(uintptr_t pc)
{
	uint32_t module = sn_module_find(pc);
	if (module == SN_MODULE_NONE || !(sn_module_at(module)->flags & SN_MODULE_MAIN))
		return false;
	const char *slash = strrchr(sn_module_at(module)->path, '/');
	return slash && !strncmp(slash + 1, "python", 6);
}

/* True where every frame from `index` outwards belongs to the interpreter or started it. */
static bool only_starts_interpreter(const struct path *path, uint32_t index)
{
	for (; index < path->native.count; index++) {
		uintptr_t pc = path->native_frames[index].pc;
		if (!sn_python_is_interpreter(pc) && !sn_module_is_libc(pc) && !starts_python(pc))
			return false;
	}
	return true;
}

/*
 * Decides which evaluation frame stands for which group. A complete native path pairs from the
 * outermost: an innermost evaluation frame may have no Python frame yet, or no more. A native path
 * whose outer end is missing pairs from the innermost.
 */
static void pair_groups(struct path *path)
{
	const struct sn_native_frame *native = path->native_frames;
	if (!path->group_count)
		return;
	uint32_t outermost_eval = 0;
	for (uint32_t index = path->first_native; index < path->native.count; index++)
		if (sn_python_is_eval(native[index].pc)) {
			path->eval_count++;
			outermost_eval = index;
		}
	if (!path->eval_count)
		return;
	uint32_t paired =
	    path->eval_count < path->group_count ? path->eval_count : path->group_count;
	if (!path->native.complete)
		path->unpaired_evals = path->eval_count - paired;
	uint32_t seen = 0;
	for (uint32_t index = path->native.count; index-- > path->first_native;)
		if (sn_python_is_eval(native[index].pc) &&
		    ++seen == path->unpaired_evals + paired) {
			path->last_eval = index;
			break;
		}
	path->outer_start = path->native.count;
	if (only_starts_interpreter(path, outermost_eval + 1))
		path->outer_start = outermost_eval + 1;
}

/* Our own functions stand in front of others on the way in, or started the thread: no part of the
 * program's path. */
static void emit_native(struct path *path, const struct sn_native_frame *native)
{
	if (sn_module_is_own(native->pc))
		return;
	struct sn_frame frame = {
	    .kind = SN_FRAME_NATIVE, .id = native->module, .value = native->pc};
	if (native->flags & SN_NATIVE_RETURN_ADDRESS)
		frame.flags |= SN_FRAME_RETURN_ADDRESS;
	if (native->module != SN_MODULE_NONE) {
		const struct sn_module *module = sn_module_at(native->module);
		frame.value -= module->bias;
		if (module->flags & SN_MODULE_ANONYMOUS)
			path->thread->met_made_code = true;
	}
	if (!path->native_emitted && !path->native.complete)
		frame.flags |= SN_FRAME_TRUNCATED;
	path->native_emitted = true;
	emit(path, &frame);
}

static bool is_operator(const struct path *path, uint32_t name)
{
	const struct sn_cct_node *node;
	if (path->node == SN_NODE_NONE)
		return false;
	node = sn_array_at(&path->thread->cct.nodes, path->node);
	return node->record.frame.kind == SN_FRAME_OPERATOR && node->record.frame.id == name;
}

static void emit_operator(struct path *path, uintptr_t pc)
{
	struct sn_frame frame;
	bool again;
	if ((path->sources & SN_SOURCE_OPERATOR) &&
	    sn_torch_operator_frame(pc, path->thread, &frame, &again) &&
	    !(again && is_operator(path, frame.id)))
		emit(path, &frame);
}

/* ---- work for others ---- */

/* The outer end of a worker's stack is its pool's; what remains is the work. */
static void cut_runtime(struct path *path, const struct sn_origin *origin)
{
	uint32_t end = path->native.count;
	while (end > path->first_native &&
	       sn_origin_is_runtime(origin, path->native_frames[end - 1].pc))
		end--;
	path->native.count = end;
}

/* True for the frames between a start of work and the starting thread's own part of it. */
static bool is_in_runtime(struct path *path, uint32_t index)
{
	const struct sn_native_frame *frame = &path->native_frames[index];
	const struct sn_origin *origins = path->walked->origins;
	for (;
	     path->next_origin < path->origin_count && frame->cfa <= origins[path->next_origin].sp;
	     path->next_origin++) {
		path->runtime = &origins[path->next_origin];
		path->runtime_from = index;
	}
	if (path->runtime && !sn_origin_is_runtime(path->runtime, frame->pc))
		path->runtime = NULL;
	return path->runtime;
}

static void emit_idle(struct path *path)
{
	struct sn_frame frame = {
	    .kind = SN_FRAME_IDLE,
	    .id = sn_cct_string(&path->thread->cct, IDLE_NAME, sizeof(IDLE_NAME) - 1)};
	if (frame.id != SN_ID_NONE)
		emit(path, &frame);
}

/*
 * The starting thread is in the runtime. Once its part has begun it waits for the others; before,
 * it makes threads, which are calls of the C library, or waits for them to come back from the work
 * before.
 */
static void emit_runtime(struct path *path)
{
	const struct sn_runtime *runtime = path->runtime->runtime;
	uintptr_t pc = path->native_frames[path->first_native].pc;
	if (atomic_load_explicit(&path->runtime->begun, memory_order_relaxed) ||
	    (pc >= runtime->start && pc < runtime->end))
		return emit_idle(path);
	if (path->sources & SN_SOURCE_NATIVE)
		for (uint32_t index = path->runtime_from + 1; index-- > path->first_native;)
			emit_native(path, &path->native_frames[index]);
}

/* ---- what the path before has of this one ---- */

/* Whether native frames and shadows alone decide what is emitted. */
static bool is_staged(const struct path *path)
{
	return path->native.is_kept && path->walked == path->thread && !path->python_count &&
	       !path->origin_count && !path->thread->work.origin;
}

static bool has_shadows(const struct path *path, const struct stage *stage, uintptr_t cfa)
{
	const struct sn_shadow *shadows = path->thread->shadows;
	const struct stages *stages = &path->frames->stages;
	if (stage->shadows > path->shadows ||
	    (stage->shadows < path->shadows && cfa <= shadows[stage->shadows].stack))
		return false;
	for (uint32_t index = 0; index < stage->shadows; index++)
		if (shadows[index].stack != stages->shadows[index].stack ||
		    shadows[index].node != stages->shadows[index].node ||
		    shadows[index].node == SN_NODE_NONE)
			return false;
	return true;
}

/* Goes on behind the native frames of the path before; how many these are. */
static uint32_t __attribute__((noinline)) begin_at_stage(struct path *path)
{
	struct stages *stages = &path->frames->stages;
	uint32_t count = path->native.repeated, most = path->native.count - path->first_native;
	path->staged = is_staged(path);
	if (!path->staged)
		return 0;
	count = count < stages->count ? count : stages->count;
	count = count < most ? count : most;
	if (stages->sources != path->sources)
		count = 0;
	stages->sources = path->sources;
	stages->count = 0;
	if (!count)
		return 0;
	const struct stage *stage = &stages->at[count - 1];
	if (!has_shadows(path, stage, path->native_frames[path->native.count - count].cfa))
		return 0;
	stages->count = count;
	path->node = stage->node;
	path->emitted = stage->emitted;
	path->next_shadow = stage->shadows;
	path->native_emitted = true;
	return count;
}

/* Native frame `index`, counted from the innermost, has been emitted. */
static void __attribute__((noinline)) keep_stage(struct path *path, uint32_t index)
{
	struct stages *stages = &path->frames->stages;
	uint32_t place = path->native.count - 1 - index;
	if (!path->staged || place != stages->count || path->node == SN_NODE_NONE ||
	    !GROW(&stages->at, &stages->room, place + 1, place))
		return;
	stages->at[place] = (struct stage){path->node, path->emitted, path->next_shadow};
	stages->count = place + 1;
}

static void __attribute__((noinline)) keep_stage_shadows(struct path *path)
{
	for (uint32_t index = 0; path->staged && index < path->shadows; index++)
		path->frames->stages.shadows[index] = (struct stage_shadow){
		    path->thread->shadows[index].stack, path->thread->shadows[index].node};
}

/* ---- the whole ---- */

/* A native frame that stands for itself, unless it is the interpreter's and Python frames stand for it.
 */
static void emit_level(struct path *path, uint32_t index, bool pairs)
{
	const struct sn_native_frame *native = &path->native_frames[index];
	if (!(path->sources & SN_SOURCE_NATIVE))
		emit_operator(path, native->pc);
	else if (!pairs || (index < path->outer_start &&
			    (index <= path->last_eval || !sn_python_is_interpreter(native->pc))))
		emit_native(path, native);
}

static void emit_path(struct path *path)
{
	const struct sn_native_frame *native = path->native_frames;
	bool pairs = path->eval_count && path->group_count;
	uint32_t evals_seen = 0;
	uint32_t groups_left = path->group_count;
	uint32_t index = path->native.count - begin_at_stage(path);
	/* groups whose evaluation frames lie beyond the end of the native path come first */
	for (; groups_left > path->eval_count; groups_left--)
		emit_python_group(path);
	while (index-- > path->first_native) {
		emit_shadows_above(path, native[index].cfa);
		if (is_in_runtime(path, index))
			continue;
		if (pairs && sn_python_is_eval(native[index].pc) &&
		    ++evals_seen > path->unpaired_evals && groups_left) {
			emit_python_group(path);
			groups_left--;
			continue;
		}
		emit_level(path, index, pairs);
		keep_stage(path, index);
	}
	/* entered by a function that has returned, and still open */
	while (path->next_shadow < path->shadows)
		emit_shadow(path);
	keep_stage_shadows(path);
	if (path->runtime)
		emit_runtime(path);
}

/*
 * Where another thread started the work that `work` names, in this thread's tree. The other thread
 * waits: its frames further out than the start do not change, nor do those of the thread for which
 * it works.
 */
static void begin_below(struct path *path, const struct sn_work *work, uint32_t levels)
{
	const struct sn_origin *origin = work->origin;
	struct path other = {.thread = path->thread,
			     .walked = origin->thread,
			     .sources = path->sources,
			     .frames = path->frames,
			     .node = origin->thread->start_node,
			     .shadows = origin->shadow_depth,
			     .origin_count = (uint32_t)(origin - origin->thread->origins)};
	bool is_worker = levels && sn_work_is_live(&origin->work);
	if (other.shadows > SN_SHADOW_DEPTH)
		other.shadows = SN_SHADOW_DEPTH;
	if (is_worker)
		begin_below(&other, &origin->work, levels - 1);
	else if (other.node != SN_NODE_ROOT)
		other.node = copied_prefix(&other, other.node);
	other.native.complete = true;
	if ((path->sources & (SN_SOURCE_NATIVE | SN_SOURCE_OPERATOR)) || other.shadows) {
		other.native = sn_unwind_origin(&path->frames->of_others, origin);
		other.native_frames = other.native.frames;
		count_drops(&other);
	}
	if (is_worker)
		cut_runtime(&other, origin->work.origin);
	if (path->sources & SN_SOURCE_PYTHON)
		set_python(&other, python_frames_of_other(path->thread, path->frames, origin));
	pair_groups(&other);
	emit_path(&other);
	path->node = other.node;
	path->emitted = other.emitted;
}

struct below {
	struct path *path;
	const struct sn_work *work;
};

/* As many paths at a time as threads work for each other: too much for the stack. */
static void begin_below_work(void *argument)
{
	struct below *below = argument;
	begin_below(below->path, below->work, SN_ORIGIN_MAX);
}

/* The path of a thread that has worked for another. False where that work is over and what it runs
 * is its own. */
static bool place_work(struct path *path)
{
	struct sn_work *work = &path->thread->work;
	uint32_t whole = path->native.count;
	bool by_default = is_by_default(path);
	cut_runtime(path, work->origin);
	if (path->native.count == path->first_native) {
		emit_idle(path);
		return true;
	}
	if (by_default && work->node != SN_NODE_NONE)
		path->node = work->node;
	else if (sn_work_is_live(work))
		sn_on_own_stack(begin_below_work, &(struct below){path, work});
	if (!sn_work_is_live(work)) {
		path->native.count = whole;
		path->node = path->thread->start_node;
		return false;
	}
	if (by_default)
		work->node = path->node;
	path->emitted = MEMO_OF_WORK;
	return false;
}

/* For the next path that is as long as this one. */
static void __attribute__((noinline)) grow_memo(struct path *path)
{
	struct scratch *scratch = path->frames;
	(void)GROW(&scratch->memo, &scratch->memo_room, path->emitted, scratch->memo_room);
}

/* Leaves out the innermost frames as far as they are inside the call. */
static void __attribute__((noinline))
leave_out_call(struct path *path, struct sn_callpath_call *call)
{
	const struct sn_native_frame *frames = path->native_frames;
	uint32_t first = path->first_native, end = first, own = first;
	while (call->is_inside && end < path->native.count && call->is_inside(frames[end].module))
		end++;
	/* the frame that has the object is the call's own */
	while (own < path->native.count && frames[own].cfa <= call->object)
		own++;
	if (call->object && own < path->native.count && end <= own)
		end = own + 1;
	call->stack = end == first ? 0 : frames[end - 1].cfa;
	path->first_native = end;
}

uint32_t sn_callpath(struct sn_thread *thread, const ucontext_t *context, unsigned sources)
{
	struct scratch *scratch = scratch_of(thread);
	if (!scratch)
		return SN_NODE_NONE;
	/* not on the program's stack, of which there may be little */
	struct path *path = &scratch->path;
	*path = (struct path){.thread = thread,
			      .walked = thread,
			      .sources = sources ? sources : sn_config.sources,
			      .frames = scratch,
			      .node = thread->start_node,
			      .native.complete = true,
			      .origin_count = thread->origin_depth};
	path->shadows = sn_shadow_count(thread);
	if (path->sources & (SN_SOURCE_NATIVE | SN_SOURCE_OPERATOR) || path->shadows ||
	    path->origin_count || thread->work.origin)
		walk_native(path, context);
	thread->is_guess = !path->native.complete || path->native.scanned;
	if (thread->work.origin && place_work(path))
		return path->node;
	if (scratch->call)
		leave_out_call(path, scratch->call);
	walk_python(path, context != NULL);
	pair_groups(path);
	emit_path(path);
	if (path->emitted > path->frames->memo_room)
		grow_memo(path);
	return path->node;
}

uint32_t sn_callpath_of_call(struct sn_thread *thread, struct sn_callpath_call *call)
{
	struct scratch *scratch = scratch_of(thread);
	if (!scratch)
		return SN_NODE_NONE;
	scratch->call = call;
	uint32_t node = sn_callpath(thread, NULL, 0);
	scratch->call = NULL;
	return node;
}

/* ---- threads below the line that started them ---- */

uint32_t sn_callpath_of_start(struct sn_thread *thread)
{
	unsigned sources = sn_config.sources & ~(unsigned)SN_SOURCE_NATIVE;
	uint32_t node =
	    sources & SN_SOURCE_PYTHON ? sn_callpath(thread, NULL, sources) : thread->start_node;
	return node == SN_NODE_NONE ? thread->start_node : node;
}

void sn_callpath_begin_below(struct sn_thread *thread, const struct sn_cct *from, uint32_t node)
{
	struct scratch *scratch = scratch_of(thread);
	uint32_t start =
	    scratch ? sn_cct_copy_path(&thread->cct, from, node, SN_COPY_ALL, &scratch->copied)
		    : SN_NODE_NONE;
	if (start == SN_NODE_NONE)
		return;
	thread->start_node = start;
	/* those of a sample that came before */
	scratch->stages.count = 0;
}
