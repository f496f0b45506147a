/* SPDX-License-Identifier: Apache-2.0 */
/* From launches to causes; see variability_causes.h. */
#include "variability_causes.h"

#include "base/peers/divide.h"
#include "base/sort_by.h"
#include "causal/columns/value_order.h"
#include "show/causal/causal_answer.h"
#include "show/causal/causal_picture.h"

#include <math.h>

/* Categories of a column that are told apart; the rest is one. */
#define LEVELS_KEPT 12u

/* The column of the stretch of time that a launch is of. */
#define STRETCH		"stretch"
/* Stretches of fewer rows would be too few, or too short to hold what neighbours have in common. */
#define STRETCHED_LEAST 400u

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

static int add_column(struct sn_causal_table *table, const size_t *rows,
		      const struct sn_feature_column *from)
{
	struct sn_causal_column *column = &table->columns[table->column_count++];
	*column =
	    (struct sn_causal_column){.name = from->name,
				      .unit = from->unit,
				      .values = malloc((table->row_count + 1) * sizeof(double))};
	if (!column->values)
		return SN_ERR_MEMORY;
	for (size_t row = 0; row < table->row_count; row++) {
		double value = from->values[rows[row]];
		column->values[row] = value;
		column->missing += isnan(value);
	}
	return from->levels ? keep_levels(table, column, from->level_names, from->levels) : 0;
}

/* Those of launches that have the target; evenly some, where there are more. Their number. */
static size_t choose_rows(const struct sn_feature_column *target, size_t count, size_t *rows)
{
	size_t all = 0;
	for (size_t row = 0; row < count; row++)
		if (!isnan(target->values[row]))
			rows[all++] = row;
	if (all <= SN_CAUSES_ROWS)
		return all;
	for (size_t row = 0; row < SN_CAUSES_ROWS; row++)
		rows[row] = rows[row * all / SN_CAUSES_ROWS];
	return SN_CAUSES_ROWS;
}

static bool is_set_outside(const char *name)
{
	for (unsigned feature = SN_FEATURE_KERNEL; feature <= SN_FEATURE_REGISTERS; feature++)
		if (!strcmp(name, sn_feature_name((enum sn_feature)feature)))
			return true;
	return false;
}

/* ---- what a kernel determines ---- */

/* Whether all rows of a level have one value, which is not that of all. `first` has room for a number of each level. */
static bool is_determined(const struct sn_causal_column *column, const struct sn_causal_column *by,
			  size_t rows, double *first)
{
	bool varies = false;
	for (uint32_t level = 0; level < by->levels; level++)
		first[level] = NAN;
	for (size_t row = 0; row < rows; row++) {
		double *known = &first[(size_t)by->values[row]];
		if (isnan(column->values[row]) || (!isnan(*known) && *known != column->values[row]))
			return false;
		*known = column->values[row];
		varies |= column->values[row] != column->values[0];
	}
	return varies;
}

/* Of few kernels that have one configuration each, nobody can tell what a part of it does from what the kernel does: the kernel stands for all of it. */
static void leave_determined(struct sn_variability_causes *causes)
{
	struct sn_causal_table *table = &causes->table;
	uint32_t kernel = sn_causal_table_find(table, sn_feature_name(SN_FEATURE_KERNEL)), kept = 0;
	double first[SN_CLUSTERS_LEAST];
	if (kernel == UINT32_MAX || table->columns[kernel].missing ||
	    table->columns[kernel].levels < 2 || table->columns[kernel].levels >= SN_CLUSTERS_LEAST)
		return;
	for (uint32_t column = 0; column < table->column_count; column++) {
		const struct sn_causal_column *by = &table->columns[kernel];
		bool is_left = column != kernel && is_set_outside(table->columns[column].name) &&
			       is_determined(&table->columns[column], by, table->row_count, first);
		causes->determined += is_left;
		if (is_left)
			free(table->columns[column].values);
		else
			table->columns[kept++] = table->columns[column];
	}
	table->column_count = kept;
}

/* Of n launches about the root of n stretches that follow each other in time, on whatever device: neighbours are alike for many reasons. */
static int add_stretches(struct sn_causal_table *table, uint32_t start)
{
	size_t rows = table->row_count, count = (size_t)sqrt((double)rows);
	uint32_t *order = sn_value_order(table->columns[start].values, NULL, rows);
	double *values = malloc((rows + 1) * sizeof(*values));
	for (size_t place = 0; order && values && place < rows; place++)
		values[order[place]] = (double)(place * count / rows);
	if (order && values)
		table->columns[table->column_count++] =
		    (struct sn_causal_column){.name = STRETCH, .values = values};
	else
		free(values);
	bool has_failed = !order || !values;
	free(order);
	return has_failed ? SN_ERR_MEMORY : 0;
}

