/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of graphs as SVG and for Graphviz; see graph_picture.h. */
#include "graph_picture.h"

#include "base/arena.h"
#include "base/escape.h"
#include "show/number.h"

#include <math.h>
#include <string.h>

enum { BOX = 150, HEIGHT = 34, ACROSS = 18, DOWN = 36, LEFT = 20, TOP = 44, LETTERS = 22 };

/* From white to orange by the square root, so that a tenth of the greatest cost is still visible.
 */
static void colour(const struct sn_graph_picture *picture, const struct sn_graph_box *box,
		   int rgb[3])
{
	double share = picture->most_ns > 0 ? sqrt(box->cost_ns / picture->most_ns) : 0;
	const int cold[3] = {245, 246, 248}, hot[3] = {240, 136, 62};
	for (int i = 0; i < 3; i++)
		rgb[i] = (int)(cold[i] + share * (hot[i] - cold[i]));
}

/* ---- Graphviz ---- */

void sn_graph_dot(const struct sn_graph_picture *picture, const char *title, FILE *out)
{
	fputs("digraph \"", out);
	sn_escape_write(out, SN_ESCAPE_QUOTED, title);
	fputs("\" {\n\tnode [shape=box style=filled fontname=\"sans-serif\"];\n", out);
	for (uint32_t i = 0; i < picture->box_count; i++) {
		const struct sn_graph_box *box = picture->boxes + i;
		int rgb[3];
		colour(picture, box, rgb);
		fprintf(out, "\tn%u [label=\"", i);
		sn_escape_write(out, SN_ESCAPE_QUOTED, box->name);
		if (box->node_count > 1)
			fprintf(out, "\\n%u nodes", box->node_count);
		else if (*box->detail && strcmp(box->detail, box->name)) {
			fputs("\\n", out);
			sn_escape_write(out, SN_ESCAPE_QUOTED, box->detail);
		}
		if (box->cost_ns > 0)
			fprintf(out, "\\n%s", sn_number_time(box->cost_ns).text);
		fprintf(out, "\" fillcolor=\"#%02x%02x%02x\"];\n", (unsigned)rgb[0],
			(unsigned)rgb[1], (unsigned)rgb[2]);
	}
	for (size_t i = 0; i < picture->line_count; i++)
		fprintf(out, "\tn%u -> n%u%s;\n", picture->lines[i].from, picture->lines[i].to,
			picture->lines[i].from >= picture->lines[i].to
			    ? " [style=dashed constraint=false]"
			    : "");
	fputs("}\n", out);
}

/* ---- SVG ---- */

struct place {
	double x, y;
};

static void put_box(const struct sn_graph_picture *picture, const struct sn_graph_box *box,
		    struct place at, FILE *out)
{
	int rgb[3];
	colour(picture, box, rgb);
	fprintf(out,
		"<g><rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" rx=\"4\" "
		"fill=\"rgb(%d,%d,%d)\"%s/><title>",
		at.x, at.y, BOX, HEIGHT, rgb[0], rgb[1], rgb[2],
		box->is_backward ? " class=\"back\"" : "");
	sn_escape_write_cut(out, box->name, 400);
	if (*box->detail) {
		fputs(" · ", out);
		sn_escape_write_cut(out, box->detail, 200);
	}
	if (box->node_count > 1)
		fprintf(out, " · %u nodes", box->node_count);
	if (box->count > 0)
		fprintf(out, " · %.0f times", box->count);
	fprintf(out, "</title><text x=\"%.0f\" y=\"%.0f\">", at.x + 6, at.y + 14);
	sn_escape_write_cut(out, box->name, LETTERS);
	fprintf(out, "</text><text class=\"small\" x=\"%.0f\" y=\"%.0f\">", at.x + 6, at.y + 27);
	if (box->cost_ns > 0)
		fprintf(out, "%s ", sn_number_time(box->cost_ns).text);
	if (box->node_count > 1)
		fprintf(out, "%u nodes", box->node_count);
	else if (strcmp(box->detail, box->name))
		sn_escape_write_cut(out, box->detail, box->cost_ns > 0 ? 14 : LETTERS);
	fputs("</text></g>\n", out);
}

