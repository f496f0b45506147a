/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde graph`: the dataflow graphs of a database, which of their nodes take the time, and
 * pictures of them.
 */
#include "cmd/command.h"

#include "graph_write.h"

#include <string.h>

enum { DEFAULT_TOP = 20, TOP_MAX = 100000000 };
enum form { FORM_TEXT, FORM_JSON, FORM_CSV, FORM_DOT, FORM_SVG };

bool sn_graph_is_wanted(const struct sn_graph_view *view, uint32_t model)
{
	const struct sonde_graph_model *one = sonde_graph_model(view->graph, model);
	return !view->model || !strcmp(view->model, sonde_db_string(view->db, one->name));
}

/* The number of models that are asked for; *first is the first of them. */
static uint32_t count_wanted(const struct sn_graph_view *view, uint32_t *first)
{
	uint32_t count = 0;
	for (uint32_t i = sonde_graph_model_count(view->graph); i--;)
		if (sn_graph_is_wanted(view, i)) {
			*first = i;
			count++;
		}
	return count;
}

/* What is written, and of which model a picture. */
struct drawing {
	const struct sn_graph_view *view;
	enum form form;
	uint32_t model;
};

static int write_form(void *context, FILE *out, struct sn_error *error)
{
	const struct drawing *drawing = context;
	const struct sn_graph_view *view = drawing->view;
	if (drawing->form >= FORM_DOT)
		return sn_graph_drawing(view, drawing->model, drawing->form == FORM_SVG, out,
					error);
	return (drawing->form == FORM_JSON  ? sn_graph_json
		: drawing->form == FORM_CSV ? sn_graph_csv
					    : sn_graph_text)(view, out, error);
}

static int no_graph(const struct sn_graph_view *view)
{
	if (view->model && sonde_graph_model_count(view->graph))
		return sn_command_fail(
		    "'%s' has no model '%s'; it has '%s'%s", view->path, view->model,
		    sonde_db_string(view->db, sonde_graph_model(view->graph, 0)->name),
		    sonde_graph_model_count(view->graph) > 1 ? " and others" : "");
	const char *torch = sonde_db_property(view->db, "adapter.torch");
	if (torch && strstr(torch, "; graph"))
		return sn_command_fail(
		    "'%s' has no graph: PyTorch's operators did not repeat as iterations do; mark "
		    "them by sonde.iteration, or run more of them",
		    view->path);
	return sn_command_fail("'%s' has no graph: 'sonde run --graph' captures those of "
			       "PyTorch, JAX, TensorFlow and OpenMP ('sonde graph -h')",
			       view->path);
}

/* What was asked for. */
struct request {
	struct sn_graph_view view;
	const char *output;
	int form;
};

static int show(void *context, struct sonde_db *db, const char *path)
{
	struct request *request = context;
	struct sn_graph_view *view = &request->view;
	struct sonde_db_error why = {""};
	struct sn_error error = {""};
	struct sonde_graph *graph;
	struct drawing drawing = {view, (enum form)request->form, 0};
	view->db = db;
	view->path = path;
	if (sonde_graph_open(db, &graph, &why))
		return sn_command_fail("cannot read '%s': %s", path, why.text);
	view->graph = graph;
	uint32_t count = count_wanted(view, &drawing.model);
	int status = SN_EXIT_DONE;
	if (!count)
		status = no_graph(view);
	else if (request->output
		     ? sn_command_write_file(request->output, write_form, &drawing, &error)
		     : write_form(&drawing, stdout, &error))
		status = sn_command_fail("%s", error.text);
	else if (count > 1 && drawing.form >= FORM_DOT)
		sn_command_warn("drew the first of %u models ('--model' names another)", count);
	sonde_graph_close(graph);
	return status;
}

int sn_command_graph_run(int argc, char **argv)
{
	struct sn_options options = {&sn_command_graph, argc, argv};
	struct request request = {.view.top = SIZE_MAX};
	struct sn_graph_view *view = &request.view;
	int by = SN_GRAPH_BY_NODE;
	const struct sn_option table[] = {
	    {"output", 'o', .text = &request.output, .is_path = true},
	    {"model", .text = &view->model},
	    {"top", SN_OPTION_WHOLE(view->top, 0, TOP_MAX)},
	    {"by", SN_OPTION_CHOICE(by, "node", "type", "module")},
	    {"iterations", .flag = &view->wants_iterations},
	    {"format", SN_OPTION_CHOICE(request.form, "text", "json", "csv", "dot", "svg")},
	    {0}};
	if (!sn_options_read(&options, table))
		return options.status;
	view->by = (enum sn_graph_by)by;
	if (view->top == SIZE_MAX) /* data for programs is whole unless they ask */
		view->top = request.form == FORM_TEXT ? DEFAULT_TOP : 0;
	return sn_command_read(&options, "DB", show, &request);
}
