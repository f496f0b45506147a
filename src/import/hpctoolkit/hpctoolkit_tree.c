/* SPDX-License-Identifier: Apache-2.0 */
/* HPCToolkit's contexts as frames of Sonde. */
#include "hpctoolkit_tree.h"

#include "base/text.h"
#include "base/vec.h"
#include "format/measurement/measurement.h"

#include <stdio.h>
#include <stdlib.h>

void sn_hpct_tree_release(struct sn_hpct_tree *tree)
{
	free(tree->kinds);
	tree->kinds = NULL;
	tree->kind_capacity = 0;
}

static unsigned kind_of(const struct sn_hpct_tree *tree, uint32_t context)
{
	return context < tree->kind_capacity ? tree->kinds[context] : SN_FRAME_NONE;
}

unsigned sn_hpct_tree_called_kind(const struct sn_hpct_tree *tree, uint32_t parent, bool is_gpu)
{
	if (!is_gpu)
		return SN_FRAME_NATIVE;
	return kind_of(tree, parent) == SN_FRAME_GPU_OP ? SN_FRAME_KERNEL : SN_FRAME_GPU_FUNCTION;
}

bool sn_hpct_tree_is_gpu(const struct sn_hpct_tree *tree, uint32_t context)
{
	switch (kind_of(tree, context)) {
	case SN_FRAME_KERNEL:
	case SN_FRAME_GPU_FUNCTION:
	case SN_FRAME_GPU_LOOP:
	case SN_FRAME_GPU_LINE:
		return true;
	default:
		return false;
	}
}

uint32_t sn_hpct_tree_add(struct sn_hpct_tree *tree, uint32_t parent, struct sonde_db_frame frame)
{
	uint32_t context = sn_db_builder_context(tree->builder, parent,
						 sn_db_builder_frame(tree->builder, &frame));
	if (context == SONDE_NONE ||
	    sn_vec_reserve_zeroed(&tree->kinds, &tree->kind_capacity, (size_t)context + 1) < 0)
		return SONDE_NONE;
	tree->kinds[context] = frame.kind;
	return context;
}

static struct sonde_db_frame empty_frame(unsigned kind)
{
	return (struct sonde_db_frame){.kind = (uint8_t)kind,
				       .name = SONDE_NONE,
				       .linkage_name = SONDE_NONE,
				       .module = SONDE_NONE,
				       .file = SONDE_NONE};
}

struct sonde_db_frame sn_hpct_frame_named(struct sn_hpct_tree *tree, unsigned kind,
					  const char *name)
{
	struct sonde_db_frame frame = empty_frame(kind);
	frame.name = sn_db_builder_string(tree->builder, name);
	return frame;
}

struct sonde_db_frame sn_hpct_frame_function(const struct sn_hpct_tree *tree, uint32_t parent,
					     enum sn_hpct_relation relation,
					     const struct sn_hpct_function *function)
{
	struct sonde_db_frame frame = empty_frame(
	    relation == SN_HPCT_INLINED ? SN_FRAME_INLINED
					: sn_hpct_tree_called_kind(tree, parent, function->is_gpu));
	frame.flags = SN_FRAME_ENTRY;
	frame.name = function->name;
	frame.module = function->module;
	frame.offset = function->offset;
	frame.file = function->file;
	frame.function_line = function->line;
	return frame;
}

/* "loop at solver.c:12", "solver.c:12": the name that reports show. */
static uint32_t name_place(struct sn_hpct_tree *tree, const struct sn_hpct_place *place,
			   bool is_loop)
{
	char name[400], line[16] = "";
	const char *file = sn_db_builder_text(tree->builder, place->file);
	const char *base = sn_text_base_name(file);
	if (place->line)
		snprintf(line, sizeof(line), ":%u", place->line);
	snprintf(name, sizeof(name), "%s%.255s%s", is_loop ? "loop at " : "", *base ? base : file,
		 line);
	return sn_db_builder_string(tree->builder, name);
}

struct sonde_db_frame sn_hpct_frame_place(struct sn_hpct_tree *tree, unsigned kind,
					  enum sn_hpct_relation relation,
					  const struct sn_hpct_place *place)
{
	struct sonde_db_frame frame = empty_frame(kind);
	bool is_loop = kind == SN_FRAME_LOOP || kind == SN_FRAME_GPU_LOOP;
	bool is_line = kind == SN_FRAME_LINE || kind == SN_FRAME_GPU_LINE;
	frame.flags = relation == SN_HPCT_NESTED ? 0 : SN_FRAME_CALLED;
	frame.module = place->module;
	frame.offset = place->offset;
	frame.file = place->file;
	if (is_loop)
		frame.function_line = place->line;
	else
		frame.line = place->line;
	if (place->file != SONDE_NONE && (is_loop || is_line))
		frame.name = name_place(tree, place, is_loop);
	return frame;
}

uint32_t sn_hpct_tree_entry(struct sn_hpct_tree *tree, const char *name, unsigned kind)
{
	static const char *const letters[] = {NULL, "| Main  ", "| Thread"};
	struct sonde_db_frame frame = sn_hpct_frame_named(tree, SN_FRAME_THREAD, name);
	frame.linkage_name = sn_db_builder_string(tree->builder, kind < 3 ? letters[kind] : NULL);
	return sn_hpct_tree_add(tree, 0, frame);
}

uint32_t sn_hpct_tree_unknown(struct sn_hpct_tree *tree, uint32_t parent)
{
	return sn_hpct_tree_add(tree, parent, empty_frame(SN_FRAME_NATIVE));
}

uint32_t sn_hpct_tree_function(struct sn_hpct_tree *tree, uint32_t parent,
			       enum sn_hpct_relation relation,
			       const struct sn_hpct_function *function)
{
	return sn_hpct_tree_add(tree, parent,
				sn_hpct_frame_function(tree, parent, relation, function));
}

static uint32_t add_place(struct sn_hpct_tree *tree, uint32_t parent, unsigned kind,
			  enum sn_hpct_relation relation, const struct sn_hpct_place *place)
{
	return sn_hpct_tree_add(tree, parent, sn_hpct_frame_place(tree, kind, relation, place));
}

uint32_t sn_hpct_tree_loop(struct sn_hpct_tree *tree, uint32_t parent,
			   enum sn_hpct_relation relation, const struct sn_hpct_place *place)
{
	return add_place(tree, parent, place->is_gpu ? SN_FRAME_GPU_LOOP : SN_FRAME_LOOP, relation,
			 place);
}

uint32_t sn_hpct_tree_line(struct sn_hpct_tree *tree, uint32_t parent,
			   enum sn_hpct_relation relation, const struct sn_hpct_place *place)
{
	return add_place(tree, parent, place->is_gpu ? SN_FRAME_GPU_LINE : SN_FRAME_LINE, relation,
			 place);
}

uint32_t sn_hpct_tree_instruction(struct sn_hpct_tree *tree, uint32_t parent,
				  const struct sn_hpct_place *place)
{
	return add_place(tree, parent, sn_hpct_tree_called_kind(tree, parent, place->is_gpu),
			 SN_HPCT_NESTED, place);
}

uint32_t sn_hpct_tree_hidden(struct sn_hpct_tree *tree, uint32_t parent, uint64_t number)
{
	struct sn_hpct_place place = {.module = SONDE_NONE, .offset = number, .file = SONDE_NONE};
	return add_place(tree, parent, SN_FRAME_LINE, SN_HPCT_NESTED, &place);
}
