/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of computations; see computation.h. */
#include "computation.h"

#include "format/measurement/measurement.h"

#include <string.h>

static const char *text_of(const struct sonde_db *db, uint32_t string)
{
	return string == SONDE_NONE ? NULL : sonde_db_string(db, string);
}

/* The model of a frame's name "MODEL/NODE", and where the node's name begins in it. */
static const struct sonde_graph_model *model_of(const struct sonde_graph *graph,
						const struct sonde_db *db, const char *name,
						const char **node)
{
	const char *slash = strchr(name, '/');
	uint32_t count = graph && slash ? sonde_graph_model_count(graph) : 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_graph_model *model = sonde_graph_model(graph, i);
		const char *text = sonde_db_string(db, model->name);
		size_t length = strlen(text);
		*node = slash + 1;
		if (length == (size_t)(slash - name) && !memcmp(text, name, length))
			return model;
	}
	return NULL;
}

static uint32_t add(const struct sonde_db *db, const struct sonde_graph_node *node,
		    struct sn_computation_part *operations, uint32_t count)
{
	const char *path = text_of(db, node->module), *file = text_of(db, node->file);
	if (!path || count == SN_COMPUTATION_PARTS_MAX || (node->flags & SONDE_NODE_INPUT))
		return count;
	const char *slash = strrchr(path, '/');
	for (uint32_t i = 0; i < count; i++)
		if (operations[i].path == path && operations[i].line == node->line) {
			/* what yields the operation's result is behind what it needs for it */
			operations[i].type = sonde_db_string(db, node->type);
			return count;
		}
	operations[count] = (struct sn_computation_part){.name = slash ? slash + 1 : path,
							 .path = path,
							 .type = sonde_db_string(db, node->type),
							 .file = file,
							 .line = node->line,
							 .callers = text_of(db, node->detail)};
	return count + 1;
}

uint32_t sn_computation_parts(const struct sonde_graph *graph, const struct sonde_db *db,
			      uint32_t id, struct sn_computation_part *operations)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	const char *name = "";
	const struct sonde_graph_model *model =
	    frame->kind == SN_FRAME_GRAPH_NODE
		? model_of(graph, db, sonde_db_string(db, frame->name), &name)
		: NULL;
	uint32_t found = SONDE_NONE, count = 0;
	for (uint32_t i = 0; model && i < model->node_count; i++) {
		uint32_t number = model->first_node + i;
		const struct sonde_graph_node *node = sonde_graph_node(graph, number);
		if (node->parent == SONDE_NONE || node->parent != found) {
			if (found == SONDE_NONE && !strcmp(sonde_db_string(db, node->name), name))
				found = number;
			continue;
		}
		count = add(db, node, operations, count);
	}
	if (found == SONDE_NONE || count)
		return count;
	return add(db, sonde_graph_node(graph, found), operations, 0);
}
