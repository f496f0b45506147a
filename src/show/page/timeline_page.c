/* SPDX-License-Identifier: Apache-2.0 */
/* Sheets and a picture as the header of a page (docs/format/html.md); see timeline_page.h. */
#include "timeline_page.h"

#include "base/output.h"
#include "base/table.h"
#include "format/measurement/measurement.h"
#include "show/label.h"
#include "viewer.h"

#include <math.h>
#include <stdlib.h>

static void put_frame(const struct sonde_db *db, uint32_t id, struct sn_json *json)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	char name[SN_LABEL_CHARS];
	sn_json_begin(json, '{');
	sn_label_name(db, SN_GROUP_AUTO, id, name);
	sn_json_put_text(json, "name", name);
	sn_label_full(db, SN_GROUP_AUTO, id, name);
	sn_json_put_text(json, "full", name);
	sn_json_put_text(json, "layer", sonde_frame_kind_layer(frame->kind));
	sn_json_put_bool(json, "backward", frame->flags & SN_FRAME_BACKWARD);
	sn_json_end(json, '}');
}

/* Frames in the order in which they are met; 0 or SN_ERR_MEMORY. */
static int put_frames(const struct sn_timeline_picture *picture, struct sn_table *numbers,
		      struct sn_json *json)
{
	sn_json_open(json, "frames", '[');
	for (size_t i = 0; i < picture->box_count; i++) {
		uint32_t frame = picture->boxes[i].frame, known = numbers->count;
		uint32_t number = sn_table_add(numbers, frame);
		if (number == SN_TABLE_NONE)
			return SN_ERR_MEMORY;
		if (number == known)
			put_frame(picture->db, frame, json);
	}
	sn_json_end(json, ']');
	return 0;
}

static void put_tracks(const struct sn_timeline_picture *picture, const struct sn_table *numbers,
		       struct sn_json *json)
{
	size_t box = 0;
	sn_json_open(json, "tracks", '[');
	for (size_t i = 0; i < picture->row_count; i++) {
		const struct sn_timeline_row *row = picture->rows + i;
		struct sn_timeline_name name = sn_timeline_name(picture->db, row->profile);
		sn_json_begin(json, '{');
		sn_json_put_text(json, "name", row->is_first ? name.text : "");
		sn_json_open(json, "boxes", '[');
		for (; box < row->end_box; box++) {
			const struct sn_timeline_box *one = picture->boxes + box;
			sn_json_number(json, one->first);
			sn_json_number(json, one->end);
			sn_json_number(json, sn_table_find(numbers, one->frame));
			sn_json_number(json, round(100 * one->busy));
		}
		sn_json_end(json, ']');
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static int put_picture(const struct sn_timeline_picture *picture, struct sn_json *json)
{
	const struct sn_timeline_window *window = &picture->window;
	struct sn_table numbers = {0};
	sn_json_open(json, "picture", '{');
	sn_json_numbers(json, {"length_ns", window->to_ns - window->from_ns},
			{"columns", window->width}, {"left_out", picture->left_out});
	int result = put_frames(picture, &numbers, json);
	if (!result)
		put_tracks(picture, &numbers, json);
	sn_json_end(json, '}');
	sn_table_release(&numbers);
	return result;
}

static int put_header(const struct sn_page *page, const char *title,
		      const struct sn_timeline_picture *picture, FILE *out)
{
	struct sn_json json = {.out = out, .is_shown = true};
	sn_json_begin(&json, '{');
	sn_json_texts(&json, {"page", "timeline"}, {"title", title},
		      {"program", sonde_db_property(picture->db, "program")});
	sn_page_shown_json(page, &json);
	int result = put_picture(picture, &json);
	sn_json_end(&json, '}');
	return ferror(out) ? SN_ERR_MEMORY : result;
}

static int write_page(const struct sn_page *page, const char *title,
		      const struct sn_timeline_picture *picture, FILE *out, struct sn_error *error)
{
	struct sn_buffer payload = {0}, columns = {0};
	char *header = NULL;
	size_t length;
	FILE *text = open_memstream(&header, &length);
	int result = text ? put_header(page, title, picture, text) : SN_ERR_MEMORY;
	if (text && fclose(text))
		result = SN_ERR_MEMORY;
	if (result) {
		sn_fail_memory(error);
	} else {
		sn_viewer_payload(&payload, header, length, &columns);
		result = sn_viewer_write(out, title, &payload, error);
	}
	sn_buffer_release(&payload);
	free(header);
	return result;
}

int sn_timeline_page(const struct sn_page *page, const char *title,
		     const struct sn_timeline_picture *picture, const char *path,
		     struct sn_error *error)
{
	struct sn_output output;
	int result = sn_output_open(&output, path, error);
	if (result)
		return result;
	FILE *out = sn_output_stream(&output);
	result = out ? write_page(page, title, picture, out, error) : sn_fail_memory(error);
	if (out)
		fclose(out);
	if (!result)
		return sn_output_commit(&output, error);
	sn_output_abandon(&output);
	return result;
}
