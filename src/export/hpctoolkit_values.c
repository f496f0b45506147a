/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.db and cct.db of an HPCToolkit database: the same values by profile and by context, and
 * statistics over profiles.
 *
 * Of each metric a context has four values: its own ("point"); with all of its function that lies
 * in it ("function"); the same, of a loop without the loops in it ("lex_aware"); with everything
 * below it ("execution"). Zeroes are left out. They are summed up from the leaves, only where there
 * are any.
 *
 * hpcprof's "lex_aware" leaves out the loops in a loop in its statistics, but in a profile only
 * where the loop has a value of its own. Viewers show the former; both are as it writes them.
 */
#include "hpctoolkit.h"

#include "base/vec.h"

#include <stdlib.h>

struct value {
	uint32_t context, profile;
	uint16_t metric; /* as numbered in meta.db */
	double value;
};

struct values {
	struct value *items;
	size_t count, capacity;
};

/* Sums of one metric in one profile, by context of the file. */
struct sums {
	double *point, *function, *no_loops, *execution;
	bool *is_touched;
	uint32_t *touched;
	size_t count;
};

struct writer {
	const struct sn_hpcx_out *out;
	struct sums sums;
	struct values all; /* of every profile */
};

static int sums_init(struct sums *sums, size_t contexts)
{
	double *numbers = calloc(4 * contexts, sizeof(*numbers));
	sums->point = numbers;
	sums->function = numbers + contexts;
	sums->no_loops = numbers + 2 * contexts;
	sums->execution = numbers + 3 * contexts;
	sums->is_touched = calloc(contexts, sizeof(*sums->is_touched));
	sums->touched = malloc(contexts * sizeof(*sums->touched));
	return numbers && sums->is_touched && sums->touched ? 0 : -1;
}

static void sums_release(struct sums *sums)
{
	free(sums->point);
	free(sums->is_touched);
	free(sums->touched);
}

/* A context and all above it take part. */
static void touch(struct writer *writer, uint32_t context)
{
	struct sums *sums = &writer->sums;
	while (!sums->is_touched[context]) {
		sums->is_touched[context] = true;
		sums->touched[sums->count++] = context;
		context = writer->out->tree.parent_of[context];
	}
}

static int compare_down(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a < b) - (a > b);
}

static int add_value(struct values *values, uint32_t profile, uint32_t context, size_t metric,
		     unsigned scope, double value)
{
	if (value == 0)
		return 0;
	if (sn_vec_reserve(&values->items, &values->capacity, values->count + 1) < 0)
		return -1;
	values->items[values->count++] = (struct value){
	    context, profile, (uint16_t)(metric * SN_HPCX_IDS_PER_METRIC + scope), value};
	return 0;
}

/* Parents have lower numbers than their children, so going down meets children first. */
static int propagate(struct writer *writer, uint32_t profile, size_t metric)
{
	struct sums *sums = &writer->sums;
	const struct sn_hpcx_out_tree *tree = &writer->out->tree;
	int code = 0;
	qsort(sums->touched, sums->count, sizeof(*sums->touched), compare_down);
	for (size_t i = 0; i < sums->count; i++) {
		uint32_t context = sums->touched[i], parent = tree->parent_of[context];
		uint8_t flags = tree->flags[context];
		bool is_loop = flags & SN_HPCX_IS_LOOP;
		sums->function[context] += sums->point[context];
		sums->no_loops[context] += sums->point[context];
		sums->execution[context] += sums->point[context];
		if (context != 0) {
			sums->execution[parent] += sums->execution[context];
			if (!(flags & SN_HPCX_IS_CALL)) {
				sums->function[parent] += sums->function[context];
				if (!is_loop)
					sums->no_loops[parent] += sums->no_loops[context];
			}
		}
		const double values[SN_HPCX_SCOPES + 1] = {
		    [SN_HPCX_POINT] = sums->point[context],
		    [SN_HPCX_FUNCTION] = sums->function[context],
		    [SN_HPCX_LEX_AWARE] = is_loop && sums->point[context] != 0
					      ? sums->no_loops[context]
					      : sums->function[context],
		    [SN_HPCX_EXECUTION] = sums->execution[context],
		    [SN_HPCX_LOOP_ALONE] = is_loop ? sums->no_loops[context] : 0};
		for (unsigned scope = 0; scope <= SN_HPCX_LOOP_ALONE && code == 0; scope++)
			code =
			    add_value(&writer->all, profile, context, metric, scope, values[scope]);
	}
	for (size_t i = 0; i < sums->count; i++) {
		uint32_t context = sums->touched[i];
		sums->point[context] = sums->function[context] = sums->no_loops[context] =
		    sums->execution[context] = 0;
		sums->is_touched[context] = false;
	}
	sums->count = 0;
	return code;
}

