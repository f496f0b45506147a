/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callgrind's format, for KCachegrind and callgrind_annotate: for each function its own cost by
 * line, and the inclusive cost of its calls.
 *
 * The format has functions, not contexts, and its readers take a function's inclusive cost to be
 * its own cost plus that of all its calls. In a recursion that would count a cost once for every
 * level. So calls out of a context that lies inside another context of the same function are
 * written with no cost, and calls out of the outermost context are written without the own cost of
 * the inner ones: the sum over a function is then its true inclusive cost.
 */
#include "exporter.h"

#include "base/arena.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "show/tree/tree.h"

#include <math.h>

struct writer {
	FILE *out;
	const struct sonde_db *db;
	struct sn_tree tree;
	struct sn_groups groups;
	struct sn_arena arena;
	uint32_t *outermost; /* [node]: the outermost node of the same function on its path */
	double *inner;	 /* [position * node_count + node]: own cost, within this node's subtree,
			    of contexts of its parent's function whose outermost is the parent */
	uint32_t *child; /* [node]: its child on the path to the node at hand */
	uint32_t *open, *open_until; /* [group] */
	bool *name_is_known;	     /* [group] */
};

static const char *file_of(const struct writer *writer, uint32_t id)
{
	const struct sonde_db_frame *frame = sonde_db_frame(writer->db, id);
	return frame->file == SONDE_NONE ? "???" : sonde_db_string(writer->db, frame->file);
}

static void put_file(struct writer *writer, const char *key, uint32_t id)
{
	fprintf(writer->out, "%s=", key);
	sn_escape_write(writer->out, SN_ESCAPE_SHOWN, file_of(writer, id));
	putc('\n', writer->out);
}

static void put_module(struct writer *writer, const char *key, uint32_t id)
{
	const struct sonde_db_frame *frame = sonde_db_frame(writer->db, id);
	const char *path = sonde_frame_kind_name(frame->kind);
	if (frame->module != SONDE_NONE)
		path =
		    sonde_db_string(writer->db, sonde_db_module(writer->db, frame->module)->path);
	fprintf(writer->out, "%s=", key);
	sn_escape_write(writer->out, SN_ESCAPE_SHOWN, path);
	putc('\n', writer->out);
}

static void put_function(struct writer *writer, const char *key, uint32_t id)
{
	uint32_t group = writer->groups.of_frame[id];
	fprintf(writer->out, "%s=(%u)", key, group + 1);
	if (!writer->name_is_known[group]) {
		writer->name_is_known[group] = true;
		const struct sonde_db_frame *frame = sonde_db_frame(writer->db, id);
		const char *name = sonde_db_string(writer->db, frame->name);
		putc(' ', writer->out);
		if (*name)
			sn_escape_write(writer->out, SN_ESCAPE_SHOWN, name);
		else
			fprintf(writer->out, "0x%llx", (unsigned long long)frame->offset);
	}
	putc('\n', writer->out);
}

/* The frame that stands for a function: its file is the same in all of the function's blocks. */
static uint32_t first_frame(const struct writer *writer, uint32_t frame)
{
	return writer->groups.frame[writer->groups.of_frame[frame]];
}

static uint32_t line_of(const struct writer *writer, uint32_t node)
{
	return sonde_db_frame(writer->db, writer->tree.nodes[node].frame)->line;
}

static double inner_cost(const struct writer *writer, uint32_t position, uint32_t node)
{
	return writer->inner[(size_t)position * writer->tree.node_count + node];
}

static void put_call(struct writer *writer, uint32_t caller, uint32_t callee)
{
	struct sn_tree *tree = &writer->tree;
	uint32_t frame = first_frame(writer, tree->nodes[callee].frame);
	put_module(writer, "cob", frame);
	put_file(writer, "cfi", frame);
	put_function(writer, "cfn", frame);
	double count = sn_value_counted(&tree->values[0][callee])->count;
	fprintf(writer->out, "calls=%.0f %u\n%u", count > 1 ? count : 1,
		sonde_db_frame(writer->db, frame)->function_line, line_of(writer, caller));
	for (uint32_t m = 0; m < tree->metric_count; m++) {
		double cost = 0;
		if (writer->outermost[caller] == caller)
			cost = sn_tree_inclusive(tree, m, callee) - inner_cost(writer, m, callee);
		fprintf(writer->out, " %.0f", cost > 0 ? round(cost) : 0);
	}
	putc('\n', writer->out);
}

