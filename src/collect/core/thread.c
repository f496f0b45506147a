/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of measured threads, the recursion guard, drop counters and shadow frames; see
 * thread.h.
 *
 * A thread's record outlives it: its values are written with every later snapshot. A process that
 * creates threads without end would grow without end, so beyond SEPARATE_THREADS a new thread
 * continues the record of one that has ended, and the record says that it stands for several.
 */
#include "thread.h"
#include "context.h"
#include "lock.h"
#include "collect/intercept/intercept.h"
#include "collect/sample/sample.h"
#include "collect/record/trace.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEPARATE_THREADS     512u
/* What a snapshot needs of memory, with few contexts. */
#define RESERVE_BYTES	     (256u << 10)
#define RESERVE_THREAD_BYTES (24u << 10)

static __thread struct sn_thread *self __attribute__((tls_model("initial-exec")));

static struct sn_array registry = {.element_bytes = sizeof(struct sn_thread *), .first_shift = 6};
static _Atomic uint64_t adopted; /* threads that continue in the record of another one */
static _Atomic uint64_t process_drops[SN_DROP_COUNT];

struct sn_thread *sn_thread_self(void)
{
	return self;
}

struct sn_thread *sn_enter(void)
{
	struct sn_thread *thread = self;
	if (!thread || atomic_load_explicit(&thread->inside, memory_order_relaxed))
		return NULL;
	atomic_store_explicit(&thread->inside, 1, memory_order_relaxed);
	/* the guard concerns only this thread and its signal handlers: no fence between processors
	 */
	atomic_signal_fence(memory_order_seq_cst);
	thread->saved_errno = errno;
	return thread;
}

void sn_leave(struct sn_thread *thread)
{
	errno = thread->saved_errno;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&thread->inside, 0, memory_order_relaxed);
}

/* ---- the registry ---- */

uint32_t sn_thread_count(void)
{
	return sn_array_count(&registry);
}

uint64_t sn_threads_met(void)
{
	return sn_array_count(&registry) + atomic_load_explicit(&adopted, memory_order_relaxed);
}

struct sn_thread *sn_thread_at(uint32_t index)
{
	return *(struct sn_thread **)sn_array_at(&registry, index);
}

void sn_threads_hide_stack(uintptr_t from, uintptr_t end)
{
	uint32_t count = sn_thread_count();
	for (uint32_t index = 0; index < count; index++) {
		struct sn_thread *thread = sn_thread_at(index);
		if (from < thread->stack_high && end > thread->stack_low)
			thread->stack_low = end < thread->stack_high ? end : thread->stack_high;
	}
}

/* The C library keeps a thread's own record, which pthread_self() points to, at its stack's top. */
static void bounds_of_new_thread(struct sn_thread *thread, size_t stack_bytes)
{
	thread->stack_high = (uintptr_t)pthread_self();
	thread->stack_low = thread->stack_high - stack_bytes;
}

static void bounds_of_first_thread(struct sn_thread *thread)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;
	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (!pthread_attr_getstack(&attributes, &low, &bytes)) {
		thread->stack_low = (uintptr_t)low;
		thread->stack_high = (uintptr_t)low + bytes;
	}
	pthread_attr_destroy(&attributes);
}

/* A new record's is done before it is registered: a snapshot reads whatever the registry has. */
static void thread_identify(struct sn_thread *thread)
{
	thread->tid = (int32_t)syscall(SYS_gettid);
	if (thread->tid == getpid())
		thread->flags |= SN_THREAD_FIRST;
	prctl(PR_GET_NAME, thread->name);
}

static struct sn_thread *thread_new(void)
{
	struct sn_thread *thread = sn_pages_map(sizeof(*thread));
	if (!thread)
		return NULL;
	if (sn_cct_init(&thread->cct)) {
		sn_pages_unmap(thread, sizeof(*thread));
		return NULL;
	}
	thread->start_ns = sn_now_ns();
	thread_identify(thread);
	return thread;
}

