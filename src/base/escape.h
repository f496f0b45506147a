/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that come from files and programs, within a format that has signs of its own. Whatever the
 * format, what is hidden or malformed in the text is made harmless (utf8.h), so that it acts on no
 * terminal, page or parser.
 *
 *	sn_escape_write(out, SN_ESCAPE_JSON, name);		into a stream
 *	sn_escape_put(&buffer, SN_ESCAPE_QUOTED, name);		into a buffer
 *	while (*text) {						a character at a time
 *		text += sn_escape_next(SN_ESCAPE_MARKUP, text, shown);
 *		sn_output_write(output, shown, strlen(shown));
 *	}
 *
 * Quotes around a text are the caller's, except in functions that are called quote. What stands for
 * itself is copied in stretches.
 */
#ifndef SN_BASE_ESCAPE_H
#define SN_BASE_ESCAPE_H

#include "buffer.h"

#include <stdio.h>

enum sn_escape {
	SN_ESCAPE_SHOWN,  /* as sn_utf8_show: terminals, tables */
	SN_ESCAPE_QUOTED, /* the same within quotes, with \ before " and \: DOT, CTF, C */
	SN_ESCAPE_CELL,	  /* the same within quotes, with "" for ": CSV */
	SN_ESCAPE_MARKUP, /* the same with entities for & < > and ": XML, HTML */
	SN_ESCAPE_JSON,	  /* within quotes: \u001b for what is hidden, U+FFFD for malformed bytes */
};

enum { SN_ESCAPED = 8 };

/* The character at `text`, which does not end there, as it is written. Returns its bytes. */
size_t sn_escape_next(enum sn_escape how, const char *text, char shown[SN_ESCAPED]);
/* How many bytes at `text` are written as they are: ASCII only, there may be more. */
size_t sn_escape_plain(enum sn_escape how, const char *text);
void sn_escape_write(FILE *out, enum sn_escape how, const char *text);
void sn_escape_put(struct sn_buffer *buffer, enum sn_escape how, const char *text);

/* The same with quotes around it. */
void sn_quote_write(FILE *out, enum sn_escape how, const char *text);
void sn_quote_put(struct sn_buffer *buffer, enum sn_escape how, const char *text);

#endif
