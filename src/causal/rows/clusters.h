/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that are not independent, since they are of one cluster. Samples have a cluster whole or not at all, and errors are those of clusters.
 *
 * Those of one run or kernel have the run's own part in common: strata.h says what that means for scores and tests. Stretches of rows that follow each other
 * have none: what a row does to the next one would make the means of stretches depend on each other where rows do not, and a launch's duration changes the
 * gap before the next. Nor have repeats of few settings, of which nothing could be said then, and repeats of launches, as kernels differ by more than their settings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_clusters_kind {
	SN_CLUSTERS_GIVEN,     /* by the user */
	SN_CLUSTERS_STRETCHES, /* rows that follow each other */
	SN_CLUSTERS_REPEATS,   /* rows with the same settings */
};

struct sn_clusters {
	uint32_t *of; /* of each row, 0 .. count - 1; NULL: rows are independent */
	uint32_t count;
	uint32_t *row_of; /* of each cluster, one of its rows */
	bool are_single;  /* each row is one by itself */
	enum sn_clusters_kind kind;
	bool
	    has_means; /* that are looked at by themselves: stretches and repeats of few settings have none */
};

static inline bool sn_rows_are_independent(const struct sn_clusters *clusters)
{
	return !clusters->of || clusters->are_single;
}

/* Of fewer clusters no samples are drawn. */
#define SN_CLUSTERS_LEAST 10u

/* Whether the means of clusters are looked at by themselves (strata.h). */
static inline bool sn_clusters_have_means(const struct sn_clusters *clusters)
{
	return !sn_rows_are_independent(clusters) && clusters->has_means;
}

/* From the values of the rows that are kept: equal ones are one cluster, and each row without a value is one by itself. 0 or SN_ERR_MEMORY; release it
 * in either case. */
int sn_clusters_init(struct sn_clusters *clusters, const double *values, const uint32_t *kept_rows,
		     size_t rows);
void sn_clusters_release(struct sn_clusters *clusters);
