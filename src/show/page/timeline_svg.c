/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of rectangles; see timeline_svg.h. */
#include "timeline_svg.h"

#include "base/escape.h"
#include "base/utf8.h"
#include "show/label.h"
#include "show/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
	const struct sonde_db *db;
	const struct sonde_trace *trace;
	const struct sn_timeline_picture *picture;
	struct sn_output *output;
	struct sonde_pixel *pixels;
	unsigned y;
};

__attribute__((format(printf, 2, 3))) static void put(struct drawing *drawing, const char *format,
						      ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length > 0)
		sn_output_write(drawing->output, text,
				(size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

/* What has more than `most` characters ends in an ellipsis. */
static void put_text(struct drawing *drawing, const char *text, size_t most)
{
	char line[2048], shown[SN_ESCAPED];
	sn_utf8_clean(text, line, sizeof(line));
	sn_utf8_cut(line, most);
	for (const char *at = line; *at;) {
		at += sn_escape_next(SN_ESCAPE_MARKUP, at, shown);
		sn_output_write(drawing->output, shown, strlen(shown));
	}
}

static const char *duration(double ns)
{
	static char texts[4][SN_NUMBER_CHARS];
	static unsigned next;
	return sn_number_format(ns, "ns", texts[next++ % 4]);
}

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

/* Pixels first .. end - 1 show one context. */
static void put_box(struct drawing *drawing, size_t first, size_t end, double busy)
{
	uint32_t context = drawing->pixels[first].context;
	uint32_t frame = sonde_db_context(drawing->db, context)->frame;
	double pixel_ns =
	    (double)(drawing->picture->to_ns - drawing->picture->from_ns) / drawing->picture->width;
	char name[SN_LABEL_CHARS];
	int rgb[3];
	unsigned width = (unsigned)(end - first);
	color_of(drawing->db, frame, rgb);
	sn_label_full(drawing->db, SN_GROUP_AUTO, frame, name);
	put(drawing,
	    "<g><rect x=\"%zu\" y=\"%u\" width=\"%u\" height=\"%d\" fill=\"rgb(%d,%d,%d)\"",
	    LEFT + first, drawing->y, width, ROW - 1, rgb[0], rgb[1], rgb[2]);
	/* something is seen of what takes next to nothing of a pixel */
	if (busy < 0.95)
		put(drawing, " opacity=\"%.2f\"", busy < 0.15 ? 0.15 : busy);
	put(drawing, "/><title>");
	put_text(drawing, name, 400);
	put(drawing, " · about %s at %s</title>", duration(busy * pixel_ns * width),
	    duration(pixel_ns * (double)first));
	if (width >= LABEL_MIN) {
		sn_label_name(drawing->db, SN_GROUP_AUTO, frame, name);
		put(drawing, "<text%s x=\"%zu\" y=\"%u\">", busy < 0.6 ? " class=\"pale\"" : "",
		    LEFT + first + 3, drawing->y + ROW - 4);
		put_text(drawing, name, (width - 5) / CHAR);
		put(drawing, "</text>");
	}
	put(drawing, "</g>\n");
}

/* Neighbours of one context and about as busy are one box. */
static void put_row(struct drawing *drawing)
{
	const struct sonde_pixel *pixels = drawing->pixels;
	size_t count = drawing->picture->width;
	for (size_t first = 0, end; first < count; first = end) {
		double busy = 0;
		for (end = first; end < count && pixels[end].context == pixels[first].context &&
				  fabsf(pixels[end].busy - pixels[first].busy) < 0.34f;
		     end++)
			busy += pixels[end].busy;
		if (pixels[first].context != SONDE_NONE)
			put_box(drawing, first, end, busy / (double)(end - first));
	}
}

/* Who a row is, short: the picture is of one program. */
static void put_profile_name(struct drawing *drawing, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(drawing->db, number);
	char name[128] = "";
	size_t used = 0;
	if (profile->rank >= 0)
		used = (size_t)snprintf(name, sizeof(name), "rank %d · ", (int)profile->rank);
	if (profile->kind == SONDE_PROFILE_STREAM)
		snprintf(name + used, sizeof(name) - used, "device %u · stream %u", profile->device,
			 profile->stream);
	else if (profile->thread != SONDE_NONE)
		snprintf(name + used, sizeof(name) - used, "%s",
			 sonde_db_string(drawing->db, profile->thread));
	else
		snprintf(name + used, sizeof(name) - used, "thread %llu",
			 (unsigned long long)profile->tid);
	put(drawing, "<text class=\"name\" x=\"%d\" y=\"%u\">", MARGIN, drawing->y + ROW - 4);
	put_text(drawing, name, (LEFT - MARGIN - 8) / CHAR);
	put(drawing, "</text>\n");
}

static bool is_drawn(const struct sonde_track *track, const struct sn_timeline_picture *picture)
{
	return track->kind != SONDE_TRACK_COUNTER && track->start_ns < picture->to_ns &&
	       track->end_ns >= picture->from_ns;
}

/* Devices below the threads that feed them would be far away: they come first. */
static int put_tracks(struct drawing *drawing, bool devices, unsigned *left, unsigned *omitted,
		      struct sn_error *error)
{
	uint32_t profile = SONDE_NONE;
	for (uint32_t i = 0; i < sonde_trace_track_count(drawing->trace); i++) {
		const struct sonde_track *track = sonde_trace_track(drawing->trace, i);
		const struct sn_timeline_picture *picture = drawing->picture;
		struct sonde_db_error why;
		if (!is_drawn(track, picture) ||
		    (sonde_db_profile(drawing->db, track->profile)->kind == SONDE_PROFILE_STREAM) !=
			devices)
			continue;
		if (!*left) {
			++*omitted;
			continue;
		}
		--*left;
		if (sonde_trace_draw(drawing->trace, i, picture->from_ns, picture->to_ns,
				     drawing->pixels, picture->width, &why))
			return sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
		if (track->profile != profile) {
			drawing->y += profile == SONDE_NONE ? 0 : GAP;
			put_profile_name(drawing, track->profile);
		}
		profile = track->profile;
		put_row(drawing);
		drawing->y += ROW;
	}
	drawing->y += profile == SONDE_NONE ? 0 : GAP;
	return 0;
}

/* Times at round distances, 5 to 10 of them. */
static void put_axis(struct drawing *drawing)
{
	const struct sn_timeline_picture *picture = drawing->picture;
	double length = (double)(picture->to_ns - picture->from_ns);
	double step = pow(10, floor(log10(length)));
	if (length / step < 2)
		step /= 5;
	else if (length / step < 5)
		step /= 2;
	for (double time = 0; time <= length; time += step) {
		double x = LEFT + time / length * picture->width;
		put(drawing, "<path class=\"tick\" d=\"M%.1f %d V%u\"/>", x, TOP - 8, drawing->y);
		if (x + 40 < LEFT + picture->width)
			put(drawing, "<text class=\"time\" x=\"%.1f\" y=\"%d\">%s</text>\n", x + 3,
			    TOP - 10, time > 0 ? duration(time) : "0");
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

static void put_head(struct drawing *drawing, unsigned height)
{
	const char *program = sonde_db_property(drawing->db, "program");
	const char *slash = program ? strrchr(program, '/') : NULL;
	unsigned width = LEFT + drawing->picture->width + MARGIN;
	program = slash && slash[1] ? slash + 1 : program;
	put(drawing,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" width=\"%u\" "
	    "height=\"%u\" viewBox=\"0 0 %u %u\">\n",
	    width, height, width, height);
	sn_output_write(drawing->output, style, sizeof(style) - 1);
	put(drawing,
	    "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n"
	    "<text class=\"title\" x=\"%d\" y=\"20\">",
	    MARGIN);
	put_text(drawing, program && *program ? program : "timeline", 80);
	put(drawing, ", %s</text>\n",
	    duration((double)(drawing->picture->to_ns - drawing->picture->from_ns)));
}

/* The height that put_tracks will reach, known before anything is written. */
static unsigned measure_height(const struct drawing *drawing)
{
	unsigned y = TOP, left = drawing->picture->rows;
	for (unsigned devices = 0; devices < 2; devices++) {
		uint32_t profile = SONDE_NONE;
		for (uint32_t i = 0; i < sonde_trace_track_count(drawing->trace); i++) {
			const struct sonde_track *track = sonde_trace_track(drawing->trace, i);
			if (!is_drawn(track, drawing->picture) || !left ||
			    (sonde_db_profile(drawing->db, track->profile)->kind ==
			     SONDE_PROFILE_STREAM) == !devices)
				continue;
			left--;
			y += ROW + (track->profile != profile && profile != SONDE_NONE ? GAP : 0);
			profile = track->profile;
		}
		y += profile == SONDE_NONE ? 0 : GAP;
	}
	return y;
}

static int draw(struct drawing *drawing, struct sn_error *error)
{
	unsigned left = drawing->picture->rows, omitted = 0, height = measure_height(drawing);
	put_head(drawing, height + BOTTOM);
	drawing->y = height;
	put_axis(drawing);
	drawing->y = TOP;
	int result = put_tracks(drawing, true, &left, &omitted, error);
	if (!result)
		result = put_tracks(drawing, false, &left, &omitted, error);
	if (omitted)
		put(drawing, "<text class=\"name\" x=\"%d\" y=\"%u\">%u more rows</text>\n", MARGIN,
		    height + BOTTOM - 8, omitted);
	put(drawing, "</svg>\n");
	return result;
}

int sn_timeline_svg_draw(const struct sonde_db *db, const struct sonde_trace *trace,
			 const struct sn_timeline_picture *picture, struct sn_output *output,
			 struct sn_error *error)
{
	struct drawing drawing = {
	    .db = db,
	    .trace = trace,
	    .picture = picture,
	    .output = output,
	    .pixels = calloc(picture->width + 1ull, sizeof(*drawing.pixels)),
	};
	int result =
	    drawing.pixels ? draw(&drawing, error) : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	free(drawing.pixels);
	return result;
}

int sn_timeline_svg(const struct sonde_db *db, const struct sonde_trace *trace,
		    const struct sn_timeline_picture *picture, const char *path,
		    struct sn_error *error)
{
	static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
	struct sn_output output;
	int result = sn_output_open(&output, path, error);
	if (result)
		return result;
	sn_output_write(&output, head, sizeof(head) - 1);
	result = sn_timeline_svg_draw(db, trace, picture, &output, error);
	if (!result)
		return sn_output_commit(&output, error);
	sn_output_abandon(&output);
	return result;
}
