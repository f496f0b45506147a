/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the libraries of the analysis half report failure: a function returns 0 or a negative enum
 * sn_err, and writes a message of one line to an optional struct sn_error. These libraries print
 * nothing.
 */
#pragma once

#include <stdarg.h>

enum sn_err {
	SN_ERR_IO = -1,		 /* the system refused: open, read, write, map */
	SN_ERR_FORMAT = -2,	 /* not the format it should be, or damaged */
	SN_ERR_VERSION = -3,	 /* made by a newer version */
	SN_ERR_MEMORY = -4,	 /* allocation failed */
	SN_ERR_ARGUMENT = -5,	 /* the caller's or the user's mistake */
	SN_ERR_MISSING = -6,	 /* the requested object does not exist */
	SN_ERR_UNSUPPORTED = -7, /* known, but not in this build */
};

struct sn_error {
	char text[512]; /* one line, lower case, no full stop; "" while nothing failed */
};

/* Replaces control characters, also those of several bytes, by '?', because names from files may
 * hold any bytes: so no text has a second line or controls a terminal. */
void sn_one_line(char *text);
/* Writes the text as one line (error may be NULL) and returns `code`, so that
 * `return sn_fail(...)` reads well. */
int sn_fail(struct sn_error *error, enum sn_err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "out of memory"; returns SN_ERR_MEMORY. */
int sn_fail_memory(struct sn_error *error);
/* Returns `code`, the result of a function that writes no text; if it is SN_ERR_MEMORY, writes "out
 * of memory".
 */
int sn_fail_code(struct sn_error *error, int code);
/* Returns `code`, which an object kept with its message since it failed; writes the message unless
 * it is 0. */
int sn_fail_again(struct sn_error *error, int code, const struct sn_error *why);
/* Replaces each `from` in the text by `to`: a temporary path by the one that the user gave. */
void sn_error_rename(struct sn_error *error, const char *from, const char *to);
/* Puts "format: " in front of the existing text. */
int sn_fail_prefix(struct sn_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
