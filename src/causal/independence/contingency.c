/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a and b in groups of rows; see contingency.h. */
#include "contingency.h"

#include "base/error.h"
#include "chi_square.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS_MOST 256u

/* The rows, ordered by their group. */
struct sn_contingency_groups {
	uint32_t variable; /* held in addition to those of the groups before */
	uint32_t *rows;
	uint32_t *begins; /* of each group, and behind the last one */
	uint32_t count;	  /* without empty ones */
};

int sn_contingency_init(struct sn_contingency *contingency, const struct sn_discrete_table *table,
			enum sn_contingency_statistic statistic)
{
	*contingency = (struct sn_contingency){.table = table, .statistic = statistic};
	for (size_t row = 0; row < table->rows; row++)
		contingency->rows += sn_discrete_weight(table, row);
	contingency->counts = calloc(LEVELS_MOST * (LEVELS_MOST + 2), sizeof(*contingency->counts));
	return contingency->counts ? 0 : SN_ERR_MEMORY;
}

void sn_contingency_release(struct sn_contingency *contingency)
{
	for (uint32_t level = 0; level < contingency->group_capacity; level++)
		free(contingency->groups[level].rows);
	free(contingency->groups);
	free(contingency->counts);
	*contingency = (struct sn_contingency){0};
}

/* ---- groups ---- */

static int make_groups(struct sn_contingency *contingency, uint32_t count)
{
	if (count <= contingency->group_capacity)
		return 0;
	struct sn_contingency_groups *grown =
	    realloc(contingency->groups, count * sizeof(*contingency->groups));
	if (!grown)
		return SN_ERR_MEMORY;
	contingency->groups = grown;
	for (size_t rows = contingency->table->rows; contingency->group_capacity < count;) {
		struct sn_contingency_groups groups = {
		    .rows = malloc((2 * rows + 2) * sizeof(uint32_t))};
		if (!groups.rows)
			return SN_ERR_MEMORY;
		groups.begins = groups.rows + rows;
		contingency->groups[contingency->group_capacity++] = groups;
	}
	return 0;
}

static void all_rows(struct sn_contingency *contingency)
{
	struct sn_contingency_groups *groups = contingency->groups;
	for (size_t row = 0; row < contingency->table->rows; row++)
		groups->rows[row] = (uint32_t)row;
	groups->begins[0] = 0;
	groups->begins[1] = (uint32_t)contingency->table->rows;
	groups->count = 1;
}

/* Splits each group by the values of one more variable. */
static void split(const struct sn_discrete_table *table, const struct sn_contingency_groups *from,
		  uint32_t variable, struct sn_contingency_groups *to)
{
	const uint8_t *values = table->values[variable];
	uint32_t levels = table->levels[variable];
	to->variable = variable;
	to->count = 0;
	for (uint32_t group = 0; group < from->count; group++) {
		uint32_t begin = from->begins[group], end = from->begins[group + 1], at = begin;
		uint32_t places[LEVELS_MOST + 1] = {0};
		for (uint32_t place = begin; place < end; place++)
			places[values[from->rows[place]] + 1]++;
		for (uint32_t level = 0; level < levels; level++) {
			uint32_t rows = places[level + 1];
			places[level + 1] = at;
			if (rows)
				to->begins[to->count++] = at;
			at += rows;
		}
		for (uint32_t place = begin; place < end; place++) {
			uint32_t row = from->rows[place];
			to->rows[places[values[row] + 1]++] = row;
		}
	}
	to->begins[to->count] = (uint32_t)table->rows;
}

/* The groups by these variables; what was held before, as far as it is the same, is not split again. NULL: no memory. */
static const struct sn_contingency_groups *group(struct sn_contingency *contingency,
						 const uint32_t *given, uint32_t count)
{
	uint32_t same = 0;
	if (make_groups(contingency, count + 1))
		return NULL;
	if (!contingency->group_levels) {
		all_rows(contingency);
		contingency->group_levels = 1;
	}
	while (same < count && same + 1 < contingency->group_levels &&
	       contingency->groups[same + 1].variable == given[same])
		same++;
	for (uint32_t level = same; level < count; level++)
		split(contingency->table, &contingency->groups[level], given[level],
		      &contingency->groups[level + 1]);
	if (same < count)
		contingency->group_levels = count + 1;
	return &contingency->groups[count];
}

/* ---- the table of one group ---- */

struct sums {
	double value, degrees;
	uint64_t cells; /* that rows are in */
};

