/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are JSON themselves (RFC 8259); see chrome_value.h. */
#include "chrome_value.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 32

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* Each returns what follows it, or NULL where something else is there. */
static const char *skip_string(const char *at)
{
	for (at++; *at != '"'; at++) {
		if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
			return NULL;
		if (*at != '\\')
			continue;
		at++;
		if (*at == 'u') {
			for (int i = 0; i < 4; i++)
				if (!isxdigit((unsigned char)*++at))
					return NULL;
		} else if (!*at || !strchr("\"\\/bfnrt", *at)) {
			return NULL;
		}
	}
	return at + 1;
}

static const char *skip_digits(const char *at)
{
	size_t count = at ? strspn(at, "0123456789") : 0;
	return count ? at + count : NULL;
}

static const char *skip_number(const char *at)
{
	at += *at == '-';
	if (*at == '0' && isdigit((unsigned char)at[1]))
		return NULL;
	at = skip_digits(at);
	if (at && *at == '.')
		at = skip_digits(at + 1);
	if (at && (*at == 'e' || *at == 'E')) {
		at++;
		at += *at == '+' || *at == '-';
		at = skip_digits(at);
	}
	return at;
}

static const char *skip_scalar(const char *at)
{
	static const char *const words[] = {"true", "false", "null"};
	if (*at == '"')
		return skip_string(at);
	for (int i = 0; i < 3; i++)
		if (!strncmp(at, words[i], strlen(words[i])))
			return at + strlen(words[i]);
	return skip_number(at);
}

static const char *skip_list(const char *at, unsigned depth)
{
	char close = *at == '[' ? ']' : '}';
	at = skip_space(at + 1);
	if (*at == close)
		return at + 1;
	for (;;) {
		if (close == '}') {
			at = *at == '"' ? skip_string(at) : NULL;
			at = at ? skip_space(at) : NULL;
			if (!at || *at != ':')
				return NULL;
			at = skip_space(at + 1);
		}
		if (*at == '[' || *at == '{')
			at = depth < DEPTH_MAX ? skip_list(at, depth + 1) : NULL;
		else
			at = skip_scalar(at);
		if (!at)
			return NULL;
		at = skip_space(at);
		if (*at == close)
			return at + 1;
		if (*at != ',')
			return NULL;
		at = skip_space(at + 1);
	}
}

bool sn_chrome_is_list(const char *text)
{
	if (*text != '[' && *text != '{')
		return false;
	const char *end = skip_list(text, 0);
	return end && !*end;
}
