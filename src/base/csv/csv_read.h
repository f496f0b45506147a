/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of separated values, one at a time: quotes as RFC 4180 has them, also with line ends in them, lines of any ending, any number of
 * fields. A mark of UTF-8 before the first line is left out. Where a blank separates, any number of blanks do, and those at a line's ends
 * separate nothing.
 *
 *	struct sn_csv_reader csv;
 *	int found = sn_csv_open(&csv, path, ',', error);
 *	while (!found && (found = sn_csv_next(&csv, error)) > 0)
 *		use(csv.fields, csv.count), found = 0;
 *	sn_csv_close(&csv);
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sn_csv_reader {
	FILE *file;
	const char *path; /* not owned */
	char separator;
	char *line, *more; /* the row, and what follows it where a quote goes on */
	size_t line_capacity, more_capacity;
	uint64_t line_number; /* of the row's last line */
	const char **fields;  /* of the row; valid until the next */
	size_t count, field_capacity;
};

/* 0 or a negative enum sn_err; close it in either case. `path` must live as long. */
int sn_csv_open(struct sn_csv_reader *csv, const char *path, char separator,
		struct sn_error *error);
/* The same of a text in memory, at least a byte, which must live as long. */
int sn_csv_open_text(struct sn_csv_reader *csv, const char *text, size_t length, char separator,
		     struct sn_error *error);
void sn_csv_close(struct sn_csv_reader *csv);
/* The next row that is not empty: 1; 0 at the end; or a negative enum sn_err: a quote without its end, a NUL. What the row's line began with is still in line[0]. */
int sn_csv_next(struct sn_csv_reader *csv, struct sn_error *error);
