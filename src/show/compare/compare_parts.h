/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms of comparisons share. */
#pragma once

#include "compare_forms.h"
#include "show/table.h"

/* "function", "module", "program". */
const char *sn_compare_by_text(enum sn_compare_by by);
/* So many of `count` rows are shown. */
size_t sn_compare_shown(const struct sn_compare_view *view, size_t count);
/* Ends a row of a table with a row's name and place; of SONDE_NONE "total". */
void sn_compare_print_name(const struct sn_compare_view *view, uint32_t row,
			   struct sn_text_table *table, const struct sn_terminal *page);
/* "...more", where the limit left rows out. */
void sn_compare_print_rest(const struct sn_compare_view *view, size_t count,
			   const struct sn_terminal *page);
/* "name" and "place" as members; of SONDE_NONE nothing. */
void sn_compare_put_name(const struct sn_compare_view *view, uint32_t row, struct sn_json *json);
/* "metric", "unit" and "by". */
void sn_compare_put_heading(const struct sn_compare_view *view, struct sn_json *json);
/* An array of sets. */
void sn_compare_put_sets(const struct sn_compare_view *view, const char *key, size_t first,
			 size_t end, struct sn_json *json);
