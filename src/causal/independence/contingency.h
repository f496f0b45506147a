/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test of categories: in each group of rows with the same values of the held variables, how far the numbers of rows are from what the
 * margins of that group would give; summed, about a chi-square number where a and b are independent in each group (Bishop,
 * Fienberg and Holland, "Discrete multivariate analysis", 1975, sections 3.8 and 4.4).
 *
 * The degrees of freedom where cells are empty, and what other programs take:
 *
 *	MARGINS  a level of a or b that no row of a group has, and a group without rows, has no degree of freedom (Bishop, Fienberg and
 *		 Holland, section 3.8). causal-learn 0.1.4; bnlearn's "mi-adf" and "x2-adf".
 *	ALL	 (levels of a - 1) (levels of b - 1) times the levels of each held variable. pcalg's default, bnlearn's "mi" and "x2".
 *	CELLS	 as ALL, but one less for each cell without rows, at least 1 (Spirtes, Glymour and Scheines, "Causation, prediction, and
 *		 search", 2000, section 5.5). pcalg's adaptDF = TRUE.
 *
 * With ALL a sparse table has far too many degrees, and everything seems independent; with CELLS it may have far too few. pcalg also takes
 * variables as independent without a test where there are less than 10 rows for each degree; `rows_per_degree` asks for the opposite:
 * below it nothing is tested, so that nothing is separated. causal-learn and, by default, this test always test. Where there
 * is no degree of freedom, causal-learn takes a and b as independent, with the probability 1; so does this test.
 */
#pragma once

#include "causal/search/discrete_score.h"
#include "independence.h"

enum sn_contingency_statistic {
	SN_CONTINGENCY_CHI_SQUARE, /* Pearson's */
	SN_CONTINGENCY_G_SQUARE,   /* of the likelihood ratio */
};

enum sn_contingency_degrees {
	SN_CONTINGENCY_MARGINS,
	SN_CONTINGENCY_ALL,
	SN_CONTINGENCY_CELLS,
};

struct sn_contingency_groups;

struct sn_contingency {
	const struct sn_discrete_table *table;
	enum sn_contingency_statistic statistic;
	enum sn_contingency_degrees degrees;
	double rows_per_degree, rows; /* as often as they count */
	/* The rows in groups by the first 0, 1, 2 ... variables held last. */
	struct sn_contingency_groups *groups;
	uint32_t group_levels, group_capacity;
	uint32_t *counts; /* of rows, by the values of a and b, then by that of each */
};

/* Levels are at most 256. `table` must live as long. Degrees as MARGINS, every test done. 0 or SN_ERR_MEMORY; release it in either case. */
int sn_contingency_init(struct sn_contingency *contingency, const struct sn_discrete_table *table,
			enum sn_contingency_statistic statistic);
void sn_contingency_release(struct sn_contingency *contingency);
struct sn_independence sn_contingency_test(struct sn_contingency *contingency);

/* The statistic and its degrees of freedom. 0 or SN_ERR_MEMORY. */
int sn_contingency_measure(struct sn_contingency *contingency, uint32_t a, uint32_t b,
			   const uint32_t *given, uint32_t count, double *value, double *degrees);
