/* SPDX-License-Identifier: Apache-2.0 */
/* Counting rows in bins that grow with their range; see parallel.h. */
#include "parallel_bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HALVED_MOST = 7 };
/* The least exponent of a double's lowest bit. */
enum { LEAST_SHIFT = -1074 };

typedef unsigned char map[SN_PARALLEL_CODES];

int64_t sn_parallel_place(enum sn_parallel_scale scale, double value, int shift)
{
	if (scale == SN_PARALLEL_LINEAR)
		return (int64_t)floor(ldexp(value, -shift));
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return shift < 64 ? (int64_t)(bits >> shift) : 0;
}

struct sn_parallel *sn_parallel_new(const struct sn_parallel_axis *axes, unsigned count)
{
	struct sn_parallel *parallel = calloc(1, sizeof(*parallel));
	if (!parallel)
		return NULL;
	parallel->count = count;
	parallel->pairs = calloc((size_t)(count - 1) * SN_PARALLEL_PAIRS, sizeof(*parallel->pairs));
	parallel->spare = malloc(SN_PARALLEL_PAIRS * sizeof(*parallel->spare));
	/* one more, which makes groups larger */
	parallel->cell = malloc((SN_PARALLEL_CELLS + 1) * sizeof(*parallel->cell));
	if (!parallel->pairs || !parallel->spare || !parallel->cell) {
		sn_parallel_free(parallel);
		return NULL;
	}
	for (unsigned i = 0; i < count; i++)
		parallel->axes[i].axis = axes[i];
	return parallel;
}

void sn_parallel_free(struct sn_parallel *parallel)
{
	if (!parallel)
		return;
	sn_table_release(&parallel->cells);
	free(parallel->pairs);
	free(parallel->spare);
	free(parallel->cell);
	free(parallel);
}

/* ---- changing codes ---- */

static void map_pairs(struct sn_parallel *parallel, unsigned axis, const map codes)
{
	for (unsigned pair = axis ? axis - 1 : 0; pair <= axis && pair + 1 < parallel->count;
	     pair++) {
		uint64_t *counts = parallel->pairs + (size_t)pair * SN_PARALLEL_PAIRS;
		memcpy(parallel->spare, counts, SN_PARALLEL_PAIRS * sizeof(*counts));
		memset(counts, 0, SN_PARALLEL_PAIRS * sizeof(*counts));
		for (unsigned i = 0; i < SN_PARALLEL_PAIRS; i++) {
			unsigned first = i / SN_PARALLEL_CODES, second = i % SN_PARALLEL_CODES;
			if (pair == axis)
				first = codes[first];
			else
				second = codes[second];
			counts[first * SN_PARALLEL_CODES + second] += parallel->spare[i];
		}
	}
}

/* Keys differ in few bits of each byte, which a multiplication alone would not spread. */
static uint64_t mix(uint64_t key)
{
	key *= UINT64_C(0xff51afd7ed558ccd);
	return key ^ key >> 32;
}

static void add_cell(struct sn_parallel *parallel, uint64_t key, uint64_t rows)
{
	uint32_t known = parallel->cells.count;
	uint32_t number = sn_table_add(&parallel->cells, mix(key));
	if (number == SN_TABLE_NONE)
		parallel->has_failed = true;
	else if (number == known)
		parallel->cell[number] = (struct sn_parallel_cell){key, rows};
	else
		parallel->cell[number].rows += rows;
}

static uint64_t map_key(uint64_t key, unsigned axis, const map codes)
{
	unsigned at = 8 * axis;
	return (key & ~(UINT64_C(0xff) << at)) | (uint64_t)codes[key >> at & 0xff] << at;
}

/* In place: there are never more cells than before. */
static void map_cells(struct sn_parallel *parallel, unsigned axis, const map codes)
{
	uint32_t count = parallel->cells.count;
	sn_table_clear(&parallel->cells);
	for (uint32_t i = 0; i < count; i++) {
		struct sn_parallel_cell cell = parallel->cell[i];
		add_cell(parallel, map_key(cell.key, axis, codes), cell.rows);
	}
}

