/* SPDX-License-Identifier: Apache-2.0 */
/* Copies frames and paths from one thread's calling context tree to another's. */
#include "cct_copy.h"

static uint32_t copy_string(struct sn_cct *to, const struct sn_cct *from, uint32_t id)
{
	if (id >= sn_array_count(&from->strings))
		return SN_ID_NONE;
	const struct sn_cct_string *string = sn_array_at(&from->strings, id);
	return sn_cct_string(to, string->text, string->length);
}

static uint32_t copy_code(struct sn_cct *to, const struct sn_cct *from, uint32_t id)
{
	if (id >= sn_array_count(&from->codes))
		return SN_ID_NONE;
	const struct sn_cct_code *code = sn_array_at(&from->codes, id);
	const struct sn_cct_string *file = sn_array_at(&from->strings, code->record.file);
	const struct sn_cct_string *name = sn_array_at(&from->strings, code->record.name);
	return sn_cct_code(to, file->text, file->length, name->text, name->length,
			   code->record.first_line);
}

bool sn_cct_copy_frame(struct sn_cct *to, const struct sn_cct *from, struct sn_frame *frame)
{
	switch (frame->kind) {
	case SN_FRAME_NATIVE:
	case SN_FRAME_GPU_INSTRUCTION:
		return true;
	case SN_FRAME_PYTHON:
		frame->id = copy_code(to, from, frame->id);
		return frame->id != SN_ID_NONE;
	default:
		frame->id = copy_string(to, from, frame->id);
		return frame->id != SN_ID_NONE;
	}
}

/* The number of frames from below `above` down to `node`; UINT32_MAX where it is none of the tree. */
static uint32_t depth_of(const struct sn_cct *cct, uint32_t node, uint32_t above)
{
	uint32_t depth = 0;
	for (; node != above && node != SN_NODE_ROOT; depth++) {
		if (node >= sn_array_count(&cct->nodes))
			return UINT32_MAX;
		node = ((const struct sn_cct_node *)sn_array_at(&cct->nodes, node))->record.parent;
	}
	return depth;
}

void sn_copy_room_release(struct sn_copy_room *room)
{
	sn_pages_unmap(room->nodes, room->room * sizeof(*room->nodes));
	*room = (struct sn_copy_room){0};
}

static bool make_room(struct sn_copy_room *room, uint32_t wanted)
{
	uint32_t larger = room->room ? room->room : 1024;
	if (wanted <= room->room)
		return true;
	while (larger < wanted)
		larger *= 2;
	sn_copy_room_release(room);
	room->nodes = sn_pages_map(larger * sizeof(*room->nodes));
	room->room = room->nodes ? larger : 0;
	return room->nodes;
}

/* Stores the nodes of a path, innermost first; their number, or UINT32_MAX. */
static uint32_t list_path(const struct sn_cct *cct, uint32_t node, uint32_t above,
			  struct sn_copy_room *room)
{
	uint32_t depth = depth_of(cct, node, above);
	if (depth > UINT32_MAX / 2 || !make_room(room, depth))
		return UINT32_MAX;
	for (uint32_t place = 0; place < depth; place++) {
		room->nodes[place] = node;
		node = ((const struct sn_cct_node *)sn_array_at(&cct->nodes, node))->record.parent;
	}
	return depth;
}

uint32_t sn_cct_repeat_path(struct sn_cct *cct, uint32_t node, uint32_t above, uint32_t to,
			    struct sn_copy_room *room)
{
	uint32_t depth = list_path(cct, node, above, room);
	if (depth == UINT32_MAX)
		return SN_NODE_NONE;
	while (depth-- && to != SN_NODE_NONE) {
		const struct sn_cct_node *source = sn_array_at(&cct->nodes, room->nodes[depth]);
		struct sn_frame frame = source->record.frame;
		to = sn_cct_child(cct, to, &frame);
	}
	return to;
}

uint32_t sn_cct_copy_path(struct sn_cct *to, const struct sn_cct *from, uint32_t node,
			  uint64_t kinds, struct sn_copy_room *room)
{
	uint32_t depth = list_path(from, node, SN_NODE_ROOT, room), copy = SN_NODE_ROOT;
	if (depth == UINT32_MAX)
		return SN_NODE_NONE;
	while (depth-- && copy != SN_NODE_NONE) {
		const struct sn_cct_node *source = sn_array_at(&from->nodes, room->nodes[depth]);
		struct sn_frame frame = source->record.frame;
		if (!(kinds >> frame.kind & 1))
			continue;
		if (!sn_cct_copy_frame(to, from, &frame))
			return SN_NODE_NONE;
		copy = sn_cct_child(to, copy, &frame);
	}
	return copy;
}
