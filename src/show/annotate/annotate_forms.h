/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with their instructions, as text and as data. */
#pragma once

#include "annotate/annotate.h"
#include "show/json.h"
#include "show/source/source.h"
#include "show/tree/view.h"

struct sn_annotate_view {
	const struct sonde_db *db;
	uint32_t metric;
	struct sn_source *source; /* where lines of source are read */
	bool is_full;		  /* all instructions, also those far from samples */
};

void sn_annotate_text(const struct sn_annotation *annotation, const struct sn_annotate_view *view,
		      const struct sn_terminal *page);
void sn_annotate_json(const struct sn_annotation *annotation, const struct sn_annotate_view *view,
		      FILE *out);
