/* SPDX-License-Identifier: Apache-2.0 */
/* See headers.h. */
#include "headers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_CHARS = 8192 };

void sn_push_headers_release(struct sn_push_headers *headers)
{
	sn_arena_release(&headers->arena);
}

static int add(struct sn_push_headers *headers, const char *name, const char *value,
	       struct sn_error *error)
{
	if (headers->count == sizeof(headers->items) / sizeof(*headers->items))
		return sn_fail(error, SN_ERR_ARGUMENT, "more than %zu headers", headers->count);
	char *line = sn_arena_print(&headers->arena, "%s: %s", name, value);
	headers->items[headers->count++] = line;
	return line ? 0 : sn_fail_memory(error);
}

/* Whether it is "Name: value"; what the line holds must not be told, as it may be a token. */
static bool split(char *line, char **value)
{
	char *colon = strchr(line, ':');
	if (!colon || colon == line || strcspn(line, " \t") < (size_t)(colon - line))
		return false;
	*colon = '\0';
	*value = colon + 1 + strspn(colon + 1, " \t");
	for (const char *at = *value; *at; at++)
		if ((unsigned char)*at < ' ' && *at != '\t')
			return false;
	return **value != '\0';
}

static int add_file(struct sn_push_headers *headers, FILE *in, const char *path,
		    struct sn_error *error)
{
	char line[LINE_CHARS], *value;
	int result = 0;
	for (unsigned number = 1; !result && fgets(line, sizeof(line), in); number++) {
		size_t length = strcspn(line, "\r\n");
		bool is_whole = line[length] != '\0' || feof(in);
		line[length] = '\0';
		if (*line == '\0' || *line == '#')
			continue;
		result =
		    is_whole && split(line, &value)
			? add(headers, line, value, error)
			: sn_fail(error, SN_ERR_FORMAT,
				  "line %u of '%s' is no header: \"Name: value\"", number, path);
	}
	return result;
}

int sn_push_headers_make(struct sn_push_headers *headers, const char *type, const char *coding,
			 const char *file, struct sn_error *error)
{
	char bearer[LINE_CHARS];
	const char *token = getenv("SONDE_PUSH_TOKEN");
	*headers = (struct sn_push_headers){0};
	int result = add(headers, "Content-Type", type, error);
	if (!result && coding)
		result = add(headers, "Content-Encoding", coding, error);
	if (!result && token && *token) {
		snprintf(bearer, sizeof(bearer), "Bearer %s", token);
		result = strpbrk(token, "\r\n") ? sn_fail(error, SN_ERR_ARGUMENT,
							  "SONDE_PUSH_TOKEN has more than a line")
						: add(headers, "Authorization", bearer, error);
	}
	if (result || !file)
		return result;
	FILE *in = fopen(file, "re");
	if (!in)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", file, strerror(errno));
	result = add_file(headers, in, file, error);
	if (!result && ferror(in))
		result = sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", file, strerror(errno));
	fclose(in);
	return result;
}
