/* SPDX-License-Identifier: Apache-2.0 */
/* Several attributes of a block of events at once: a cursor has space for one. */
#pragma once

#include "sonde/trace.h"

struct sn_attributes {
	uint32_t *keys; /* SONDE_NONE: no event has it */
	size_t count;
	uint64_t *values; /* by key and event of the block */
	bool *is_there;
};

struct sn_attribute_wish {
	const char *name;
	enum sonde_attribute_type type; /* signed accepts unsigned too */
};

/* The trace's key, or SONDE_NONE. */
uint32_t sn_attribute_key(const struct sonde_db *db, const struct sonde_trace *trace,
			  const struct sn_attribute_wish *wish);
/* Looks up the attributes by name. 0 or SN_ERR_MEMORY; release in either case. */
int sn_attributes_init(struct sn_attributes *attributes, const struct sonde_db *db,
		       const struct sonde_trace *trace, const struct sn_attribute_wish *wishes,
		       size_t count);
void sn_attributes_release(struct sn_attributes *attributes);
/* Reads the attributes of the cursor's block, which has `count` events. */
void sn_attributes_read(struct sn_attributes *attributes, struct sonde_event_cursor *cursor,
			size_t count);
/* The attribute of one event of that block; false if it has none. */
bool sn_attributes_get(const struct sn_attributes *attributes, size_t which, size_t event,
		       uint64_t *value);
