/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes out of nodes; see graph_picture.h. */
#include "graph_picture.h"

#include "base/intern.h"
#include "base/sort.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

/* How nodes become boxes, the finest first. */
enum level { BY_NODE, BY_OUTERMOST, BY_MODULE, BY_PREFIX, BY_TYPE = BY_PREFIX + 6, LEVELS };

struct boxing {
	const struct sonde_db *db;
	const struct sonde_graph *graph;
	const struct sonde_graph_model *model;
	struct sn_intern keys; /* of boxes */
	uint32_t *box_of;      /* by node of the model */
};

static uint32_t outermost(const struct sonde_graph *graph, uint32_t node)
{
	const struct sonde_graph_node *at = sonde_graph_node(graph, node);
	while (at->parent != SONDE_NONE) {
		node = at->parent;
		at = sonde_graph_node(graph, node);
	}
	return node;
}

/* The first `parts` of "a.b.c"; all for 0. */
static size_t prefix_length(const char *path, unsigned parts)
{
	const char *end = path;
	for (unsigned i = 0; *end; end++)
		if (*end == '.' && ++i == parts)
			break;
	return (size_t)(end - path);
}

/* What nodes of one box have in common, as text; its first character is the kind: node, type,
 * module.
 */
static size_t box_key(const struct boxing *boxing, enum level level, uint32_t node, char *key,
		      size_t size)
{
	uint32_t outer = level == BY_NODE ? node : outermost(boxing->graph, node);
	if (level <= BY_OUTERMOST)
		return (size_t)snprintf(key, size, "n%u", outer);
	const struct sonde_graph_node *at = sonde_graph_node(boxing->graph, outer);
	const char *module = sonde_db_string(boxing->db, at->module);
	const char *type =
	    sonde_db_string(boxing->db, at->type != SONDE_NONE ? at->type : at->name);
	char side = at->flags & SONDE_NODE_BACKWARD ? 'b' : 'f';
	unsigned parts = level < BY_PREFIX ? 0 : (unsigned)(BY_TYPE - level);
	int length =
	    level == BY_TYPE || !*module
		? snprintf(key, size, "t%c%s", side, type)
		: snprintf(key, size, "m%c%.*s", side, (int)prefix_length(module, parts), module);
	return (size_t)length < size ? (size_t)length : size - 1;
}

/* Gives each node its box; how many boxes there are, 0 without memory. */
static uint32_t number_boxes(struct boxing *boxing, enum level level)
{
	char key[1024];
	sn_intern_release(&boxing->keys);
	for (uint32_t i = 0; i < boxing->model->node_count; i++) {
		size_t length =
		    box_key(boxing, level, boxing->model->first_node + i, key, sizeof(key));
		boxing->box_of[i] = sn_intern_add(&boxing->keys, key, length);
		if (boxing->box_of[i] == SN_INTERN_NONE)
			return 0;
	}
	return boxing->keys.count;
}

static const char *level_name(enum level level)
{
	return level == BY_NODE	       ? "node"
	       : level == BY_OUTERMOST ? "outermost node"
	       : level == BY_TYPE      ? "operator type"
				       : "module";
}

static char *name_of_box(const struct boxing *boxing, enum level level, uint32_t box,
			 const struct sonde_graph_node *node)
{
	size_t length;
	const char *key = sn_intern_at(&boxing->keys, box, &length);
	if (level <= BY_OUTERMOST)
		return strdup(sonde_db_string(boxing->db, node->name));
	return strndup(key + 2, length - 2);
}

static int fill_boxes(const struct boxing *boxing, enum level level,
		      const struct sn_graph_table *table, struct sn_graph_picture *picture)
{
	uint32_t first = boxing->model->first_node;
	for (uint32_t i = 0; i < boxing->model->node_count; i++) {
		uint32_t outer = level == BY_NODE ? first + i : outermost(boxing->graph, first + i);
		const struct sonde_graph_node *node = sonde_graph_node(boxing->graph, outer);
		struct sn_graph_box *box = picture->boxes + boxing->box_of[i];
		if (!box->node_count++) {
			box->name = name_of_box(boxing, level, boxing->box_of[i], node);
			box->detail =
			    level <= BY_OUTERMOST ? sonde_db_string(boxing->db, node->type) : "";
			box->is_backward = node->flags & SONDE_NODE_BACKWARD;
			if (!box->name)
				return SN_ERR_MEMORY;
		}
	}
	for (size_t i = 0; i < table->count; i++) {
		struct sn_graph_box *box =
		    picture->boxes + boxing->box_of[table->rows[i].node - first];
		box->cost_ns += table->rows[i].cost_ns;
		box->count += table->rows[i].time.count;
		if (box->cost_ns > picture->most_ns)
			picture->most_ns = box->cost_ns;
	}
	return 0;
}

static int fill_lines(const struct boxing *boxing, struct sn_graph_picture *picture)
{
	const struct sonde_graph_model *model = boxing->model;
	uint64_t *keys = malloc((model->edge_count + 1ull) * sizeof(*keys));
	size_t count = 0;
	picture->lines = malloc((model->edge_count + 1ull) * sizeof(*picture->lines));
	for (uint32_t i = 0; i < model->edge_count && keys; i++) {
		const struct sonde_graph_edge *edge =
		    sonde_graph_edge(boxing->graph, model->first_edge + i);
		uint32_t from = boxing->box_of[edge->from - model->first_node];
		uint32_t to = boxing->box_of[edge->to - model->first_node];
		if (from != to)
			keys[count++] = sn_table_pair(from, to);
	}
	int result = keys && picture->lines ? 0 : SN_ERR_MEMORY;
	if (!result) {
		sn_sort_u64(keys, count);
		picture->line_count = sn_sort_unique(keys, count);
	}
	for (size_t i = 0; i < picture->line_count; i++)
		picture->lines[i] =
		    (struct sn_graph_line){(uint32_t)(keys[i] >> 32), (uint32_t)keys[i]};
	free(keys);
	return result;
}

int sn_graph_picture(const struct sonde_db *db, const struct sonde_graph *graph, uint32_t model,
		     const struct sn_graph_table *table, uint32_t most,
		     struct sn_graph_picture *picture)
{
	struct boxing boxing = {.db = db, .graph = graph, .model = sonde_graph_model(graph, model)};
	*picture = (struct sn_graph_picture){0};
	boxing.box_of = malloc((boxing.model->node_count + 1ull) * sizeof(*boxing.box_of));
	if (!boxing.box_of)
		return SN_ERR_MEMORY;
	enum level level = BY_NODE;
	picture->box_count = number_boxes(&boxing, level);
	while (picture->box_count > most && level + 1 < LEVELS)
		picture->box_count = number_boxes(&boxing, ++level);
	picture->drawn_by = level_name(level);
	picture->boxes = calloc(picture->box_count + 1ull, sizeof(*picture->boxes));
	int result = picture->boxes && (picture->box_count || !boxing.model->node_count)
			 ? fill_boxes(&boxing, level, table, picture)
			 : SN_ERR_MEMORY;
	if (!result)
		result = fill_lines(&boxing, picture);
	sn_intern_release(&boxing.keys);
	free(boxing.box_of);
	return result;
}

void sn_graph_picture_release(struct sn_graph_picture *picture)
{
	for (uint32_t i = 0; i < picture->box_count && picture->boxes; i++)
		free(picture->boxes[i].name);
	free(picture->boxes);
	free(picture->lines);
	*picture = (struct sn_graph_picture){0};
}
