/* SPDX-License-Identifier: Apache-2.0 */
/* See issue.h. */
#include "issue.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

enum { REPEATS = 6, LOAD_CYCLES = 5, REGISTERS = 64 };

struct modelling {
	float ready[REGISTERS];	   /* when each register has its value */
	float dispatched, retired; /* of the last instruction */
	float unit_free;	   /* of the long ones */
};

static float latency_of(const struct sn_insn_effect *effect)
{
	return (float)effect->latency + (effect->loads ? LOAD_CYCLES : 0);
}

/* A call hides what follows from what was before. */
static bool is_left_out(const struct sn_insn_effect *effect)
{
	return effect->kind == SN_EFFECT_NOTHING || effect->kind == SN_EFFECT_CALL;
}

static void execute(struct modelling *modelling, const struct sn_insn_effect *effect,
		    struct sn_issue *issue)
{
	float operands = 0;
	for (uint64_t left = effect->reads; left; left &= left - 1)
		operands = fmaxf(operands, modelling->ready[__builtin_ctzll(left)]);
	modelling->dispatched += (float)effect->parts / SN_ISSUE_WIDTH;
	float start = fmaxf(modelling->dispatched, operands), unit = start;
	if (effect->kind == SN_EFFECT_LONG) {
		unit = fmaxf(start, modelling->unit_free);
		modelling->unit_free = unit + (float)effect->latency / 2;
	}
	issue->latency = latency_of(effect);
	float done = unit + issue->latency;
	for (uint64_t left = effect->writes; left; left &= left - 1)
		modelling->ready[__builtin_ctzll(left)] = done;
	float retired = fmaxf(modelling->retired + (float)effect->parts / SN_ISSUE_WIDTH, done);
	issue->least = retired - modelling->retired;
	issue->dependency = fminf(issue->least, start - modelling->dispatched);
	issue->port = fminf(issue->least - issue->dependency, unit - start);
	modelling->retired = retired;
}

int sn_issue_block(const struct sn_insn_effect *effects, size_t count, struct sn_issue *issues,
		   struct sn_issue_block *block)
{
	struct modelling *modelling = calloc(1, sizeof(*modelling));
	float first = 0;
	*block = (struct sn_issue_block){0};
	if (!modelling)
		return SN_ERR_MEMORY;
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		first = repeat == 2 ? modelling->retired : first;
		for (size_t i = 0; i < count; i++) {
			issues[i] = (struct sn_issue){0};
			if (!is_left_out(&effects[i]))
				execute(modelling, &effects[i], &issues[i]);
		}
	}
	for (size_t i = 0; i < count; i++) {
		block->parts += effects[i].parts;
		block->resource +=
		    effects[i].kind == SN_EFFECT_LONG ? (float)effects[i].latency / 2 : 0;
	}
	block->loop = (modelling->retired - first) / (REPEATS - 2);
	block->resource = fmaxf(block->resource, block->parts / SN_ISSUE_WIDTH);
	free(modelling);
	return 0;
}
