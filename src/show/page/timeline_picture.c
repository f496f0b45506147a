/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks to rows of boxes; see timeline_picture.h. */
#include "timeline_picture.h"

#include "base/vec.h"

#include <math.h>
#include <stdio.h>

/* Neighbours of one context that differ less in how busy they are become one box. */
static const float busy_step = 0.34f;

static int add_boxes(struct sn_timeline_picture *picture, const struct sonde_pixel *pixels)
{
	size_t count = picture->window.width;
	for (size_t first = 0, end; first < count; first = end) {
		double busy = 0;
		uint32_t context = pixels[first].context;
		for (end = first; end < count && pixels[end].context == context &&
				  fabsf(pixels[end].busy - pixels[first].busy) < busy_step;
		     end++)
			busy += pixels[end].busy;
		if (context == SONDE_NONE)
			continue;
		struct sn_timeline_box box = {(uint32_t)first, (uint32_t)end,
					      sonde_db_context(picture->db, context)->frame,
					      busy / (double)(end - first)};
		if (sn_vec_push(&picture->boxes, &picture->box_capacity, &picture->box_count, box))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static bool is_drawn(const struct sonde_track *track, const struct sn_timeline_window *window)
{
	return track->kind != SONDE_TRACK_COUNTER && track->start_ns < window->to_ns &&
	       track->end_ns >= window->from_ns;
}

static int add_row(struct sn_timeline_picture *picture, const struct sonde_trace *trace,
		   uint32_t track, struct sonde_pixel *pixels, struct sn_error *error)
{
	struct sonde_db_error why;
	const struct sn_timeline_window *window = &picture->window;
	uint32_t profile = sonde_trace_track(trace, track)->profile;
	bool is_first =
	    !picture->row_count || picture->rows[picture->row_count - 1].profile != profile;
	if (sonde_trace_draw(trace, track, window->from_ns, window->to_ns, pixels, window->width,
			     &why))
		return sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	if (add_boxes(picture, pixels) ||
	    sn_vec_push(&picture->rows, &picture->row_capacity, &picture->row_count,
			(struct sn_timeline_row){profile, is_first, picture->box_count}))
		return sn_fail_memory(error);
	return 0;
}

int sn_timeline_picture(const struct sonde_db *db, const struct sonde_trace *trace,
			const struct sn_timeline_window *window,
			struct sn_timeline_picture *picture, struct sn_error *error)
{
	*picture = (struct sn_timeline_picture){.db = db, .window = *window};
	struct sonde_pixel *pixels = calloc(window->width + 1ull, sizeof(*pixels));
	int result = pixels ? 0 : sn_fail_memory(error);
	for (int of_devices = 1; of_devices >= 0; of_devices--)
		for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
			const struct sonde_track *track = sonde_trace_track(trace, i);
			unsigned kind = sonde_db_profile(db, track->profile)->kind;
			if (!is_drawn(track, window) ||
			    (kind == SONDE_PROFILE_STREAM) != of_devices)
				continue;
			if (picture->row_count < window->rows)
				result = add_row(picture, trace, i, pixels, error);
			else
				picture->left_out++;
		}
	free(pixels);
	return result;
}

void sn_timeline_picture_release(struct sn_timeline_picture *picture)
{
	free(picture->rows);
	free(picture->boxes);
	*picture = (struct sn_timeline_picture){0};
}

struct sn_timeline_name sn_timeline_name(const struct sonde_db *db, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, number);
	struct sn_timeline_name name = {""};
	size_t used = 0;
	if (profile->rank >= 0)
		used = (size_t)snprintf(name.text, sizeof(name.text), "rank %d · ",
					(int)profile->rank);
	char *rest = name.text + used;
	size_t room = sizeof(name.text) - used;
	if (profile->kind == SONDE_PROFILE_STREAM)
		snprintf(rest, room, "device %u · stream %u", profile->device, profile->stream);
	else if (profile->thread != SONDE_NONE)
		snprintf(rest, room, "%s", sonde_db_string(db, profile->thread));
	else
		snprintf(rest, room, "thread %llu", (unsigned long long)profile->tid);
	return name;
}
