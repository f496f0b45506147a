/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of formulas: the code that formula_parse.c and formula_name.c generate and formula.c
 * runs. Also used by exporters that write formulas in another form.
 */
#pragma once

#include "formula.h"

enum { SN_FORMULA_STEPS_MAX = 1024 };

/* Postfix: operands first. */
enum sn_formula_operation {
	SN_DO_NUMBER,
	SN_DO_METRIC,
	SN_DO_NEGATE,
	SN_DO_ADD,
	SN_DO_SUBTRACT,
	SN_DO_MULTIPLY,
	SN_DO_DIVIDE,
	SN_DO_POWER,
	SN_DO_LESS,
	SN_DO_LESS_EQUAL,
	SN_DO_GREATER,
	SN_DO_GREATER_EQUAL,
	SN_DO_EQUAL,
	SN_DO_DIFFERENT,
	SN_DO_MIN,
	SN_DO_MAX,
	SN_DO_SQRT,
	SN_DO_ABS,
	SN_DO_LOG,
	SN_DO_EXP,
	SN_DO_IF,      /* condition, then, else */
	SN_DO_IFEMPTY, /* value, replacement */
};

enum sn_formula_part {
	SN_PART_SUM,
	SN_PART_COUNT,
	SN_PART_MIN,
	SN_PART_MAX,
	SN_PART_MEAN,
	SN_PART_DEV
};

struct sn_formula_step {
	enum sn_formula_operation operation;
	enum sn_formula_scope scope;
	enum sn_formula_part part;
	uint32_t input;
	double number;
};

enum { SN_FORMULA_NAME_BYTES = 256 };

/* A text that is being read. */
struct sn_formula_parser {
	const struct sonde_db *db;
	const struct sn_formulas *known;
	uint32_t known_count; /* of these; in a formula, those before it */
	const char *text, *at;
	struct sn_formula *formula;
	struct sn_error *error;
	int code; /* the first failure */
	size_t position;
	unsigned depth;	 /* of brackets and formulas */
	unsigned nested; /* formulas that are being parsed in place */
	/* The scope of metrics here. */
	enum sn_formula_scope scope;
	bool is_total;
	/* The text with plain names; NULL while in another formula. */
	char *plain;
	const char *copied; /* the text up to here is in it */
};

/* A name in the text, and its meaning: a metric, a formula, or neither. */
struct sn_formula_name {
	char text[SN_FORMULA_NAME_BYTES];
	const char *start;
	bool is_quoted;
	uint32_t metric, formula; /* SONDE_NONE */
};

/* Stores the first failure and its place; returns it. */
int sn_formula_fail_at(struct sn_formula_parser *parser, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void sn_formula_skip_blanks(struct sn_formula_parser *parser);
/* The name at this place, "" without one. */
void sn_formula_read_name(struct sn_formula_parser *parser, struct sn_formula_name *name);
/* The name is neither a metric nor a formula. */
int sn_formula_fail_unknown(struct sn_formula_parser *parser, const struct sn_formula_name *name);
/* Puts the metric's own name into the plain text, instead of the text from name->start to here.
 */
void sn_formula_copy_name(struct sn_formula_parser *parser, const struct sn_formula_name *name);
bool sn_formula_is_name_start(char c);
bool sn_formula_is_name_part(char c);
bool sn_formula_is_function(const char *name);

/* A part of a statistic; NaN for the least, greatest, mean and deviation without values. */
double sn_formula_part_of(const struct sonde_db_stat *stat, enum sn_formula_part part);
