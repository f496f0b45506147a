/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels vary, for people: sentences, of which each says what is above chance and large enough to matter, and tables. */
#pragma once

#include "show/sheet.h"
#include "variability/variability.h"

void sn_variability_sentences(const struct sn_variability *result, struct sn_page *page);
/* Durations are in that unit ("ns"; "1": nobody knows); `top` bins of each order. */
void sn_variability_tables(const struct sn_variability *result, const char *unit, size_t top,
			   struct sn_page *page);

/* The kernel of a group, shortened, or "all kernels". */
struct sn_group_name {
	char text[200];
};
struct sn_group_name sn_variability_group_name(const struct sn_variability *result,
					       const struct sn_kernel_group *group);
/* "grid 8x1x1 block 128x1x1 shared 4096": what of it is recorded; "" where nothing is. */
struct sn_configuration_text {
	char text[160];
};
struct sn_configuration_text sn_variability_configuration(const struct sn_kernel_group *group);

/* Both: "gemm, grid 8x1x1" with `open` ", " and `close` "". */
struct sn_full_name {
	char text[400];
};
struct sn_full_name sn_variability_full_name(const struct sn_variability *result,
					     const struct sn_kernel_group *group, const char *open,
					     const char *close);
