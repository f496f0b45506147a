/* SPDX-License-Identifier: Apache-2.0 */
/* A causal graph as SVG; see drawing.h. */
#include "layout.h"

#include "base/escape.h"
#include "base/text.h"
#include "show/number.h"

#include <math.h>

enum { MARGIN = 20, BOTTOM = 26, LEAST_WIDTH = 640, TITLE_LETTERS = 90, TIER_LETTERS = 28 };
/* Of the legend: the height of a line, the length of a sample, the width of a letter. */
enum { ROW = 18, SAMPLE = 34, LETTER = 6, BETWEEN = 22 };

/* The rules for dark paper stand in an element of their own: a page that has its own switch
 * applies them by it. */
static const char style[] =
    "<style>.causal text{font:12px system-ui,sans-serif;fill:#14181f}"
    ".causal .title{font-size:14px;font-weight:600}.causal .small{font-size:11px;fill:#5b6472}"
    ".causal .paper{fill:#fff}.causal .tier{fill:none;stroke:#dfe3e9}"
    ".causal .variable rect{fill:#f4f6f8;stroke:#b9c1cb}"
    ".causal .target rect{fill:#fff3cf;stroke:#14181f;stroke-width:1.6}"
    ".causal .target text{font-weight:600}.causal .category text{font-style:italic}"
    ".causal .line{fill:none}.causal .hit{fill:none;stroke:#000;stroke-opacity:0;stroke-width:11}"
    ".causal .more .line,.causal .more .head{stroke:#14181f}.causal .more .head{fill:#14181f}"
    ".causal .less .line,.causal .less .head{stroke:#cf2a1e}.causal .less .head{fill:#fff}"
    ".causal .open .line,.causal .open .head{stroke:#98a1ad}.causal .open .head{fill:#98a1ad}"
    ".causal .rare .line{stroke-dasharray:6 4}</style>\n"
    "<style>@media(prefers-color-scheme:dark){.causal:root{background:#12151a}"
    ".causal text{fill:#e9edf3}.causal .small{fill:#9ca7b7}.causal .paper{fill:#12151a}"
    ".causal .tier{stroke:#2e3540}.causal .variable rect{fill:#1d222a;stroke:#475160}"
    ".causal .target rect{fill:#3a3212;stroke:#e9edf3}"
    ".causal .more .line,.causal .more .head{stroke:#eef1f5}.causal .more .head{fill:#eef1f5}"
    ".causal .less .line,.causal .less .head{stroke:#ff7263}.causal .less .head{fill:#12151a}"
    ".causal .open .line,.causal .open .head{stroke:#707b8a}.causal .open .head{fill:#707b8a}"
    "}</style>\n";

struct canvas {
	const struct sn_causal_drawing *drawing;
	const struct sn_causal_layout *layout;
	FILE *out;
	double width, height, legend_y;
};

static const char *class_of(int sign)
{
	return sign > 0 ? "more" : sign < 0 ? "less" : "open";
}

static double width_of(double share)
{
	return 1.3 + (isnan(share) ? 0 : 5 * fmin(fmax(share, 0), 1));
}

static void put_name(FILE *out, const char *name, size_t most)
{
	struct sn_shown shown = sn_shown(name);
	sn_utf8_elide(shown.text, most);
	sn_escape_write(out, SN_ESCAPE_MARKUP, shown.text);
}

/* ---- arrows ---- */

static void put_percent(FILE *out, const char *before, double part, const char *after)
{
	if (!isnan(part))
		fprintf(out, "%s%.0f %%%s", before, 100 * part, after);
}

static void put_arrow_title(const struct canvas *canvas, const struct sn_causal_arrow *arrow)
{
	const struct sn_causal_variable *variables = canvas->drawing->variables;
	FILE *out = canvas->out;
	fputs("<title>", out);
	sn_escape_write(out, SN_ESCAPE_MARKUP, sn_shown(variables[arrow->from].name).text);
	fputs(arrow->is_directed ? " → " : " – ", out);
	sn_escape_write(out, SN_ESCAPE_MARKUP, sn_shown(variables[arrow->to].name).text);
	if (isnan(arrow->effect))
		fputs("\nno effect with a sign", out);
	else
		fprintf(out, "\neffect %+.3g, 95 %% of the samples from %+.3g to %+.3g",
			arrow->effect, arrow->effect_low, arrow->effect_high);
	put_percent(out, "\nexplains ", arrow->share, " of the variance");
	put_percent(out, "\nin ", arrow->frequency, " of the samples");
	put_percent(out, ", directed so in ", arrow->directed, "");
	put_percent(out, ", the other way in ", arrow->reversed, "");
	fputs("</title>", out);
}

/* The length of the head of an arrow of this width. */
static double head_of(const struct sn_causal_arrow *arrow)
{
	return arrow->is_directed ? 6 + 1.2 * width_of(arrow->share) : 0;
}

