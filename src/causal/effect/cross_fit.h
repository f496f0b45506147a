/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in folds, clusters kept together, and errors by cluster: what both ways to estimate an effect share. */
#pragma once

#include "double_ml.h"
#include "ridge.h"

struct sn_cross_fit {
	size_t rows;
	struct sn_folds folds;
	uint32_t *order;    /* the row of each place; folds are one after the other */
	uint32_t *clusters; /* of each place, 0 .. cluster_count - 1 */
	uint32_t cluster_count;
	double *sums; /* room for one number a cluster */
};

/* At least 2 clusters, as the caller has checked by cluster_count where that is set; 0 or SN_ERR_MEMORY. Release it in either case. */
int sn_cross_fit_init(struct sn_cross_fit *cross, const struct sn_effect_question *question);
void sn_cross_fit_release(struct sn_cross_fit *cross);

/* The estimate `value` whose errors are the sum of these scores over `scale`; a score for each place. */
struct sn_estimate sn_cross_fit_estimate(struct sn_cross_fit *cross, double value,
					 const double *scores, double scale);
struct sn_estimate sn_estimate_times(struct sn_estimate estimate, double factor);
extern const struct sn_estimate sn_no_estimate;
