/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How TensorFlow's executor ran operations. An execution of a function has a number. A thread that
 * runs its operations marks this around them ("ExecutorState::Process"), and the call of the
 * function around its begin ("FunctionRun" in "EagerExecute"). When an operation becomes ready, the
 * executor runs it next on the same thread, or hands it to a thread pool, where
 * "ThreadpoolListener" marks when it was handed over and when it was taken. An operation that ends
 * on another thread (a collective, a receive) has begin and end marks with the same number.
 * Allocators mark the operation and the execution for which they allocate.
 *
 * Marks are spread over threads and come thread by thread. So they are kept until the whole file is
 * read, sorted by thread and time, and processed once, with the state of the current thread.
 */
#include "xplane.h"

#include "base/intern.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Marks that are kept (48 bytes each); operations beyond get their times only. */
#define MARKS_MAX (1u << 22)

enum sn_xplane_mark_kind sn_xplane_mark_kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum sn_xplane_mark_kind kind;
	} names[] = {
	    {"ThreadpoolListener::Record", SN_XPLANE_MARK_SCHEDULED},
	    {"ThreadpoolListener::StartRegion", SN_XPLANE_MARK_STARTED},
	    {"EagerExecute", SN_XPLANE_MARK_CALL},
	    {"FunctionRun", SN_XPLANE_MARK_EXECUTION},
	    {"ExecutorState::Process", SN_XPLANE_MARK_PROCESS},
	    {"ExecutorState::ProcessAsync::Start", SN_XPLANE_MARK_ASYNC_BEGIN},
	    {"ExecutorState::ProcessAsync::Done", SN_XPLANE_MARK_ASYNC_END},
	    {"MemoryAllocation", SN_XPLANE_MARK_ALLOCATION},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].name, name))
			return names[i].kind;
	return SN_XPLANE_MARK_NOTHING;
}

bool sn_xplane_add_mark(struct sn_xplane *xplane, const struct sn_xplane_mark *mark)
{
	if (xplane->mark_count >= MARKS_MAX ||
	    sn_vec_push(&xplane->marks, &xplane->mark_capacity, &xplane->mark_count, *mark)) {
		xplane->marks_are_cut = true;
		return false;
	}
	return true;
}

/* ---- tables by number ---- */

struct table {
	struct sn_intern ids;
	uint64_t *values;
	size_t capacity;
};

static int put(struct table *table, const void *key, size_t length, uint64_t value)
{
	uint32_t number =
	    sn_intern_item(&table->ids, key, length, &table->values, &table->capacity, {0});
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	table->values[number] = value;
	return 0;
}

/* The value of a key; 0 if there is none. */
static uint64_t get(const struct table *table, const void *key, size_t length)
{
	uint32_t number = sn_intern_find(&table->ids, key, length);
	return number == SN_INTERN_NONE ? 0 : table->values[number];
}

static void release_table(struct table *table)
{
	sn_intern_release(&table->ids);
	free(table->values);
}

struct operations {
	struct sn_xplane_ran *items;
	size_t count, capacity;
	struct table scheduled; /* by the number handed over: the time */
	struct table ended;	/* by the number of an operation that ends elsewhere: the time */
	struct table functions; /* by execution: the module's number + 1 */
	struct table last;	/* by execution and name: the operation's index + 1 */
};

SN_SORT_BY(sort_marks, struct sn_xplane_mark, const void *,
	   SN_ORDER_BY(a, b, line, start_ns, kind) ?: SN_ORDER(b->end_ns, a->end_ns));

