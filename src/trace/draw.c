/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of a track as pixels.
 *
 * The pyramid is descended in order of time. A group that is no wider than a pixel is painted as it
 * is; a wider one is opened, at the lowest level into its events. A group is opened only if it is
 * wider than a pixel, so no more of a level are than there are pixels, and of the events only those
 * that the window shows one by one: the cost is a few steps for each pixel.
 */
#include "sections.h"

#define NEAR 16u /* contexts told apart within a pixel */

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
	unsigned near_count;
	uint32_t contexts[NEAR];
	double weights[NEAR];
	/* the block decoded last */
	struct sn_block_codec codec;
	struct sn_block block;
	uint64_t block_number;	/* UINT64_MAX: none */
	uint64_t next_start_ns; /* of the event after that block */
};

/* The pixel that is finished gets the context that took most of it. */
static void settle(struct drawing *drawing)
{
	unsigned best = 0;
	for (unsigned i = 1; i < drawing->near_count; i++)
		if (drawing->weights[i] > drawing->weights[best])
			best = i;
	if (drawing->near_count)
		drawing->pixels[drawing->at].context = drawing->contexts[best];
	drawing->near_count = 0;
}

static void touch(struct drawing *drawing, size_t pixel, uint32_t context, double weight,
		  double busy)
{
	if (pixel != drawing->at)
		settle(drawing);
	drawing->at = pixel;
	unsigned i = 0;
	while (i < drawing->near_count && drawing->contexts[i] != context)
		i++;
	if (i < NEAR) {
		if (i == drawing->near_count) {
			drawing->contexts[drawing->near_count++] = context;
			drawing->weights[i] = 0;
		}
		drawing->weights[i] += weight;
	}
	float *share = &drawing->pixels[pixel].busy;
	*share += (float)(busy / drawing->pixel_ns);
	if (*share > 1)
		*share = 1;
}

/* [start, end) of which `busy_share` was taken, mostly by `context`; never wholly outside. */
static void paint(struct drawing *drawing, uint64_t start_ns, uint64_t end_ns, uint32_t context,
		  double busy_share, double context_share)
{
	double start = start_ns > drawing->from_ns ? (double)(start_ns - drawing->from_ns) : 0;
	double end =
	    (double)((end_ns < drawing->to_ns ? end_ns : drawing->to_ns) - drawing->from_ns);
	size_t pixel = (size_t)(start / drawing->pixel_ns);
	for (; pixel < drawing->pixel_count; pixel++) {
		double left = (double)pixel * drawing->pixel_ns;
		double right = left + drawing->pixel_ns;
		double begin = start > left ? start : left;
		double time = (end < right ? end : right) - begin;
		/* an instant has a weight, so that it is seen, and takes no time */
		double busy = time > 0 ? time * busy_share : 0;
		touch(drawing, pixel, context, busy > 0 ? busy * context_share : 1e-3, busy);
		if (end <= right)
			return;
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
	if ((double)(summary->end_ns - summary->start_ns) <= drawing->pixel_ns) {
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
