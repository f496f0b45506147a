/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde export --to html`: a page that holds the viewer and the database's data. */
#include "export/exporter.h"
#include "html_data.h"

#include "show/label.h"
#include "show/page/viewer.h"

static const char *title_of(const struct sonde_db *db)
{
	const char *program = sonde_db_property(db, "program");
	return program && *program ? sn_label_program(program) : "Profile";
}

static int write_html(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct sn_buffer data;
	struct sn_html_shown shown = {
	    .metric = request->metrics[0],
	    .sources = request->sources,
	    .formulas = request->known,
	    .formula = request->formula_count > 0 ? request->formulas[0] : NULL,
	};
	for (uint32_t i = 0; i < request->formula_count; i++)
		if (request->formulas[i]->needs_across)
			return sn_fail(error, SN_ERR_ARGUMENT,
				       "formula '%s' compares profiles, whose values a page does "
				       "not hold one by one",
				       request->formulas[i]->name);
	int result = sn_html_data_build(&data, request->db, &shown, error);
	if (!result)
		result = sn_viewer_write(out, title_of(request->db), &data, error);
	sn_buffer_release(&data);
	return result;
}

const struct sn_exporter sn_exporter_html = {
    .name = "html",
    .extension = "html",
    .write = write_html,
    .has_formulas = true,
    .has_sources = true,
};
