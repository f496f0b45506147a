/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One place of the program as users name it: a context by its number, or all contexts that match a
 * pattern (query.h) and are the same calls of the same functions. Contexts whose name equals the
 * text have precedence over those that contain it.
 */
#pragma once

#include "query.h"

struct sn_place {
	uint32_t *contexts; /* ascending; none lies below another */
	uint32_t count;
	size_t capacity;
	double cost; /* inclusive */
};

/* Places that a pattern might mean, the most expensive first; contexts[0] stands for each. */
struct sn_places {
	struct sn_place *items;
	uint32_t count;
	size_t capacity;
};

/*
 * All places that `text` names: one for a number, none or several for a pattern. The outermost
 * matches count: a recursion is one place. 0, SN_ERR_ARGUMENT (an invalid pattern or context) or
 * SN_ERR_MEMORY. Release in either case.
 */
int sn_places_find(struct sn_places *places, const struct sonde_db *db, const char *text,
		   uint32_t metric, struct sn_error *error);
void sn_places_release(struct sn_places *places);

/* "main > solve > exchange", truncated at the left to `columns`; 0: not truncated. */
void sn_place_path(const struct sonde_db *db, uint32_t context, size_t columns, char *text,
		   size_t size);