static void put_path(FILE *out, const struct sn_causal_way *way, double cut_begin, double cut_end)
{
	double x = way->points[0].x + cut_begin, y = way->points[0].y;
	fprintf(out, "d=\"M%.1f %.1f", x, y);
	for (uint32_t i = 1; i < way->point_count; i++) {
		double to_x = way->points[i].x - (i + 1 == way->point_count ? cut_end : 0);
		double to_y = way->points[i].y, middle = (x + to_x) / 2;
		if (way->points[i - 1].is_across)
			fprintf(out, "H%.1f", to_x);
		else
			fprintf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", middle, y, middle, to_y,
				to_x, to_y);
		x = to_x;
		y = to_y;
	}
	fputs("\"/>", out);
}

static void put_head(FILE *out, double x, double y, double length, double width)
{
	double half = fabs(length) * 0.42 + width * 0.2;
	fprintf(out, "<path class=\"head\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fz\"/>", x, y,
		x - length, y - half, x - length, y + half);
}

static void put_arrow(const struct canvas *canvas, const struct sn_causal_way *way)
{
	const struct sn_causal_arrow *arrow = canvas->drawing->arrows + way->arrow;
	const struct sn_causal_point *first = way->points, *last = first + way->point_count - 1;
	double width = width_of(arrow->share), head = head_of(arrow);
	double cut = head > 0 ? head + 1 : 0; /* the point of the head touches the box */
	FILE *out = canvas->out;
	fprintf(out, "<g class=\"arrow %s%s\" id=\"arrow-%u\">", class_of(sn_causal_sign(arrow)),
		arrow->frequency < SN_CAUSAL_FREQUENT ? " rare" : "", way->arrow);
	put_arrow_title(canvas, arrow);
	fputs("<path class=\"hit\" ", out);
	put_path(out, way, 0, 0);
	fprintf(out, "<path class=\"line\" stroke-width=\"%.1f\" ", width);
	put_path(out, way, way->is_backward ? cut : 0, way->is_backward ? 0 : cut);
	if (arrow->is_directed && way->is_backward)
		put_head(out, first->x + 1, first->y, -head, width);
	else if (arrow->is_directed)
		put_head(out, last->x - 1, last->y, head, width);
	fputs("</g>\n", out);
}

/* ---- boxes ---- */

static void put_box(const struct canvas *canvas, const struct sn_causal_box *box)
{
	const struct sn_causal_variable *variable = canvas->drawing->variables + box->variable;
	bool is_target = box->variable == canvas->drawing->target;
	FILE *out = canvas->out;
	fprintf(out,
		"<g class=\"variable%s%s\" id=\"variable-%u\"><rect x=\"%.1f\" y=\"%.1f\" "
		"width=\"%.1f\" height=\"%.1f\" rx=\"5\"/><title>",
		is_target ? " target" : "", variable->is_category ? " category" : "", box->variable,
		box->x, box->y, box->width, box->height);
	sn_escape_write(out, SN_ESCAPE_MARKUP, sn_shown(variable->name).text);
	fprintf(out, "</title><text text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">",
		box->x + box->width / 2, box->y + box->height / 2 + 4);
	put_name(out, variable->name, SN_CAUSAL_NAME);
	fputs("</text></g>\n", out);
}

/* The name of each tier over its columns. */
static void put_tiers(const struct canvas *canvas)
{
	const struct sn_causal_layout *layout = canvas->layout;
	for (uint32_t i = 0, end; i < layout->column_count; i = end) {
		uint32_t tier = layout->columns[i].tier;
		for (end = i + 1; end < layout->column_count && layout->columns[end].tier == tier;)
			end++;
		if (!canvas->drawing->tiers || tier >= canvas->drawing->tier_count)
			continue;
		const struct sn_causal_layer *last = layout->columns + end - 1;
		double x = layout->columns[i].x, right = last->x + last->width;
		fprintf(canvas->out,
			"<path class=\"tier\" d=\"M%.1f 52H%.1f\"/><text class=\"small\" "
			"text-anchor=\"middle\" x=\"%.1f\" y=\"46\">",
			x, right, (x + right) / 2);
		put_name(canvas->out, canvas->drawing->tiers[tier], TIER_LETTERS);
		fputs("</text>\n", canvas->out);
	}
}

/* ---- what stands for what ---- */

struct entry {
	const char *classes, *text;
	double share; /* gives the width */
	bool has_head, is_shown;
};

enum { MORE, LESS, OPEN, RARE, UNDIRECTED, THIN, WIDE, ENTRIES };

