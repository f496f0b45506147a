/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of profilers' tables; see launch.h. */
#include "launch.h"

#include "unit.h"
#include "value.h"

#include <math.h>

enum { KEY_MARK = 0x1f }; /* between the parts of a key */

struct sn_table_launch {
	int64_t first_begin, begin; /* of its first pass, and of the last one seen */
	double duration_sum;
	uint32_t passes;
};

struct sn_table_metric {
	uint32_t column;
	double scale;
	const char *section; /* of a base */
};

/* ---- columns of the file ---- */

static int add_triple(struct sn_table_launches *launches, const char *name)
{
	struct sn_table_builder *builder = launches->builder;
	int result = 0;
	for (char axis = 'x'; !result && axis <= 'z'; axis++) {
		const char *text = sn_arena_print(&builder->table->texts, "%s %c", name, axis);
		result = text ? sn_table_add_column(builder, text, NULL, false) : SN_ERR_MEMORY;
	}
	return result;
}

static int add_field(struct sn_table_launches *launches, const char *given, uint32_t field)
{
	struct sn_table_builder *builder = launches->builder;
	const char *name = sn_arena_text(&builder->table->texts, given);
	enum sn_role role = launches->roles->of[field];
	if (!name)
		return SN_ERR_MEMORY;
	if (role >= SN_ROLE_SECTION)
		return 0;
	if (role > SN_ROLE_TRIPLE)
		return sn_table_add_apart(builder, name);
	launches->columns[field] = builder->table->column_count;
	if (role == SN_ROLE_TRIPLE)
		return add_triple(launches, name);
	return sn_table_add_column(builder, name, NULL, role == SN_ROLE_CATEGORY);
}

int sn_table_launches_begin(struct sn_table_launches *launches, const char *const *names)
{
	uint32_t count = launches->roles->count;
	int result = 0;
	launches->columns = malloc((count + 1) * sizeof(*launches->columns));
	launches->scales = malloc((count + 1) * sizeof(*launches->scales));
	if (!launches->columns || !launches->scales)
		return SN_ERR_MEMORY;
	for (uint32_t field = 0; !result && field < count; field++) {
		launches->columns[field] = UINT32_MAX;
		launches->scales[field] = 1;
		result = add_field(launches, names[field], field);
	}
	return result;
}

int sn_table_launches_units(struct sn_table_launches *launches, const char *const *fields)
{
	struct sn_causal_table *table = launches->builder->table;
	for (uint32_t field = 0; field < launches->roles->count; field++) {
		if (launches->roles->of[field] != SN_ROLE_VALUE || !*fields[field])
			continue;
		launches->scales[field] = sn_unit_scale(
		    fields[field], &table->texts, &table->columns[launches->columns[field]].unit);
	}
	return table->texts.failed ? SN_ERR_MEMORY : 0;
}

/* ---- a launch ---- */

static void add_part(struct sn_buffer *key, const char *text)
{
	sn_buffer_text(key, text);
	sn_buffer_byte(key, KEY_MARK);
}

/* The number of the key in launches->key; SN_INTERN_NONE without memory. */
static uint32_t number_of_key(struct sn_table_launches *launches, struct sn_intern *keys)
{
	return launches->key.failed ? SN_INTERN_NONE
				    : sn_intern_add(keys, launches->key.bytes, launches->key.count);
}

/* Its number, which a new one has from the count of launches before it. */
static uint32_t find_launch(struct sn_table_launches *launches, const char *const *fields)
{
	const struct sn_roles *roles = launches->roles;
	if (!roles->is_long)
		return (uint32_t)launches->launch_count;
	sn_buffer_cut(&launches->key, 0);
	for (uint32_t field = 0; field < roles->least_count; field++)
		if (roles->of[field] == SN_ROLE_KEY || roles->of[field] == SN_ROLE_CATEGORY)
			add_part(&launches->key, fields[field]);
	return number_of_key(launches, &launches->keys);
}

