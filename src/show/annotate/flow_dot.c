/* SPDX-License-Identifier: Apache-2.0 */
/* A function's control flow for Graphviz; see flow_picture.h. */
#include "flow_parts.h"

#include "base/escape.h"
#include "base/text.h"
#include "show/number.h"

#include <inttypes.h>
#include <math.h>

static void put_line(void *context, const struct sn_annotated_instruction *one, uint32_t skipped)
{
	FILE *out = context;
	if (!one) {
		fprintf(out, "... %u more\\l", skipped);
		return;
	}
	struct sn_shown shown = sn_shown(*one->text ? one->text : "?");
	sn_utf8_elide(shown.text, SN_FLOW_TEXT);
	sn_escape_write(out, SN_ESCAPE_QUOTED, shown.text);
	fputs("\\l", out);
}

static void put_block(const struct sn_flow_picture *picture, uint32_t number, FILE *out)
{
	const struct sn_annotated_function *function = picture->function;
	const struct sn_annotated_block *block = &function->blocks[number];
	struct sn_flow_words words = sn_flow_words_of(function, block);
	double part = function->value > 0 ? block->value / function->value : 0;
	fprintf(out, "\tb%u [fillcolor=\"0.06 %.3f 1.0\" label=\"%" PRIx64 "%s%s", number,
		0.75 * fmin(part, 1), block->start, *words.part ? "  " : "", words.part);
	if (*words.runs)
		fprintf(out, "  ran %s%s%s", words.runs, *words.cpi ? "  CPI " : "", words.cpi);
	fputs("\\l", out);
	sn_flow_each_shown(function, block, put_line, out);
	if (*words.waits)
		fprintf(out, "waits: %s\\l", words.waits);
	fputs("\"];\n", out);
}

static void put_edge(const struct sn_flow_picture *picture, uint32_t number, bool is_back,
		     FILE *out)
{
	const struct sn_annotated_function *function = picture->function;
	const struct sn_annotated_edge *edge = &function->edges[number];
	double part = sn_flow_part(function, number);
	bool is_throw = sn_flow_is_throw(edge);
	fprintf(out, "\tb%u -> b%u [penwidth=%.2f", edge->from, edge->to,
		1.2 + 5 * sn_flow_strength(picture, number));
	if (is_back)
		fputs(" color=\"#1971c2\"", out);
	if (is_throw || edge->confidence == SN_CONFIDENCE_LOW)
		fprintf(out, " style=%s", is_throw ? "dotted" : "dashed");
	if (!is_throw)
		fprintf(out, " edgetooltip=\"%s times, %s confidence\"",
			sn_number_text(sn_annotate_runs(function, edge->frequency), "1").text,
			sn_annotate_confidence(edge->confidence));
	if (!isnan(part) && !is_throw)
		fprintf(out, " label=\"%.0f%%\"", 100 * part);
	fputs("];\n", out);
}

void sn_flow_dot(const struct sn_flow_picture *picture, FILE *out)
{
	const struct sn_annotated_function *function = picture->function;
	fputs("digraph \"", out);
	sn_escape_write(out, SN_ESCAPE_QUOTED, sn_flow_title_of(picture).text);
	fputs("\" {\n\tnode [shape=box style=filled fontname=\"monospace\" fontsize=10];\n"
	      "\tedge [fontname=\"sans-serif\" fontsize=10];\n\tlabelloc=t;\n\tlabel=\"",
	      out);
	sn_escape_write(out, SN_ESCAPE_QUOTED, sn_flow_title_of(picture).text);
	fputs("\";\n", out);
	for (uint32_t i = 0; i < picture->drawn_count; i++)
		put_block(picture, picture->drawn[i].block, out);
	for (uint32_t i = 0; i < picture->link_count; i++)
		put_edge(picture, picture->edges[i], picture->links[i].is_backward, out);
	for (uint32_t edge = 0; edge < function->edge_count; edge++)
		for (uint32_t i = 0; i < picture->drawn_count; i++)
			if (function->edges[edge].from == function->edges[edge].to &&
			    function->edges[edge].from == picture->drawn[i].block)
				put_edge(picture, edge, true, out);
	fputs("}\n", out);
}