static int read_plane(struct writer *writer, uint32_t profile, size_t number)
{
	const struct sn_hpcx_out *out = writer->out;
	const struct sn_hpcx_out_metric *metric = out->metrics + number;
	struct sonde_db_plane plane =
	    sonde_db_profile_plane(out->db, out->profiles[profile].profile, metric->metric);
	enum sonde_db_part part = metric->is_count ? SONDE_DB_COUNT : SONDE_DB_SUM;
	for (size_t first = 0; first < plane.count; first += 512) {
		double numbers[512];
		size_t count = plane.count - first < 512 ? plane.count - first : 512;
		sonde_db_plane_numbers(&plane, part, first, count, numbers);
		for (size_t i = 0; i < count; i++) {
			uint32_t context = plane.ids[first + i];
			uint32_t id = out->tree.nodes[out->tree.node_of[context]].id +
				      (out->tree.is_hidden[context] ? 1 : 0);
			if (numbers[i] == 0)
				continue;
			writer->sums.point[id] += numbers[i] / metric->divisor;
			touch(writer, id);
		}
	}
	return propagate(writer, profile + 1, number); /* 0 is the summary */
}

static int compare_by_profile(const void *left, const void *right)
{
	const struct value *a = left, *b = right;
	if (a->profile != b->profile)
		return a->profile < b->profile ? -1 : 1;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return (a->metric > b->metric) - (a->metric < b->metric);
}

static int compare_by_context(const void *left, const void *right)
{
	const struct value *a = left, *b = right;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	return (a->profile > b->profile) - (a->profile < b->profile);
}

static unsigned scope_of(const struct value *value)
{
	return value->metric % SN_HPCX_IDS_PER_METRIC;
}

/* Statistics over the profiles that have a value, by context and metric. */
static int summarise(const struct sn_hpcx_out_tree *tree, const struct values *all,
		     struct values *summary)
{
	for (size_t i = 0, next; i < all->count; i = next) {
		const struct value *first = all->items + i;
		double sums[SN_HPCX_STATISTICS] = {0};
		sums[SN_HPCX_MIN] = sums[SN_HPCX_MAX] = first->value;
		for (next = i; next < all->count && all->items[next].context == first->context &&
			       all->items[next].metric == first->metric;
		     next++) {
			double value = all->items[next].value;
			sums[SN_HPCX_COUNT]++;
			sums[SN_HPCX_SUM] += value;
			sums[SN_HPCX_SQUARES] += value * value;
			if (value < sums[SN_HPCX_MIN])
				sums[SN_HPCX_MIN] = value;
			if (value > sums[SN_HPCX_MAX])
				sums[SN_HPCX_MAX] = value;
		}
		size_t metric = first->metric / SN_HPCX_IDS_PER_METRIC;
		unsigned scope = scope_of(first);
		if (scope == SN_HPCX_LEX_AWARE && tree->flags[first->context] & SN_HPCX_IS_LOOP)
			continue;
		if (scope == SN_HPCX_LOOP_ALONE)
			scope = SN_HPCX_LEX_AWARE;
		for (unsigned s = 0; s < SN_HPCX_STATISTICS; s++)
			if (add_value(summary, 0, first->context, metric,
				      s * SN_HPCX_SCOPES + scope, sums[s]) < 0)
				return -1;
	}
	qsort(summary->items, summary->count, sizeof(*summary->items), compare_by_profile);
	return 0;
}

/* Statistics are done: the rest is of no file. */
static void drop_alone(struct values *all)
{
	size_t kept = 0;
	for (size_t i = 0; i < all->count; i++)
		if (scope_of(all->items + i) != SN_HPCX_LOOP_ALONE)
			all->items[kept++] = all->items[i];
	all->count = kept;
}

/* A profile's values and where each context's begin; notes both at `header`. */
static void write_block(struct sn_hpcx_bytes *out, size_t header, const struct value *values,
			size_t count)
{
	uint32_t contexts = 0;
	sn_hpcx_align(out, 4);
	size_t at = out->length;
	for (size_t i = 0; i < count; i++) {
		sn_hpcx_put_number(out, values[i].metric, 2);
		sn_hpcx_put_double(out, values[i].value);
		contexts += i == 0 || values[i].context != values[i - 1].context;
	}
	sn_hpcx_align(out, 4);
	size_t index = out->length;
	for (size_t i = 0; i < count; i++) {
		if (i && values[i].context == values[i - 1].context)
			continue;
		sn_hpcx_put_number(out, values[i].context, 4);
		sn_hpcx_put_number(out, i, 8);
	}
	sn_hpcx_patch(out, header, count);
	sn_hpcx_patch(out, header + 8, at);
	sn_hpcx_patch(out, header + 16, contexts);
	sn_hpcx_patch(out, header + 24, index);
}

static void write_tuples(const struct sn_hpcx_out *out, struct sn_hpcx_bytes *file,
			 size_t profiles_at)
{
	enum { PROFILE_BYTES = 48 };
	size_t start = file->length;
	for (size_t i = 0; i < out->profile_count; i++) {
		const struct sn_hpcx_out_profile *profile = out->profiles + i;
		sn_hpcx_patch(file, profiles_at + PROFILE_BYTES * (i + 1) + 0x20, file->length);
		sn_hpcx_put_number(file, profile->id_count, 8);
		for (size_t k = 0; k < profile->id_count; k++) {
			const struct sn_hpcx_out_id *id = profile->ids + k;
			sn_hpcx_put_number(file, id->kind, 2);
			sn_hpcx_put_number(file, id->is_physical, 2);
			sn_hpcx_put_number(file, id->logical, 4);
			sn_hpcx_put_number(file, id->number, 8);
		}
	}
	sn_hpcx_end_section(file, 1, start);
}

