/* SPDX-License-Identifier: Apache-2.0 */
/* From launches to causes; see variability_causes.h. */
#include "variability_causes.h"

#include "base/peers/divide.h"
#include "base/sort_by.h"
#include "causal/columns/value_order.h"
#include "show/causal/causal_answer.h"

#include <math.h>

/* Categories of a column that are told apart; the rest is one. */
#define LEVELS_KEPT 12u

/* Stretches of fewer rows would be too few, or too short to hold what neighbours have in common. */
#define STRETCHED_LEAST 400u

/* ---- the table ---- */

SN_SORT_BY(sort_levels, uint32_t, const size_t *, SN_ORDER(of[*b], of[*a]) ?: SN_ORDER(*a, *b));

/* The numbers of what stays: levels in the order of their first rows, as in a file. */
struct kept_levels {
	uint32_t *numbers; /* of each level; LEVEL_UNSEEN */
	uint32_t count, other;
};

#define LEVEL_UNSEEN UINT32_MAX

static void keep_level(struct kept_levels *kept, struct sn_causal_column *column, double *value,
		       const char *const *names, bool is_frequent)
{
	uint32_t *number = is_frequent ? &kept->numbers[(size_t)*value] : &kept->other;
	if (*number == LEVEL_UNSEEN) {
		*number = kept->count++;
		column->level_names[*number] =
		    is_frequent ? names[(size_t)*value] : SN_OTHER_CATEGORIES;
	}
	*value = *number;
}

/* The most frequent levels keep their names; the rest becomes one. */
static int keep_levels(struct sn_causal_table *table, struct sn_causal_column *column,
		       const char *const *names, uint32_t levels)
{
	size_t *counts = calloc(levels + 1, sizeof(*counts));
	uint32_t *order = malloc((levels + 1) * sizeof(*order));
	struct kept_levels kept = {malloc((levels + 1) * sizeof(uint32_t)), 0, LEVEL_UNSEEN};
	bool *are_frequent = calloc(levels + 1, sizeof(*are_frequent));
	column->level_names = sn_arena_array(&table->texts, const char *, LEVELS_KEPT + 1);
	bool has_memory = counts && order && kept.numbers && are_frequent && column->level_names;
	for (size_t row = 0; has_memory && row < table->row_count; row++)
		if (!isnan(column->values[row]))
			counts[(size_t)column->values[row]]++;
	for (uint32_t level = 0; has_memory && level < levels; level++) {
		order[level] = level;
		kept.numbers[level] = LEVEL_UNSEEN;
	}
	if (has_memory)
		sort_levels(order, levels, counts);
	for (uint32_t place = 0; has_memory && place < levels && place < LEVELS_KEPT; place++)
		are_frequent[order[place]] = true;
	for (size_t row = 0; has_memory && row < table->row_count; row++)
		if (!isnan(column->values[row]))
			keep_level(&kept, column, &column->values[row], names,
				   are_frequent[(size_t)column->values[row]]);
	column->levels = kept.count;
	free(counts);
	free(order);
	free(kept.numbers);
	free(are_frequent);
	return has_memory ? 0 : SN_ERR_MEMORY;
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
		    (struct sn_causal_column){.name = SN_STRETCH_COLUMN, .values = values};
	else
		free(values);
	bool has_failed = !order || !values;
	free(order);
	return has_failed ? SN_ERR_MEMORY : 0;
}

static int make_table(struct sn_variability_causes *causes,
		      const struct sn_launch_features *features, enum sn_feature target)
{
	struct sn_causal_table *table = &causes->table;
	size_t *rows = causes->rows = malloc((features->row_count + 1) * sizeof(*rows));
	table->columns = calloc(features->column_count + 2u, sizeof(*table->columns));
	int result = rows && table->columns ? 0 : SN_ERR_MEMORY;
	if (!result)
		table->row_count =
		    choose_rows(&features->columns[target], features->row_count, rows);
	if (!result && sn_feature_is_of_differences(target))
		causes->single_count = features->columns[target].missing;
	for (unsigned number = 0; !result && number < features->column_count; number++)
		if (sn_feature_is_beside((enum sn_feature)number, target))
			result = add_column(table, rows, &features->columns[number]);
	uint32_t start = sn_causal_table_find(table, sn_feature_name(SN_FEATURE_START));
	if (!result && start != UINT32_MAX && table->row_count >= STRETCHED_LEAST)
		result = add_stretches(table, start);
	return result;
}

