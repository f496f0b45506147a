/* SPDX-License-Identifier: Apache-2.0 */
/* Inside formulas: what formula_parse.c makes and formula.c runs. Nobody else includes this. */
#ifndef SN_REPORT_FORMULA_CODE_H
#define SN_REPORT_FORMULA_CODE_H

#include "report/formula.h"

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
	SN_DO_IFEMPTY, /* value, what it is instead */
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

/* A part of a statistic; NaN for the least, greatest, mean and deviation of nothing. */
double sn_formula_part_of(const struct sonde_db_stat *stat, enum sn_formula_part part);

#endif