static void write_profiles(struct writer *writer, struct sn_hpcx_bytes *file,
			   const struct values *summary)
{
	enum { PROFILE_BYTES = 48 };
	const struct values *all = &writer->all;
	size_t count = writer->out->profile_count + 1, next = 0;
	sn_hpcx_begin_file(file, "prof", 2);
	size_t start = file->length, profiles_at = start + 16;
	sn_hpcx_put_number(file, profiles_at, 8);
	sn_hpcx_put_number(file, count, 4);
	sn_hpcx_put_number(file, PROFILE_BYTES, 4);
	for (size_t i = 0; i < count * (PROFILE_BYTES / 8); i++)
		sn_hpcx_put_number(file, 0, 8);
	sn_hpcx_patch(file, profiles_at + 0x28, 1); /* the first one is the summary */
	sn_hpcx_end_section(file, 0, start);
	write_tuples(writer->out, file, profiles_at);
	write_block(file, profiles_at, summary->items, summary->count);
	for (size_t i = 1; i < count; i++) {
		size_t first = next;
		while (next < all->count && all->items[next].profile == i)
			next++;
		write_block(file, profiles_at + PROFILE_BYTES * i, all->items + first,
			    next - first);
	}
	sn_hpcx_align(file, 8);
	sn_hpcx_put(file, "_prof.db", 8);
}

/* A context's values and where each metric's begin. */
static void write_context(struct sn_hpcx_bytes *out, size_t header, const struct value *values,
			  size_t count)
{
	uint16_t metrics = 0;
	sn_hpcx_align(out, 4);
	size_t at = out->length;
	for (size_t i = 0; i < count; i++) {
		sn_hpcx_put_number(out, values[i].profile, 4);
		sn_hpcx_put_double(out, values[i].value);
		metrics += i == 0 || values[i].metric != values[i - 1].metric;
	}
	size_t index = out->length;
	for (size_t i = 0; i < count; i++) {
		if (i && values[i].metric == values[i - 1].metric)
			continue;
		sn_hpcx_put_number(out, values[i].metric, 2);
		sn_hpcx_put_number(out, i, 8);
	}
	sn_hpcx_patch(out, header, count);
	sn_hpcx_patch(out, header + 8, at);
	sn_hpcx_patch(out, header + 16, metrics);
	sn_hpcx_patch(out, header + 24, index);
}

static void write_contexts(struct writer *writer, struct sn_hpcx_bytes *file)
{
	enum { CONTEXT_BYTES = 32 };
	const struct values *all = &writer->all;
	uint32_t count = writer->out->tree.id_count;
	size_t next = 0;
	sn_hpcx_begin_file(file, "ctxt", 1);
	size_t start = file->length, contexts_at = start + 16;
	sn_hpcx_put_number(file, contexts_at, 8);
	sn_hpcx_put_number(file, count, 4);
	sn_hpcx_put_number(file, CONTEXT_BYTES, 4);
	for (size_t i = 0; i < (size_t)count * (CONTEXT_BYTES / 8); i++)
		sn_hpcx_put_number(file, 0, 8);
	sn_hpcx_end_section(file, 0, start);
	for (uint32_t context = 0; context < count; context++) {
		size_t first = next;
		while (next < all->count && all->items[next].context == context)
			next++;
		if (next > first)
			write_context(file, contexts_at + CONTEXT_BYTES * (size_t)context,
				      all->items + first, next - first);
	}
	sn_hpcx_align(file, 8);
	sn_hpcx_put(file, "__ctx.db", 8);
}

int sn_hpcx_write_values(struct sn_hpcx_out *out, struct sn_hpcx_bytes *profiles,
			 struct sn_hpcx_bytes *contexts)
{
	struct writer writer = {.out = out};
	struct values summary = {0};
	int code = sums_init(&writer.sums, (size_t)out->tree.id_count + 1);
	for (uint32_t profile = 0; profile < out->profile_count && code == 0; profile++)
		for (size_t metric = 0; metric < out->metric_count && code == 0; metric++)
			code = read_plane(&writer, profile, metric);
	if (code == 0) {
		qsort(writer.all.items, writer.all.count, sizeof(*writer.all.items),
		      compare_by_context);
		code = summarise(&out->tree, &writer.all, &summary);
		drop_alone(&writer.all);
		write_contexts(&writer, contexts);
	}
	if (code == 0) {
		qsort(writer.all.items, writer.all.count, sizeof(*writer.all.items),
		      compare_by_profile);
		write_profiles(&writer, profiles, &summary);
	}
	sums_release(&writer.sums);
	free(writer.all.items);
	free(summary.items);
	return code < 0 ? SN_ERR_MEMORY : 0;
}
