/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the call-site tables of exceptions; see landing.h. */
#include "landing.h"
#include "base/error.h"
#include "base/search.h"
#include "base/vec.h"
#include "binary/dwarf/encoded.h"

struct table {
	struct sn_cursor sites; /* the call-site table */
	uint8_t encoding;	/* of its numbers */
	uint64_t pads;		/* where pads are counted from */
};

static bool open_table(const struct sn_code *code, const struct sn_code_function *function,
		       struct table *table)
{
	struct sn_bytes data = sn_code_data(code, function->exceptions);
	struct sn_cursor cursor = sn_cursor_at(data, 0);
	uint8_t encoding = sn_cursor_u8(&cursor);
	table->pads = function->start;
	if (encoding != SN_ENCODED_OMIT) {
		uint64_t at = function->exceptions + (uint64_t)(cursor.at - data.data);
		table->pads = sn_encoded_read(&cursor, encoding, at);
	}
	if (sn_cursor_u8(&cursor) != SN_ENCODED_OMIT)
		sn_cursor_uleb(&cursor); /* where its table of types ends */
	table->encoding = sn_cursor_u8(&cursor);
	table->sites = sn_cursor_slice(&cursor, sn_cursor_uleb(&cursor));
	return !cursor.failed;
}

int sn_landings_read(struct sn_landings *landings, const struct sn_code *code,
		     const struct sn_code_function *function)
{
	struct table table;
	uint64_t size = function->end - function->start, reached = 0;
	if (function->exceptions == 0 || !open_table(code, function, &table))
		return 0;
	while (sn_cursor_left(&table.sites) > 0) {
		uint64_t start = sn_encoded_read(&table.sites, table.encoding, 0);
		uint64_t length = sn_encoded_read(&table.sites, table.encoding, 0);
		uint64_t pad = sn_encoded_read(&table.sites, table.encoding, 0);
		sn_cursor_uleb(&table.sites); /* which exceptions */
		/* ascending: so a table costs no more than its function is long, whoever shares it
		 */
		if (table.sites.failed || start < reached || start >= size ||
		    length > size - start || length == 0)
			return 0;
		reached = start + length;
		if (pad == 0)
			continue;
		if (sn_vec_push(&landings->list, &landings->capacity, &landings->count,
				(struct sn_landing){function->start + start,
						    function->start + reached, table.pads + pad}))
			return SN_ERR_MEMORY;
	}
	return 0;
}

uint64_t sn_landings_at(const struct sn_landings *landings, uint32_t first, uint32_t end,
			uint64_t address)
{
	uint32_t i = sn_search_from(j, first, end, landings->list[j].end <= address);
	return i < end && landings->list[i].start <= address ? landings->list[i].pad : 0;
}
