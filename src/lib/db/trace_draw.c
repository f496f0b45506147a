/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of a track as pixels.
 *
 * The pyramid is descended in order of time. A group that is no wider than a pixel is painted as it
 * is; a wider one is opened, at the lowest level (there: wider than LEAF_PIXELS) into its events.
 * So no more groups of a level are opened than there are pixels, and of the events only those that
 * the window shows nearly one by one: the cost is a few steps for each pixel.
 */
#include "trace_reader.h"

#include "base/fixed_table.h"
#include "base/vec.h"

/* Contexts that are told apart within a pixel; what more come are not. */
SN_FIXED_TABLE(contexts, uint32_t, uint8_t, 6);

/* A group of events that is not wider than this is drawn as a whole: to decode a block of thousands
 * for its few, each an eighth of a pixel, is what would make some windows slow. */
#define LEAF_PIXELS 4

struct drawing {
	const struct sonde_trace *trace;
	const struct sonde_track *track;
	struct sn_pyramid_shape shape;
	uint64_t from_ns, to_ns;
	double pixel_ns;
	struct sonde_pixel *pixels;
	size_t pixel_count;
	/* the pixel being painted, and what took how much of it */
	size_t at;
	double left, right; /* of its time, from the start of the window */
	double busy_ns;
	struct contexts contexts;
	double weights[1 << 6];
	/* the block decoded last */
	struct sn_block_codec codec;
	struct sn_block block;
	uint64_t block_number;	/* UINT64_MAX: none */
	uint64_t next_start_ns; /* of the event after that block */
};

/* The pixel that is finished gets the context that took most of it; of equals, the first. */
static void settle(struct drawing *drawing)
{
	if (!drawing->contexts.count)
		return;
	struct sonde_pixel *pixel = drawing->pixels + drawing->at;
	unsigned best = 0;
	for (unsigned i = 1; i < drawing->contexts.count; i++)
		if (drawing->weights[i] > drawing->weights[best])
			best = i;
	pixel->context = drawing->contexts.keys[best];
	pixel->busy += (float)(drawing->busy_ns / drawing->pixel_ns);
	if (pixel->busy > 1)
		pixel->busy = 1;
	contexts_clear(&drawing->contexts);
	drawing->busy_ns = 0;
}

static void enter_pixel(struct drawing *drawing, size_t pixel)
{
	settle(drawing);
	drawing->at = pixel;
	drawing->left = (double)pixel * drawing->pixel_ns;
	drawing->right = (double)(pixel + 1) * drawing->pixel_ns;
}

/* `time` is within the window. */
static void enter_pixel_at(struct drawing *drawing, double time)
{
	size_t pixel = (size_t)(time / drawing->pixel_ns);
	if (pixel && time < (double)pixel * drawing->pixel_ns)
		pixel--;
	if (time >= (double)(pixel + 1) * drawing->pixel_ns)
		pixel++;
	enter_pixel(drawing, pixel < drawing->pixel_count ? pixel : drawing->pixel_count - 1);
}

static void weigh(struct drawing *drawing, uint32_t context, double weight)
{
	uint32_t before = drawing->contexts.count;
	uint32_t number = contexts_add(&drawing->contexts, context);
	if (number != SN_FIXED_TABLE_NONE)
		drawing->weights[number] =
		    weight + (number == before ? 0 : drawing->weights[number]);
}

/* [start, end) of which `busy_share` was taken, mostly by `context`; never wholly outside. */
static void paint(struct drawing *drawing, uint64_t start_ns, uint64_t end_ns, uint32_t context,
		  double busy_share, double context_share)
{
	uint64_t clipped = end_ns < drawing->to_ns ? end_ns : drawing->to_ns;
	double start = start_ns > drawing->from_ns ? (double)(start_ns - drawing->from_ns) : 0;
	double end = (double)(clipped - drawing->from_ns);
	if (start < drawing->left || start >= drawing->right)
		enter_pixel_at(drawing, start);
	for (;;) {
		double stop = end < drawing->right ? end : drawing->right;
		double busy = stop > start ? (stop - start) * busy_share : 0;
		/* an instant has a weight, so that it is seen, and takes no time */
		weigh(drawing, context, busy > 0 ? busy * context_share : 1e-3);
		drawing->busy_ns += busy;
		if (end <= drawing->right || drawing->at + 1 == drawing->pixel_count)
			return;
		start = drawing->right;
		enter_pixel(drawing, drawing->at + 1);
	}
}

