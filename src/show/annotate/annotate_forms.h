/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with their instructions, the top instructions of all, and where the time goes: as text and as data. */
#pragma once

#include "annotate/annotate.h"
#include "annotate/ranking.h"
#include "annotate/summary.h"
#include "show/json.h"
#include "show/source/source.h"
#include "show/tree/view.h"

struct sn_annotate_view {
	const struct sonde_db *db;
	uint32_t metric;
	struct sn_source *source; /* where lines of source are read */
	bool is_full;		  /* all instructions, also those far from samples; names whole */
	uint32_t limit;		  /* rows of a ranking, or of the images of a summary; 0: all */
};

void sn_annotate_text(const struct sn_annotation *annotation, const struct sn_annotate_view *view,
		      const struct sn_terminal *page);
void sn_annotate_json(const struct sn_annotation *annotation, const struct sn_annotate_view *view,
		      FILE *out);

/* The instructions of a ranking by `by`. */
void sn_ranking_text(const struct sn_annotation *annotation,
		     const struct sn_annotate_ranking *ranking, enum sn_ranking by,
		     const struct sn_annotate_view *view, const struct sn_terminal *page);
void sn_ranking_json(const struct sn_annotation *annotation,
		     const struct sn_annotate_ranking *ranking, enum sn_ranking by,
		     const struct sn_annotate_view *view, FILE *out);

/* Parts of the whole by cause; what could not be analysed by why, and in which images. */
void sn_summary_text(const struct sn_annotation *annotation,
		     const struct sn_annotate_summary *summary, const struct sn_annotate_view *view,
		     const struct sn_terminal *page);
void sn_summary_json(const struct sn_annotation *annotation,
		     const struct sn_annotate_summary *summary, const struct sn_annotate_view *view,
		     FILE *out);
