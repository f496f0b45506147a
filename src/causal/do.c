/* SPDX-License-Identifier: Apache-2.0 */
/* Expected changes; see do.h. */
#include "do.h"

#include "effect/adjustment.h"
#include "effect/double_ml.h"
#include "levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct asking {
	struct sn_do *asked;
	const struct sn_causal *causal;
	const struct sn_prior *prior;
	uint32_t variable;
	double value; /* a number, or the number of a level */
	double
	    *values; /* of the cause, the target, then what is held: of each row that is compared */
	struct sn_effect_column *held;
};

void sn_do_release(struct sn_do *asked)
{
	free(asked->held);
	*asked = (struct sn_do){0};
}

static const struct sn_causal_column *column_of(const struct asking *asking, uint32_t variable)
{
	const struct sn_causal *causal = asking->causal;
	return &causal->table->columns[causal->prepared.columns[variable]];
}

/* ---- the question ---- */

static int find_column(struct asking *asking, const char *text, struct sn_error *error)
{
	const struct sn_causal_table *table = asking->causal->table;
	const char *equals = strrchr(text, '=');
	if (!equals || equals == text || !equals[1])
		return sn_fail(error, SN_ERR_ARGUMENT, "'%s' is not of the form COLUMN=VALUE",
			       text);
	char *name = strndup(text, (size_t)(equals - text));
	if (!name)
		return sn_fail_memory(error);
	uint32_t column = sn_causal_table_find(table, name);
	free(name);
	if (column == UINT32_MAX)
		return sn_fail(error, SN_ERR_ARGUMENT, "'%s': there is no such column", text);
	asking->asked->column = column;
	asking->asked->value = equals + 1;
	asking->variable = sn_prepared_find(&asking->causal->prepared, column);
	if (asking->variable == UINT32_MAX)
		return sn_fail(error, SN_ERR_ARGUMENT, "'%s': that column is not compared", text);
	if (asking->variable == asking->causal->target)
		return sn_fail(error, SN_ERR_ARGUMENT, "'%s': that is the target", text);
	return 0;
}

static int find_value(struct asking *asking, const char *text, struct sn_error *error)
{
	const struct sn_causal_column *column = column_of(asking, asking->variable);
	const char *value = asking->asked->value;
	char *end;
	for (uint32_t level = 0; level < column->levels; level++)
		if (!strcmp(column->level_names[level], value)) {
			asking->value = level;
			return 0;
		}
	if (column->levels)
		return sn_fail(error, SN_ERR_ARGUMENT, "'%s': no row has that value", text);
	asking->value = strtod(value, &end);
	if (*end || !isfinite(asking->value))
		return sn_fail(error, SN_ERR_ARGUMENT, "'%s': the column has numbers", text);
	return 0;
}

/* ---- what has to be held ---- */

static bool leads_to_target(const struct sn_causal *causal, uint32_t variable)
{
	for (uint32_t number = 0; number < causal->found.total_count; number++)
		if (causal->found.totals[number].from == variable)
			return true;
	return false;
}

static bool is_set(const struct asking *asking, uint32_t variable)
{
	return sn_prior_is_set(asking->prior, asking->causal->prepared.columns[variable]);
}

/* Of the graph, into a row of bits; the status in the answer. */
static int find_held(struct asking *asking, uint64_t *held)
{
	const struct sn_causal *causal = asking->causal;
	int found = sn_adjustment_find(&causal->found.graph, &causal->knowledge, asking->variable,
				       causal->target, SN_ADJUSTMENT_PARENTS, held);
	if (found < 0)
		return found;
	if (found == SN_ADJUSTMENT_NO_EFFECT)
		asking->asked->status = SN_DO_NO_EFFECT;
	else if (found == SN_ADJUSTMENT_UNDETERMINED)
		asking->asked->status = SN_DO_UNDETERMINED;
	for (uint32_t variable = 0; variable < causal->prepared.count; variable++)
		if (variable != asking->variable && is_set(asking, asking->variable) &&
		    is_set(asking, variable) && leads_to_target(causal, variable))
			sn_bits_add(held, variable);
	return 0;
}

static int keep_held(struct asking *asking)
{
	const struct sn_pdag *graph = &asking->causal->found.graph;
	struct sn_do *asked = asking->asked;
	uint64_t *held = calloc(graph->words + 1, sizeof(*held));
	asked->held = malloc((graph->count + 1) * sizeof(*asked->held));
	int result = held && asked->held ? find_held(asking, held) : SN_ERR_MEMORY;
	for (uint32_t variable = 0; !result && variable < graph->count; variable++)
		if (sn_bits_has(held, variable))
			asked->held[asked->held_count++] = variable;
	free(held);
	return result;
}

/* ---- the estimate ---- */

static struct sn_effect_column take_column(const struct asking *asking, uint32_t variable,
					   double *values)
{
	const struct sn_prepared *prepared = &asking->causal->prepared;
	const struct sn_causal_column *column = column_of(asking, variable);
	for (size_t row = 0; row < prepared->rows; row++)
		values[row] = column->values[prepared->kept_rows[row]];
	return (struct sn_effect_column){values, column->levels};
}

