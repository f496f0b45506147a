/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small language of --where, which selects contexts by their call paths:
 *
 *	expression = ["!"] step {">" step}
 *	step       = term {term}                   all terms hold for one frame
 *	term       = [field ":"] pattern           field: name, kind, layer, file, module, line
 *
 * `a > b` is a frame b somewhere below a frame a. A context is selected if its path, itself
 * included, contains the steps in this order; so all contexts below a match are selected, too.
 * "!" selects everything else. A pattern matches anywhere in the text, without regard to case; one
 * with * ? [ must match the whole name, and for files and modules the whole path or its last part.
 * Quotes ('...' or "...") protect blanks and >. Without a field a pattern is tried on the frame's
 * name and on FILE:LINE, as reports show it.
 */
#pragma once

#include "base/error.h"
#include "sonde/db.h"

struct sn_query;

/* *query is set on success only; free it with sn_query_free. */
int sn_query_parse(const char *text, struct sn_query **query, struct sn_error *error);
void sn_query_free(struct sn_query *query);

/* Clears keep[context] wherever the query does not select the context. */
int sn_query_restrict(const struct sn_query *query, const struct sonde_db *db, bool *keep,
		      struct sn_error *error);

/* The contexts that all of them select, *keep[context], to be freed in either case; NULL without
 * any query: all contexts. */
int sn_query_select(const struct sn_query *const *queries, size_t count, const struct sonde_db *db,
		    bool **keep, struct sn_error *error);

/* Whether `text` matches a pattern as described above. */
bool sn_pattern_matches(const char *pattern, const char *text, bool is_path);
