/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pthread_create: every thread is measured from its first instruction to its last, however it ends
 * (return, pthread_exit, cancellation: a thread-specific value's destructor runs in all of them).
 */
#include "collect/core/adapter.h"
#include "collect/core/adapters.h"
#include "collect/core/start_path.h"
#include "environment.h"
#include "intercept.h"
#include "collect/sample/sample_signal.h"

#include <pthread.h>
#include <threads.h>

SN_REAL(int, thrd_create, (thrd_t *, thrd_start_t, void *))
SN_REAL(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))

struct start {
	void *(*function)(void *);
	thrd_start_t c11_function; /* instead, of thrd_create */
	void *argument;
	size_t stack_bytes;
	const struct sn_thread *parent; /* NULL: its paths begin at its own root */
	uint32_t parent_node;
	struct sn_belief belief;
	uint64_t spared; /* sn_samples_spared of who made it */
	bool has_own_mask;
	_Atomic bool is_used;
};

/*
 * For threads that are created and have not begun. Not from the C library: a thread that frees
 * memory gets an arena of its own for it, 64 MiB of address space.
 */
#define STARTS 64u
static struct start starts[STARTS];

static struct start *start_new(void)
{
	for (unsigned index = 0; index < STARTS; index++)
		/* acquire: its last user has read it */
		if (!atomic_exchange_explicit(&starts[index].is_used, true, memory_order_acquire))
			return &starts[index];
	return sn_pages_map(sizeof(struct start));
}

static void start_free(struct start *start)
{
	if (start >= starts && start < starts + STARTS)
		atomic_store_explicit(&start->is_used, false, memory_order_release);
	else
		sn_pages_unmap(start, sizeof(*start));
}

static pthread_key_t end_key;
static pthread_once_t end_key_once = PTHREAD_ONCE_INIT;
static bool have_end_key;

/* Destructors run in rounds; asking for the last round lets the program's own be measured. */
static void at_thread_end(void *round)
{
	uintptr_t left = (uintptr_t)round;
	if (sn_confined())
		return;
	if (left > 1) {
		pthread_setspecific(end_key, (void *)(left - 1));
		return;
	}
	struct sn_thread *thread = sn_enter();
	if (thread) {
		sn_adapters_thread_end(thread);
		sn_leave(thread);
	}
	sn_thread_end();
	sn_environment_release();
}

static void make_end_key(void)
{
	have_end_key = !pthread_key_create(&end_key, at_thread_end);
}

static void begin_thread(const struct start *start)
{
	struct sn_belief belief = start->belief;
	if (start->has_own_mask)
		belief.blocked = 0;
	sn_samples_release(start->has_own_mask ? 0 : start->spared);
	sn_believed_inherit(belief);
	struct sn_thread *thread = sn_thread_begin(start->stack_bytes);
	if (thread && have_end_key)
		pthread_setspecific(end_key, (void *)(uintptr_t)3);
	if (sn_enter()) {
		if (start->parent)
			sn_callpath_begin_below(thread, &start->parent->cct, start->parent_node);
		else
			sn_start_path_begin_thread(thread);
		sn_adapters_thread_begin(thread);
		sn_leave(thread);
	}
}

static void *run_thread(void *data)
{
	struct start *start = data;
	begin_thread(start);
	void *(*function)(void *) = start->function;
	void *argument = start->argument;
	start_free(start);
	return function(argument);
}

static int run_c11_thread(void *data)
{
	struct start *start = data;
	begin_thread(start);
	thrd_start_t function = start->c11_function;
	void *argument = start->argument;
	start_free(start);
	return function(argument);
}

static size_t stack_bytes(const pthread_attr_t *attributes)
{
	pthread_attr_t usual;
	size_t bytes = 0;
	if (attributes)
		return pthread_attr_getstacksize(attributes, &bytes) ? 0 : bytes;
	if (pthread_attr_init(&usual))
		return 0;
	pthread_attr_getstacksize(&usual, &bytes);
	pthread_attr_destroy(&usual);
	return bytes;
}

static bool names_mask(const pthread_attr_t *attributes)
{
	sigset_t mask;
	return attributes && !pthread_attr_getsigmask_np(attributes, &mask);
}

/* A thread that the interpreter starts (threading, all pools of Python) is the work of the line
 * that runs now. Other libraries' threads wait for work of any line. */
static void note_line(struct start *start, uintptr_t caller)
{
	start->parent = NULL;
	struct sn_thread *thread = sn_python_is_interpreter(caller) ? sn_enter() : NULL;
	if (!thread)
		return;
	start->parent_node = sn_callpath_of_start(thread);
	start->parent = thread;
	sn_leave(thread);
}

/* NULL where nothing is measured. `caller`, which asks for the thread, may lie in a new library. */
static struct start *before_create(const pthread_attr_t *attributes, uintptr_t caller)
{
	sn_start();
	struct start *start = sn_measuring() ? start_new() : NULL;
	if (!start)
		return NULL;
	pthread_once(&end_key_once, make_end_key);
	if (sn_thread_self()) {
		sn_module_find_or_refresh(caller);
		sn_adapters_attach();
	}
	note_line(start, caller);
	start->stack_bytes = stack_bytes(attributes);
	start->belief = sn_believed_get();
	start->spared = sn_samples_spared();
	start->has_own_mask = names_mask(attributes);
	return start;
}

SN_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			     void *(*function)(void *), void *argument)
{
	struct start *start = before_create(attributes, (uintptr_t)__builtin_return_address(0));
	if (!start)
		return real_pthread_create_get()(thread, attributes, function, argument);
	start->function = function;
	start->argument = argument;
	int status = real_pthread_create_get()(thread, attributes, run_thread, start);
	if (status)
		start_free(start);
	return status;
}

SN_EXPORT int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
	struct start *start = before_create(NULL, (uintptr_t)__builtin_return_address(0));
	if (!start)
		return real_thrd_create_get()(thread, function, argument);
	start->c11_function = function;
	start->argument = argument;
	int status = real_thrd_create_get()(thread, run_c11_thread, start);
	if (status != thrd_success)
		start_free(start);
	return status;
}
