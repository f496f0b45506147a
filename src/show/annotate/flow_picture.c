/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks and edges are drawn, what is said of them, and where they lie; see flow_picture.h. */
#include "flow_parts.h"

#include "annotate/equivalence.h"
#include "base/error.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "show/number.h"

#include <math.h>
#include <string.h>

#define NONE UINT32_MAX

enum { WAY_MOST = 10 /* blocks between hot ones that are drawn for their sake */ };
enum { FIRST = 3, LAST = 2, WHOLE = 8, HOT_PERCENT = 5, TOP = 70, LEAST_WIDTH = 190 };

/* ---- what is said ---- */

struct part {
	const char *text;
	double value;
};

SN_SORT_BY(sort_parts, struct part, const void *, SN_ORDER_BY(b, a, value));

/* "data cache 62%, execution 20%", and the cycles of all instructions of an execution. */
static void find_waits(const struct sn_annotated_function *function,
		       const struct sn_annotated_block *block, struct sn_flow_words *words)
{
	struct part parts[SN_CAUSE_COUNT];
	double waits = 0;
	size_t length = 0;
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++)
		parts[cause] = (struct part){sn_cause_text((enum sn_cause)cause), 0};
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct sn_insn_blame *blame = &function->instructions[i].blame;
		waits += blame->waits;
		for (uint32_t c = 0; c < blame->culprit_count; c++)
			parts[blame->culprits[c].cause].value +=
			    blame->waits * (double)blame->culprits[c].share;
	}
	sort_parts(parts, SN_CAUSE_COUNT, NULL);
	for (int i = 0; i < 2 && parts[i].value > 0.05 * waits && waits >= 1; i++)
		length += (size_t)snprintf(words->waits + length, sizeof(words->waits) - length,
					   "%s%s %s", i ? ", " : "", parts[i].text,
					   sn_number_part(parts[i].value, waits).text);
	if (block->frequency > 0 && block->count && waits > 0)
		snprintf(words->cpi, sizeof(words->cpi), "%.2f",
			 waits / block->frequency / block->count);
}

struct sn_flow_words sn_flow_words_of(const struct sn_annotated_function *function,
				      const struct sn_annotated_block *block)
{
	static const char *const marks[] = {
	    [SN_CONFIDENCE_LOW] = "?", [SN_CONFIDENCE_MEDIUM] = "~", [SN_CONFIDENCE_HIGH] = ""};
	struct sn_flow_words words = {"", "", "", ""};
	double runs = sn_annotate_runs(function, block->frequency);
	if (block->value > 0)
		snprintf(words.part, sizeof(words.part), "%s",
			 sn_number_part(block->value, function->value).text);
	if (runs >= 1)
		snprintf(words.runs, sizeof(words.runs), "%s%s", sn_number_text(runs, "1").text,
			 marks[block->confidence]);
	find_waits(function, block, &words);
	return words;
}

static bool is_shown(const struct sn_annotated_function *function,
		     const struct sn_annotated_block *block, uint32_t place)
{
	const struct sn_annotated_instruction *one = &function->instructions[block->first + place];
	return block->count <= WHOLE || place < FIRST || place + LAST >= block->count ||
	       (one->value > 0 && one->value * 100 >= HOT_PERCENT * function->value);
}

void sn_flow_each_shown(const struct sn_annotated_function *function,
			const struct sn_annotated_block *block,
			void (*put)(void *context, const struct sn_annotated_instruction *one,
				    uint32_t skipped),
			void *context)
{
	uint32_t skipped = 0;
	for (uint32_t i = 0; i < block->count; i++) {
		if (!is_shown(function, block, i)) {
			skipped++;
			continue;
		}
		if (skipped)
			put(context, NULL, skipped);
		skipped = 0;
		put(context, &function->instructions[block->first + i], 0);
	}
}

struct sn_flow_title sn_flow_title_of(const struct sn_flow_picture *picture)
{
	const struct sn_annotated_function *function = picture->function;
	const struct sonde_db *db = picture->view->db;
	const struct sonde_db_metric *metric = sonde_db_metric(db, picture->view->metric);
	struct sn_flow_title title;
	snprintf(title.text, sizeof(title.text), "%s [%s]: %s of %s, %s, %s sample%s",
		 sn_shown(function->name).text, sn_shown(sn_text_base_name(function->image)).text,
		 sn_number_part(function->value, picture->annotation->value).text,
		 sn_shown(sonde_db_string(db, metric->name)).text,
		 sn_number_text(function->value, sn_annotate_unit(picture->view)).text,
		 sn_number_counted(function->samples).text, function->samples == 1 ? "" : "s");
	return title;
}

