/* SPDX-License-Identifier: Apache-2.0 */
/* PC with the tests that fit the columns; see second.h. */
#include "second.h"

#include "base/error.h"
#include "base/pool.h"
#include "base/search.h"
#include "independence/blocks.h"
#include "independence/contingency.h"
#include "independence/fisher.h"
#include "rows/row_sample.h"

#include <stdlib.h>

/* Each thread's own. */
union tester {
	struct sn_fisher fisher;
	struct sn_contingency contingency;
	struct sn_blocks blocks[SN_STRATA_MOST];
};

enum kind { NUMBERS, CATEGORIES, MIXED };

static enum kind kind_of(const struct sn_prepared *prepared)
{
	if (prepared->is_discrete)
		return CATEGORIES;
	bool is_plain = prepared->first[prepared->count] == prepared->count;
	return is_plain && prepared->strata.are_shared && !prepared->strata.dependence ? NUMBERS
										       : MIXED;
}

static int begin_blocks(struct sn_blocks blocks[SN_STRATA_MOST], const struct sn_row_sample *rows)
{
	const struct sn_prepared *prepared = rows->prepared;
	int result = 0;
	for (uint32_t number = 0; !result && number < prepared->strata.count; number++) {
		result = sn_blocks_init(&blocks[number], rows->strata[number].correlations,
					prepared->strata.of[number].first, prepared->count,
					rows->strata[number].rows);
		blocks[number].dependence = prepared->strata.dependence;
		if (number)
			blocks[number - 1].also = &blocks[number];
	}
	return result;
}

static int begin(union tester *tester, enum kind kind, const struct sn_row_sample *rows,
		 struct sn_independence *test)
{
	const struct sn_prepared *prepared = rows->prepared;
	int result = 0;
	if (kind == NUMBERS) {
		sn_fisher_init(&tester->fisher, rows->correlations, prepared->count,
			       prepared->rows);
		*test = sn_fisher_test(&tester->fisher);
	} else if (kind == CATEGORIES) {
		result = sn_contingency_init(&tester->contingency, &rows->table,
					     SN_CONTINGENCY_CHI_SQUARE);
		*test = sn_contingency_test(&tester->contingency);
	} else {
		result = begin_blocks(tester->blocks, rows);
		*test = sn_blocks_test(tester->blocks);
	}
	return result;
}

static void end(union tester *tester, enum kind kind)
{
	if (kind == NUMBERS)
		sn_fisher_release(&tester->fisher);
	else if (kind == CATEGORIES)
		sn_contingency_release(&tester->contingency);
	else
		for (uint32_t number = 0; number < SN_STRATA_MOST; number++)
			sn_blocks_release(&tester->blocks[number]);
}

static int ask(struct sn_pc *pc, const struct sn_row_sample *rows, union tester *testers,
	       struct sn_independence *tests, const struct sn_pc_options *options)
{
	enum kind kind = kind_of(rows->prepared);
	unsigned begun = 0;
	int result = 0;
	while (!result && begun < options->threads) {
		result = begin(&testers[begun], kind, rows, &tests[begun]);
		begun++;
	}
	result = result ? result : sn_pc(pc, rows->prepared->count, options);
	while (begun > 0)
		end(&testers[--begun], kind);
	return result;
}

int sn_second_opinion(struct sn_pc *pc, const struct sn_prepared *prepared,
		      const struct sn_knowledge *knowledge, unsigned threads)
{
	struct sn_row_sample rows;
	unsigned count = sn_pool_threads(threads);
	union tester *testers = calloc(count, sizeof(*testers));
	struct sn_independence *tests = calloc(count, sizeof(*tests));
	struct sn_pc_options options = {.tests = tests,
					.threads = count,
					.knowledge = knowledge,
					.alpha = SN_SECOND_ALPHA,
					.depth = SN_SECOND_DEPTH};
	*pc = (struct sn_pc){0};
	int result = sn_row_sample_draw(&rows, prepared, 0, 0);
	if (!result)
		result =
		    testers && tests ? ask(pc, &rows, testers, tests, &options) : SN_ERR_MEMORY;
	sn_row_sample_release(&rows);
	free(testers);
	free(tests);
	return result;
}

const struct sn_pc_edge *sn_pc_edge_between(const struct sn_pc *pc, uint32_t a, uint32_t b)
{
	uint32_t low = a < b ? a : b, high = a < b ? b : a;
	uint32_t place =
	    sn_search(i, pc->edge_count,
		      pc->edges[i].a < low || (pc->edges[i].a == low && pc->edges[i].b < high));
	const struct sn_pc_edge *edge = &pc->edges[place];
	return place < pc->edge_count && edge->a == low && edge->b == high ? edge : NULL;
}
