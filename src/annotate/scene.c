/* SPDX-License-Identifier: Apache-2.0 */
/* See scene.h. */
#include "scene.h"

#include "equivalence.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { BACK_MOST = 40, SOURCE_DEPTH = 6, PAGE_SHIFT = 12, LINE_BYTES = 64 };

int sn_scene_graph(const struct sn_annotated_function *function, struct sn_flow_graph *graph)
{
	*graph = (struct sn_flow_graph){
	    .blocks = calloc(function->block_count + 1, sizeof(*graph->blocks)),
	    .edges = calloc(function->edge_count + 1, sizeof(*graph->edges)),
	    .block_count = function->block_count,
	    .edge_count = function->edge_count};
	if (!graph->blocks || !graph->edges)
		return SN_ERR_MEMORY;
	for (uint32_t block = 0; block < function->block_count; block++) {
		graph->blocks[block].start = function->blocks[block].start;
		graph->blocks[block].end = function->blocks[block].end;
		if (function->blocks[block].start == function->start)
			graph->entry = block;
	}
	for (uint32_t edge = 0; edge < function->edge_count; edge++)
		graph->edges[edge] =
		    (struct sn_flow_edge){function->edges[edge].from, function->edges[edge].to,
					  function->edges[edge].class == SN_EQUIVALENCE_NONE};
	return 0;
}

/* ---- loops ---- */

static void count_instruction(struct sn_scene_loop *loop, const struct sn_insn_effect *effect)
{
	bool is_step = effect->stepped < 64;
	uint64_t registers = effect->writes & ~(UINT64_C(1) << SN_EFFECT_FLAGS);
	loop->written |= effect->writes;
	loop->count++;
	loop->loads += effect->loads && !effect->is_stack;
	loop->stores += effect->stores && !effect->is_stack;
	loop->has_wait |= effect->kind == SN_EFFECT_WAIT;
	loop->has_atomic |= effect->is_atomic;
	loop->has_call |= effect->kind == SN_EFFECT_CALL;
	if (is_step)
		loop->step[effect->stepped] += effect->step;
	else
		loop->unsteady |= registers;
}

static void count_block(struct sn_scene *scene, uint32_t block)
{
	const struct sn_annotated_block *own = &scene->function->blocks[block];
	for (uint32_t at = scene->forest.block_loops[block]; at != SN_FLOW_NONE;
	     at = scene->forest.loops[at].parent)
		for (uint32_t i = own->first; i < own->first + own->count; i++)
			count_instruction(&scene->loops[at],
					  &scene->function->instructions[i].effect);
}

static int find_loops(struct sn_scene *scene)
{
	struct sn_flow_graph graph;
	int result = sn_scene_graph(scene->function, &graph);
	result = result ? result : sn_loop_forest_build(&scene->forest, &graph);
	if (!result) {
		scene->loops = calloc(scene->forest.loop_count + 1, sizeof(*scene->loops));
		result = scene->loops ? 0 : SN_ERR_MEMORY;
	}
	for (uint32_t block = 0; !result && block < graph.block_count; block++)
		count_block(scene, block);
	free(graph.blocks);
	free(graph.edges);
	return result;
}

static bool is_in_loop(const struct sn_scene *scene, uint32_t block, uint32_t loop)
{
	uint32_t at = scene->forest.block_loops[block];
	while (at != SN_FLOW_NONE && at != loop)
		at = scene->forest.loops[at].parent;
	return at == loop;
}

/* Of each block the only one before it that is in its loop, or in the function where it is in none. */
static int find_before(struct sn_scene *scene)
{
	const struct sn_annotated_function *function = scene->function;
	bool *has_several = calloc(function->block_count + 1, sizeof(*has_several));
	scene->before = malloc((function->block_count + 1) * sizeof(*scene->before));
	if (scene->before)
		memset(scene->before, 0xff, (function->block_count + 1) * sizeof(*scene->before));
	for (uint32_t edge = 0; has_several && scene->before && edge < function->edge_count;
	     edge++) {
		uint32_t from = function->edges[edge].from, to = function->edges[edge].to;
		uint32_t loop = scene->forest.block_loops[to];
		if (loop != SN_FLOW_NONE && !is_in_loop(scene, from, loop))
			continue;
		has_several[to] |= scene->before[to] != SN_FLOW_NONE && scene->before[to] != from;
		scene->before[to] = from;
	}
	for (uint32_t block = 0; has_several && scene->before && block < function->block_count;
	     block++)
		if (has_several[block])
			scene->before[block] = SN_FLOW_NONE;
	bool is_made = has_several && scene->before;
	free(has_several);
	return is_made ? 0 : SN_ERR_MEMORY;
}

