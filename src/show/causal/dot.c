/* SPDX-License-Identifier: Apache-2.0 */
/* A causal graph for Graphviz; see drawing.h. */
#include "drawing.h"

#include "base/escape.h"

#include <math.h>
#include <stdlib.h>

int sn_causal_sign(const struct sn_causal_arrow *arrow)
{
	if (isnan(arrow->effect) || (arrow->effect_low <= 0 && arrow->effect_high >= 0))
		return 0;
	return arrow->effect > 0 ? 1 : arrow->effect < 0 ? -1 : 0;
}

static bool has_arrow(const struct sn_causal_drawing *drawing, uint32_t variable)
{
	for (size_t i = 0; i < drawing->arrow_count; i++)
		if (drawing->arrows[i].from == variable || drawing->arrows[i].to == variable)
			return true;
	return variable == drawing->target;
}

static void put_variable(const struct sn_causal_drawing *drawing, uint32_t number, FILE *out)
{
	const struct sn_causal_variable *variable = drawing->variables + number;
	fprintf(out, "\tv%u [label=\"", number);
	sn_escape_write(out, SN_ESCAPE_QUOTED, variable->name);
	fprintf(out, "\"%s%s];\n",
		number == drawing->target ? " style=\"filled,rounded,bold\" fillcolor=\"#fff3cf\""
					  : "",
		variable->is_category ? " shape=ellipse style=\"\"" : "");
}

static void put_arrow(const struct sn_causal_arrow *arrow, FILE *out)
{
	int sign = sn_causal_sign(arrow);
	fprintf(out, "\tv%u -> v%u [color=\"%s\" penwidth=%.2f", arrow->from, arrow->to,
		sign > 0   ? "#14181f"
		: sign < 0 ? "#cf2a1e"
			   : "#98a1ad",
		1.3 + (isnan(arrow->share) ? 0 : 5 * fmin(fmax(arrow->share, 0), 1)));
	if (!arrow->is_directed)
		fputs(" dir=none", out);
	else if (sign < 0)
		fputs(" arrowhead=empty", out);
	if (arrow->frequency < SN_CAUSAL_FREQUENT)
		fputs(" style=dashed", out);
	fprintf(out, " edgetooltip=\"in %.0f %% of the samples", 100 * arrow->frequency);
	if (!isnan(arrow->share))
		fprintf(out, "; %.0f %% of the variance", 100 * arrow->share);
	if (!isnan(arrow->effect))
		fprintf(out, "; effect %+.3g, %+.3g to %+.3g", arrow->effect, arrow->effect_low,
			arrow->effect_high);
	fputs("\"];\n", out);
}

void sn_causal_dot(const struct sn_causal_drawing *drawing, FILE *out)
{
	fputs("digraph \"", out);
	sn_escape_write(out, SN_ESCAPE_QUOTED, drawing->title);
	fputs("\" {\n\trankdir=LR;\n\tnode [shape=box style=rounded fontname=\"sans-serif\"];\n",
	      out);
	for (uint32_t i = 0; i < drawing->variable_count; i++)
		if (has_arrow(drawing, i))
			put_variable(drawing, i, out);
	for (size_t i = 0; i < drawing->arrow_count; i++)
		put_arrow(drawing->arrows + i, out);
	fputs("}\n", out);
}