static int make_table(struct sn_variability_causes *causes,
		      const struct sn_launch_features *features)
{
	struct sn_causal_table *table = &causes->table;
	enum sn_feature target = causes->target;
	size_t *rows = malloc((features->row_count + 1) * sizeof(*rows));
	table->columns = calloc(features->column_count + 2u, sizeof(*table->columns));
	int result = rows && table->columns ? 0 : SN_ERR_MEMORY;
	if (!result)
		table->row_count =
		    choose_rows(&features->columns[target], features->row_count, rows);
	for (unsigned number = 0; !result && number < features->column_count; number++)
		if (sn_feature_is_beside((enum sn_feature)number, target))
			result = add_column(table, rows, &features->columns[number]);
	free(rows);
	if (!result)
		leave_determined(causes);
	uint32_t start = sn_causal_table_find(table, sn_feature_name(SN_FEATURE_START));
	if (!result && start != UINT32_MAX && table->row_count >= STRETCHED_LEAST)
		result = add_stretches(table, start);
	return result;
}

static void set_tiers(struct sn_prior *prior)
{
	prior->tier_count = 1;
	for (uint32_t column = 0; column < prior->table->column_count; column++)
		if (is_set_outside(prior->table->columns[column].name))
			prior->tiers[column] = 0;
	sn_prior_finish(prior);
}

/* The table of rank 0 to all. */
static int share_table(struct sn_causal_table *table, const struct sn_peers *peers,
		       struct sn_error *error)
{
	struct sn_buffer bytes = {0};
	if (peers->size() == 1)
		return 0;
	if (!peers->rank())
		sn_causal_table_pack(table, &bytes);
	int result = sn_peers_spread(peers, &bytes, error);
	if (!result && peers->rank())
		result = sn_fail_code(
		    error,
		    sn_causal_table_unpack(table, (struct sn_span){bytes.bytes, bytes.count}));
	sn_buffer_release(&bytes);
	return sn_peers_agree(peers, result, error);
}

static int make_prior(struct sn_variability_causes *causes, struct sn_error *error)
{
	int result =
	    sn_prior_init(&causes->prior, &causes->table, sn_feature_name(causes->target), error);
	if (!result && sn_causal_table_find(&causes->table, STRETCH) != UINT32_MAX)
		result = sn_prior_set_cluster(&causes->prior, STRETCH, error);
	causes->prior.are_stretches = true;
	causes->prior.identity =
	    sn_causal_table_find(&causes->table, sn_feature_name(SN_FEATURE_KERNEL));
	if (!result)
		set_tiers(&causes->prior);
	return result;
}

int sn_variability_causes(struct sn_variability_causes *causes,
			  const struct sn_launch_features *features, enum sn_feature target,
			  const struct sn_peers *peers, unsigned threads, struct sn_error *error)
{
	*causes = (struct sn_variability_causes){.target = target};
	int result = peers->rank() ? 0 : make_table(causes, features);
	result = sn_peers_agree(peers, sn_fail_code(error, result), error);
	result = result ? result : share_table(&causes->table, peers, error);
	if (!result)
		result = sn_peers_agree(peers, make_prior(causes, error), error);
	if (result)
		return result;
	result = sn_causal(&causes->causal, &causes->prior,
			   (struct sn_discovery_options){.samples = SN_CAUSAL_SAMPLES,
							 .seed = SN_CAUSAL_SEED,
							 .threads = threads,
							 .peers = peers},
			   &causes->why);
	causes->is_known = !result;
	return result == SN_ERR_MEMORY ? sn_fail_again(error, result, &causes->why) : 0;
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
	if (causes->determined)
		sn_page_sentence(
		    page,
		    "%u part%s of the configuration ha%s one value in each kernel: what "
		    "%s cannot be told from what the kernel does, which stands for %s.",
		    causes->determined, causes->determined == 1 ? "" : "s",
		    causes->determined == 1 ? "s" : "ve",
		    causes->determined == 1 ? "it does" : "they do",
		    causes->determined == 1 ? "it" : "them");
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

int sn_variability_causes_html(const struct sn_variability_causes *causes,
			       const struct sn_launch_picture *launches,
			       const struct sn_page *const pages[2], const char *json,
			       const char *title, const char *path, struct sn_error *error)
{
	struct sn_causal_picture picture = {0};
	size_t sentence_count = 0;
	const char **sentences =
	    malloc((pages[0]->sentence_count + pages[1]->sentence_count + 1) * sizeof(*sentences));
	int result = sentences ? 0 : SN_ERR_MEMORY;
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
				     .parallel = launches->parallel,
				     .names = launches->names};
	result = sn_fail_code(error, result);
	result = result ? result : sn_causal_page(&all, path, error);
	sn_causal_picture_release(&picture);
	free(sentences);
	return result;
}