double sn_flow_part(const struct sn_annotated_function *function, uint32_t edge)
{
	double all = 0;
	uint32_t count = 0;
	for (uint32_t other = 0; other < function->edge_count; other++)
		if (function->edges[other].from == function->edges[edge].from &&
		    !sn_flow_is_throw(&function->edges[other])) {
			all += function->edges[other].frequency;
			count++;
		}
	return count > 1 && all > 0 ? function->edges[edge].frequency / all : NAN;
}

double sn_flow_strength(const struct sn_flow_picture *picture, uint32_t edge)
{
	return picture->most > 0 ? picture->function->edges[edge].frequency / picture->most : 0;
}

bool sn_flow_is_throw(const struct sn_annotated_edge *edge)
{
	return edge->class == SN_EQUIVALENCE_NONE;
}

/* ---- which ones ---- */

struct candidate {
	uint32_t block;
	double value, frequency;
};

SN_SORT_BY(sort_candidates, struct candidate, const void *,
	   SN_ORDER_BY(b, a, value) ?: SN_ORDER_BY(b, a, frequency) ?: SN_ORDER_BY(a, b, block));

struct choosing {
	const struct sn_annotated_function *function;
	bool *is_chosen;
	uint32_t
	    *next; /* by block: the one after it on the way that is looked for; NONE: not seen */
	uint32_t *queue;
	uint32_t left; /* that may still be chosen */
};

/* The nearest chosen block from which edges lead to this one, itself perhaps; NONE: none. */
static uint32_t find_origin(struct choosing *choosing, uint32_t block)
{
	const struct sn_annotated_function *function = choosing->function;
	uint32_t count = 0;
	memset(choosing->next, 0xff, function->block_count * sizeof(*choosing->next));
	choosing->queue[count++] = block;
	choosing->next[block] = block;
	for (uint32_t at = 0; at < count; at++) {
		uint32_t here = choosing->queue[at];
		if (choosing->is_chosen[here])
			return here;
		for (uint32_t i = 0; i < function->edge_count; i++) {
			const struct sn_annotated_edge *edge = &function->edges[i];
			if (edge->to != here || choosing->next[edge->from] != NONE)
				continue;
			choosing->next[edge->from] = here;
			choosing->queue[count++] = edge->from;
		}
	}
	return NONE;
}

/* The block and those between it and the chosen ones, so that what is drawn hangs together; alone if these are too many. */
static void choose_way(struct choosing *choosing, uint32_t block)
{
	uint32_t origin = find_origin(choosing, block), length = 1;
	if (origin == NONE) {
		choosing->is_chosen[block] = true;
		choosing->left--;
		return;
	}
	for (uint32_t at = origin; at != block; at = choosing->next[at])
		length += at != origin;
	if (origin == block)
		return;
	if (length > choosing->left || length > WAY_MOST) {
		choosing->is_chosen[block] = true;
		choosing->left--;
		return;
	}
	choosing->left -= length;
	for (uint32_t at = origin; at != block; at = choosing->next[at])
		choosing->is_chosen[at] = true;
	choosing->is_chosen[block] = true;
}

static int choose(struct sn_flow_picture *picture)
{
	const struct sn_annotated_function *function = picture->function;
	uint32_t all = function->block_count, kept = all < SN_FLOW_DRAWN ? all : SN_FLOW_DRAWN;
	struct sn_arena *arena = &picture->arena;
	struct candidate *candidates = sn_arena_array(arena, struct candidate, all + 1ull);
	struct choosing choosing = {function, sn_arena_array(arena, bool, all + 1ull),
				    sn_arena_array(arena, uint32_t, all + 1ull),
				    sn_arena_array(arena, uint32_t, all + 1ull), kept};
	picture->drawn = sn_arena_array(arena, struct sn_flow_drawn, kept + 1ull);
	if (arena->failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < all; i++) {
		const struct sn_annotated_block *block = &function->blocks[i];
		candidates[i] = (struct candidate){i, block->value, block->frequency};
		if (block->start == function->start)
			choose_way(&choosing, i);
	}
	sort_candidates(candidates, all, NULL);
	for (uint32_t i = 0; i < all && choosing.left; i++)
		choose_way(&choosing, candidates[i].block);
	for (uint32_t i = 0; i < all; i++) {
		if (choosing.is_chosen[i])
			picture->drawn[picture->drawn_count++].block = i;
		else
			picture->left_value += function->blocks[i].value;
	}
	return 0;
}

