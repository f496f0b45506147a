/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LLVM's and Intel's OpenMP (clang -fopenmp, MKL's own threads, numba) by the interface for tools
 * of OpenMP 5.0, chapter 4: the runtime looks for ompt_start_tool() when it starts, and reports
 * when a region begins and ends and when a thread begins its part. If there is another tool, or the
 * user names one in OMP_TOOL_LIBRARIES, that one has precedence.
 *
 * The declarations are those of the standard, as far as they are used: nothing is linked.
 */
#include "openmp.h"

#include "collect/intercept/intercept.h"
#include "collect/unwind/elf_symbol.h"

#include <dlfcn.h>
#include <stdlib.h>

union data {
	uint64_t value;
	void *pointer;
};

struct frame {
	union data exit, enter;
	int exit_flags, enter_flags;
};

enum { PARALLEL_BEGIN = 3, PARALLEL_END = 4, IMPLICIT_TASK = 7 };
enum { TASK_CREATE = 5, TASK_SCHEDULE = 6, DEPENDENCES = 18 };
enum { SCOPE_BEGIN = 1 };
enum { TASK_INITIAL = 1 };

typedef void any_function(void);
typedef any_function *lookup_function(const char *name);
typedef int set_callback_function(int event, any_function *callback);

struct start_result {
	int (*initialize)(lookup_function *lookup, int device, union data *tool);
	void (*finalize)(union data *tool);
	union data tool;
};

static struct sn_runtime runtime;
static _Atomic(const char *) runtime_name;

/* ---- what the runtime reports ---- */

/*
 * In the thread that starts a region. `task` says where it entered the runtime: the frame address
 * of the entry point, which its compiler then keeps a frame pointer in. That is believed where
 * the return address beside it is the one reported.
 */
static void parallel_begin(union data *task_data, const struct frame *task, union data *parallel,
			   unsigned threads, int flags, const void *return_address)
{
	const uintptr_t *entry = task ? task->enter.pointer : NULL;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct sn_thread *self = sn_thread_self();
	parallel->pointer = NULL;
	sn_ompt_tasks_begin();
	if (!self || (uintptr_t)entry <= here || (uintptr_t)entry % sizeof(*entry) ||
	    (self->stack_high && (uintptr_t)&entry[2] > self->stack_high) ||
	    entry[1] != (uintptr_t)return_address)
		return;
	parallel->pointer = sn_origin_begin(&runtime, entry);
}

static void parallel_end(union data *parallel, union data *task_data, int flags,
			 const void *return_address)
{
	sn_ompt_tasks_end();
	if (parallel && parallel->pointer)
		sn_origin_end(parallel->pointer);
}

static void implicit_task(int endpoint, union data *parallel, union data *task, unsigned threads,
			  unsigned index, int flags)
{
	if (endpoint == SCOPE_BEGIN && !(flags & TASK_INITIAL) && parallel && parallel->pointer)
		sn_origin_work(parallel->pointer);
}

/* ---- start ---- */

static int note_runtime(struct dl_phdr_info *info, size_t bytes, void *inside)
{
	struct sn_module module;
	if (!sn_elf_module_of(info, &module) || (uintptr_t)inside < module.start ||
	    (uintptr_t)inside >= module.end)
		return 0;
	runtime = (struct sn_runtime){module.start, module.end};
	return 1;
}

static int initialize(lookup_function *lookup, int device, union data *tool)
{
	set_callback_function *set = (set_callback_function *)lookup("ompt_set_callback");
	if (!set || !dl_iterate_phdr(note_runtime, (void *)lookup))
		return 0;
	set(PARALLEL_BEGIN, (any_function *)parallel_begin);
	set(PARALLEL_END, (any_function *)parallel_end);
	set(IMPLICIT_TASK, (any_function *)implicit_task);
	if (sn_ompt_tasks_wanted()) {
		set(TASK_CREATE, (any_function *)sn_ompt_task_create);
		set(TASK_SCHEDULE, (any_function *)sn_ompt_task_schedule);
		set(DEPENDENCES, (any_function *)sn_ompt_dependences);
	}
	sn_gomp_forget();
	return 1;
}

static void finalize(union data *tool)
{
}

SN_EXPORT struct start_result *ompt_start_tool(unsigned version, const char *name);
struct start_result *ompt_start_tool(unsigned version, const char *name)
{
	static struct start_result result = {initialize, finalize, {0}};
	struct start_result *(*other)(unsigned, const char *) = dlsym(RTLD_NEXT, "ompt_start_tool");
	struct start_result *others = other ? other(version, name) : NULL;
	const char *named = getenv("OMP_TOOL_LIBRARIES");
	/* a process has one such runtime; a second one is left alone */
	if (others || (named && *named) || !sn_measuring() || !sn_openmp_wanted() || runtime.end)
		return others;
	atomic_store_explicit(&runtime_name, name, memory_order_relaxed);
	return &result;
}

bool sn_ompt_is_runtime(uintptr_t address)
{
	return address >= runtime.start && address < runtime.end;
}

const char *sn_ompt_runtime(void)
{
	return runtime.end ? atomic_load_explicit(&runtime_name, memory_order_relaxed) : NULL;
}
