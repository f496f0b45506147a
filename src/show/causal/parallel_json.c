/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of parallel coordinates as data. */
#include "parallel_json.h"

#include "base/arena.h"
#include "base/parallel/parallel_bins.h"
#include "base/sort_by.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NOT_SHOWN = UINT16_MAX };

/* Bins and groups as they are shown, by code. */
struct shown_axis {
	const struct sn_parallel_scale_state *axis;
	uint64_t rows[SN_PARALLEL_CODES];
	uint16_t bin_of[SN_PARALLEL_CODES], group_of[SN_PARALLEL_CODES];
	unsigned char codes[SN_PARALLEL_CODES]; /* of bins, in their order; of "other": that */
	unsigned bin_count, group_count;
};

static uint64_t pair_rows(const struct sn_parallel *parallel, unsigned pair, unsigned first,
			  unsigned second)
{
	return parallel
	    ->pairs[(size_t)pair * SN_PARALLEL_PAIRS + (size_t)first * SN_PARALLEL_CODES + second];
}

static void count_rows(const struct sn_parallel *parallel, unsigned number,
		       struct shown_axis *shown)
{
	unsigned pair = number ? number - 1 : 0;
	for (unsigned first = 0; first < SN_PARALLEL_CODES; first++)
		for (unsigned second = 0; second < SN_PARALLEL_CODES; second++)
			shown->rows[number ? second : first] +=
			    pair_rows(parallel, pair, first, second);
}

static void add_bin(struct shown_axis *shown, unsigned code)
{
	shown->bin_of[code] = (uint16_t)shown->bin_count;
	shown->codes[shown->bin_count++] = (unsigned char)code;
}

/* ---- numbers ---- */

static void show_numbers(struct shown_axis *shown)
{
	const struct sn_parallel_scale_state *axis = shown->axis;
	enum sn_parallel_scale scale = axis->axis.scale;
	if (shown->rows[SN_PARALLEL_ZERO])
		add_bin(shown, SN_PARALLEL_ZERO);
	if (axis->has_range) {
		int64_t last = sn_parallel_place(scale, axis->greatest, axis->shift);
		for (int64_t at = sn_parallel_place(scale, axis->least, axis->shift); at <= last;
		     at++)
			add_bin(shown, (unsigned)at & (SN_PARALLEL_BINS - 1));
	}
	if (shown->rows[SN_PARALLEL_MISSING])
		add_bin(shown, SN_PARALLEL_MISSING);
	for (unsigned i = 0; i < shown->bin_count; i++) {
		unsigned group = axis->groups[shown->codes[i]];
		if (shown->group_of[group] == NOT_SHOWN)
			shown->group_of[group] = (uint16_t)shown->group_count++;
	}
}

/* The number at which a place begins. */
static double begin_of(const struct sn_parallel_scale_state *axis, int64_t place)
{
	if (axis->axis.scale == SN_PARALLEL_LINEAR)
		return ldexp((double)place, axis->shift);
	if (place > INT64_MAX >> axis->shift)
		return DBL_MAX;
	uint64_t bits = (uint64_t)place << axis->shift;
	double value;
	memcpy(&value, &bits, sizeof(value));
	return isfinite(value) ? value : DBL_MAX;
}

/* ---- categories ---- */

SN_SORT_BY(sort_codes, unsigned char, const struct shown_axis *,
	   SN_ORDER(of->rows[*b], of->rows[*a]) ?: SN_ORDER(*a, *b));

