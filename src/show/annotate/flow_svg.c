/* SPDX-License-Identifier: Apache-2.0 */
/* A function's control flow as SVG; see flow_picture.h. */
#include "flow_parts.h"

#include "base/escape.h"
#include "base/text.h"
#include "show/number.h"

#include <inttypes.h>
#include <math.h>

enum { MARGIN = 20, LEGEND = 74, LEAST_WIDTH = 700, SAMPLE = 34, HEAD = 8 };

static const char style[] =
    "<style>.flow text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',"
    "monospace;fill:#14181f;white-space:pre}"
    ".flow .title{font:600 14px system-ui,sans-serif}"
    ".flow .small{font:11px system-ui,sans-serif;fill:#5b6472}"
    ".flow .paper{fill:#fff}.flow .box{fill:#fff;stroke:#aab3bf}"
    ".flow .heat{fill:#e8590c}.flow .bar{fill:#14181f;fill-opacity:.05}"
    ".flow .head{font-weight:600}.flow .cold{fill:#5b6472}.flow .hot{font-weight:600}"
    ".flow .dim{fill:#5b6472}"
    ".flow .line{fill:none;stroke:#5b6472}.flow .tip{fill:#5b6472}"
    ".flow .back .line{stroke:#1971c2}.flow .back .tip{fill:#1971c2}"
    ".flow .back .small{fill:#1971c2}"
    ".flow .doubtful .line,.flow .doubtful .tip{opacity:.45}"
    ".flow .throw .line{stroke-dasharray:1 3}"
    ".flow .halo{stroke:#fff;stroke-width:3px;paint-order:stroke}</style>\n"
    "<style>@media(prefers-color-scheme:dark){.flow:root{background:#12151a}"
    ".flow text{fill:#e9edf3}.flow .small,.flow .dim,.flow .cold{fill:#9ca7b7}"
    ".flow .paper{fill:#12151a}.flow .box{fill:#171b21;stroke:#475160}"
    ".flow .bar{fill:#fff;fill-opacity:.06}"
    ".flow .line{stroke:#98a4b3}.flow .tip{fill:#98a4b3}"
    ".flow .back .line{stroke:#74c0fc}.flow .back .tip{fill:#74c0fc}.flow .back "
    ".small{fill:#74c0fc}"
    ".flow .halo{stroke:#12151a}}</style>\n";

struct canvas {
	const struct sn_flow_picture *picture;
	FILE *out;
	double width, height;
	bool links;
	double x, y; /* of the box that is being written */
	double line; /* of its next line */
};

static void put_text(FILE *out, const char *text, size_t most)
{
	struct sn_shown shown = sn_shown(text);
	sn_utf8_elide(shown.text, most);
	sn_escape_write(out, SN_ESCAPE_MARKUP, shown.text);
}

/* ---- edges ---- */

static double width_of(double strength)
{
	return 1.2 + 5 * strength;
}

static double tip_of(double width)
{
	return HEAD + width;
}

static void put_tip(FILE *out, double x, double y, double length, double width)
{
	double half = fabs(length) * 0.4 + width * 0.25;
	fprintf(out, "<path class=\"tip\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fz\"/>", x, y, x - half,
		y - length, x + half, y - length);
}

/* From the box's end, which may be above that of its layer, along the points. */
static void put_path(FILE *out, const struct sn_layered_way *way, double begin, double cut_begin,
		     double cut_end)
{
	double x = way->points[0].across, y = begin + cut_begin;
	fprintf(out, "d=\"M%.1f %.1fV%.1f", x, y, way->points[0].along + cut_begin);
	y = way->points[0].along + cut_begin;
	for (uint32_t i = 1; i < way->point_count; i++) {
		double to_x = way->points[i].across;
		double to_y = way->points[i].along - (i + 1 == way->point_count ? cut_end : 0);
		double middle = (y + to_y) / 2;
		if (way->points[i - 1].is_level)
			fprintf(out, "V%.1f", to_y);
		else
			fprintf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", x, middle, to_x, middle,
				to_x, to_y);
		x = to_x;
		y = to_y;
	}
	fputs("\"/>", out);
}

static const char *classes_of(const struct sn_annotated_edge *edge, bool is_back, char text[64])
{
	snprintf(text, 64, "edge%s%s%s", is_back ? " back" : "",
		 sn_flow_is_throw(edge)			 ? " throw"
		 : edge->confidence == SN_CONFIDENCE_LOW ? " doubtful"
							 : "",
		 "");
	return text;
}

