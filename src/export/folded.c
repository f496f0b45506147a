/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, a line "a;b;c value" for each call path with own cost. flamegraph.pl has no escape
 * for the semicolon, so one in a name becomes a colon; a line's value is in the metric's unit.
 */
#include "exporter.h"

#include "base/buffer.h"
#include "base/vec.h"
#include "stack.h"
#include "show/tree/tree.h"

#include <stdlib.h>
#include <string.h>

/* The path to the current node: names joined by semicolons, and where each depth's part ends. */
struct path {
	struct sn_buffer text;
	size_t *ends, end_capacity;
};

static int path_set(struct path *path, uint32_t depth, const char *name)
{
	if (sn_vec_reserve(&path->ends, &path->end_capacity, depth + 1ull) < 0)
		return SN_ERR_MEMORY;
	sn_buffer_cut(&path->text, depth ? path->ends[depth - 1] : 0);
	if (depth)
		sn_buffer_byte(&path->text, ';');
	size_t length = strlen(name);
	unsigned char *room = sn_buffer_room(&path->text, length);
	for (size_t i = 0; room && i < length; i++)
		room[i] = (unsigned char)(name[i] == ';' ? ':' : name[i]);
	path->ends[depth] = path->text.count;
	return path->text.failed ? SN_ERR_MEMORY : 0;
}

static void write_path(const struct path *path, uint32_t depth, const struct sn_stack_cut *cut,
		       FILE *out)
{
	size_t rest = 0;
	if (sn_stack_is_cut(cut, cut->limit / 2, depth + 1)) {
		fwrite(path->text.bytes, 1, path->ends[cut->limit / 2 - 1], out);
		fputs(";" SN_STACK_CUT_NAME, out);
		rest = path->ends[depth - cut->limit / 2]; /* from its semicolon on */
	}
	fwrite(path->text.bytes + rest, 1, path->text.count - rest, out);
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
		code = sn_fail_code(error, path_set(&path, n->depth, name));
		if (code != 0 || value < 0.5)
			continue;
		write_path(&path, n->depth, cut, out);
		fprintf(out, " %.0f\n", value);
	}
	sn_buffer_release(&path.text);
	free(path.ends);
	return code;
}

static int write_folded(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct sn_tree tree;
	struct sn_tree_request wanted = {.grouping = SN_GROUP_AUTO,
					 .metrics = request->metrics,
					 .metric_count = 1,
					 .collapse_recursion = request->collapse_recursion};
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

const struct sn_exporter sn_exporter_folded = {"folded", "folded", write_folded, .collapses = true};
