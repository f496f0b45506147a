/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes texts from files and programs for a format with special characters. In every format,
 * hidden and malformed characters are replaced (utf8.h), so that no text controls a terminal, page
 * or parser.
 *
 *	sn_escape_write(out, SN_ESCAPE_JSON, name);		into a stream
 *	sn_escape_put(&buffer, SN_ESCAPE_QUOTED, name);		into a buffer
 *	while (*text) {						a character at a time
 *		text += sn_escape_next(SN_ESCAPE_MARKUP, text, shown);
 *		sn_output_write(output, shown, strlen(shown));
 *	}
 *
 * The caller writes the quotes around a text, except in functions called quote. Characters that
 * need no escape are copied in runs.
 */
#pragma once

#include "buffer.h"

#include <stdio.h>

enum sn_escape {
	SN_ESCAPE_SHOWN,  /* as sn_utf8_show: terminals, tables */
	SN_ESCAPE_QUOTED, /* the same within quotes, with \ before " and \: DOT, CTF, C */
	SN_ESCAPE_CELL,	  /* the same within quotes, with "" for ": CSV */
	SN_ESCAPE_MARKUP, /* the same with entities for & < > and ": XML, HTML */
	SN_ESCAPE_JSON, /* within quotes: \u001b for hidden characters, U+FFFD for malformed bytes */
};

enum { SN_ESCAPED = 8 };

/* Escapes the character at `text`, which must not be its end. Returns the number of bytes of the
 * character. */
size_t sn_escape_next(enum sn_escape how, const char *text, char shown[SN_ESCAPED]);
/* The number of bytes at `text` that need no escape: ASCII only, so there may be more. */
size_t sn_escape_plain(enum sn_escape how, const char *text);
void sn_escape_write(FILE *out, enum sn_escape how, const char *text);
/* Into SVG: a text with more than `most` characters ends in an ellipsis. */
void sn_escape_write_cut(FILE *out, const char *text, size_t most);
void sn_escape_put(struct sn_buffer *buffer, enum sn_escape how, const char *text);

/* The same with quotes around it. */
void sn_quote_write(FILE *out, enum sn_escape how, const char *text);
void sn_quote_put(struct sn_buffer *buffer, enum sn_escape how, const char *text);