static struct sn_thread *adopt_ended(void)
{
	uint32_t count = sn_thread_count();
	if (count < SEPARATE_THREADS)
		return NULL;
	for (uint32_t index = count; index-- > SEPARATE_THREADS / 2;) {
		struct sn_thread *thread = sn_thread_at(index);
		if (atomic_load_explicit(&thread->ended, memory_order_acquire)) {
			atomic_store_explicit(&thread->ended, false, memory_order_relaxed);
			thread->flags |= SN_THREAD_SEVERAL;
			atomic_fetch_add_explicit(&adopted, 1, memory_order_relaxed);
			return thread;
		}
	}
	return NULL;
}

static bool register_thread(struct sn_thread *thread)
{
	uint32_t index = sn_array_reserve(&registry);
	if (index == UINT32_MAX)
		return false;
	thread->index = index;
	*(struct sn_thread **)sn_array_at(&registry, index) = thread;
	sn_array_commit(&registry);
	return true;
}

static struct sn_thread *claim_record(void)
{
	sn_lock_acquire(SN_LOCK_THREADS);
	struct sn_thread *thread = adopt_ended();
	sn_lock_release(SN_LOCK_THREADS);
	if (thread) {
		thread_identify(thread);
		return thread;
	}
	thread = thread_new();
	if (!thread)
		return NULL;
	bool registered =
	    sn_pages_keep_reserve(RESERVE_BYTES + (sn_thread_count() + 1) * RESERVE_THREAD_BYTES);
	sn_lock_acquire(SN_LOCK_THREADS);
	registered = registered && register_thread(thread);
	sn_lock_release(SN_LOCK_THREADS);
	if (registered)
		return thread;
	sn_cct_release(&thread->cct);
	sn_pages_unmap(thread, sizeof(*thread));
	return NULL;
}

void sn_threads_ended(void (*act)(struct sn_thread *thread))
{
	/* a handler of a fatal signal, too, comes here, perhaps in the thread that has the lock */
	if (!sn_lock_try(SN_LOCK_THREADS))
		return;
	uint32_t count = sn_thread_count();
	for (uint32_t index = SEPARATE_THREADS / 2; index < count; index++) {
		struct sn_thread *thread = sn_thread_at(index);
		if (atomic_load_explicit(&thread->ended, memory_order_acquire))
			act(thread);
	}
	sn_lock_release(SN_LOCK_THREADS);
}

/* What the record's last thread had started and never ended, or worked for. */
static void forget_work(struct sn_thread *thread)
{
	thread->work.origin = NULL;
	for (uint32_t index = 0; index < thread->origin_depth; index++) {
		struct sn_origin *origin = &thread->origins[index];
		uint64_t serial = atomic_load_explicit(&origin->serial, memory_order_relaxed);
		atomic_store_explicit(&origin->serial, serial + (serial & 1), memory_order_relaxed);
	}
	thread->origin_depth = 0;
}

static _Atomic int edges; /* threads that begin or end */

static struct sn_thread *begin(size_t stack_bytes)
{
	if (self)
		return self;
	struct sn_thread *thread = claim_record();
	if (!thread) {
		sn_drop(NULL, SN_DROP_THREAD_MEMORY, 1);
		return NULL;
	}
	if (stack_bytes)
		bounds_of_new_thread(thread, stack_bytes);
	else
		bounds_of_first_thread(thread);
	thread->shadow_depth = 0;
	thread->start_node = SN_NODE_ROOT;
	forget_work(thread);
	self = thread;
	sn_sampling_start(thread);
	return thread;
}

/* The thread that confines the process waits for those that went on before; the others make no
 * call. */
static bool enter_edge(void)
{
	atomic_fetch_add(&edges, 1);
	if (!sn_confined())
		return true;
	atomic_fetch_sub(&edges, 1);
	return false;
}

int sn_threads_at_edge(void)
{
	return atomic_load(&edges);
}

struct sn_thread *sn_thread_begin(size_t stack_bytes)
{
	struct sn_thread *thread = NULL;
	if (enter_edge()) {
		thread = begin(stack_bytes);
		atomic_fetch_sub(&edges, 1);
	}
	return thread;
}

static void end(void)
{
	struct sn_thread *thread = self;
	if (!thread)
		return;
	sn_sampling_stop(thread);
	struct sn_thread *entered = sn_enter();
	prctl(PR_GET_NAME, thread->name);
	thread->end_ns = sn_now_ns();
	sn_unwinder_release(&thread->unwinder);
	sn_callpath_release(thread);
	sn_context_release(thread);
	sn_trace_thread_end(thread);
	if (entered)
		sn_leave(thread);
	self = NULL;
	/* release: the thread that adopts the record sees all that was written to it */
	atomic_store_explicit(&thread->ended, true, memory_order_release);
}

