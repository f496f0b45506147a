/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as far as outputs need it; see utf8.h. */
#include "utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t sn_utf8_length(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	if (c[0] == 0)
		return 0;
	if (c[0] < 0x80)
		return 1;
	size_t length = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
	if (c[0] < 0xc2 || c[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and what lies beyond Unicode. */
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return length;
}

size_t sn_utf8_columns(const char *text)
{
	size_t columns = 0;
	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

/* The code of a well-formed character of two or three bytes. */
static uint32_t code_of(const unsigned char *c, size_t length)
{
	return length == 2 ? (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu)
			   : (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
}

static bool turns_direction(uint32_t code)
{
	return code == 0x061c || code == 0x200e || code == 0x200f ||
	       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

uint32_t sn_utf8_hidden(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	if (c[0] < 0x80)
		return c[0] < ' ' || c[0] == 0x7f ? c[0] : 0;
	size_t length = sn_utf8_length(text);
	if (length != 2 && length != 3)
		return 0;
	uint32_t code = code_of(c, length);
	return code < 0xa0 || turns_direction(code) ? code : 0;
}

size_t sn_utf8_show(const char *text, char shown[SN_UTF8_SHOWN])
{
	if (*text >= ' ' && *text < 0x7f) {
		shown[0] = *text;
		shown[1] = 0;
		return 1;
	}
	size_t length = sn_utf8_length(text);
	uint32_t hidden = sn_utf8_hidden(text);
	if (hidden >= 0xa0) {
		snprintf(shown, SN_UTF8_SHOWN, "\\u%04x", (unsigned)hidden & 0xffff);
	} else if (!length || hidden) {
		strcpy(shown, *text == '\n' || *text == '\r' || *text == '\t' ? " " : "?");
	} else {
		memcpy(shown, text, length);
		shown[length] = 0;
	}
	return length ? length : 1;
}

void sn_utf8_clean(const char *from, char *to, size_t size)
{
	size_t used = 0;
	char shown[SN_UTF8_SHOWN];
	while (*from && used + 5 < size) {
		if (*from >= ' ' && *from < 0x7f) {
			to[used++] = *from++;
			continue;
		}
		size_t consumed = sn_utf8_show(from, shown), length = strlen(shown);
		if (used + length >= size)
			break;
		memcpy(to + used, shown, length);
		used += length;
		from += consumed;
	}
	to[used] = '\0';
}

static size_t offset_of_column(const char *text, size_t column)
{
	size_t i = 0;
	for (; text[i]; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80 && column-- == 0)
			break;
	return i;
}

void sn_utf8_elide(char *text, size_t columns)
{
	static const char ellipsis[] = "\xe2\x80\xa6";
	size_t length = sn_utf8_columns(text);
	if (length <= columns || columns == 0)
		return;
	size_t head = (columns - 1) / 2, tail = columns - 1 - head;
	size_t head_bytes = offset_of_column(text, head);
	size_t tail_at = offset_of_column(text, length - tail);
	size_t tail_bytes = strlen(text + tail_at);
	/* The ellipsis has three bytes; two narrow characters consumed out leave room for two. */
	if (head_bytes + 3 > tail_at) {
		if (head == 0) {
			text[offset_of_column(text, columns)] = '\0';
			return;
		}
		head_bytes = offset_of_column(text, head - 1);
	}
	memmove(text + head_bytes + 3, text + tail_at, tail_bytes + 1);
	memcpy(text + head_bytes, ellipsis, 3);
}

void sn_utf8_cut(char *text, size_t columns)
{
	if (sn_utf8_columns(text) <= columns || columns == 0)
		return;
	size_t end = offset_of_column(text, columns - 1), length = strlen(text);
	/* What is consumed off may be shorter than the ellipsis. */
	if (length - end < 3)
		end = offset_of_column(text, columns - 2);
	if (columns < 2 || length - end < 3) {
		text[offset_of_column(text, columns)] = '\0';
		return;
	}
	memcpy(text + end, "\xe2\x80\xa6", 4);
}
