/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small texts without the C library's functions for them, which are not for handlers: a line put
 * together, a number read (strtoull(3) asks for the locale, which a thread made by clone(2) may not
 * have), a short file read whole.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_LINE_H
#define SN_COLLECT_LINE_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The caller's storage; always terminated, cut where it is full. */
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

/* The number that `text` begins with, in base 10 or 16, as far as it surely fits; where it ends, or
 * `text` for none. */
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

/* The beginning of a file, NUL-terminated; its length in bytes, 0 where it cannot be read. Keeps
 * errno. */
static inline size_t sn_read_text(int folder, const char *path, char *text, size_t bytes)
{
	int saved_errno = errno;
	int fd = (int)syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	long length = fd < 0 ? 0 : syscall(SYS_read, fd, text, bytes - 1);
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved_errno;
	text[length > 0 ? length : 0] = 0;
	return length > 0 ? (size_t)length : 0;
}

#endif
