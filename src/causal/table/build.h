/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as they are filled: columns, rows and fields, in any order. */
#pragma once

#include "base/intern.h"
#include "causal/table.h"

struct sn_table_builder {
	struct sn_causal_table *table;
	struct sn_intern *levels; /* of each column: the texts of its categories */
	size_t column_capacity, level_capacity, apart_capacity;
};

/* Adds a column, whose values are missing; the texts must live as long as the table. 0 or a negative enum sn_err. */
int sn_table_add_column(struct sn_table_builder *builder, const char *name, const char *unit,
			bool is_category);
int sn_table_add_apart(struct sn_table_builder *builder, const char *name);
/* Adds a row, whose values are missing. */
int sn_table_add_row(struct sn_table_builder *builder);
/* The same, but all its values will be set, each before that of a later row. */
int sn_table_add_full_row(struct sn_table_builder *builder);
/* Sets a value to that of a field; a number is multiplied by `scale`. The first field of a column that is no number makes categories of all. */
int sn_table_set(struct sn_table_builder *builder, uint32_t column, size_t row, const char *field,
		 double scale);
/* Counts what is missing and names categories; fails where two columns have one name. */
int sn_table_finish(struct sn_table_builder *builder, struct sn_error *error);
void sn_table_builder_release(struct sn_table_builder *builder);