/* The most frequent of those that are groups of their own; the rest is "other". */
static void show_categories(struct shown_axis *shown)
{
	unsigned char codes[SN_PARALLEL_CODES];
	unsigned count = 0, limit = sn_parallel_limit(shown->axis);
	bool has_other = shown->rows[SN_PARALLEL_OTHER] > 0;
	for (unsigned i = 0; i < SN_PARALLEL_CATEGORIES; i++) {
		if (i < limit && shown->rows[i])
			codes[count++] = (unsigned char)i;
		has_other |= i >= limit && shown->rows[i];
	}
	sort_codes(codes, count, shown);
	has_other |= count > SN_PARALLEL_SHOWN;
	for (unsigned i = 0; i < count && i < SN_PARALLEL_SHOWN; i++)
		add_bin(shown, codes[i]);
	if (has_other)
		add_bin(shown, SN_PARALLEL_OTHER);
	for (unsigned i = 0; i < SN_PARALLEL_MISSING && has_other; i++)
		if (shown->bin_of[i] == NOT_SHOWN) {
			shown->bin_of[i] = shown->bin_of[SN_PARALLEL_OTHER];
			shown->rows[SN_PARALLEL_OTHER] += shown->rows[i];
		}
	if (shown->rows[SN_PARALLEL_MISSING])
		add_bin(shown, SN_PARALLEL_MISSING);
	shown->group_count = shown->bin_count;
	memcpy(shown->group_of, shown->bin_of, sizeof(shown->group_of));
}

static void show_axis(const struct sn_parallel *parallel, unsigned number, struct shown_axis *shown)
{
	*shown = (struct shown_axis){.axis = parallel->axes + number};
	memset(shown->bin_of, 0xff, sizeof(shown->bin_of));
	memset(shown->group_of, 0xff, sizeof(shown->group_of));
	count_rows(parallel, number, shown);
	if (shown->axis->axis.scale == SN_PARALLEL_CATEGORY)
		show_categories(shown);
	else
		show_numbers(shown);
}

/* ---- writing ---- */

static void put_category(const struct sn_parallel_names *names, unsigned code, struct sn_json *json)
{
	char number[16];
	snprintf(number, sizeof(number), "#%u", code);
	sn_json_put_text(json, "name",
			 code == SN_PARALLEL_MISSING ? "missing"
			 : code == SN_PARALLEL_OTHER ? "other"
			 : code < names->count	     ? names->texts[code]
						     : number);
}

static void put_bin(const struct shown_axis *shown, const struct sn_parallel_names *names,
		    unsigned bin, struct sn_json *json)
{
	const struct sn_parallel_scale_state *axis = shown->axis;
	enum sn_parallel_scale scale = axis->axis.scale;
	unsigned code = shown->codes[bin];
	bool is_category = scale == SN_PARALLEL_CATEGORY;
	sn_json_begin(json, '{');
	if (is_category)
		put_category(names, code, json);
	else if (code >= SN_PARALLEL_BINS)
		sn_json_put_text(json, "name", code == SN_PARALLEL_ZERO ? "0 or less" : "missing");
	else {
		int64_t least = sn_parallel_place(scale, axis->least, axis->shift);
		int64_t place = sn_parallel_decode(least, code);
		sn_json_numbers(json, {"low", begin_of(axis, place)},
				{"high", begin_of(axis, place + 1)});
	}
	sn_json_put_unsigned(json, "rows", shown->rows[code]);
	sn_json_put_number(json, "group", is_category ? bin : shown->group_of[axis->groups[code]]);
	sn_json_end(json, '}');
}

static void put_axis(const struct shown_axis *shown, const struct sn_parallel_names *names,
		     struct sn_json *json)
{
	static const char *const scales[] = {"linear", "log", "category"};
	const struct sn_parallel_axis *axis = &shown->axis->axis;
	sn_json_begin(json, '{');
	sn_json_texts(json, {"name", axis->name}, {"unit", axis->unit},
		      {"scale", scales[axis->scale]});
	sn_json_put_number(json, "group_count", shown->group_count);
	sn_json_open(json, "bins", '[');
	for (unsigned i = 0; i < shown->bin_count; i++)
		put_bin(shown, names, i, json);
	sn_json_end(json, ']');
	if (shown->axis->value_count && shown->axis->value_count <= SN_PARALLEL_VALUES) {
		sn_json_open(json, "values", '[');
		for (unsigned i = 0; i < shown->axis->value_count; i++)
			sn_json_number(json, shown->axis->values[i]);
		sn_json_end(json, ']');
	}
	sn_json_end(json, '}');
}

