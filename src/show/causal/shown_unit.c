/* SPDX-License-Identifier: Apache-2.0 */
/* Units of columns; see shown_unit.h. */
#include "shown_unit.h"

#include <string.h>

static const struct {
	const char *end, *unit;
} by_name[] = {{"_ns", "ns"}, {"_bytes", "bytes"}};

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);
	return length > end_length && !strcmp(text + length - end_length, end);
}

const char *sn_causal_shown_unit(const struct sn_causal_column *column)
{
	const char *unit = column->unit;
	for (size_t number = 0; !unit && number < sizeof(by_name) / sizeof(*by_name); number++)
		if (ends_in(column->name, by_name[number].end))
			unit = by_name[number].unit;
	bool is_no_unit = !unit || !*unit || !strcmp(unit, "count") || !strcmp(unit, "id");
	if (is_no_unit || strlen(unit) > SN_SHOWN_UNIT_MOST)
		return "1";
	return strcmp(unit, "byte") ? unit : "bytes";
}
