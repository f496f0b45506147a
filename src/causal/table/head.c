/* SPDX-License-Identifier: Apache-2.0 */
/* The first lines of a table; see head.h. */
#include "head.h"

#include "base/text.h"
#include "role.h"

#include <errno.h>
#include <stdlib.h>

#define PRECEDING_MOST ((off_t)8 << 20) /* bytes that a program may print before Nsight's table */

struct head {
	char *line, *next; /* the row of names, and the line behind it */
	size_t line_capacity, next_capacity;
	off_t offset;	/* of the row of names */
	uint64_t lines; /* before it */
};

/* ---- what separates ---- */

/* The separator's number in a line, outside quotes; of blanks any number is one. */
static size_t count_separator(const char *line, char separator)
{
	size_t count = 0;
	bool is_quoted = false;
	line += separator == ' ' ? strspn(line, " ") : 0;
	for (const char *at = line; *at && *at != '\n' && *at != '\r'; at++) {
		is_quoted ^= *at == '"';
		bool is_last = separator == ' ' && strchr(" \r\n", at[1]); /* or the NUL */
		count += !is_quoted && *at == separator && !is_last;
	}
	return count;
}

static char separator_of(const struct head *head)
{
	static const char separators[] = ",;\t";
	size_t most = 0;
	char best = ',';
	for (const char *at = separators; *at; at++) {
		size_t count = count_separator(head->line, *at);
		if (count > most)
			best = *at;
		most = count > most ? count : most;
	}
	size_t blanks = most ? 0 : count_separator(head->line, ' ');
	return blanks && blanks == count_separator(head->next, ' ') ? ' ' : best;
}

/* ---- where it begins ---- */

/* A copy that can be read twice, of a pipe. */
static int copy_pipe(struct sn_csv_reader *csv, struct sn_error *error)
{
	char bytes[1 << 16];
	size_t got;
	FILE *copy = tmpfile();
	while (copy && (got = fread(bytes, 1, sizeof(bytes), csv->file)) > 0)
		if (fwrite(bytes, 1, got, copy) != got)
			break;
	if (!copy || fflush(copy) || ferror(copy)) {
		int code = errno;
		if (copy)
			fclose(copy);
		return sn_fail(error, SN_ERR_IO, "cannot copy '%s': %s", csv->path, strerror(code));
	}
	fclose(csv->file);
	csv->file = copy;
	return 0;
}

static bool is_blank(const char *line, ssize_t length)
{
	return (ssize_t)strspn(line, " \r\n") == length;
}

/* The first line of Nsight's table, or false: there is none. */
static bool find_nsight(struct head *head, FILE *file)
{
	rewind(file);
	for (head->lines = 0; head->offset < PRECEDING_MOST; head->lines++) {
		head->offset = ftello(file);
		if (getline(&head->line, &head->line_capacity, file) < 0)
			return false;
		if (sn_role_is_nsight(head->line +
				      (sn_text_begins(head->line, "\xef\xbb\xbf") ? 3 : 0)))
			return true;
	}
	return false;
}

/* The first line that is not empty. */
static bool find_plain(struct head *head, FILE *file)
{
	rewind(file);
	for (head->lines = 0;; head->lines++) {
		head->offset = ftello(file);
		ssize_t length = getline(&head->line, &head->line_capacity, file);
		if (length < 0)
			return false;
		if (!is_blank(head->line, length))
			return true;
	}
}

static bool is_utf16(const char *line)
{
	return sn_text_begins(line, "\xff\xfe") || sn_text_begins(line, "\xfe\xff");
}

static int find_head(struct head *head, struct sn_csv_reader *csv, struct sn_error *error)
{
	bool is_found = find_nsight(head, csv->file) || find_plain(head, csv->file);
	if (ferror(csv->file))
		return sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", csv->path,
			       strerror(errno));
	if (!is_found)
		return sn_fail(error, SN_ERR_FORMAT, "'%s' is empty", csv->path);
	if (is_utf16(head->line))
		return sn_fail(error, SN_ERR_UNSUPPORTED, "'%s' is UTF-16; convert it to UTF-8",
			       csv->path);
	if (getline(&head->next, &head->next_capacity, csv->file) < 0) {
		free(head->next);
		head->next = strdup("");
	}
	return head->next ? 0 : sn_fail_memory(error);
}

int sn_table_open(struct sn_csv_reader *csv, const char *path, bool *is_quoted,
		  struct sn_error *error)
{
	struct head head = {0};
	int result = sn_csv_open(csv, path, ',', error);
	if (!result && fseeko(csv->file, 0, SEEK_END))
		result = copy_pipe(csv, error);
	result = result ? result : find_head(&head, csv, error);
	if (!result) {
		csv->separator = separator_of(&head);
		csv->line_number = head.lines;
		*is_quoted = head.line[0] == '"';
		if (fseeko(csv->file, head.offset, SEEK_SET))
			result = sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", path,
					 strerror(errno));
	}
	free(head.line);
	free(head.next);
	return result;
}
