/* SPDX-License-Identifier: Apache-2.0 */
/* Which instruction is blamed for samples, and for what, in functions of a few instructions. */
#include "annotate/annotate.h"
#include "annotate/blame.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 8 };

static struct sn_annotated_instruction instructions[MOST];
static struct sn_annotated_block blocks[MOST];
static struct sn_annotated_edge edges[MOST];
static const struct sn_blame_footprint small = {10, 1}, large = {5000, 500};

/* Instructions of four bytes, in blocks of `lengths`; each of them takes a quarter of a cycle. */
static struct sn_annotated_function made(const uint32_t *lengths, uint32_t count)
{
	struct sn_annotated_function function = {.instructions = instructions,
						 .blocks = blocks,
						 .edges = edges,
						 .block_count = count,
						 .start = 0x1000};
	memset(instructions, 0, sizeof(instructions));
	memset(edges, 0, sizeof(edges));
	for (uint32_t block = 0; block < count; block++) {
		blocks[block] = (struct sn_annotated_block){.start = 0x1000 + 4 * function.count,
							    .first = (uint32_t)function.count,
							    .count = lengths[block],
							    .frequency = 100};
		for (uint32_t i = 0; i < lengths[block]; i++, function.count++)
			instructions[function.count] = (struct sn_annotated_instruction){
			    .address = 0x1000 + 4 * function.count,
			    .frequency = 100,
			    .issue = {.least = 0.25f},
			    .effect = {.parts = 1,
				       .latency = 1,
				       .base = SN_EFFECT_NO_REGISTER,
				       .index = SN_EFFECT_NO_REGISTER,
				       .stepped = SN_EFFECT_NO_REGISTER,
				       .shifted = SN_EFFECT_NO_REGISTER}};
		blocks[block].end = 0x1000 + 4 * function.count;
	}
	return function;
}

static void blame(struct sn_annotated_function *function,
		  const struct sn_blame_footprint *footprint, struct sn_arena *arena)
{
	double all = 0;
	assert_int_equal(sn_blame_function(function, footprint, arena), 0);
	for (size_t i = 0; i < function->count; i++) {
		const struct sn_insn_blame *one = &function->instructions[i].blame;
		double sum = (double)one->execution + (double)one->rest;
		for (uint32_t culprit = 0; culprit < one->culprit_count; culprit++)
			sum += (double)one->culprits[culprit].share;
		if (one->waits > 0)
			assert_true(fabs(sum - 1) < 1e-3);
		all += one->waits;
	}
	double samples = 0, parts = function->rest;
	for (size_t i = 0; i < function->count; i++)
		samples += function->instructions[i].samples;
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++)
		parts += function->parts[cause];
	assert_true(fabs(all - samples) < 1e-6 && fabs(parts - samples) <= 1e-3 * samples);
}

static const struct sn_culprit *culprit(size_t instruction, enum sn_cause cause)
{
	const struct sn_insn_blame *one = &instructions[instruction].blame;
	for (uint32_t i = 0; i < one->culprit_count; i++)
		if (one->culprits[i].cause == cause)
			return &one->culprits[i];
	return NULL;
}

/* Samples at an instruction are of the one before it; its cycles are theirs. */
static void test_shift(void **unused)
{
	struct sn_annotated_function function = made((uint32_t[]){4}, 1);
	struct sn_arena arena = {0};
	(void)unused;
	instructions[2].samples = 1000;
	instructions[1].effect.loads = true;
	instructions[1].effect.base = 3;
	instructions[1].effect.address = instructions[1].effect.reads = 8;
	blame(&function, &small, &arena);
	assert_true(instructions[1].blame.waits == 1000 && instructions[2].blame.waits == 0);
	assert_true(fabs(instructions[1].blame.cycles - 10) < 1e-9 &&
		    fabs(instructions[1].blame.stall - 9.75) < 1e-6);
	assert_int_equal(instructions[1].blame.culprits[0].cause, SN_CAUSE_DATA_CACHE);
	assert_true(culprit(1, SN_CAUSE_DATA_TLB)->min_share == 0 &&
		    culprit(1, SN_CAUSE_DATA_TLB)->max_share > 0.9f);
	assert_null(culprit(1, SN_CAUSE_STORE_BUFFER));
	assert_null(culprit(1, SN_CAUSE_LONG));
	assert_null(culprit(1, SN_CAUSE_MISPREDICT));
	sn_arena_release(&arena);
}

