/* SPDX-License-Identifier: Apache-2.0 */
/* Directions by residuals; see non_normal.h. */
#include "non_normal.h"

#include "lingam/lingam.h"

#include <stdlib.h>
#include <string.h>

#define DISCOVERY_RATE 0.05

void sn_non_normal_release(struct sn_non_normal *non_normal)
{
	free(non_normal->values);
	*non_normal = (struct sn_non_normal){0};
}

static bool can_be_tested(const struct sn_prepared *prepared)
{
	if (prepared->is_discrete || sn_clusters_have_means(&prepared->clusters) ||
	    prepared->clusters.kind == SN_CLUSTERS_REPEATS || prepared->repeats.of ||
	    prepared->count > SN_NON_NORMAL_VARIABLES || prepared->rows > SN_NON_NORMAL_ROWS ||
	    prepared->rows < 10 * (size_t)prepared->count)
		return false;
	for (uint32_t variable = 0; variable < prepared->count; variable++)
		if (!prepared->is_ordered[variable])
			return false;
	return true;
}

static void test(struct sn_non_normal *non_normal, const struct sn_lingam *lingam)
{
	non_normal->is_tested = true;
	non_normal->not_normal = lingam->not_normal;
	non_normal->dependent_pairs = lingam->dependent_pairs;
	non_normal->holds = sn_lingam_holds(lingam) && !lingam->dependent_pairs;
}

int sn_non_normal_init(struct sn_non_normal *non_normal, const struct sn_prepared *prepared,
		       const struct sn_causal_table *table, const struct sn_knowledge *knowledge,
		       unsigned threads)
{
	const struct sn_lingam_options options = {knowledge, DISCOVERY_RATE, threads};
	struct sn_lingam lingam;
	*non_normal = (struct sn_non_normal){.prepared = prepared};
	if (!can_be_tested(prepared))
		return 0;
	non_normal->values = malloc(prepared->count * prepared->rows * sizeof(double) + 1);
	if (!non_normal->values)
		return SN_ERR_MEMORY;
	for (uint32_t variable = 0; variable < prepared->count; variable++)
		for (size_t row = 0; row < prepared->rows; row++)
			non_normal->values[variable * prepared->rows + row] =
			    table->columns[prepared->columns[variable]]
				.values[prepared->kept_rows[row]];
	int result =
	    sn_lingam(&lingam, non_normal->values, prepared->count, prepared->rows, &options, NULL);
	if (!result)
		test(non_normal, &lingam);
	sn_lingam_release(&lingam);
	return result == SN_ERR_MEMORY ? result : 0;
}

/* The values of a sample's rows; to be freed. */
static double *draw(const struct sn_non_normal *non_normal, const uint32_t *times)
{
	size_t rows = non_normal->prepared->rows;
	double *drawn = malloc(non_normal->prepared->count * rows * sizeof(*drawn) + 1),
	       *to = drawn;
	const double *from = non_normal->values;
	for (uint32_t variable = 0; drawn && variable < non_normal->prepared->count; variable++)
		for (size_t row = 0; row < rows; row++, from++)
			for (uint32_t time = 0; time < (times ? times[row] : 1); time++)
				*to++ = *from;
	return drawn;
}

static void direct(const struct sn_lingam *lingam, struct sn_pdag *graph)
{
	for (uint32_t place = 0; place < lingam->count; place++)
		for (uint32_t later = place + 1; later < lingam->count; later++) {
			uint32_t from = lingam->order[place], to = lingam->order[later];
			if (sn_pdag_is_undirected(graph, from, to) &&
			    sn_lingam_tells(lingam, from, to))
				sn_pdag_direct(graph, from, to);
		}
}

int sn_non_normal_direct(const struct sn_non_normal *non_normal, const uint32_t *times,
			 const struct sn_knowledge *knowledge, struct sn_pdag *graph)
{
	const struct sn_lingam_options options = {knowledge, DISCOVERY_RATE, 1};
	struct sn_lingam lingam = {0};
	if (!non_normal->holds)
		return 0;
	double *values = draw(non_normal, times);
	int result = values ? sn_lingam(&lingam, values, graph->count, non_normal->prepared->rows,
					&options, NULL)
			    : SN_ERR_MEMORY;
	if (!result) {
		direct(&lingam, graph);
		result = sn_pdag_complete(graph, knowledge);
	}
	sn_lingam_release(&lingam);
	free(values);
	return result == SN_ERR_MEMORY ? result : 0;
}