/* Categories that share a bin are added up; `sums` is by bins. */
static void put_pair(const struct sn_parallel *parallel, unsigned pair,
		     const struct shown_axis *shown, uint64_t *sums, struct sn_json *json)
{
	const struct shown_axis *left = shown + pair, *right = left + 1;
	memset(sums, 0, SN_PARALLEL_PAIRS * sizeof(*sums));
	for (unsigned i = 0; i < SN_PARALLEL_PAIRS; i++) {
		unsigned first = i / SN_PARALLEL_CODES, second = i % SN_PARALLEL_CODES;
		uint64_t rows = pair_rows(parallel, pair, first, second);
		if (rows)
			sums[left->bin_of[first] * SN_PARALLEL_CODES + right->bin_of[second]] +=
			    rows;
	}
	sn_json_begin(json, '[');
	for (unsigned i = 0; i < SN_PARALLEL_PAIRS; i++) {
		if (!sums[i])
			continue;
		sn_json_unsigned(json, i / SN_PARALLEL_CODES);
		sn_json_unsigned(json, i % SN_PARALLEL_CODES);
		sn_json_unsigned(json, sums[i]);
	}
	sn_json_end(json, ']');
}

SN_SORT_BY(sort_cells, struct sn_parallel_cell, const void *, SN_ORDER_BY(a, b, key));

/* With groups as they are shown, the first axis highest, and sorted: the order of the rows does not
 * show. */
static int put_cells(const struct sn_parallel *parallel, const struct shown_axis *shown,
		     struct sn_arena *arena, struct sn_json *json)
{
	uint32_t count = parallel->cells.count;
	struct sn_parallel_cell *cells = sn_arena_array(arena, struct sn_parallel_cell, count);
	if (arena->failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t key = 0;
		for (unsigned a = 0; a < parallel->count; a++)
			key = key << 8 | shown[a].group_of[parallel->cell[i].key >> (8 * a) & 0xff];
		cells[i] = (struct sn_parallel_cell){key, parallel->cell[i].rows};
	}
	sort_cells(cells, count, NULL);
	sn_json_open(json, "cells", '[');
	for (uint32_t i = 0; i < count; i++) {
		uint64_t rows = cells[i].rows;
		for (; i + 1 < count && cells[i + 1].key == cells[i].key; i++)
			rows += cells[i + 1].rows;
		for (unsigned a = parallel->count; a--;)
			sn_json_unsigned(json, cells[i].key >> (8 * a) & 0xff);
		sn_json_unsigned(json, rows);
	}
	sn_json_end(json, ']');
	return 0;
}

int sn_parallel_json(const struct sn_parallel *parallel, const struct sn_parallel_names *names,
		     struct sn_json *json)
{
	struct sn_arena arena = {0};
	struct shown_axis *shown = sn_arena_array(&arena, struct shown_axis, parallel->count);
	uint64_t *sums = sn_arena_array(&arena, uint64_t, SN_PARALLEL_PAIRS);
	int result = parallel->has_failed || arena.failed ? SN_ERR_MEMORY : 0;
	if (!result) {
		sn_json_open(json, "parallel", '{');
		sn_json_put_unsigned(json, "rows", parallel->rows);
		sn_json_open(json, "axes", '[');
		for (unsigned i = 0; i < parallel->count; i++) {
			show_axis(parallel, i, shown + i);
			put_axis(shown + i, names + i, json);
		}
		sn_json_end(json, ']');
		sn_json_open(json, "pairs", '[');
		for (unsigned i = 0; i + 1 < parallel->count; i++)
			put_pair(parallel, i, shown, sums, json);
		sn_json_end(json, ']');
		result = put_cells(parallel, shown, &arena, json);
		sn_json_end(json, '}');
	}
	sn_arena_release(&arena);
	return result;
}
