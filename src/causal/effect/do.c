/* SPDX-License-Identifier: Apache-2.0 */
/* Expected changes; see do.h. */
#include "do.h"

#include "curve.h"
#include "held.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* That have a number, for it to be compared with all others; else it is a place on a curve. */
#define LEVEL_ROWS 20u

struct asking {
	struct sn_do *asked;
	const struct sn_causal *causal;
	const struct sn_prior *prior;
	uint32_t variable;
	double value; /* a number, or the number of a level */
	struct sn_effect_question question;
	double *cause; /* the question's values of it */
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

static int refuse_left(const struct asking *asking, const char *text, uint32_t column,
		       struct sn_error *error)
{
	const struct sn_prepared *prepared = &asking->causal->prepared;
	for (uint32_t number = 0; number < prepared->left_count; number++)
		if (prepared->left[number].column == column &&
		    prepared->left[number].why == SN_LEFT_SAME)
			return sn_fail(
			    error, SN_ERR_ARGUMENT,
			    "'%s': that column is not compared, as it says the same as '%s'", text,
			    asking->causal->table->columns[prepared->left[number].same_as].name);
	return sn_fail(error, SN_ERR_ARGUMENT, "'%s': that column is not compared", text);
}

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
		return refuse_left(asking, text, column, error);
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

/* ---- the estimate ---- */

static void keep_estimate(struct sn_do *asked, enum sn_effect_status status,
			  const struct sn_estimate *change)
{
	asked->status = sn_do_status_of(status);
	if (status != SN_EFFECT_FOUND)
		return;
	asked->change = change->value;
	asked->change_low = change->low;
	asked->change_high = change->high;
}

/* Whether the rows with the value are of three clusters at least, which tell how much these differ. */
static bool are_of_clusters(const struct asking *asking)
{
	const struct sn_effect_question *question = &asking->question;
	uint32_t seen[2], count = 0;
	for (size_t row = 0; row < question->rows; row++) {
		uint32_t cluster = question->clusters[row];
		if (asking->cause[row] != asking->value || (count > 0 && cluster == seen[0]) ||
		    (count > 1 && cluster == seen[1]))
			continue;
		if (count == 2)
			return true;
		seen[count++] = cluster;
	}
	return false;
}

/* Rows with the value and all others, as two levels; false where too few have it. Repeats of a setting or two are what was asked for: then rows are all there is. */
static bool as_levels(struct asking *asking)
{
	struct sn_effect_question *question = &asking->question;
	size_t having = 0;
	for (size_t row = 0; row < question->rows; row++)
		having += asking->cause[row] == asking->value;
	if (having < LEVEL_ROWS || having == question->rows)
		return false;
	if (asking->causal->prepared.clusters.kind == SN_CLUSTERS_REPEATS && question->clusters &&
	    !are_of_clusters(asking))
		question->clusters = NULL;
	for (size_t row = 0; row < question->rows; row++)
		asking->cause[row] = asking->cause[row] == asking->value;
	asking->value = 1;
	question->cause.levels = 2;
	return true;
}

static int estimate_level(struct asking *asking, struct sn_error *error)
{
	const struct sn_effect_question *question = &asking->question;
	struct sn_what_if_level *levels = calloc(question->cause.levels, sizeof(*levels));
	int result = levels ? sn_what_if(levels, question, error) : sn_fail_memory(error);
	if (!result) {
		const struct sn_what_if_level *level = &levels[(size_t)asking->value];
		keep_estimate(asking->asked, level->status, &level->change);
	}
	free(levels);
	return result;
}

static int estimate_curve(struct asking *asking, struct sn_error *error)
{
	struct sn_curve_change curve;
	int result = sn_curve_change(&curve, &asking->question, asking->value, error);
	asking->asked->is_curve = true;
	if (!result)
		keep_estimate(asking->asked, curve.status, &curve.change);
	if (!result && curve.status == SN_EFFECT_FOUND &&
	    (asking->value < curve.cause_low || asking->value > curve.cause_high)) {
		asking->asked->status = SN_DO_BEYOND;
		asking->asked->change = asking->asked->change_low = asking->asked->change_high =
		    NAN;
	}
	return result;
}

static int estimate(struct asking *asking, struct sn_error *error)
{
	const struct sn_effect_question *question = &asking->question;
	double sum = 0;
	for (size_t row = 0; row < question->rows; row++)
		sum += question->target.values[row];
	asking->asked->mean = sum / (double)question->rows;
	return question->cause.levels || as_levels(asking) ? estimate_level(asking, error)
							   : estimate_curve(asking, error);
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
	if (result)
		return result;
	struct sn_held held;
	result = sn_fail_code(error, sn_held_find(&held, causal, prior, asking.variable));
	asked->status = held.status;
	asked->held = held.variables;
	asked->held_count = held.count;
	if (!result && held.status == SN_DO_FOUND) {
		struct sn_held_question question;
		result = sn_fail_code(
		    error, sn_held_question_init(&question, causal, asking.variable, &held));
		asking.question = question.asked;
		asking.cause = question.values;
		result = result ? result : estimate(&asking, error);
		sn_held_question_release(&question);
	}
	return result;
}