static void find_entries(const struct canvas *canvas, struct entry *entries)
{
	for (uint32_t i = 0; i < canvas->layout->way_count; i++) {
		const struct sn_causal_arrow *arrow =
		    canvas->drawing->arrows + canvas->layout->ways[i].arrow;
		int sign = sn_causal_sign(arrow);
		entries[sign > 0 ? MORE : sign < 0 ? LESS : OPEN].is_shown = true;
		entries[RARE].is_shown |= arrow->frequency < SN_CAUSAL_FREQUENT;
		entries[UNDIRECTED].is_shown |= !arrow->is_directed;
		entries[THIN].is_shown |= !isnan(arrow->share);
		entries[WIDE].is_shown |= !isnan(arrow->share);
	}
}

static void put_sample(const struct canvas *canvas, const struct entry *entry, double x, double y)
{
	double head = entry->has_head ? 7.5 : 0;
	fprintf(
	    canvas->out,
	    "<g class=\"%s\"><path class=\"line\" stroke-width=\"%.1f\" d=\"M%.1f %.1fH%.1f\"/>",
	    entry->classes, width_of(entry->share), x, y - 4, x + SAMPLE - head);
	if (entry->has_head)
		put_head(canvas->out, x + SAMPLE, y - 4, head, 1.3);
	fprintf(canvas->out, "</g><text class=\"small\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		x + SAMPLE + 6, y, entry->text);
}

/* Returns how many lines it takes; writes nothing without a stream. */
static unsigned put_legend(const struct canvas *canvas, bool is_written)
{
	struct entry entries[ENTRIES] = {
	    [MORE] = {"more", "positive effect", NAN, true, false},
	    [LESS] = {"less", "negative effect", NAN, true, false},
	    [OPEN] = {"open", "no sign: a category, or uncertain", NAN, true, false},
	    [RARE] = {"open rare", "in less than 80 % of the samples", NAN, false, false},
	    [UNDIRECTED] = {"open", "direction not known", NAN, false, false},
	    [THIN] = {"open", "5 %", 0.05, false, false},
	    [WIDE] = {"open", "60 % of the variance", 0.6, false, false},
	};
	double x = MARGIN;
	unsigned lines = 0;
	find_entries(canvas, entries);
	for (int i = 0; i < ENTRIES; i++) {
		double width = SAMPLE + 6 + LETTER * (double)sn_utf8_columns(entries[i].text);
		if (!entries[i].is_shown)
			continue;
		if (!lines || x + width > canvas->width - MARGIN) {
			lines++;
			x = MARGIN;
		}
		if (is_written)
			put_sample(canvas, entries + i, x, canvas->legend_y + (lines - 1) * ROW);
		x += width + BETWEEN;
	}
	return lines;
}

static void put_notes(const struct canvas *canvas)
{
	const struct sn_causal_layout *layout = canvas->layout;
	if (!layout->way_count)
		fprintf(canvas->out,
			"<text x=\"%d\" y=\"%.1f\">Nothing found: no edge between the %s "
			"variables.</text>\n",
			MARGIN, canvas->legend_y,
			sn_number_counted(canvas->drawing->variable_count).text);
	if (layout->left_out)
		fprintf(canvas->out,
			"<text class=\"small\" x=\"%d\" y=\"%.1f\">%u more variables have an edge: "
			"drawn are the %u nearest to the target.</text>\n",
			MARGIN, canvas->height - 10, layout->left_out, layout->box_count);
}

static void put_all(const struct canvas *canvas)
{
	const struct sn_causal_layout *layout = canvas->layout;
	FILE *out = canvas->out;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"causal\" width=\"%.0f\" "
		"height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
		canvas->width, canvas->height, canvas->width, canvas->height);
	fputs(style, out);
	fprintf(out,
		"<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n<text class=\"title\" "
		"x=\"%d\" y=\"24\">",
		MARGIN);
	put_name(out, canvas->drawing->title, TITLE_LETTERS);
	fputs("</text>\n", out);
	put_tiers(canvas);
	for (uint32_t i = 0; i < layout->way_count; i++)
		put_arrow(canvas, layout->ways + i);
	for (uint32_t i = 0; i < layout->box_count; i++)
		put_box(canvas, layout->boxes + i);
	put_legend(canvas, true);
	put_notes(canvas);
	fputs("</svg>\n", out);
}

int sn_causal_svg(const struct sn_causal_drawing *drawing, FILE *out)
{
	struct sn_causal_layout layout;
	int result = sn_causal_layout(drawing, SN_CAUSAL_DRAWN, &layout);
	if (!result) {
		struct canvas canvas = {drawing, &layout, out, fmax(layout.width, LEAST_WIDTH),
					0,	 0};
		canvas.legend_y = layout.height + BOTTOM + 6;
		unsigned lines = put_legend(&canvas, false) + !layout.way_count + !!layout.left_out;
		canvas.height = canvas.legend_y + lines * ROW;
		put_all(&canvas);
	}
	sn_causal_layout_release(&layout);
	return result;
}
