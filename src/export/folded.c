/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, a line "a;b;c value" for each call path with own cost. flamegraph.pl has no escape
 * for the semicolon, so one in a name becomes a colon; a line's value is in the metric's unit.
 */
#include "exporter.h"

#include "stack.h"
#include "show/tree/tree.h"

#include <stdlib.h>
#include <string.h>

/* The path to the current node: names joined by semicolons, and where each depth's part ends. */
struct path {
	char *text;
	size_t capacity;
	size_t *ends;
	uint32_t depth_capacity;
};

static int path_set(struct path *path, uint32_t depth, const char *name)
{
	if (depth >= path->depth_capacity) {
		uint32_t capacity = (depth + 1) * 2;
		size_t *ends = realloc(path->ends, capacity * sizeof(*ends));
		if (!ends)
			return -1;
		path->ends = ends;
		path->depth_capacity = capacity;
	}
	size_t at = depth == 0 ? 0 : path->ends[depth - 1], length = strlen(name);
	if (at + length + 2 > path->capacity) {
		size_t capacity = (at + length + 2) * 2;
		char *text = realloc(path->text, capacity);
		if (!text)
			return -1;
		path->text = text;
		path->capacity = capacity;
	}
	if (depth > 0)
		path->text[at++] = ';';
	for (size_t i = 0; i < length; i++)
		path->text[at + i] = name[i] == ';' ? ':' : name[i];
	path->text[at + length] = '\0';
	path->ends[depth] = at + length;
	return 0;
}

static void write_path(const struct path *path, uint32_t depth, const struct sn_stack_cut *cut,
		       FILE *out)
{
	const char *rest = path->text;
	if (sn_stack_is_cut(cut, cut->limit / 2, depth + 1)) {
		fwrite(path->text, 1, path->ends[cut->limit / 2 - 1], out);
		fputs(";" SN_STACK_CUT_NAME, out);
		rest = path->text + path->ends[depth - cut->limit / 2]; /* from its semicolon on */
	}
	fputs(rest, out);
}

static int write_tree(const struct sn_tree *tree, const struct sn_stack_cut *cut, FILE *out,
		      struct sn_error *error)
{
	struct path path = {0};
	char name[4096];
	int code = 0;
	for (uint32_t node = 0; node < tree->node_count && code == 0; node++) {
		const struct sn_tree_node *n = &tree->nodes[node];
		sn_stack_name(tree->db, n->frame, name, sizeof(name));
		double value = sn_tree_exclusive(tree, 0, node);
		if (path_set(&path, n->depth, name) != 0)
			code = sn_fail(error, SN_ERR_MEMORY, "out of memory");
		if (code != 0 || value < 0.5)
			continue;
		write_path(&path, n->depth, cut, out);
		fprintf(out, " %.0f\n", value);
	}
	free(path.text);
	free(path.ends);
	return code;
}

static int write_folded(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct sn_tree tree;
	struct sn_tree_request wanted = {
	    .grouping = SN_GROUP_AUTO, .metrics = request->metrics, .metric_count = 1};
	int code = sn_tree_init(&tree, request->db, &wanted, error);
	if (code != 0)
		return code;
	struct sn_stack_cut cut;
	code = sn_stack_cut_tree(&cut, &tree, error);
	if (code == 0)
		code = write_tree(&tree, &cut, out, error);
	if (code == 0 && request->cut)
		*request->cut = cut;
	sn_tree_release(&tree);
	return code;
}

const struct sn_exporter sn_exporter_folded = {
    "folded", "folded stacks of one metric, for flamegraph.pl and inferno", "folded", write_folded};
