/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of comma-separated values, one at a time: quotes as RFC 4180 has them, lines of any ending.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SN_CSV_FIELDS_MAX 64

struct sn_csv {
	FILE *file;
	const char *path; /* not owned */
	char *line;
	size_t capacity;
	uint64_t line_number;
	size_t count; /* fields of the row */
	const char *fields[SN_CSV_FIELDS_MAX];
};

/* 0 or a negative enum sn_err; close it in either case. */
int sn_csv_open(struct sn_csv *csv, const char *path, struct sn_error *error);
void sn_csv_close(struct sn_csv *csv);
/* The next row that is not empty, into count and fields (valid until the next): 1; 0 at the end; or
 * a negative enum sn_err: a quote without its end, or too many fields. */
int sn_csv_next(struct sn_csv *csv, struct sn_error *error);

/* Splits a line in place. The number of fields, or -1. */
int sn_csv_split(char *line, const char **fields, size_t capacity);
