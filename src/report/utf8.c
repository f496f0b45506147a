/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as far as reports need it; see utf8.h. */
#include "utf8.h"

#include <stdbool.h>
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

/* Those of two bytes, U+0080 to U+009F, are obeyed by terminals as well. */
static bool is_control(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	return c[0] < ' ' || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
}

void sn_utf8_clean(const char *from, char *to, size_t size)
{
	size_t used = 0;
	while (*from && used + 5 < size) {
		size_t length = sn_utf8_length(from);
		if (length == 0 || is_control(from)) {
			to[used++] = *from == '\n' || *from == '\t' ? ' ' : '?';
			from += length ? length : 1;
			continue;
		}
		memcpy(to + used, from, length);
		used += length;
		from += length;
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
	/* The ellipsis has three bytes; two narrow characters taken out leave room for two. */
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
	/* What is taken off may be shorter than the ellipsis. */
	if (length - end < 3)
		end = offset_of_column(text, columns - 2);
	if (columns < 2 || length - end < 3) {
		text[offset_of_column(text, columns)] = '\0';
		return;
	}
	memcpy(text + end, "\xe2\x80\xa6", 4);
}