/* What codes of places become when these are 2^by as wide. `least` is the place of the least number
 * before. */
static void make_map(map codes, int64_t least, int by)
{
	for (unsigned i = 0; i < SN_PARALLEL_CODES; i++) {
		int64_t place = sn_parallel_decode(least, i) >> (by < 63 ? by : 63);
		codes[i] =
		    (unsigned char)(i < SN_PARALLEL_BINS ? (uint64_t)place & (SN_PARALLEL_BINS - 1)
							 : i);
	}
}

/* ---- ranges ---- */

/* The finest shift at which the place of a number is a whole number that can be told. */
static int finest_shift(enum sn_parallel_scale scale, double value)
{
	if (scale == SN_PARALLEL_LOG)
		return 0;
	int shift = value != 0 ? ilogb(value) - 52 : LEAST_SHIFT;
	return shift > LEAST_SHIFT ? shift : LEAST_SHIFT;
}

/* The least shift with which both ends lie within the bins. */
static int find_shift(enum sn_parallel_scale scale, double least, double greatest)
{
	int shift = finest_shift(scale, fmax(fabs(least), fabs(greatest)));
	double half = greatest / 2 - least / 2;
	/* with narrower ones than this 64 would not do */
	if (scale == SN_PARALLEL_LINEAR && half > 0 && shift < ilogb(half) + 1 - 6)
		shift = ilogb(half) + 1 - 6;
	while (sn_parallel_place(scale, greatest, shift) - sn_parallel_place(scale, least, shift) >=
	       SN_PARALLEL_BINS)
		shift++;
	return shift;
}

/* What follows from the range, the shifts and the limit. */
static void prepare(struct sn_parallel_scale_state *axis)
{
	bool is_category = axis->axis.scale == SN_PARALLEL_CATEGORY;
	unsigned limit = sn_parallel_limit(axis);
	int64_t least =
	    axis->has_range ? sn_parallel_place(axis->axis.scale, axis->least, axis->shift) : 0;
	axis->factor = abs(axis->shift) < 1000 ? ldexp(1, -axis->shift) : 0;
	for (unsigned i = 0; i < SN_PARALLEL_CODES; i++)
		axis->groups[i] =
		    (unsigned char)(is_category ? (i < limit || i == SN_PARALLEL_MISSING
						       ? i
						       : SN_PARALLEL_OTHER)
				    : i < SN_PARALLEL_BINS
					? (uint64_t)(sn_parallel_decode(least, i) >> axis->more) &
					      (SN_PARALLEL_BINS - 1)
					: i);
}

static void set_shift(struct sn_parallel *parallel, unsigned number, int shift, int more)
{
	struct sn_parallel_scale_state *axis = parallel->axes + number;
	enum sn_parallel_scale scale = axis->axis.scale;
	int by = shift - axis->shift, cells_by = by + more - axis->more;
	map codes;
	if (by) {
		make_map(codes, sn_parallel_place(scale, axis->least, axis->shift), by);
		map_pairs(parallel, number, codes);
	}
	if (cells_by) {
		make_map(codes, sn_parallel_place(scale, axis->least, axis->shift + axis->more),
			 cells_by);
		map_cells(parallel, number, codes);
	}
	axis->shift = shift;
	axis->more = more;
}

static void extend(struct sn_parallel *parallel, unsigned number, double value)
{
	struct sn_parallel_scale_state *axis = parallel->axes + number;
	enum sn_parallel_scale scale = axis->axis.scale;
	if (!axis->has_range) {
		axis->has_range = true;
		axis->least = axis->greatest = value;
		axis->shift = finest_shift(scale, value);
		axis->more = 0;
		prepare(axis);
		return;
	}
	double least = fmin(axis->least, value), greatest = fmax(axis->greatest, value);
	int shift = find_shift(scale, least, greatest);
	int more = axis->more - (shift - axis->shift);
	set_shift(parallel, number, shift, more > 0 ? more : 0);
	axis->least = least;
	axis->greatest = greatest;
	prepare(axis);
}

