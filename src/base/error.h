/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the libraries of the analysis half report failure: a function returns 0 or a negative enum
 * sn_err, and writes one line for people into an optional struct sn_error. Nobody here prints.
 */
#ifndef SN_BASE_ERROR_H
#define SN_BASE_ERROR_H

#include <stdarg.h>

enum sn_err {
	SN_ERR_IO = -1,		 /* the system refused: open, read, write, map */
	SN_ERR_FORMAT = -2,	 /* not the format it should be, or damaged */
	SN_ERR_VERSION = -3,	 /* made by a newer version */
	SN_ERR_MEMORY = -4,	 /* allocation failed */
	SN_ERR_ARGUMENT = -5,	 /* the caller's or the user's mistake */
	SN_ERR_MISSING = -6,	 /* what was asked for is not there */
	SN_ERR_UNSUPPORTED = -7, /* known, but not in this build */
};

struct sn_error {
	char text[512]; /* one line, lower case, no full stop; "" while nothing failed */
};

/* Names out of files may hold anything: control characters, those of several bytes too, become '?',
 * so that no text makes a second line or is obeyed by a terminal. */
void sn_one_line(char *text);
/* Writes the text as one line (error may be NULL) and returns `code`, so that
 * `return sn_fail(...)` reads well. */
int sn_fail(struct sn_error *error, enum sn_err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "out of memory"; returns SN_ERR_MEMORY. */
int sn_fail_memory(struct sn_error *error);
/* Returns `code`, of a function that writes no text: where it is SN_ERR_MEMORY, writes that text.
 */
int sn_fail_code(struct sn_error *error, int code);
/* Puts `to` for each `from` in the text: a path that the user gave for one that we made. */
void sn_error_rename(struct sn_error *error, const char *from, const char *to);
/* Puts "format: " in front of a text already there. */
int sn_fail_prefix(struct sn_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
