/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of CSV; see csv.h. */
#include "csv.h"

#include "base/escape.h"

#include <string.h>

/* Blanks and what becomes a blank are skipped: some programs trim cells. The wide forms of the four
 * characters count where the language has them (U+FF1D, U+FF0B, U+FF0D, U+FF20). */
bool sn_csv_is_formula(const char *text)
{
	static const char *const wide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
					   "\xef\xbc\xa0"};
	text += strspn(text, " \t\r\n");
	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (!strncmp(text, wide[i], 3))
			return true;
	return *text && strchr("=+-@", *text);
}

/* A sign, digits with a point, an exponent, and nothing else. */
static bool is_number(const char *text)
{
	static const char digits[] = "0123456789";
	text += *text == '+' || *text == '-';
	size_t whole = strspn(text, digits), part = 0;
	text += whole;
	if (*text == '.')
		text += 1 + (part = strspn(text + 1, digits));
	if (!whole && !part)
		return false;
	if (*text == 'e' || *text == 'E') {
		text += 1 + (text[1] == '+' || text[1] == '-');
		size_t exponent = strspn(text, digits);
		if (!exponent)
			return false;
		text += exponent;
	}
	return !*text;
}

void sn_csv_part(FILE *out, const char *text, char separator)
{
	char shown[SN_ESCAPED];
	while (*text) {
		size_t plain = sn_escape_plain(SN_ESCAPE_CELL, text);
		const char *colon = separator ? memchr(text, separator, plain) : NULL;
		if (colon)
			plain = (size_t)(colon - text);
		fwrite_unlocked(text, 1, plain, out);
		text += plain;
		if (!*text)
			break;
		text += sn_escape_next(SN_ESCAPE_CELL, text, shown);
		if (separator && *shown == separator)
			*shown = ':';
		fputs_unlocked(shown, out);
	}
}

static void put_cell(FILE *out, const char *text, bool has_quotes)
{
	if (has_quotes)
		putc_unlocked('"', out);
	if (sn_csv_is_formula(text) && !is_number(text))
		putc_unlocked('\'', out);
	sn_csv_part(out, text, 0);
	if (has_quotes)
		putc_unlocked('"', out);
}

void sn_csv_text(FILE *out, const char *text)
{
	if (text)
		put_cell(out, text, strpbrk(text, ",\""));
}

void sn_csv_quoted(FILE *out, const char *text)
{
	put_cell(out, text, true);
}

void sn_csv_head(FILE *out, const char *name, const char *statistic)
{
	char head[512];
	snprintf(head, sizeof(head), "%.480s:%s", name, statistic);
	putc_unlocked(',', out);
	sn_csv_text(out, head);
}
