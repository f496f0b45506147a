/* SPDX-License-Identifier: Apache-2.0 */
/* Source places of instructions, from the index of stack frames. */
#include "hlo_place.h"

#include "base/buffer.h"

#include <stdlib.h>

/* The callers that are listed for an instruction. */
#define DEPTH_MAX 64

void sn_hlo_places_release(struct sn_hlo_places *places)
{
	free(places->files);
	free(places->functions);
	free(places->locations);
	free(places->frames);
	*places = (struct sn_hlo_places){0};
}

/* The location of a frame, or NULL. */
static const struct sn_hlo_location *location_of(const struct sn_hlo_places *places, uint32_t frame)
{
	uint32_t number =
	    frame && frame <= places->frame_count ? places->frames[frame - 1].location : 0;
	return number && number <= places->location_count ? places->locations + number - 1 : NULL;
}

static uint32_t element(const uint32_t *strings, size_t count, uint32_t number)
{
	return number && number <= count ? strings[number - 1] : SONDE_NONE;
}

/*
 * What to subtract from a frame's parent number. A frame comes after its callers, so its parent has
 * a smaller number. Some versions write that number plus one, which some frame then shows by having
 * a parent number not below its own.
 */
static uint32_t parent_shift(const struct sn_hlo_places *places)
{
	for (size_t i = 0; i < places->frame_count; i++)
		if (places->frames[i].parent > i)
			return 1;
	return 0;
}

/* Locations that differ only in the column are on the same line. */
static bool is_same_line(const struct sn_hlo_location *left, const struct sn_hlo_location *right)
{
	return left->file == right->file && left->line == right->line &&
	       left->function == right->function;
}

static void put_location(struct sn_buffer *text, const struct sn_db_builder *builder,
			 const struct sn_hlo_places *places, const struct sn_hlo_location *location)
{
	uint32_t file = element(places->files, places->file_count, location->file);
	if (file == SONDE_NONE)
		return;
	uint32_t function = element(places->functions, places->function_count, location->function);
	sn_buffer_print(text, "%s%s:%u %s", text->count ? " > " : "",
			sn_db_builder_text(builder, file), location->line,
			function == SONDE_NONE ? "" : sn_db_builder_text(builder, function));
}

/* All frames, outermost first, as a builder's string: "main.py:12 <module> > main.py:10 step". */
static uint32_t callers_of(struct sn_db_builder *builder, const struct sn_hlo_places *places,
			   uint32_t frame, uint32_t shift)
{
	uint32_t frames[DEPTH_MAX], count = 0;
	struct sn_buffer text = {0};
	while (frame && frame <= places->frame_count && count < DEPTH_MAX) {
		uint32_t parent = places->frames[frame - 1].parent;
		frames[count++] = frame;
		if (parent - shift >= frame)
			break;
		frame = parent - shift;
	}
	const struct sn_hlo_location *before = NULL;
	while (count) {
		const struct sn_hlo_location *location = location_of(places, frames[--count]);
		if (location && !(before && is_same_line(before, location)))
			put_location(&text, builder, places, location);
		before = location;
	}
	uint32_t callers =
	    text.count && !text.failed
		? sn_db_builder_string_n(builder, (const char *)text.bytes, text.count)
		: SONDE_NONE;
	sn_buffer_release(&text);
	return callers;
}

/* Caches the callers of frames, because most instructions share theirs. */
int sn_hlo_place(struct sn_hlo *hlo, struct sn_db_builder *builder, struct sn_hlo_places *places)
{
	uint32_t shift = parent_shift(places);
	uint32_t *known = calloc(places->frame_count + 1, sizeof(*known)); /* strings + 1 */
	if (!known)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < hlo->instruction_count; i++) {
		struct sn_hlo_instruction *instruction = hlo->instructions + i;
		const struct sn_hlo_location *location = location_of(places, instruction->frame);
		if (!location)
			continue;
		uint32_t file = element(places->files, places->file_count, location->file);
		if (file != SONDE_NONE && instruction->file == SONDE_NONE) {
			instruction->file = file;
			instruction->line = location->line;
		}
		instruction->function =
		    element(places->functions, places->function_count, location->function);
		uint32_t *callers = known + instruction->frame - 1;
		if (!*callers)
			*callers = callers_of(builder, places, instruction->frame, shift) + 1;
		instruction->callers = *callers - 1;
	}
	free(known);
	return 0;
}