static int set_triple(struct sn_table_launches *launches, uint32_t column, size_t row,
		      const char *field)
{
	struct sn_causal_column *columns = launches->builder->table->columns;
	double values[3];
	if (!sn_value_triple(field, values))
		return sn_table_set(launches->builder, column, row, field, 1);
	for (uint32_t axis = 0; axis < 3; axis++)
		columns[column + axis].values[row] = values[axis];
	return 0;
}

/* A new launch, with what its row has besides metrics of the long form. */
static int begin_launch(struct sn_table_launches *launches, const char *const *fields)
{
	const struct sn_roles *roles = launches->roles;
	size_t row = launches->launch_count;
	int result = sn_table_add_row(launches->builder);
	for (uint32_t field = 0; !result && field < roles->least_count; field++) {
		uint32_t column = launches->columns[field];
		if (column == UINT32_MAX)
			continue;
		result = roles->of[field] == SN_ROLE_TRIPLE
			     ? set_triple(launches, column, row, fields[field])
			     : sn_table_set(launches->builder, column, row, fields[field],
					    launches->scales[field]);
	}
	return result ? result
		      : sn_vec_push(&launches->launches, &launches->launch_capacity,
				    &launches->launch_count, (struct sn_table_launch){0});
}

/* Rows of a launch that have its times are of one pass, and follow one another. */
static void note_times(struct sn_table_launches *launches, struct sn_table_launch *launch,
		       const char *const *fields)
{
	int64_t begin, end;
	if (launches->roles->begin == UINT32_MAX ||
	    !sn_value_whole(sn_value_trim(fields[launches->roles->begin]), &begin) ||
	    !sn_value_whole(sn_value_trim(fields[launches->roles->end]), &end))
		return;
	if (launch->passes && launch->begin == begin)
		return;
	if (!launch->passes)
		launch->first_begin = begin;
	launch->begin = begin;
	launch->duration_sum += (double)(int64_t)((uint64_t)end - (uint64_t)begin);
	launch->passes++;
}

/* ---- a metric of the long form ---- */

static int add_metric(struct sn_table_launches *launches, struct sn_table_metric *metric,
		      const char *section, const char *name, const char *base)
{
	struct sn_table_builder *builder = launches->builder;
	struct sn_arena *texts = &builder->table->texts;
	sn_buffer_cut(&launches->key, 0);
	add_part(&launches->key, section);
	add_part(&launches->key, name);
	add_part(&launches->key, base);
	uint32_t before = launches->base_keys.count,
		 number = number_of_key(launches, &launches->base_keys);
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&launches->bases, &launches->base_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == before) {
		launches->bases[number] = (struct sn_table_metric){builder->table->column_count, 1,
								   sn_arena_text(texts, section)};
		const char *copy = sn_arena_text(texts, name);
		int result = copy && launches->bases[number].section
				 ? sn_table_add_column(builder, copy, *base ? base : NULL, false)
				 : SN_ERR_MEMORY;
		if (result)
			return result;
	}
	metric->column = launches->bases[number].column;
	return 0;
}

/* The metric that a row has, or NULL without memory. */
static const struct sn_table_metric *find_metric(struct sn_table_launches *launches,
						 const char *section, const char *name,
						 const char *unit)
{
	sn_buffer_cut(&launches->key, 0);
	add_part(&launches->key, section);
	add_part(&launches->key, name);
	add_part(&launches->key, unit);
	uint32_t before = launches->metric_keys.count,
		 number = number_of_key(launches, &launches->metric_keys);
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&launches->metrics, &launches->metric_capacity, number + 1ull) < 0)
		return NULL;
	struct sn_table_metric *metric = &launches->metrics[number];
	if (number == before) {
		const char *base;
		metric->scale = sn_unit_scale(unit, &launches->builder->table->texts, &base);
		if (!base || add_metric(launches, metric, section, name, base))
			return NULL;
	}
	return metric;
}

