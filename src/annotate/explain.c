/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. */
#include "explain.h"

#include "mca.h"
#include "scene.h"

#include "base/error.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MCA_LIMIT_MS = 20000, MCA_BLOCK_MOST = 400, MCA_ALL_MOST = 200000 };

/* ---- the issue model ---- */

/* The cycles of each block by the simple model. */
static int model_function(struct sn_annotated_function *function)
{
	struct sn_insn_effect *effects = malloc((function->count + 1) * sizeof(*effects));
	struct sn_issue *issues = malloc((function->count + 1) * sizeof(*issues));
	int result = effects && issues ? 0 : SN_ERR_MEMORY;
	for (uint32_t block = 0; !result && block < function->block_count; block++) {
		struct sn_annotated_block *own = &function->blocks[block];
		for (uint32_t i = 0; i < own->count; i++)
			effects[i] = function->instructions[own->first + i].effect;
		result = sn_issue_block(effects, own->count, issues, &own->issue);
		for (uint32_t i = 0; !result && i < own->count; i++)
			function->instructions[own->first + i].issue = issues[i];
	}
	free(effects);
	free(issues);
	return result;
}

struct asking {
	struct sn_mca_block *blocks;
	struct sn_annotated_block **owners;
	struct sn_annotated_function **functions;
	size_t count, capacity, owner_capacity, function_capacity, instructions;
};

static bool is_asked(const struct sn_annotated_instruction *one)
{
	return one->assembly && *one->assembly && one->effect.kind != SN_EFFECT_CALL &&
	       one->effect.kind != SN_EFFECT_RETURN;
}

static int add_block(struct asking *asking, struct sn_annotated_function *function,
		     struct sn_annotated_block *block)
{
	size_t owners = asking->count, functions = asking->count;
	struct sn_mca_instruction *list = calloc(block->count, sizeof(*list));
	int result = list ? 0 : SN_ERR_MEMORY;
	for (uint32_t i = 0; !result && i < block->count; i++) {
		const struct sn_annotated_instruction *one =
		    &function->instructions[block->first + i];
		list[i].text = is_asked(one) ? one->assembly : NULL;
	}
	result =
	    result ? result : sn_vec_push(&asking->owners, &asking->owner_capacity, &owners, block);
	result = result ? result
			: sn_vec_push(&asking->functions, &asking->function_capacity, &functions,
				      function);
	result = result ? result
			: sn_vec_push(&asking->blocks, &asking->capacity, &asking->count,
				      (struct sn_mca_block){list, block->count, false, 0, 0});
	if (result)
		free(list);
	asking->instructions += block->count;
	return result;
}

static bool is_worth_asking(const struct asking *asking,
			    const struct sn_annotated_function *function,
			    const struct sn_annotated_block *block)
{
	return function->is_modelled && block->samples > 0 && block->count &&
	       block->count <= MCA_BLOCK_MOST && asking->instructions < MCA_ALL_MOST;
}

/* In place of the simple model's. */
static void take_answer(const struct asking *asking, size_t number)
{
	const struct sn_mca_block *told = &asking->blocks[number];
	struct sn_annotated_block *block = asking->owners[number];
	if (!told->is_known)
		return;
	block->issue.loop = told->cycles;
	block->issue.resource = told->resource;
	block->issue.parts = 0;
	for (uint32_t i = 0; i < block->count; i++) {
		const struct sn_mca_instruction *one = &told->instructions[i];
		struct sn_issue *issue =
		    &asking->functions[number]->instructions[block->first + i].issue;
		block->issue.parts += one->is_known ? one->parts : 1;
		if (!one->is_known)
			continue;
		issue->least = one->head;
		issue->dependency = fminf(one->head, one->wait);
		issue->port = fminf(one->head - issue->dependency, one->queue);
		issue->latency = one->latency;
	}
}

static int ask(struct sn_annotation *annotation)
{
	struct asking asking = {0};
	int result = 0;
	for (size_t number = 0; number < annotation->function_count; number++) {
		struct sn_annotated_function *function = &annotation->functions[number];
		for (uint32_t block = 0; !result && block < function->block_count; block++)
			if (is_worth_asking(&asking, function, &function->blocks[block]))
				result = add_block(&asking, function, &function->blocks[block]);
	}
	if (!result)
		annotation->no_mca =
		    sn_mca_ask(asking.blocks, asking.count, NULL, MCA_LIMIT_MS, &annotation->texts);
	for (size_t i = 0; i < asking.count; i++) {
		if (!result)
			take_answer(&asking, i);
		free(asking.blocks[i].instructions);
	}
	free(asking.blocks);
	free(asking.owners);
	free(asking.functions);
	return result;
}

/* ---- frequencies ---- */

static void count_access(struct sn_issue_block *issue, const struct sn_scene *scene,
			 size_t instruction)
{
	const struct sn_insn_effect *effect = &scene->function->instructions[instruction].effect;
	if ((!effect->loads && !effect->stores) || effect->is_stack)
		return;
	struct sn_scene_source source = sn_scene_source_of(scene, instruction);
	issue->lines += source.is_spread;
	issue->pages += source.is_paged;
	issue->loads += effect->loads;
	issue->dependent_loads += effect->loads && (source.is_loaded || source.is_chase);
}

