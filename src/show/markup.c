/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in XML and HTML; see markup.h. */
#include "markup.h"

#include "base/utf8.h"

#include <string.h>

_Static_assert((int)SN_MARKUP_SHOWN >= (int)SN_UTF8_SHOWN, "takes what sn_utf8_show writes");

size_t sn_markup_next(const char *text, char shown[SN_MARKUP_SHOWN])
{
	const char *entity = *text == '<'   ? "&lt;"
			     : *text == '>' ? "&gt;"
			     : *text == '&' ? "&amp;"
			     : *text == '"' ? "&quot;"
					    : NULL;
	if (!entity)
		return sn_utf8_show(text, shown);
	strcpy(shown, entity);
	return 1;
}

void sn_markup_text(FILE *out, const char *text)
{
	char shown[SN_MARKUP_SHOWN];
	while (*text) {
		text += sn_markup_next(text, shown);
		fputs(shown, out);
	}
}
