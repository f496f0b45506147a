/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files that may be compressed by gzip, with zlib; without zlib, files as they are. */
#include "packed_file.h"

#include "base/progress/progress.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/types.h>
#ifdef SN_HAVE_ZLIB
#include <zlib.h>
#else
#include <stdio.h>
#endif

#ifdef SN_HAVE_ZLIB
void *sn_packed_file_open(const char *path)
{
	errno = 0;
	gzFile file = gzopen(path, "rb");
	if (file) /* a read of more than twice this size bypasses the buffer */
		gzbuffer(file, 32u << 10);
	else if (!errno)
		errno = ENOMEM;
	return file;
}

void sn_packed_file_close(void *file)
{
	if (file)
		gzclose(file);
}

/* Reports the bytes of the file itself, compressed or not, that were read since `before`. */
static void tell(gzFile file, z_off_t before)
{
	z_off_t after = gzoffset(file);
	sn_progress_add(after > before ? (uint64_t)(after - before) : 0);
}

int64_t sn_packed_file_read(void *file, void *bytes, size_t length, const char **why)
{
	z_off_t before = gzoffset(file);
	int code, got = gzread(file, bytes, length < INT_MAX ? (unsigned)length : INT_MAX);
	const char *text = got <= 0 ? gzerror(file, &code) : NULL;
	/* at a truncated end zlib returns 0 bytes and no failure; its error code tells */
	if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) {
		*why = code == Z_ERRNO ? strerror(errno) : text;
		return code == Z_BUF_ERROR ? SN_PACKED_FILE_CUT_OFF : -1;
	}
	tell(file, before);
	return got;
}

int sn_packed_file_skip(void *file, uint64_t length)
{
	z_off_t before = gzoffset(file);
	while (length) {
		z_off_t step = length < LONG_MAX / 2 ? (z_off_t)length : LONG_MAX / 2;
		if (gzseek(file, step, SEEK_CUR) < 0)
			return -1;
		length -= (uint64_t)step;
	}
	tell(file, before);
	return 0;
}
#else
void *sn_packed_file_open(const char *path)
{
	return fopen(path, "rb");
}

void sn_packed_file_close(void *file)
{
	if (file)
		fclose(file);
}

int64_t sn_packed_file_read(void *file, void *bytes, size_t length, const char **why)
{
	size_t got = fread(bytes, 1, length, file);
	if (!got && ferror((FILE *)file)) {
		*why = strerror(errno);
		return -1;
	}
	sn_progress_add(got);
	return (int64_t)got;
}

int sn_packed_file_skip(void *file, uint64_t length)
{
	return length > LONG_MAX || fseeko(file, (off_t)length, SEEK_CUR) < 0 ? -1 : 0;
}
#endif
