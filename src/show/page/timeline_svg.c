/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of rectangles; see timeline_svg.h. */
#include "timeline_svg.h"

#include "base/escape.h"
#include "base/output.h"
#include "show/label.h"
#include "show/number.h"

#include <math.h>
#include <string.h>

enum {
	ROW = 15,
	GAP = 6,    /* between profiles */
	LEFT = 210, /* names */
	TOP = 46,
	BOTTOM = 24,
	MARGIN = 14,
	CHAR = 6, /* width of a character of a label, about */
	LABEL_MIN = 36,
};

struct drawing {
	const struct sn_timeline_picture *picture;
	FILE *out;
	unsigned height; /* down to the last row's end */
};

/* ---- colours: those of the HTML page (viewer/src/logic/colour.ts) ---- */

static void oklch(double lightness, double chroma, double degrees, int rgb[3])
{
	double hue = degrees * M_PI / 180, a = chroma * cos(hue), b = chroma * sin(hue);
	double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
	double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
	double s = pow(lightness - 0.0894841775 * a - 1.291485548 * b, 3);
	double linear[3] = {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
			    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
			    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s};
	for (int i = 0; i < 3; i++) {
		double x = linear[i] < 0 ? 0 : linear[i] > 1 ? 1 : linear[i];
		rgb[i] = (int)(0.5 + 255 * (x <= 0.0031308 ? 12.92 * x
							   : 1.055 * pow(x, 1 / 2.4) - 0.055));
	}
}

/* FNV-1a, from 0 to 1. */
static double hash_unit(const char *text)
{
	uint32_t hash = 0x811c9dc5;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x01000193;
	return (double)(hash ^ hash >> 15) / 4294967296.0;
}

static void color_of(const struct sonde_db *db, uint32_t frame, int rgb[3])
{
	static const struct {
		const char *layer;
		double hue, chroma;
	} tones[] = {{"other", 260, 0.02},   {"region", 98, 0.115},  {"python", 250, 0.1},
		     {"operator", 58, 0.12}, {"native", 170, 0.085}, {"gpu-api", 300, 0.1},
		     {"gpu", 352, 0.12},     {"os", 128, 0.05},	     {"idle", 260, 0.015}};
	const struct sonde_db_frame *found = sonde_db_frame(db, frame);
	const char *layer = sonde_frame_kind_layer(found->kind);
	double variation = hash_unit(sonde_db_string(db, found->name)) - 0.5;
	size_t tone = 0;
	for (size_t i = 1; i < sizeof(tones) / sizeof(*tones); i++)
		if (!strcmp(tones[i].layer, layer))
			tone = i;
	oklch(0.815 + variation * 0.055, tones[tone].chroma, tones[tone].hue + variation * 14, rgb);
}

/* ---- rows ---- */

static void put_box(const struct drawing *drawing, const struct sn_timeline_box *box, unsigned y)
{
	const struct sonde_db *db = drawing->picture->db;
	const struct sn_timeline_window *window = &drawing->picture->window;
	double pixel_ns = (double)(window->to_ns - window->from_ns) / window->width;
	char name[SN_LABEL_CHARS];
	int rgb[3];
	FILE *out = drawing->out;
	unsigned width = box->end - box->first;
	color_of(db, box->frame, rgb);
	sn_label_full(db, SN_GROUP_AUTO, box->frame, name);
	fprintf(out, "<g><rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" fill=\"rgb(%d,%d,%d)\"",
		LEFT + box->first, y, width, ROW - 1, rgb[0], rgb[1], rgb[2]);
	/* an event shorter than a pixel stays visible */
	if (box->busy < 0.95)
		fprintf(out, " opacity=\"%.2f\"", box->busy < 0.15 ? 0.15 : box->busy);
	fputs("/><title>", out);
	sn_escape_write_cut(out, name, 400);
	fprintf(out, " · about %s at %s</title>", sn_number_time(box->busy * pixel_ns * width).text,
		sn_number_time(pixel_ns * box->first).text);
	if (width >= LABEL_MIN) {
		sn_label_name(db, SN_GROUP_AUTO, box->frame, name);
		fprintf(out, "<text%s x=\"%u\" y=\"%u\">", box->busy < 0.6 ? " class=\"pale\"" : "",
			LEFT + box->first + 3, y + ROW - 4);
		sn_escape_write_cut(out, name, (width - 5) / CHAR);
		fputs("</text>", out);
	}
	fputs("</g>\n", out);
}

