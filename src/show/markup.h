/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts in XML and HTML, between tags and in attributes with double quotes.
 */
#ifndef SN_SHOW_MARKUP_H
#define SN_SHOW_MARKUP_H

#include <stddef.h>
#include <stdio.h>

enum { SN_MARKUP_SHOWN = 8 };

/* The character at `text`, which does not end there, as sn_utf8_show has it, with entities for & <
 * > and ". Returns its bytes. */
size_t sn_markup_next(const char *text, char shown[SN_MARKUP_SHOWN]);
void sn_markup_text(FILE *out, const char *text);

#endif