static void put_edge_title(const struct canvas *canvas, uint32_t number)
{
	const struct sn_annotated_function *function = canvas->picture->function;
	const struct sn_annotated_edge *edge = &function->edges[number];
	double part = sn_flow_part(function, number);
	fprintf(canvas->out, "<title>%" PRIx64 " → %" PRIx64, function->blocks[edge->from].start,
		function->blocks[edge->to].start);
	if (sn_flow_is_throw(edge))
		fputs("\ntaken by exceptions", canvas->out);
	else
		fprintf(canvas->out, "\n%s times, %s confidence",
			sn_number_text(sn_annotate_runs(function, edge->frequency), "1").text,
			sn_annotate_confidence(edge->confidence));
	if (!isnan(part))
		fprintf(canvas->out, "\n%s of what leaves the block", sn_number_part(part, 1).text);
	fputs("</title>", canvas->out);
}

/* Its part of what leaves the block, beside its begin: on the side that is away from the block's middle. */
static void put_part(const struct canvas *canvas, uint32_t number, double x, double y,
		     double middle)
{
	double part = sn_flow_part(canvas->picture->function, number);
	if (isnan(part) || sn_flow_is_throw(&canvas->picture->function->edges[number]))
		return;
	fprintf(canvas->out, "<text class=\"small halo\"%s x=\"%.1f\" y=\"%.1f\">%.0f%%</text>",
		x < middle - 0.5 ? " text-anchor=\"end\"" : "", x + (x < middle - 0.5 ? -5 : 5), y,
		100 * part);
}

static double middle_of(const struct sn_flow_picture *picture, uint32_t drawn)
{
	return picture->layered.places[drawn].across + picture->layered.places[drawn].breadth / 2;
}

static double end_of(const struct sn_flow_picture *picture, uint32_t drawn)
{
	return picture->layered.places[drawn].along + picture->drawn[drawn].height;
}

static void put_edge(const struct canvas *canvas, uint32_t link)
{
	const struct sn_flow_picture *picture = canvas->picture;
	const struct sn_layered_way *way = &picture->layered.ways[link];
	const struct sn_layered_point *first = way->points, *last = first + way->point_count - 1;
	uint32_t number = picture->edges[link];
	bool is_back = picture->links[link].is_backward;
	double width = width_of(sn_flow_strength(picture, number)), tip = tip_of(width);
	double begin = end_of(picture, picture->links[link].from);
	char classes[64];
	fprintf(canvas->out, "<g class=\"%s\" id=\"edge-%u\">",
		classes_of(&picture->function->edges[number], is_back, classes), number);
	put_edge_title(canvas, number);
	fprintf(canvas->out, "<path class=\"line\" stroke-width=\"%.1f\" ", width);
	put_path(canvas->out, way, begin, is_back ? tip : 0, is_back ? 0 : tip);
	if (is_back) {
		put_tip(canvas->out, first->across, begin, -tip, width);
		put_part(canvas, number, last->across, last->along - 6,
			 middle_of(picture, picture->links[link].to));
	} else {
		put_tip(canvas->out, last->across, last->along, tip, width);
		put_part(canvas, number, first->across, begin + 13,
			 middle_of(picture, picture->links[link].from));
	}
	fputs("</g>\n", canvas->out);
}

/* A block that follows itself: beside its box, from its end to its begin. */
static void put_loop(const struct canvas *canvas, uint32_t drawn)
{
	const struct sn_flow_picture *picture = canvas->picture;
	const struct sn_annotated_function *function = picture->function;
	const struct sn_layered_place *place = &picture->layered.places[drawn];
	uint32_t block = picture->drawn[drawn].block, number = 0;
	while (function->edges[number].from != block || function->edges[number].to != block)
		number++;
	double width = width_of(sn_flow_strength(picture, number)), tip = tip_of(width);
	double x = place->across + place->breadth - SN_FLOW_LOOP, y = place->along,
	       end = y + picture->drawn[drawn].height;
	char classes[64];
	fprintf(canvas->out, "<g class=\"%s\" id=\"edge-%u\">",
		classes_of(&function->edges[number], true, classes), number);
	put_edge_title(canvas, number);
	fprintf(canvas->out,
		"<path class=\"line\" stroke-width=\"%.1f\" "
		"d=\"M%.1f %.1fv5c0 16 24 16 24 0V%.1fc0 -16 -24 -16 -24 0v2\"/>",
		width, x - 12, end, y - 5 - tip);
	put_tip(canvas->out, x - 12, y, tip, width);
	put_part(canvas, number, x + 14, end + 16, 0);
	fputs("</g>\n", canvas->out);
}

/* ---- blocks ---- */

