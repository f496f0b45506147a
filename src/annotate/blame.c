/* SPDX-License-Identifier: Apache-2.0 */
/* See blame.h. Each sample is a pair: the instruction that it is at, and the one that was waited for. Each pair is judged by itself, and the suspicions are summed by the latter. */
#include "blame.h"

#include "annotate.h"
#include "scene.h"

#include "base/error.h"
#include "base/sort_by.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE = 64,
	PAGE = 4096,
	SMALL_CODE = 256, /* lines, half of a usual instruction cache: they are all in it */
	LARGE_CODE = 1024,
	SMALL_PAGES = 64,
	MISPREDICT_CYCLES = 25, /* at most, for one */
};

/* How much a cause is suspected: 0 is ruled out, 1 is enough to explain all. */
struct suspicion {
	double weights[SN_CAUSE_COUNT];
};

struct blaming {
	struct sn_annotated_function *function;
	const struct sn_blame_footprint *footprint;
	struct sn_arena *arena;
	struct sn_scene scene;
	struct suspicion *suspicions; /* of each instruction, times samples */
	uint32_t *first,
	    *at; /* edges by the block that they enter: at[first[b]] to at[first[b + 1]] */
	bool has_indirect; /* jumps through a register or memory */
	double *bias;	   /* of each block the largest part of its edges; 1 without a choice */
};

static const char *const texts[] = {
#define SN_CAUSE(NAME, text) [SN_CAUSE_##NAME] = text,
#include "causes.def"
#undef SN_CAUSE
};

const char *sn_cause_text(enum sn_cause cause)
{
	return texts[cause];
}

/* ---- the tests ---- */

static const struct sn_insn_effect *effect_at(const struct blaming *blaming, size_t instruction)
{
	return &blaming->function->instructions[instruction].effect;
}

static void suspect(struct suspicion *suspicion, enum sn_cause cause, double weight)
{
	suspicion->weights[cause] = fmax(suspicion->weights[cause], weight);
}

/* The memory that it reads: the data cache and the TLB. The program alone does not tell the two apart, unless addresses go from page to page. */
static void suspect_memory(const struct blaming *blaming, size_t instruction, double weight,
			   struct suspicion *suspicion)
{
	const struct sn_insn_effect *effect = effect_at(blaming, instruction);
	struct sn_scene_source source = sn_scene_source_of(&blaming->scene, instruction);
	bool is_string = effect->kind == SN_EFFECT_STRING;
	if (effect->is_stack || (source.is_steady && !is_string))
		weight *= 0.15;
	else if (source.is_chase || source.is_loaded)
		weight *= 2;
	if (effect->kind == SN_EFFECT_INDIRECT || effect->kind == SN_EFFECT_CALL)
		weight *= 0.2;
	suspect(suspicion, SN_CAUSE_DATA_CACHE, source.is_paged ? weight / 2 : weight);
	suspect(suspicion, SN_CAUSE_DATA_TLB, source.is_paged ? weight * 2 : weight * 0.4);
}

static void suspect_store(const struct blaming *blaming, size_t instruction,
			  struct suspicion *suspicion)
{
	const struct sn_insn_effect *effect = effect_at(blaming, instruction);
	const struct sn_scene_loop *loop = sn_scene_loop_at(&blaming->scene, instruction);
	double weight = 0.1;
	if (!effect->stores || effect->is_atomic)
		return;
	if (loop && !effect->is_stack && loop->stores * 8 >= loop->count)
		weight = loop->stores >= loop->loads ? 1.5 : 0.5;
	if (effect->kind == SN_EFFECT_STRING)
		weight = 1;
	suspect(suspicion, SN_CAUSE_STORE_BUFFER, weight);
	if (sn_scene_source_of(&blaming->scene, instruction).is_paged)
		suspect(suspicion, SN_CAUSE_DATA_TLB, 2 * weight);
}

static bool is_synchronizing(const struct sn_insn_effect *effect)
{
	return effect->is_atomic || effect->kind == SN_EFFECT_FENCE ||
	       effect->kind == SN_EFFECT_WAIT;
}

static void suspect_synchronization(const struct blaming *blaming, size_t waited, size_t at,
				    struct suspicion *suspicion)
{
	const struct sn_insn_effect *effect = effect_at(blaming, waited),
				    *next = effect_at(blaming, at);
	const struct sn_scene_loop *loop = sn_scene_loop_at(&blaming->scene, waited);
	if (is_synchronizing(effect))
		suspect(suspicion, SN_CAUSE_SYNCHRONIZATION, 4);
	else if (next->is_atomic || next->kind == SN_EFFECT_FENCE)
		suspect(suspicion, SN_CAUSE_SYNCHRONIZATION, 1);
	else if (loop && loop->has_wait)
		suspect(suspicion, SN_CAUSE_SYNCHRONIZATION, 3);
	else if (loop && loop->has_atomic && effect->loads && !effect->is_stack)
		suspect(suspicion, SN_CAUSE_SYNCHRONIZATION, 1);
}

