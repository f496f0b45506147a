/* SPDX-License-Identifier: Apache-2.0 */
/* See epochs_callers.h. */
#include "epochs_callers.h"

#include "base/sort_by.h"

#include <stdlib.h>
#include <string.h>

/* A function, of one profile, by one metric. */
struct function {
	uint32_t profile, metric, kind, id;
	uint64_t start; /* of one in no file its name is its id */
};

/* What leads to a function, and the samples that have it. */
struct path {
	uint32_t function, parent; /* numbers: of struct function, of a node */
	double samples;
};

SN_SORT_BY(sort_paths, struct path, const void *, SN_ORDER_BY(a, b, function, parent));

struct giving {
	struct sn_merge *merge;
	const struct sn_resolved *resolved;
	struct sn_intern functions;
	struct path *paths;
	size_t count, capacity;
	size_t *firsts; /* of each function: its first path, and one behind the last function's */
};

static struct function function_of(const struct giving *giving, const struct sn_merged_value *value)
{
	const struct sn_merge *merge = giving->merge;
	uint32_t number = merge->nodes.items[value->node].frame;
	const struct sn_symbol_location *location = giving->resolved->locations[number];
	struct sn_frame frame;
	memcpy(&frame, sn_intern_at(&merge->frames, number, NULL), sizeof(frame));
	return (struct function){
	    .profile = value->profile,
	    .metric = value->metric,
	    .kind = frame.kind,
	    .id = frame.id,
	    .start = location && location->function_start ? location->function_start : frame.value,
	};
}

static int note_path(struct giving *giving, const struct sn_merged_value *value)
{
	struct function function = function_of(giving, value);
	struct path path = {
	    .function = sn_intern_add(&giving->functions, &function, sizeof(function)),
	    .parent = giving->merge->nodes.items[value->node].parent,
	    .samples = value->stat.count,
	};
	return path.function == SN_INTERN_NONE || sn_vec_push(&giving->paths, &giving->capacity,
							       &giving->count, path)
		   ? SN_ERR_MEMORY
		   : 0;
}

/* Sums paths that differ in the instruction alone, and finds where those of each function begin. */
static int order_paths(struct giving *giving)
{
	size_t kept = 0;
	sort_paths(giving->paths, giving->count, NULL);
	for (size_t i = 0; i < giving->count; i++) {
		struct path *last = kept ? giving->paths + kept - 1 : NULL;
		if (last && last->function == giving->paths[i].function &&
		    last->parent == giving->paths[i].parent)
			last->samples += giving->paths[i].samples;
		else
			giving->paths[kept++] = giving->paths[i];
	}
	giving->count = kept;
	giving->firsts = calloc(giving->functions.count + 1ull, sizeof(*giving->firsts));
	if (!giving->firsts)
		return SN_ERR_MEMORY;
	for (size_t i = kept; i--;)
		giving->firsts[giving->paths[i].function] = i;
	giving->firsts[giving->functions.count] = kept;
	return 0;
}

static struct sonde_db_stat part_of(const struct sonde_db_stat *stat, double part)
{
	return (struct sonde_db_stat){stat->count * part, stat->sum * part, stat->min, stat->max,
				      stat->sum_squares * part};
}

/* The first path takes the place of the value, the others come behind. */
static int give(struct giving *giving, size_t number)
{
	struct sn_merge *merge = giving->merge;
	const struct sn_merged_value value = merge->values[number];
	struct function function = function_of(giving, &value);
	uint32_t found = sn_intern_find(&giving->functions, &function, sizeof(function));
	if (found == SN_INTERN_NONE)
		return 0;
	size_t first = giving->firsts[found], end = giving->firsts[found + 1];
	double samples = 0;
	for (size_t i = first; i < end; i++)
		samples += giving->paths[i].samples;
	for (size_t i = first; i < end; i++) {
		struct sn_merged_node node = {giving->paths[i].parent,
					      merge->nodes.items[value.node].frame};
		struct sn_merged_value part = value;
		part.node = sn_nodes_add(&merge->nodes, node);
		part.stat = part_of(&value.stat, giving->paths[i].samples / samples);
		if (part.node == SN_NODE_NONE)
			return SN_ERR_MEMORY;
		if (i == first)
			merge->values[number] = part;
		else if (sn_vec_push(&merge->values, &merge->value_capacity, &merge->value_count,
				     part))
			return SN_ERR_MEMORY;
	}
	return 0;
}

int sn_epochs_give_callers(struct sn_merge *merge, const struct sn_resolved *resolved,
			   size_t with_callers)
{
	struct giving giving = {.merge = merge, .resolved = resolved};
	size_t count = merge->value_count;
	int result = 0;
	for (size_t i = 0; !result && i < with_callers; i++)
		result = note_path(&giving, merge->values + i);
	if (!result && giving.count)
		result = order_paths(&giving);
	for (size_t i = with_callers; !result && giving.count && i < count; i++)
		result = give(&giving, i);
	sn_intern_release(&giving.functions);
	free(giving.paths);
	free(giving.firsts);
	return result;
}
