/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of sonde/formula.h over formula.h. */
#include "sonde/formula.h"

#include "formula.h"
#include "ranks.h"

#include "format/database/statistics.h"

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
	struct sonde_formula *opened = calloc(1, sizeof(*opened));
	int code = opened ? sn_formulas_init(&known, db) : SN_ERR_MEMORY;
	if (opened && !code)
		code = sn_formula_parse(db, &known, "", text, &opened->formula, &problem, &why);
	if (opened)
		sn_formulas_release(&known);
	if (code) {
		if (error)
			snprintf(error->text, sizeof(error->text), "%s",
				 why.text[0] ? why.text : "out of memory");
		if (position)
			*position = problem.position;
		free(opened);
		return code;
	}
	opened->db = db;
	*formula = opened;
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

/* An input's summaries, gone through once by ascending context, and those of its calls. */
struct cursor {
	struct sonde_db_summary_plane plane, calls_plane;
	size_t position, calls_position;
	bool has_calls;
	struct sonde_db_stat stats[SONDE_DB_SCOPES], calls;
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

static struct cursor cursor_of(const struct sonde_db *db, uint32_t metric)
{
	uint32_t calls = sonde_db_metric_calls(db, metric);
	return (struct cursor){.plane = sonde_db_summary_plane(db, metric),
			       .calls_plane = sonde_db_summary_plane(db, calls),
			       .has_calls = calls != SONDE_NONE};
}

/* The calls of a context; NULL where the metric has none anywhere. */
static const struct sonde_db_stat *calls_at(struct cursor *cursor, uint32_t context)
{
	cursor->calls = (struct sonde_db_stat){0};
	if (cursor->calls_position < cursor->calls_plane.count &&
	    cursor->calls_plane.contexts[cursor->calls_position] == context)
		sonde_db_summary_stat(&cursor->calls_plane, cursor->calls_position++,
				      SONDE_DB_EXCLUSIVE, &cursor->calls);
	return cursor->has_calls ? &cursor->calls : NULL;
}

/* How ranks differ, [input * contexts + context]; NULL without memory: then formulas are empty. */
static struct sonde_db_stat *compare_ranks(const struct sonde_formula *formula)
{
	const struct sn_formula *f = formula->formula;
	size_t count = sonde_db_context_count(formula->db);
	struct sonde_db_stat *all = calloc(f->input_count * count + 1, sizeof(*all));
	struct sn_db_ranks ranks;
	int code = sn_db_ranks_init(&ranks, formula->db, NULL);
	for (uint32_t i = 0; all && i < f->input_count && code == 0; i++)
		code = sn_db_ranks_compare(&ranks, formula->db, f->inputs[i], all + i * count);
	sn_db_ranks_release(&ranks);
	if (code == 0)
		return all;
	free(all);
	return NULL;
}

void sonde_formula_values(const struct sonde_formula *formula, bool is_exclusive, double *values)
{
	const struct sn_formula *f = formula->formula;
	struct cursor cursors[SN_FORMULA_INPUTS_MAX];
	for (uint32_t i = 0; i < f->input_count; i++)
		cursors[i] = cursor_of(formula->db, f->inputs[i]);
	uint32_t count = sonde_db_context_count(formula->db);
	struct sonde_db_stat *ranks = f->needs_ranks ? compare_ranks(formula) : NULL;
	for (uint32_t context = 0; context < count; context++) {
		struct sn_formula_place place = {0};
		for (uint32_t i = 0; i < f->input_count; i++) {
			place.calls[i] = calls_at(&cursors[i], context);
			if (!advance(&cursors[i], context, f->needs_across))
				continue;
			place.inclusive[i] = &cursors[i].stats[SONDE_DB_INCLUSIVE];
			place.exclusive[i] = &cursors[i].stats[SONDE_DB_EXCLUSIVE];
			place.across[i] =
			    f->needs_across ? &cursors[i].stats[SONDE_DB_ACROSS] : NULL;
			place.ranks[i] = ranks ? &ranks[(size_t)i * count + context] : NULL;
		}
		values[context] = sn_formula_evaluate(f, &place, is_exclusive);
	}
	free(ranks);
}

/* The inputs' statistics at each of `count` places: contexts or profiles. */
struct grid {
	size_t count;
	/* [input * count + place]; owned. calls: of inputs that have them, else zero */
	struct sonde_db_stat *inclusive, *exclusive, *calls;
	bool has_calls[SN_FORMULA_INPUTS_MAX];
};

static int grid_init(struct grid *grid, const struct sn_formula *formula, size_t count)
{
	size_t cells = formula->input_count * count + 1;
	*grid = (struct grid){.count = count};
	grid->inclusive = calloc(cells, sizeof(*grid->inclusive));
	grid->exclusive = calloc(cells, sizeof(*grid->exclusive));
	grid->calls = calloc(cells, sizeof(*grid->calls));
	return grid->inclusive && grid->exclusive && grid->calls ? 0 : SN_ERR_MEMORY;
}

static void grid_release(struct grid *grid)
{
	free(grid->inclusive);
	free(grid->exclusive);
	free(grid->calls);
}

static void grid_evaluate(const struct grid *grid, const struct sn_formula *formula,
			  bool is_exclusive, double *values)
{
	struct sonde_db_stat across[SN_FORMULA_INPUTS_MAX];
	for (size_t at = 0; at < grid->count; at++) {
		struct sn_formula_place place = {0};
		for (uint32_t i = 0; i < formula->input_count; i++) {
			const struct sonde_db_stat *inclusive =
			    &grid->inclusive[i * grid->count + at];
			if (grid->has_calls[i])
				place.calls[i] = &grid->calls[i * grid->count + at];
			if (inclusive->count <= 0)
				continue;
			across[i] = sn_stat_of(inclusive->sum);
			place.inclusive[i] = inclusive;
			place.exclusive[i] = &grid->exclusive[i * grid->count + at];
			place.across[i] = place.ranks[i] = &across[i];
		}
		values[at] = sn_formula_evaluate(formula, &place, is_exclusive);
	}
}

static void load_plane(struct sonde_db_plane plane, struct sonde_db_stat *stats)
{
	for (size_t i = 0; i < plane.count; i++)
		sonde_db_plane_stat(&plane, i, &stats[plane.ids[i]]);
}

/* One input's own values in a profile, carried up to the contexts above. */
static void load_profile(const struct sonde_db *db, uint32_t profile, uint32_t metric,
			 struct sonde_db_stat *inclusive, struct sonde_db_stat *exclusive)
{
	struct sonde_db_plane plane = sonde_db_profile_plane(db, profile, metric);
	load_plane(plane, exclusive);
	load_plane(plane, inclusive);
	for (uint32_t c = sonde_db_context_count(db); c-- > 1;)
		if (inclusive[c].count > 0)
			sonde_db_stat_merge(&inclusive[sonde_db_context(db, c)->parent],
					    &inclusive[c]);
}

int sonde_formula_profile_values(const struct sonde_formula *formula, uint32_t profile,
				 bool is_exclusive, double *values)
{
	const struct sn_formula *f = formula->formula;
	struct grid grid;
	if (profile >= sonde_db_profile_count(formula->db))
		return SN_ERR_ARGUMENT;
	int code = grid_init(&grid, f, sonde_db_context_count(formula->db));
	for (uint32_t i = 0; i < f->input_count && code == 0; i++) {
		uint32_t calls = sonde_db_metric_calls(formula->db, f->inputs[i]);
		grid.has_calls[i] = calls != SONDE_NONE;
		load_profile(formula->db, profile, f->inputs[i], grid.inclusive + i * grid.count,
			     grid.exclusive + i * grid.count);
		load_plane(sonde_db_profile_plane(formula->db, profile, calls),
			   grid.calls + i * grid.count);
	}
	if (code == 0)
		grid_evaluate(&grid, f, is_exclusive, values);
	grid_release(&grid);
	return code;
}

/* One input's values of all profiles at a context and below. */
static void load_context(const struct sonde_db *db, uint32_t context, uint32_t metric,
			 struct sonde_db_stat *inclusive, struct sonde_db_stat *exclusive)
{
	for (uint32_t c = context; c < sonde_db_context(db, context)->end; c++) {
		struct sonde_db_plane row = sonde_db_context_row(db, c, metric);
		for (size_t i = 0; i < row.count; i++) {
			struct sonde_db_stat stat;
			sonde_db_plane_stat(&row, i, &stat);
			sonde_db_stat_merge(&inclusive[row.ids[i]], &stat);
			if (c == context)
				exclusive[row.ids[i]] = stat;
		}
	}
}

int sonde_formula_context_values(const struct sonde_formula *formula, uint32_t context,
				 bool is_exclusive, double *values)
{
	const struct sn_formula *f = formula->formula;
	struct grid grid;
	if (context >= sonde_db_context_count(formula->db))
		return SN_ERR_ARGUMENT;
	int code = grid_init(&grid, f, sonde_db_profile_count(formula->db));
	for (uint32_t i = 0; i < f->input_count && code == 0; i++) {
		uint32_t calls = sonde_db_metric_calls(formula->db, f->inputs[i]);
		grid.has_calls[i] = calls != SONDE_NONE;
		load_context(formula->db, context, f->inputs[i], grid.inclusive + i * grid.count,
			     grid.exclusive + i * grid.count);
		load_plane(sonde_db_context_row(formula->db, context, calls),
			   grid.calls + i * grid.count);
	}
	if (code == 0)
		grid_evaluate(&grid, f, is_exclusive, values);
	grid_release(&grid);
	return code;
}

int sonde_formula_list_open(const struct sonde_db *db, struct sonde_formula_list **list)
{
	struct sonde_formula_list *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return SN_ERR_MEMORY;
	int code = sn_formulas_init(&opened->known, db);
	if (code)
		sonde_formula_list_close(opened);
	else
		*list = opened;
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
