/* SPDX-License-Identifier: Apache-2.0 */
/* See cursor.h. */
#include "cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "sonde-push"
enum { BYTES_MOST = 4096 };

/* Each number of the file, in its order. */
static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
#define NUMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct sn_push_cursor, name)                                       \
	}
    NUMBER(epoch),    NUMBER(parts),	NUMBER(sending),   NUMBER(sending_samples),
    NUMBER(pushed),   NUMBER(waiting),	NUMBER(unsure),	   NUMBER(rejected),
    NUMBER(given_up), NUMBER(requests), NUMBER(pushed_ns),
#undef NUMBER
};
enum { NUMBERS = sizeof(numbers) / sizeof(*numbers) };

static uint64_t *number_of(struct sn_push_cursor *cursor, size_t i)
{
	return (uint64_t *)((char *)cursor + numbers[i].offset);
}

/* ---- reading ---- */

static void read_line(struct sn_push_cursor *cursor, char *line)
{
	char *value = strchr(line, ' ');
	if (!value)
		return;
	*value++ = '\0';
	for (size_t i = 0; i < NUMBERS; i++)
		if (!strcmp(line, numbers[i].name))
			*number_of(cursor, i) = strtoull(value, NULL, 10);
	if (!strcmp(line, "failure")) {
		snprintf(cursor->failure.text, sizeof(cursor->failure.text), "%s", value);
		sn_one_line(cursor->failure.text);
	}
}

/* The file may be another user's: it must be a plain one and small. A length, or a negative errno. */
static ssize_t read_file(const char *path, char text[BYTES_MOST + 1])
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t length = fstat(fd, &status) == 0 && S_ISREG(status.st_mode)
			     ? pread(fd, text, BYTES_MOST, 0)
			     : -1;
	int why = length < 0 ? (errno ? errno : EINVAL) : 0;
	close(fd);
	return why ? -why : length;
}

int sn_push_cursor_read(struct sn_push_cursor *cursor, const char *path, struct sn_error *error)
{
	char text[BYTES_MOST + 1], *rest = text, *line;
	*cursor = (struct sn_push_cursor){0};
	errno = 0;
	ssize_t length = read_file(path, text);
	if (length == -ENOENT)
		return 0;
	if (length < 0)
		return sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", path,
			       strerror((int)-length));
	text[length] = '\0';
	if (strncmp(text, MAGIC " 1\n", strlen(MAGIC " 1\n")) != 0)
		return sn_fail(error, SN_ERR_FORMAT,
			       "'%s' does not tell how far a store was pushed", path);
	while ((line = strsep(&rest, "\n")))
		read_line(cursor, line);
	return 0;
}

/* ---- writing ---- */

static int write_text(int fd, const char *text, size_t length)
{
	ssize_t written = write(fd, text, length);
	if (written >= 0 && (size_t)written != length)
		errno = ENOSPC;
	return written == (ssize_t)length && fdatasync(fd) == 0 ? 0 : -1;
}

/* Beside its name, then in its place. */
static int replace(const char *path, const char *text, size_t length)
{
	char temporary[4200];
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	int result = write_text(fd, text, length);
	int why = errno;
	close(fd);
	if (result == 0 && rename(temporary, path) == 0)
		return 0;
	why = result == 0 ? errno : why;
	unlink(temporary);
	errno = why;
	return -1;
}

int sn_push_cursor_write(const struct sn_push_cursor *cursor, const char *path,
			 struct sn_error *error)
{
	char text[BYTES_MOST];
	struct sn_push_cursor copy = *cursor;
	int length = snprintf(text, sizeof(text), MAGIC " 1\n");
	for (size_t i = 0; i < NUMBERS; i++)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "%s %" PRIu64 "\n",
				   numbers[i].name, *number_of(&copy, i));
	if (*cursor->failure.text)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "failure %s\n",
				   cursor->failure.text);
	return replace(path, text, (size_t)length) == 0
		   ? 0
		   : sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
}
