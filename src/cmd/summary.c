/* SPDX-License-Identifier: Apache-2.0 */
/* The end of `sonde run`: the top-down report, cut to a screenful; see summary.h. */
#include "summary.h"
#include "command.h"
#include "show/tree/view.h"
#include "sonde/db.h"

#include <string.h>

#define SUMMARY_LINES 18u
#define METRICS_MOST  4u

void sn_summary_print(const struct sonde_db *db, const char *path, struct sn_source_roots *sources,
		      FILE *out)
{
	uint32_t metrics[METRICS_MOST];
	struct sn_view view = {
	    .db = db,
	    .path = path,
	    .kind = SN_VIEW_TOP_DOWN,
	    .by = "function",
	    .metrics = metrics,
	    .metric_count = sn_view_default_metrics(db, metrics, METRICS_MOST),
	    .min_share = 0.01,
	    .max_depth = SONDE_NONE,
	    .limit = SUMMARY_LINES,
	    .sources = sources,
	};
	struct sn_terminal page = {out, sn_terminal_width(), sn_terminal_has_color(out), true};
	struct sn_error error = {""};
	putc('\n', out);
	const char *events = sonde_db_property(db, "events");
	const char *incomplete = sonde_db_property(db, "incomplete");
	if (view.metric_count) {
		if (sn_view_text(&view, &page, &error))
			sn_command_warn("%s", error.text);
		return;
	}
	fprintf(out, "sonde: nothing was sampled: %s\n",
		events && !strcmp(events, "none") ? "none of the events was asked for"
						  : "the program ended too soon");
	if (incomplete)
		fprintf(out, "sonde: %s (see sonde info)\n", incomplete);
}
