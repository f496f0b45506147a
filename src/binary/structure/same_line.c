/* SPDX-License-Identifier: Apache-2.0 */
/* Places are sorted, and loops with equal ones united; see same_line.h. */
#include "same_line.h"
#include "base/vec.h"
#include "format/checksum.h"

#include <stdlib.h>
#include <string.h>

/* Code of a loop. */
struct sn_same_line_place {
	uint64_t
	    candidates; /* hash of function, line and inlined calls: equal of loops in question */
	uint32_t line, column, block;
	uint32_t depth;
	uint32_t discriminator;
	uint32_t loop;
	bool is_control; /* a branch that leaves the loop or leads back */
};

/* ---- places ---- */

static uint64_t hash_candidates(const struct sn_nest_loop *loop)
{
	struct sn_checksum state;
	const uint32_t numbers[] = {loop->function, loop->line, loop->home};
	sn_checksum_init(&state);
	sn_checksum_update(&state, numbers, sizeof(numbers));
	sn_checksum_update(&state, loop->file, strlen(loop->file));
	for (uint32_t i = 0; i + 1 < loop->home; i++) {
		const struct sn_symbol_frame *call = &loop->like->frames[i];
		const uint32_t from[] = {call->line, call->column};
		const char *name = call[1].name ? call[1].name : "";
		sn_checksum_update(&state, from, sizeof(from));
		sn_checksum_update(&state, name, strlen(name));
	}
	return sn_checksum_final(&state);
}

int sn_same_line_add(struct sn_same_line *line, const struct sn_nest_loop *loops, uint32_t index,
		     const struct sn_nest_marks *marks,
		     const struct sn_symbol_location *const *locations)
{
	const struct sn_nest_loop *loop = &loops[index];
	if (loop->line == 0 || !loop->file)
		return 0;
	if (sn_vec_reserve(&line->places, &line->place_capacity,
			   line->place_count + marks->all_count) < 0)
		return SN_ERR_MEMORY;
	uint64_t candidates = hash_candidates(loop);
	for (uint32_t i = 0; i < marks->all_count; i++) {
		const struct sn_symbol_frame *frame = sn_nest_home_frame(loop, locations[i]);
		if (!(marks->own >> i & 1) || !frame || frame->line == 0 ||
		    (frame->column == 0 && frame->block == 0))
			continue;
		line->places[line->place_count++] =
		    (struct sn_same_line_place){.candidates = candidates,
						.line = frame->line,
						.column = frame->column,
						.block = frame->block,
						.depth = loop->depth,
						.discriminator = frame->discriminator,
						.loop = index,
						.is_control = marks->controls >> i & 1};
	}
	return 0;
}

/* ---- uniting ---- */

#define COMPARE(a, b)                                                                              \
	if ((a) != (b))                                                                            \
		return (a) < (b) ? -1 : 1;

static int by_place(const void *left, const void *right)
{
	const struct sn_same_line_place *a = left, *b = right;
	COMPARE(a->candidates, b->candidates);
	COMPARE(a->line, b->line);
	COMPARE(a->column, b->column);
	COMPARE(a->block, b->block);
	COMPARE(a->depth, b->depth);
	COMPARE(a->discriminator, b->discriminator);
	COMPARE(a->loop, b->loop);
	return 0;
}

static bool is_same_place(const struct sn_same_line_place *a, const struct sn_same_line_place *b)
{
	return a->candidates == b->candidates && a->line == b->line && a->column == b->column &&
	       a->block == b->block && a->depth == b->depth;
}

/* The loop that stands for all that are one with it: the one with the smallest number. */
static uint32_t one_of(uint32_t *same, uint32_t loop)
{
	while (same[loop] != loop)
		loop = same[loop] = same[same[loop]];
	return loop;
}

static void unite(uint32_t *same, uint32_t a, uint32_t b)
{
	a = one_of(same, a);
	b = one_of(same, b);
	same[a < b ? b : a] = a < b ? a : b;
}

/* Copies that gcc makes of loops have the discriminator 0, which is thus that of any. */
static void unite_equal(struct sn_same_line *line, uint32_t *same)
{
	bool is_any = false;
	qsort(line->places, line->place_count, sizeof(*line->places), by_place);
	for (size_t i = 1; i < line->place_count; i++) {
		const struct sn_same_line_place *last = &line->places[i - 1], *at = last + 1;
		bool is_same = is_same_place(last, at);
		is_any = is_same ? is_any || last->discriminator == 0 : false;
		if (is_same && (is_any || last->discriminator == at->discriminator))
			unite(same, last->loop, at->loop);
	}
}

/* First by all places at each depth, then by those of branches at any. */
static void unite_all(struct sn_same_line *line, uint32_t *same)
{
	size_t count = 0;
	unite_equal(line, same);
	for (size_t i = 0; i < line->place_count; i++) {
		if (!line->places[i].is_control)
			continue;
		line->places[count] = line->places[i];
		line->places[count++].depth = 0;
	}
	line->place_count = count;
	unite_equal(line, same);
}

/* ---- nested ones ---- */

/* The places of a loop, before they are sorted. */
struct span {
	const struct sn_same_line_place *places;
	uint32_t count;
};

