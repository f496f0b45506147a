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

uint32_t sn_cct_copy_path(struct sn_cct *to, const struct sn_cct *from, uint32_t node,
			  uint32_t storage[SN_COPY_NODES])
{
	uint32_t depth = 0;
	for (; node != SN_NODE_ROOT; depth++) {
		if (depth == SN_COPY_NODES || node >= sn_array_count(&from->nodes))
			return SN_NODE_NONE;
		storage[depth] = node;
		node = ((const struct sn_cct_node *)sn_array_at(&from->nodes, node))->record.parent;
	}
	uint32_t copy = SN_NODE_ROOT;
	while (depth-- && copy != SN_NODE_NONE) {
		const struct sn_cct_node *source = sn_array_at(&from->nodes, storage[depth]);
		struct sn_frame frame = source->record.frame;
		if (!sn_cct_copy_frame(to, from, &frame))
			return SN_NODE_NONE;
		copy = sn_cct_child(to, copy, &frame);
	}
	return copy;
}
