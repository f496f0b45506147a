/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derived metrics: spreadsheet formulas over a database's metrics (HPCToolkit, sections 4.5, 7.1).
 *
 * A formula is evaluated at one place at a time (a calling context, a row of a table, a profile)
 * from the values that were aggregated there; values of formulas are never added up. The language
 * is described in docs/design/formulas.md and sonde-formula(7). In short:
 *
 *	comparison = sum [("<" | "<=" | ">" | ">=" | "=" | "==" | "<>" | "!=") sum]
 *	sum        = product {("+" | "-") product}
 *	product    = sign {("*" | "/") sign}
 *	sign       = ["-" | "+"] power
 *	power      = atom ["^" sign]
 *	atom       = NUMBER [suffix] | metric | formula | function "(" ... ")" | "(" comparison ")"
 *
 * A metric alone is its sum. A value computed from an empty value (a division by zero, a mean of
 * nothing) is empty; empty is NaN here.
 */
#pragma once

#include "base/error.h"
#include "sonde/db.h"

enum { SN_FORMULA_INPUTS_MAX = 64, SN_FORMULA_TEXT_MAX = 2048, SN_FORMULA_UNIT_CHARS = 48 };

/* Which values of a place a metric means. */
enum sn_formula_scope {
	SN_SCOPE_PLACE, /* inclusive or exclusive, as requested */
	SN_SCOPE_INCLUSIVE,
	SN_SCOPE_EXCLUSIVE,
	SN_SCOPE_ACROSS, /* the profiles' inclusive sums as one set */
	SN_SCOPE_RANKS,	 /* the ranks' (ranks.h) */
};

struct sn_formula_step;

struct sn_formula {
	char *name; /* owned; "" without one */
	char *text; /* owned; as written, but metrics have their plain names */
	char unit[SN_FORMULA_UNIT_CHARS]; /* "ns", "bytes", "bytes/s", "ratio", "1", "" unknown */
	uint32_t input_count;
	uint32_t inputs[SN_FORMULA_INPUTS_MAX]; /* the metrics that it uses */
	bool needs_across;			/* of its inputs, or ranks; else not read */
	bool needs_ranks;			/* likewise */
	double scale;				/* to the unit */
	struct sn_formula_step *steps;		/* owned */
	uint32_t step_count;
};

/* The place of a syntax error. */
struct sn_formula_problem {
	size_t position; /* bytes from the text's start, at most its length */
};

struct sn_formulas;

/*
 * Parses a formula over the metrics of `db` and the formulas of `known` (may be NULL). Totals of
 * the program are looked up now. 0, SN_ERR_ARGUMENT with the place in *problem (may be NULL), or
 * SN_ERR_MEMORY. Free it with sn_formula_free.
 */
int sn_formula_parse(const struct sonde_db *db, const struct sn_formulas *known, const char *name,
		     const char *text, struct sn_formula **formula,
		     struct sn_formula_problem *problem, struct sn_error *error);
void sn_formula_free(struct sn_formula *formula);

/* The values at one place: [input], as in formula->inputs. NULL: unknown. */
struct sn_formula_place {
	const struct sonde_db_stat *inclusive[SN_FORMULA_INPUTS_MAX];
	const struct sonde_db_stat *exclusive[SN_FORMULA_INPUTS_MAX];
	const struct sonde_db_stat *across[SN_FORMULA_INPUTS_MAX];
	const struct sonde_db_stat *ranks[SN_FORMULA_INPUTS_MAX];
	/* The durations of calls (sonde_db_metric_calls); NULL if the metric has none. */
	const struct sonde_db_stat *calls[SN_FORMULA_INPUTS_MAX];
};
/* NaN: empty, also if none of its metrics has a value. MT: safe. */
double sn_formula_evaluate(const struct sn_formula *formula, const struct sn_formula_place *place,
			   bool is_exclusive);
/* At a context of the database over all profiles; binary searches. MT: safe. */
double sn_formula_at_context(const struct sn_formula *formula, const struct sonde_db *db,
			     uint32_t context, bool is_exclusive);

/* A metric's name in a formula: in double quotes if necessary. */
void sn_formula_quote(const char *name, char *text, size_t size);

/* ---- names for formulas ---- */

/*
 * The named formulas: predefined ones whose metrics were measured, those of the database, and added
 * ones. A later one replaces an earlier one of its name, and may use it.
 */
struct sn_formulas {
	const struct sonde_db *db;
	uint32_t count;
	struct sn_formula **items; /* owned */
	const char **about;	   /* [item]: a description; "" */
	size_t item_capacity, about_capacity;
};
/* 0 or SN_ERR_MEMORY; release in either case. A stored formula that cannot be read is left out. */
int sn_formulas_init(struct sn_formulas *formulas, const struct sonde_db *db);
void sn_formulas_release(struct sn_formulas *formulas);
/* The formula of that name, or NULL. A dash and an underscore are the same. */
const struct sn_formula *sn_formulas_find(const struct sn_formulas *formulas, const char *name);
uint32_t sn_formulas_index(const struct sn_formulas *formulas, const char *name);
int sn_formulas_add(struct sn_formulas *formulas, const char *name, const char *text,
		    struct sn_formula_problem *problem, struct sn_error *error);

/* Whether the first `length` bytes could be a formula's name. */
bool sn_formula_is_name(const char *text, size_t length);
/* Whether `text` is NAME=FORMULA, and then the lengths of its parts. */
bool sn_formula_is_definition(const char *text, size_t *name_length);