static int set_metric(struct sn_table_launches *launches, uint32_t launch,
		      const char *const *fields)
{
	const struct sn_roles *roles = launches->roles;
	const char *name = fields[roles->metric];
	if (!*name) /* a rule's advice */
		return 0;
	const struct sn_table_metric *metric =
	    find_metric(launches, roles->section == UINT32_MAX ? "" : fields[roles->section], name,
			roles->unit == UINT32_MAX ? "" : fields[roles->unit]);
	if (!metric)
		return SN_ERR_MEMORY;
	if (!isnan(launches->builder->table->columns[metric->column].values[launch]))
		return 0;
	return sn_table_set(launches->builder, metric->column, launch, fields[roles->value],
			    metric->scale);
}

int sn_table_launches_add(struct sn_table_launches *launches, const char *const *fields)
{
	uint32_t launch = find_launch(launches, fields);
	int result = launch == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
	if (!result && launch == launches->launch_count)
		result = begin_launch(launches, fields);
	if (result)
		return result;
	note_times(launches, &launches->launches[launch], fields);
	return launches->roles->is_long ? set_metric(launches, launch, fields) : 0;
}

/* ---- the end ---- */

/* Where several columns have one name, appends the section to each or, once that is done, the unit. */
static int tell_apart(struct sn_table_launches *launches, bool by_unit)
{
	struct sn_causal_table *table = launches->builder->table;
	struct sn_intern names = {0};
	uint32_t *uses = calloc(launches->base_keys.count + 1u, sizeof(*uses));
	int result = uses ? 0 : SN_ERR_MEMORY;
	for (uint32_t number = 0; !result && number < launches->base_keys.count; number++) {
		const char *name = table->columns[launches->bases[number].column].name;
		uint32_t found = sn_intern_add_text(&names, name, strlen(name));
		if (found == SN_INTERN_NONE)
			result = SN_ERR_MEMORY;
		else
			uses[found]++;
	}
	for (uint32_t number = 0; !result && number < launches->base_keys.count; number++) {
		struct sn_causal_column *column = &table->columns[launches->bases[number].column];
		const char *name = column->name, *more = launches->bases[number].section;
		if (uses[sn_intern_add_text(&names, name, strlen(name))] < 2)
			continue;
		more = by_unit ? column->unit ? column->unit : "no unit" : more;
		column->name =
		    sn_arena_print(&table->texts, by_unit ? "%s [%s]" : "%s (%s)", name, more);
		result = column->name ? 0 : SN_ERR_MEMORY;
	}
	sn_intern_release(&names);
	free(uses);
	return result;
}

static int add_times(struct sn_table_launches *launches)
{
	struct sn_causal_table *table = launches->builder->table;
	bool has_times = launches->roles->begin != UINT32_MAX, is_ordered = !has_times;
	int64_t first = INT64_MAX;
	int result =
	    has_times ? sn_table_add_column(launches->builder, "duration_ns", "ns", false) : 0;
	for (size_t row = 0; !result && has_times && row < launches->launch_count; row++) {
		const struct sn_table_launch *launch = &launches->launches[row];
		if (launch->passes)
			table->columns[table->column_count - 1].values[row] =
			    launch->duration_sum / launch->passes;
		is_ordered |= launch->passes > 1;
		if (launch->passes && launch->first_begin < first)
			first = launch->first_begin;
	}
	result = result ? result
			: sn_table_add_column(launches->builder,
					      is_ordered ? "launch_order" : "start_ns",
					      is_ordered ? NULL : "ns", false);
	for (size_t row = 0; !result && row < launches->launch_count; row++) {
		double *value = &table->columns[table->column_count - 1].values[row];
		if (is_ordered)
			*value = (double)row;
		else if (launches->launches[row].passes)
			*value = (double)((uint64_t)launches->launches[row].first_begin -
					  (uint64_t)first);
	}
	return result;
}

int sn_table_launches_end(struct sn_table_launches *launches)
{
	int result = tell_apart(launches, false);
	result = result ? result : tell_apart(launches, true);
	return result ? result : add_times(launches);
}

void sn_table_launches_release(struct sn_table_launches *launches)
{
	free(launches->columns);
	free(launches->scales);
	sn_intern_release(&launches->keys);
	sn_intern_release(&launches->metric_keys);
	sn_intern_release(&launches->base_keys);
	sn_buffer_release(&launches->key);
	free(launches->launches);
	free(launches->metrics);
	free(launches->bases);
}
