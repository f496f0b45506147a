/* SPDX-License-Identifier: Apache-2.0 */
/* From launches to causes; see variability_causes.h. */
#include "variability_causes.h"

#include "base/sort_by.h"
#include "show/causal/causal_answer.h"
#include "show/causal/causal_picture.h"

#include <math.h>

/* Categories of a column that are told apart; the rest is one. */
#define LEVELS_KEPT 12u

/* ---- the table ---- */

SN_SORT_BY(sort_levels, uint32_t, const size_t *, SN_ORDER(of[*b], of[*a]) ?: SN_ORDER(*a, *b));

/* The most frequent levels keep their names, in that order; the rest becomes "(other)". */
static int keep_levels(struct sn_causal_table *table, struct sn_causal_column *column,
		       const char *const *names, uint32_t levels)
{
	size_t *counts = calloc(levels + 1, sizeof(*counts));
	uint32_t *order = malloc((levels + 1) * sizeof(*order));
	uint32_t *places = malloc((levels + 1) * sizeof(*places));
	uint32_t kept = levels > LEVELS_KEPT ? LEVELS_KEPT : levels;
	column->levels = levels > LEVELS_KEPT ? LEVELS_KEPT + 1 : levels;
	column->level_names = sn_arena_array(&table->texts, const char *, column->levels);
	int result = counts && order && places && column->level_names ? 0 : SN_ERR_MEMORY;
	for (size_t row = 0; !result && row < table->row_count; row++)
		if (!isnan(column->values[row]))
			counts[(size_t)column->values[row]]++;
	for (uint32_t level = 0; !result && level < levels; level++)
		order[level] = level;
	if (!result)
		sort_levels(order, levels, counts);
	for (uint32_t place = 0; !result && place < levels; place++) {
		places[order[place]] = place < kept ? place : kept;
		column->level_names[places[order[place]]] =
		    place < kept ? names[order[place]] : "(other)";
	}
	for (size_t row = 0; !result && row < table->row_count; row++)
		if (!isnan(column->values[row]))
			column->values[row] = places[(size_t)column->values[row]];
	free(counts);
	free(order);
	free(places);
	return result;
}

static int add_column(struct sn_causal_table *table, const struct sn_launch_features *features,
		      const struct sn_feature_column *from)
{
	struct sn_causal_column *column = &table->columns[table->column_count++];
	*column = (struct sn_causal_column){
	    .name = from->name, .values = malloc((table->row_count + 1) * sizeof(double))};
	if (!column->values)
		return SN_ERR_MEMORY;
	for (size_t row = 0; row < table->row_count; row++) {
		/* evenly, where there are more */
		double value = from->values[row * features->row_count / table->row_count];
		column->values[row] = value;
		column->missing += isnan(value);
	}
	return from->levels ? keep_levels(table, column, from->level_names, from->levels) : 0;
}

static int make_table(struct sn_causal_table *table, const struct sn_launch_features *features,
		      enum sn_feature target)
{
	int result = 0;
	table->columns = calloc(features->column_count + 1, sizeof(*table->columns));
	table->row_count =
	    features->row_count < SN_CAUSES_ROWS ? features->row_count : SN_CAUSES_ROWS;
	if (!table->columns)
		return SN_ERR_MEMORY;
	for (unsigned number = 0; !result && number < features->column_count; number++)
		if (sn_feature_is_beside((enum sn_feature)number, target))
			result = add_column(table, features, &features->columns[number]);
	return result;
}

static bool is_set_outside(const char *name)
{
	for (unsigned feature = SN_FEATURE_KERNEL; feature <= SN_FEATURE_REGISTERS; feature++)
		if (!strcmp(name, sn_feature_name((enum sn_feature)feature)))
			return true;
	return false;
}

static void set_tiers(struct sn_prior *prior)
{
	prior->tier_count = 1;
	for (uint32_t column = 0; column < prior->table->column_count; column++)
		if (is_set_outside(prior->table->columns[column].name))
			prior->tiers[column] = 0;
	sn_prior_finish(prior);
}

int sn_variability_causes(struct sn_variability_causes *causes,
			  const struct sn_launch_features *features, enum sn_feature target,
			  unsigned threads, struct sn_error *error)
{
	*causes = (struct sn_variability_causes){.target = target};
	int result = make_table(&causes->table, features, target);
	if (result)
		return sn_fail_code(error, result);
	result = sn_prior_init(&causes->prior, &causes->table, sn_feature_name(target), error);
	if (result)
		return result;
	set_tiers(&causes->prior);
	result =
	    sn_causal(&causes->causal, &causes->prior,
		      (struct sn_discovery_options){
			  .samples = SN_CAUSAL_SAMPLES, .seed = SN_CAUSAL_SEED, .threads = threads},
		      &causes->why);
	causes->is_known = !result;
	return result == SN_ERR_MEMORY ? sn_fail_memory(error) : 0;
}

void sn_variability_causes_release(struct sn_variability_causes *causes)
{
	sn_causal_release(&causes->causal);
	sn_prior_release(&causes->prior);
	sn_causal_table_release(&causes->table);
}

/* ---- what is told ---- */