static void put_rows(const struct drawing *drawing)
{
	const struct sn_timeline_picture *picture = drawing->picture;
	unsigned y = TOP;
	size_t box = 0;
	for (size_t i = 0; i < picture->row_count; i++, y += ROW) {
		const struct sn_timeline_row *row = picture->rows + i;
		if (row->is_first) {
			y += i ? GAP : 0;
			fprintf(drawing->out, "<text class=\"name\" x=\"%d\" y=\"%u\">", MARGIN,
				y + ROW - 4);
			sn_escape_write_cut(drawing->out,
					    sn_timeline_name(picture->db, row->profile).text,
					    (LEFT - MARGIN - 8) / CHAR);
			fputs("</text>\n", drawing->out);
		}
		for (; box < row->end_box; box++)
			put_box(drawing, picture->boxes + box, y);
	}
}

/* Times at round distances, 5 to 10 of them. */
static void put_axis(const struct drawing *drawing)
{
	const struct sn_timeline_window *window = &drawing->picture->window;
	double length = (double)(window->to_ns - window->from_ns);
	double step = pow(10, floor(log10(length)));
	if (length / step < 2)
		step /= 5;
	else if (length / step < 5)
		step /= 2;
	for (double time = 0; time <= length; time += step) {
		double x = LEFT + time / length * window->width;
		fprintf(drawing->out, "<path class=\"tick\" d=\"M%.1f %d V%u\"/>", x, TOP - 8,
			drawing->height);
		if (x + 40 < LEFT + window->width)
			fprintf(drawing->out,
				"<text class=\"time\" x=\"%.1f\" y=\"%d\">%s</text>\n", x + 3,
				TOP - 10, time > 0 ? sn_number_time(time).text : "0");
	}
}

/* Names on boxes are dark in both themes, but for those that the paper shines through. */
static const char style[] =
    "<style>.timeline text{font:10px system-ui,sans-serif;fill:#14181f}"
    ".timeline .paper{fill:#fff}.timeline .name{font-size:11px;fill:#444b57}"
    ".timeline .time{fill:#6b7280}.timeline .title{font-size:13px;font-weight:600}"
    ".timeline .tick{stroke:#e3e6ea}.timeline g rect:hover{stroke:#14181f}\n"
    "@media(prefers-color-scheme:dark){.timeline:root{background:#14171d}"
    ".timeline .paper{fill:#14171d}"
    ".timeline .title,.timeline .pale{fill:#e6e9ef}.timeline .name{fill:#c3cad5}"
    ".timeline .time{fill:#98a2b3}.timeline .tick{stroke:#2b313c}"
    ".timeline g rect:hover{stroke:#fff}}</style>\n";

static void put_head(const struct drawing *drawing)
{
	const struct sn_timeline_window *window = &drawing->picture->window;
	const char *program = sonde_db_property(drawing->picture->db, "program");
	unsigned width = LEFT + window->width + MARGIN, height = drawing->height + BOTTOM;
	program = program ? sn_label_program(program) : "";
	fprintf(drawing->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" width=\"%u\" "
		"height=\"%u\" viewBox=\"0 0 %u %u\">\n",
		width, height, width, height);
	fputs(style, drawing->out);
	fprintf(drawing->out,
		"<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n"
		"<text class=\"title\" x=\"%d\" y=\"20\">",
		MARGIN);
	sn_escape_write_cut(drawing->out, *program ? program : "timeline", 80);
	fprintf(drawing->out, ", %s</text>\n",
		sn_number_time((double)(window->to_ns - window->from_ns)).text);
}

static void draw(const struct sn_timeline_picture *picture, FILE *out)
{
	struct drawing drawing = {picture, out, TOP};
	for (size_t i = 0; i < picture->row_count; i++)
		drawing.height += ROW + (picture->rows[i].is_first ? GAP : 0);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	put_head(&drawing);
	put_axis(&drawing);
	put_rows(&drawing);
	if (picture->left_out)
		fprintf(out, "<text class=\"name\" x=\"%d\" y=\"%u\">%u more rows</text>\n", MARGIN,
			drawing.height + BOTTOM - 8, picture->left_out);
	fputs("</svg>\n", out);
}

int sn_timeline_svg(const struct sn_timeline_picture *picture, const char *path,
		    struct sn_error *error)
{
	struct sn_output output;
	int result = sn_output_open(&output, path, error);
	FILE *out = result ? NULL : sn_output_stream(&output);
	if (result)
		return result;
	if (!out) {
		sn_output_abandon(&output);
		return sn_fail_memory(error);
	}
	draw(picture, out);
	fclose(out);
	return sn_output_commit(&output, error);
}
