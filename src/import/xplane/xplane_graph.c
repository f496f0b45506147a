/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of an XPlane file as dataflow graphs. Nodes are the instructions of a program as XLA
 * runs it, after fusion; below a fused instruction are the original operations with their source
 * lines, below a loop the instructions of its body. Events are summed by node, and executions of a
 * program are its iterations.
 *
 * The profiler numbers executions on CPUs only. Elsewhere an execution begins on a stream when the
 * operation runs with which the previous one began; the n-th executions of all devices are one
 * iteration.
 */
#include "xplane.h"

#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/core/cursor.h"
#include "format/database/database_graph_builder.h"
#include "format/database/statistics.h"
#include "format/measurement/measurement.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* listed iterations of a program */
#define RUNS_MAX	(1u << 20)
/* listed devices of a program */
#define DEVICES_MAX	64
/* depth to which inputs are searched through instructions that run nothing (a bitcast, a
 * tuple's part) */
#define TRANSPARENT_MAX 4

/* ---- modules and nodes ---- */

struct module_key {
	uint64_t has_program, program, name;
};

/* A label for a program, unique also if several programs have the same name. */
static uint32_t make_label(struct sn_xplane *xplane, uint32_t name, uint64_t program)
{
	struct sn_xplane_programs *programs = &xplane->programs;
	uint32_t before = programs->module_names.count;
	if (sn_table_add(&programs->module_names, name) == before)
		return name;
	char label[512];
	snprintf(label, sizeof(label), "%.480s(%llu)", sn_xplane_text(xplane, name),
		 (unsigned long long)program);
	return sn_db_builder_string(xplane->builder, label);
}

/* The module of a program, new if it is unknown; SONDE_NONE without memory. */
static uint32_t module_of(struct sn_xplane *xplane, bool has_program, uint64_t program,
			  uint32_t name)
{
	struct sn_xplane_programs *programs = &xplane->programs;
	/* a program with a number is identified by it, others by their name */
	struct module_key key = {has_program, has_program ? program : 0, has_program ? 0 : name};
	uint32_t before = programs->module_ids.count;
	uint32_t number =
	    sn_intern_item(&programs->module_ids, &key, sizeof(key), &programs->modules,
			   &programs->module_capacity,
			   {.name = name, .first_node = SONDE_NONE, .last_node = SONDE_NONE});
	if (number == before)
		programs->modules[number].label = make_label(xplane, name, program);
	return number == SN_INTERN_NONE ? SONDE_NONE : number;
}

/* The node of that name in a module, or SONDE_NONE. */
static uint32_t find_node(const struct sn_xplane *xplane, uint32_t module, uint32_t name)
{
	return sn_table_find(&xplane->programs.node_ids, sn_table_pair(module, name));
}

static uint32_t node_of(struct sn_xplane *xplane, uint32_t module, uint32_t name)
{
	struct sn_xplane_programs *programs = &xplane->programs;
	uint32_t before = programs->node_ids.count;
	if (sn_vec_reserve(&programs->nodes, &programs->node_capacity, before + 1ull) < 0)
		return SONDE_NONE;
	uint32_t number = sn_table_add(&programs->node_ids, sn_table_pair(module, name));
	if (number != before)
		return number;
	programs->nodes[number] = (struct sn_xplane_node){.module = module,
							  .name = name,
							  .type = SONDE_NONE,
							  .frame = SONDE_NONE,
							  .instruction = SONDE_NONE,
							  .graph_node = SONDE_NONE,
							  .next = SONDE_NONE,
							  .device = SONDE_NONE,
							  .last_run = UINT64_MAX};
	struct sn_xplane_module *of = programs->modules + module;
	if (of->last_node == SONDE_NONE)
		of->first_node = number;
	else
		programs->nodes[of->last_node].next = number;
	of->last_node = number;
	return number;
}

uint32_t sn_xplane_node(struct sn_xplane *xplane, bool has_program, uint64_t program,
			uint32_t module, uint32_t name)
{
	uint32_t number = module_of(xplane, has_program, program, module);
	return number == SONDE_NONE ? SONDE_NONE : node_of(xplane, number, name);
}

uint32_t sn_xplane_tensorflow_node(struct sn_xplane *xplane, uint32_t name, uint32_t type)
{
	uint32_t module =
	    module_of(xplane, false, 0, sn_db_builder_string(xplane->builder, "TensorFlow"));
	uint32_t node = module == SONDE_NONE ? SONDE_NONE : node_of(xplane, module, name);
	if (node == SONDE_NONE)
		return SONDE_NONE;
	xplane->programs.modules[module].is_tensorflow = true;
	xplane->programs.nodes[node].type = type;
	return node;
}