static int load_block(struct drawing *drawing, uint64_t number)
{
	const struct sn_block_entry *entry;
	const unsigned char *bytes;
	if (drawing->block_number == number)
		return 0;
	if (!sn_trace_block(drawing->trace, drawing->track, number, &entry, &bytes))
		return SN_ERR_FORMAT;
	int result = sn_block_decode(&drawing->codec, entry, bytes, &drawing->block);
	drawing->block_number = result ? UINT64_MAX : number;
	drawing->next_start_ns = number + 1 < drawing->track->block_count ? entry[1].start_ns : 0;
	return result;
}

static bool is_outside(const struct drawing *drawing, uint64_t start_ns, uint64_t end_ns)
{
	return start_ns >= drawing->to_ns || end_ns < drawing->from_ns ||
	       (end_ns == drawing->from_ns && start_ns != end_ns);
}

/* Samples and counters last until the next one. */
static uint64_t end_of(const struct drawing *drawing, size_t place)
{
	const struct sn_block *block = &drawing->block;
	if (drawing->track->kind != SONDE_TRACK_SAMPLES &&
	    drawing->track->kind != SONDE_TRACK_COUNTER)
		return block->ends_ns[place];
	uint64_t next =
	    place + 1 < block->count ? block->starts_ns[place + 1] : drawing->next_start_ns;
	return next > block->starts_ns[place] ? next : block->starts_ns[place];
}

static int paint_events(struct drawing *drawing, uint64_t group)
{
	unsigned group_events = sn_pyramid_leaf_events(drawing->track->kind);
	uint64_t first = group * group_events;
	int result = load_block(drawing, first / SN_BLOCK_EVENTS);
	if (result)
		return result;
	size_t place = first % SN_BLOCK_EVENTS, last = place + group_events;
	for (; place < last && place < drawing->block.count; place++) {
		uint64_t start = drawing->block.starts_ns[place], end = end_of(drawing, place);
		if (!is_outside(drawing, start, end))
			paint(drawing, start, end, drawing->block.contexts[place], 1, 1);
	}
	return 0;
}

/* Levels are at most SN_PYRAMID_LEVELS, so this may call itself. */
static int paint_group(struct drawing *drawing, unsigned level, uint64_t group)
{
	const struct sn_summary *summary = drawing->trace->summaries +
					   drawing->track->first_summary +
					   drawing->shape.firsts[level] + group;
	if (summary->end_ns < summary->start_ns)
		return SN_ERR_FORMAT;
	if (is_outside(drawing, summary->start_ns, summary->end_ns))
		return 0;
	double width = (double)(summary->end_ns - summary->start_ns);
	if (width <= drawing->pixel_ns * (level ? 1 : LEAF_PIXELS)) {
		paint(drawing, summary->start_ns, summary->end_ns, summary->context,
		      (double)summary->busy_share / SN_PYRAMID_ONE,
		      (double)summary->context_share / SN_PYRAMID_ONE);
		return 0;
	}
	if (!level)
		return paint_events(drawing, group);
	int result = 0;
	uint64_t first = group * SN_PYRAMID_FANOUT;
	for (uint64_t i = first; i < first + SN_PYRAMID_FANOUT && !result; i++)
		if (i < drawing->shape.counts[level - 1])
			result = paint_group(drawing, level - 1, i);
	return result;
}

int sonde_trace_draw(const struct sonde_trace *trace, uint32_t track, uint64_t from_ns,
		     uint64_t to_ns, struct sonde_pixel *pixels, size_t count,
		     struct sonde_db_error *error)
{
	for (size_t i = 0; i < count; i++)
		pixels[i] = (struct sonde_pixel){SONDE_NONE, 0};
	if (!count || to_ns <= from_ns || track >= trace->track_count)
		return 0;
	struct drawing *drawing = malloc(sizeof(*drawing));
	if (!drawing)
		return sn_trace_damaged(error, SN_ERR_MEMORY);
	*drawing = (struct drawing){
	    .trace = trace,
	    .track = trace->tracks + track,
	    .from_ns = from_ns,
	    .to_ns = to_ns,
	    .pixel_ns = (double)(to_ns - from_ns) / (double)count,
	    .pixels = pixels,
	    .pixel_count = count,
	    .block_number = UINT64_MAX,
	};
	sn_pyramid_shape(drawing->track->kind, drawing->track->event_count, &drawing->shape);
	int result = drawing->shape.level_count
			 ? paint_group(drawing, drawing->shape.level_count - 1, 0)
			 : 0;
	settle(drawing);
	uint32_t context_count = sonde_db_context_count(trace->db);
	for (size_t i = 0; i < count && !result; i++)
		if (pixels[i].context != SONDE_NONE && pixels[i].context >= context_count)
			result = SN_ERR_FORMAT;
	sn_block_codec_release(&drawing->codec);
	free(drawing);
	return result ? sn_trace_damaged(error, result) : 0;
}
