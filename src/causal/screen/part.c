/* SPDX-License-Identifier: Apache-2.0 */
/* Correlations of some columns with all; see part.h. */
#include "part.h"

#include "base/error.h"
#include "base/vec.h"
#include "causal/correlations.h"

#include <math.h>
#include <stdlib.h>

int sn_part_fetch(struct sn_part *part, const uint32_t *variables, uint32_t count)
{
	uint32_t *missing = malloc((part->dimensions + 1) * sizeof(*missing)), found = 0;
	if (!missing)
		return SN_ERR_MEMORY;
	/* a mark, so that none is asked for twice */
	double mark;
	for (uint32_t number = 0; number < count; number++)
		for (uint32_t dimension = part->first[variables[number]];
		     dimension < part->first[variables[number] + 1]; dimension++)
			if (!part->with_all[dimension]) {
				part->with_all[dimension] = &mark;
				missing[found++] = dimension;
			}
	double *block = found ? malloc((size_t)found * part->dimensions * sizeof(*block)) : NULL;
	int result = found && !block ? SN_ERR_MEMORY : 0;
	for (uint32_t place = 0; place < found; place++)
		part->with_all[missing[place]] =
		    block ? block + (size_t)place * part->dimensions : NULL;
	if (block && sn_vec_push(&part->blocks, &part->block_capacity, &part->block_count, block)) {
		for (uint32_t place = 0; place < found; place++)
			part->with_all[missing[place]] = NULL;
		free(block);
		block = NULL;
		result = SN_ERR_MEMORY;
	}
	if (block)
		result = sn_correlations_with(part->values, part->dimensions, part->value_rows,
					      missing, found, block);
	free(missing);
	return result;
}

double sn_part_penalty(const struct sn_part *part, uint32_t a, uint32_t b)
{
	double pairs = (double)sn_part_size(part, a) * sn_part_size(part, b), marked_a = 0,
	       marked_b = 0;
	if (!part->is_marked)
		return part->penalty * pairs;
	for (uint32_t dimension = part->first[a]; dimension < part->first[a + 1]; dimension++)
		marked_a += part->is_marked[dimension];
	for (uint32_t dimension = part->first[b]; dimension < part->first[b + 1]; dimension++)
		marked_b += part->is_marked[dimension];
	return part->penalty * (pairs - marked_a * marked_b) +
	       part->penalty_marked * marked_a * marked_b;
}

static int make_inner(struct sn_part *part)
{
	size_t rows = part->value_rows;
	for (uint32_t variable = 0; variable < part->count; variable++) {
		uint32_t size = sn_part_size(part, variable);
		if (size <= 1)
			continue;
		double *inner = malloc((size_t)size * size * sizeof(*inner) + 1);
		part->inner[variable] = inner;
		if (!inner)
			return SN_ERR_MEMORY;
		if (sn_correlations(part->values + part->first[variable] * rows, size, rows, NULL,
				    inner))
			return SN_ERR_MEMORY;
	}
	return 0;
}

int sn_part_begin(struct sn_part *part, const struct sn_prepared *prepared, uint32_t number,
		  const uint32_t *times)
{
	const struct sn_stratum *stratum = &prepared->strata.of[number];
	size_t room = (size_t)(2 * SN_PART_HELD_MOST) * (2 * SN_PART_HELD_MOST + 1);
	double rows = (double)sn_stratum_count(stratum, times);
	*part = (struct sn_part){.first = stratum->first,
				 .count = prepared->count,
				 .dimensions = stratum->first[prepared->count],
				 .rows = rows,
				 .penalty = log(rows) / 2 + sn_prepared_penalty(prepared),
				 .penalty_marked = log(rows) / 2,
				 .is_marked = stratum->varies_before,
				 .values = stratum->values,
				 .value_rows = stratum->rows};
	part->with_all = calloc(part->dimensions + 1, sizeof(*part->with_all));
	part->inner = calloc(part->count + 1, sizeof(*part->inner));
	part->small = malloc(room * sizeof(*part->small));
	part->factor = malloc(room * sizeof(*part->factor));
	if (!part->with_all || !part->inner || !part->small || !part->factor)
		return SN_ERR_MEMORY;
	if (!times)
		return make_inner(part);
	uint32_t *own = sn_stratum_times(stratum, times);
	part->sampled = own ? sn_correlations_sample(stratum->values, part->dimensions,
						     stratum->rows, own, &part->value_rows)
			    : NULL;
	free(own);
	part->values = part->sampled;
	return part->sampled ? make_inner(part) : SN_ERR_MEMORY;
}

void sn_part_end(struct sn_part *part)
{
	for (size_t block = 0; block < part->block_count; block++)
		free(part->blocks[block]);
	for (uint32_t variable = 0; part->inner && variable < part->count; variable++)
		free(part->inner[variable]);
	free(part->blocks);
	free(part->inner);
	free(part->with_all);
	free(part->sampled);
	free(part->small);
	free(part->factor);
}
