/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of texts, and short texts by value, so that several can be arguments of one printf and none
 * is in a static array:
 *
 *	printf("%s of %s\n", sn_shown(name).text, sn_shown(other).text);
 */
#pragma once

#include "utf8.h"

#include <stdbool.h>
#include <string.h>

/* A name that is safe to print (sn_utf8_clean), truncated to the array. */
struct sn_shown {
	char text[1024];
};
static inline struct sn_shown sn_shown(const char *name)
{
	struct sn_shown shown;
	sn_utf8_clean(name, shown.text, sizeof(shown.text));
	return shown;
}

/* Also of two texts that are missing (NULL). */
static inline bool sn_text_is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static inline bool sn_text_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static inline bool sn_text_ends(const char *text, const char *with)
{
	size_t length = strlen(text), ending = strlen(with);
	return length >= ending && !strcmp(text + length - ending, with);
}

/* The part after the last slash. */
static inline const char *sn_text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}
