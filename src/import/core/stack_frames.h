/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The "stackFrames" of Chrome's JSON: {"5": {"name": ..., "category": ..., "parent": "4"}, ...},
 * numbers or texts by which samples ("sf") name call paths. A frame may have "file" and "line", and
 * as category a kind of frame.
 */
#pragma once

#include "base/intern.h"
#include "format/database/database_writer.h"
#include "import/json/json_window.h"

struct sn_stack_frame {
	uint32_t parent;  /* number, or SONDE_NONE */
	uint32_t frame;	  /* builder's; SONDE_NONE: only referred to */
	uint32_t context; /* builder's, once asked for; SONDE_NONE before */
};

/* All zeroes is empty. */
struct sn_stack_frames {
	struct sn_intern keys;
	struct sn_stack_frame *frames;
	size_t capacity;
};

/* Reads the object's text. 0, SN_ERR_MEMORY, or SN_ERR_FORMAT if it is no such object. */
int sn_stack_frames_parse(struct sn_stack_frames *frames, struct sn_json_text object,
			  struct sn_db_builder *builder);
/* The context of a call path; 0, the root, if the path is not known. */
uint32_t sn_stack_frames_context(struct sn_stack_frames *frames, const struct sn_json_value *key,
				 struct sn_db_builder *builder);
void sn_stack_frames_release(struct sn_stack_frames *frames);