/* Collects what marks of one thread say about operations on other threads. */
static int learn(struct sn_xplane *xplane, struct operations *on)
{
	const struct sn_xplane_mark *call = NULL;
	int result = 0;
	for (size_t i = 0; i < xplane->mark_count && !result; i++) {
		const struct sn_xplane_mark *mark = xplane->marks + i;
		if (call && (call->line != mark->line || mark->start_ns > call->end_ns))
			call = NULL;
		if (mark->kind == SN_XPLANE_MARK_CALL) {
			call = mark;
		} else if (mark->kind == SN_XPLANE_MARK_SCHEDULED) {
			result = put(&on->scheduled, &mark->number, sizeof(mark->number),
				     mark->start_ns);
		} else if (mark->kind == SN_XPLANE_MARK_ASYNC_END) {
			result =
			    put(&on->ended, &mark->number, sizeof(mark->number), mark->start_ns);
		} else if (mark->kind == SN_XPLANE_MARK_EXECUTION && call) {
			uint32_t module = sn_xplane_function(xplane, call->name);
			result = module == SONDE_NONE ? SN_ERR_MEMORY
						      : put(&on->functions, &mark->number,
							    sizeof(mark->number), module + 1ull);
		}
	}
	return result;
}

/* ---- one thread after the other ---- */

/* The state of a thread. */
struct thread {
	uint32_t line;
	uint64_t started; /* number of the last work taken from the pool; 0 none */
	const struct sn_xplane_mark *process; /* the open execution, or NULL */
	size_t operation;		      /* the last operation's index, or SIZE_MAX */
};

struct place {
	uint64_t execution, name;
};

static int add_operation(const struct sn_xplane *xplane, struct operations *on,
			 struct thread *thread, const struct sn_xplane_mark *mark)
{
	struct sn_xplane_ran ran = {.node = mark->node,
				    .name = mark->name,
				    .line = mark->line,
				    .device = SONDE_NONE,
				    .has_run = thread->process || mark->has_execution,
				    .run =
					thread->process ? thread->process->number : mark->execution,
				    .start_ns = mark->start_ns,
				    .end_ns = mark->end_ns};
	ran.ends_elsewhere = mark->kind == SN_XPLANE_MARK_ASYNC_BEGIN;
	if (ran.ends_elsewhere) {
		uint64_t end_ns = get(&on->ended, &mark->number, sizeof(mark->number));
		ran.end_ns = end_ns > ran.end_ns ? end_ns : ran.end_ns;
	}
	/* the first operation after a thread took work is the one that was handed over */
	if (thread->process && thread->started)
		ran.scheduled_ns = get(&on->scheduled, &thread->started, sizeof(thread->started));
	thread->started = 0;
	thread->operation = on->count;
	if (sn_vec_push(&on->items, &on->capacity, &on->count, ran))
		return SN_ERR_MEMORY;
	struct place place = {ran.run, xplane->programs.nodes[ran.node].name};
	return ran.has_run ? put(&on->last, &place, sizeof(place), on->count) : 0;
}

static void add_memory(struct sn_xplane_memory *to, const struct sn_xplane_memory *memory)
{
	to->allocated += memory->allocated;
	to->requested += memory->requested;
	to->temporary += memory->temporary;
	to->persistent += memory->persistent;
}

static struct sn_xplane_memory memory_of(const struct sn_xplane_mark *mark)
{
	/* allocators of the C library do not report how much they gave */
	uint64_t bytes = mark->number ? mark->number : mark->end_ns;
	return (struct sn_xplane_memory){
	    .allocated = bytes,
	    .requested = mark->end_ns ? mark->end_ns : bytes,
	    .temporary = mark->region == SN_XPLANE_TEMPORARY ? bytes : 0,
	    .persistent = mark->region == SN_XPLANE_PERSISTENT ? bytes : 0,
	};
}

/* An allocation belongs to the operation running on its thread, if that has the allocation's name;
 * otherwise to the operation of its execution and name that began last. */
static void give_memory(const struct sn_xplane *xplane, struct operations *on,
			const struct thread *thread, const struct sn_xplane_mark *mark)
{
	const struct sn_xplane_memory memory = memory_of(mark);
	struct sn_xplane_ran *running =
	    thread->operation == SIZE_MAX ? NULL : on->items + thread->operation;
	if (running && mark->start_ns <= running->end_ns &&
	    xplane->programs.nodes[running->node].name == mark->name) {
		add_memory(&running->memory, &memory);
		return;
	}
	struct place place = {mark->execution, mark->name};
	uint64_t found = mark->has_execution ? get(&on->last, &place, sizeof(place)) : 0;
	if (found)
		add_memory(&on->items[found - 1].memory, &memory);
}