/* Whether `outer`, a branch of the loop around, is written before `inner`. */
static bool is_before(const struct sn_same_line_place *outer,
		      const struct sn_same_line_place *inner)
{
	return outer->column < inner->column ||
	       (outer->column == inner->column && outer->block != inner->block);
}

/* Whether a loop, and the one directly around it, are written as two. */
static bool are_two(struct span outer, struct span inner, uint32_t line)
{
	bool is_any = false;
	if (outer.count == 0 || inner.count == 0 ||
	    outer.places->candidates != inner.places->candidates)
		return false;
	for (uint32_t i = 0; i < outer.count; i++) {
		if (!outer.places[i].is_control || outer.places[i].line != line)
			continue;
		for (uint32_t j = 0; j < inner.count; j++) {
			if (inner.places[j].line != line)
				continue;
			if (!is_before(&outer.places[i], &inner.places[j]))
				return false;
			is_any = true;
		}
	}
	return is_any;
}

static void unite_nested(const struct sn_same_line *line, const struct sn_nest_loop *loops,
			 uint32_t count, struct span *spans, uint32_t *same)
{
	for (size_t i = 0; i < line->place_count; i++) {
		struct span *of = &spans[line->places[i].loop];
		if (of->count++ == 0)
			of->places = &line->places[i];
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t around = loops[i].parent;
		if (around != SN_FLOW_NONE && loops[around].line == loops[i].line &&
		    !are_two(spans[around], spans[i], loops[i].line))
			unite(same, i, around);
	}
}

/* ---- numbering ---- */

/* A loop of the source, by its first place. */
struct source_loop {
	struct sn_same_line_place first;
	bool is_known;
	uint32_t loop;
};

/* A loop begins where its branches are; those of its own line tell its order. */
static int compare_first(const struct sn_same_line_place *a, const struct sn_same_line_place *b,
			 const struct sn_nest_loop *loops)
{
	bool is_own_a = a->line == loops[a->loop].line, is_own_b = b->line == loops[b->loop].line;
	COMPARE(!a->is_control, !b->is_control);
	COMPARE(!is_own_a, !is_own_b);
	COMPARE(a->line, b->line);
	COMPARE(a->column, b->column);
	COMPARE(a->depth, b->depth);
	COMPARE(a->block, b->block);
	COMPARE(a->discriminator, b->discriminator);
	COMPARE(loops[a->loop].header, loops[b->loop].header);
	return 0;
}

static int by_source(const void *left, const void *right, void *loops)
{
	const struct source_loop *a = left, *b = right;
	COMPARE(!a->is_known, !b->is_known);
	COMPARE(a->first.candidates, b->first.candidates);
	return a->is_known ? compare_first(&a->first, &b->first, loops) : 0;
}

static void keep_first(struct source_loop *of, const struct sn_same_line_place *place,
		       const struct sn_nest_loop *loops)
{
	if (!of->is_known || compare_first(place, &of->first, loops) < 0)
		of->first = *place;
	of->is_known = true;
}

/* found[count] are sorted. */
static void number_found(const struct source_loop *found, size_t count, struct sn_nest_loop *loops)
{
	uint32_t number = 0;
	for (size_t i = 0; i < count && found[i].is_known; i++) {
		uint64_t candidates = found[i].first.candidates;
		bool goes_on = i > 0 && found[i - 1].first.candidates == candidates;
		bool is_followed = i + 1 < count && found[i + 1].first.candidates == candidates;
		number = goes_on ? number + 1 : 1;
		loops[found[i].loop].number = goes_on || is_followed ? number : 0;
	}
}

static void number_all(struct sn_same_line *line, struct sn_nest_loop *loops, uint32_t count,
		       uint32_t *same, struct span *spans, struct source_loop *found)
{
	for (uint32_t i = 0; i < count; i++)
		same[i] = found[i].loop = i;
	unite_nested(line, loops, count, spans, same);
	for (size_t i = 0; i < line->place_count; i++)
		keep_first(&found[line->places[i].loop], &line->places[i], loops);
	unite_all(line, same);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t one = one_of(same, i);
		if (one == i)
			continue;
		if (found[i].is_known)
			keep_first(&found[one], &found[i].first, loops);
		found[i] = (struct source_loop){.loop = i};
	}
	qsort_r(found, count, sizeof(*found), by_source, loops);
	number_found(found, count, loops);
	for (uint32_t i = 0; i < count; i++)
		loops[i].number = loops[one_of(same, i)].number;
}

int sn_same_line_number(struct sn_same_line *line, struct sn_nest_loop *loops, uint32_t count)
{
	uint32_t *same = malloc((count + 1ull) * sizeof(*same));
	struct span *spans = calloc(count + 1ull, sizeof(*spans));
	struct source_loop *found = calloc(count + 1ull, sizeof(*found));
	int result = same && spans && found ? 0 : SN_ERR_MEMORY;
	if (result == 0 && line->place_count > 0)
		number_all(line, loops, count, same, spans, found);
	line->place_count = 0;
	free(found);
	free(spans);
	free(same);
	return result;
}

void sn_same_line_release(struct sn_same_line *line)
{
	free(line->places);
	*line = (struct sn_same_line){0};
}