/* Whether it is done by a unit that takes one at a time, or waits for what was. */
static bool is_long(const struct blaming *blaming, size_t instruction)
{
	const struct sn_insn_effect *effect = effect_at(blaming, instruction);
	if (effect->kind == SN_EFFECT_LONG)
		return true;
	for (uint64_t left = effect->reads; left; left &= left - 1) {
		size_t maker = sn_scene_maker(&blaming->scene, instruction, left & -left);
		if (maker != SIZE_MAX && effect_at(blaming, maker)->kind == SN_EFFECT_LONG)
			return true;
	}
	return false;
}

/* A value that another instruction makes, which has not retired long before. */
static void suspect_operands(const struct blaming *blaming, size_t instruction,
			     struct suspicion *suspicion)
{
	const struct sn_insn_effect *effect = effect_at(blaming, instruction);
	size_t maker = sn_scene_maker(&blaming->scene, instruction, effect->reads);
	if (effect->kind == SN_EFFECT_LONG)
		suspect(suspicion, SN_CAUSE_LONG, 3);
	else if (is_long(blaming, instruction))
		suspect(suspicion, SN_CAUSE_LONG, 1);
	if (maker == SIZE_MAX || maker == instruction)
		return;
	const struct sn_insn_effect *made = effect_at(blaming, maker);
	if (made->loads && !made->is_stack)
		suspect_memory(blaming, maker, 0.4, suspicion);
	else if (made->latency >= 3)
		suspect(suspicion, SN_CAUSE_OPERAND, 0.4);
	else
		suspect(suspicion, SN_CAUSE_OPERAND, 0.1);
}

static int sort_edges(struct blaming *blaming)
{
	const struct sn_annotated_function *function = blaming->function;
	uint32_t *first = blaming->first = calloc(function->block_count + 2, sizeof(*first));
	blaming->at = malloc((function->edge_count + 1) * sizeof(*blaming->at));
	if (!first || !blaming->at)
		return SN_ERR_MEMORY;
	for (uint32_t edge = 0; edge < function->edge_count; edge++)
		first[function->edges[edge].to + 2]++;
	for (uint32_t block = 0; block < function->block_count; block++)
		first[block + 2] += first[block + 1];
	for (uint32_t edge = 0; edge < function->edge_count; edge++)
		blaming->at[first[function->edges[edge].to + 1]++] = edge;
	return 0;
}

/* An edge to this block that leaves one with instructions, or NULL. */
static const struct sn_annotated_edge *edge_into(const struct blaming *blaming, uint32_t place)
{
	const struct sn_annotated_edge *edge = &blaming->function->edges[blaming->at[place]];
	return blaming->function->blocks[edge->from].count ? edge : NULL;
}

/* How much a branch is suspected to be foreseen wrongly: only where control may go two ways. One that nearly always goes one way seldom is. */
static double doubt_of_branch(const struct blaming *blaming, size_t instruction)
{
	const struct sn_insn_effect *effect = effect_at(blaming, instruction);
	uint32_t block = blaming->scene.block_of[instruction];
	double bias = block == SN_FLOW_NONE ? 1 : blaming->bias[block];
	if (effect->kind == SN_EFFECT_BRANCH)
		return fmax(0.05, 6 * bias * (1 - bias));
	if (effect->kind == SN_EFFECT_INDIRECT)
		return 1.5;
	return effect->kind == SN_EFFECT_RETURN || effect->kind == SN_EFFECT_CALL ? 0.2 : 0;
}

/* The same of the branches that lead to a block, by how often they do: after a wrong one the first instruction of the right block comes late. */
static double doubt_of_entry(const struct blaming *blaming, uint32_t block)
{
	double doubt = 0, flow = 0;
	for (uint32_t place = blaming->first[block]; place < blaming->first[block + 1]; place++) {
		const struct sn_annotated_edge *edge = edge_into(blaming, place);
		const struct sn_annotated_block *from =
		    edge ? &blaming->function->blocks[edge->from] : NULL;
		if (!edge || !(edge->frequency > 0))
			continue;
		flow += edge->frequency;
		doubt += edge->frequency * doubt_of_branch(blaming, from->first + from->count - 1);
	}
	if (flow > 0)
		return doubt / flow;
	/* nothing known leads there: a jump that goes anywhere may */
	return blaming->has_indirect && block ? 1.5 : 0;
}

