/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names come from files and programs and may hold any bytes; what we print is UTF-8.
 */
#ifndef SN_REPORT_UTF8_H
#define SN_REPORT_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed UTF-8 character at `text`; 0: there is none (or the text ends). */
size_t sn_utf8_length(const char *text);
/* Columns on a terminal, one a character. */
size_t sn_utf8_columns(const char *text);
/* Copies with line ends and tabs replaced by blanks, other control characters and malformed bytes
 * by '?'; whole characters only. */
void sn_utf8_clean(const char *from, char *to, size_t size);
/* Shortens `text` in place to at most `columns` by taking out its middle and putting in an
 * ellipsis. */
void sn_utf8_elide(char *text, size_t columns);

/* Shortens `text` in place to at most `columns` by taking off its end. */
void sn_utf8_cut(char *text, size_t columns);

#endif
