/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde graph` for people: what each model is, and its nodes by time. */
#include "graph_write.h"

#include "base/utf8.h"
#include "cmd/command.h"
#include "show/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNUSUAL_MAX = 5, LIST_MAX = 20, LEAST_NAME = 24 };

static const char *duration(double ns)
{
	static char texts[8][SN_NUMBER_CHARS];
	static unsigned next;
	return sn_number_format(ns, "ns", texts[next++ % 8]);
}

static const char *counted(double count)
{
	static char texts[4][SN_NUMBER_CHARS];
	static unsigned next;
	return sn_number_count(count, texts[next++ % 4]);
}

/* A name of the database, which may be anything, as it may be printed. */
static const char *name_of(const struct sn_graph_view *view, uint32_t string)
{
	static char texts[4][1024];
	static unsigned next;
	char *text = texts[next++ % 4];
	sn_utf8_clean(sonde_db_string(view->db, string), text, sizeof(*texts));
	return text;
}

static double deviation(const struct sonde_db_stat *stat)
{
	return sonde_db_stat_deviation(stat);
}

static void print_title(const struct sn_graph_view *view, const struct sonde_graph_model *model,
			FILE *out)
{
	const char *text = name_of(view, model->name);
	bool is_bold = sn_terminal_has_color(out);
	fprintf(out, "%smodel %s%s (%s", is_bold ? "\033[1m" : "", text, is_bold ? "\033[0m" : "",
		name_of(view, model->source));
	if (model->rank >= 0)
		fprintf(out, ", rank %d", (int)model->rank);
	else if (model->pid && sonde_graph_model_count(view->graph) > 1)
		fprintf(out, ", process %llu", (unsigned long long)model->pid);
	fprintf(out, "): %s nodes, %s edges", counted(model->node_count),
		counted(model->edge_count));
	text = name_of(view, model->edges_by);
	if (*text)
		fprintf(out, ", known by %s", text);
	if (model->flags & SONDE_MODEL_EDGES_SAMPLED)
		fprintf(out, " in some iterations");
	fputc('\n', out);
}

static void print_iteration(const struct sonde_graph_iteration *one, uint64_t first_ns,
			    double median_ns, bool is_unusual, FILE *out)
{
	double length = (double)(one->end_ns - one->start_ns);
	fprintf(out, "  %8llu  %10s  %10s", (unsigned long long)one->number,
		duration((double)(one->start_ns - first_ns)), duration(length));
	if (is_unusual && median_ns > 0)
		fprintf(out, "  unusual: %.1f times the median", length / median_ns);
	fputc('\n', out);
}

/* All of them where they were asked for, else the unusual ones. */
static void print_iterations(const struct sn_graph_view *view, uint32_t number,
			     const struct sn_graph_iterations *usual, FILE *out)
{
	const struct sonde_graph_model *model = sonde_graph_model(view->graph, number);
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
		if (!printed++)
			fprintf(out, "  %8s  %10s  %10s\n", "number", "started", "took");
		print_iteration(one, first_ns, usual->median_ns, is_unusual, out);
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
	const char *by = name_of(view, model->iterations_by);
	fprintf(out, "%s iterations%s%s: %s on average (± %s)", counted(time->count),
		*by ? ", known by " : "", by, duration(time->sum / time->count),
		duration(deviation(time)));
	if (usual.median_ns > 0)
		fprintf(out, ", median %s", duration(usual.median_ns));
	fprintf(out, ", %s to %s", duration(time->min), duration(time->max));
	if (model->flags & SONDE_MODEL_SAMPLED)
		fprintf(out, "; nodes were measured in some of them");
	fputc('\n', out);
	print_iterations(view, number, &usual, out);
	return 0;
}

static const char *size_of(double bytes)
{
	static char texts[4][SN_NUMBER_CHARS];
	static unsigned next;
	return sn_number_format(bytes, "bytes", texts[next++ % 4]);
}

static double mean(const struct sonde_db_stat *stat)
{
	return stat->count > 0 ? stat->sum / stat->count : 0;
}

/* A duration in the width of a column, or a dash. */
static void column(double value, bool is_known, FILE *out)
{
	fprintf(out, "  %9s", is_known ? duration(value) : "-");
}

static void print_heading(const struct sn_graph_table *table, enum sn_graph_by by, FILE *out)
{
	static const char *const things[] = {"node", "operator type", "module"};
	/* "±" is two bytes, and one column */
	fprintf(out, "\n  %9s  %6s  %8s  %9s  %10s", table->has_parts ? "own time" : "time",
		"share", "times", "mean", "± dev.");
	if (table->has_latency)
		fprintf(out, "  %9s", "latency");
	if (table->has_queue)
		fprintf(out, "  %9s", "queued");
	if (table->has_memory)
		fprintf(out, "  %9s", "memory");
	if (table->has_device)
		fprintf(out, "  %9s  %8s", "on device", "kernels");
	if (table->has_copies)
		fprintf(out, "  %9s", "copies");
	fprintf(out, "  %s\n", things[by]);
}

/* Names are whole in files and pipes, where nobody asks for a width. */
static size_t columns_of(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	bool is_known = isatty(fileno(out)) || (columns && *columns);
	return is_known ? (size_t)sn_terminal_width() : SIZE_MAX / 2;
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* In `room` columns: of what is too long the file's folder goes first. */
static void print_name(const struct sn_graph_view *view, const struct sn_graph_row *row,
		       size_t room, FILE *out)
{
	char text[3200], place[1100] = "";
	size_t used;
	const struct sonde_graph_node *node = sonde_graph_node(view->graph, row->node);
	const char *name = name_of(view, node->name);
	const char *type = name_of(view, node->type);
	const char *module = name_of(view, node->module);
	bool is_node = view->by == SN_GRAPH_BY_NODE;
	bool has_type = is_node && *type && strcmp(type, name) != 0;
	if (view->by == SN_GRAPH_BY_TYPE && *type)
		name = type;
	else if (view->by == SN_GRAPH_BY_MODULE)
		name = *module ? module : "(in no module)";
	used = (size_t)snprintf(text, sizeof(text), "%s%s%s%s%s%s", name, has_type ? " (" : "",
				has_type ? type : "", has_type ? ")" : "",
				is_node && *module ? "  " : "", is_node ? module : "");
	if (is_node && node->file != SONDE_NONE) {
		const char *path = name_of(view, node->file);
		snprintf(place, sizeof(place), "  %s:%u", path, node->line);
		if (sn_utf8_columns(text) + sn_utf8_columns(place) > room)
			snprintf(place, sizeof(place), "  %s:%u", file_of(path), node->line);
	} else if (!is_node && row->nodes > 1) {
		snprintf(place, sizeof(place), "  %s nodes", counted(row->nodes));
	}
	size_t behind = sn_utf8_columns(place);
	if (used < sizeof(text))
		sn_utf8_elide(text, room > behind + LEAST_NAME ? room - behind : LEAST_NAME);
	fprintf(out, "%s%s\n", text, place);
}

static void print_row(const struct sn_graph_view *view, const struct sn_graph_table *table,
		      const struct sn_graph_row *row, size_t columns, FILE *out)
{
	char share[SN_NUMBER_CHARS];
	const struct sonde_db_stat *time = &row->time;
	fprintf(out, "  %9s  %6s  %8s", duration(row->self_ns),
		sn_number_share(table->cost_ns > 0 ? row->cost_ns / table->cost_ns : 0, share),
		counted(time->count));
	column(time->count > 0 ? time->sum / time->count : 0, time->count > 0, out);
	column(deviation(time), time->count > 1, out);
	if (table->has_latency)
		column(mean(&row->latency), row->latency.count > 0, out);
	if (table->has_queue)
		column(mean(&row->queue), row->queue.count > 0, out);
	if (table->has_memory)
		fprintf(out, "  %9s", row->memory.count > 0 ? size_of(mean(&row->memory)) : "-");
	if (table->has_device) {
		column(row->device.sum, row->device.count > 0, out);
		fprintf(out, "  %8s", counted(row->device.count));
	}
	if (table->has_copies)
		column(row->copy.sum, row->copy.count > 0, out);
	fputs("  ", out);
	size_t used = 2 + 9 + 2 + 6 + 2 + 8 + 2 * (2 + 9) + 2 +
		      11 * (size_t)(table->has_latency + table->has_queue + table->has_memory +
				    table->has_device + table->has_copies) +
		      10 * (size_t)table->has_device;
	print_name(view, row, columns > used ? columns - used : 0, out);
}

/* A graph that nothing is known to have run has no times: its nodes by operator type. */
static void print_rows(const struct sn_graph_view *view, const struct sn_graph_table *table,
		       FILE *out)
{
	size_t shown = view->top && table->count > view->top ? view->top : table->count;
	bool is_timed = table->has_time || table->has_device || table->has_copies;
	size_t columns = columns_of(out);
	if (is_timed)
		print_heading(table, view->by, out);
	else
		fputs("  nothing says how long its nodes took\n", out);
	for (size_t i = 0; i < shown; i++) {
		if (is_timed) {
			print_row(view, table, table->rows + i, columns, out);
		} else {
			fputs("  ", out);
			print_name(view, table->rows + i, columns - 2, out);
		}
	}
	double rest = 0;
	char share[SN_NUMBER_CHARS];
	for (size_t i = shown; i < table->count; i++)
		rest += table->rows[i].cost_ns;
	if (shown < table->count)
		fprintf(out, "  %s more%s%s (--top 0 shows all)\n",
			counted((double)(table->count - shown)), is_timed ? ", " : "",
			is_timed
			    ? sn_number_share(table->cost_ns > 0 ? rest / table->cost_ns : 0, share)
			    : "");
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
			return sn_fail(error, result, "out of memory");
		result = sn_graph_table(view->db, view->graph, i, view->by, &table, error);
		if (!result)
			print_rows(view, &table, out);
		sn_graph_table_release(&table);
		if (result)
			return result;
	}
	return 0;
}