/* Moves a program into its module, which owns it from then on, and creates its nodes. */
static int adopt(struct sn_xplane *xplane, uint32_t number, struct sn_hlo *hlo)
{
	xplane->programs.modules[number].hlo = *hlo;
	xplane->programs.modules[number].has_hlo = true;
	*hlo = (struct sn_hlo){0};
	hlo = &xplane->programs.modules[number].hlo;
	for (size_t i = 0; i < hlo->instruction_count; i++) {
		uint32_t node = node_of(xplane, number, hlo->instructions[i].name);
		if (node == SONDE_NONE)
			return SN_ERR_MEMORY;
		xplane->programs.nodes[node].instruction = (uint32_t)i;
	}
	return 0;
}

int sn_xplane_add_program(struct sn_xplane *xplane, const void *bytes, size_t length)
{
	struct sn_hlo hlo;
	int result = sn_hlo_read(&hlo, xplane->builder, bytes, length);
	if (result == SN_ERR_FORMAT) {
		xplane->damaged_programs++;
		sn_hlo_release(&hlo);
		return 0;
	}
	uint32_t number = result ? SONDE_NONE : module_of(xplane, true, hlo.id, hlo.name);
	if (number == SONDE_NONE) {
		sn_hlo_release(&hlo);
		return SN_ERR_MEMORY;
	}
	if (xplane->programs.modules[number].has_hlo) { /* the file repeats a program */
		sn_hlo_release(&hlo);
		return 0;
	}
	return adopt(xplane, number, &hlo);
}

uint32_t sn_xplane_function(struct sn_xplane *xplane, uint32_t name)
{
	uint32_t module = module_of(xplane, false, 0, name);
	if (module != SONDE_NONE)
		xplane->programs.modules[module].is_tensorflow = true;
	return module;
}

uint32_t sn_xplane_node_in(struct sn_xplane *xplane, uint32_t module, uint32_t number)
{
	uint32_t created = node_of(xplane, module, xplane->programs.nodes[number].name);
	struct sn_xplane_node *nodes = xplane->programs.nodes;
	if (created == SONDE_NONE)
		return SONDE_NONE;
	nodes[created].type = nodes[number].type;
	nodes[created].device = nodes[number].device;
	nodes[number].is_elsewhere = true;
	return created;
}

static const struct sn_hlo_instruction *instruction_of(const struct sn_xplane *xplane,
						       const struct sn_xplane_node *node)
{
	return node->instruction == SONDE_NONE
		   ? NULL
		   : xplane->programs.modules[node->module].hlo.instructions + node->instruction;
}

uint32_t sn_xplane_node_frame(struct sn_xplane *xplane, uint32_t number)
{
	struct sn_xplane_node *node = xplane->programs.nodes + number;
	const struct sn_hlo_instruction *instruction = instruction_of(xplane, node);
	char name[1024];
	if (node->frame != SONDE_NONE)
		return node->frame;
	snprintf(name, sizeof(name), "%s/",
		 sn_xplane_text(xplane, xplane->programs.modules[node->module].label));
	size_t used = strlen(name);
	snprintf(name + used, sizeof(name) - used, "%s", sn_xplane_text(xplane, node->name));
	node->frame_name = sn_db_builder_string(xplane->builder, name);
	struct sonde_db_frame frame = {
	    .kind = SN_FRAME_GRAPH_NODE,
	    .name = node->frame_name,
	    .linkage_name = SONDE_NONE,
	    .module = SONDE_NONE,
	    .file = instruction ? instruction->file : SONDE_NONE,
	    .line = instruction && instruction->file != SONDE_NONE ? instruction->line : 0,
	};
	return node->frame = sn_db_builder_frame(xplane->builder, &frame);
}

/* ---- events ---- */

/* Numbers executions by repetition: one begins when the operation runs with which the first on
 * this line began. */