void sn_variability_causes_show(const struct sn_variability_causes *causes, struct sn_page *page)
{
	static const char *const meanings[SN_FEATURES] = {
	    [SN_FEATURE_PERF_VARIATION] = "|duration - mean of its kernel and configuration|",
	    [SN_FEATURE_MEMORY_STALL] = "|duration - that of the linked copy|",
	    [SN_FEATURE_DURATION] = "the duration",
	    [SN_FEATURE_LOG_DURATION] = "the logarithm of the duration",
	    [SN_FEATURE_LOG_SQUARED_RESIDUAL] =
		"the logarithm of the squared difference from its configuration's mean logarithm",
	    [SN_FEATURE_EXPOSED_COPY] = "the linked copy's time beside no kernel"};
	if (meanings[causes->target])
		sn_page_sentence(page, "To be explained is %s: %s, of %zu launches.",
				 sn_feature_name(causes->target), meanings[causes->target],
				 causes->table.row_count);
	if (causes->is_known)
		sn_causal_show(&causes->causal, page);
	else
		sn_page_sentence(page, "Causes were not looked for: %s.", causes->why.text);
}

void sn_variability_causes_json(const struct sn_variability_causes *causes,
				const struct sn_page *page, struct sn_json *json)
{
	sn_json_open(json, "graph", '{');
	sn_json_open(json, "sentences", '[');
	for (size_t number = 0; number < page->sentence_count; number++)
		sn_json_string(json, page->sentences[number]);
	sn_json_end(json, ']');
	if (causes->is_known) {
		sn_causal_json(&causes->causal, json);
	} else {
		for (int list = 0; list < 3; list++) {
			sn_json_open(json,
				     (const char *const[]){"nodes", "edges", "undetermined"}[list],
				     '[');
			sn_json_end(json, ']');
		}
		sn_json_open(json, "baselines", '{');
		sn_json_end(json, '}');
		sn_json_put_text(json, "why", causes->why.text);
	}
	sn_json_end(json, '}');
}

/* ---- the page ---- */

static bool has_values(const struct sn_launch_features *features, enum sn_feature feature)
{
	return features->columns[feature].missing < features->row_count;
}

static unsigned choose_axes(const struct sn_launch_features *features,
			    struct sn_parallel_axis axes[SN_PARALLEL_AXES],
			    struct sn_parallel_names names[SN_PARALLEL_AXES],
			    enum sn_feature chosen[SN_PARALLEL_AXES])
{
	static const struct {
		enum sn_feature feature;
		enum sn_parallel_scale scale;
		const char *unit;
	} all[] = {{SN_FEATURE_START, SN_PARALLEL_LINEAR, "ns"},
		   {SN_FEATURE_KERNEL, SN_PARALLEL_CATEGORY, ""},
		   {SN_FEATURE_COPY_KIND, SN_PARALLEL_CATEGORY, ""},
		   {SN_FEATURE_COPY_BYTES, SN_PARALLEL_LOG, "bytes"},
		   {SN_FEATURE_DURATION, SN_PARALLEL_LOG, "ns"},
		   {SN_FEATURE_MEMORY_STALL, SN_PARALLEL_LOG, "ns"}};
	unsigned count = 0;
	for (size_t number = 0; number < sizeof(all) / sizeof(*all); number++) {
		const struct sn_feature_column *column = &features->columns[all[number].feature];
		if (!has_values(features, all[number].feature))
			continue;
		chosen[count] = all[number].feature;
		axes[count] = (struct sn_parallel_axis){column->name, all[number].unit,
							all[number].scale, NAN, NAN};
		names[count++] = (struct sn_parallel_names){column->level_names, column->levels};
	}
	return count;
}

static struct sn_parallel *count_rows(const struct sn_launch_features *features,
				      const struct sn_parallel_axis *axes,
				      const enum sn_feature *chosen, unsigned count)
{
	struct sn_parallel *parallel = sn_parallel_new(axes, count);
	for (size_t row = 0; parallel && row < features->row_count; row++) {
		double values[SN_PARALLEL_AXES];
		for (unsigned axis = 0; axis < count; axis++)
			values[axis] = features->columns[chosen[axis]].values[row];
		sn_parallel_add(parallel, values);
	}
	return parallel;
}

int sn_variability_causes_html(const struct sn_variability_causes *causes,
			       const struct sn_launch_features *features,
			       const struct sn_page *const pages[2], const char *json,
			       const char *title, const char *path, struct sn_error *error)
{
	struct sn_parallel_axis axes[SN_PARALLEL_AXES];
	struct sn_parallel_names names[SN_PARALLEL_AXES];
	enum sn_feature chosen[SN_PARALLEL_AXES];
	struct sn_causal_picture picture = {0};
	unsigned count = choose_axes(features, axes, names, chosen);
	struct sn_parallel *parallel = count_rows(features, axes, chosen, count);
	size_t sentence_count = 0;
	const char **sentences =
	    malloc((pages[0]->sentence_count + pages[1]->sentence_count + 1) * sizeof(*sentences));
	int result = parallel && sentences ? 0 : SN_ERR_MEMORY;
	for (int page = 0; sentences && page < 2; page++)
		for (size_t number = 0; number < pages[page]->sentence_count; number++)
			sentences[sentence_count++] = pages[page]->sentences[number];
	if (!result && causes->is_known)
		result = sn_causal_picture_init(&picture, &causes->causal, title);
	struct sn_causal_page all = {.title = title,
				     .sentences = sentences,
				     .sentence_count = sentence_count,
				     .variability_json = json,
				     .drawing = causes->is_known ? &picture.drawing : NULL,
				     .parallel = parallel,
				     .names = names};
	result = sn_fail_code(error, result);
	result = result ? result : sn_causal_page(&all, path, error);
	sn_causal_picture_release(&picture);
	sn_parallel_free(parallel);
	free(sentences);
	return result;
}
