/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from files and programs may hold any bytes; Sonde's output is UTF-8, and no name may
 * control the terminal, page or spreadsheet that shows it. escape.h, for formats with special
 * characters, uses this.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number of bytes of the well-formed UTF-8 character at `text`; 0 if there is none or the text
 * ends. */
size_t sn_utf8_length(const char *text);
/* Columns on a terminal, one a character. */
size_t sn_utf8_columns(const char *text);
/* The code of a hidden character at `text`: controls (below U+0020, U+007F to U+009F), and marks
 * that change the direction of writing. 0 for any other, or if the text ends. */
uint32_t sn_utf8_hidden(const char *text);
/* Stores the form in which the character at `text`, which must not be its end, is shown: line ends
 * and tabs as blanks, other controls and malformed bytes as '?', marks of direction as "\u202e".
 * Returns the number of bytes of the character. */
enum { SN_UTF8_SHOWN = 8 };
size_t sn_utf8_show(const char *text, char shown[SN_UTF8_SHOWN]);
/* Copies a text in the form of sn_utf8_show; whole characters only. */
void sn_utf8_clean(const char *from, char *to, size_t size);
/* Shortens `text` in place to at most `columns` by replacing its middle by an ellipsis. */
void sn_utf8_elide(char *text, size_t columns);

/* Truncates `text` in place to at most `columns`. */
void sn_utf8_cut(char *text, size_t columns);
