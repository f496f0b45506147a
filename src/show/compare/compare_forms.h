/* SPDX-License-Identifier: Apache-2.0 */
/* Databases beside each other: what varies among them, and what differs between two sides, as text, JSON and CSV. */
#pragma once

#include "compare/difference.h"
#include "compare/variation.h"
#include "show/tree/view.h"

enum { SN_COMPARE_LIMIT = 30 };

struct sn_compare_view {
	const struct sn_compare_rows *rows;
	const char *metric, *unit;
	enum sn_compare_per per; /* of variations */
	size_t before;		 /* sets of the first side, of differences */
	uint32_t limit;		 /* rows; 0: all */
	bool is_full;		 /* names whole */
};

void sn_variations_text(const struct sn_variations *variations, const struct sn_compare_view *view,
			const struct sn_terminal *page);
void sn_variations_json(const struct sn_variations *variations, const struct sn_compare_view *view,
			FILE *out);
void sn_variations_csv(const struct sn_variations *variations, const struct sn_compare_view *view,
		       FILE *out);

void sn_differences_text(const struct sn_differences *differences,
			 const struct sn_compare_view *view, const struct sn_terminal *page);
void sn_differences_json(const struct sn_differences *differences,
			 const struct sn_compare_view *view, FILE *out);
void sn_differences_csv(const struct sn_differences *differences,
			const struct sn_compare_view *view, FILE *out);