static int set_tiers(struct sn_prior *prior, const struct sn_texts *tiers,
		     bool (*is_outside)(const char *name), struct sn_error *error)
{
	int result = 0;
	for (size_t tier = 0; !result && tier < tiers->count; tier++)
		result = sn_prior_add_tier(prior, tiers->items[tier], error);
	if (tiers->count)
		return result;
	prior->tier_count = 1;
	for (uint32_t column = 0; column < prior->table->column_count; column++)
		if (is_outside(prior->table->columns[column].name))
			prior->tiers[column] = 0;
	return 0;
}

static int add_pairs(struct sn_prior *prior, const struct sn_texts *pairs, bool are_required,
		     struct sn_error *error)
{
	int result = 0;
	for (size_t pair = 0; !result && pair < pairs->count; pair++)
		result = sn_prior_add_pair(prior, pairs->items[pair], are_required, error);
	return result;
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

static int make_prior(struct sn_variability_causes *causes, const struct sn_causal_asked *asked,
		      bool (*is_outside)(const char *name), struct sn_error *error)
{
	struct sn_prior *prior = &causes->prior;
	int result = sn_prior_init(prior, &causes->table, causes->target, error);
	if (!result && sn_causal_table_find(&causes->table, SN_STRETCH_COLUMN) != UINT32_MAX)
		result = sn_prior_set_cluster(prior, SN_STRETCH_COLUMN, error);
	prior->are_stretches = true;
	prior->identity = sn_counted_kernel(&causes->table);
	result = result ? result : set_tiers(prior, &asked->tiers, is_outside, error);
	result = result ? result : add_pairs(prior, &asked->forbidden, false, error);
	result = result ? result : add_pairs(prior, &asked->required, true, error);
	if (!result)
		sn_prior_finish(prior);
	return result;
}

/* Of the table that rank 0 has made, which has failed or not. */
static int search(struct sn_variability_causes *causes, int made,
		  const struct sn_causal_asked *asked, bool (*is_outside)(const char *name),
		  struct sn_error *error)
{
	const struct sn_peers *peers = asked->options.peers;
	int result = sn_peers_agree(peers, sn_fail_code(error, made), error);
	result = result ? result : share_table(&causes->table, peers, error);
	if (!result)
		result = sn_peers_agree(peers, make_prior(causes, asked, is_outside, error), error);
	if (result)
		return result;
	if (!causes->table.row_count) {
		sn_fail(&causes->why, SN_ERR_ARGUMENT, "no launch has a value of '%s'",
			causes->target);
		return 0;
	}
	result = sn_causal(&causes->causal, &causes->prior, asked->options, &causes->why);
	causes->is_known = !result;
	/* what is required may contradict itself */
	bool is_failure = result == SN_ERR_MEMORY || (result && asked->required.count);
	return is_failure ? sn_fail_again(error, result, &causes->why) : 0;
}

int sn_variability_causes(struct sn_variability_causes *causes,
			  const struct sn_launch_features *features, enum sn_feature target,
			  const struct sn_causal_asked *asked, struct sn_error *error)
{
	*causes = (struct sn_variability_causes){.target = sn_feature_name(target)};
	int made = asked->options.peers->rank() ? 0 : make_table(causes, features, target);
	return search(causes, made, asked, is_set_outside, error);
}

static int take_table(struct sn_variability_causes *causes, struct sn_counted *counted)
{
	struct sn_causal_table *table = &causes->table;
	int result = sn_counted_take(counted, SN_CAUSES_ROWS, table);
	uint32_t order = sn_causal_table_find(table, "start_ns");
	if (order == UINT32_MAX)
		order = sn_causal_table_find(table, "launch_order");
	bool is_there = sn_causal_table_find(table, SN_STRETCH_COLUMN) != UINT32_MAX;
	if (!result && order != UINT32_MAX && !is_there && !table->columns[order].levels &&
	    !table->columns[order].missing && table->row_count >= STRETCHED_LEAST)
		result = add_stretches(table, order);
	return result;
}

int sn_variability_causes_counted(struct sn_variability_causes *causes, struct sn_counted *counted,
				  const struct sn_causal_asked *asked, struct sn_error *error)
{
	*causes = (struct sn_variability_causes){.target = counted->target_name,
						 .single_count = counted->single_count};
	int made = asked->options.peers->rank() ? 0 : take_table(causes, counted);
	return search(causes, made, asked, sn_counted_is_set_outside, error);
}

void sn_variability_causes_release(struct sn_variability_causes *causes)
{
	sn_causal_settings_release(&causes->settings);
	sn_causal_release(&causes->causal);
	free(causes->rows);
	sn_prior_release(&causes->prior);
	sn_causal_table_release(&causes->table);
}

/* ---- what is asked of the graph ---- */

int sn_variability_causes_refuse(const struct sn_variability_causes *causes, const char *option,
				 struct sn_error *error)
{
	return sn_fail(error, SN_ERR_ARGUMENT, "there is no graph for '%s': %s", option,
		       causes->why.text);
}

int sn_variability_causes_ask(struct sn_variability_causes *causes,
			      const struct sn_causal_asked *asked, struct sn_page *page,
			      struct sn_error *error)
{
	if (!causes->is_known)
		return asked->settings.count ? sn_variability_causes_refuse(causes, "--do", error)
					     : 0;
	return sn_causal_ask(asked, &causes->causal, &causes->prior, &causes->settings, page,
			     error);
}

/* ---- what is told ---- */

const char *sn_variability_target_name(const char *target)
{
	return strcmp(target, sn_feature_name(SN_FEATURE_PERF_VARIATION))
		   ? target
		   : "perf_variation (kernel_variability)";
}

const char *sn_variability_target_meaning(const char *target)
{
	static const char *const meanings[SN_FEATURES] = {
	    [SN_FEATURE_PERF_VARIATION] = "|duration - mean of its kernel and configuration|",
	    [SN_FEATURE_MEMORY_STALL] = "|duration - that of the linked copy|",
	    [SN_FEATURE_DURATION] = "the duration",
	    [SN_FEATURE_LOG_DURATION] = "the logarithm of the duration",
	    [SN_FEATURE_LOG_SQUARED_RESIDUAL] =
		"the logarithm of the squared difference from its configuration's mean logarithm",
	    [SN_FEATURE_EXPOSED_COPY] = "the linked copy's time beside no kernel"};
	for (enum sn_feature feature = 0; feature < SN_FEATURES; feature++)
		if (meanings[feature] && !strcmp(target, sn_feature_name(feature)))
			return meanings[feature];
	return NULL;
}

static const char *launches(size_t count)
{
	return count == 1 ? "launch" : "launches";
}

void sn_variability_causes_show(const struct sn_variability_causes *causes, struct sn_page *page)
{
	const char *meaning = sn_variability_target_meaning(causes->target);
	size_t rows = causes->table.row_count, single = causes->single_count;
	sn_page_sentence(page, "To be explained is %s%s%s, of %zu %s.",
			 sn_variability_target_name(causes->target), meaning ? ": " : "",
			 meaning ? meaning : "", rows, launches(rows));
	if (single)
		sn_page_sentence(page,
				 "%zu %s left out, as nothing else has %s kernel and "
				 "configuration: %s.",
				 single, single == 1 ? "launch is" : "launches are",
				 single == 1 ? "its" : "their",
				 single == 1 ? "it cannot differ from its own mean"
					     : "they cannot differ from their own mean");
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
		sn_causal_do_json(&causes->causal, causes->settings.items, causes->settings.count,
				  json);
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
