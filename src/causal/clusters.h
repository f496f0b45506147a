/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are not independent, since they are of one cluster: of one kernel, run or stretch of time. strata.h says what that means. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sn_clusters {
	uint32_t *of; /* of each row, 0 .. count - 1; NULL: rows are independent */
	uint32_t count;
	uint32_t *row_of; /* of each cluster, one of its rows */
};

/* From the values of the rows that are kept: equal ones are one cluster, and each row without a value is one by itself. 0 or SN_ERR_MEMORY; release it
 * in either case. */
int sn_clusters_init(struct sn_clusters *clusters, const double *values, const uint32_t *kept_rows,
		     size_t rows);
void sn_clusters_release(struct sn_clusters *clusters);
