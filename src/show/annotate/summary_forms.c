/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time goes, over all functions: parts by cause, and what could not be looked into. */
#include "annotate_parts.h"

#include "base/sort_by.h"
#include "base/text.h"
#include "show/number.h"
#include "show/tree/text.h"

#include <string.h>

struct part {
	const char *text;
	double value;
};

enum { PARTS = SN_CAUSE_COUNT + 1 };

SN_SORT_BY(sort_parts, struct part, const void *, SN_ORDER_BY(b, a, value));

/* Those by cause and the unexplained one, the largest first. */
static void make_parts(const struct sn_annotate_summary *summary, struct part parts[PARTS])
{
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++)
		parts[cause] =
		    (struct part){sn_cause_text((enum sn_cause)cause), summary->parts[cause]};
	parts[SN_CAUSE_COUNT] = (struct part){"unexplained", summary->rest};
	sort_parts(parts, PARTS, NULL);
}

static double looked_into(const struct sn_annotate_summary *summary)
{
	double value = summary->rest;
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++)
		value += summary->parts[cause];
	return value;
}

/* ---- text ---- */

static void print_images(const struct sn_annotation *annotation, const char *why,
			 const struct sn_annotate_summary *summary,
			 const struct sn_annotate_view *view, const struct sn_terminal *page)
{
	size_t shown = 0, left = 0;
	for (size_t i = 0; i < annotation->gap_count; i++) {
		const struct sn_annotate_gap *gap = &annotation->gaps[i];
		if (strcmp(gap->why, why) != 0)
			continue;
		if (view->limit && shown >= view->limit) {
			left++;
			continue;
		}
		shown++;
		fprintf(page->out, "%9s   ", sn_number_part(gap->value, summary->value).text);
		sn_annotate_clean(page, gap->image, page->width - 12);
		putc('\n', page->out);
	}
	if (left)
		fprintf(page->out, "%12s%s more image%s (--limit)\n", "",
			sn_number_counted((double)left).text, left == 1 ? "" : "s");
}

static void print_reasons(const struct sn_annotation *annotation,
			  const struct sn_annotate_summary *summary,
			  const struct sn_annotate_view *view, const struct sn_terminal *page)
{
	if (!summary->reason_count)
		return;
	putc('\n', page->out);
	sn_text_styled(page, SN_BOLD, "not looked into, %s\n",
		       sn_number_part(summary->value - looked_into(summary), summary->value).text);
	for (size_t i = 0; i < summary->reason_count; i++) {
		const struct sn_summary_reason *reason = &summary->reasons[i];
		fprintf(page->out, "%6s ", sn_number_part(reason->value, summary->value).text);
		sn_annotate_clean(page, reason->why, page->width - 7);
		putc('\n', page->out);
		print_images(annotation, reason->why, summary, view, page);
	}
}

void sn_summary_text(const struct sn_annotation *annotation,
		     const struct sn_annotate_summary *summary, const struct sn_annotate_view *view,
		     const struct sn_terminal *page)
{
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metric);
	struct part parts[PARTS];
	make_parts(summary, parts);
	sn_text_styled(page, SN_BOLD, "where %s of %s may go",
		       sn_number_text(summary->value, sn_annotate_unit(view)).text,
		       sn_shown(sonde_db_string(view->db, metric->name)).text);
	fprintf(page->out, "  %s function%s looked into, %s of it\n",
		sn_number_counted((double)annotation->function_count).text,
		annotation->function_count == 1 ? "" : "s",
		sn_number_part(looked_into(summary), summary->value).text);
	for (int i = 0; i < PARTS && parts[i].value > 0; i++)
		fprintf(page->out, "%6s %s\n", sn_number_part(parts[i].value, summary->value).text,
			parts[i].text);
	print_reasons(annotation, summary, view, page);
	if (annotation->no_mca)
		fprintf(page->out, "\n%s.\n", annotation->no_mca);
}

/* ---- data ---- */

static double share_of(const struct sn_annotate_summary *summary, double value)
{
	return summary->value > 0 ? value / summary->value : 0;
}

static void put_reasons(struct sn_json *json, const struct sn_annotate_summary *summary)
{
	sn_json_open(json, "not_analysed", '[');
	for (size_t i = 0; i < summary->reason_count; i++) {
		sn_json_begin(json, '{');
		sn_json_put_text(json, "why", summary->reasons[i].why);
		sn_json_numbers(json, {"share", share_of(summary, summary->reasons[i].value)},
				{"value", summary->reasons[i].value});
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

void sn_summary_json(const struct sn_annotation *annotation,
		     const struct sn_annotate_summary *summary, const struct sn_annotate_view *view,
		     FILE *out)
{
	struct sn_json json = {.out = out};
	sn_json_begin(&json, '{');
	sn_annotate_put_metric(&json, annotation, view);
	sn_json_put_number(&json, "value_of_all", summary->value);
	sn_json_put_unsigned(&json, "functions", annotation->function_count);
	sn_json_open(&json, "summary", '{');
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++)
		sn_json_put_number(&json, sn_cause_text((enum sn_cause)cause),
				   share_of(summary, summary->parts[cause]));
	sn_json_end(&json, '}');
	sn_json_put_number(&json, "unexplained", share_of(summary, summary->rest));
	put_reasons(&json, summary);
	sn_annotate_put_gaps(&json, annotation);
	sn_json_end(&json, '}');
	putc('\n', out);
}