static void put_line(void *context, const struct sn_annotated_instruction *one, uint32_t skipped)
{
	struct canvas *canvas = context;
	const struct sn_annotated_function *function = canvas->picture->function;
	double number_x = canvas->x + SN_FLOW_PADDING + 6 * SN_FLOW_LETTER_TENTHS / 10.0;
	double text_x = number_x + 2 * SN_FLOW_LETTER_TENTHS / 10.0;
	canvas->line += SN_FLOW_LINE;
	if (!one) {
		fprintf(canvas->out, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\">… %u more</text>",
			text_x, canvas->line, skipped);
		return;
	}
	bool is_hot = one->value * 20 >= function->value && one->value > 0;
	if (one->value > 0)
		fprintf(canvas->out,
			"<text class=\"%s\" text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text>",
			is_hot ? "hot" : "dim", number_x, canvas->line,
			sn_number_part(one->value, function->value).text);
	fprintf(canvas->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", is_hot ? "hot" : "plain",
		text_x, canvas->line);
	put_text(canvas->out, *one->text ? one->text : "?", SN_FLOW_TEXT);
	fputs("</text>", canvas->out);
}

/* "11a0  38.2%  3.1G~ runs  CPI 1.20" */
static void put_head(const struct canvas *canvas, const struct sn_annotated_block *block,
		     const struct sn_flow_words *words, double width)
{
	FILE *out = canvas->out;
	double y = canvas->y + 15;
	fprintf(out,
		"<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>"
		"<text class=\"head\" x=\"%.1f\" y=\"%.1f\">%" PRIx64 "%s%s</text>",
		canvas->x, canvas->y, width, SN_FLOW_HEAD, canvas->x + SN_FLOW_PADDING, y,
		block->start, *words->part ? "  " : "", words->part);
	if (*words->runs)
		fprintf(out,
			"<text class=\"dim\" text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">×%s%s%s"
			"</text>",
			canvas->x + width - SN_FLOW_PADDING, y, words->runs,
			*words->cpi ? "  CPI " : "", words->cpi);
}

static void put_block_title(const struct canvas *canvas, const struct sn_annotated_block *block,
			    const struct sn_flow_words *words)
{
	FILE *out = canvas->out;
	fprintf(out, "<title>%" PRIx64 " to %" PRIx64 ", %u instruction%s\n%s sample%s",
		block->start, block->end, block->count, block->count == 1 ? "" : "s",
		sn_number_counted(block->samples).text, block->samples == 1 ? "" : "s");
	if (*words->part)
		fprintf(out, ", %s of the function", words->part);
	if (*words->runs)
		fprintf(out, "\nran %s times, %s confidence",
			sn_number_text(
			    sn_annotate_runs(canvas->picture->function, block->frequency), "1")
			    .text,
			sn_annotate_confidence(block->confidence));
	if (*words->cpi)
		fprintf(out, "\n%s cycles by instruction", words->cpi);
	if (*words->waits)
		fprintf(out, "\nwaits: %s", words->waits);
	fputs("</title>", out);
}

static void put_frame(const struct canvas *canvas, const struct sn_annotated_block *block,
		      double width, double height)
{
	const struct sn_annotated_function *function = canvas->picture->function;
	double part = function->value > 0 ? block->value / function->value : 0;
	fprintf(canvas->out,
		"<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
		canvas->x, canvas->y, width, height);
	if (part > 0)
		fprintf(canvas->out,
			"<rect class=\"heat\" fill-opacity=\"%.3f\" x=\"%.1f\" y=\"%.1f\" "
			"width=\"%.1f\" height=\"%.1f\"/>",
			0.04 + 0.5 * fmin(part, 1), canvas->x, canvas->y, width, height);
}

static void put_left_out(struct canvas *canvas, const char *arrow, uint32_t count)
{
	if (!count)
		return;
	canvas->line += SN_FLOW_LINE;
	fprintf(canvas->out,
		"<text class=\"dim\" x=\"%.1f\" y=\"%.1f\">%s %u block%s not drawn</text>",
		canvas->x + SN_FLOW_PADDING, canvas->line, arrow, count, count == 1 ? "" : "s");
}

