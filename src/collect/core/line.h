/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small texts without the C library's functions, which are not async-signal-safe: how one begins, appending to a
 * line, parsing a number (strtoull(3) needs the locale, which a thread created by clone(2) may not
 * have), finding names in a list, reading a short file.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool sn_begins_with(const char *text, const char *prefix)
{
	return text && !strncmp(text, prefix, strlen(prefix));
}

/* In the caller's storage; always terminated, truncated when it is full. */
struct sn_line {
	char *text;
	size_t bytes, length;
};

#define SN_LINE(storage) ((struct sn_line){(storage), sizeof(storage), 0})

static inline void sn_line_add(struct sn_line *line, const char *text)
{
	while (*text && line->length + 1 < line->bytes)
		line->text[line->length++] = *text++;
	line->text[line->length] = 0;
}

/* Appends several texts, without those that are NULL. */
#define SN_LINE_ADD(line, ...)                                                                     \
	do {                                                                                       \
		const char *const parts[] = {__VA_ARGS__};                                         \
		for (size_t at = 0; at < sizeof(parts) / sizeof(*parts); at++)                     \
			if (parts[at])                                                             \
				sn_line_add(line, parts[at]);                                      \
	} while (0)

static inline void sn_line_add_in_base(struct sn_line *line, uint64_t number, unsigned base)
{
	char digits[21], *digit = digits + sizeof(digits) - 1;
	*digit = 0;
	do
		*--digit = "0123456789abcdef"[number % base];
	while (number /= base);
	sn_line_add(line, digit);
}

static inline void sn_line_add_number(struct sn_line *line, uint64_t number)
{
	sn_line_add_in_base(line, number, 10);
}

/* Parses the number at the begin of `text`, in base 10 or 16, as many digits as certainly fit.
 * Returns its end, or `text` if there is no number. */
static inline const char *sn_parse_number(const char *text, unsigned base, uint64_t *number)
{
	unsigned most = base == 16 ? 16 : 18;
	for (*number = 0; most; most--, text++) {
		unsigned digit = (unsigned)*text - '0', letter = ((unsigned)*text | 0x20) - 'a';
		if (digit > 9 && (base != 16 || letter > 5))
			break;
		*number = *number * base + (digit > 9 ? letter + 10 : digit);
	}
	return text;
}

/* Parses an inode, which may have all 64 bits: all digits, up to 20. Returns its end. */
static inline const char *sn_parse_inode(const char *text, uint64_t *inode)
{
	for (*inode = 0; *text >= '0' && *text <= '9'; text++)
		*inode = *inode * 10 + (uint64_t)(*text - '0');
	return text;
}

/* Sets bit n for each names[n] in a list separated by commas; others are ignored. */
static inline unsigned sn_parse_names(const char *list, const char *const *names, unsigned count)
{
	unsigned found = 0;
	for (size_t length; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		for (unsigned i = 0; i < count; i++)
			if (strlen(names[i]) == length && !memcmp(names[i], list, length))
				found |= 1u << i;
	}
	return found;
}

/* Reads the beginning of a file, NUL-terminated; returns its length in bytes, 0 if it cannot be
 * read. Keeps errno. */
static inline size_t sn_read_text(int folder, const char *path, char *text, size_t bytes)
{
	int saved_errno = errno;
	int fd = (int)syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	/* not read(2): `path` may be a pipe of the program, and read(2) would consume its bytes */
	long length = fd < 0 ? 0 : syscall(SYS_pread64, fd, text, bytes - 1, 0L);
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved_errno;
	text[length > 0 ? length : 0] = 0;
	return length > 0 ? (size_t)length : 0;
}
