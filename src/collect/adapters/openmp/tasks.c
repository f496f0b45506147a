/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explicit tasks of OpenMP as a dataflow graph, on request: a node for each place in the code that
 * creates tasks, edges from depend clauses.
 *
 * Which tasks depend on each other is computed from the clauses as they are reported, in the order
 * in which tasks are created, as the standard defines it (OpenMP 5.0, 2.17.11): the runtime itself
 * reports only dependences that were not fulfilled yet, which differ from run to run. A task's time
 * is from its begin to its end, including its waits.
 */
#include "openmp.h"

#include "collect/core/line.h"
#include "collect/core/lock.h"
#include "collect/record/graph.h"
#include "collect/unwind/module_list.h"
#include "collect/core/thread.h"

#include <string.h>

enum { PLACES = 4096, READERS = 8, TASK_EXPLICIT = 4, COMPLETE = 1, CANCEL = 3 };
enum { DEPEND_IN = 1, DEPEND_OUT = 2, DEPEND_INOUT = 3 };
/* A task's word: its node + 1, then when it began. */
#define START_BITS 40
#define START_MASK ((1ull << START_BITS) - 1)

struct dependence {
	uint64_t variable;
	int kind;
};

/* What is known of a variable that depend clauses name. */
struct place {
	uint64_t variable, generation;
	uint32_t writer; /* node */
	uint32_t readers[READERS], reader_count;
};

static struct place *places;
static _Atomic uint64_t regions, tasks_created;
static _Atomic uint64_t region_start_ns, region_tasks;
static _Atomic int depth;

static uint32_t model(void)
{
	static const char name[] = "OpenMP tasks";
	return sn_graph_model(name, sizeof(name) - 1, "OpenMP", "depend clauses");
}

/* Its name is the address: analysis makes a function and a line of it (aggregate/unify/graphs.c).
 */
static uint32_t node_of(uintptr_t address)
{
	uint32_t tasks = model(), known = sn_graph_find(tasks, address);
	if (known != SN_GRAPH_NONE || tasks == SN_GRAPH_NONE)
		return known;
	uint32_t number = sn_module_find_or_refresh(address);
	const struct sn_module *module = number == SN_MODULE_NONE ? NULL : sn_module_at(number);
	uint64_t offset = address - (module ? module->bias : 0);
	char name[24];
	struct sn_line line = SN_LINE(name);
	sn_line_add_in_base(&line, offset, 16);
	return sn_graph_node(&(struct sn_graph_new){
	    .model = tasks,
	    .key = address,
	    .name = name,
	    .type = "task",
	    .file = module ? module->path : NULL,
	    .flags = SN_GRAPH_ADDRESS,
	    .parent = SN_GRAPH_NONE,
	});
}

void sn_ompt_task_create(union sn_ompt_data *encountering, const void *frame,
			 union sn_ompt_data *task, int flags, int has_dependences,
			 const void *return_address)
{
	if (!task || !(flags & TASK_EXPLICIT) || !sn_measuring())
		return;
	uint32_t node = node_of((uintptr_t)return_address);
	task->value = node == SN_GRAPH_NONE ? 0 : ((uint64_t)node + 1) << START_BITS;
	atomic_fetch_add_explicit(&tasks_created, 1, memory_order_relaxed);
}

void sn_ompt_task_schedule(union sn_ompt_data *prior, int status, union sn_ompt_data *next)
{
	uint64_t now_ns = sn_now_ns();
	bool has_ended = status == COMPLETE || status == CANCEL;
	if (prior && has_ended && prior->value & START_MASK && sn_measuring()) {
		uint64_t elapsed_ns = (now_ns - prior->value) & START_MASK;
		sn_graph_executed((uint32_t)(prior->value >> START_BITS) - 1, now_ns - elapsed_ns,
				  now_ns);
		prior->value = 0;
	}
	if (next && next->value && !(next->value & START_MASK))
		next->value |= (now_ns & START_MASK) ? now_ns & START_MASK : 1;
}

/* ---- depend clauses ---- */

static struct place *place_of(uint64_t variable)
{
	struct place *place =
	    places + (variable >> 3) * 0x9E3779B97F4A7C15ull / (~0ull / PLACES + 1);
	uint64_t generation = regions + (sn_graph_iterations_begun() << 32);
	if (place->variable != variable || place->generation != generation)
		*place = (struct place){variable, generation, SN_GRAPH_NONE, {0}, 0};
	return place;
}

static void read_variable(struct place *place, uint32_t node, uint32_t index)
{
	if (place->writer != SN_GRAPH_NONE)
		sn_graph_edge(place->writer, node, index, SONDE_EDGE_DATA, 0, 1);
	if (place->reader_count < READERS)
		place->readers[place->reader_count++] = node;
}

static void write_variable(struct place *place, uint32_t node, uint32_t index, bool reads)
{
	/* after those that read what it overwrites; where there are none, after who wrote that */
	for (uint32_t i = 0; i < place->reader_count; i++)
		sn_graph_edge(place->readers[i], node, index, SONDE_EDGE_CONTROL, 0, 1);
	if (place->writer != SN_GRAPH_NONE && (reads || !place->reader_count))
		sn_graph_edge(place->writer, node, index,
			      reads ? SONDE_EDGE_DATA : SONDE_EDGE_CONTROL, 0, 1);
	place->writer = node;
	place->reader_count = 0;
}

void sn_ompt_dependences(union sn_ompt_data *task, const void *list, int count)
{
	const struct dependence *dependences = list;
	if (!task || !task->value || !sn_measuring())
		return;
	uint32_t node = (uint32_t)(task->value >> START_BITS) - 1;
	sn_lock_acquire(SN_LOCK_OPENMP_TASKS);
	for (int i = 0; i < count && places; i++) {
		struct place *place = place_of(dependences[i].variable);
		if (dependences[i].kind == DEPEND_IN)
			read_variable(place, node, (uint32_t)i);
		else if (dependences[i].kind <= DEPEND_INOUT || dependences[i].kind == 4)
			write_variable(place, node, (uint32_t)i, dependences[i].kind != DEPEND_OUT);
	}
	sn_lock_release(SN_LOCK_OPENMP_TASKS);
}

/* ---- iterations: parallel regions that made tasks, where the program marks none ---- */

void sn_ompt_tasks_begin(void)
{
	if (!places || atomic_fetch_add_explicit(&depth, 1, memory_order_relaxed))
		return;
	regions++;
	region_tasks = tasks_created;
	region_start_ns = sn_now_ns();
}

void sn_ompt_tasks_end(void)
{
	if (!places || atomic_fetch_sub_explicit(&depth, 1, memory_order_relaxed) != 1)
		return;
	if (tasks_created != region_tasks && !sn_graph_iterations_begun())
		sn_graph_iteration(model(), region_start_ns, sn_now_ns(), "parallel regions");
}

bool sn_ompt_tasks_wanted(void)
{
	if (sn_config.graph && !places)
		places = sn_pages_map(PLACES * sizeof(*places));
	return places;
}
