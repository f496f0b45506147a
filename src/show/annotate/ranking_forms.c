/* SPDX-License-Identifier: Apache-2.0 */
/* The top instructions of a database: those with the most samples, or those that were waited for longest. */
#include "annotate_parts.h"

#include "base/text.h"
#include "show/number.h"
#include "show/tree/text.h"

#include <inttypes.h>

enum { LEAST_ROOM = 16, INSTRUCTION_MOST = 40 };

static const struct {
	const char *key, *heading, *head;
} words[] = {
    [SN_RANKING_SAMPLES] = {"instructions", "instructions with the most", "self%"},
    [SN_RANKING_STALLS] = {"stalls", "instructions that were waited for longest, by", "stall%"},
};

static size_t shown_of(const struct sn_annotate_ranking *ranking,
		       const struct sn_annotate_view *view)
{
	return view->limit && view->limit < ranking->count ? view->limit : ranking->count;
}

/* ---- text ---- */

/* "multiply [solver] kernel.c:42" */
static void print_where(const struct sn_annotated_function *function,
			const struct sn_annotated_instruction *one, const struct sn_terminal *page,
			int room)
{
	char text[3 * sizeof(struct sn_shown) + 32], line[16] = "";
	if (one->file)
		snprintf(line, sizeof(line), ":%" PRIu32, one->line);
	snprintf(text, sizeof(text), "%s [%s]%s%s%s", sn_shown(function->name).text,
		 sn_shown(sn_text_base_name(function->image)).text, one->file ? " " : "",
		 one->file ? sn_shown(sn_text_base_name(one->file)).text : "", line);
	sn_annotate_clean(page, text, room);
}

static void print_row(const struct sn_annotation *annotation,
		      const struct sn_ranked_instruction *ranked, enum sn_ranking by,
		      const struct sn_annotate_view *view, const struct sn_terminal *page,
		      struct sn_text_table *table)
{
	const struct sn_annotated_function *function = &annotation->functions[ranked->function];
	const struct sn_annotated_instruction *one = &function->instructions[ranked->instruction];
	struct sn_annotate_speed speed = sn_annotate_speed_of(function, one);
	sn_text_table_cell(table, sn_number_part(ranked->value, annotation->value).text);
	sn_text_table_cell(table, sn_number_counted(one->samples).text);
	sn_text_table_cell(table, speed.runs);
	sn_text_table_cell(table, speed.cycles);
	sn_text_table_cell(table, *one->text ? one->text : "?");
	int used = sn_text_table_rest(table), room = page->width - used;
	print_where(function, one, page, view->is_full ? 0 : room > LEAST_ROOM ? room : LEAST_ROOM);
	sn_text_table_end(table);
	struct sn_annotate_culprits culprits = sn_annotate_culprits_of(&one->blame);
	if (by != SN_RANKING_STALLS || !*culprits.text)
		return;
	sn_text_style(page, SN_DIM);
	fprintf(page->out, "%*swaits: ", 8, "");
	sn_annotate_clean(page, culprits.text, page->width - 16);
	sn_text_style(page, SN_PLAIN);
	putc('\n', page->out);
}

void sn_ranking_text(const struct sn_annotation *annotation,
		     const struct sn_annotate_ranking *ranking, enum sn_ranking by,
		     const struct sn_annotate_view *view, const struct sn_terminal *page)
{
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metric);
	int room = page->width / 3;
	sn_text_styled(page, SN_BOLD, "%s %s\n", words[by].heading,
		       sn_shown(sonde_db_string(view->db, metric->name)).text);
	fprintf(page->out, "%s of %s; all of them are %s of %s\n\n",
		sn_number_counted((double)shown_of(ranking, view)).text,
		sn_number_counted((double)ranking->count).text,
		sn_number_part(ranking->value, annotation->value).text,
		sn_number_text(annotation->value, sn_annotate_unit(view)).text);
	struct sn_text_table table = sn_text_begin_heads(page);
	table.cuts = !view->is_full;
	sn_text_table_column(&table, words[by].head, 6);
	sn_text_table_column(&table, "samples", 8);
	sn_text_table_column(&table, "freq", 7);
	sn_text_table_column(&table, "CPI", 5);
	sn_text_table_column(&table, "instruction",
			     -(room < INSTRUCTION_MOST ? room : INSTRUCTION_MOST));
	sn_text_end_heads(page, &table, "function");
	for (size_t i = 0; i < shown_of(ranking, view); i++)
		print_row(annotation, &ranking->items[i], by, view, page, &table);
	sn_annotate_print_gaps(annotation, page);
}

/* ---- data ---- */

static void put_row(struct sn_json *json, const struct sn_annotation *annotation,
		    const struct sn_ranked_instruction *ranked)
{
	const struct sn_annotated_function *function = &annotation->functions[ranked->function];
	const struct sn_annotated_instruction *one = &function->instructions[ranked->instruction];
	sn_json_begin(json, '{');
	sn_json_numbers(json,
			{"share", annotation->value > 0 ? ranked->value / annotation->value : 0},
			{"value", ranked->value}, {"samples", one->samples});
	sn_json_texts(json, {"function", function->name}, {"image", function->image});
	sn_annotate_put_place(json, one);
	sn_annotate_put_frequency(function, one->frequency, one->confidence, json);
	sn_annotate_put_blame(&one->blame, json);
	sn_json_end(json, '}');
}

void sn_ranking_json(const struct sn_annotation *annotation,
		     const struct sn_annotate_ranking *ranking, enum sn_ranking by,
		     const struct sn_annotate_view *view, FILE *out)
{
	struct sn_json json = {.out = out};
	sn_json_begin(&json, '{');
	sn_annotate_put_metric(&json, annotation, view);
	sn_json_put_number(&json, "count", (double)ranking->count);
	sn_json_put_number(&json, "value_of_all", ranking->value);
	sn_json_open(&json, words[by].key, '[');
	for (size_t i = 0; i < shown_of(ranking, view); i++)
		put_row(&json, annotation, &ranking->items[i]);
	sn_json_end(&json, ']');
	sn_annotate_put_gaps(&json, annotation);
	sn_json_end(&json, '}');
	putc('\n', out);
}
