/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluating formulas; see formula.h. */
#include "formula_code.h"

#include "ranks.h"

#include <math.h>
#include <stdlib.h>

double sn_formula_part_of(const struct sonde_db_stat *stat, enum sn_formula_part part)
{
	bool is_nothing = !stat || stat->count == 0;
	switch (part) {
	case SN_PART_SUM:
		return is_nothing ? 0 : stat->sum;
	case SN_PART_COUNT:
		return is_nothing ? 0 : stat->count;
	case SN_PART_MIN:
		return is_nothing ? NAN : stat->min;
	case SN_PART_MAX:
		return is_nothing ? NAN : stat->max;
	case SN_PART_MEAN:
		return is_nothing ? NAN : sonde_db_stat_mean(stat);
	case SN_PART_DEV:
		return is_nothing ? NAN : sonde_db_stat_deviation(stat);
	}
	return NAN;
}

static const struct sonde_db_stat *set_of(const struct sn_formula_place *place,
					  const struct sn_formula_step *step, bool is_exclusive)
{
	switch (step->scope) {
	case SN_SCOPE_INCLUSIVE:
		return place->inclusive[step->input];
	case SN_SCOPE_EXCLUSIVE:
		return place->exclusive[step->input];
	case SN_SCOPE_ACROSS:
		return place->across[step->input];
	case SN_SCOPE_RANKS:
		return place->ranks[step->input];
	case SN_SCOPE_PLACE:
		break;
	}
	return is_exclusive ? place->exclusive[step->input] : place->inclusive[step->input];
}

/* The set that a part is taken of. Inclusive times of calls that contain each other are added up,
 * but count and mean are of the calls. */
static const struct sonde_db_stat *stat_of(const struct sn_formula_place *place,
					   const struct sn_formula_step *step, bool is_exclusive)
{
	bool is_inclusive =
	    step->scope == SN_SCOPE_INCLUSIVE || (step->scope == SN_SCOPE_PLACE && !is_exclusive);
	if (is_inclusive && step->part != SN_PART_SUM && place->calls[step->input])
		return place->calls[step->input];
	return set_of(place, step, is_exclusive);
}

static double compare(enum sn_formula_operation operation, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	switch (operation) {
	case SN_DO_LESS:
		return a < b;
	case SN_DO_LESS_EQUAL:
		return a <= b;
	case SN_DO_GREATER:
		return a > b;
	case SN_DO_GREATER_EQUAL:
		return a >= b;
	case SN_DO_EQUAL:
		return a == b;
	default:
		return a != b;
	}
}

static double of_two(enum sn_formula_operation operation, double a, double b)
{
	switch (operation) {
	case SN_DO_ADD:
		return a + b;
	case SN_DO_SUBTRACT:
		return a - b;
	case SN_DO_MULTIPLY:
		return a * b;
	case SN_DO_DIVIDE:
		return b == 0 ? NAN : a / b;
	case SN_DO_POWER:
		return isnan(a) || isnan(b) ? NAN : pow(a, b); /* pow(1, NAN) is 1 */
	case SN_DO_MIN:
		return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
	case SN_DO_MAX:
		return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
	case SN_DO_IFEMPTY:
		return isnan(a) ? b : a;
	default:
		return compare(operation, a, b);
	}
}

static double of_one(enum sn_formula_operation operation, double a)
{
	switch (operation) {
	case SN_DO_NEGATE:
		return -a;
	case SN_DO_SQRT:
		return a < 0 ? NAN : sqrt(a);
	case SN_DO_ABS:
		return fabs(a);
	case SN_DO_LOG:
		return a > 0 ? log(a) : NAN;
	default:
		return exp(a);
	}
}

/* What is too large for a number is no value either. */
static double finite_or_empty(double value)
{
	return isfinite(value) ? value : NAN;
}

/* The parser keeps the stack within SN_FORMULA_STEPS_MAX, and gives every step its operands. */
static double run(const struct sn_formula *formula, const struct sn_formula_place *place,
		  bool is_exclusive)
{
	double stack[SN_FORMULA_STEPS_MAX];
	uint32_t top = 0;
	for (uint32_t i = 0; i < formula->step_count; i++) {
		const struct sn_formula_step *step = formula->steps + i;
		switch (step->operation) {
		case SN_DO_NUMBER:
			stack[top++] = step->number;
			break;
		case SN_DO_METRIC:
			stack[top++] =
			    sn_formula_part_of(stat_of(place, step, is_exclusive), step->part);
			break;
		case SN_DO_NEGATE:
		case SN_DO_SQRT:
		case SN_DO_ABS:
		case SN_DO_LOG:
		case SN_DO_EXP:
			stack[top - 1] = finite_or_empty(of_one(step->operation, stack[top - 1]));
			break;
		case SN_DO_IF:
			top -= 2;
			stack[top - 1] = isnan(stack[top - 1]) ? NAN
					 : stack[top - 1] != 0 ? stack[top]
							       : stack[top + 1];
			break;
		default:
			top--;
			stack[top - 1] =
			    finite_or_empty(of_two(step->operation, stack[top - 1], stack[top]));
		}
	}
	return stack[0];
}

static bool has_any(const struct sn_formula *formula, const struct sn_formula_place *place,
		    bool is_exclusive)
{
	if (formula->input_count == 0)
		return true;
	for (uint32_t i = 0; i < formula->step_count; i++) {
		const struct sn_formula_step *step = formula->steps + i;
		if (step->operation != SN_DO_METRIC)
			continue;
		const struct sonde_db_stat *stat = set_of(place, step, is_exclusive);
		if (stat && stat->count > 0)
			return true;
	}
	return false;
}

double sn_formula_evaluate(const struct sn_formula *formula, const struct sn_formula_place *place,
			   bool is_exclusive)
{
	if (!has_any(formula, place, is_exclusive))
		return NAN;
	return finite_or_empty(run(formula, place, is_exclusive) * formula->scale);
}

double sn_formula_at_context(const struct sn_formula *formula, const struct sonde_db *db,
			     uint32_t context, bool is_exclusive)
{
	struct sonde_db_summary summaries[SN_FORMULA_INPUTS_MAX], calls[SN_FORMULA_INPUTS_MAX];
	struct sonde_db_stat ranks[SN_FORMULA_INPUTS_MAX];
	struct sn_formula_place place = {0};
	struct sn_db_ranks all;
	bool has_ranks = formula->needs_ranks && !sn_db_ranks_init(&all, db, NULL);
	for (uint32_t i = 0; i < formula->input_count; i++) {
		uint32_t of_calls = sonde_db_metric_calls(db, formula->inputs[i]);
		sonde_db_summary(db, context, of_calls, &calls[i]);
		if (of_calls != SONDE_NONE)
			place.calls[i] = &calls[i].exclusive;
		if (!sonde_db_summary(db, context, formula->inputs[i], &summaries[i]))
			continue;
		place.inclusive[i] = &summaries[i].inclusive;
		place.exclusive[i] = &summaries[i].exclusive;
		place.across[i] = &summaries[i].across;
		if (has_ranks) {
			ranks[i] = sn_db_ranks_at(&all, db, formula->inputs[i], context);
			place.ranks[i] = &ranks[i];
		}
	}
	if (formula->needs_ranks)
		sn_db_ranks_release(&all);
	return sn_formula_evaluate(formula, &place, is_exclusive);
}

void sn_formula_free(struct sn_formula *formula)
{
	if (!formula)
		return;
	free(formula->name);
	free(formula->text);
	free(formula->steps);
	free(formula);
}
