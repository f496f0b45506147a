/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PC on a table, for bench/causal_pc.py and tests: prints the edges, and how long each part took.
 *
 * Usage: bench-causal-pc TABLE TEST ALPHA DEPTH THREADS [majority|conservative [TIERS]]
 * TEST is fisher, chi-square or g-square; columns are taken as they are, all of numbers. TIERS is one digit for each column. A line of the output is "edge A B p" (A -> B), "open A B p" or "time PART seconds".
 */
#include "base/pool.h"
#include "causal/correlations.h"
#include "causal/independence/contingency.h"
#include "causal/independence/fisher.h"
#include "causal/pc/pc.h"
#include "causal/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MOST = 64, COLUMNS_MOST = 65536, LEVELS_MOST = 256 };

static struct sn_causal_table table;
static double *correlations;
static uint32_t count;
static struct sn_independence tests[THREADS_MOST];
static struct sn_fisher fishers[THREADS_MOST];
static struct sn_contingency contingencies[THREADS_MOST];
static struct sn_discrete_table discrete;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void check(int result, const struct sn_error *error)
{
	if (!result)
		return;
	fprintf(stderr, "bench-causal-pc: %s\n", error ? error->text : "out of memory");
	exit(1);
}

/* Of columns as they are. */
static void correlate_columns(void)
{
	struct sn_error error;
	size_t rows = table.row_count;
	double *values = malloc(table.column_count * rows * sizeof(*values));
	correlations =
	    malloc((size_t)table.column_count * table.column_count * sizeof(*correlations));
	check(values && correlations ? 0 : SN_ERR_MEMORY, NULL);
	count = table.column_count;
	for (uint32_t column = 0; column < count; column++) {
		const double *from = table.columns[column].values;
		double *to = values + column * rows, mean = 0, squares = 0;
		for (size_t row = 0; row < rows; row++)
			mean += from[row] / (double)rows;
		for (size_t row = 0; row < rows; row++) {
			to[row] = from[row] - mean;
			squares += to[row] * to[row];
		}
		for (size_t row = 0; row < rows; row++)
			to[row] /= sqrt(squares);
	}
	check(sn_correlations_load(&error), &error);
	check(sn_correlations(values, count, rows, NULL, correlations), NULL);
	free(values);
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* Into `levels` the column's distinct values, ascending. Their number. */
static uint32_t distinct(const double *values, size_t rows, double *levels)
{
	double *sorted = malloc((rows + 1) * sizeof(*sorted));
	uint32_t found = 0;
	check(sorted ? 0 : SN_ERR_MEMORY, NULL);
	memcpy(sorted, values, rows * sizeof(*sorted));
	qsort(sorted, rows, sizeof(*sorted), compare);
	for (size_t row = 0; row < rows; row++) {
		if (row && sorted[row] == sorted[row - 1])
			continue;
		if (found == LEVELS_MOST) {
			fprintf(stderr, "bench-causal-pc: columns are not categories\n");
			exit(1);
		}
		levels[found++] = sorted[row];
	}
	free(sorted);
	return found;
}

/* Of columns of categories. */
static void number_levels(void)
{
	static uint8_t *categories[COLUMNS_MOST];
	static uint32_t levels[COLUMNS_MOST];
	count = table.column_count;
	for (uint32_t column = 0; column < count; column++) {
		double own[LEVELS_MOST];
		const double *values = table.columns[column].values;
		levels[column] = distinct(values, table.row_count, own);
		categories[column] = malloc(table.row_count + 1);
		check(categories[column] ? 0 : SN_ERR_MEMORY, NULL);
		for (size_t row = 0; row < table.row_count; row++)
			categories[column][row] =
			    (uint8_t)((double *)bsearch(&values[row], own, levels[column],
							sizeof(*own), compare) -
				      own);
	}
	discrete = (struct sn_discrete_table){count, table.row_count,
					      (const uint8_t *const *)categories, levels};
}

static void make_tests(const char *test, unsigned threads)
{
	bool is_fisher = !strcmp(test, "fisher");
	enum sn_contingency_statistic statistic =
	    strcmp(test, "g-square") ? SN_CONTINGENCY_CHI_SQUARE : SN_CONTINGENCY_G_SQUARE;
	if (is_fisher)
		correlate_columns();
	else
		number_levels();
	for (unsigned thread = 0; thread < threads; thread++) {
		if (is_fisher) {
			sn_fisher_init(&fishers[thread], correlations, count, table.row_count);
			tests[thread] = sn_fisher_test(&fishers[thread]);
		} else {
			check(sn_contingency_init(&contingencies[thread], &discrete, statistic),
			      NULL);
			tests[thread] = sn_contingency_test(&contingencies[thread]);
		}
	}
}

static const char *name_of(uint32_t variable)
{
	return table.columns[variable].name;
}

static void print(const struct sn_pc *pc)
{
	for (uint32_t number = 0; number < pc->edge_count; number++) {
		const struct sn_pc_edge *edge = &pc->edges[number];
		bool is_reversed = sn_pdag_is_directed(&pc->graph, edge->b, edge->a);
		printf("%s %s %s %.17g\n",
		       sn_pdag_is_undirected(&pc->graph, edge->a, edge->b) ? "open" : "edge",
		       name_of(is_reversed ? edge->b : edge->a),
		       name_of(is_reversed ? edge->a : edge->b), edge->probability);
	}
}

int main(int argc, char **argv)
{
	static uint16_t tiers[COLUMNS_MOST];
	struct sn_knowledge knowledge = {.tiers = tiers};
	struct sn_error error;
	struct sn_pc pc;
	if (argc < 6 || argc > 8) {
		fprintf(stderr, "usage: bench-causal-pc TABLE TEST ALPHA DEPTH THREADS "
				"[majority|conservative [TIERS]]\n");
		return 1;
	}
	unsigned threads = sn_pool_threads((unsigned)atoi(argv[5]));
	threads = threads > THREADS_MOST ? THREADS_MOST : threads;
	double start = now();
	check(sn_causal_table_read(&table, argv[1], &error), &error);
	double read = now();
	if (table.column_count > COLUMNS_MOST) {
		fprintf(stderr, "bench-causal-pc: more than %d columns\n", COLUMNS_MOST);
		return 1;
	}
	make_tests(argv[2], threads);
	double prepared_at = now();
	struct sn_pc_options options = {.tests = tests,
					.threads = threads,
					.alpha = atof(argv[3]),
					.depth = (uint32_t)atoi(argv[4]),
					.rule = argc > 6 && argv[6][0] == 'c' ? SN_PC_CONSERVATIVE
									      : SN_PC_MAJORITY};
	knowledge.count = count;
	for (uint32_t column = 0; argc > 7 && argv[7][column] && column < COLUMNS_MOST; column++)
		tiers[column] = (uint16_t)(argv[7][column] - '0');
	options.knowledge = argc > 7 ? &knowledge : NULL;
	check(sn_pc(&pc, count, &options), NULL);
	double done = now();
	print(&pc);
	printf("time read %.6f\ntime prepare %.6f\ntime pc %.6f\ndepth %u\n", read - start,
	       prepared_at - read, done - prepared_at, pc.depth);
	sn_pc_release(&pc);
	for (unsigned thread = 0; thread < threads; thread++) {
		sn_fisher_release(&fishers[thread]);
		sn_contingency_release(&contingencies[thread]);
	}
	free(correlations);
	sn_causal_table_release(&table);
	return 0;
}