static bool is_first(const struct blaming *blaming, size_t instruction)
{
	uint32_t block = blaming->scene.block_of[instruction];
	return block != SN_FLOW_NONE && blaming->function->blocks[block].first == instruction;
}

static void suspect_branch(const struct blaming *blaming, size_t instruction,
			   struct suspicion *suspicion)
{
	double doubt = doubt_of_branch(blaming, instruction);
	if (is_first(blaming, instruction))
		doubt = fmax(doubt, doubt_of_entry(blaming, blaming->scene.block_of[instruction]));
	if (doubt > 0)
		suspect(suspicion, SN_CAUSE_MISPREDICT, doubt);
}

/* Whether two instructions are on different pieces of code, or the second was jumped to. */
static bool is_apart(const struct blaming *blaming, size_t before, size_t now, uint64_t piece)
{
	const struct sn_annotated_instruction *list = blaming->function->instructions;
	return now != before + 1 || list[before].address / piece != list[now].address / piece;
}

/* Code is fetched by lines: what is on the same line as the instruction before it, and was not jumped to, is there already. What comes late is seen at itself, or at the next one. */
static void suspect_fetch(const struct blaming *blaming, size_t waited, size_t at,
			  struct suspicion *suspicion)
{
	const struct sn_blame_footprint *footprint = blaming->footprint;
	size_t before = waited ? waited - 1 : SIZE_MAX - 1;
	bool is_entered = is_first(blaming, waited), is_jumped = at != waited + 1;
	double size = log2(fmax((double)footprint->lines, 1) / SMALL_CODE) / 2;
	size = fmin(fmax(size, 0.02), 1);
	if (is_entered || is_apart(blaming, waited, at, LINE) ||
	    is_apart(blaming, before, waited, LINE))
		suspect(suspicion, SN_CAUSE_INSTRUCTION_CACHE, 1.5 * size);
	if (is_entered || is_apart(blaming, waited, at, PAGE) ||
	    is_apart(blaming, before, waited, PAGE))
		suspect(suspicion, SN_CAUSE_INSTRUCTION_TLB,
			footprint->pages > SMALL_PAGES ? 0.4 * size : 0.01);
	suspect(suspicion, SN_CAUSE_FRONT_END,
		0.05 + (is_entered || is_jumped ? 0.1 : 0) + 0.2 * size);
}

/* Samples at `at` for which `waited` was waited for. */
static void judge(struct blaming *blaming, size_t waited, size_t at, double samples)
{
	struct suspicion found = {{0}};
	const struct sn_insn_effect *effect = effect_at(blaming, waited);
	if (effect->loads)
		suspect_memory(blaming, waited, 1, &found);
	suspect_store(blaming, waited, &found);
	if (at != waited)
		suspect_store(blaming, at, &found);
	suspect_synchronization(blaming, waited, at, &found);
	suspect_operands(blaming, waited, &found);
	suspect_branch(blaming, waited, &found);
	suspect_fetch(blaming, waited, at, &found);
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++)
		blaming->suspicions[waited].weights[cause] += samples * found.weights[cause];
	blaming->function->instructions[waited].blame.waits += samples;
}

/* ---- from where samples are to what was waited for ---- */

/* To the last instructions of the blocks before it; to itself what has none before it. */
static void share_out(struct blaming *blaming, uint32_t block)
{
	const struct sn_annotated_function *function = blaming->function;
	const struct sn_annotated_block *own = &function->blocks[block];
	double samples = function->instructions[own->first].samples, flow = 0;
	for (uint32_t place = blaming->first[block]; place < blaming->first[block + 1]; place++)
		flow += edge_into(blaming, place) ? edge_into(blaming, place)->frequency : 0;
	double known = own->frequency > 0 ? fmin(flow / own->frequency, 1) : 0;
	known = known < 0.01 ? 0 : known;
	if (known < 1)
		judge(blaming, own->first, own->first, samples * (1 - known));
	for (uint32_t place = blaming->first[block]; known > 0 && place < blaming->first[block + 1];
	     place++) {
		const struct sn_annotated_edge *edge = edge_into(blaming, place);
		const struct sn_annotated_block *from = edge ? &function->blocks[edge->from] : NULL;
		if (edge)
			judge(blaming, from->first + from->count - 1, own->first,
			      samples * known * edge->frequency / flow);
	}
}

