/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's file format: shared frames and, for each metric, a profile of weighted stacks. The
 * stacks are call paths in the order of the tree, not of time: Sonde's profiles hold no time order.
 */
#include "exporter.h"

#include "stack.h"
#include "format/measurement/measurement.h"
#include "show/json.h"
#include "show/tree/tree.h"

#include <stdlib.h>
#include <string.h>

static void write_frames(struct sn_json *json, const struct sonde_db *db,
			 const struct sn_groups *groups, const struct sn_stack_cut *cut)
{
	char name[4096];
	sn_json_open(json, "shared", '{');
	sn_json_open(json, "frames", '[');
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct sonde_db_frame *frame = sonde_db_frame(db, groups->frame[i]);
		bool is_python = frame->kind == SN_FRAME_PYTHON;
		uint32_t line = is_python ? frame->line : frame->function_line;
		sn_stack_name(db, groups->frame[i], name, sizeof(name));
		sn_json_begin(json, '{');
		sn_json_put_text(json, "name", name);
		if (frame->file != SONDE_NONE) {
			sn_json_put_text(json, "file", sonde_db_string(db, frame->file));
			if (line > 0) {
				sn_json_put_number(json, "line", line);
			}
		} else if (frame->module != SONDE_NONE) {
			uint32_t path = sonde_db_module(db, frame->module)->path;
			sn_json_put_text(json, "file", sonde_db_string(db, path));
		}
		sn_json_end(json, '}');
	}
	if (cut->limit > 0) { /* the frame after those of the groups */
		sn_json_begin(json, '{');
		sn_json_put_text(json, "name", SN_STACK_CUT_NAME);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
	sn_json_end(json, '}');
}

static const char *unit_of(const char *unit)
{
	if (strcmp(unit, "ns") == 0)
		return "nanoseconds";
	return strcmp(unit, "bytes") == 0 ? "bytes" : "none";
}

/* `stack` has room for the deepest node. */
static void write_samples(struct sn_json *json, const struct sn_tree *tree,
			  const struct sn_groups *groups, uint32_t metric, uint32_t *stack,
			  const struct sn_stack_cut *cut)
{
	sn_json_open(json, "samples", '[');
	for (uint32_t node = 0; node < tree->node_count; node++) {
		const struct sn_tree_node *n = &tree->nodes[node];
		stack[n->depth] = groups->of_frame[n->frame];
		if (sn_tree_exclusive(tree, metric, node) <= 0)
			continue;
		sn_json_begin(json, '[');
		for (uint32_t i = 0; i <= n->depth; i++) {
			bool is_cut = sn_stack_is_cut(cut, i, n->depth + 1);
			sn_json_number(json, is_cut ? groups->count : stack[i]);
			if (is_cut)
				i = n->depth - cut->limit / 2; /* the last one left out */
		}
		sn_json_end(json, ']');
	}
	sn_json_end(json, ']');
	sn_json_open(json, "weights", '[');
	for (uint32_t node = 0; node < tree->node_count; node++)
		if (sn_tree_exclusive(tree, metric, node) > 0)
			sn_json_number(json, sn_tree_exclusive(tree, metric, node));
	sn_json_end(json, ']');
}

static void write_profile(struct sn_json *json, const struct sn_tree *tree,
			  const struct sn_groups *groups, uint32_t position, uint32_t *stack,
			  const struct sn_stack_cut *cut)
{
	const struct sonde_db *db = tree->db;
	const struct sonde_db_metric *metric = sonde_db_metric(db, tree->metrics[position]);
	sn_json_begin(json, '{');
	sn_json_put_text(json, "type", "sampled");
	sn_json_put_text(json, "name", sonde_db_string(db, metric->name));
	sn_json_put_text(json, "unit", unit_of(sonde_db_string(db, metric->unit)));
	sn_json_put_number(json, "startValue", 0);
	sn_json_put_number(json, "endValue", sn_tree_inclusive(tree, position, 0));
	write_samples(json, tree, groups, position, stack, cut);
	sn_json_end(json, '}');
	putc('\n', json->out);
}

static void write_file(const struct sn_export_request *request, const struct sn_tree *tree,
		       const struct sn_groups *groups, uint32_t *stack,
		       const struct sn_stack_cut *cut, FILE *out)
{
	struct sn_json writer = {.out = out}, *json = &writer;
	const char *command = sonde_db_property(request->db, "command");
	sn_json_begin(json, '{');
	sn_json_put_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	sn_json_put_text(json, "exporter", "sonde@" SN_VERSION);
	sn_json_put_text(json, "name", command ? command : request->path);
	sn_json_put_number(json, "activeProfileIndex", 0);
	write_frames(json, request->db, groups, cut);
	sn_json_open(json, "profiles", '[');
	for (uint32_t m = 0; m < tree->metric_count; m++)
		write_profile(json, tree, groups, m, stack, cut);
	sn_json_end(json, ']');
	sn_json_end(json, '}');
	putc('\n', out);
}

static int write_speedscope(const struct sn_export_request *request, FILE *out,
			    struct sn_error *error)
{
	struct sn_tree tree;
	struct sn_groups groups;
	struct sn_tree_request wanted = {.grouping = SN_GROUP_AUTO,
					 .metrics = request->metrics,
					 .metric_count = request->metric_count,
					 .collapse_recursion = request->collapse_recursion};
	int code = sn_tree_init(&tree, request->db, &wanted, error);
	if (code != 0)
		return code;
	code = sn_groups_init(&groups, request->db, SN_GROUP_AUTO, error);
	struct sn_stack_cut cut;
	if (code == 0)
		code = sn_stack_cut_tree(&cut, &tree, error);
	if (code == 0) {
		uint32_t deepest = 0;
		for (uint32_t i = 0; i < tree.node_count; i++)
			deepest = tree.nodes[i].depth > deepest ? tree.nodes[i].depth : deepest;
		uint32_t *stack = malloc((deepest + 1) * sizeof(*stack));
		if (stack)
			write_file(request, &tree, &groups, stack, &cut, out);
		else
			code = sn_fail_memory(error);
		free(stack);
		if (request->cut)
			*request->cut = cut;
	}
	sn_groups_release(&groups);
	sn_tree_release(&tree);
	return code;
}

const struct sn_exporter sn_exporter_speedscope = {"speedscope", "speedscope.json",
						   write_speedscope, .collapses = true};