/* Down from box to box; one that leads to the next iteration goes up at the side, dashed. */
static void put_line(struct place from, struct place to, bool is_back, FILE *out)
{
	double x1 = from.x + BOX / 2.0, y1 = from.y + HEIGHT, x2 = to.x + BOX / 2.0, y2 = to.y;
	double bend = (y2 - y1) / 2;
	if (is_back)
		fprintf(
		    out, "<path class=\"next\" d=\"M%.0f %.0f C%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n",
		    from.x + BOX, from.y + HEIGHT / 2.0, from.x + BOX + 60, from.y + HEIGHT / 2.0,
		    to.x + BOX + 60, to.y + HEIGHT / 2.0, to.x + BOX, to.y + HEIGHT / 2.0);
	else
		fprintf(out,
			"<path class=\"edge\" marker-end=\"url(#head)\" d=\"M%.0f %.0f C%.0f %.0f "
			"%.0f %.0f %.0f %.0f\"/>\n",
			x1, y1, x1, y1 + bend, x2, y2 - bend, x2, y2);
}

/* What stands for what, of that which is in the picture. */
static void put_legend(const struct sn_graph_picture *picture, FILE *out)
{
	bool has_time = false, has_backward = false, has_next = false;
	for (uint32_t i = 0; i < picture->box_count; i++) {
		has_time |= picture->boxes[i].cost_ns > 0;
		has_backward |= picture->boxes[i].is_backward;
	}
	for (size_t i = 0; i < picture->line_count; i++)
		has_next |= picture->lines[i].from >= picture->lines[i].to;
	if (has_time)
		fputs("; darker took longer", out);
	if (has_backward)
		fputs("; dashed boxes are of the backward pass", out);
	if (has_next)
		fputs("; dashed lines lead to the next iteration", out);
}

static void put_head(const struct sn_graph_picture *picture, const char *title, double width,
		     double height, FILE *out)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		"xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\">\n"
		"<style>text{font:11px system-ui,sans-serif;fill:#14181f}.small{font-size:10px;"
		"fill:#444b57}.title{font-size:13px;font-weight:600}rect{stroke:#c6ccd4}"
		".back{stroke:#7c5cc4;stroke-dasharray:3 2}rect:hover{stroke:#14181f}"
		"path{fill:none;stroke:#9aa3af}.next{stroke-dasharray:4 3}"
		".paper{fill:#fff;stroke:none}@media(prefers-color-scheme:dark){"
		":root{background:#14171d}"
		".paper{fill:#14171d}.title,.legend{fill:#e6e9ef}}</style>\n"
		"<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
		"markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
		"style=\"fill:#9aa3af;stroke:none\"/></marker></defs>\n"
		"<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n"
		"<text class=\"title\" x=\"%d\" y=\"22\">",
		width, height, LEFT);
	sn_escape_write_cut(out, title, 200);
	fprintf(out, "</text><text class=\"small legend\" x=\"%d\" y=\"36\">a box for each %s",
		LEFT, picture->drawn_by);
	put_legend(picture, out);
	fputs("</text>\n", out);
}

int sn_graph_svg(const struct sn_graph_picture *picture, const char *title, FILE *out)
{
	uint32_t layers = 0, widest = 0, count = picture->box_count;
	struct sn_arena arena = {0};
	struct sn_graph_layout_place *grid =
	    sn_arena_array(&arena, struct sn_graph_layout_place, count);
	struct place *places = sn_arena_array(&arena, struct place, count);
	uint32_t *widths = sn_arena_array(&arena, uint32_t, count);
	int result = arena.failed ? SN_ERR_MEMORY
				  : sn_graph_layout(count, picture->lines, picture->line_count,
						    grid, &layers);
	for (uint32_t i = 0; i < count && !result; i++)
		if (++widths[grid[i].layer] > widest)
			widest = widths[grid[i].layer];
	for (uint32_t i = 0; i < count && !result; i++) {
		double spare = (widest - widths[grid[i].layer]) * (BOX + ACROSS) / 2.0;
		places[i].x = LEFT + spare + grid[i].place * (BOX + ACROSS);
		places[i].y = TOP + grid[i].layer * (HEIGHT + DOWN);
	}
	if (!result) {
		double width = 2 * LEFT + widest * (BOX + ACROSS) + 60;
		put_head(picture, title, width < 680 ? 680 : width,
			 TOP + layers * (HEIGHT + DOWN) + 10, out);
		for (size_t i = 0; i < picture->line_count; i++) {
			const struct sn_graph_line *line = picture->lines + i;
			put_line(places[line->from], places[line->to], line->from >= line->to, out);
		}
		for (uint32_t i = 0; i < count; i++)
			put_box(picture, picture->boxes + i, places[i], out);
		fputs("</svg>\n", out);
	}
	sn_arena_release(&arena);
	return result;
}
