/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPython adapter: which interpreter this process has, and whether its layout is proved.
 *
 *     none ──find──> unproved ──a walk succeeds──> proved
 *       ^               └──REFUSALS walks fail──> refused (with a reason, for good)
 *       └──the module is unloaded── any
 *
 * find runs in attach, outside handlers. The proof is a walk of the first stack, in attach or in a
 * signal handler. docs/design/python-frames.md gives the reasons.
 */
#include "walk.h"

#include "collect/core/adapters.h"
#include "collect/core/arena.h"
#include "collect/core/line.h"
#include "collect/unwind/own_stack.h"

#include <errno.h>
#include <stdatomic.h>

#define TARGETS	    4  /* interpreters, one after another in one process */
#define REFUSALS    16 /* a sample may come when no walk can succeed, but not as many in a row */
#define PROOF_DEPTH 64

static struct sn_python_target targets[TARGETS];
static uint32_t target_count, modules_searched;
static _Atomic(struct sn_python_target *) current;
static _Atomic bool proved;
static _Atomic int failures;
static _Atomic(const char *) refusal;
static uint32_t refused_hex;

static void refuse(const char *reason)
{
	atomic_store_explicit(&refusal, reason, memory_order_release);
	atomic_store_explicit(&current, NULL, memory_order_release);
}

static struct sn_python_target *live_target(void)
{
	/* acquire: pairs with the release in attach, so that the target is complete */
	struct sn_python_target *target = atomic_load_explicit(&current, memory_order_acquire);
	if (!target || atomic_load_explicit(&target->module->dead, memory_order_relaxed))
		return NULL;
	return target;
}

static struct sn_python_cache *cache_of(const struct sn_thread *thread)
{
	return thread->adapters[SN_ADAPTER_SLOT_python];
}

/* The thread's cache, mapped if there is none; NULL without memory. */
static struct sn_python_cache *need_cache(struct sn_thread *thread)
{
	if (!cache_of(thread))
		thread->adapters[SN_ADAPTER_SLOT_python] =
		    sn_pages_map(sizeof(struct sn_python_cache));
	return cache_of(thread);
}

/* Counts a walk towards the proof, or towards the refusal. */
static void weigh(int result, const struct sn_python_frame *frames)
{
	if (result > 0) {
		for (int i = 0; i < result; i++) {
			if (frames[i].line == 0)
				continue;
			atomic_store_explicit(&proved, true, memory_order_relaxed);
			return;
		}
	} else if (result == -EFAULT &&
		   atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed) + 1 >= REFUSALS) {
		refuse("the layout of its frames differs from what its version should have");
	}
}

/* Proves the layout outside of a handler, when the calling thread runs Python and its frames
 * are complete. */
static void prove(void *argument)
{
	const struct sn_python_target *target = argument;
	struct sn_python_cache *cache = sn_pages_map(sizeof(*cache));
	struct sn_python_frame frames[PROOF_DEPTH];
	if (!cache)
		return;
	int result = sn_python_walk_frames(target, cache, NULL, frames, PROOF_DEPTH);
	sn_pages_unmap(cache, sizeof(*cache));
	if (result == -EFAULT)
		refuse("the layout of its frames differs from what its version should have");
	else
		weigh(result, frames);
}

/* Searches the modules that have been loaded since the last search. */
static int find(void)
{
	static struct sn_guard guard;
	uint32_t count = sn_module_count();
	const char *reason = NULL;
	for (; modules_searched < count && target_count < TARGETS; modules_searched++) {
		const struct sn_module *module = sn_module_at(modules_searched);
		if (atomic_load_explicit(&module->dead, memory_order_relaxed) ||
		    (module->flags & (SN_MODULE_ANONYMOUS | SN_MODULE_VDSO)))
			continue;
		/* a mapping may be reserved, or executable only */
		if (!sn_guard_readable(&guard, module->start, 4096))
			continue;
		struct sn_python_target *target = &targets[target_count];
		int error = sn_python_target_find(target, module, &reason);
		if (error == -ENOENT)
			continue;
		if (error == 0 && sn_guard_test() != 0) {
			reason = "this system does not let readable memory be recognised";
			error = -ENOTSUP;
		}
		if (error) {
			refused_hex = target->hex;
			refuse(reason);
			return -ENOTSUP;
		}
		target_count++;
		modules_searched++;
		atomic_store_explicit(&proved, false, memory_order_relaxed);
		atomic_store_explicit(&failures, 0, memory_order_relaxed);
		atomic_store_explicit(&current, target, memory_order_release);
		return 0;
	}
	return -EAGAIN;
}

static int python_attach(void)
{
	const struct sn_python_target *target = live_target();
	if (atomic_load_explicit(&refusal, memory_order_acquire))
		return -ENOTSUP;
	if (!target) {
		int error = find();
		if (error)
			return error;
		target = live_target();
	}
	if (target && !atomic_load_explicit(&proved, memory_order_relaxed))
		sn_on_own_stack(prove, (void *)target);
	if (atomic_load_explicit(&refusal, memory_order_acquire))
		return -ENOTSUP;
	/* found: the first sample with a frame will prove the layout or refuse it */
	return 0;
}

static void python_thread_end(struct sn_thread *thread)
{
	sn_pages_unmap(cache_of(thread), sizeof(struct sn_python_cache));
	thread->adapters[SN_ADAPTER_SLOT_python] = NULL;
}

