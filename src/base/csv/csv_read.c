/* SPDX-License-Identifier: Apache-2.0 */
/* Splits rows of separated values into fields, in place; see csv_read.h. */
#include "csv_read.h"

#include "base/vec.h"

#include <errno.h>
#include <stdbool.h>

#define ROW_MOST ((size_t)1 << 30) /* bytes; a quote that never ends would take all memory */

int sn_csv_open(struct sn_csv_reader *csv, const char *path, char separator, struct sn_error *error)
{
	*csv =
	    (struct sn_csv_reader){.file = fopen(path, "re"), .path = path, .separator = separator};
	if (!csv->file)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	return 0;
}

int sn_csv_open_text(struct sn_csv_reader *csv, const char *text, size_t length, char separator,
		     struct sn_error *error)
{
	*csv = (struct sn_csv_reader){
	    .file = fmemopen((void *)text, length, "r"), .path = "memory", .separator = separator};
	return csv->file ? 0 : sn_fail_memory(error);
}

void sn_csv_close(struct sn_csv_reader *csv)
{
	if (csv->file)
		fclose(csv->file);
	free(csv->line);
	free(csv->more);
	free(csv->fields);
	*csv = (struct sn_csv_reader){0};
}

/* By gzip or zstd: by what such files begin with. */
static bool is_compressed(FILE *file)
{
	unsigned char head[4] = {0};
	rewind(file);
	size_t count = fread(head, 1, sizeof(head), file);
	return count == sizeof(head) &&
	       (!memcmp(head, "\x1f\x8b", 2) || !memcmp(head, "\x28\xb5\x2f\xfd", 4));
}

static int fail_damaged(const struct sn_csv_reader *csv, struct sn_error *error)
{
	if (csv->line_number <= 1 && is_compressed(csv->file))
		return sn_fail(error, SN_ERR_FORMAT, "'%s' is compressed: unpack it first",
			       csv->path);
	return sn_fail(error, SN_ERR_FORMAT, "'%s' is damaged in line %llu", csv->path,
		       (unsigned long long)csv->line_number);
}

/* A line without its end: 1 and its length, 0 at the end, or a negative enum sn_err. */
static int read_line(struct sn_csv_reader *csv, char **line, size_t *capacity, size_t *length,
		     struct sn_error *error)
{
	ssize_t got = getline(line, capacity, csv->file);
	if (got < 0)
		return ferror(csv->file) ? sn_fail(error, SN_ERR_IO, "cannot read '%s': %s",
						   csv->path, strerror(errno))
					 : 0;
	if (!csv->line_number++ && got >= 3 && !memcmp(*line, "\xef\xbb\xbf", 3))
		memmove(*line, *line + 3, (size_t)(got -= 3) + 1);
	if (memchr(*line, 0, (size_t)got))
		return fail_damaged(csv, error);
	while (got && ((*line)[got - 1] == '\n' || (*line)[got - 1] == '\r'))
		(*line)[--got] = 0;
	while (csv->separator == ' ' && got && (*line)[got - 1] == ' ')
		(*line)[--got] = 0;
	*length = (size_t)got;
	return 1;
}

/* Appends the next line to the row, as a quote goes on in it. */
static int read_more(struct sn_csv_reader *csv, size_t *length, struct sn_error *error)
{
	size_t added;
	int found = read_line(csv, &csv->more, &csv->more_capacity, &added, error);
	if (found <= 0)
		return found ? found : fail_damaged(csv, error);
	if (*length + added > ROW_MOST)
		return fail_damaged(csv, error);
	if (sn_vec_reserve(&csv->line, &csv->line_capacity, *length + added + 2) < 0)
		return sn_fail_memory(error);
	csv->line[(*length)++] = '\n';
	memcpy(csv->line + *length, csv->more, added + 1);
	*length += added;
	return 1;
}

/* The end of a field without quotes. */
static char *find_end(const struct sn_csv_reader *csv, const char *at)
{
	return strchrnul(at, csv->separator);
}

/* Where blanks separate, the last of those at `at`, behind which the next field begins. */
static char *last_separator(const struct sn_csv_reader *csv, char *at)
{
	while (csv->separator == ' ' && at[0] == ' ' && at[1] == ' ')
		at++;
	return at;
}

/* Whether a quote is open at the row's end, which a quote in a field that does not begin with one is not. */
static bool goes_on(const struct sn_csv_reader *csv, size_t length)
{
	const char *at = csv->line;
	if (!memchr(at, '"', length))
		return false;
	for (;;) {
		if (*at != '"') {
			at = find_end(csv, at);
		} else {
			for (at++; *at && (*at != '"' || at[1] == '"'); at++)
				at += *at == '"';
			if (!*at)
				return true;
			at++;
		}
		if (*at != csv->separator)
			return false;
		at = last_separator(csv, (char *)at) + 1;
	}
}

/* Unquotes the field at `*at`, behind its opening quote; leaves `*at` behind the closing one. */
static void unquote(char **at)
{
	char *to = *at, *from = *at;
	for (; *from && (*from != '"' || *++from == '"'); from++)
		*to++ = *from;
	*at = from;
	*to = 0;
}

static int split(struct sn_csv_reader *csv, struct sn_error *error)
{
	csv->count = 0;
	for (char *at = csv->line + (csv->separator == ' ' ? strspn(csv->line, " ") : 0);; at++) {
		bool is_quoted = *at == '"';
		at += is_quoted;
		if (sn_vec_push(&csv->fields, &csv->field_capacity, &csv->count, at))
			return sn_fail_memory(error);
		if (is_quoted)
			unquote(&at);
		else
			at = find_end(csv, at);
		char last = *at;
		if (last && last != csv->separator)
			return fail_damaged(csv, error);
		char *begin = at;
		at = last_separator(csv, at);
		if (!is_quoted)
			*begin = 0;
		if (!last)
			return 1;
	}
}

int sn_csv_next(struct sn_csv_reader *csv, struct sn_error *error)
{
	size_t length = 0;
	int found = 1;
	while (found > 0 && !length)
		found = read_line(csv, &csv->line, &csv->line_capacity, &length, error);
	while (found > 0 && goes_on(csv, length))
		found = read_more(csv, &length, error);
	return found > 0 ? split(csv, error) : found;
}
