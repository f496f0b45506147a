/* SPDX-License-Identifier: Apache-2.0 */
/* A page of a function's control flow: the picture, then all of its blocks; see flow_picture.h. */
#include "flow_parts.h"

#include "base/escape.h"
#include "base/text.h"
#include "show/number.h"

#include <inttypes.h>
#include <string.h>

static const char style[] =
    "<style>:root{color-scheme:light dark}"
    "body{margin:0;font:13px system-ui,sans-serif;background:#fff;color:#14181f}"
    "main{max-width:1200px;padding:0 20px 40px}.picture{overflow:auto;border-bottom:1px solid "
    "#dfe3e9}"
    "h2{font-size:14px;margin:24px 0 4px;font-family:ui-monospace,Menlo,Consolas,monospace}"
    "h2 a{color:inherit}p{margin:2px 0 6px;color:#5b6472}"
    "table{border-collapse:collapse;font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"
    "monospace}"
    "td{padding:1px 10px 1px 0;vertical-align:top;white-space:pre}td.number{text-align:right}"
    "td.source,td.waits{color:#5b6472}tr.hot{background:rgba(232,89,12,.18)}"
    "section:target h2{background:rgba(25,113,194,.15)}.flow a{cursor:pointer}"
    "@media(prefers-color-scheme:dark){body{background:#12151a;color:#e9edf3}"
    "p,td.source,td.waits{color:#9ca7b7}.picture{border-color:#2e3540}}</style>\n";

static void put(FILE *out, const char *text)
{
	sn_escape_write(out, SN_ESCAPE_MARKUP, sn_shown(text).text);
}

static void put_source(const struct sn_flow_picture *picture,
		       const struct sn_annotated_instruction *one, FILE *out)
{
	char text[512] = "";
	if (!one->file)
		return;
	put(out, sn_text_base_name(one->file));
	fprintf(out, ":%" PRIu32, one->line);
	if (one->inlined) {
		putc(' ', out);
		put(out, one->inlined);
	}
	sn_source_line(picture->view->source, one->file, one->line, text, sizeof(text));
	if (*text) {
		fputs("  ", out);
		put(out, text);
	}
}

static void put_instruction(const struct sn_flow_picture *picture,
			    const struct sn_annotated_instruction *one, bool has_source, FILE *out)
{
	const struct sn_annotated_function *function = picture->function;
	struct sn_annotate_speed speed = sn_annotate_speed_of(function, one);
	bool is_sampled = one->samples > 0, is_hot = one->value * 20 >= function->value;
	fprintf(out, "<tr%s><td class=\"number\">%s</td><td class=\"number\">%s</td>",
		is_sampled && is_hot ? " class=\"hot\"" : "",
		is_sampled ? sn_number_part(one->value, function->value).text : "",
		is_sampled ? sn_number_counted(one->samples).text : "");
	fprintf(out, "<td class=\"number\">%s</td><td>%" PRIx64 "</td><td>", speed.cycles,
		one->address);
	put(out, *one->text ? one->text : "?");
	fputs("</td><td class=\"source\">", out);
	if (has_source)
		put_source(picture, one, out);
	fputs("</td><td class=\"waits\">", out);
	if (one->blame.waits * 100 >= 2 * function->samples)
		put(out, sn_annotate_culprits_of(&one->blame).text);
	fputs("</td></tr>\n", out);
}

/* Where control goes from it. */
static void put_ends(const struct sn_annotated_function *function, uint32_t number, FILE *out)
{
	bool is_first = true;
	for (uint32_t i = 0; i < function->edge_count; i++) {
		const struct sn_annotated_edge *edge = &function->edges[i];
		if (edge->from != number)
			continue;
		fprintf(out, "%s<a href=\"#listing-%u\">%" PRIx64 "</a>",
			is_first ? "; then to " : ", ", edge->to, function->blocks[edge->to].start);
		if (sn_flow_is_throw(edge))
			fputs(" by exceptions", out);
		else
			fprintf(
			    out, " %s times",
			    sn_number_text(sn_annotate_runs(function, edge->frequency), "1").text);
		is_first = false;
	}
}

static void put_block(const struct sn_flow_picture *picture, uint32_t number, FILE *out)
{
	const struct sn_annotated_function *function = picture->function;
	const struct sn_annotated_block *block = &function->blocks[number];
	struct sn_flow_words words = sn_flow_words_of(function, block);
	const char *file = NULL;
	uint32_t line = 0;
	fprintf(out,
		"<section id=\"listing-%u\"><h2><a href=\"#block-%u\">%" PRIx64 "</a>%s%s</h2><p>",
		number, number, block->start, *words.part ? "  " : "", words.part);
	fprintf(out, "%s sample%s", sn_number_counted(block->samples).text,
		block->samples == 1 ? "" : "s");
	if (*words.runs)
		fprintf(out, "; ran %s times, %s confidence",
			sn_number_text(sn_annotate_runs(function, block->frequency), "1").text,
			sn_annotate_confidence(block->confidence));
	if (*words.cpi)
		fprintf(out, "; CPI %s", words.cpi);
	if (*words.waits)
		fprintf(out, "; waits: %s", words.waits);
	put_ends(function, number, out);
	fputs("</p><table>\n", out);
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct sn_annotated_instruction *one = &function->instructions[i];
		bool is_new = one->line != line || !sn_text_is_same(one->file, file);
		put_instruction(picture, one, is_new, out);
		file = one->file;
		line = one->line;
	}
	fputs("</table></section>\n", out);
}

void sn_flow_html(const struct sn_flow_picture *picture, FILE *out)
{
	const struct sn_annotated_function *function = picture->function;
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", out);
	put(out, function->name);
	fputs("</title>\n", out);
	fputs(style, out);
	fputs("</head><body><div class=\"picture\">\n", out);
	sn_flow_svg_element(picture, true, out);
	fputs(
	    "</div><main><p>Of each instruction: its part of the function's samples, samples, CPI, "
	    "address, source line, and what may have kept it, with the least and the largest "
	    "part of its time.</p>\n",
	    out);
	for (uint32_t block = 0; block < function->block_count; block++)
		put_block(picture, block, out);
	fputs("</main></body></html>\n", out);
}