/* ---- groups ---- */

static void halve_groups(struct sn_parallel *parallel, unsigned number)
{
	struct sn_parallel_scale_state *axis = parallel->axes + number;
	if (axis->axis.scale != SN_PARALLEL_CATEGORY) {
		set_shift(parallel, number, axis->shift, axis->more + 1);
		prepare(axis);
		return;
	}
	axis->more++;
	prepare(axis);
	map_cells(parallel, number, axis->groups);
}

/* Which axis to halve next goes by how often each was, not by the rows, so that the order of the
 * rows does not matter: the one that could have most groups. */
static unsigned next_to_halve(const struct sn_parallel *parallel)
{
	unsigned best = 0, best_levels = 0;
	for (unsigned i = 0; i < parallel->count; i++) {
		const struct sn_parallel_scale_state *axis = parallel->axes + i;
		unsigned levels = axis->axis.scale == SN_PARALLEL_CATEGORY
				      ? sn_parallel_limit(axis)
				      : (unsigned)SN_PARALLEL_BINS >> axis->more;
		if (axis->more < HALVED_MOST && levels >= best_levels) {
			best = i;
			best_levels = levels;
		}
	}
	return best_levels ? best : parallel->count;
}

static void make_room(struct sn_parallel *parallel)
{
	while (parallel->cells.count > SN_PARALLEL_CELLS && !parallel->has_failed) {
		unsigned number = next_to_halve(parallel);
		if (number == parallel->count)
			parallel->has_failed = true;
		else
			halve_groups(parallel, number);
	}
}

/* ---- rows ---- */

static unsigned code_of(const struct sn_parallel_scale_state *axis, double value)
{
	enum sn_parallel_scale scale = axis->axis.scale;
	if (!isfinite(value))
		return SN_PARALLEL_MISSING;
	if (scale == SN_PARALLEL_CATEGORY)
		return value < 0			? SN_PARALLEL_MISSING
		       : value < SN_PARALLEL_CATEGORIES ? (unsigned)value
							: SN_PARALLEL_OTHER;
	if (scale == SN_PARALLEL_LOG && value <= 0)
		return SN_PARALLEL_ZERO;
	int64_t place = scale == SN_PARALLEL_LINEAR && axis->factor > 0
			    ? (int64_t)floor(value * axis->factor)
			    : sn_parallel_place(scale, value, axis->shift);
	return (unsigned)place & (SN_PARALLEL_BINS - 1);
}

static void widen(struct sn_parallel *parallel, unsigned number, double value)
{
	const struct sn_parallel_scale_state *axis = parallel->axes + number;
	enum sn_parallel_scale scale = axis->axis.scale;
	bool is_placed = isfinite(value) && scale != SN_PARALLEL_CATEGORY &&
			 (scale == SN_PARALLEL_LINEAR || value > 0);
	if (is_placed && !(axis->has_range && value >= axis->least && value <= axis->greatest))
		extend(parallel, number, value);
}

/* The ranges that the caller knows, before the first row. */
static void begin(struct sn_parallel *parallel)
{
	for (unsigned i = 0; i < parallel->count; i++) {
		prepare(parallel->axes + i);
		widen(parallel, i, parallel->axes[i].axis.low);
		widen(parallel, i, parallel->axes[i].axis.high);
	}
}

/* Of a logarithmic axis 0 or less has a bin that says so. */
static void note_value(struct sn_parallel_scale_state *axis, double value)
{
	enum sn_parallel_scale scale = axis->axis.scale;
	if (axis->value_count > SN_PARALLEL_VALUES || scale == SN_PARALLEL_CATEGORY ||
	    !isfinite(value) || (scale == SN_PARALLEL_LOG && value <= 0))
		return;
	unsigned at = 0;
	while (at < axis->value_count && axis->values[at] < value)
		at++;
	if (at < axis->value_count && !(axis->values[at] > value))
		return;
	if (axis->value_count++ == SN_PARALLEL_VALUES)
		return;
	memmove(axis->values + at + 1, axis->values + at,
		(axis->value_count - 1 - at) * sizeof(*axis->values));
	axis->values[at] = value + 0.0; /* no negative zero */
}

