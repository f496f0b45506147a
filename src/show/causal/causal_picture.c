/* SPDX-License-Identifier: Apache-2.0 */
/* From an analysis to drawings and pages; see causal_picture.h. */
#include "causal_picture.h"

#include "causal_answer.h"
#include "shown_unit.h"

#include <math.h>
#include <stdlib.h>

static const struct sn_causal_column *column_of(const struct sn_causal *causal, uint32_t variable)
{
	return &causal->table->columns[causal->prepared.columns[variable]];
}

static struct sn_causal_arrow arrow_of(const struct sn_causal_edge *edge)
{
	return (struct sn_causal_arrow){.from = edge->from,
					.to = edge->to,
					.is_directed = edge->is_directed,
					.frequency = edge->frequency,
					.directed = edge->directed,
					.reversed = edge->reversed,
					.effect = edge->effect.value,
					.effect_low = edge->effect.low,
					.effect_high = edge->effect.high,
					.same_sign = edge->effect.same_sign,
					.share = edge->effect.share};
}

void sn_causal_picture_release(struct sn_causal_picture *picture)
{
	free(picture->variables);
	free(picture->arrows);
	*picture = (struct sn_causal_picture){0};
}

int sn_causal_picture_init(struct sn_causal_picture *picture, const struct sn_causal *causal,
			   const char *title)
{
	const struct sn_discovery *found = &causal->found;
	uint32_t count = causal->prepared.count;
	*picture = (struct sn_causal_picture){
	    .variables = calloc(count + 1, sizeof(*picture->variables)),
	    .arrows = calloc(found->edge_count + 1, sizeof(*picture->arrows))};
	if (!picture->variables || !picture->arrows)
		return SN_ERR_MEMORY;
	for (uint32_t variable = 0; variable < count; variable++)
		picture->variables[variable] = (struct sn_causal_variable){
		    .name = column_of(causal, variable)->name,
		    .tier = causal->knowledge.tiers[variable],
		    .is_category = column_of(causal, variable)->levels > 0};
	for (uint32_t number = 0; number < found->edge_count; number++)
		picture->arrows[number] = arrow_of(&found->edges[number]);
	picture->drawing = (struct sn_causal_drawing){.title = title,
						      .variables = picture->variables,
						      .variable_count = count,
						      .target = causal->target,
						      .arrows = picture->arrows,
						      .arrow_count = found->edge_count};
	return 0;
}

/* ---- the page ---- */

/* What the rows are drawn by: the largest causes and the target; without one, the first columns. */
static unsigned choose_axes(const struct sn_causal *causal, uint32_t variables[SN_PARALLEL_AXES])
{
	unsigned count = 0;
	bool has_target = causal->target != UINT32_MAX;
	for (uint32_t number = 0;
	     has_target && number < causal->found.total_count && count + 1 < SN_PARALLEL_AXES;
	     number++)
		variables[count++] = causal->found.totals[number].from;
	for (uint32_t variable = 0;
	     variable < causal->prepared.count && count + 1 < SN_PARALLEL_AXES; variable++) {
		bool is_there = variable == causal->target;
		for (unsigned axis = 0; axis < count; axis++)
			is_there |= variables[axis] == variable;
		if (!is_there)
			variables[count++] = variable;
	}
	if (has_target)
		variables[count++] = causal->target;
	return count;
}

/* Logarithmic where numbers are all above 0 and lie over three orders of magnitude. */
static struct sn_parallel_axis axis_of(const struct sn_causal *causal, uint32_t variable)
{
	const struct sn_causal_column *column = column_of(causal, variable);
	double low = INFINITY, high = -INFINITY;
	for (size_t row = 0; !column->levels && row < causal->prepared.rows; row++) {
		double value = column->values[causal->prepared.kept_rows[row]];
		low = fmin(low, value);
		high = fmax(high, value);
	}
	return (struct sn_parallel_axis){.name = column->name,
					 .unit = sn_causal_shown_unit(column),
					 .scale = column->levels ? SN_PARALLEL_CATEGORY
						  : low > 0 && high > 1e3 * low
						      ? SN_PARALLEL_LOG
						      : SN_PARALLEL_LINEAR,
					 .low = column->levels ? NAN : low,
					 .high = column->levels ? NAN : high};
}

static void add_rows(const struct sn_causal *causal, struct sn_parallel *parallel,
		     const uint32_t *variables, unsigned count)
{
	for (size_t row = 0; row < causal->prepared.rows; row++) {
		double values[SN_PARALLEL_AXES];
		for (unsigned axis = 0; axis < count; axis++)
			values[axis] = column_of(causal, variables[axis])
					   ->values[causal->prepared.kept_rows[row]];
		sn_parallel_add(parallel, values);
	}
}

/* The JSON of the command, as a text to be freed; NULL without memory. */
static char *graph_json(const struct sn_causal *causal)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return NULL;
	struct sn_json json = {.out = out};
	sn_json_begin(&json, '{');
	sn_causal_json(causal, &json);
	sn_json_end(&json, '}');
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

void sn_causal_rows_release(struct sn_causal_rows *rows)
{
	sn_parallel_free(rows->parallel);
	rows->parallel = NULL;
}

int sn_causal_rows_init(struct sn_causal_rows *rows, const struct sn_causal *causal)
{
	uint32_t variables[SN_PARALLEL_AXES];
	struct sn_parallel_axis axes[SN_PARALLEL_AXES];
	unsigned count = choose_axes(causal, variables);
	*rows = (struct sn_causal_rows){.parallel = NULL};
	for (unsigned axis = 0; axis < count; axis++) {
		const struct sn_causal_column *column = column_of(causal, variables[axis]);
		axes[axis] = axis_of(causal, variables[axis]);
		if (column->levels)
			rows->names[axis] =
			    (struct sn_parallel_names){column->level_names, column->levels};
	}
	rows->parallel = sn_parallel_new(axes, count);
	if (!rows->parallel)
		return SN_ERR_MEMORY;
	add_rows(causal, rows->parallel, variables, count);
	return 0;
}

int sn_causal_write_html(const struct sn_causal_picture *picture, const struct sn_causal *causal,
			 const struct sn_page *page, const char *path, struct sn_error *error)
{
	struct sn_causal_rows rows;
	int result = sn_causal_rows_init(&rows, causal);
	char *text = graph_json(causal);
	struct sn_causal_page all = {.title = picture->drawing.title,
				     .sentences = page->sentences,
				     .sentence_count = page->sentence_count,
				     .graph_json = text,
				     .drawing = &picture->drawing,
				     .parallel = rows.parallel,
				     .names = rows.names};
	result = !result && text ? sn_causal_page(&all, path, error) : sn_fail_memory(error);
	sn_causal_rows_release(&rows);
	free(text);
	return result;
}