static void add_edge(struct sn_flow_picture *picture, uint32_t edge, const uint32_t *drawn_of)
{
	const struct sn_annotated_edge *own = &picture->function->edges[edge];
	uint32_t from = drawn_of[own->from], to = drawn_of[own->to];
	if (from == NONE) {
		if (to != NONE)
			picture->drawn[to].left_before++;
		return;
	}
	if (to == NONE) {
		picture->drawn[from].left_out++;
		return;
	}
	picture->most = fmax(picture->most, own->frequency);
	if (from == to) {
		picture->drawn[from].has_loop = true;
		return;
	}
	picture->edges[picture->link_count] = edge;
	picture->links[picture->link_count++] = (struct sn_layered_link){from, to, false, 1};
}

static int choose_edges(struct sn_flow_picture *picture)
{
	const struct sn_annotated_function *function = picture->function;
	uint32_t *drawn_of =
	    sn_arena_array(&picture->arena, uint32_t, function->block_count + 1ull);
	picture->edges = sn_arena_array(&picture->arena, uint32_t, function->edge_count + 1ull);
	picture->links =
	    sn_arena_array(&picture->arena, struct sn_layered_link, function->edge_count + 1ull);
	if (picture->arena.failed)
		return SN_ERR_MEMORY;
	memset(drawn_of, 0xff, function->block_count * sizeof(*drawn_of));
	for (uint32_t i = 0; i < picture->drawn_count; i++)
		drawn_of[picture->drawn[i].block] = i;
	for (uint32_t edge = 0; edge < function->edge_count; edge++)
		add_edge(picture, edge, drawn_of);
	for (uint32_t i = 0; i < picture->link_count; i++)
		picture->links[i].weight = 1 + 4 * sn_flow_strength(picture, picture->edges[i]);
	return 0;
}

/* ---- where ---- */

struct extent {
	uint32_t lines;
	size_t columns;
};

static void measure_line(void *context, const struct sn_annotated_instruction *one,
			 uint32_t skipped)
{
	struct extent *extent = context;
	size_t columns = one ? sn_utf8_columns(sn_shown(one->text).text) : 12;
	(void)skipped;
	extent->lines++;
	extent->columns = columns > extent->columns ? columns : extent->columns;
}

static void measure(const struct sn_annotated_function *function, struct sn_flow_drawn *drawn)
{
	const struct sn_annotated_block *block = &function->blocks[drawn->block];
	struct sn_flow_words words = sn_flow_words_of(function, block);
	struct extent extent = {0, 0};
	sn_flow_each_shown(function, block, measure_line, &extent);
	size_t columns = extent.columns < SN_FLOW_TEXT ? extent.columns : SN_FLOW_TEXT;
	size_t waits = strlen(words.waits) + 7;
	columns += 8;
	columns = *words.waits && waits > columns ? waits : columns;
	size_t head =
	    sn_utf8_columns(words.part) + sn_utf8_columns(words.runs) + strlen(words.cpi) + 22;
	columns = head > columns ? head : columns;
	drawn->width =
	    fmax(LEAST_WIDTH, (double)columns * SN_FLOW_LETTER_TENTHS / 10) + 2 * SN_FLOW_PADDING;
	drawn->height = SN_FLOW_HEAD +
			SN_FLOW_LINE * (extent.lines + (*words.waits != 0) + (drawn->left_out > 0) +
					(drawn->left_before > 0)) +
			SN_FLOW_PADDING;
}

static int lay_out(struct sn_flow_picture *picture)
{
	static const struct sn_layered_form form = {.gap = 26,
						    .port = 16,
						    .bend = 46,
						    .tier_bend = 46,
						    .most_room = 60,
						    .margin = TOP,
						    .margin_across = 20,
						    .is_early = true};
	struct sn_layered_node *nodes =
	    sn_arena_array(&picture->arena, struct sn_layered_node, picture->drawn_count + 1ull);
	for (uint32_t i = 0; nodes && i < picture->drawn_count; i++) {
		struct sn_flow_drawn *drawn = &picture->drawn[i];
		measure(picture->function, drawn);
		nodes[i] = (struct sn_layered_node){
		    0, drawn->height, drawn->width + (drawn->has_loop ? SN_FLOW_LOOP : 0)};
	}
	return nodes ? sn_layered_lay_out(&picture->layered, nodes, picture->drawn_count,
					  picture->links, picture->link_count, &form)
		     : SN_ERR_MEMORY;
}

int sn_flow_picture_init(struct sn_flow_picture *picture, const struct sn_annotation *annotation,
			 const struct sn_annotated_function *function,
			 const struct sn_annotate_view *view)
{
	*picture =
	    (struct sn_flow_picture){.annotation = annotation, .function = function, .view = view};
	int result = choose(picture);
	result = result ? result : choose_edges(picture);
	return result ? result : lay_out(picture);
}

void sn_flow_picture_release(struct sn_flow_picture *picture)
{
	sn_layered_release(&picture->layered);
	sn_arena_release(&picture->arena);
}