static int find_repetition(struct sn_xplane *xplane, uint32_t module,
			   const struct sn_xplane_ran *ran, uint64_t *run)
{
	struct sn_xplane_programs *programs = &xplane->programs;
	uint32_t before = programs->line_ids.count;
	uint32_t number = sn_table_add(&programs->line_ids, sn_table_pair(module, ran->line));
	if (number == SN_TABLE_NONE ||
	    sn_vec_reserve(&programs->lasts, &programs->last_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	struct sn_xplane_last *last = programs->lasts + number;
	if (number == before)
		*last = (struct sn_xplane_last){.first = ran->node, .first_name = ran->name};
	if (last->first == ran->node && last->first_name == ran->name)
		last->count++;
	*run = last->count;
	return 0;
}

static int note_device(struct sn_xplane_module *module, uint32_t device)
{
	for (size_t i = 0; i < module->device_count; i++)
		if (module->devices[i] == device)
			return 0;
	return module->device_count < DEVICES_MAX &&
		       sn_vec_push(&module->devices, &module->device_capacity,
				   &module->device_count, device)
		   ? SN_ERR_MEMORY
		   : 0;
}

/* Extends an execution of the module to include the operation. */
static int note_run(struct sn_xplane_module *module, uint64_t kind, uint64_t run,
		    const struct sn_xplane_ran *ran)
{
	uint64_t key[2] = {kind, run};
	if (module->run_ids.count >= RUNS_MAX &&
	    sn_intern_find(&module->run_ids, key, sizeof(key)) == SN_INTERN_NONE) {
		module->is_cut = true;
		return 0;
	}
	uint32_t number = sn_intern_item(&module->run_ids, key, sizeof(key), &module->runs,
					 &module->run_capacity, {ran->start_ns, ran->end_ns});
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	struct sn_xplane_run *times = module->runs + number;
	times->start_ns = ran->start_ns < times->start_ns ? ran->start_ns : times->start_ns;
	times->end_ns = ran->end_ns > times->end_ns ? ran->end_ns : times->end_ns;
	return 0;
}

/* When the last of a node's inputs was ready in this execution; 0 unknown. */
static uint64_t inputs_end(const struct sn_xplane *xplane, uint32_t module_number,
			   const struct sn_hlo_instruction *instruction, uint64_t run,
			   unsigned depth)
{
	const struct sn_xplane_module *module = xplane->programs.modules + module_number;
	uint64_t end_ns = 0;
	for (size_t i = 0; i < instruction->operand_count && i < 64; i++) {
		uint32_t input =
		    sn_hlo_instruction(&module->hlo, instruction->computation,
				       module->hlo.ids[instruction->first_operand + i]);
		if (input == SN_INTERN_NONE)
			continue;
		const struct sn_hlo_instruction *from = module->hlo.instructions + input;
		uint32_t number = find_node(xplane, module_number, from->name);
		if (number == SONDE_NONE)
			continue;
		const struct sn_xplane_node *node = xplane->programs.nodes + number;
		uint64_t one = 0;
		if (node->last_run == run)
			one = node->last_end_ns;
		else if (depth && !node->has_run)
			one = inputs_end(xplane, module_number, from, run, depth - 1);
		end_ns = one > end_ns ? one : end_ns;
	}
	return end_ns;
}

/* Adds values that only TensorFlow's executor records. */
static void add_executor_values(struct sn_xplane_node *node, const struct sn_xplane_ran *ran)
{
	const struct sn_xplane_memory *memory = &ran->memory;
	if (ran->scheduled_ns && ran->scheduled_ns <= ran->start_ns)
		sn_stat_add(&node->queue, (double)(ran->start_ns - ran->scheduled_ns));
	if (!memory->allocated && !memory->requested)
		return;
	sn_stat_add(&node->memory, (double)memory->allocated);
	sn_stat_add(&node->requested, (double)memory->requested);
	if (memory->temporary)
		sn_stat_add(&node->temporary, (double)memory->temporary);
	if (memory->persistent)
		sn_stat_add(&node->persistent, (double)memory->persistent);
}

int sn_xplane_ran(struct sn_xplane *xplane, const struct sn_xplane_ran *ran)
{
	struct sn_xplane_node *node = xplane->programs.nodes + ran->node;
	struct sn_xplane_module *module = xplane->programs.modules + node->module;
	const struct sn_hlo_instruction *instruction = instruction_of(xplane, node);
	uint64_t run = ran->run;
	double length = (double)(ran->end_ns - ran->start_ns);
	if (ran->device == SONDE_NONE)
		sn_stat_add(&node->host, length);
	node->has_run = true;
	module->execution_count++;
	if (ran->device != SONDE_NONE && note_device(module, ran->device))
		return SN_ERR_MEMORY;
	if (ran->device != SONDE_NONE)
		node->device = ran->device;
	add_executor_values(node, ran);
	if (module->is_tensorflow && !ran->has_run)
		return 0;
	if (!ran->has_run && find_repetition(xplane, node->module, ran, &run))
		return SN_ERR_MEMORY;
	module->by_repetition |= !ran->has_run;
	/* latency is not computed between devices, because each device runs all operations */
	if (ran->has_run && instruction && node->last_run != run) {
		uint64_t ready_ns =
		    inputs_end(xplane, node->module, instruction, run, TRANSPARENT_MAX);
		if (ready_ns && ready_ns <= ran->start_ns)
			sn_stat_add(&node->latency, (double)(ran->start_ns - ready_ns));
	}
	if (ran->has_run) {
		node->last_run = run;
		node->last_end_ns = ran->end_ns;
	}
	return note_run(module, ran->has_run, run, ran);
}

/* ---- graphs ---- */

static bool is_one_of(const struct sn_xplane *xplane, uint32_t string, const char *const *texts)
{
	const char *text = sn_xplane_text(xplane, string);
	while (*texts && strcmp(*texts, text))
		texts++;
	return *texts;
}

/* Whether the computations that an instruction calls are operations of their own, rather than a
 * function applied to pairs of numbers (as in a reduction). */
static bool has_parts(const struct sn_xplane *xplane, const struct sn_hlo_instruction *instruction)
{
	static const char *const opcodes[] = {"fusion", "while",       "conditional",
					      "call",	"async-start", NULL};
	return is_one_of(xplane, instruction->opcode, opcodes);
}

static bool is_input(const struct sn_xplane *xplane, const struct sn_hlo_instruction *instruction)
{
	static const char *const opcodes[] = {"parameter", "constant", "Placeholder", "Const",
					      NULL};
	return is_one_of(xplane, instruction->opcode, opcodes);
}

static uint32_t devices_text(struct sn_xplane *xplane, const struct sn_xplane_module *module)
{
	char text[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < module->device_count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
					 sn_xplane_text(xplane, module->devices[i]));
	if (!used)
		snprintf(text, sizeof(text), "CPU");
	return sn_db_builder_string(xplane->builder, text);
}

static void add_statistics(struct sn_xplane *xplane, const struct sn_xplane_node *node)
{
	struct sn_db_builder *builder = xplane->builder;
	const struct {
		enum sonde_node_stat kind;
		const struct sonde_db_stat *stat;
	} stats[] = {{SONDE_NODE_TIME, &node->host},
		     {SONDE_NODE_LATENCY, &node->latency},
		     {SONDE_NODE_QUEUE_TIME, &node->queue},
		     {SONDE_NODE_MEMORY, &node->memory},
		     {SONDE_NODE_REQUESTED, &node->requested},
		     {SONDE_NODE_TEMPORARY, &node->temporary},
		     {SONDE_NODE_PERSISTENT, &node->persistent}};
	/* the time on devices is known from the node's contexts */
	for (size_t i = 0; i < sizeof(stats) / sizeof(*stats); i++)
		if (stats[i].stat->count > 0)
			sn_db_builder_graph_stat(builder, node->graph_node, stats[i].kind,
						 stats[i].stat);
}

/* A module while its graph is made. */
struct drawing {
	const struct sn_hlo *hlo;
	uint32_t module; /* the module whose nodes have statistics; SONDE_NONE: none */
	uint32_t model, device;
	bool is_tensorflow;
	uint32_t *graph_nodes; /* by instruction; SONDE_NONE if not drawn */
	bool *is_done;	       /* by computation */
	struct waiting {
		uint32_t computation, parent;
	} * waiting;
	size_t waiting_count, waiting_capacity;
};

/* The device on which TensorFlow ran a node, or was told to; otherwise the model's. */
static uint32_t device_of(struct sn_xplane *xplane, const struct drawing *drawing,
			  const struct sn_hlo_instruction *instruction,
			  const struct sn_xplane_node *node)
{
	if (drawing->is_tensorflow && node && node->device != SONDE_NONE)
		return node->device;
	if (!drawing->is_tensorflow || instruction->target == SONDE_NONE)
		return drawing->device;
	const char *text = sn_xplane_text(xplane, instruction->target);
	const char *at = strstr(text, "/device:");
	return at ? sn_db_builder_string(xplane->builder, at + strlen("/device:"))
		  : instruction->target;
}

static int add_instruction(struct sn_xplane *xplane, struct drawing *drawing, uint32_t index,
			   uint32_t parent)
{
	const struct sn_hlo *hlo = drawing->hlo;
	const struct sn_hlo_instruction *instruction = hlo->instructions + index;
	struct sn_db_builder *builder = xplane->builder;
	uint32_t number = find_node(xplane, drawing->module, instruction->name);
	struct sn_xplane_node *node = number == SONDE_NONE ? NULL : xplane->programs.nodes + number;
	/* functions of TensorFlow share node names; statistics go to the first function
	 * with the name */
	bool is_this = node && (node->instruction == index || (node->instruction == SONDE_NONE &&
							       node->graph_node == SONDE_NONE));
	struct sonde_graph_node created = SN_GRAPH_NODE;
	created.model = drawing->model;
	created.name = instruction->name;
	created.type = instruction->opcode;
	created.module = instruction->path;
	created.device = device_of(xplane, drawing, instruction, node);
	created.file = instruction->file;
	created.line = instruction->line;
	created.function = instruction->function;
	created.parent = parent;
	created.detail = drawing->is_tensorflow		     ? SONDE_NONE
			 : instruction->target != SONDE_NONE ? instruction->target
							     : instruction->callers;
	created.id = hlo->is_text ? 0 : instruction->id;
	created.flags = (is_input(xplane, instruction) ? SONDE_NODE_INPUT : 0) |
			(is_this && node->frame != SONDE_NONE ? SONDE_NODE_HAS_CONTEXTS : 0);
	drawing->graph_nodes[index] = sn_db_builder_graph_node(builder, &created);
	if (is_this) {
		node->graph_node = drawing->graph_nodes[index];
		add_statistics(xplane, node);
	}
	for (size_t i = 0; i < instruction->called_count && has_parts(xplane, instruction); i++) {
		uint32_t called = sn_hlo_computation(hlo, hlo->ids[instruction->first_called + i]);
		if (called == SN_INTERN_NONE || drawing->is_done[called])
			continue;
		drawing->is_done[called] = true;
		if (sn_vec_push(&drawing->waiting, &drawing->waiting_capacity,
				&drawing->waiting_count,
				(struct waiting){called, drawing->graph_nodes[index]}))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static void add_edges(struct sn_xplane *xplane, const struct drawing *drawing)
{
	const struct sn_hlo *hlo = drawing->hlo;
	for (size_t i = 0; i < hlo->instruction_count; i++) {
		const struct sn_hlo_instruction *to = hlo->instructions + i;
		for (size_t k = 0; k < to->operand_count; k++) {
			uint32_t from = sn_hlo_instruction(hlo, to->computation,
							   hlo->ids[to->first_operand + k]);
			if (from == SN_INTERN_NONE || drawing->graph_nodes[i] == SONDE_NONE)
				continue;
			struct sonde_graph_edge edge = {
			    .from = drawing->graph_nodes[from],
			    .to = drawing->graph_nodes[i],
			    .index = (uint32_t)k,
			    .kind = SONDE_EDGE_DATA,
			    .bytes = hlo->instructions[from].bytes,
			};
			sn_db_builder_graph_edge(xplane->builder, &edge);
		}
	}
}

/* Draws computations from the program's entry on, each below the first instruction
 * that calls it. */
static int draw_instructions(struct sn_xplane *xplane, struct drawing *drawing)
{
	const struct sn_hlo *hlo = drawing->hlo;
	uint32_t entry = sn_hlo_computation(hlo, hlo->entry);
	int result = 0;
	if (entry == SN_INTERN_NONE)
		entry = (uint32_t)hlo->computation_count - 1;
	if (sn_vec_push(&drawing->waiting, &drawing->waiting_capacity, &drawing->waiting_count,
			(struct waiting){entry, SONDE_NONE}))
		return SN_ERR_MEMORY;
	drawing->is_done[entry] = true;
	while (drawing->waiting_count && !result) {
		struct waiting next = drawing->waiting[--drawing->waiting_count];
		const struct sn_hlo_computation *computation = hlo->computations + next.computation;
		for (size_t i = 0; i < computation->count && !result; i++)
			result = add_instruction(xplane, drawing,
						 (uint32_t)(computation->first + i), next.parent);
	}
	if (!result)
		add_edges(xplane, drawing);
	return result;
}

static int draw_hlo(struct sn_xplane *xplane, const struct sn_hlo *hlo, uint32_t module,
		    uint32_t model, uint32_t device)
{
	struct drawing drawing = {
	    .hlo = hlo,
	    .module = module,
	    .model = model,
	    .device = device,
	    .is_tensorflow = module != SONDE_NONE && xplane->programs.modules[module].is_tensorflow,
	    .graph_nodes = malloc((hlo->instruction_count + 1) * sizeof(uint32_t)),
	    .is_done = calloc(hlo->computation_count + 1, sizeof(bool)),
	};
	int result = SN_ERR_MEMORY;
	if (drawing.graph_nodes && drawing.is_done) {
		memset(drawing.graph_nodes, 0xff, (hlo->instruction_count + 1) * sizeof(uint32_t));
		result = draw_instructions(xplane, &drawing);
	}
	free(drawing.graph_nodes);
	free(drawing.is_done);
	free(drawing.waiting);
	return result;
}

/* Draws the nodes that are known from events only, without edges. */
static void draw_seen(struct sn_xplane *xplane, uint32_t number, uint32_t model)
{
	struct sn_xplane_programs *programs = &xplane->programs;
	uint32_t device = devices_text(xplane, programs->modules + number);
	struct sn_xplane_node *node;
	for (uint32_t i = programs->modules[number].first_node; i != SONDE_NONE; i = node->next) {
		node = programs->nodes + i;
		if (node->graph_node != SONDE_NONE || node->instruction != SONDE_NONE ||
		    (node->is_elsewhere && !node->host.count))
			continue;
		struct sonde_graph_node created = SN_GRAPH_NODE;
		created.model = model;
		created.name = node->name;
		created.type = node->type;
		created.device = node->device != SONDE_NONE ? node->device : device;
		created.flags = node->frame != SONDE_NONE ? SONDE_NODE_HAS_CONTEXTS : 0;
		node->graph_node = sn_db_builder_graph_node(xplane->builder, &created);
		add_statistics(xplane, node);
	}
}

SN_SORT_BY(sort_runs, struct sn_xplane_run, const void *, SN_ORDER(a->start_ns, b->start_ns));

/* Converts the time of a run, which has SN_TRACK_TIME_MAX added to avoid negative times. */
static uint64_t time_of(const struct sn_xplane *xplane, uint64_t raw_ns)
{
	return sn_track_sink_time(xplane->sink, (int64_t)raw_ns - SN_TRACK_TIME_MAX);
}

static void add_iterations(struct sn_xplane *xplane, struct sn_xplane_run *runs, size_t count,
			   uint32_t model)
{
	sort_runs(runs, count, NULL);
	for (size_t i = 0; i < count; i++) {
		struct sonde_graph_iteration created = {
		    .model = model,
		    .number = i,
		    .start_ns = time_of(xplane, runs[i].start_ns),
		    .end_ns = time_of(xplane, runs[i].end_ns),
		};
		sn_db_builder_graph_iteration(xplane->builder, &created);
	}
}

static struct sonde_graph_model model_of(struct sn_xplane *xplane, uint32_t name,
					 const char *source)
{
	struct sonde_graph_model model = SN_GRAPH_MODEL;
	model.name = name;
	model.source = sn_db_builder_string(xplane->builder, source);
	sn_track_sink_sign(xplane->sink, &model);
	model.host = xplane->host;
	model.pid = xplane->pid > 0 ? (uint64_t)xplane->pid : 0;
	return model;
}

static int draw(struct sn_xplane *xplane, uint32_t number)
{
	struct sn_xplane_module *module = xplane->programs.modules + number;
	struct sn_db_builder *builder = xplane->builder;
	bool is_marked = module->is_tensorflow && xplane->step_count;
	struct sonde_graph_model model =
	    model_of(xplane, module->label, module->is_tensorflow ? "TensorFlow" : "XLA");
	if (module->has_hlo && module->is_tensorflow)
		model.name = make_label(xplane, module->hlo.name, number);
	if (module->has_hlo)
		model.edges_by =
		    sn_db_builder_string(builder, module->is_tensorflow ? "the function's graph"
									: "the compiled program");
	if (module->run_ids.count || is_marked)
		model.iterations_by =
		    sn_db_builder_string(builder, is_marked		  ? "marked"
						  : module->by_repetition ? "repetition"
									  : "executions");
	model.flags = (module->is_cut ? SONDE_MODEL_ITERATIONS_CUT : 0) |
		      (module->is_tensorflow && xplane->marks_are_cut ? SONDE_MODEL_SAMPLED : 0);
	uint32_t created = sn_db_builder_graph_model(builder, &model);
	int result = module->has_hlo ? draw_hlo(xplane, &module->hlo, number, created,
						devices_text(xplane, module))
				     : 0;
	if (result)
		return result;
	draw_seen(xplane, number, created);
	module = xplane->programs.modules + number;
	if (is_marked)
		add_iterations(xplane, xplane->steps, xplane->step_count, created);
	else
		add_iterations(xplane, module->runs, module->run_ids.count, created);
	return 0;
}

/* ---- programs before XLA's passes ---- */

/* Reads a program from a file. 0, SN_ERR_FORMAT (not a program) or SN_ERR_MEMORY;
 * to be released. */
static int read_program(struct sn_xplane *xplane, const char *path, struct sn_hlo *hlo)
{
	unsigned char *bytes;
	size_t length;
	struct sn_error error;
	*hlo = (struct sn_hlo){0};
	int result = sn_import_cursor_load(path, &bytes, &length, &error);
	if (result)
		return result == SN_ERR_MEMORY ? result : SN_ERR_FORMAT;
	result = sn_hlo_read(hlo, xplane->builder, bytes, length);
	free(bytes);
	return result;
}

/* ---- programs as texts ---- */

/* The instruction whose source place an instruction has: for a fusion without one, its result. */
static const struct sn_hlo_instruction *placed(const struct sn_hlo *hlo,
					       const struct sn_hlo_instruction *instruction)
{
	uint32_t called = instruction->file == SONDE_NONE && instruction->called_count
			      ? sn_hlo_computation(hlo, hlo->ids[instruction->first_called])
			      : SN_INTERN_NONE;
	if (called == SN_INTERN_NONE || !hlo->computations[called].count)
		return instruction;
	const struct sn_hlo_computation *computation = hlo->computations + called;
	return hlo->instructions + computation->first + computation->count - 1;
}

/* The node "MODULE/INSTRUCTION", in the first program that has it, or SONDE_NONE. */
static uint32_t node_named(struct sn_xplane *xplane, const char *name)
{
	const struct sn_xplane_programs *programs = &xplane->programs;
	const char *slash = strchr(name, '/');
	size_t length = slash ? (size_t)(slash - name) : 0;
	uint32_t found = SONDE_NONE;
	uint32_t instruction =
	    slash ? sn_db_builder_string(xplane->builder, slash + 1) : SONDE_NONE;
	for (uint32_t i = 0; slash && found == SONDE_NONE && i < programs->module_ids.count; i++) {
		const char *text = sn_xplane_text(xplane, programs->modules[i].name);
		if (strncmp(text, name, length) == 0 && !text[length])
			found = find_node(xplane, i, instruction);
	}
	return found;
}

/* For a measured frame that names a node: gives its line, and marks its module as run. */
static void place_frame(void *context, const char *name, uint32_t *file, uint32_t *line)
{
	struct sn_xplane *xplane = context;
	struct sn_xplane_programs *programs = &xplane->programs;
	char *copy = strdup(name); /* the builder's texts move when a string is added */
	uint32_t found = copy ? node_named(xplane, copy) : SONDE_NONE;
	free(copy);
	if (found == SONDE_NONE)
		return;
	struct sn_xplane_node *node = programs->nodes + found;
	struct sn_xplane_module *module = programs->modules + node->module;
	const struct sn_hlo_instruction *place =
	    placed(&module->hlo, module->hlo.instructions + node->instruction);
	module->execution_count = 1;
	node->frame = 0; /* any value but SONDE_NONE: the node has a frame */
	*file = place->file;
	*line = place->file == SONDE_NONE ? 0 : place->line;
}

int sn_xplane_programs(struct sn_xplane *xplane, const char *text, const char *end, bool is_drawn)
{
	struct sn_xplane_programs *programs = &xplane->programs;
	bool any_ran = false;
	while (text < end) {
		struct sn_hlo hlo;
		int result = sn_hlo_read_text(&hlo, xplane->builder, &text, end);
		/* several programs may have one name, so each gets a number of its own */
		uint32_t number =
		    result ? SONDE_NONE
			   : module_of(xplane, true, programs->module_ids.count, hlo.name);
		if (number != SONDE_NONE)
			result = adopt(xplane, number, &hlo);
		sn_hlo_release(&hlo);
		if (result == SN_ERR_FORMAT)
			xplane->damaged_programs++;
		else if (result || number == SONDE_NONE)
			return SN_ERR_MEMORY;
	}
	sn_db_builder_place_frames(xplane->builder, SN_FRAME_GRAPH_NODE, place_frame, xplane);
	for (uint32_t i = 0; i < programs->module_ids.count; i++)
		any_ran |= programs->modules[i].execution_count > 0;
	return any_ran && is_drawn ? sn_xplane_graphs(xplane) : 0;
}

/* As its own module, whatever number or name it has: those of several plugins may be equal. */
static int adopt_compiled(struct sn_xplane *xplane, struct sn_hlo *hlo)
{
	uint32_t number = module_of(xplane, true, xplane->programs.module_ids.count, hlo->name);
	return number == SONDE_NONE ? SN_ERR_MEMORY : adopt(xplane, number, hlo);
}

static int add_compiled(struct sn_xplane *xplane, const unsigned char *bytes, size_t length,
			bool has_profile)
{
	struct sn_hlo hlo;
	int result = sn_hlo_read(&hlo, xplane->builder, bytes, length);
	if (!result && !(has_profile && sn_db_builder_has_graph_model(xplane->builder, hlo.name)))
		result = adopt_compiled(xplane, &hlo);
	sn_hlo_release(&hlo);
	if (result != SN_ERR_FORMAT)
		return result;
	xplane->damaged_programs++;
	return 0;
}

int sn_xplane_compiled(struct sn_xplane *xplane, const unsigned char *bytes, size_t length,
		       bool has_profile)
{
	uint64_t program;
	while (length >= sizeof(program)) {
		memcpy(&program, bytes, sizeof(program));
		bytes += sizeof(program);
		length -= sizeof(program);
		if (!program || program > length) {
			xplane->damaged_programs += program != 0;
			break;
		}
		if (add_compiled(xplane, bytes, program, has_profile))
			return SN_ERR_MEMORY;
		bytes += program;
		length -= program;
	}
	return sn_xplane_graphs(xplane);
}

/* Draws a program that ran as it was before compilation, as the model "NAME before
 * XLA's passes". */
static int draw_before(struct sn_xplane *xplane, struct sn_hlo *hlo)
{
	struct sn_db_builder *builder = xplane->builder;
	struct module_key key = {true, hlo->id, 0};
	uint32_t number = sn_intern_find(&xplane->programs.module_ids, &key, sizeof(key));
	char name[512];
	if (number == SN_INTERN_NONE || xplane->programs.modules[number].name != hlo->name ||
	    !xplane->programs.modules[number].execution_count)
		return 0;
	snprintf(name, sizeof(name), "%.480s before XLA's passes",
		 sn_xplane_text(xplane, xplane->programs.modules[number].label));
	struct sonde_graph_model model =
	    model_of(xplane, sn_db_builder_string(builder, name), "XLA");
	model.edges_by = sn_db_builder_string(builder, "the program");
	return draw_hlo(xplane, hlo, SONDE_NONE, sn_db_builder_graph_model(builder, &model),
			SONDE_NONE);
}

/* Draws a function of TensorFlow, if an operation in it ran that no earlier function contains. */
static int draw_function(struct sn_xplane *xplane, struct sn_hlo *hlo)
{
	struct sn_db_builder *builder = xplane->builder;
	struct module_key key = {false, 0, sn_db_builder_string(builder, "TensorFlow")};
	uint32_t number = sn_intern_find(&xplane->programs.module_ids, &key, sizeof(key));
	bool any_ran = false;
	for (size_t i = 0; i < hlo->instruction_count && number != SN_INTERN_NONE; i++) {
		uint32_t found = find_node(xplane, number, hlo->instructions[i].name);
		if (found == SONDE_NONE)
			continue;
		const struct sn_xplane_node *node = xplane->programs.nodes + found;
		any_ran |= node->graph_node == SONDE_NONE && node->has_run && !node->is_elsewhere;
	}
	if (!any_ran)
		return 0;
	struct sonde_graph_model model = model_of(xplane, hlo->name, "TensorFlow");
	model.edges_by = sn_db_builder_string(builder, "the function's graph");
	if (xplane->step_count)
		model.iterations_by = sn_db_builder_string(builder, "marked");
	uint32_t created = sn_db_builder_graph_model(builder, &model);
	add_iterations(xplane, xplane->steps, xplane->step_count, created);
	return draw_hlo(xplane, hlo, number, created,
			devices_text(xplane, xplane->programs.modules + number));
}

static int is_program(const struct dirent *entry)
{
	return sn_text_ends(entry->d_name, ".hlo.pb");
}

/* Reads each program of a folder beside the file, in the order of names; the folder
 * may be missing. */
static int draw_beside(struct sn_xplane *xplane, const char *folder,
		       int (*draw_one)(struct sn_xplane *xplane, struct sn_hlo *hlo))
{
	char path[4608];
	struct dirent **entries;
	if (!xplane->beside ||
	    snprintf(path, sizeof(path), "%s/%s", xplane->beside, folder) >= PATH_MAX)
		return 0;
	int count = scandir(path, &entries, is_program, alphasort), result = 0;
	for (int i = 0; i < count; i++) {
		struct sn_hlo hlo;
		snprintf(path, sizeof(path), "%s/%s/%s", xplane->beside, folder,
			 entries[i]->d_name);
		free(entries[i]);
		if (result)
			continue;
		result = read_program(xplane, path, &hlo);
		if (!result)
			result = draw_one(xplane, &hlo);
		sn_hlo_release(&hlo);
		if (result == SN_ERR_FORMAT) {
			xplane->damaged_programs++;
			result = 0;
		}
	}
	if (count >= 0)
		free(entries);
	return result;
}

static int describe_function(struct sn_xplane *xplane, struct sn_hlo *hlo)
{
	struct module_key key = {false, 0, hlo->entry_name};
	uint32_t number = sn_intern_find(&xplane->programs.module_ids, &key, sizeof(key));
	return number == SN_INTERN_NONE || hlo->entry_name == SONDE_NONE ||
		       xplane->programs.modules[number].has_hlo
		   ? 0
		   : adopt(xplane, number, hlo);
}

int sn_xplane_describe_functions(struct sn_xplane *xplane)
{
	return draw_beside(xplane, "graphs", describe_function);
}

/* Whether a module has nodes that have not been drawn. */
static bool is_left(const struct sn_xplane *xplane, const struct sn_xplane_module *module)
{
	const struct sn_xplane_node *nodes = xplane->programs.nodes;
	for (uint32_t i = module->first_node; i != SONDE_NONE; i = nodes[i].next)
		if (nodes[i].graph_node == SONDE_NONE &&
		    (!nodes[i].is_elsewhere || nodes[i].host.count))
			return true;
	return false;
}

/* Draws the programs that ran; all programs if the file has no events of any. */
int sn_xplane_graphs(struct sn_xplane *xplane)
{
	const struct sn_xplane_programs *programs = &xplane->programs;
	bool any_ran = false;
	int result = draw_beside(xplane, "graphs", draw_function);
	for (uint32_t i = 0; i < programs->module_ids.count; i++)
		any_ran |= programs->modules[i].execution_count > 0;
	for (uint32_t i = 0; i < programs->module_ids.count && !result; i++)
		if ((programs->modules[i].execution_count || !any_ran) &&
		    is_left(xplane, programs->modules + i))
			result = draw(xplane, i);
	return result ? result : draw_beside(xplane, "dump", draw_before);
}

void sn_xplane_release_programs(struct sn_xplane_programs *programs)
{
	for (uint32_t i = 0; i < programs->module_ids.count; i++) {
		sn_hlo_release(&programs->modules[i].hlo);
		sn_intern_release(&programs->modules[i].run_ids);
		free(programs->modules[i].runs);
		free(programs->modules[i].devices);
	}
	free(programs->modules);
	free(programs->nodes);
	free(programs->lasts);
	sn_intern_release(&programs->module_ids);
	sn_table_release(&programs->module_names);
	sn_table_release(&programs->node_ids);
	sn_table_release(&programs->line_ids);
	*programs = (struct sn_xplane_programs){0};
}