void sn_thread_end(void)
{
	if (enter_edge()) {
		end();
		atomic_fetch_sub(&edges, 1);
	}
}

void sn_threads_after_fork(void)
{
	for (size_t cause = 0; cause < SN_DROP_COUNT; cause++)
		atomic_store_explicit(&process_drops[cause], 0, memory_order_relaxed);
	atomic_store(&edges, 0);
	struct sn_thread *thread = self;
	/* the other threads' records stay mapped, untouched and shared with the parent: freeing
	 * them would cost every short-lived child a walk over all of them */
	sn_array_init(&registry, sizeof(struct sn_thread *), 6);
	atomic_store_explicit(&adopted, 0, memory_order_relaxed);
	if (!thread)
		return;
	sn_cct_forget_values(&thread->cct);
	for (size_t cause = 0; cause < SN_DROP_COUNT; cause++)
		atomic_store_explicit(&thread->drops[cause], 0, memory_order_relaxed);
	thread->samples = thread->own_ns = 0;
	thread->start_ns = sn_now_ns();
	thread->flags = 0;
	if (!register_thread(thread)) {
		self = NULL;
		return;
	}
	thread_identify(thread);
	sn_sampling_start(thread);
}

/* ---- drops ---- */

void sn_drop(struct sn_thread *thread, enum sn_drop cause, uint64_t count)
{
	_Atomic uint64_t *counter = thread ? &thread->drops[cause] : &process_drops[cause];
	atomic_fetch_add_explicit(counter, count, memory_order_relaxed);
}

uint64_t sn_drops(enum sn_drop cause)
{
	uint64_t total = atomic_load_explicit(&process_drops[cause], memory_order_relaxed);
	uint32_t count = sn_thread_count();
	for (uint32_t index = 0; index < count; index++)
		total +=
		    atomic_load_explicit(&sn_thread_at(index)->drops[cause], memory_order_relaxed);
	return total;
}

const char *sn_drop_name(enum sn_drop cause)
{
	static const char *const names[] = {
#define SN_DROP(id, name, text) name,
#include "errors.def"
#undef SN_DROP
	};
	return names[cause];
}

/* ---- shadow frames ---- */

static void pause_ns(long nanoseconds)
{
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){0, nanoseconds}, NULL);
}

bool sn_thread_borrow(struct sn_thread *thread)
{
	for (int tries = 0; tries < 20; tries++) {
		if (!atomic_load(&thread->inside)) {
			atomic_store(&thread->inside, 1);
			pause_ns(1000000);
			if (atomic_load(&thread->inside))
				return true;
		}
		pause_ns(100000);
	}
	return false;
}

void sn_thread_return(struct sn_thread *thread)
{
	atomic_store(&thread->inside, 0);
}

struct sn_shadow *sn_shadow_push(struct sn_thread *thread, const struct sn_frame *frame,
				 uintptr_t stack)
{
	uint32_t depth = thread->shadow_depth;
	if (depth >= SN_SHADOW_DEPTH) {
		thread->shadow_depth = depth + 1;
		sn_drop(thread, SN_DROP_PATH_TOO_DEEP, 1);
		return NULL;
	}
	struct sn_shadow *shadow = &thread->shadows[depth];
	*shadow = (struct sn_shadow){.stack = stack,
				     .frame = *frame,
				     .prefix = SN_NODE_NONE,
				     .node = SN_NODE_NONE,
				     .again_node = SN_NODE_NONE,
				     .python_frame = SN_PYTHON_UNKNOWN};
	/* a sample between the two stores must not see a half-filled shadow */
	atomic_signal_fence(memory_order_release);
	thread->shadow_depth = depth + 1;
	return shadow;
}

struct sn_shadow *sn_shadow_pop(struct sn_thread *thread)
{
	if (!thread->shadow_depth)
		return NULL;
	uint32_t depth = --thread->shadow_depth;
	return depth < SN_SHADOW_DEPTH ? &thread->shadows[depth] : NULL;
}