/* How often the group's rows count. */
static uint32_t count_group(struct sn_contingency *contingency, const uint32_t *rows,
			    uint32_t count, uint32_t a, uint32_t b)
{
	const struct sn_discrete_table *table = contingency->table;
	const uint8_t *of_a = table->values[a], *of_b = table->values[b];
	uint32_t levels_a = table->levels[a], levels_b = table->levels[b];
	uint32_t *cells = contingency->counts, *margin_a = cells + levels_a * levels_b,
		 *margin_b = margin_a + levels_a;
	memset(cells, 0, (levels_a * levels_b + levels_a + levels_b) * sizeof(*cells));
	uint32_t all = 0;
	for (uint32_t place = 0; place < count; place++) {
		uint32_t weight = sn_discrete_weight(table, rows[place]);
		cells[of_a[rows[place]] * levels_b + of_b[rows[place]]] += weight;
		all += weight;
	}
	for (uint32_t level_a = 0; level_a < levels_a; level_a++)
		for (uint32_t level_b = 0; level_b < levels_b; level_b++) {
			margin_a[level_a] += cells[level_a * levels_b + level_b];
			margin_b[level_b] += cells[level_a * levels_b + level_b];
		}
	return all;
}

static void add_group(const struct sn_contingency *contingency, uint32_t rows, uint32_t levels_a,
		      uint32_t levels_b, struct sums *sums)
{
	const uint32_t *cell = contingency->counts, *margin_a = cell + levels_a * levels_b,
		       *margin_b = margin_a + levels_a;
	uint32_t seen_a = 0, seen_b = 0;
	for (uint32_t level_b = 0; level_b < levels_b; level_b++)
		seen_b += margin_b[level_b] > 0;
	for (uint32_t level_a = 0; level_a < levels_a; level_a++, cell += levels_b) {
		seen_a += margin_a[level_a] > 0;
		for (uint32_t level_b = 0; margin_a[level_a] && level_b < levels_b; level_b++) {
			double expected = (double)margin_a[level_a] * margin_b[level_b] / rows;
			double above = cell[level_b] - expected;
			sums->cells += cell[level_b] > 0;
			if (contingency->statistic == SN_CONTINGENCY_CHI_SQUARE)
				sums->value += expected > 0 ? above * above / expected : 0;
			else if (cell[level_b])
				sums->value += 2 * cell[level_b] * log(cell[level_b] / expected);
		}
	}
	sums->degrees += (double)(seen_a - 1) * (seen_b - 1);
}

static double degrees_of(const struct sn_contingency *contingency, const struct sums *sums,
			 uint32_t a, uint32_t b, const uint32_t *given, uint32_t count)
{
	const uint32_t *levels = contingency->table->levels;
	double groups = 1;
	if (contingency->degrees == SN_CONTINGENCY_MARGINS)
		return sums->degrees;
	for (uint32_t held = 0; held < count; held++)
		groups *= levels[given[held]];
	double all = groups * (levels[a] - 1) * (levels[b] - 1);
	if (contingency->degrees == SN_CONTINGENCY_ALL)
		return all;
	return fmax(1, all - (groups * levels[a] * levels[b] - (double)sums->cells));
}

int sn_contingency_measure(struct sn_contingency *contingency, uint32_t a, uint32_t b,
			   const uint32_t *given, uint32_t count, double *value, double *degrees)
{
	const uint32_t *levels = contingency->table->levels;
	const struct sn_contingency_groups *groups = group(contingency, given, count);
	struct sums sums = {0};
	if (!groups)
		return SN_ERR_MEMORY;
	for (uint32_t number = 0; number < groups->count; number++) {
		uint32_t begin = groups->begins[number], end = groups->begins[number + 1];
		uint32_t rows = count_group(contingency, groups->rows + begin, end - begin, a, b);
		if (rows)
			add_group(contingency, rows, levels[a], levels[b], &sums);
	}
	*value = sums.value;
	*degrees = degrees_of(contingency, &sums, a, b, given, count);
	return 0;
}

static double contingency_of(void *context, uint32_t a, uint32_t b, const uint32_t *given,
			     uint32_t count)
{
	struct sn_contingency *contingency = context;
	double value, degrees;
	if (sn_contingency_measure(contingency, a, b, given, count, &value, &degrees))
		return SN_INDEPENDENCE_MEMORY;
	if (contingency->rows < contingency->rows_per_degree * degrees)
		return SN_INDEPENDENCE_UNKNOWN;
	return degrees > 0 ? sn_chi_square_tail(value, degrees) : 1;
}

struct sn_independence sn_contingency_test(struct sn_contingency *contingency)
{
	return (struct sn_independence){
	    .of = contingency_of, .given_most = UINT32_MAX, .context = contingency};
}