static int go_through(struct sn_xplane *xplane, struct operations *on)
{
	struct thread thread = {.line = UINT32_MAX, .operation = SIZE_MAX};
	int result = 0;
	for (size_t i = 0; i < xplane->mark_count && !result; i++) {
		const struct sn_xplane_mark *mark = xplane->marks + i;
		if (mark->line != thread.line)
			thread = (struct thread){.line = mark->line, .operation = SIZE_MAX};
		if (thread.process && mark->start_ns > thread.process->end_ns)
			thread.process = NULL;
		switch (mark->kind) {
		case SN_XPLANE_MARK_STARTED:
			thread.started = mark->number;
			break;
		case SN_XPLANE_MARK_PROCESS:
			thread.process = mark;
			break;
		case SN_XPLANE_MARK_OPERATION:
		case SN_XPLANE_MARK_ASYNC_BEGIN:
			result = add_operation(xplane, on, &thread, mark);
			break;
		case SN_XPLANE_MARK_ALLOCATION:
			give_memory(xplane, on, &thread, mark);
			break;
		default:
			break;
		}
	}
	return result;
}

/* ---- events ---- */

SN_SORT_BY(sort_operations, struct sn_xplane_ran, const void *,
	   SN_ORDER_BY(a, b, has_run, run, start_ns) ?: SN_ORDER(b->end_ns, a->end_ns));

/* How many operations before one in its execution are searched. */
#define WITHIN_MAX 64u

/* A collective has both begin and end marks and an operation between them. The inner operation's
 * memory is added to the outer, and the inner is left out (its node is removed). */
static void merge_same(struct operations *on, size_t number)
{
	struct sn_xplane_ran *one = on->items + number;
	for (size_t i = number; one->has_run && i-- > 0 && number - i <= WITHIN_MAX;) {
		struct sn_xplane_ran *before = on->items + i;
		if (!before->has_run || before->run != one->run)
			return;
		if (before->node != one->node || !before->ends_elsewhere || one->ends_elsewhere ||
		    before->end_ns <= one->start_ns)
			continue;
		add_memory(&before->memory, &one->memory);
		one->node = SONDE_NONE;
		return;
	}
}

static int add_up(struct sn_xplane *xplane, struct operations *on)
{
	int result = 0;
	sort_operations(on->items, on->count, NULL);
	for (size_t i = 0; i < on->count; i++)
		merge_same(on, i);
	for (size_t i = 0; i < on->count && !result; i++) {
		struct sn_xplane_ran ran = on->items[i];
		uint64_t module = get(&on->functions, &ran.run, sizeof(ran.run));
		if (ran.node == SONDE_NONE)
			continue;
		/* with contexts, nodes keep the one model for which contexts are named */
		if (ran.has_run && module && xplane->graphs_only)
			ran.node = sn_xplane_node_in(xplane, (uint32_t)module - 1, ran.node);
		result = ran.node == SONDE_NONE ? SN_ERR_MEMORY : sn_xplane_ran(xplane, &ran);
	}
	return result;
}

int sn_xplane_executions(struct sn_xplane *xplane)
{
	struct operations on = {0};
	sort_marks(xplane->marks, xplane->mark_count, NULL);
	int result = learn(xplane, &on);
	if (!result)
		result = sn_xplane_describe_functions(xplane);
	if (!result)
		result = go_through(xplane, &on);
	if (!result)
		result = add_up(xplane, &on);
	free(on.items);
	release_table(&on.scheduled);
	release_table(&on.ended);
	release_table(&on.functions);
	release_table(&on.last);
	return result;
}