void sn_parallel_add(struct sn_parallel *parallel, const double *values)
{
	unsigned before = 0;
	uint64_t key = 0;
	if (parallel->has_failed)
		return;
	if (!parallel->rows++)
		begin(parallel);
	for (unsigned i = 0; i < parallel->count; i++) {
		widen(parallel, i, values[i]);
		note_value(parallel->axes + i, values[i]);
	}
	for (unsigned i = 0; i < parallel->count; i++) {
		const struct sn_parallel_scale_state *axis = parallel->axes + i;
		unsigned code = code_of(axis, values[i]);
		key |= (uint64_t)axis->groups[code] << (8 * i);
		if (i)
			parallel->pairs[(size_t)(i - 1) * SN_PARALLEL_PAIRS +
					(size_t)before * SN_PARALLEL_CODES + code]++;
		before = code;
	}
	add_cell(parallel, key, 1);
	if (parallel->cells.count > SN_PARALLEL_CELLS)
		make_room(parallel);
}

/* ---- merging ---- */

/* From the codes of bins of an axis, or of groups, to those in `into`, which are not narrower. */
static void make_merge_map(map codes, const struct sn_parallel_scale_state *into,
			   const struct sn_parallel_scale_state *from, bool is_groups)
{
	int from_shift = from->shift + (is_groups ? from->more : 0);
	int into_shift = into->shift + (is_groups ? into->more : 0);
	int64_t least =
	    from->has_range ? sn_parallel_place(from->axis.scale, from->least, from_shift) : 0;
	if (into->axis.scale != SN_PARALLEL_CATEGORY)
		make_map(codes, least, from->has_range ? into_shift - from_shift : 0);
	for (unsigned i = 0; i < SN_PARALLEL_CODES && into->axis.scale == SN_PARALLEL_CATEGORY; i++)
		codes[i] = is_groups ? into->groups[i] : (unsigned char)i;
}

static void merge_pairs(struct sn_parallel *into, const struct sn_parallel *from)
{
	map codes[SN_PARALLEL_AXES];
	for (unsigned i = 0; i < into->count; i++)
		make_merge_map(codes[i], into->axes + i, from->axes + i, false);
	for (unsigned pair = 0; pair + 1 < into->count; pair++)
		for (unsigned i = 0; i < SN_PARALLEL_PAIRS; i++) {
			size_t at = (size_t)pair * SN_PARALLEL_PAIRS;
			unsigned first = codes[pair][i / SN_PARALLEL_CODES];
			unsigned second = codes[pair + 1][i % SN_PARALLEL_CODES];
			into->pairs[at + (size_t)first * SN_PARALLEL_CODES + second] +=
			    from->pairs[at + i];
		}
}

static void merge_cells(struct sn_parallel *into, const struct sn_parallel *from)
{
	map codes[SN_PARALLEL_AXES];
	bool is_mapped = false;
	for (uint32_t i = 0; i < from->cells.count && !into->has_failed; i++) {
		uint64_t key = from->cell[i].key;
		for (unsigned a = 0; a < into->count; a++) {
			if (!is_mapped)
				make_merge_map(codes[a], into->axes + a, from->axes + a, true);
			key = map_key(key, a, codes[a]);
		}
		add_cell(into, key, from->cell[i].rows);
		is_mapped = into->cells.count <= SN_PARALLEL_CELLS;
		make_room(into);
	}
}

