/* SPDX-License-Identifier: Apache-2.0 */
/* Names of frames in other tools; see stack.h. */
#include "stack.h"

#include "base/utf8.h"
#include "format/measurement/measurement.h"
#include "show/label.h"
#include "show/tree/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sn_stack_name(const struct sonde_db *db, uint32_t id, char *text, size_t size)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	const char *raw = sonde_db_string(db, frame->name);
	char label[SN_LABEL_CHARS];
	if (*raw == '\0') {
		sn_label_name(db, SN_GROUP_AUTO, id, label);
		snprintf(text, size, "%s", label);
		return;
	}
	sn_utf8_clean(raw, text, size);
	size_t used = strlen(text);
	if (frame->kind == SN_FRAME_PYTHON && frame->file != SONDE_NONE) {
		char file[512];
		const char *base = sn_label_base(sonde_db_string(db, frame->file));
		sn_utf8_clean(base, file, sizeof(file));
		uint32_t line = frame->line ? frame->line : frame->function_line;
		snprintf(text + used, size - used, " (%s:%u)", file, line);
	} else if (frame->flags & SN_FRAME_BACKWARD) {
		snprintf(text + used, size - used, " (backward)");
	}
}

static uint64_t frames_within(const uint64_t *lengths, uint32_t count, uint32_t limit)
{
	uint64_t sum = 0;
	for (uint32_t n = 0; n < count; n++)
		sum += lengths[n] * (n < limit ? n : limit);
	return sum;
}

void sn_stack_cut_init(struct sn_stack_cut *cut, const uint64_t *lengths, uint32_t count)
{
	*cut = (struct sn_stack_cut){0};
	if (frames_within(lengths, count, UINT32_MAX) <= SN_STACK_FRAMES_MAX)
		return;
	cut->limit = UINT32_C(1) << 31;
	while (cut->limit > SN_STACK_LIMIT_LEAST &&
	       frames_within(lengths, count, cut->limit) > SN_STACK_FRAMES_MAX)
		cut->limit /= 2;
	for (uint32_t n = cut->limit + 1; n < count; n++)
		cut->paths += lengths[n];
}

int sn_stack_cut_tree(struct sn_stack_cut *cut, const struct sn_tree *tree, struct sn_error *error)
{
	uint32_t deepest = 0;
	for (uint32_t node = 0; node < tree->node_count; node++)
		deepest = tree->nodes[node].depth > deepest ? tree->nodes[node].depth : deepest;
	uint64_t *lengths = calloc(deepest + 2ull, sizeof(*lengths));
	if (!lengths)
		return sn_fail_memory(error);
	for (uint32_t m = 0; m < tree->metric_count; m++)
		for (uint32_t node = 0; node < tree->node_count; node++)
			lengths[tree->nodes[node].depth + 1] +=
			    sn_tree_exclusive(tree, m, node) > 0;
	sn_stack_cut_init(cut, lengths, deepest + 2);
	free(lengths);
	return 0;
}

bool sn_stack_is_cut(const struct sn_stack_cut *cut, uint32_t depth, uint32_t length)
{
	return cut->limit > 0 && length > cut->limit && depth >= cut->limit / 2 &&
	       depth < length - cut->limit / 2;
}
