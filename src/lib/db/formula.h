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
 * A metric alone is its sum. An empty value (a division by zero, a mean of nothing) makes all empty
 * that is computed of it, and is NaN here.
 */
#ifndef SN_LIB_FORMULA_H
#define SN_LIB_FORMULA_H

#include "base/error.h"
#include "sonde/db.h"

enum { SN_FORMULA_INPUTS_MAX = 64, SN_FORMULA_TEXT_MAX = 2048, SN_FORMULA_UNIT_CHARS = 48 };

/* Which of a place's values a metric stands for. */
enum sn_formula_scope {
	SN_SCOPE_PLACE, /* inclusive or exclusive, as is asked for */
	SN_SCOPE_INCLUSIVE,
	SN_SCOPE_EXCLUSIVE,
	SN_SCOPE_ACROSS, /* the profiles' inclusive sums as one set */
	SN_SCOPE_RANKS,	 /* the ranks' (ranks.h) */
};

struct sn_formula_step;

struct sn_formula {
	char *name; /* owned; "" where it has none */
	char *text; /* owned; as it was written, but for metrics, which have their plain names */
	char unit[SN_FORMULA_UNIT_CHARS]; /* "ns", "bytes", "bytes/s", "ratio", "1", "" unknown */
	uint32_t input_count;
	uint32_t inputs[SN_FORMULA_INPUTS_MAX]; /* the metrics it looks at */
	bool needs_across;			/* of its inputs, or ranks; else not looked at */
	bool needs_ranks;			/* likewise */
	double scale;				/* to the unit */
	struct sn_formula_step *steps;		/* owned */
	uint32_t step_count;
};

/* Where a text could not be understood. */
struct sn_formula_problem {
	size_t position; /* bytes from the text's start, at most its length */
};

struct sn_formulas;

/*
 * Reads a formula about the metrics of `db`, and about the formulas of `known` (may be NULL). What
 * it says of the whole program is looked up now. 0, SN_ERR_ARGUMENT with the place in *problem (may
 * be NULL), or SN_ERR_MEMORY. Free it with sn_formula_free.
 */
int sn_formula_parse(const struct sonde_db *db, const struct sn_formulas *known, const char *name,
		     const char *text, struct sn_formula **formula,
		     struct sn_formula_problem *problem, struct sn_error *error);
void sn_formula_free(struct sn_formula *formula);

/* The values at one place: [input], as in formula->inputs. NULL: nothing is known of it. */
struct sn_formula_place {
	const struct sonde_db_stat *inclusive[SN_FORMULA_INPUTS_MAX];
	const struct sonde_db_stat *exclusive[SN_FORMULA_INPUTS_MAX];
	const struct sonde_db_stat *across[SN_FORMULA_INPUTS_MAX];
	const struct sonde_db_stat *ranks[SN_FORMULA_INPUTS_MAX];
	/* The lengths of calls (sonde_db_metric_calls); NULL where the metric has none. */
	const struct sonde_db_stat *calls[SN_FORMULA_INPUTS_MAX];
};
/* NaN: empty. It is empty as well where none of its metrics has a value. MT: safe. */
double sn_formula_evaluate(const struct sn_formula *formula, const struct sn_formula_place *place,
			   bool is_exclusive);
/* At a context of the database over all profiles; binary searches. MT: safe. */
double sn_formula_at_context(const struct sn_formula *formula, const struct sonde_db *db,
			     uint32_t context, bool is_exclusive);

/* A metric's name in a formula: in double quotes where it must be. */
void sn_formula_quote(const char *name, char *text, size_t size);

/* ---- names for formulas ---- */

/*
 * The formulas that can be used by name: those that come with Sonde whose metrics were measured,
 * those that the database holds, and those that were added. A later one of a name replaces an
 * earlier one, and may use it.
 */
struct sn_formulas {
	const struct sonde_db *db;
	uint32_t count;
	struct sn_formula **items; /* owned */
	const char **about;	   /* [item]: what it is, for people; "" */
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

#endif
