/* SPDX-License-Identifier: Apache-2.0 */
/* Splits lines of comma-separated values into fields, in place. */
#include "csv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int sn_csv_open(struct sn_csv *csv, const char *path, struct sn_error *error)
{
	*csv = (struct sn_csv){.file = fopen(path, "re"), .path = path};
	if (!csv->file)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	return 0;
}

void sn_csv_close(struct sn_csv *csv)
{
	if (csv->file)
		fclose(csv->file);
	free(csv->line);
	*csv = (struct sn_csv){0};
}

/* Unquotes the field at `*at`, behind its opening quote; leaves `*at` behind the closing one. */
static bool unquote(char **at)
{
	char *to = *at, *from = *at;
	for (; *from; from++) {
		if (*from == '"' && *++from != '"') {
			*at = from;
			*to = 0;
			return true;
		}
		*to++ = *from;
	}
	return false;
}

int sn_csv_split(char *line, const char **fields, size_t capacity)
{
	size_t count = 0;
	for (char *at = line;;) {
		bool is_quoted = *at == '"';
		if (count == capacity)
			return -1;
		at += is_quoted;
		fields[count++] = at;
		if (is_quoted && !unquote(&at))
			return -1;
		if (!is_quoted)
			at += strcspn(at, ",");
		char last = *at;
		if (!is_quoted)
			*at = 0;
		if (!last)
			return (int)count;
		if (last != ',')
			return -1;
		at++;
	}
}

int sn_csv_next(struct sn_csv *csv, struct sn_error *error)
{
	ssize_t length;
	do {
		length = getline(&csv->line, &csv->capacity, csv->file);
		if (length < 0)
			return ferror(csv->file) ? sn_fail(error, SN_ERR_IO, "cannot read '%s': %s",
							   csv->path, strerror(errno))
						 : 0;
		csv->line_number++;
		while (length && (csv->line[length - 1] == '\n' || csv->line[length - 1] == '\r'))
			csv->line[--length] = 0;
	} while (!length);
	int count = memchr(csv->line, 0, (size_t)length)
			? -1
			: sn_csv_split(csv->line, csv->fields, SN_CSV_FIELDS_MAX);
	if (count < 0)
		return sn_fail(error, SN_ERR_FORMAT, "'%s' is damaged in line %llu", csv->path,
			       (unsigned long long)csv->line_number);
	csv->count = (size_t)count;
	return 1;
}
