/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde graph` as text: each model, and its nodes by time. */
#include "graph_write.h"

#include "base/text.h"
#include "cmd/command.h"
#include "show/number.h"
#include "show/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNUSUAL_MAX = 5, LIST_MAX = 20, LEAST_NAME = 24 };

/* A name of the database, which may be anything, as it may be printed. */
static struct sn_shown name_of(const struct sn_graph_view *view, uint32_t string)
{
	return sn_shown(sonde_db_string(view->db, string));
}

static void print_title(const struct sn_graph_view *view, const struct sonde_graph_model *model,
			FILE *out)
{
	struct sn_style style = sn_terminal_style(out);
	struct sn_shown known_by = name_of(view, model->edges_by);
	fprintf(out, "%smodel %s%s (%s", style.bold, name_of(view, model->name).text, style.plain,
		name_of(view, model->source).text);
	if (model->rank >= 0)
		fprintf(out, ", rank %d", (int)model->rank);
	else if (model->pid && sonde_graph_model_count(view->graph) > 1)
		fprintf(out, ", process %llu", (unsigned long long)model->pid);
	fprintf(out, "): %s nodes, %s edges%s%s%s\n", sn_number_counted(model->node_count).text,
		sn_number_counted(model->edge_count).text, *known_by.text ? ", known by " : "",
		known_by.text,
		model->flags & SONDE_MODEL_EDGES_SAMPLED ? " in some iterations" : "");
}

static void print_iteration(const struct sonde_graph_iteration *one, uint64_t first_ns,
			    double median_ns, bool is_unusual, struct sn_text_table *table)
{
	double length = (double)(one->end_ns - one->start_ns);
	sn_text_table_format(table, "%llu", (unsigned long long)one->number);
	sn_text_table_cell(table, sn_number_time((double)(one->start_ns - first_ns)).text);
	sn_text_table_cell(table, sn_number_time(length).text);
	if (is_unusual && median_ns > 0) {
		sn_text_table_rest(table);
		fprintf(table->out, "unusual: %.1f times the median", length / median_ns);
	}
	sn_text_table_end(table);
}

/* All of them where they were asked for, else the unusual ones. */
static void print_iterations(const struct sn_graph_view *view, uint32_t number,
			     const struct sn_graph_iterations *usual, FILE *out)
{
	const struct sonde_graph_model *model = sonde_graph_model(view->graph, number);
	struct sn_text_table table = {.out = out, .gap = 2};
	uint32_t printed = 0, unusual = 0, count = model->iteration_count;
	uint64_t first_ns =
	    count ? sonde_graph_iteration(view->graph, model->first_iteration)->start_ns : 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_graph_iteration *one =
		    sonde_graph_iteration(view->graph, model->first_iteration + i);
		double off = fabs((double)(one->end_ns - one->start_ns) - usual->median_ns);
		bool is_unusual = off > usual->tolerance_ns;
		unusual += is_unusual;
		if (!view->wants_iterations && (!is_unusual || printed == UNUSUAL_MAX))
			continue;
		if (!printed++) {
			sn_text_table_column(&table, "number", 8);
			sn_text_table_column(&table, "started", 10);
			sn_text_table_column(&table, "took", 10);
			sn_text_table_end(&table);
		}
		print_iteration(one, first_ns, usual->median_ns, is_unusual, &table);
	}
	if (!view->wants_iterations && unusual > printed)
		fprintf(out, "  %u more are unusual (--iterations lists all)\n", unusual - printed);
	if (view->wants_iterations && model->flags & SONDE_MODEL_ITERATIONS_CUT)
		fprintf(out, "  only the last %u are listed\n", count);
}

static int print_times(const struct sn_graph_view *view, uint32_t number, FILE *out)
{
	const struct sonde_graph_model *model = sonde_graph_model(view->graph, number);
	const struct sonde_db_stat *time = &model->iteration_time;
	struct sn_graph_iterations usual;
	if (sn_graph_iterations(view->graph, number, &usual))
		return SN_ERR_MEMORY;
	if (!time->count)
		return 0;
	struct sn_shown by = name_of(view, model->iterations_by);
	fprintf(out, "%s iterations%s%s: %s on average (± %s)", sn_number_counted(time->count).text,
		*by.text ? ", known by " : "", by.text,
		sn_number_time(sonde_db_stat_mean(time)).text,
		sn_number_time(sonde_db_stat_deviation(time)).text);
	if (usual.median_ns > 0)
		fprintf(out, ", median %s", sn_number_time(usual.median_ns).text);
	fprintf(out, ", %s to %s", sn_number_time(time->min).text, sn_number_time(time->max).text);
	if (model->flags & SONDE_MODEL_SAMPLED)
		fprintf(out, "; nodes were measured in some of them");
	fputc('\n', out);
	print_iterations(view, number, &usual, out);
	return 0;
}

static void put_mean(struct sn_text_table *table, const struct sonde_db_stat *stat)
{
	sn_text_table_cell(table,
			   stat->count > 0 ? sn_number_time(sonde_db_stat_mean(stat)).text : "-");
}

static void put_sum(struct sn_text_table *table, const struct sonde_db_stat *stat)
{
	sn_text_table_cell(table, stat->count > 0 ? sn_number_time(stat->sum).text : "-");
}

static void print_heads(const struct sn_graph_table *rows, enum sn_graph_by by,
			struct sn_text_table *table)
{
	static const char *const things[] = {"node", "operator type", "module"};
	fputc('\n', table->out);
	sn_text_table_column(table, rows->has_parts ? "own time" : "time", 9);
	sn_text_table_column(table, "share", 6);
	sn_text_table_column(table, "times", 8);
	sn_text_table_column(table, "mean", 9);
	sn_text_table_column(table, "± dev.", 9);
	if (rows->has_latency)
		sn_text_table_column(table, "latency", 9);
	if (rows->has_queue)
		sn_text_table_column(table, "queued", 9);
	if (rows->has_memory)
		sn_text_table_column(table, "memory", 9);
	if (rows->has_device) {
		sn_text_table_column(table, "on device", 9);
		sn_text_table_column(table, "kernels", 8);
	}
	if (rows->has_copies)
		sn_text_table_column(table, "copies", 9);
	sn_text_table_rest(table);
	fputs(things[by], table->out);
	sn_text_table_end(table);
}

/* Names are not shortened in files and pipes, which have no width. */
static size_t columns_of(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	bool is_known = isatty(fileno(out)) || (columns && *columns);
	return is_known ? (size_t)sn_terminal_width() : SIZE_MAX / 2;
}

/* In `room` columns: of what is too long the file's folder goes first. */
static void print_name(const struct sn_graph_view *view, const struct sn_graph_row *row,
		       size_t room, FILE *out)
{
	char text[3200], place[1100] = "";
	const struct sonde_graph_node *node = sonde_graph_node(view->graph, row->node);
	struct sn_shown name = name_of(view, node->name), type = name_of(view, node->type),
			module = name_of(view, node->module);
	bool is_node = view->by == SN_GRAPH_BY_NODE;
	bool has_type = is_node && *type.text && strcmp(type.text, name.text) != 0;
	if (view->by == SN_GRAPH_BY_TYPE && *type.text)
		name = type;
	else if (view->by == SN_GRAPH_BY_MODULE)
		name = *module.text ? module : sn_shown("(in no module)");
	snprintf(text, sizeof(text), "%s%s%s%s%s%s", name.text, has_type ? " (" : "",
		 has_type ? type.text : "", has_type ? ")" : "",
		 is_node && *module.text ? "  " : "", is_node ? module.text : "");
	if (is_node && node->file != SONDE_NONE) {
		struct sn_shown path = name_of(view, node->file);
		snprintf(place, sizeof(place), "  %s:%u", path.text, node->line);
		if (sn_utf8_columns(text) + sn_utf8_columns(place) > room)
			snprintf(place, sizeof(place), "  %s:%u", sn_text_base_name(path.text),
				 node->line);
	} else if (!is_node && row->nodes > 1) {
		snprintf(place, sizeof(place), "  %s nodes", sn_number_counted(row->nodes).text);
	}
	size_t behind = sn_utf8_columns(place);
	sn_utf8_elide(text, room > behind + LEAST_NAME ? room - behind : LEAST_NAME);
	fprintf(out, "%s%s", text, place);
}

static void print_row(const struct sn_graph_view *view, const struct sn_graph_table *rows,
		      const struct sn_graph_row *row, size_t columns, struct sn_text_table *table)
{
	const struct sonde_db_stat *time = &row->time;
	sn_text_table_cell(table, sn_number_time(row->self_ns).text);
	sn_text_table_cell(table, sn_number_part(row->cost_ns, rows->cost_ns).text);
	sn_text_table_cell(table, sn_number_counted(time->count).text);
	put_mean(table, time);
	sn_text_table_cell(
	    table, time->count > 1 ? sn_number_time(sonde_db_stat_deviation(time)).text : "-");
	if (rows->has_latency)
		put_mean(table, &row->latency);
	if (rows->has_queue)
		put_mean(table, &row->queue);
	if (rows->has_memory)
		sn_text_table_cell(
		    table, row->memory.count > 0
			       ? sn_number_text(sonde_db_stat_mean(&row->memory), "bytes").text
			       : "-");
	if (rows->has_device) {
		put_sum(table, &row->device);
		sn_text_table_cell(table, sn_number_counted(row->device.count).text);
	}
	if (rows->has_copies)
		put_sum(table, &row->copy);
	size_t used = (size_t)sn_text_table_rest(table);
	print_name(view, row, columns > used ? columns - used : 0, table->out);
	sn_text_table_end(table);
}

/* A graph that nothing is known to have run has no times: its nodes by operator type. */
static void print_rows(const struct sn_graph_view *view, const struct sn_graph_table *table,
		       FILE *out)
{
	size_t shown = view->top && table->count > view->top ? view->top : table->count;
	bool is_timed = table->has_time || table->has_device || table->has_copies;
	size_t columns = columns_of(out);
	struct sn_text_table printed = {.out = out, .gap = 2};
	if (is_timed)
		print_heads(table, view->by, &printed);
	else
		fputs("  nothing says how long its nodes took\n", out);
	for (size_t i = 0; i < shown; i++) {
		if (is_timed) {
			print_row(view, table, table->rows + i, columns, &printed);
			continue;
		}
		fputs("  ", out);
		print_name(view, table->rows + i, columns - 2, out);
		fputc('\n', out);
	}
	double rest = 0;
	for (size_t i = shown; i < table->count; i++)
		rest += table->rows[i].cost_ns;
	if (shown < table->count)
		fprintf(out, "  %s more%s%s (--top 0 shows all)\n",
			sn_number_counted((double)(table->count - shown)).text,
			is_timed ? ", " : "",
			is_timed ? sn_number_part(rest, table->cost_ns).text : "");
}

int sn_graph_text(const struct sn_graph_view *view, FILE *out, struct sn_error *error)
{
	bool is_first = true;
	for (uint32_t i = 0; i < sonde_graph_model_count(view->graph); i++) {
		struct sn_graph_table table;
		if (!sn_graph_is_wanted(view, i))
			continue;
		if (!is_first)
			fputc('\n', out);
		is_first = false;
		print_title(view, sonde_graph_model(view->graph, i), out);
		int result = print_times(view, i, out);
		if (result)
			return sn_fail_memory(error);
		result = sn_graph_table(view->db, view->graph, i, view->by, &table, error);
		if (!result)
			print_rows(view, &table, out);
		sn_graph_table_release(&table);
		if (result)
			return result;
	}
	return 0;
}