int sn_parallel_merge(struct sn_parallel *into, const struct sn_parallel *from)
{
	if (into->has_failed || from->has_failed)
		return SN_ERR_MEMORY;
	if (!from->rows)
		return 0;
	if (!into->rows)
		begin(into);
	for (unsigned i = 0; i < into->count; i++) {
		struct sn_parallel_scale_state *axis = into->axes + i;
		const struct sn_parallel_scale_state *other = from->axes + i;
		if (other->has_range) {
			widen(into, i, other->least);
			widen(into, i, other->greatest);
		}
		for (unsigned v = 0; v < other->value_count && v < SN_PARALLEL_VALUES; v++)
			note_value(axis, other->values[v]);
		if (other->value_count > SN_PARALLEL_VALUES)
			axis->value_count = other->value_count;
		while (!into->has_failed && (other->has_range || !axis->has_range) &&
		       axis->shift + axis->more < other->shift + other->more)
			halve_groups(into, i);
	}
	merge_pairs(into, from);
	merge_cells(into, from);
	into->rows += from->rows;
	return into->has_failed ? SN_ERR_MEMORY : 0;
}

/* ---- between processes ---- */

struct packed_axis {
	uint64_t has_range;
	double least, greatest;
	int64_t shift, more;
	uint64_t value_count;
	double values[SN_PARALLEL_VALUES];
};

static size_t all_pairs(const struct sn_parallel *parallel)
{
	return (size_t)(parallel->count - 1) * SN_PARALLEL_PAIRS;
}

/* Rows; axes; the pairs that have rows, with their number; combinations. */
void sn_parallel_pack(const struct sn_parallel *parallel, struct sn_buffer *bytes)
{
	uint64_t used = 0;
	bytes->failed |= parallel->has_failed;
	sn_buffer_put(bytes, &parallel->rows, sizeof(parallel->rows));
	for (unsigned i = 0; i < parallel->count; i++) {
		const struct sn_parallel_scale_state *axis = parallel->axes + i;
		struct packed_axis packed = {
		    axis->has_range,   axis->least, axis->greatest, axis->shift, axis->more,
		    axis->value_count, {0}};
		memcpy(packed.values, axis->values, sizeof(packed.values));
		sn_buffer_put(bytes, &packed, sizeof(packed));
	}
	for (size_t i = 0; i < all_pairs(parallel); i++)
		used += parallel->pairs[i] > 0;
	sn_buffer_put(bytes, &used, sizeof(used));
	for (uint64_t i = 0; i < all_pairs(parallel); i++)
		if (parallel->pairs[i]) {
			sn_buffer_put(bytes, &i, sizeof(i));
			sn_buffer_put(bytes, parallel->pairs + i, sizeof(*parallel->pairs));
		}
	sn_buffer_put(bytes, parallel->cell, parallel->cells.count * sizeof(*parallel->cell));
}

bool sn_parallel_unpack(struct sn_parallel *parallel, struct sn_span bytes)
{
	uint64_t used = 0, at;
	struct sn_parallel_cell cell;
	bool is_whole = sn_span_get(&bytes, &parallel->rows, sizeof(parallel->rows));
	for (unsigned i = 0; i < parallel->count && is_whole; i++) {
		struct sn_parallel_scale_state *axis = parallel->axes + i;
		struct packed_axis packed;
		is_whole = sn_span_get(&bytes, &packed, sizeof(packed));
		if (!is_whole)
			break;
		axis->has_range = packed.has_range;
		axis->least = packed.least;
		axis->greatest = packed.greatest;
		axis->shift = (int)packed.shift;
		axis->more = (int)packed.more;
		axis->value_count = (unsigned)packed.value_count;
		memcpy(axis->values, packed.values, sizeof(packed.values));
		prepare(axis);
	}
	is_whole = is_whole && sn_span_get(&bytes, &used, sizeof(used));
	for (uint64_t i = 0; i < used && is_whole; i++) {
		is_whole = sn_span_get(&bytes, &at, sizeof(at)) && at < all_pairs(parallel) &&
			   sn_span_get(&bytes, parallel->pairs + at, sizeof(*parallel->pairs));
	}
	while (is_whole && parallel->cells.count < SN_PARALLEL_CELLS &&
	       sn_span_get(&bytes, &cell, sizeof(cell)))
		add_cell(parallel, cell.key, cell.rows);
	return is_whole && !parallel->has_failed;
}