static void count_accesses(struct sn_annotated_function *function, const struct sn_scene *scene)
{
	for (uint32_t block = 0; block < function->block_count; block++) {
		struct sn_annotated_block *own = &function->blocks[block];
		for (uint32_t i = own->first; i < own->first + own->count; i++)
			count_access(&own->issue, scene, i);
	}
}

/*
 * Cycles that an execution should take, waits among them. A processor that executes out of order overlaps what is in its window: of the least time that units need a part is seen, and most of the time goes
 * into what cannot be overlapped. The coefficients are those of six programs beside exact counts (docs/results/frequency.md), rounded; of what goes from line to line and page to page they are guesses.
 */
static double cycles_of(const struct sn_annotated_function *function,
			const struct sn_annotated_block *block, bool follows_itself)
{
	const struct sn_issue_block *issue = &block->issue;
	double least = fmax((double)issue->parts / SN_ISSUE_WIDTH, (double)issue->resource);
	double cycles = 0.25 * least + 0.5 * issue->loads + 0.7 * issue->dependent_loads +
			4 * issue->lines + 8 * issue->pages;
	uint32_t branches = 0;
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct sn_insn_effect *effect = &function->instructions[i].effect;
		branches += effect->kind == SN_EFFECT_BRANCH;
		if (effect->kind == SN_EFFECT_LONG || effect->kind == SN_EFFECT_WAIT ||
		    effect->kind == SN_EFFECT_FENCE || effect->is_atomic)
			cycles += effect->latency;
	}
	/* who enters it from elsewhere may have been foreseen wrongly */
	cycles += follows_itself ? 0.5 * fmax((double)issue->loop - least, 0) : 1 + 0.4 * branches;
	return fmax(cycles, 0.1);
}

static void know(const struct sn_annotated_function *function, struct sn_frequency_block *blocks)
{
	for (uint32_t block = 0; block < function->block_count; block++)
		blocks[block].doubt = 0;
	for (uint32_t edge = 0; edge < function->edge_count; edge++)
		if (function->edges[edge].from == function->edges[edge].to)
			blocks[function->edges[edge].from].doubt = 1;
	for (uint32_t block = 0; block < function->block_count; block++) {
		const struct sn_annotated_block *own = &function->blocks[block];
		double cycles = cycles_of(function, own, blocks[block].doubt > 0);
		blocks[block] = (struct sn_frequency_block){own->samples, cycles,
							    own->issue.dependent_loads ? 1.5 : 1};
	}
}

static void keep_frequencies(struct sn_annotated_function *function,
			     const struct sn_frequencies *found)
{
	for (uint32_t block = 0; block < function->block_count; block++) {
		struct sn_annotated_block *own = &function->blocks[block];
		own->frequency = found->block_count[block];
		own->confidence = found->block_confidence[block];
		for (uint32_t i = own->first; i < own->first + own->count; i++) {
			function->instructions[i].frequency = own->frequency;
			function->instructions[i].confidence = own->confidence;
		}
	}
	for (uint32_t edge = 0; edge < function->edge_count; edge++) {
		function->edges[edge].frequency = found->edge_count[edge];
		function->edges[edge].confidence = found->edge_confidence[edge];
	}
}

static int find_frequencies(struct sn_annotated_function *function)
{
	struct sn_frequency_block *blocks = malloc((function->block_count + 1) * sizeof(*blocks));
	struct sn_flow_graph graph;
	struct sn_frequencies found = {0};
	struct sn_scene scene = {0};
	int result = sn_scene_graph(function, &graph);
	result = result ? result : sn_scene_find(&scene, function);
	if (!result)
		count_accesses(function, &scene);
	if (!blocks)
		result = SN_ERR_MEMORY;
	if (!result)
		know(function, blocks);
	result = result ? result : sn_frequencies_find(&found, &graph, blocks);
	if (!result)
		keep_frequencies(function, &found);
	sn_frequencies_release(&found);
	sn_scene_release(&scene);
	free(graph.blocks);
	free(graph.edges);
	free(blocks);
	return result;
}

static int explain_function(struct sn_annotated_function *function,
			    const struct sn_blame_footprint *footprint, struct sn_arena *arena)
{
	for (size_t i = 0; i < function->count; i++)
		function->instructions[i].blame.cycles = NAN;
	if (!function->is_modelled || !(function->samples > 0))
		return 0;
	int result = find_frequencies(function);
	return result ? result : sn_blame_function(function, footprint, arena);
}

int sn_explain(struct sn_annotation *annotation, const struct sn_blame_footprint *footprint,
	       bool no_mca)
{
	int result = 0;
	for (size_t i = 0; !result && i < annotation->function_count; i++)
		result = model_function(&annotation->functions[i]);
	if (!result && !no_mca)
		result = ask(annotation);
	for (size_t i = 0; !result && i < annotation->function_count; i++)
		result = explain_function(&annotation->functions[i], footprint, &annotation->texts);
	return result;
}
