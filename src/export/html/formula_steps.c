/* SPDX-License-Identifier: Apache-2.0 */
/* A formula's steps as text; see formula_steps.h. */
#include "formula_steps.h"

#include "lib/db/formula_code.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const operations[] = {
    [SN_DO_NEGATE] = "negate", [SN_DO_ADD] = "+",
    [SN_DO_SUBTRACT] = "-",    [SN_DO_MULTIPLY] = "*",
    [SN_DO_DIVIDE] = "/",      [SN_DO_POWER] = "^",
    [SN_DO_LESS] = "<",	       [SN_DO_LESS_EQUAL] = "<=",
    [SN_DO_GREATER] = ">",     [SN_DO_GREATER_EQUAL] = ">=",
    [SN_DO_EQUAL] = "=",       [SN_DO_DIFFERENT] = "<>",
    [SN_DO_MIN] = "min",       [SN_DO_MAX] = "max",
    [SN_DO_SQRT] = "sqrt",     [SN_DO_ABS] = "abs",
    [SN_DO_LOG] = "log",       [SN_DO_EXP] = "exp",
    [SN_DO_IF] = "if",	       [SN_DO_IFEMPTY] = "ifempty",
};

static const char *const scopes[] = {
    [SN_SCOPE_PLACE] = "place",		[SN_SCOPE_INCLUSIVE] = "inclusive",
    [SN_SCOPE_EXCLUSIVE] = "exclusive", [SN_SCOPE_ACROSS] = "across",
    [SN_SCOPE_RANKS] = "ranks",
};

static const char *const parts[] = {
    [SN_PART_SUM] = "sum", [SN_PART_COUNT] = "count", [SN_PART_MIN] = "min",
    [SN_PART_MAX] = "max", [SN_PART_MEAN] = "mean",   [SN_PART_DEV] = "dev",
};

static void write_step(FILE *out, const struct sn_formula *formula,
		       const struct sn_formula_step *step)
{
	if (step->operation == SN_DO_METRIC)
		fprintf(out, "[%" PRIu32 ",\"%s\",\"%s\"]", formula->inputs[step->input],
			scopes[step->scope], parts[step->part]);
	else if (step->operation != SN_DO_NUMBER)
		fprintf(out, "\"%s\"", operations[step->operation]);
	else if (isfinite(step->number))
		fprintf(out, "%.17g", step->number);
	else
		fputs("null", out); /* empty: a total of nothing */
}

char *sn_formula_steps_json(const struct sn_formula *formula)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return NULL;
	fputc('[', out);
	for (uint32_t i = 0; i < formula->step_count; i++) {
		if (i > 0)
			fputc(',', out);
		write_step(out, formula, formula->steps + i);
	}
	fputc(']', out);
	bool failed = ferror(out);
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}