/* Samples of a block's first instruction are shared out by the frequencies of the edges that lead there: 30 to 70. */
static void test_shared_out(void **unused)
{
	struct sn_annotated_function function = made((uint32_t[]){2, 2, 2}, 3);
	struct sn_arena arena = {0};
	(void)unused;
	edges[0] = (struct sn_annotated_edge){.from = 0, .to = 1, .frequency = 70};
	edges[1] = (struct sn_annotated_edge){.from = 0, .to = 2, .frequency = 30};
	edges[2] = (struct sn_annotated_edge){.from = 1, .to = 2, .frequency = 70};
	function.edge_count = 3;
	instructions[1].effect.kind = SN_EFFECT_BRANCH;
	instructions[4].samples = 1000;
	blame(&function, &small, &arena);
	assert_true(fabs(instructions[1].blame.waits - 300) < 1e-6 &&
		    fabs(instructions[3].blame.waits - 700) < 1e-6);
	assert_int_equal(instructions[1].blame.culprits[0].cause, SN_CAUSE_MISPREDICT);
	assert_null(culprit(3, SN_CAUSE_MISPREDICT));
	sn_arena_release(&arena);
}

static void first_is(const struct sn_insn_effect *effect,
		     const struct sn_blame_footprint *footprint, enum sn_cause cause)
{
	struct sn_annotated_function function = made((uint32_t[]){4}, 1);
	struct sn_arena arena = {0};
	instructions[2].samples = 1000;
	instructions[1].effect.kind = effect->kind;
	instructions[1].effect.is_atomic = effect->is_atomic;
	instructions[1].effect.loads = effect->loads;
	instructions[1].effect.stores = effect->stores;
	blame(&function, footprint, &arena);
	assert_true(instructions[1].blame.culprit_count > 0);
	assert_int_equal(instructions[1].blame.culprits[0].cause, cause);
	sn_arena_release(&arena);
}

static void test_first(void **unused)
{
	(void)unused;
	first_is(&(struct sn_insn_effect){.kind = SN_EFFECT_LONG}, &small, SN_CAUSE_LONG);
	first_is(&(struct sn_insn_effect){.is_atomic = true, .loads = true, .stores = true}, &small,
		 SN_CAUSE_SYNCHRONIZATION);
	first_is(&(struct sn_insn_effect){.kind = SN_EFFECT_FENCE}, &small,
		 SN_CAUSE_SYNCHRONIZATION);
	first_is(&(struct sn_insn_effect){.kind = SN_EFFECT_INDIRECT}, &small, SN_CAUSE_MISPREDICT);
	first_is(&(struct sn_insn_effect){.kind = SN_EFFECT_STRING, .stores = true}, &small,
		 SN_CAUSE_STORE_BUFFER);
}

/* The first instruction of a line, in much code; on the same line as the one before it the cache is ruled out. */
static void test_lines(void **unused)
{
	struct sn_annotated_function function = made((uint32_t[]){6}, 1);
	struct sn_arena arena = {0};
	(void)unused;
	for (size_t i = 0; i < function.count; i++)
		instructions[i].address += 64 - 4 * 3;
	blocks[0].start += 64 - 4 * 3;
	instructions[3].samples = instructions[2].samples = 500;
	blame(&function, &large, &arena);
	assert_int_equal(instructions[2].blame.culprits[0].cause, SN_CAUSE_INSTRUCTION_CACHE);
	assert_null(culprit(1, SN_CAUSE_INSTRUCTION_CACHE));
	assert_null(culprit(1, SN_CAUSE_INSTRUCTION_TLB));
	sn_arena_release(&arena);
}

static void test_no_samples(void **unused)
{
	struct sn_annotated_function function = made((uint32_t[]){2}, 1);
	struct sn_arena arena = {0};
	(void)unused;
	blame(&function, &small, &arena);
	assert_true(instructions[0].blame.culprit_count == 0 && instructions[0].blame.waits == 0);
	sn_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shift), cmocka_unit_test(test_shared_out),
	    cmocka_unit_test(test_first), cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_no_samples)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