/* Also asked after detach, so it says what was measured before. */
static const char *python_status(void)
{
	static char storage[512];
	const struct sn_python_target *target = target_count ? &targets[target_count - 1] : NULL;
	const char *reason = atomic_load_explicit(&refusal, memory_order_acquire);
	uint32_t hex = refused_hex ? refused_hex : target ? target->hex : 0;
	struct sn_line text = SN_LINE(storage);
	if (!reason && !target)
		return "no CPython in this process";
	if (reason)
		SN_LINE_ADD(&text, "off: ", reason, " (");
	sn_line_add(&text, "CPython ");
	sn_line_add_number(&text, hex >> 24);
	sn_line_add(&text, ".");
	sn_line_add_number(&text, hex >> 16 & 255);
	if (reason)
		sn_line_add(&text, ")");
	else
		SN_LINE_ADD(&text, " in ", target->module->path,
			    atomic_load_explicit(&proved, memory_order_relaxed)
				? NULL
				: ", no frame seen yet");
	return storage;
}

int sn_python_walk(struct sn_thread *thread, struct sn_python_frame *frames, uint32_t max)
{
	struct sn_python_target *target = live_target();
	bool proving = !atomic_load_explicit(&proved, memory_order_relaxed);
	if (!target)
		return atomic_load_explicit(&refusal, memory_order_relaxed) ? -ENOTSUP : 0;
	if (proving)
		sn_python_check_key(target);
	/* most native threads never need the cache */
	if (!cache_of(thread) && sn_python_thread_state(target) == 0)
		return 0;
	struct sn_python_cache *cache = need_cache(thread);
	if (!cache)
		return -ENOMEM;
	cache->interrupted = thread->interrupted;
	int result = sn_python_walk_frames(target, cache, &thread->cct, frames, max);
	if (proving)
		weigh(result, frames);
	return result;
}

uintptr_t sn_python_innermost(struct sn_thread *thread)
{
	struct sn_python_target *target = live_target();
	struct sn_python_cache *cache = cache_of(thread);
	if (!target || (!cache && sn_python_thread_state(target) == 0))
		return 0;
	if (!cache || !atomic_load_explicit(&proved, memory_order_relaxed))
		return SN_PYTHON_UNKNOWN;
	return sn_python_innermost_frame(target, cache);
}

uint64_t sn_python_fingerprint(struct sn_thread *thread, uintptr_t innermost)
{
	const struct sn_python_target *target = live_target();
	struct sn_python_cache *cache = cache_of(thread);
	if (innermost == 0)
		return 1;
	return target && cache ? sn_python_fingerprint_frames(target, cache, innermost) : 0;
}

uintptr_t sn_python_caller(struct sn_thread *thread, uintptr_t frame)
{
	const struct sn_python_target *target = live_target();
	struct sn_python_cache *cache = cache_of(thread);
	if (!target || !cache || (frame & 7) ||
	    !sn_guard_readable(&cache->guard, frame, target->layout.frame_bytes))
		return 0;
	return sn_python_pointer(frame, target->layout.frame_previous);
}

ssize_t sn_python_code_argument(struct sn_thread *thread, const struct sn_python_frame *frame,
				char *name, size_t capacity)
{
	const struct sn_python_target *target = live_target();
	struct sn_python_cache *cache = cache_of(thread);
	if (!target || !cache)
		return -EFAULT;
	return sn_python_read_code_argument(&target->layout, &cache->guard, frame->frame, name,
					    capacity);
}

uintptr_t sn_python_first_argument(struct sn_thread *thread, const struct sn_python_frame *frame)
{
	const struct sn_python_target *target = live_target();
	struct sn_python_cache *cache = cache_of(thread);
	if (!target || !cache)
		return 0;
	return sn_python_read_first_argument(&target->layout, &cache->guard, frame->frame);
}

uintptr_t sn_python_state(void)
{
	const struct sn_python_target *target = live_target();
	return target && atomic_load_explicit(&proved, memory_order_relaxed)
		   ? sn_python_thread_state(target)
		   : 0;
}

bool sn_python_may_run(void)
{
	const struct sn_python_target *target = live_target();
	/* until the layout is proved, the key may not be where it is expected */
	return target && (!atomic_load_explicit(&proved, memory_order_relaxed) ||
			  sn_python_thread_state(target));
}

int sn_python_walk_other(struct sn_thread *thread, uintptr_t state, uintptr_t other,
			 struct sn_python_frame *frames, uint32_t max)
{
	struct sn_python_target *target = live_target();
	if (!target || !state)
		return 0;
	struct sn_python_cache *cache = need_cache(thread);
	if (!cache)
		return -ENOMEM;
	cache->interrupted = false;
	cache->other_state = state;
	cache->other_thread = other;
	int result = sn_python_walk_frames(target, cache, &thread->cct, frames, max);
	cache->other_state = cache->other_thread = 0;
	return result;
}

bool sn_python_is_eval(uintptr_t pc)
{
	const struct sn_python_target *target = live_target();
	for (uint32_t i = 0; target && i < target->range_count; i++)
		if (pc >= target->ranges[i].start && pc < target->ranges[i].end)
			return true;
	return false;
}

static bool holds(const struct sn_module *module, uintptr_t pc)
{
	return module && pc >= module->start && pc < module->end;
}

bool sn_python_is_interpreter(uintptr_t pc)
{
	const struct sn_python_target *target = live_target();
	return target && (holds(target->module, pc) || holds(target->launcher, pc));
}

const struct sn_adapter sn_adapter_python = {
    .name = "python",
    .attach = python_attach,
    .thread_end = python_thread_end,
    .status = python_status,
};
