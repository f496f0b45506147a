/* SPDX-License-Identifier: Apache-2.0 */
/* See compare_parts.h. */
#include "compare_parts.h"

#include "base/text.h"
#include "show/number.h"
#include "show/tree/text.h"

#include <string.h>

enum { NAME_LEAST = 16 };

const char *sn_compare_by_text(enum sn_compare_by by)
{
	static const char *const texts[] = {[SN_COMPARE_FUNCTION] = "function",
					    [SN_COMPARE_MODULE] = "module",
					    [SN_COMPARE_PROGRAM] = "program"};
	return texts[by];
}

size_t sn_compare_shown(const struct sn_compare_view *view, size_t count)
{
	return view->limit && view->limit < count ? view->limit : count;
}

void sn_compare_print_name(const struct sn_compare_view *view, uint32_t row,
			   struct sn_text_table *table, const struct sn_terminal *page)
{
	char text[2 * sizeof(struct sn_shown) + 8] = "total";
	int used = sn_text_table_rest(table), room = page->width - used;
	if (row != SONDE_NONE) {
		const struct sn_compare_row *one = &view->rows->rows[row];
		snprintf(text, sizeof(text), *one->place ? "%s [%s]" : "%s",
			 sn_shown(one->name).text, sn_shown(one->place).text);
	}
	if (!view->is_full)
		sn_utf8_elide(text, (size_t)(room > NAME_LEAST ? room : NAME_LEAST));
	fputs(text, page->out);
	sn_text_table_end(table);
}

void sn_compare_print_rest(const struct sn_compare_view *view, size_t count,
			   const struct sn_terminal *page)
{
	size_t left = count - sn_compare_shown(view, count);
	if (left)
		fprintf(page->out, "%s more %s%s (--limit)\n", sn_number_counted((double)left).text,
			sn_compare_by_text(view->rows->by), left == 1 ? "" : "s");
}

void sn_compare_put_name(const struct sn_compare_view *view, uint32_t row, struct sn_json *json)
{
	if (row == SONDE_NONE)
		return;
	const struct sn_compare_row *one = &view->rows->rows[row];
	sn_json_texts(json, {"name", one->name}, {"place", *one->place ? one->place : NULL});
}

void sn_compare_put_heading(const struct sn_compare_view *view, struct sn_json *json)
{
	sn_json_texts(json, {"metric", view->metric}, {"unit", view->unit},
		      {"by", sn_compare_by_text(view->rows->by)});
	sn_json_put_bool(json, "sampled", view->rows->is_sampled);
}

void sn_compare_put_sets(const struct sn_compare_view *view, const char *key, size_t first,
			 size_t end, struct sn_json *json)
{
	sn_json_open(json, key, '[');
	for (size_t i = first; i < end; i++) {
		const struct sn_compare_set *set = &view->rows->sets[i];
		sn_json_begin(json, '{');
		sn_json_put_text(json, "name", set->name);
		sn_json_numbers(json, {"value", set->all.value}, {"samples", set->all.count},
				{"effective_samples", set->all.samples},
				{"duration_ns", set->duration_ns});
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}
