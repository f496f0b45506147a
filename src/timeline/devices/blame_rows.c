/* SPDX-License-Identifier: Apache-2.0 */
/* Combines shares of blame into rows: by node, caller, and chain of the program's functions. */
#include "blame_rows.h"

#include "base/error.h"
#include "base/sort_by.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "frame/user_frame.h"

#include <stdlib.h>
#include <string.h>

/* The identity of a function; frames distinguish its lines. */
struct function {
	uint32_t kind, name, place;
};

static bool is_function(const struct sonde_db_frame *frame)
{
	return frame->kind == SN_FRAME_NATIVE || frame->kind == SN_FRAME_INLINED ||
	       frame->kind == SN_FRAME_PYTHON;
}

static struct function function_of(const struct sonde_db *db, uint32_t number)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, number);
	if (!is_function(frame) || frame->name == SONDE_NONE)
		return (struct function){SN_FRAME_NONE, number, SONDE_NONE};
	bool is_python = frame->kind == SN_FRAME_PYTHON;
	return (struct function){is_python, frame->name, is_python ? frame->file : frame->module};
}

static bool is_same(struct function a, struct function b)
{
	return a.kind == b.kind && a.name == b.name && a.place == b.place;
}

uint32_t sn_blame_caller(const struct sonde_db *db, uint32_t context, uint32_t function)
{
	struct function own = function_of(db, function);
	for (; context && context != SONDE_NONE; context = sonde_db_context(db, context)->parent) {
		uint32_t number = sonde_db_context(db, context)->frame;
		const struct sonde_db_frame *frame = sonde_db_frame(db, number);
		if (is_function(frame) && sn_frame_is_program(db, frame) &&
		    !is_same(function_of(db, number), own))
			return context;
	}
	return SONDE_NONE;
}

/* ---- chains ---- */

struct chain {
	struct function function;
	uint32_t above; /* the number of the caller's chain */
};

struct row_key {
	struct function node;
	uint32_t caller, chain; /* caller: the node's frame; chain: of the program's functions */
};

struct making {
	const struct sn_node_map *nodes;
	struct sn_intern chains, keys;
	uint32_t *chain_of; /* by context; SN_INTERN_NONE: in no function of the program */
	struct sn_blame_row *rows;
	size_t capacity;
};

static int number_chains(struct making *making)
{
	const struct sonde_db *db = making->nodes->db;
	uint32_t count = sonde_db_context_count(db);
	making->chain_of = malloc((count + 1ull) * sizeof(uint32_t));
	if (!making->chain_of)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_db_context *context = sonde_db_context(db, i);
		uint32_t above = i ? making->chain_of[context->parent] : SN_INTERN_NONE;
		const struct sonde_db_frame *frame = sonde_db_frame(db, context->frame);
		struct chain chain = {function_of(db, context->frame), above}, last;
		making->chain_of[i] = above;
		if (!is_function(frame) || !sn_frame_is_program(db, frame))
			continue;
		if (above != SN_INTERN_NONE) {
			memcpy(&last, sn_intern_at(&making->chains, above, NULL), sizeof(last));
			if (is_same(last.function, chain.function))
				continue;
		}
		making->chain_of[i] = sn_intern_add(&making->chains, &chain, sizeof(chain));
		if (making->chain_of[i] == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* ---- rows ---- */

static int add_share(struct making *making, const struct sn_blame_share *share)
{
	const struct sn_node_map *nodes = making->nodes;
	struct sn_node node = sn_node_map_at(nodes, nodes->of_context[share->context]);
	bool is_code = is_function(sonde_db_frame(nodes->db, node.frame));
	struct row_key key = {function_of(nodes->db, node.frame),
			      is_code ? SONDE_NONE : node.caller, making->chain_of[share->context]};
	uint32_t number = sn_intern_item(&making->keys, &key, sizeof(key), &making->rows,
					 &making->capacity, {.context = share->context});
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	struct sn_blame_row *row = making->rows + number;
	row->time_ns += share->time_ns;
	if (share->time_ns > row->largest_ns) {
		row->largest_ns = share->time_ns;
		row->context = share->context;
	}
	return 0;
}

SN_SORT_BY(sort_rows, struct sn_blame_row, const void *,
	   SN_ORDER(b->time_ns, a->time_ns) ?: SN_ORDER(a->context, b->context));

struct sn_blame_row *sn_blame_rows(const struct sn_node_map *nodes, const struct sn_blame *blames,
				   size_t blame_count, size_t *count)
{
	struct making making = {
	    .nodes = nodes, .rows = malloc(sizeof(*making.rows)), .capacity = 1};
	int result = making.rows ? number_chains(&making) : SN_ERR_MEMORY;
	for (size_t i = 0; i < blame_count && !result; i++)
		for (size_t k = 0; k < blames[i].count && !result; k++)
			result = add_share(&making, blames[i].shares + k);
	*count = making.keys.count;
	if (result) {
		free(making.rows);
		making.rows = NULL;
	} else {
		sort_rows(making.rows, *count, NULL);
	}
	sn_intern_release(&making.chains);
	sn_intern_release(&making.keys);
	free(making.chain_of);
	return making.rows;
}