static void put_block(struct canvas *canvas, uint32_t number)
{
	const struct sn_flow_picture *picture = canvas->picture;
	const struct sn_flow_drawn *drawn = &picture->drawn[number];
	const struct sn_layered_place *place = &picture->layered.places[number];
	const struct sn_annotated_block *block = &picture->function->blocks[drawn->block];
	struct sn_flow_words words = sn_flow_words_of(picture->function, block);
	double width = place->breadth - (drawn->has_loop ? SN_FLOW_LOOP : 0);
	canvas->x = place->across;
	canvas->y = place->along;
	canvas->line = place->along + SN_FLOW_HEAD - 1;
	if (canvas->links)
		fprintf(canvas->out, "<a href=\"#listing-%u\">", drawn->block);
	fprintf(canvas->out, "<g class=\"block\" id=\"block-%u\">", drawn->block);
	put_block_title(canvas, block, &words);
	put_frame(canvas, block, width, drawn->height);
	put_head(canvas, block, &words, width);
	sn_flow_each_shown(picture->function, block, put_line, canvas);
	if (*words.waits) {
		canvas->line += SN_FLOW_LINE;
		fprintf(canvas->out, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\">waits: %s</text>",
			canvas->x + SN_FLOW_PADDING, canvas->line, words.waits);
	}
	put_left_out(canvas, "→", drawn->left_out);
	put_left_out(canvas, "←", drawn->left_before);
	fputs(canvas->links ? "</g></a>\n" : "</g>\n", canvas->out);
}

/* ---- what stands for what ---- */

static void put_legend(const struct canvas *canvas)
{
	static const struct {
		const char *classes, *text;
		double strength;
	} entries[] = {
	    {"edge", "taken seldom", 0},
	    {"edge", "most often", 1},
	    {"edge back", "back, to a block before", 0.3},
	    {"edge doubtful", "low confidence", 0},
	    {"edge throw", "by exceptions", 0},
	};
	FILE *out = canvas->out;
	double x = MARGIN, y = canvas->height - 44;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		double width = width_of(entries[i].strength);
		fprintf(out,
			"<g class=\"%s\"><path class=\"line\" stroke-width=\"%.1f\" d=\"M%.1f "
			"%.1fh%d\"/></g><text class=\"small\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
			entries[i].classes, width, x, y - 4, SAMPLE, x + SAMPLE + 6, y,
			entries[i].text);
		x += SAMPLE + 28 + 5.6 * (double)sn_utf8_columns(entries[i].text);
	}
	for (int i = 0; i < 3; i++)
		fprintf(out,
			"<rect class=\"heat\" fill-opacity=\"%.3f\" x=\"%.1f\" y=\"%.1f\" "
			"width=\"22\" height=\"11\"/>",
			0.04 + 0.25 * i, MARGIN + 22.0 * i, y + 11);
	fprintf(out,
		"<text class=\"small\" x=\"%d\" y=\"%.1f\">0 to 100%% of the function's samples; "
		"×: how often it ran (~ medium, ? low confidence); CPI: cycles by instruction"
		"</text>\n",
		MARGIN + 72, y + 20);
}

static void put_note(const struct canvas *canvas)
{
	const struct sn_flow_picture *picture = canvas->picture;
	uint32_t all = picture->function->block_count;
	fprintf(canvas->out, "<text class=\"small\" x=\"%d\" y=\"46\">%u block%s", MARGIN, all,
		all == 1 ? "" : "s");
	if (picture->drawn_count < all)
		fprintf(canvas->out,
			": drawn are %u, those with the most samples and some between; the "
			"others have %s",
			picture->drawn_count,
			sn_number_part(picture->left_value, picture->function->value).text);
	fputs("</text>\n", canvas->out);
}

void sn_flow_svg_element(const struct sn_flow_picture *picture, bool links, FILE *out)
{
	struct canvas canvas = {.picture = picture,
				.out = out,
				.width = fmax(picture->layered.across + MARGIN, LEAST_WIDTH),
				.height = picture->layered.along + LEGEND - 40,
				.links = links};
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flow\" width=\"%.0f\" "
		"height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
		canvas.width, canvas.height, canvas.width, canvas.height);
	fputs(style, out);
	fprintf(out,
		"<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n<text class=\"title\" "
		"x=\"%d\" y=\"26\">",
		MARGIN);
	put_text(out, sn_flow_title_of(picture).text, (size_t)(canvas.width / 7.5));
	fputs("</text>\n", out);
	put_note(&canvas);
	for (uint32_t i = 0; i < picture->link_count; i++)
		put_edge(&canvas, i);
	for (uint32_t i = 0; i < picture->drawn_count; i++)
		if (picture->drawn[i].has_loop)
			put_loop(&canvas, i);
	for (uint32_t i = 0; i < picture->drawn_count; i++)
		put_block(&canvas, i);
	put_legend(&canvas);
	fputs("</svg>\n", out);
}

void sn_flow_svg(const struct sn_flow_picture *picture, FILE *out)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	sn_flow_svg_element(picture, false, out);
}
