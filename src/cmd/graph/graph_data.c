/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde graph` for programs: JSON, CSV, and pictures. */
#include "graph_write.h"

#include "show/page/graph_picture.h"
#include "show/csv.h"
#include "show/json.h"
#include "show/number.h"

#include <math.h>

enum { BOXES = 80 };

/* ---- JSON ---- */

static void put_string(struct sn_json *json, const struct sn_graph_view *view, const char *key,
		       uint32_t string)
{
	sn_json_put_text(json, key,
			 string == SONDE_NONE ? NULL : sonde_db_string(view->db, string));
}

static void put_stat(struct sn_json *json, const char *key, const struct sonde_db_stat *stat)
{
	if (!(stat->count > 0))
		return;
	sn_json_open(json, key, '{');
	sn_json_put_stat(json, stat);
	sn_json_end(json, '}');
}

static void put_row(struct sn_json *json, const struct sn_graph_view *view,
		    const struct sn_graph_row *row)
{
	const struct sonde_graph_node *node = sonde_graph_node(view->graph, row->node);
	sn_json_begin(json, '{');
	sn_json_put_number(json, "node", row->node);
	if (view->by == SN_GRAPH_BY_NODE) {
		put_string(json, view, "name", node->name);
		sn_json_put_id(json, "parent", node->parent);
		sn_json_put_id(json, "context", node->context);
		sn_json_put_unsigned(json, "id", node->id);
		put_string(json, view, "device", node->device);
		put_string(json, view, "file", node->file);
		sn_json_put_number(json, "line", node->line);
		put_string(json, view, "detail", node->detail);
		sn_json_put_bool(json, "backward", node->flags & SONDE_NODE_BACKWARD);
	} else {
		sn_json_put_number(json, "nodes", row->nodes);
	}
	if (view->by != SN_GRAPH_BY_MODULE)
		put_string(json, view, "type", node->type != SONDE_NONE ? node->type : node->name);
	if (view->by != SN_GRAPH_BY_TYPE)
		put_string(json, view, "module", node->module);
	sn_json_put_number(json, "self_ns", row->self_ns);
#define STAT(name, unit) put_stat(json, #name "_" unit, &row->name)
	STAT(time, "ns"), STAT(latency, "ns"), STAT(queue, "ns"), STAT(device, "ns");
	STAT(copy, "ns"), STAT(memory, "bytes"), STAT(requested, "bytes");
	STAT(temporary, "bytes"), STAT(persistent, "bytes"), STAT(peak, "bytes");
#undef STAT
	sn_json_end(json, '}');
}

static void put_edges(struct sn_json *json, const struct sn_graph_view *view,
		      const struct sonde_graph_model *model)
{
	static const char *const kinds[] = {"data", "data", "control", "sequence"};
	sn_json_open(json, "edges", '[');
	for (uint32_t i = 0; i < model->edge_count; i++) {
		const struct sonde_graph_edge *edge =
		    sonde_graph_edge(view->graph, model->first_edge + i);
		sn_json_begin(json, '{');
		sn_json_numbers(json, {"from", edge->from}, {"to", edge->to});
		sn_json_put_id(json, "index", edge->index);
		sn_json_put_text(json, "kind", kinds[edge->kind < 4 ? edge->kind : 0]);
		sn_json_put_unsigned(json, "bytes", edge->bytes);
		sn_json_put_unsigned(json, "count", edge->count);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void put_iterations(struct sn_json *json, const struct sn_graph_view *view,
			   const struct sonde_graph_model *model,
			   const struct sn_graph_iterations *usual)
{
	put_stat(json, "iteration_ns", &model->iteration_time);
	sn_json_put_number(json, "iteration_median_ns", usual->median_ns);
	sn_json_open(json, "iterations", '[');
	for (uint32_t i = 0; i < model->iteration_count; i++) {
		const struct sonde_graph_iteration *one =
		    sonde_graph_iteration(view->graph, model->first_iteration + i);
		double length = (double)(one->end_ns - one->start_ns);
		sn_json_begin(json, '{');
		sn_json_put_unsigned(json, "number", one->number);
		sn_json_put_unsigned(json, "start_ns", one->start_ns);
		sn_json_put_number(json, "duration_ns", length);
		sn_json_put_bool(json, "unusual",
				 fabs(length - usual->median_ns) > usual->tolerance_ns);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static int put_model(struct sn_json *json, const struct sn_graph_view *view, uint32_t number,
		     struct sn_error *error)
{
	const struct sonde_graph_model *model = sonde_graph_model(view->graph, number);
	struct sn_graph_iterations usual;
	struct sn_graph_table table = {0};
	int result = sn_graph_table(view->db, view->graph, number, view->by, &table, error);
	if (!result && sn_graph_iterations(view->graph, number, &usual))
		result = sn_fail_memory(error);
	if (!result) {
		size_t shown = view->top && view->top < table.count ? view->top : table.count;
		sn_json_begin(json, '{');
		put_string(json, view, "name", model->name);
		put_string(json, view, "source", model->source);
		put_string(json, view, "edges_by", model->edges_by);
		put_string(json, view, "iterations_by", model->iterations_by);
		put_string(json, view, "host", model->host);
		sn_json_put_unsigned(json, "pid", model->pid);
		sn_json_numbers(json, {"rank", model->rank}, {"run", model->run},
				{"node_count", model->node_count},
				{"edge_count", model->edge_count});
		sn_json_put_bool(json, "sampled", model->flags & SONDE_MODEL_SAMPLED);
		sn_json_put_bool(json, "edges_sampled", model->flags & SONDE_MODEL_EDGES_SAMPLED);
		put_iterations(json, view, model, &usual);
		sn_json_open(json, "rows", '[');
		for (size_t i = 0; i < shown; i++)
			put_row(json, view, table.rows + i);
		sn_json_end(json, ']');
		put_edges(json, view, model);
		sn_json_end(json, '}');
	}
	sn_graph_table_release(&table);
	return result;
}

int sn_graph_json(const struct sn_graph_view *view, FILE *out, struct sn_error *error)
{
	struct sn_json json = {.out = out};
	int result = 0;
	sn_json_begin(&json, '{');
	sn_json_open(&json, "models", '[');
	for (uint32_t i = 0; i < sonde_graph_model_count(view->graph) && !result; i++)
		if (sn_graph_is_wanted(view, i))
			result = put_model(&json, view, i, error);
	sn_json_end(&json, ']');
	sn_json_end(&json, '}');
	fputc('\n', out);
	return result;
}

/* ---- CSV ---- */

static void csv_stat(FILE *out, const struct sonde_db_stat *stat, bool with_spread)
{
	char text[SN_NUMBER_CHARS];
	double values[] = {
	    stat->count, stat->sum, sonde_db_stat_mean(stat), sonde_db_stat_deviation(stat),
	    stat->min,	 stat->max};
	for (int i = 0; i < (with_spread ? 6 : 3); i++)
		fprintf(out, "%s,", sn_number_exact(values[i], text));
}

static void csv_row(const struct sn_graph_view *view, uint32_t model,
		    const struct sn_graph_row *row, FILE *out)
{
	const struct sonde_graph_node *node = sonde_graph_node(view->graph, row->node);
	const uint32_t strings[] = {sonde_graph_model(view->graph, model)->name,
				    view->by == SN_GRAPH_BY_NODE ? node->name : SONDE_NONE,
				    node->type != SONDE_NONE ? node->type : node->name,
				    node->module,
				    view->by == SN_GRAPH_BY_NODE ? node->file : SONDE_NONE};
	char text[SN_NUMBER_CHARS];
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		sn_csv_quoted(out, sonde_db_string(view->db, strings[i]));
		fputc(',', out);
	}
	fprintf(out, "%u,%u,", view->by == SN_GRAPH_BY_NODE ? node->line : 0, row->nodes);
	csv_stat(out, &row->time, true);
	csv_stat(out, &row->latency, false);
	csv_stat(out, &row->device, false);
	csv_stat(out, &row->copy, false);
	fprintf(out, "%s,", sn_number_exact(row->self_ns, text));
	csv_stat(out, &row->queue, false);
	csv_stat(out, &row->memory, false);
	fprintf(out, "%s\n", sn_number_exact(row->memory.max, text));
}

int sn_graph_csv(const struct sn_graph_view *view, FILE *out, struct sn_error *error)
{
	int result = 0;
	fputs("model,name,type,module,file,line,nodes,time_count,time_sum_ns,time_mean_ns,"
	      "time_std_ns,time_min_ns,time_max_ns,latency_count,latency_sum_ns,latency_mean_ns,"
	      "device_count,device_sum_ns,device_mean_ns,copy_count,copy_sum_ns,copy_mean_ns,"
	      "self_ns,queue_count,queue_sum_ns,queue_mean_ns,memory_count,memory_sum_bytes,"
	      "memory_mean_bytes,memory_max_bytes\n",
	      out);
	for (uint32_t i = 0; i < sonde_graph_model_count(view->graph) && !result; i++) {
		struct sn_graph_table table;
		if (!sn_graph_is_wanted(view, i))
			continue;
		result = sn_graph_table(view->db, view->graph, i, view->by, &table, error);
		for (size_t r = 0; r < table.count && !result && (!view->top || r < view->top); r++)
			csv_row(view, i, table.rows + r, out);
		sn_graph_table_release(&table);
	}
	return result;
}

/* ---- pictures ---- */

int sn_graph_drawing(const struct sn_graph_view *view, uint32_t number, bool as_svg, FILE *out,
		     struct sn_error *error)
{
	const struct sonde_graph_model *model = sonde_graph_model(view->graph, number);
	struct sn_graph_table table;
	struct sn_graph_picture picture = {0};
	int result = sn_graph_table(view->db, view->graph, number, SN_GRAPH_BY_NODE, &table, error);
	if (!result && sn_graph_picture(view->db, view->graph, number, &table, BOXES, &picture))
		result = sn_fail_memory(error);
	const char *title = sonde_db_string(view->db, model->name);
	if (!result && !as_svg)
		sn_graph_dot(&picture, title, out);
	else if (!result && sn_graph_svg(&picture, title, out))
		result = sn_fail_memory(error);
	sn_graph_picture_release(&picture);
	sn_graph_table_release(&table);
	return result;
}
