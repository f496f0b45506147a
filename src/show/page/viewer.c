/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The viewer's page has three marks, which are filled in here: the title, the data's encoding, and
 * the data as base64. See viewer.h.
 */
#include "viewer.h"

#include "base/escape.h"

#include <string.h>
#ifdef SN_HAVE_ZLIB
#include <zlib.h>
#endif

#define MAGIC	      "SONDEHTM"
#define VERSION_MAJOR 1
#define VERSION_MINOR 4

/* viewer/dist/page.html; ends with NUL. */
extern const char sn_html_page[];

enum { BASE64_GROUPS = 4096 /* of three bytes, encoded at a time */, DEFLATE_QUALITY = 7 };

void sn_viewer_payload(struct sn_buffer *payload, const void *header, size_t header_bytes,
		       const struct sn_buffer *data)
{
	sn_buffer_text(payload, MAGIC);
	sn_buffer_number(payload, VERSION_MAJOR, 2);
	sn_buffer_number(payload, VERSION_MINOR, 2);
	sn_buffer_number(payload, header_bytes, 4);
	sn_buffer_put(payload, header, header_bytes);
	sn_buffer_align(payload, 8);
	sn_buffer_put(payload, data->bytes, data->count);
}

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
	char text[BASE64_GROUPS * 4];
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

/* Deflates the data in place where this build has zlib; *encoding is the page's attribute. */
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

int sn_viewer_write(FILE *out, const char *title, struct sn_buffer *payload, struct sn_error *error)
{
	const char *encoding;
	int result = payload->failed ? sn_fail_memory(error) : 0;
	if (!result)
		result = compress_data(payload, &encoding, error);
	if (result)
		return result;
	const char *rest = write_until(out, sn_html_page, "@TITLE@");
	sn_escape_write(out, SN_ESCAPE_MARKUP, title);
	fputs(" – Sonde", out);
	rest = write_until(out, rest, "@ENCODING@");
	fputs(encoding, out);
	rest = write_until(out, rest, "@DATA@");
	write_base64(out, payload->bytes, payload->count);
	fputs(rest, out);
	return 0;
}
