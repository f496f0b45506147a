/* SPDX-License-Identifier: Apache-2.0 */
/* See store_words.h. */
#include "store_words.h"

#include "base/text.h"

#include <string.h>

bool sn_store_is_source(const struct sonde_db *db)
{
	return sonde_db_property(db, "store.samples") != NULL;
}

struct sn_store_origin sn_store_origin_of(const struct sonde_db *db, uint32_t profile)
{
	const struct sonde_db_profile *p = sonde_db_profile(db, profile);
	return (struct sn_store_origin){
	    .host = sonde_db_string(db, p->host),
	    .program = sn_text_base_name(sonde_db_string(db, p->program)),
	    /* import/epochs puts it in the thread's place */
	    .cgroup = sn_store_is_source(db) ? sonde_db_string(db, p->thread) : "",
	};
}

bool sn_store_origin_is_same(const struct sn_store_origin *a, const struct sn_store_origin *b)
{
	return !strcmp(a->host, b->host) && !strcmp(a->program, b->program) &&
	       !strcmp(a->cgroup, b->cgroup);
}

const char *sn_store_unit(const char *unit)
{
	if (strcmp(unit, "ns") == 0)
		return "nanoseconds";
	return strcmp(unit, "1") == 0 ? "count" : unit;
}