static void put_node(struct writer *writer, uint32_t node)
{
	struct sn_tree *tree = &writer->tree;
	uint32_t frame = first_frame(writer, tree->nodes[node].frame);
	put_module(writer, "ob", frame);
	put_file(writer, "fl", frame);
	put_function(writer, "fn", frame);
	fprintf(writer->out, "%u", line_of(writer, node));
	for (uint32_t m = 0; m < tree->metric_count; m++)
		fprintf(writer->out, " %.0f", round(sn_tree_exclusive(tree, m, node)));
	putc('\n', writer->out);
	for (uint32_t c = node + 1; c < tree->nodes[node].end; c = tree->nodes[c].end)
		put_call(writer, node, c);
	putc('\n', writer->out);
}

static void put_head(struct writer *writer)
{
	const char *command = sonde_db_property(writer->db, "command");
	struct sn_tree *tree = &writer->tree;
	fputs("# callgrind format\nversion: 1\ncreator: sonde " SN_VERSION "\n", writer->out);
	if (command) {
		fputs("cmd: ", writer->out);
		sn_escape_write(writer->out, SN_ESCAPE_SHOWN, command);
		putc('\n', writer->out);
	}
	fputs("positions: line\nevents:", writer->out);
	for (uint32_t m = 0; m < tree->metric_count; m++) {
		uint32_t name = sonde_db_metric(writer->db, tree->metrics[m])->name;
		putc(' ', writer->out);
		char event[256];
		sn_utf8_clean(sonde_db_string(writer->db, name), event, sizeof(event));
		for (const char *c = event; *c; c++)
			putc(*c == ' ' || *c == ':' ? '_' : *c, writer->out);
	}
	fputs("\nsummary:", writer->out);
	for (uint32_t m = 0; m < tree->metric_count; m++)
		fprintf(writer->out, " %.0f", round(sn_tree_inclusive(tree, m, 0)));
	fputs("\n\n", writer->out);
}

static void find_outermost(struct writer *writer)
{
	struct sn_tree *tree = &writer->tree;
	for (uint32_t node = 0; node < tree->node_count; node++) {
		uint32_t group = writer->groups.of_frame[tree->nodes[node].frame];
		if (node >= writer->open_until[group]) {
			writer->open[group] = node;
			writer->open_until[group] = tree->nodes[node].end;
		}
		writer->outermost[node] = writer->open[group];
	}
}

/* Books the own cost of every inner context on the outermost one's child that leads to it. */
static void book_inner_costs(struct writer *writer)
{
	struct sn_tree *tree = &writer->tree;
	for (uint32_t node = 0; node < tree->node_count; node++) {
		uint32_t outermost = writer->outermost[node];
		if (node > 0)
			writer->child[tree->nodes[node].parent] = node;
		if (outermost == node)
			continue;
		uint32_t at = writer->child[outermost];
		for (uint32_t m = 0; m < tree->metric_count; m++)
			writer->inner[(size_t)m * tree->node_count + at] +=
			    sn_tree_exclusive(tree, m, node);
	}
}

static int prepare(struct writer *writer, struct sn_error *error)
{
	size_t nodes = writer->tree.node_count, groups = writer->groups.count + 1;
	struct sn_arena *arena = &writer->arena;
	writer->outermost = sn_arena_array(arena, uint32_t, nodes);
	writer->inner = sn_arena_array(arena, double, nodes *(writer->tree.metric_count + 1));
	writer->child = sn_arena_array(arena, uint32_t, nodes);
	writer->open = sn_arena_array(arena, uint32_t, groups);
	writer->open_until = sn_arena_array(arena, uint32_t, groups);
	writer->name_is_known = sn_arena_array(arena, bool, groups);
	if (arena->failed)
		return sn_fail_memory(error);
	find_outermost(writer);
	book_inner_costs(writer);
	return 0;
}

static int write_callgrind(const struct sn_export_request *request, FILE *out,
			   struct sn_error *error)
{
	struct writer writer = {.out = out, .db = request->db};
	struct sn_tree_request wanted = {.grouping = SN_GROUP_LINE,
					 .metrics = request->metrics,
					 .metric_count = request->metric_count,
					 .fold_loops = true,
					 .fold_lines = true};
	int code = sn_tree_init(&writer.tree, request->db, &wanted, error);
	if (code != 0)
		return code;
	code = sn_groups_init(&writer.groups, request->db, SN_GROUP_FUNCTION, error);
	if (code == 0)
		code = prepare(&writer, error);
	if (code == 0) {
		put_head(&writer);
		for (uint32_t node = 0; node < writer.tree.node_count; node++)
			put_node(&writer, node);
	}
	sn_arena_release(&writer.arena);
	sn_groups_release(&writer.groups);
	sn_tree_release(&writer.tree);
	return code;
}

const struct sn_exporter sn_exporter_callgrind = {"callgrind", "callgrind", write_callgrind};
