/* SPDX-License-Identifier: Apache-2.0 */
/* Error texts; see error.h. */
#include "error.h"

#include "utf8.h"

#include <stdio.h>
#include <string.h>

/* In place: a mark of three bytes is three '?'. */
void sn_one_line(char *text)
{
	while (*text) {
		size_t length = sn_utf8_length(text);
		if (!length || sn_utf8_hidden(text))
			memset(text, '?', length ? length : 1);
		text += length ? length : 1;
	}
}

int sn_fail(struct sn_error *error, enum sn_err code, const char *format, ...)
{
	if (error) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(error->text, sizeof(error->text), format, arguments);
		va_end(arguments);
		sn_one_line(error->text);
	}
	return code;
}

int sn_fail_memory(struct sn_error *error)
{
	return sn_fail(error, SN_ERR_MEMORY, "out of memory");
}

int sn_fail_code(struct sn_error *error, int code)
{
	return code == SN_ERR_MEMORY ? sn_fail_memory(error) : code;
}

int sn_fail_again(struct sn_error *error, int code, const struct sn_error *why)
{
	return code ? sn_fail(error, code, "%s", why->text) : 0;
}

void sn_error_rename(struct sn_error *error, const char *from, const char *to)
{
	char renamed[sizeof(error->text)];
	size_t length = 0;
	for (const char *at = error->text; *at && length < sizeof(renamed) - 1;) {
		if (strncmp(at, from, strlen(from))) {
			renamed[length++] = *at++;
			continue;
		}
		size_t room = sizeof(renamed) - length, added = strlen(to);
		snprintf(renamed + length, room, "%s", to);
		length += added < room ? added : room - 1;
		at += strlen(from);
	}
	renamed[length] = 0;
	memcpy(error->text, renamed, sizeof(renamed));
	sn_one_line(error->text);
}

int sn_fail_prefix(struct sn_error *error, int code, const char *format, ...)
{
	if (error) {
		char old[sizeof(error->text)];
		memcpy(old, error->text, sizeof(old));
		va_list arguments;
		va_start(arguments, format);
		int length = vsnprintf(error->text, sizeof(error->text), format, arguments);
		va_end(arguments);
		if (length >= 0 && (size_t)length < sizeof(error->text) - 2)
			snprintf(error->text + length, sizeof(error->text) - (size_t)length, ": %s",
				 old);
		sn_one_line(error->text);
	}
	return code;
}
