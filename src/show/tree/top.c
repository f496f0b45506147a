/* SPDX-License-Identifier: Apache-2.0 */
/* See top.h. Below the heading is a flat report, that of threads, or a table of processes. */
#include "top.h"

#include "base/sort_by.h"
#include "base/table.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "show/number.h"
#include "text.h"

#include <stdlib.h>

enum {
	NAMED = 4,   /* processes in the heading */
	HEADING = 4, /* lines above the rows: the heading, an empty line, the heads */
	ROWS_USUAL = 30,
};

struct process {
	uint64_t pid;
	uint32_t program; /* text */
	uint32_t threads;
	double sum, samples;
};

struct processes {
	struct process *items; /* the most expensive first */
	size_t count, capacity;
	double sum, samples;
};

SN_SORT_BY(sort_processes, struct process, const void *,
	   sn_order_then(SN_ORDER(b->sum, a->sum), SN_ORDER(a->pid, b->pid)));

/* ---- processes ---- */

static struct process *process_of(struct processes *processes, struct sn_table *pids,
				  const struct sonde_db_profile *profile)
{
	uint32_t number = sn_table_add(pids, profile->pid);
	if (number == SN_TABLE_NONE)
		return NULL;
	if (number == processes->count &&
	    sn_vec_push(&processes->items, &processes->capacity, &processes->count,
			(struct process){profile->pid, profile->program, 0, 0, 0}))
		return NULL;
	return &processes->items[number];
}

static int add_profile(struct processes *processes, struct sn_table *pids,
		       const struct sonde_db *db, uint32_t number, uint32_t metric)
{
	struct sonde_db_plane plane = sonde_db_profile_plane(db, number, metric);
	struct process *process =
	    plane.count ? process_of(processes, pids, sonde_db_profile(db, number)) : NULL;
	if (!process)
		return plane.count ? SN_ERR_MEMORY : 0;
	double sum = 0, samples = 0;
	for (size_t i = 0; i < plane.count; i++) {
		struct sonde_db_stat stat;
		sonde_db_plane_stat(&plane, i, &stat);
		sum += stat.sum;
		samples += stat.count;
	}
	process->threads++;
	process->sum += sum;
	process->samples += samples;
	processes->sum += sum;
	processes->samples += samples;
	return 0;
}

static int find_processes(struct processes *processes, const struct sonde_db *db, uint32_t metric)
{
	struct sn_table pids = {0};
	int result = 0;
	for (uint32_t i = 0; !result && i < sonde_db_profile_count(db); i++)
		result = add_profile(processes, &pids, db, i, metric);
	sn_table_release(&pids);
	sort_processes(processes->items, processes->count, NULL);
	return result;
}

static void print_processes(const struct sn_view *view, const struct processes *processes,
			    const struct sn_terminal *page)
{
	struct sn_text_table table = sn_text_begin_heads(page);
	sn_text_table_column(&table, "share", 6);
	sn_text_table_column(&table, sn_text_metric(view, 0).text, sn_text_metric_width(view, 0));
	sn_text_table_column(&table, "samples", 9);
	sn_text_table_column(&table, "threads", 9);
	sn_text_table_column(&table, "pid", 9);
	sn_text_end_heads(page, &table, "process");
	for (size_t i = 0; i < processes->count && (!view->limit || i < view->limit); i++) {
		const struct process *process = &processes->items[i];
		char name[256];
		sn_utf8_clean(sonde_db_string(view->db, process->program), name, sizeof(name));
		sn_text_table_cell(&table, sn_number_part(process->sum, processes->sum).text);
		sn_text_cell(view, 0, process->sum, &table);
		sn_text_table_cell(&table, sn_number_counted(process->samples).text);
		sn_text_table_cell(&table, sn_number_counted(process->threads).text);
		sn_text_table_format(&table, "%llu", (unsigned long long)process->pid);
		sn_text_table_rest(&table);
		fputs(name, page->out);
		sn_text_table_end(&table);
	}
}

/* ---- the heading ---- */

/* How much of the machine ran: known where the metric is a time. */
static void print_busy(const struct sn_top *top, const struct sn_terminal *page, bool is_time,
		       double sum)
{
	double busy = sum / 1e9 / top->seconds;
	if (is_time && top->processors)
		fprintf(page->out, "%.2f of %u processor%s busy", busy, top->processors,
			top->processors == 1 ? "" : "s");
	else if (is_time)
		fprintf(page->out, "%.2f processors busy", busy);
}

