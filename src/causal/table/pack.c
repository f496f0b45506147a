/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as bytes, for the other processes of a job: of one build, so that numbers are as they lie in memory; see causal/table.h. */
#include "causal/table.h"

#include <stdlib.h>
#include <string.h>

struct packed_table {
	uint64_t rows, columns, apart;
	int kind;
};

struct packed_column {
	uint64_t missing, levels;
	bool has_unit;
};

static void put_text(struct sn_buffer *bytes, const char *text)
{
	sn_buffer_put(bytes, text, strlen(text) + 1);
}

static const char *get_text(struct sn_arena *texts, struct sn_span *bytes)
{
	const unsigned char *end = bytes->count ? memchr(bytes->bytes, 0, bytes->count) : NULL;
	if (!end)
		return NULL;
	size_t length = (size_t)(end - bytes->bytes);
	return sn_arena_copy(texts, (const char *)sn_span_next(bytes, length + 1), length);
}

static void pack_column(const struct sn_causal_column *column, size_t rows, struct sn_buffer *bytes)
{
	struct packed_column packed = {column->missing, column->levels, column->unit};
	sn_buffer_put(bytes, &packed, sizeof(packed));
	put_text(bytes, column->name);
	if (column->unit)
		put_text(bytes, column->unit);
	for (uint32_t level = 0; level < column->levels; level++)
		put_text(bytes, column->level_names[level]);
	sn_buffer_put(bytes, column->values, rows * sizeof(*column->values));
}

void sn_causal_table_pack(const struct sn_causal_table *table, struct sn_buffer *bytes)
{
	struct packed_table packed = {table->row_count, table->column_count, table->apart_count,
				      table->kind};
	sn_buffer_put(bytes, &packed, sizeof(packed));
	for (size_t name = 0; name < table->apart_count; name++)
		put_text(bytes, table->apart[name]);
	for (uint32_t column = 0; column < table->column_count; column++)
		pack_column(&table->columns[column], table->row_count, bytes);
}

static int unpack_column(struct sn_causal_table *table, struct sn_span *bytes)
{
	struct packed_column packed;
	size_t values = table->row_count * sizeof(double);
	if (!sn_span_get(bytes, &packed, sizeof(packed)))
		return SN_ERR_MEMORY; /* of the sender */
	struct sn_causal_column *column = &table->columns[table->column_count++];
	*column = (struct sn_causal_column){.values = malloc(values + 1),
					    .missing = packed.missing,
					    .levels = (uint32_t)packed.levels};
	column->name = get_text(&table->texts, bytes);
	if (packed.has_unit)
		column->unit = get_text(&table->texts, bytes);
	if (packed.levels)
		column->level_names = sn_arena_array(&table->texts, const char *, packed.levels);
	for (uint32_t level = 0; level < packed.levels && column->level_names; level++)
		column->level_names[level] = get_text(&table->texts, bytes);
	bool is_whole = column->values && sn_span_get(bytes, column->values, values);
	return is_whole && !table->texts.failed ? 0 : SN_ERR_MEMORY;
}

int sn_causal_table_unpack(struct sn_causal_table *table, struct sn_span bytes)
{
	struct packed_table packed;
	*table = (struct sn_causal_table){0};
	if (!sn_span_get(&bytes, &packed, sizeof(packed)))
		return SN_ERR_MEMORY; /* of the sender */
	table->kind = (enum sn_table_kind)packed.kind;
	table->row_count = packed.rows;
	table->columns = calloc(packed.columns + 1, sizeof(*table->columns));
	table->apart = calloc(packed.apart + 1, sizeof(*table->apart));
	int result = table->columns && table->apart ? 0 : SN_ERR_MEMORY;
	for (uint64_t name = 0; !result && name < packed.apart; name++)
		table->apart[table->apart_count++] = get_text(&table->texts, &bytes);
	for (uint64_t column = 0; !result && column < packed.columns; column++)
		result = unpack_column(table, &bytes);
	return table->texts.failed ? SN_ERR_MEMORY : result;
}
