/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting a line of text together without the C library's formatting, which is not for handlers.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_LINE_H
#define SN_COLLECT_LINE_H

#include <stddef.h>
#include <stdint.h>

/* The caller's storage; always terminated, cut where it is full. */
struct sn_line {
	char *text;
	size_t bytes, length;
};

#define SN_LINE(storage) ((struct sn_line){(storage), sizeof(storage), 0})

static inline void sn_line_add(struct sn_line *line, const char *text)
{
	while (*text && line->length + 1 < line->bytes)
		line->text[line->length++] = *text++;
	line->text[line->length] = 0;
}

static inline void sn_line_add_in_base(struct sn_line *line, uint64_t number, unsigned base)
{
	char digits[21], *digit = digits + sizeof(digits) - 1;
	*digit = 0;
	do
		*--digit = "0123456789abcdef"[number % base];
	while (number /= base);
	sn_line_add(line, digit);
}

static inline void sn_line_add_number(struct sn_line *line, uint64_t number)
{
	sn_line_add_in_base(line, number, 10);
}

#endif
