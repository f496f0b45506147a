/* SPDX-License-Identifier: Apache-2.0 */
/* See rows.h. */
#include "rows.h"

#include "base/text.h"
#include "base/vec.h"
#include "format/measurement/measurement.h"
#include "frame/group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMELESS "code without a name"

struct adding {
	struct sn_compare_rows *rows;
	const struct sonde_db *db;
	struct sn_compare_set *set;
	uint32_t metric;
};

void sn_compare_rows_release(struct sn_compare_rows *rows)
{
	for (size_t i = 0; i < rows->set_count; i++)
		free(rows->sets[i].cells);
	free(rows->rows);
	free(rows->sets);
	sn_intern_release(&rows->keys);
	sn_arena_release(&rows->texts);
	*rows = (struct sn_compare_rows){0};
}

struct sn_compare_cell sn_compare_at(const struct sn_compare_rows *rows, size_t set, uint32_t row)
{
	const struct sn_compare_set *one = &rows->sets[set];
	if (row == SONDE_NONE)
		return one->all;
	return row < one->cell_count ? one->cells[row] : (struct sn_compare_cell){0};
}

/* ---- names ---- */

/* Rows are the same by all three. SONDE_NONE without memory. */
static uint32_t add_row(struct sn_compare_rows *rows, const char *name, const char *place,
			const char *build)
{
	char key[2048];
	int length = snprintf(key, sizeof(key), "%s\n%s\n%s", name, place, build);
	size_t bytes = (size_t)length < sizeof(key) ? (size_t)length : sizeof(key) - 1;
	uint32_t number = sn_intern_add(&rows->keys, key, bytes);
	if (number == SN_INTERN_NONE || number < rows->row_count)
		return number == SN_INTERN_NONE ? SONDE_NONE : number;
	struct sn_compare_row row = {sn_arena_text(&rows->texts, name),
				     sn_arena_text(&rows->texts, place)};
	if (!row.name || !row.place ||
	    sn_vec_push(&rows->rows, &rows->row_capacity, &rows->row_count, row))
		return SONDE_NONE;
	return number;
}

static const char *base_of(const struct sonde_db *db, uint32_t string)
{
	return string == SONDE_NONE ? "" : sn_text_base_name(sonde_db_string(db, string));
}

/* "libfoo.so+0x1234" says where code without a symbol begins: which is so of one build alone. */
static bool is_nameless(const char *name, const char *image)
{
	size_t length = strlen(image);
	return length && !strncmp(name, image, length) && !strncmp(name + length, "+0x", 3);
}

/* What tells a build from another: its id, else where it lay. */
static const char *build_of(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	const struct sonde_db_module *module = sonde_db_module(db, frame->module);
	if (!module)
		return "";
	return sonde_db_string(db,
			       module->build_id == SONDE_NONE ? module->path : module->build_id);
}

static uint32_t row_of_frame(struct adding *adding, uint32_t id)
{
	const struct sonde_db *db = adding->db;
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	const char *name = sonde_db_string(db, frame->name), *place;
	char kind[64];
	snprintf(kind, sizeof(kind), "(%s)", sonde_frame_kind_name(frame->kind));
	if (frame->module != SONDE_NONE)
		place = base_of(db, sonde_db_module(db, frame->module)->path);
	else
		place = kind;
	if (adding->rows->by == SN_COMPARE_MODULE)
		return add_row(adding->rows, place, "", "");
	if (frame->kind == SN_FRAME_PYTHON && frame->file != SONDE_NONE)
		place = base_of(db, frame->file);
	return add_row(adding->rows, *name ? name : NAMELESS, place,
		       is_nameless(name, place) ? build_of(db, frame) : "");
}

/* ---- values ---- */

static void add_stat(struct sn_compare_cell *cell, const struct sonde_db_stat *stat)
{
	cell->value += stat->sum;
	cell->count += stat->count;
	cell->squares += stat->sum_squares;
}

static int add_value(struct adding *adding, uint32_t row, const struct sonde_db_stat *stat)
{
	struct sn_compare_set *set = adding->set;
	size_t capacity = set->cell_count;
	if (row == SONDE_NONE)
		return SN_ERR_MEMORY;
	if (row >= set->cell_count) {
		if (sn_vec_reserve_zeroed(&set->cells, &capacity, row + 1ull) < 0)
			return SN_ERR_MEMORY;
		set->cell_count = (uint32_t)capacity;
	}
	add_stat(&set->cells[row], stat);
	add_stat(&set->all, stat);
	return 0;
}