void sn_scene_release(struct sn_scene *scene)
{
	free(scene->before);
	sn_loop_forest_release(&scene->forest);
	free(scene->loops);
	free(scene->block_of);
	*scene = (struct sn_scene){0};
}

int sn_scene_find(struct sn_scene *scene, const struct sn_annotated_function *function)
{
	*scene = (struct sn_scene){.function = function};
	scene->block_of = malloc((function->count + 1) * sizeof(*scene->block_of));
	if (!scene->block_of)
		return SN_ERR_MEMORY;
	memset(scene->block_of, 0xff, (function->count + 1) * sizeof(*scene->block_of));
	for (uint32_t block = function->block_count; block-- > 0;)
		for (uint32_t i = 0; i < function->blocks[block].count; i++)
			scene->block_of[function->blocks[block].first + i] = block;
	int result = function->block_count ? find_loops(scene) : 0;
	return result || !function->block_count ? result : find_before(scene);
}

const struct sn_scene_loop *sn_scene_loop_at(const struct sn_scene *scene, size_t instruction)
{
	uint32_t block = scene->block_of[instruction];
	uint32_t loop = block == SN_FLOW_NONE ? SN_FLOW_NONE : scene->forest.block_loops[block];
	return loop == SN_FLOW_NONE ? NULL : &scene->loops[loop];
}

/* ---- where values come from ---- */

size_t sn_scene_maker(const struct sn_scene *scene, size_t instruction, uint64_t wanted)
{
	const struct sn_annotated_function *function = scene->function;
	uint32_t block = scene->block_of[instruction];
	size_t at = instruction;
	for (uint32_t back = 0; wanted && block != SN_FLOW_NONE && back < BACK_MOST; back++) {
		while (at == function->blocks[block].first) {
			block = scene->before[block];
			if (block == SN_FLOW_NONE || !function->blocks[block].count)
				return SIZE_MAX;
			at = function->blocks[block].first + function->blocks[block].count;
		}
		at--;
		if (function->instructions[at].effect.writes & wanted)
			return at;
		if (at == instruction)
			break;
	}
	return SIZE_MAX;
}

/* Whether a register steps by so many bytes or more in each turn of the loop. */
static bool has_step(const struct sn_scene_loop *loop, uint8_t reg, unsigned scale, int64_t bytes)
{
	if (!loop || reg >= 64 || (loop->unsteady >> reg & 1))
		return false;
	int64_t step = loop->step[reg] * (int64_t)(scale ? scale : 1);
	return step >= bytes || step <= -bytes;
}

static bool has_address_step(const struct sn_scene_loop *loop, const struct sn_insn_effect *effect,
			     int64_t bytes)
{
	return has_step(loop, effect->base, 1, bytes) ||
	       has_step(loop, effect->index, effect->scale, bytes);
}

/* Follows registers of an address to what made them. */
static void follow(const struct sn_scene *scene, size_t from, size_t at, uint64_t wanted,
		   unsigned depth, struct sn_scene_source *source)
{
	for (uint64_t left = wanted; left && depth < SOURCE_DEPTH; left &= left - 1) {
		size_t maker = sn_scene_maker(scene, at, left & -left);
		if (maker == SIZE_MAX)
			continue;
		const struct sn_insn_effect *effect = &scene->function->instructions[maker].effect;
		source->is_loaded |= effect->loads && !effect->is_stack;
		source->is_chase |= maker == from;
		source->is_paged |= effect->shifted < 64 && effect->step >= PAGE_SHIFT;
		if (maker != from && effect->stepped >= 64)
			follow(scene, from, maker,
			       (effect->loads ? effect->address : effect->reads) &
				   ~(UINT64_C(1) << SN_EFFECT_FLAGS),
			       depth + 1, source);
	}
}

struct sn_scene_source sn_scene_source_of(const struct sn_scene *scene, size_t instruction)
{
	const struct sn_insn_effect *effect = &scene->function->instructions[instruction].effect;
	const struct sn_scene_loop *loop = sn_scene_loop_at(scene, instruction);
	struct sn_scene_source source = {.is_paged =
					     has_address_step(loop, effect, 1 << PAGE_SHIFT),
					 .is_spread = has_address_step(loop, effect, LINE_BYTES),
					 .is_steady = loop && !(effect->address & loop->written)};
	if (effect->address)
		follow(scene, instruction, instruction, effect->address, 0, &source);
	return source;
}
