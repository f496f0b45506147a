/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values: what `sonde report --format csv` prints, every context a row. */
#include "exporter.h"

#include "show/tree/view.h"

static int write_csv(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct sn_view view = {
	    .db = request->db,
	    .path = request->path,
	    .kind = SN_VIEW_TOP_DOWN,
	    .grouping = SN_GROUP_INSTRUCTION,
	    .metrics = request->metrics,
	    .metric_count = request->metric_count,
	    .hidden_count = request->hidden_count,
	    .formulas = request->formulas,
	    .formula_count = request->formula_count,
	    .max_depth = SONDE_NONE,
	};
	return sn_view_csv(&view, out, error);
}

const struct sn_exporter sn_exporter_csv = {"csv", "csv", write_csv, true};
