/* SPDX-License-Identifier: Apache-2.0 */
/* Reads several attributes of one block of events as columns. */
#include "attributes.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 };

uint32_t sn_attribute_key(const struct sonde_db *db, const struct sonde_trace *trace,
			  const struct sn_attribute_wish *wish)
{
	uint32_t found = SONDE_NONE;
	for (uint32_t k = 0; k < sonde_trace_key_count(trace); k++) {
		const struct sonde_attribute_key *key = sonde_trace_key(trace, k);
		bool fits = key->type == wish->type || (wish->type == SONDE_ATTRIBUTE_SIGNED &&
							key->type == SONDE_ATTRIBUTE_UNSIGNED);
		if (fits && !strcmp(sonde_db_string(db, key->name), wish->name))
			found = k;
	}
	return found;
}

int sn_attributes_init(struct sn_attributes *attributes, const struct sonde_db *db,
		       const struct sonde_trace *trace, const struct sn_attribute_wish *wishes,
		       size_t count)
{
	*attributes = (struct sn_attributes){
	    .keys = malloc(count * sizeof(uint32_t)),
	    .count = count,
	    .values = malloc(count * BLOCK * sizeof(uint64_t)),
	    .is_there = calloc(count * BLOCK, sizeof(bool)),
	};
	if (!attributes->keys || !attributes->values || !attributes->is_there)
		return SN_ERR_MEMORY;
	for (size_t w = 0; w < count; w++)
		attributes->keys[w] = sn_attribute_key(db, trace, wishes + w);
	return 0;
}

void sn_attributes_release(struct sn_attributes *attributes)
{
	free(attributes->keys);
	free(attributes->values);
	free(attributes->is_there);
	*attributes = (struct sn_attributes){0};
}

void sn_attributes_read(struct sn_attributes *attributes, struct sonde_event_cursor *cursor,
			size_t count)
{
	count = count < BLOCK ? count : BLOCK;
	for (size_t w = 0; w < attributes->count; w++) {
		struct sonde_attribute_column column;
		bool *is_there = attributes->is_there + w * BLOCK;
		bool has = attributes->keys[w] != SONDE_NONE &&
			   sonde_event_cursor_attribute(cursor, attributes->keys[w], &column);
		if (has && column.is_present)
			memcpy(is_there, column.is_present, count * sizeof(*is_there));
		else
			memset(is_there, has, count * sizeof(*is_there));
		if (has)
			memcpy(attributes->values + w * BLOCK, column.values,
			       count * sizeof(uint64_t));
	}
}

bool sn_attributes_get(const struct sn_attributes *attributes, size_t which, size_t event,
		       uint64_t *value)
{
	if (event >= BLOCK || !attributes->is_there[which * BLOCK + event])
		return false;
	*value = attributes->values[which * BLOCK + event];
	return true;
}