static void print_named(const struct sn_top *top, const struct sn_terminal *page, bool is_time,
			const struct processes *processes)
{
	for (size_t i = 0; i < processes->count && i < NAMED; i++) {
		const struct process *process = &processes->items[i];
		char name[32];
		sn_utf8_clean(sonde_db_string(top->db, process->program), name, sizeof(name));
		fprintf(page->out, "%s%s ", i ? ", " : is_time ? ": " : "", name);
		if (is_time)
			fprintf(page->out, "%.2f", process->sum / 1e9 / top->seconds);
		else
			fputs(sn_number_part(process->sum, processes->sum).text, page->out);
	}
	if (processes->count > NAMED)
		fprintf(page->out, ", %zu more", processes->count - NAMED);
}

static void print_keys(const struct sn_top *top, const struct sn_terminal *page)
{
	static const char *const keys[] = {"f functions", "l lines", "m modules", "p processes",
					   "t threads"};
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		sn_text_styled(page, i == top->view ? SN_BOLD : SN_DIM, "%s", keys[i]);
		fputs("   ", page->out);
	}
	sn_text_styled(page, top->is_held ? SN_BOLD : SN_DIM, "space %s",
		       top->is_held ? "goes on" : "holds");
	sn_text_styled(page, SN_DIM, "   q ends");
	putc('\n', page->out);
}

static void print_heading(const struct sn_top *top, const struct sn_terminal *page,
			  const struct processes *processes, bool is_time)
{
	const char *dot = page->is_unicode ? " \xc2\xb7 " : " | ";
	sn_text_styled(page, SN_BOLD, "sonde top%s%s", dot, top->what);
	fprintf(page->out, "%s%s sample%s in %.1f s (%s, %u Hz)%sitself %s\n", dot,
		sn_number_counted(processes->samples).text, processes->samples == 1 ? "" : "s",
		top->seconds, top->event, top->rate, dot,
		sn_number_part(top->own_seconds, top->seconds).text);
	print_busy(top, page, is_time, processes->sum);
	print_named(top, page, is_time, processes);
	putc('\n', page->out);
	if (top->has_keys)
		print_keys(top, page);
	putc('\n', page->out);
}

/* ---- all of it ---- */

static int draw_rows(const struct sn_top *top, struct sn_view *view,
		     const struct processes *processes, const struct sn_terminal *page,
		     struct sn_error *error)
{
	static const enum sn_grouping groupings[] = {SN_GROUP_FUNCTION, SN_GROUP_SOURCE_LINE,
						     SN_GROUP_MODULE};
	static const char *const names[] = {"function", "line", "module"};
	if (!processes->samples) {
		fputs("Nothing ran that is sampled.\n", page->out);
		return 0;
	}
	if (top->view == SN_TOP_PROCESSES) {
		print_processes(view, processes, page);
		return 0;
	}
	view->kind = top->view == SN_TOP_THREADS ? SN_VIEW_THREADS : SN_VIEW_FLAT;
	if (top->view <= SN_TOP_MODULES) {
		view->grouping = groupings[top->view];
		view->by = names[top->view];
	}
	return sn_view_text(view, page, error);
}

int sn_top_draw(const struct sn_top *top, const struct sn_terminal *page, struct sn_error *error)
{
	uint32_t metrics[SN_COLUMNS_MAX];
	struct processes processes = {0};
	struct sn_view view = {.db = top->db,
			       .path = "",
			       .max_depth = SONDE_NONE,
			       .metrics = metrics,
			       .is_bare = true};
	unsigned above = HEADING + top->has_keys;
	view.metric_count = sn_view_default_metrics(top->db, metrics, SN_COLUMNS_MAX) > 0;
	/* the last line says how many more there are */
	view.limit = !top->height	       ? ROWS_USUAL
		     : top->height > above + 2 ? top->height - above - 1
					       : 1;
	int result = view.metric_count ? find_processes(&processes, top->db, metrics[0]) : 0;
	bool is_time =
	    view.metric_count && sonde_db_metric(top->db, metrics[0])->kind == SONDE_METRIC_TIME;
	if (!result) {
		print_heading(top, page, &processes, is_time);
		result = draw_rows(top, &view, &processes, page, error);
	}
	free(processes.items);
	return sn_fail_code(error, result);
}
