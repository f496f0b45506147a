/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that an exported page carries: a database's contexts, frames and exclusive values as
 * compact columns behind a JSON header (docs/format/html.md; viewer/src/format/decode.ts reads it).
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "lib/db/formula.h"
#include "sonde/db.h"

struct sn_source_roots;

/* The page's contents besides the database's values. */
struct sn_html_shown {
	uint32_t metric;		    /* the one that is shown first */
	const struct sn_formulas *formulas; /* NULL: none */
	const struct sn_formula *formula;   /* one of them that is shown first; or NULL */
	struct sn_source_roots *sources;    /* where lines of source may be read; or NULL */
};

/* Into an empty buffer, to be released in either case. 0 or SN_ERR_MEMORY. */
int sn_html_data_build(struct sn_buffer *data, const struct sonde_db *db,
		       const struct sn_html_shown *shown, struct sn_error *error);
