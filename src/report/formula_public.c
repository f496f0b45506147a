/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of sonde/formula.h over formula.h. */
#include "sonde/formula.h"

#include "report/formula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct sonde_formula {
	const struct sonde_db *db;
	struct sn_formula *formula;
};

struct sonde_formula_list {
	struct sn_formulas known;
};

int sonde_formula_open(const struct sonde_db *db, const char *text, struct sonde_formula **formula,
		       struct sonde_db_error *error, size_t *position)
{
	struct sn_formulas known;
	struct sn_error why = {""};
	struct sn_formula_problem problem = {0};
	struct sonde_formula *made = calloc(1, sizeof(*made));
	int code = made ? sn_formulas_init(&known, db) : SN_ERR_MEMORY;
	if (made && !code)
		code = sn_formula_parse(db, &known, "", text, &made->formula, &problem, &why);
	if (made)
		sn_formulas_release(&known);
	if (code) {
		if (error)
			snprintf(error->text, sizeof(error->text), "%s",
				 why.text[0] ? why.text : "out of memory");
		if (position)
			*position = problem.position;
		free(made);
		return code;
	}
	made->db = db;
	*formula = made;
	return 0;
}

void sonde_formula_close(struct sonde_formula *formula)
{
	if (formula)
		sn_formula_free(formula->formula);
	free(formula);
}

const char *sonde_formula_unit(const struct sonde_formula *formula)
{
	return formula->formula->unit;
}

double sonde_formula_value(const struct sonde_formula *formula, uint32_t context, bool is_exclusive)
{
	if (context >= sonde_db_context_count(formula->db))
		return NAN;
	return sn_formula_at_context(formula->formula, formula->db, context, is_exclusive);
}

/* An input's summaries, gone through once by ascending context. */
struct cursor {
	struct sonde_db_summary_plane plane;
	size_t position;
	struct sonde_db_stat stats[SONDE_DB_SCOPES];
};

static bool advance(struct cursor *cursor, uint32_t context, bool needs_across)
{
	if (cursor->position == cursor->plane.count ||
	    cursor->plane.contexts[cursor->position] != context)
		return false;
	for (int scope = 0; scope < SONDE_DB_SCOPES; scope++)
		if (scope != SONDE_DB_ACROSS || needs_across)
			sonde_db_summary_stat(&cursor->plane, cursor->position,
					      (enum sonde_db_scope)scope, &cursor->stats[scope]);
	cursor->position++;
	return true;
}

void sonde_formula_values(const struct sonde_formula *formula, bool is_exclusive, double *values)
{
	const struct sn_formula *f = formula->formula;
	struct cursor cursors[SN_FORMULA_INPUTS_MAX];
	for (uint32_t i = 0; i < f->input_count; i++)
		cursors[i] =
		    (struct cursor){.plane = sonde_db_summary_plane(formula->db, f->inputs[i])};
	uint32_t count = sonde_db_context_count(formula->db);
	for (uint32_t context = 0; context < count; context++) {
		struct sn_formula_place place = {0};
		for (uint32_t i = 0; i < f->input_count; i++) {
			if (!advance(&cursors[i], context, f->needs_across))
				continue;
			place.inclusive[i] = &cursors[i].stats[SONDE_DB_INCLUSIVE];
			place.exclusive[i] = &cursors[i].stats[SONDE_DB_EXCLUSIVE];
			place.across[i] =
			    f->needs_across ? &cursors[i].stats[SONDE_DB_ACROSS] : NULL;
		}
		values[context] = sn_formula_evaluate(f, &place, is_exclusive);
	}
}

int sonde_formula_list_open(const struct sonde_db *db, struct sonde_formula_list **list)
{
	struct sonde_formula_list *made = calloc(1, sizeof(*made));
	if (!made)
		return SN_ERR_MEMORY;
	int code = sn_formulas_init(&made->known, db);
	if (code)
		sonde_formula_list_close(made);
	else
		*list = made;
	return code;
}

void sonde_formula_list_close(struct sonde_formula_list *list)
{
	if (list)
		sn_formulas_release(&list->known);
	free(list);
}

uint32_t sonde_formula_list_count(const struct sonde_formula_list *list)
{
	return list->known.count;
}

struct sonde_formula_entry sonde_formula_list_entry(const struct sonde_formula_list *list,
						    uint32_t number)
{
	const struct sn_formula *formula = list->known.items[number];
	return (struct sonde_formula_entry){formula->name, formula->text, formula->unit,
					    list->known.about[number]};
}
