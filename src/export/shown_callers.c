/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in what on a thread; see shown_callers.h. */
#include "shown_callers.h"

#include "base/vec.h"
#include "format/measurement/measurement.h"

#include <stdlib.h>

/* As in src/import/core/track_thread.c: old files have whole microseconds. */
#define TOLERANCE_NS 2000

void sn_shown_callers_begin(struct sn_shown_callers *callers)
{
	callers->count = 0;
}

void sn_shown_callers_release(struct sn_shown_callers *callers)
{
	free(callers->open);
	*callers = (struct sn_shown_callers){0};
}

/* Whether a name and a category are all there is to a frame: the rest of it no slice shows. */
static bool is_plain(const struct sonde_db_frame *frame)
{
	if (frame->module != SONDE_NONE || frame->line)
		return false;
	switch (frame->kind) {
	case SN_FRAME_PYTHON:
		return true;
	case SN_FRAME_OPERATOR:
	case SN_FRAME_GPU_API:
	case SN_FRAME_REGION:
		return frame->file == SONDE_NONE && !frame->function_line;
	default:
		return false;
	}
}

static uint32_t caller_of(struct sn_shown_callers *callers, const struct sn_walk_event *event)
{
	while (callers->count && callers->open[callers->count - 1].end_ns <= event->start_ns)
		callers->count--;
	for (size_t i = callers->count; i--;) {
		const struct sn_shown_call *open = callers->open + i;
		if (open->end_ns > event->start_ns && open->end_ns + TOLERANCE_NS >= event->end_ns)
			return open->context;
	}
	return 0;
}

int sn_shown_callers_needs_path(struct sn_shown_callers *callers, struct sn_trace_export *export,
				const struct sn_walk_event *event, bool is_device)
{
	if (event->kind == SONDE_TRACK_STATES || event->kind == SONDE_TRACK_SYSTEM)
		return 1;
	bool is_interval = event->kind == SONDE_TRACK_INTERVALS;
	if (is_device || (!is_interval && event->kind != SONDE_TRACK_INSTANTS))
		return 0;
	const struct sonde_db_context *node = sonde_db_context(export->db, event->context);
	const struct sonde_db_frame *frame = sonde_db_frame(export->db, node->frame);
	if (is_interval && sn_trace_export_is_range(export, event))
		return node->parent != 0 || !is_plain(frame);
	uint32_t caller = caller_of(callers, event);
	if (!is_interval && sn_trace_export_is_memory(export, event))
		return event->context != caller;
	if (is_interval && sn_vec_push(&callers->open, &callers->capacity, &callers->count,
				       (struct sn_shown_call){event->end_ns, event->context}))
		return SN_ERR_MEMORY;
	/* an instant is read as a region */
	return node->parent != caller || !is_plain(frame) ||
	       (!is_interval && frame->kind != SN_FRAME_REGION);
}
