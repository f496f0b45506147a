/* SPDX-License-Identifier: Apache-2.0 */
/* Error texts; see error.h. */
#include "error.h"

#include <stdio.h>
#include <string.h>

int sn_fail(struct sn_error *error, enum sn_err code, const char *format, ...)
{
	if (error) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(error->text, sizeof(error->text), format, arguments);
		va_end(arguments);
	}
	return code;
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
	}
	return code;
}
