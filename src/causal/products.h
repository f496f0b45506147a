/* SPDX-License-Identifier: Apache-2.0 */
/* Products of columns with each other, for a few hundred columns and any number of rows; correlations.h has what is for thousands. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of `count` columns, each `stride` numbers after the one before, the sums over their first `rows` rows of a times b. Writes count x count
 * of them. The same numbers give the same bits. MT: yes. */
void sn_products(const double *columns, size_t stride, uint32_t count, size_t rows,
		 double *products);
