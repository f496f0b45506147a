/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The literal that Hatchet's GraphFrame.from_literal takes, as JSON: nested {"frame", "metrics",
 * "children"}. A metric is exclusive under its name and inclusive under "NAME (inc)"; the first
 * metric is there once more as "time", which Hatchet's own functions look at unless told otherwise.
 */
#include "exporter.h"

#include "stack.h"
#include "show/json.h"
#include "show/tree/view.h"

#include <stdio.h>

static void write_pair(struct sn_json *json, const char *name, const struct sn_tree_value *value)
{
	char key[512];
	snprintf(key, sizeof(key), "%.480s (inc)", name);
	sn_json_put_number(json, name, value->exclusive.sum);
	sn_json_put_number(json, key, value->inclusive.sum);
}

static void write_frame(struct sn_json *json, const struct sonde_db *db, uint32_t id)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	char name[4096];
	sn_stack_name(db, id, name, sizeof(name));
	sn_json_open(json, "frame", '{');
	sn_json_put_text(json, "name", name);
	sn_json_put_text(json, "type", sonde_frame_kind_name(frame->kind));
	sn_json_put_text(json, "file", sonde_db_string(db, frame->file));
	sn_json_put_number(json, "line", frame->line);
	sn_json_put_text(json, "module",
			 frame->module == SONDE_NONE
			     ? ""
			     : sonde_db_string(db, sonde_db_module(db, frame->module)->path));
	sn_json_end(json, '}');
}

/* Empty values are null, which pandas takes for NaN. */
static void write_formulas(struct sn_json *json, const struct sn_view *view,
			   const struct sn_tree *tree, uint32_t node)
{
	struct sn_tree_value values[SN_COLUMNS_MAX];
	struct sn_derived derived[SN_FORMULAS_SHOWN_MAX];
	if (view->formula_count == 0)
		return;
	for (uint32_t m = 0; m < tree->metric_count; m++)
		values[m] = tree->values[m][node];
	sn_view_derive(view, values,
		       tree->across ? &tree->across[(size_t)node * tree->metric_count] : NULL,
		       derived);
	for (uint32_t f = 0; f < view->formula_count; f++) {
		char key[512];
		const double both[] = {derived[f].exclusive, derived[f].inclusive};
		for (int i = 0; i < 2; i++) {
			snprintf(key, sizeof(key), "%.480s%s", view->formulas[f]->name,
				 i ? " (inc)" : "");
			sn_json_put_known(json, key, both[i]);
		}
	}
}

/* Everything of a node up to the bracket that begins its children. */
static void begin_node(struct sn_json *json, const struct sn_view *view, const struct sn_tree *tree,
		       uint32_t node)
{
	sn_json_begin(json, '{');
	write_frame(json, tree->db, tree->nodes[node].frame);
	sn_json_open(json, "metrics", '{');
	write_pair(json, "time", &tree->values[0][node]);
	for (uint32_t m = 0; m < view->metric_count; m++) {
		uint32_t name = sonde_db_metric(tree->db, tree->metrics[m])->name;
		write_pair(json, sonde_db_string(tree->db, name), &tree->values[m][node]);
	}
	write_formulas(json, view, tree, node);
	sn_json_end(json, '}');
	sn_json_open(json, "children", '[');
}

static int write_hatchet(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct sn_tree tree;
	struct sn_view view = {.db = request->db,
			       .kind = SN_VIEW_TOP_DOWN,
			       .metrics = request->metrics,
			       .metric_count = request->metric_count,
			       .hidden_count = request->hidden_count,
			       .formulas = request->formulas,
			       .formula_count = request->formula_count};
	int code = sn_view_tree(&view, SN_GROUP_AUTO, &tree, error);
	if (code != 0)
		return code;
	struct sn_json json = {.out = out};
	sn_json_begin(&json, '[');
	for (uint32_t node = 0; node < tree.node_count; node++) {
		begin_node(&json, &view, &tree, node);
		uint32_t depth = tree.nodes[node].depth;
		uint32_t next_depth = node + 1 < tree.node_count ? tree.nodes[node + 1].depth : 0;
		for (uint32_t i = next_depth; i <= depth; i++) {
			sn_json_end(&json, ']');
			sn_json_end(&json, '}');
		}
	}
	sn_json_end(&json, ']');
	putc('\n', out);
	sn_tree_release(&tree);
	return 0;
}

const struct sn_exporter sn_exporter_hatchet = {"hatchet", "hatchet.json", write_hatchet, true};
