/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names come from files and programs and may hold any bytes; what we print is UTF-8, and nothing in
 * a name may act on the terminal, page or spreadsheet that shows it. Formats with signs of their
 * own have escape.h, which rests on this.
 */
#ifndef SN_BASE_UTF8_H
#define SN_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed UTF-8 character at `text`; 0: there is none (or the text ends). */
size_t sn_utf8_length(const char *text);
/* Columns on a terminal, one a character. */
size_t sn_utf8_columns(const char *text);
/* The code of a character that is obeyed, not shown: controls (below U+0020, U+007F to U+009F), and
 * marks that turn the direction of writing. 0: it is none, or the text ends. */
uint32_t sn_utf8_hidden(const char *text);
/* The character at `text`, which does not end there, as it is shown: line ends and tabs as blanks,
 * other controls and malformed bytes as '?', marks of direction as "\u202e". Returns its bytes. */
enum { SN_UTF8_SHOWN = 8 };
size_t sn_utf8_show(const char *text, char shown[SN_UTF8_SHOWN]);
/* Copies as sn_utf8_show has it; whole characters only. */
void sn_utf8_clean(const char *from, char *to, size_t size);
/* Shortens `text` in place to at most `columns` by taking out its middle and putting in an
 * ellipsis. */
void sn_utf8_elide(char *text, size_t columns);

/* Shortens `text` in place to at most `columns` by taking off its end. */
void sn_utf8_cut(char *text, size_t columns);

#endif
