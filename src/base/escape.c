/* SPDX-License-Identifier: Apache-2.0 */
/* One character at a time, and what stands for itself in stretches; see escape.h. */
#include "escape.h"

#include "utf8.h"

_Static_assert((int)SN_ESCAPED >= (int)SN_UTF8_SHOWN, "takes what sn_utf8_show writes");

/* Signs that a format takes for its own. */
static const char *const signs[] = {
    [SN_ESCAPE_SHOWN] = "",	  [SN_ESCAPE_QUOTED] = "\"\\", [SN_ESCAPE_CELL] = "\"",
    [SN_ESCAPE_MARKUP] = "&<>\"", [SN_ESCAPE_JSON] = "\"\\",
};

static size_t write_sign(enum sn_escape how, char sign, char shown[SN_ESCAPED])
{
	if (how == SN_ESCAPE_MARKUP)
		strcpy(shown, sign == '&'   ? "&amp;"
			      : sign == '<' ? "&lt;"
			      : sign == '>' ? "&gt;"
					    : "&quot;");
	else
		memcpy(shown, (char[]){how == SN_ESCAPE_CELL ? '"' : '\\', sign, 0}, 3);
	return 1;
}

size_t sn_escape_next(enum sn_escape how, const char *text, char shown[SN_ESCAPED])
{
	if (strchr(signs[how], *text))
		return write_sign(how, *text, shown);
	if (how != SN_ESCAPE_JSON) {
		size_t consumed = sn_utf8_show(text, shown);
		/* "\u202e" is to be read as these six letters, and not as what they stand for */
		if (how == SN_ESCAPE_QUOTED && *shown == '\\')
			memmove(shown + 1, shown, strlen(shown) + 1);
		return consumed;
	}
	size_t length = sn_utf8_length(text);
	uint32_t hidden = sn_utf8_hidden(text);
	if (length && !hidden) {
		memcpy(shown, text, length);
		shown[length] = 0;
	} else {
		snprintf(shown, SN_ESCAPED, "\\u%04x", (hidden ? hidden : 0xfffd) & 0xffff);
	}
	return length ? length : 1;
}

/* With two signs at most, as all but markup have. */
static size_t plain_of_two(const char *text, char first, char second)
{
	size_t length = 0;
	while (text[length] >= ' ' && text[length] < 0x7f && text[length] != first &&
	       text[length] != second)
		length++;
	return length;
}

size_t sn_escape_plain(enum sn_escape how, const char *text)
{
	if (how != SN_ESCAPE_MARKUP)
		return plain_of_two(text, signs[how][0], *signs[how] ? signs[how][1] : 0);
	size_t length = plain_of_two(text, '&', '<');
	for (size_t i = 0; i < length; i++)
		if (text[i] == '>' || text[i] == '"')
			return i;
	return length;
}

void sn_escape_write(FILE *out, enum sn_escape how, const char *text)
{
	char shown[SN_ESCAPED];
	while (*text) {
		size_t plain = sn_escape_plain(how, text);
		fwrite_unlocked(text, 1, plain, out);
		text += plain;
		if (!*text)
			break;
		text += sn_escape_next(how, text, shown);
		fputs_unlocked(shown, out);
	}
}

void sn_escape_write_cut(FILE *out, const char *text, size_t most)
{
	char line[2048];
	sn_utf8_clean(text, line, sizeof(line));
	sn_utf8_cut(line, most);
	sn_escape_write(out, SN_ESCAPE_MARKUP, line);
}

void sn_escape_put(struct sn_buffer *buffer, enum sn_escape how, const char *text)
{
	char shown[SN_ESCAPED];
	while (*text) {
		size_t plain = sn_escape_plain(how, text);
		sn_buffer_put(buffer, text, plain);
		text += plain;
		if (!*text)
			break;
		text += sn_escape_next(how, text, shown);
		sn_buffer_text(buffer, shown);
	}
}

void sn_quote_write(FILE *out, enum sn_escape how, const char *text)
{
	putc_unlocked('"', out);
	sn_escape_write(out, how, text);
	putc_unlocked('"', out);
}

void sn_quote_put(struct sn_buffer *buffer, enum sn_escape how, const char *text)
{
	sn_buffer_byte(buffer, '"');
	sn_escape_put(buffer, how, text);
	sn_buffer_byte(buffer, '"');
}
