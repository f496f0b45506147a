/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas of the database in the description of an HPCToolkit database, where `sonde import` finds
 * them again. They are in the names that metrics have there; see docs/design/hpctoolkit.md.
 */
#include "formula_rewrite.h"
#include "hpctoolkit.h"

#include <stdio.h>

/* What the metrics are called in the file; [metric]. */
static struct sn_formula_rename *list_names(struct sn_hpcx_out *out)
{
	struct sn_formula_rename *names = sn_arena_array(
	    &out->arena, struct sn_formula_rename, (size_t)sonde_db_metric_count(out->db) + 1);
	for (size_t i = 0; names && i < out->metric_count; i++) {
		const struct sn_hpcx_out_metric *metric = out->metrics + i;
		if (metric->is_count)
			names[metric->metric].count = metric->name;
		else
			names[metric->metric].sum = metric->name;
	}
	return names;
}

static void note(struct sn_export_loss *loss, const char *name, const struct sn_error *why)
{
	if (loss->count++ == 0) {
		snprintf(loss->first, sizeof(loss->first), "%s", name);
		loss->why = *why;
	}
}

static int put_formula(struct sn_hpcx_out *out, const struct sn_export_request *request,
		       const struct sn_formula_rename *names, const char *name)
{
	char text[SN_FORMULA_TEXT_MAX / 4];
	struct sn_error why = {""};
	uint32_t number = sn_formulas_index(request->known, name);
	int code = SN_ERR_UNSUPPORTED;
	if (number == SONDE_NONE)
		sn_fail(&why, code, "it cannot be read");
	else
		code = sn_formula_rewrite(request->known, number, names, text, sizeof(text), &why);
	if (code == SN_ERR_UNSUPPORTED) {
		note(request->loss, name, &why);
		return 0;
	}
	if (code)
		return SN_ERR_MEMORY;
	sn_buffer_print(&out->description, SN_HPCX_FORMULA, name, text);
	return 0;
}

int sn_hpcx_description_build(struct sn_hpcx_out *out, const struct sn_export_request *request)
{
	static const char introduction[] = "\n\nFormulas (man 7 sonde-formula):\n";
	struct sn_formula_rename *names = list_names(out);
	const char *name, *text;
	int code = names ? 0 : SN_ERR_MEMORY;
	sn_buffer_text(&out->description, SN_HPCX_DESCRIPTION);
	size_t plain = out->description.count;
	sn_buffer_text(&out->description, introduction);
	size_t empty = out->description.count;
	for (uint32_t i = 0; !code && sonde_db_formula(out->db, i, &name, &text); i++)
		code = put_formula(out, request, names, name);
	if (out->description.count == empty)
		out->description.count = plain;
	sn_buffer_byte(&out->description, 0);
	return code ? code : out->description.failed ? SN_ERR_MEMORY : 0;
}
