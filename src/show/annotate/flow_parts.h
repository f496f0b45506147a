/* SPDX-License-Identifier: Apache-2.0 */
/* What the pictures of a function's control flow share: what is said of a block and an edge. */
#pragma once

#include "annotate_parts.h"
#include "flow_picture.h"

#include "base/text.h"

/* Of a block: its part of the function, how often it ran, cycles by instruction, and what was waited for. */
struct sn_flow_words {
	char part[40], runs[40], cpi[24], waits[128]; /* "" where nothing is known */
};
struct sn_flow_words sn_flow_words_of(const struct sn_annotated_function *function,
				      const struct sn_annotated_block *block);

/* The instructions that a box has: the first, the last and the hot ones. Calls `put` for each, and with NULL for a gap of so many. */
void sn_flow_each_shown(const struct sn_annotated_function *function,
			const struct sn_annotated_block *block,
			void (*put)(void *context, const struct sn_annotated_instruction *one,
				    uint32_t skipped),
			void *context);

/* "multiply [solver]: 38.2% of cpu-time, 1.20 s, 1,204 samples". */
struct sn_flow_title {
	char text[4 * sizeof(struct sn_shown)];
};
struct sn_flow_title sn_flow_title_of(const struct sn_flow_picture *picture);

/* An edge's part of what leaves its block, 0 to 1; NAN where that has no other. */
double sn_flow_part(const struct sn_annotated_function *function, uint32_t edge);
/* Its part of the most frequent edge. */
double sn_flow_strength(const struct sn_flow_picture *picture, uint32_t edge);
bool sn_flow_is_throw(const struct sn_annotated_edge *edge);
/* The picture as an element of a page; `links`: blocks lead to "#listing-N". */
void sn_flow_svg_element(const struct sn_flow_picture *picture, bool links, FILE *out);
/* Of the smallest boxes of text: the widths of letters, and the text's columns. */
enum {
	SN_FLOW_TEXT = 40,
	SN_FLOW_LETTER_TENTHS = 67,
	SN_FLOW_LINE = 14,
	SN_FLOW_HEAD = 22,
	SN_FLOW_PADDING = 8,
	SN_FLOW_LOOP = 30
};