static int make_question(struct asking *asking, struct sn_effect_question *question)
{
	const struct sn_causal *causal = asking->causal;
	const struct sn_do *asked = asking->asked;
	size_t rows = causal->prepared.rows;
	asking->values = malloc((asked->held_count + 2) * rows * sizeof(*asking->values) + 1);
	asking->held = calloc(asked->held_count + 1, sizeof(*asking->held));
	if (!asking->values || !asking->held)
		return SN_ERR_MEMORY;
	for (uint32_t number = 0; number < asked->held_count; number++)
		asking->held[number] =
		    take_column(asking, asked->held[number], asking->values + (number + 2) * rows);
	*question = (struct sn_effect_question){
	    .rows = rows,
	    .cause = take_column(asking, asking->variable, asking->values),
	    .target = take_column(asking, causal->target, asking->values + rows),
	    .adjustment = asking->held,
	    .adjustment_count = asked->held_count,
	    .seed = SN_CAUSAL_SEED};
	return 0;
}

static void keep_estimate(struct sn_do *asked, enum sn_effect_status status,
			  const struct sn_estimate *change)
{
	static const enum sn_do_status statuses[] = {[SN_EFFECT_FOUND] = SN_DO_FOUND,
						     [SN_EFFECT_FEW] = SN_DO_FEW,
						     [SN_EFFECT_CONSTANT] = SN_DO_NO_EFFECT,
						     [SN_EFFECT_DETERMINED] = SN_DO_DETERMINED,
						     [SN_EFFECT_NO_OVERLAP] = SN_DO_NO_OVERLAP};
	asked->status = statuses[status];
	if (status != SN_EFFECT_FOUND)
		return;
	asked->change = change->value;
	asked->change_low = change->low;
	asked->change_high = change->high;
}

/* The values as levels, ascending; false where they are too many, or this one is none of them. */
static bool as_levels(struct asking *asking, struct sn_effect_question *question)
{
	uint8_t *levels = malloc(question->rows + 1);
	uint32_t count = 0, wanted = UINT32_MAX;
	if (!levels || sn_levels(asking->values, question->rows, levels, &count)) {
		free(levels);
		return false;
	}
	bool is_exact = true;
	double first[SN_LEVELS_VALUES];
	for (uint32_t level = 0; level < count; level++)
		first[level] = NAN;
	for (size_t row = 0; row < question->rows; row++) {
		double value = asking->values[row];
		if (isnan(first[levels[row]]))
			first[levels[row]] = value;
		is_exact &= first[levels[row]] == value;
		if (value == asking->value)
			wanted = levels[row];
	}
	bool fits = is_exact && wanted != UINT32_MAX;
	for (size_t row = 0; fits && row < question->rows; row++)
		asking->values[row] = levels[row];
	free(levels);
	if (!fits)
		return false;
	asking->value = wanted;
	question->cause.levels = count;
	return true;
}

static int estimate_level(struct asking *asking, const struct sn_effect_question *question,
			  struct sn_error *error)
{
	struct sn_what_if_level *levels = calloc(question->cause.levels, sizeof(*levels));
	int result = levels ? sn_what_if(levels, question, error) : sn_fail_memory(error);
	if (!result) {
		const struct sn_what_if_level *level = &levels[(size_t)asking->value];
		keep_estimate(asking->asked, level->status, &level->change);
	}
	free(levels);
	return result;
}

static int estimate_line(struct asking *asking, const struct sn_effect_question *question,
			 struct sn_error *error)
{
	struct sn_adjusted_effect effect;
	int result = sn_adjusted_effect_estimate(&effect, question, error);
	if (result)
		return result;
	struct sn_estimate change = sn_adjusted_effect_at(&effect, asking->value);
	keep_estimate(asking->asked, effect.status, &change);
	if (effect.status == SN_EFFECT_FOUND &&
	    (asking->value < effect.cause_low || asking->value > effect.cause_high)) {
		asking->asked->status = SN_DO_BEYOND;
		asking->asked->change = asking->asked->change_low = asking->asked->change_high =
		    NAN;
	}
	return 0;
}

static int estimate(struct asking *asking, struct sn_error *error)
{
	struct sn_effect_question question;
	int result = sn_fail_code(error, make_question(asking, &question));
	if (result)
		return result;
	double sum = 0;
	for (size_t row = 0; row < question.rows; row++)
		sum += question.target.values[row];
	asking->asked->mean = sum / (double)question.rows;
	return question.cause.levels || as_levels(asking, &question)
		   ? estimate_level(asking, &question, error)
		   : estimate_line(asking, &question, error);
}

int sn_causal_do(struct sn_do *asked, const struct sn_causal *causal, const struct sn_prior *prior,
		 const char *text, struct sn_error *error)
{
	struct asking asking = {.asked = asked, .causal = causal, .prior = prior};
	*asked = (struct sn_do){.mean = NAN, .change = NAN, .change_low = NAN, .change_high = NAN};
	if (causal->target == UINT32_MAX || column_of(&asking, causal->target)->levels)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "'%s': what would change is told of a --target of numbers", text);
	int result = find_column(&asking, text, error);
	result = result ? result : find_value(&asking, text, error);
	result = result ? result : sn_fail_code(error, keep_held(&asking));
	if (!result && asked->status == SN_DO_FOUND)
		result = estimate(&asking, error);
	free(asking.values);
	free(asking.held);
	return result;
}
