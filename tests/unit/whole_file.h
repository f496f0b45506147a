/* SPDX-License-Identifier: Apache-2.0 */
/* A file's bytes at once, for tests; the caller frees them. Fails the test if it cannot be read. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static inline unsigned char *read_whole(const char *path, size_t *length)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*length = (size_t)ftell(file);
	rewind(file);
	unsigned char *bytes = malloc(*length + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *length, file), *length);
	fclose(file);
	return bytes;
}