static void shift(struct blaming *blaming)
{
	const struct sn_annotated_function *function = blaming->function;
	for (size_t i = 0; i < function->count; i++) {
		uint32_t block = blaming->scene.block_of[i];
		if (!(function->instructions[i].samples > 0))
			continue;
		if (block == SN_FLOW_NONE)
			judge(blaming, i, i, function->instructions[i].samples);
		else if (i == function->blocks[block].first)
			share_out(blaming, block);
		else
			judge(blaming, i - 1, i, function->instructions[i].samples);
	}
}

/* ---- parts of the time ---- */

SN_SORT_BY(sort_culprits, struct sn_culprit, const void *,
	   SN_ORDER(b->share, a->share) ?: SN_ORDER(b->max_share, a->max_share)
	       ?: SN_ORDER(a->cause, b->cause));

/* Whether a load made what it waits for: the model has it in the first cache, and nobody knows where it was. */
static bool waits_for_load(const struct blaming *blaming, size_t instruction)
{
	const struct sn_insn_effect *effect = effect_at(blaming, instruction);
	for (uint64_t left = effect->reads; left; left &= left - 1) {
		size_t maker = sn_scene_maker(&blaming->scene, instruction, left & -left);
		if (maker == SIZE_MAX)
			continue;
		const struct sn_insn_effect *made = effect_at(blaming, maker);
		if (made->loads && !made->is_stack)
			return true;
	}
	return false;
}

/* The model repeats each block: what waits for the turn before is true of loops of one block alone. */
static bool follows_itself(const struct blaming *blaming, size_t instruction)
{
	uint32_t block = blaming->scene.block_of[instruction];
	for (uint32_t place = block == SN_FLOW_NONE ? 0 : blaming->first[block];
	     block != SN_FLOW_NONE && place < blaming->first[block + 1]; place++)
		if (blaming->function->edges[blaming->at[place]].from == block)
			return true;
	return false;
}

/* What the issue model explains of an execution's cycles: those to execute, and of each cause the part that is fixed. */
static void explain(struct blaming *blaming, size_t instruction, double *fixed)
{
	struct sn_annotated_instruction *one = &blaming->function->instructions[instruction];
	struct sn_insn_blame *blame = &one->blame;
	blame->cycles = one->frequency > 0 ? blame->waits / one->frequency : NAN;
	if (!(blame->waits > 0) || !isfinite(blame->cycles)) {
		blame->execution = 1;
		return;
	}
	double least = fmin((double)one->issue.least, blame->cycles);
	double dispatch = fmin(least, fmax((double)one->effect.parts, 1) / SN_ISSUE_WIDTH);
	double waiting = least - dispatch;
	double dependency = fmin(waiting, (double)one->issue.dependency);
	double port = fmin(waiting - dependency, (double)one->issue.port);
	blame->stall = blame->cycles - least;
	blame->execution = (float)(dispatch / blame->cycles);
	if (is_synchronizing(&one->effect))
		fixed[SN_CAUSE_SYNCHRONIZATION] = waiting / blame->cycles;
	else if (is_long(blaming, instruction))
		fixed[SN_CAUSE_LONG] = waiting / blame->cycles;
	else if (follows_itself(blaming, instruction)) {
		fixed[SN_CAUSE_PORT] = port / blame->cycles;
		fixed[SN_CAUSE_OPERAND] =
		    waits_for_load(blaming, instruction) ? 0 : dependency / blame->cycles;
	}
}

/* The largest part that wrong predictions can be: each of those of the rarer way costs so much, twice as many if both ways are foreseen wrongly. */
static double most_mispredicted(const struct blaming *blaming, size_t instruction)
{
	const struct sn_annotated_instruction *one = &blaming->function->instructions[instruction];
	uint32_t block = blaming->scene.block_of[instruction];
	if (one->effect.kind != SN_EFFECT_BRANCH || block == SN_FLOW_NONE ||
	    !(one->blame.cycles > 0))
		return 1;
	return fmin(1, fmax(0.02, 2 * (1 - blaming->bias[block])) * MISPREDICT_CYCLES /
			   one->blame.cycles);
}

static double at_most(const struct blaming *blaming, size_t instruction, enum sn_cause cause)
{
	return cause == SN_CAUSE_MISPREDICT ? most_mispredicted(blaming, instruction) : 1;
}

/* Whether nothing else is suspected of more than a trace. */
static bool is_alone(const struct suspicion *suspicion, int cause, double samples)
{
	for (int other = 0; other < SN_CAUSE_COUNT; other++)
		if (other != cause && suspicion->weights[other] > 0.11 * samples)
			return false;
	return suspicion->weights[cause] >= samples;
}

