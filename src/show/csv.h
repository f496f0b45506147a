/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts as cells of CSV (RFC 4180). A spreadsheet evaluates a cell that begins with = + - or @ as a
 * formula, so such a text gets an apostrophe before it, which marks a text. Numbers are written by
 * the caller, and a text that is a number stays as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* The text as a whole cell, in quotes where it needs them; NULL is an empty one. */
void sn_csv_text(FILE *out, const char *text);
/* Always in quotes. */
void sn_csv_quoted(FILE *out, const char *text);
/* A comma, and the head of a column: "NAME:STATISTIC". */
void sn_csv_head(FILE *out, const char *name, const char *statistic);
/* Whether a spreadsheet would evaluate a cell that begins with the text; also true for numbers. */
bool sn_csv_is_formula(const char *text);
/* A part of a cell, between quotes that the caller writes. Every `separator` in it becomes a colon;
 * 0: none does. */
void sn_csv_part(FILE *out, const char *text, char separator);