/* The row of the function that a context is of: loops and lines are parts of it. */
static uint32_t owner_of(const struct adding *adding, const struct sn_groups *groups,
			 uint32_t context)
{
	for (;;) {
		const struct sonde_db_context *at = sonde_db_context(adding->db, context);
		if (groups->of_frame[at->frame] != SONDE_NONE || !context)
			return at->frame;
		context = at->parent;
	}
}

static int add_frames(struct adding *adding, const struct sn_groups *groups)
{
	struct sonde_db_summary_plane plane = sonde_db_summary_plane(adding->db, adding->metric);
	uint32_t *rows = malloc((groups->count + 1ull) * sizeof(*rows));
	int result = rows ? 0 : SN_ERR_MEMORY;
	if (rows)
		memset(rows, 0xff, (groups->count + 1ull) * sizeof(*rows));
	for (size_t i = 0; !result && i < plane.count; i++) {
		struct sonde_db_stat stat;
		sonde_db_summary_stat(&plane, i, SONDE_DB_EXCLUSIVE, &stat);
		if (!(stat.count > 0))
			continue;
		uint32_t frame = owner_of(adding, groups, plane.contexts[i]);
		uint32_t group = groups->of_frame[frame];
		uint32_t *row = &rows[group == SONDE_NONE ? groups->count : group];
		if (*row == SONDE_NONE)
			*row = row_of_frame(adding, frame);
		result = add_value(adding, *row, &stat);
	}
	free(rows);
	return result;
}

static int add_programs(struct adding *adding)
{
	int result = 0;
	for (uint32_t p = 0; !result && p < sonde_db_profile_count(adding->db); p++) {
		const struct sonde_db_profile *profile = sonde_db_profile(adding->db, p);
		struct sonde_db_plane plane = sonde_db_profile_plane(adding->db, p, adding->metric);
		struct sonde_db_stat sum = {0};
		for (size_t i = 0; i < plane.count; i++) {
			struct sonde_db_stat stat;
			sonde_db_plane_stat(&plane, i, &stat);
			sonde_db_stat_merge(&sum, &stat);
		}
		const char *name = base_of(adding->db, profile->program);
		if (plane.count)
			result = add_value(
			    adding, add_row(adding->rows, *name ? name : "(unknown)", "", ""),
			    &sum);
	}
	return result;
}

static void count_samples(struct sn_compare_cell *cell)
{
	cell->samples = cell->squares > 0 ? cell->value * cell->value / cell->squares : 0;
}

/* Of a store the time that its daemon watched, without gaps. */
static double duration_of(const struct sonde_db *db)
{
	const char *text = sonde_db_property(db, "store.watched_ns");
	double duration = text ? strtod(text, NULL) : 0;
	if (!(duration > 0) && (text = sonde_db_property(db, "duration_ns")))
		duration = strtod(text, NULL);
	return duration > 0 && isfinite(duration) ? duration : 0;
}

static int add_set(struct sn_compare_rows *rows, const char *name)
{
	struct sn_compare_set set = {.name = sn_arena_text(&rows->texts, name)};
	return set.name ? sn_vec_push(&rows->sets, &rows->set_capacity, &rows->set_count, set)
			: SN_ERR_MEMORY;
}

int sn_compare_add(struct sn_compare_rows *rows, const struct sonde_db *db, uint32_t metric,
		   const char *name, struct sn_error *error)
{
	bool is_sampled = !strcmp(sonde_db_metric_counts(db, metric), "samples");
	enum sn_grouping grouping =
	    rows->by == SN_COMPARE_MODULE ? SN_GROUP_MODULE : SN_GROUP_FUNCTION;
	struct sn_groups groups = {0};
	int result = add_set(rows, name);
	if (result)
		return sn_fail_code(error, result);
	struct adding adding = {rows, db, &rows->sets[rows->set_count - 1], metric};
	rows->is_sampled = is_sampled && (rows->is_sampled || rows->set_count == 1);
	adding.set->duration_ns = duration_of(db);
	if (rows->by == SN_COMPARE_PROGRAM) {
		result = add_programs(&adding);
	} else {
		result = sn_groups_init(&groups, db, grouping, error);
		if (result)
			return result;
		result = add_frames(&adding, &groups);
		sn_groups_release(&groups);
	}
	for (uint32_t row = 0; is_sampled && row < adding.set->cell_count; row++)
		count_samples(&adding.set->cells[row]);
	if (is_sampled)
		count_samples(&adding.set->all);
	return sn_fail_code(error, result);
}