static int find_culprits(struct blaming *blaming, size_t instruction)
{
	struct sn_annotated_instruction *one = &blaming->function->instructions[instruction];
	struct suspicion *suspicion = &blaming->suspicions[instruction];
	struct sn_culprit found[SN_CAUSE_COUNT];
	double fixed[SN_CAUSE_COUNT] = {0}, sum = 0, told = 0;
	uint32_t count = 0;
	explain(blaming, instruction, fixed);
	if (!(one->blame.waits > 0))
		return 0;
	double left = 1 - (double)one->blame.execution;
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++) {
		sum += suspicion->weights[cause];
		left -= fixed[cause];
	}
	left = fmax(0, left);
	sum = fmax(sum, one->blame.waits);
	suspicion->weights[SN_CAUSE_INTERRUPT] = 1e-9;
	for (int cause = SN_CAUSE_EXECUTION + 1; cause < SN_CAUSE_COUNT; cause++) {
		if (!(suspicion->weights[cause] > 0) && !(fixed[cause] > 0))
			continue;
		double most = cause == SN_CAUSE_INTERRUPT ? fmin(1, 1 / one->blame.waits)
							  : at_most(blaming, instruction, cause);
		double likely = fmin(left * suspicion->weights[cause] / sum, left * most);
		bool is_proved = is_alone(suspicion, cause, one->blame.waits);
		told += likely + fixed[cause];
		found[count++] = (struct sn_culprit){
		    .cause = (uint8_t)cause,
		    .min_share = (float)(fixed[cause] + (is_proved ? likely : 0)),
		    .max_share =
			(float)(fixed[cause] + (suspicion->weights[cause] > 0 ? left * most : 0)),
		    .share = (float)(fixed[cause] + likely)};
	}
	one->blame.rest = (float)fmax(0, 1 - (double)one->blame.execution - told);
	sort_culprits(found, count, NULL);
	struct sn_culprit *kept = sn_arena_array(blaming->arena, struct sn_culprit, count);
	if (!kept)
		return SN_ERR_MEMORY;
	memcpy(kept, found, count * sizeof(*kept));
	one->blame.culprits = kept;
	one->blame.culprit_count = count;
	return 0;
}

static void find_bias(struct blaming *blaming)
{
	const struct sn_annotated_function *function = blaming->function;
	for (size_t i = 0; i < function->count; i++)
		blaming->has_indirect |=
		    function->instructions[i].effect.kind == SN_EFFECT_INDIRECT;
	for (uint32_t block = 0; block < function->block_count; block++)
		blaming->bias[block] = 0;
	for (uint32_t edge = 0; edge < function->edge_count; edge++) {
		uint32_t from = function->edges[edge].from;
		double flow = function->blocks[from].frequency;
		double part = flow > 0 ? fmin(1, function->edges[edge].frequency / flow) : 1;
		blaming->bias[from] = fmax(blaming->bias[from], part);
	}
}

/* What the samples of the function are spent on. */
static void add_up(struct sn_annotated_function *function)
{
	for (size_t i = 0; i < function->count; i++) {
		const struct sn_insn_blame *blame = &function->instructions[i].blame;
		function->parts[SN_CAUSE_EXECUTION] += blame->waits * (double)blame->execution;
		function->rest += blame->waits * (double)blame->rest;
		for (uint32_t culprit = 0; culprit < blame->culprit_count; culprit++)
			function->parts[blame->culprits[culprit].cause] +=
			    blame->waits * (double)blame->culprits[culprit].share;
	}
}

int sn_blame_function(struct sn_annotated_function *function,
		      const struct sn_blame_footprint *footprint, struct sn_arena *arena)
{
	struct blaming blaming = {.function = function,
				  .footprint = footprint,
				  .arena = arena,
				  .suspicions =
				      calloc(function->count + 1, sizeof(struct suspicion)),
				  .bias = malloc((function->block_count + 1) * sizeof(double))};
	int result = sn_scene_find(&blaming.scene, function);
	if (!blaming.suspicions || !blaming.bias)
		result = SN_ERR_MEMORY;
	result = result ? result : sort_edges(&blaming);
	if (!result) {
		find_bias(&blaming);
		shift(&blaming);
	}
	for (size_t i = 0; !result && i < function->count; i++)
		result = find_culprits(&blaming, i);
	add_up(function);
	sn_scene_release(&blaming.scene);
	free(blaming.suspicions);
	free(blaming.bias);
	free(blaming.first);
	free(blaming.at);
	return result;
}
