/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profiles are called in stores that hold many machines (pprof.c, otlp/): whose they are, and their units.
 */
#pragma once

#include "sonde/db.h"

#include <stdbool.h>

/* Whose a profile of a database is. Texts are the database's, valid as long as it; "" not known. */
struct sn_store_origin {
	const char *host;
	const char *program; /* without its folder */
	const char *cgroup;  /* control group, where sonded told it */
};

struct sn_store_origin sn_store_origin_of(const struct sonde_db *db, uint32_t profile);
/* Whether the database was made of a store of continuous profiling, whose profiles are programs, not threads. */
bool sn_store_is_source(const struct sonde_db *db);
/* Whether the two are of one machine, program and control group. */
bool sn_store_origin_is_same(const struct sn_store_origin *a, const struct sn_store_origin *b);

/* "nanoseconds" for "ns", "count" for "1"; else the unit itself. */
const char *sn_store_unit(const char *unit);
