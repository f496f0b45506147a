/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde export --to html`: one page that holds the viewer and the database's data, and loads
 * nothing.
 *
 * The viewer comes as a finished page (viewer/dist/page.html, embedded at build time) with three
 * marks, which are filled in here: the title, the data's encoding, and the data as base64.
 */
#include "export/exporter.h"
#include "html_data.h"

#include "base/escape.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef SN_HAVE_ZLIB
#include <zlib.h>
#endif

/* viewer/dist/page.html; ends with NUL. */
extern const char sn_html_page[];

#define BASE64_GROUP	4096 /* groups of three bytes encoded at a time */
#define DEFLATE_QUALITY 7

static void encode_group(const unsigned char *in, size_t left, char *out)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = (unsigned)in[0] << 16;
	if (left > 1)
		bits |= (unsigned)in[1] << 8;
	if (left > 2)
		bits |= in[2];
	out[0] = digits[bits >> 18];
	out[1] = digits[bits >> 12 & 63];
	out[2] = left > 1 ? digits[bits >> 6 & 63] : '=';
	out[3] = left > 2 ? digits[bits & 63] : '=';
}

static void write_base64(FILE *out, const unsigned char *bytes, size_t length)
{
	char text[BASE64_GROUP * 4];
	size_t used = 0;
	for (size_t i = 0; i < length; i += 3) {
		encode_group(bytes + i, length - i, text + used);
		used += 4;
		if (used == sizeof(text)) {
			fwrite(text, 1, used, out);
			used = 0;
		}
	}
	fwrite(text, 1, used, out);
}

/* Deflates the data in place where this build can. *encoding is its name for the page. */
static int compress_data(struct sn_buffer *data, const char **encoding, struct sn_error *error)
{
	*encoding = "none";
#ifdef SN_HAVE_ZLIB
	uLongf length = compressBound(data->count);
	struct sn_buffer packed = {0};
	unsigned char *bytes = sn_buffer_room(&packed, length);
	if (!bytes ||
	    compress2(bytes, &length, data->bytes, data->count, DEFLATE_QUALITY) != Z_OK) {
		sn_buffer_release(&packed);
		return sn_fail_memory(error);
	}
	sn_buffer_cut(&packed, length);
	sn_buffer_release(data);
	*data = packed;
	*encoding = "deflate";
#endif
	return 0;
}

static const char *program_name(const struct sonde_db *db)
{
	const char *program = sonde_db_property(db, "program");
	if (!program || !*program)
		return "Profile";
	const char *base = sn_text_base_name(program);
	return *base ? base : program;
}

/* Writes the page up to `mark` and returns what follows the mark. */
static const char *write_until(FILE *out, const char *page, const char *mark)
{
	const char *at = strstr(page, mark);
	if (!at)
		return page +
		       strlen(page); /* cannot be: a test fails on a page without its marks */
	fwrite(page, 1, (size_t)(at - page), out);
	return at + strlen(mark);
}

static int write_html(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct sn_buffer data;
	const char *encoding;
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
		result = compress_data(&data, &encoding, error);
	if (!result) {
		const char *rest = write_until(out, sn_html_page, "@TITLE@");
		sn_escape_write(out, SN_ESCAPE_MARKUP, program_name(request->db));
		fputs(" – Sonde", out);
		rest = write_until(out, rest, "@ENCODING@");
		fputs(encoding, out);
		rest = write_until(out, rest, "@DATA@");
		write_base64(out, data.bytes, data.count);
		fputs(rest, out);
	}
	sn_buffer_release(&data);
	return result;
}

const struct sn_exporter sn_exporter_html = {
    .name = "html",
    .summary = "one self-contained page with an interactive flame graph",
    .extension = "html",
    .write = write_html,
    .has_formulas = true,
    .has_sources = true,
};
