/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical order of a database, and the renumbering that brings everything into it.
 *
 * Strings by their bytes; modules and frames by their fields, in which strings and modules already
 * have their final numbers; contexts in pre-order, siblings by frame; metrics by kind and name;
 * profiles by host, rank, process, kind, start and thread.
 * Nothing depends on the order of insertion.
 */
#include "base/sort_by.h"
#include "database_builder.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of the things being ordered, by the builder's numbers. */
struct ranks {
	uint32_t *string, *module, *frame, *context, *metric, *profile, *drop, *property;
};

static uint32_t apply(const uint32_t *rank, uint32_t number)
{
	return number == SONDE_NONE ? SONDE_NONE : rank[number];
}

static uint32_t *identity(size_t count)
{
	uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));
	for (size_t i = 0; numbers && i < count; i++)
		numbers[i] = (uint32_t)i;
	return numbers;
}

/* Sorts the numbers 0 .. count - 1 and returns the inverse: the rank of each. NULL without memory.
 */
static uint32_t *rank_by(uint32_t *numbers, size_t count,
			 int (*compare)(const void *, const void *, void *), const void *things)
{
	uint32_t *rank = malloc((count + 1) * sizeof(*rank));
	if (!numbers || !rank) {
		free(rank);
		return NULL;
	}
	qsort_r(numbers, count, sizeof(*numbers), compare, (void *)(uintptr_t)things);
	for (size_t i = 0; i < count; i++)
		rank[numbers[i]] = (uint32_t)i;
	return rank;
}

static int compare_strings(const void *left, const void *right, void *intern)
{
	size_t left_length, right_length;
	const void *a = sn_intern_at(intern, *(const uint32_t *)left, &left_length);
	const void *b = sn_intern_at(intern, *(const uint32_t *)right, &right_length);
	size_t common = left_length < right_length ? left_length : right_length;
	int order = memcmp(a, b, common);
	return sn_order_then(order, SN_ORDER(left_length, right_length));
}

static int compare_modules(const void *left, const void *right, void *modules)
{
	const struct sonde_db_module *a = (struct sonde_db_module *)modules + *(uint32_t *)left;
	const struct sonde_db_module *b = (struct sonde_db_module *)modules + *(uint32_t *)right;
	return SN_ORDER_BY(a, b, path, build_id, flags, reserved);
}

static int compare_frames(const void *left, const void *right, void *frames)
{
	const struct sonde_db_frame *a = (struct sonde_db_frame *)frames + *(uint32_t *)left;
	const struct sonde_db_frame *b = (struct sonde_db_frame *)frames + *(uint32_t *)right;
	return SN_ORDER_BY(a, b, kind, name, module, file, line, offset, function_line,
			   linkage_name, flags, reserved, loop_number);
}

static int compare_metrics(const void *left, const void *right, void *metrics)
{
	const struct sonde_db_metric *a = (struct sonde_db_metric *)metrics + *(uint32_t *)left;
	const struct sonde_db_metric *b = (struct sonde_db_metric *)metrics + *(uint32_t *)right;
	return SN_ORDER_BY(a, b, kind, name);
}

static int compare_profiles(const void *left, const void *right, void *profiles)
{
	const struct sonde_db_profile *a = (struct sonde_db_profile *)profiles + *(uint32_t *)left;
	const struct sonde_db_profile *b = (struct sonde_db_profile *)profiles + *(uint32_t *)right;
	uint32_t a_number = *(uint32_t *)left, b_number = *(uint32_t *)right;
	return SN_ORDER_BY(a, b, run, host, rank, pid, kind, start_ns, tid, device, device_context,
			   stream, thread, program, end_ns, cpu_ns, samples, own_ns)
		   ?: SN_ORDER(a_number, b_number);
}

static int compare_drops(const void *left, const void *right, void *drops)
{
	const struct sonde_db_drop *a = (struct sonde_db_drop *)drops + *(uint32_t *)left;
	const struct sonde_db_drop *b = (struct sonde_db_drop *)drops + *(uint32_t *)right;
	return SN_ORDER_BY(a, b, cause);
}

static int compare_properties(const void *left, const void *right, void *properties)
{
	const struct sn_database_property *all = properties;
	const struct sn_database_property *a = all + *(uint32_t *)left,
					  *b = all + *(uint32_t *)right;
	return SN_ORDER_BY(a, b, key);
}

struct child {
	uint32_t parent, frame, number;
};

SN_SORT_BY(sort_by_parent, struct child, const void *, SN_ORDER_BY(a, b, parent, frame));

static int order_strings(const struct sn_db_builder *builder, struct ranks *ranks,
			 struct sn_db_ordered *ordered)
{
	ordered->numbers.string_count = builder->strings.count;
	ordered->string_at = identity(ordered->numbers.string_count);
	ranks->string = rank_by(ordered->string_at, ordered->numbers.string_count, compare_strings,
				&builder->strings);
	return ranks->string ? 0 : SN_ERR_MEMORY;
}

/* A field that is the number of something else, whose ranks are known. */
struct reference {
	size_t offset;
	uint32_t *const *rank; /* NULL: the last of a list */
};

static void renumber(unsigned char *item, const struct reference *references)
{
	for (; references->rank; references++) {
		uint32_t *number = (uint32_t *)(item + references->offset);
		*number = apply(*references->rank, *number);
	}
}

/*
 * Copies of the builder's items, with the final numbers of what they refer to, in their order; and
 * the rank of each. `items` and `rank` are from malloc.
 */
static int order_items(const void *from, size_t count, size_t item_bytes,
		       const struct reference *references,
		       int (*compare)(const void *, const void *, void *), void *items_pointer,
		       uint32_t **rank)
{
	void **items = items_pointer;
	uint32_t *numbers = identity(count);
	unsigned char *copy = calloc(count + 1, item_bytes);
	unsigned char *sorted = malloc(count * item_bytes + 1);
	if (copy && count)
		memcpy(copy, from, count * item_bytes);
	for (size_t i = 0; copy && i < count; i++)
		renumber(copy + i * item_bytes, references);
	*rank = copy && sorted ? rank_by(numbers, count, compare, copy) : NULL;
	for (size_t i = 0; *rank && i < count; i++)
		memcpy(sorted + i * item_bytes, copy + numbers[i] * item_bytes, item_bytes);
	*items = sorted;
	free(copy);
	free(numbers);
	return *rank ? 0 : SN_ERR_MEMORY;
}

/* All contexts but the root, by parent and frame. */
static struct child *sort_children(const struct sn_db_builder *builder, const struct ranks *ranks)
{
	uint32_t count = builder->contexts.count - 1;
	struct child *children = malloc((count + 1ull) * sizeof(*children));
	if (!children)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		struct sn_db_context_key key;
		memcpy(&key, sn_intern_at(&builder->contexts, i + 1, NULL), sizeof(key));
		children[i] = (struct child){key.parent, ranks->frame[key.frame], i + 1};
	}
	sort_by_parent(children, count, NULL);
	return children;
}

/*
 * Numbers the contexts in pre-order without recursion: next[c] is the position in `children` of the
 * next child of c to visit.
 */
static void number_contexts(const struct child *children, uint32_t *next, struct ranks *ranks,
			    struct sn_db_ordered *ordered)
{
	uint32_t count = ordered->numbers.context_count;
	for (uint32_t i = 0; i < count; i++)
		next[i] = SONDE_NONE;
	for (uint32_t i = count - 1; i--;)
		next[children[i].parent] = i;
	uint32_t current = 0, last = 0,
		 number = 0; /* `number` is the builder's number of current */
	uint32_t *number_at = ranks->context + count;
	ranks->context[0] = number_at[0] = 0;
	for (;;) {
		uint32_t position = next[number];
		if (position != SONDE_NONE && position < count - 1 &&
		    children[position].parent == number) {
			const struct child *child = children + position;
			next[number]++;
			last++;
			ordered->contexts[last] = (struct sonde_db_context){
			    child->frame, current, 0, ordered->contexts[current].depth + 1};
			ranks->context[child->number] = last;
			number_at[last] = child->number;
			current = last;
		} else {
			ordered->contexts[current].end = last + 1;
			if (!current)
				return;
			current = ordered->contexts[current].parent;
		}
		number = number_at[current];
	}
}

static int order_contexts(const struct sn_db_builder *builder, struct ranks *ranks,
			  struct sn_db_ordered *ordered)
{
	size_t count = builder->contexts.count;
	ordered->numbers.context_count = (uint32_t)count;
	ordered->contexts = malloc(count * sizeof(*ordered->contexts));
	ranks->context = malloc(2 * count * sizeof(*ranks->context));
	struct child *children = sort_children(builder, ranks);
	uint32_t *next = malloc(count * sizeof(*next));
	bool has_memory = ordered->contexts && ranks->context && children && next;
	if (has_memory) {
		ordered->contexts[0] =
		    (struct sonde_db_context){ranks->frame[builder->root_frame], 0, 0, 0};
		number_contexts(children, next, ranks, ordered);
	}
	free(children);
	free(next);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

/* What the events refer to; the ranks are the ordered's from here on. */
static int keep_ranks(const struct sn_db_builder *builder, struct ranks *ranks,
		      struct sn_db_ordered *ordered)
{
	uint32_t *profile_at = identity(builder->profile_count);
	if (!profile_at)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < builder->profile_count; i++)
		profile_at[ranks->profile[i]] = i;
	struct sn_db_numbers *numbers = &ordered->numbers;
	numbers->strings = ranks->string;
	numbers->contexts = ranks->context;
	numbers->metrics = ranks->metric;
	numbers->profiles = ranks->profile;
	numbers->profile_at = profile_at;
	numbers->metric_count = (uint32_t)builder->metric_count;
	numbers->profile_count = (uint32_t)builder->profile_count;
	ranks->string = ranks->context = ranks->metric = ranks->profile = NULL;
	return 0;
}

int sn_db_order(const struct sn_db_builder *builder, struct sn_db_ordered *ordered)
{
	struct ranks ranks = {0};
#define STRING(type, field)                                                                        \
	{                                                                                          \
		offsetof(struct type, field), &ranks.string                                        \
	}
	const struct reference module[] = {
	    STRING(sonde_db_module, path), STRING(sonde_db_module, build_id), {0}};
	const struct reference frame[] = {STRING(sonde_db_frame, name),
					  STRING(sonde_db_frame, linkage_name),
					  STRING(sonde_db_frame, file),
					  {offsetof(struct sonde_db_frame, module), &ranks.module},
					  {0}};
	const struct reference metric[] = {STRING(sonde_db_metric, name),
					   STRING(sonde_db_metric, unit),
					   STRING(sonde_db_metric, source),
					   {0}};
	const struct reference profile[] = {STRING(sonde_db_profile, host),
					    STRING(sonde_db_profile, program),
					    STRING(sonde_db_profile, thread),
					    {0}};
	const struct reference drop[] = {
	    STRING(sonde_db_drop, cause), STRING(sonde_db_drop, text), {0}};
	const struct reference property[] = {
	    STRING(sn_database_property, key), STRING(sn_database_property, value), {0}};
#undef STRING
#define ORDER(from, count, name, names)                                                            \
	order_items(from, count, sizeof(*ordered->names), name, compare_##names, &ordered->names,  \
		    &ranks.name)
	*ordered = (struct sn_db_ordered){.module_count = builder->modules.count,
					  .frame_count = builder->frames.count};
	int result = order_strings(builder, &ranks, ordered) ||
		     ORDER(builder->modules.bytes, builder->modules.count, module, modules) ||
		     ORDER(builder->frames.bytes, builder->frames.count, frame, frames) ||
		     order_contexts(builder, &ranks, ordered) ||
		     ORDER(builder->metrics, builder->metric_count, metric, metrics) ||
		     ORDER(builder->profiles, builder->profile_count, profile, profiles) ||
		     ORDER(builder->drops, builder->drop_count, drop, drops) ||
		     ORDER(builder->properties, builder->property_count, property, properties) ||
		     keep_ranks(builder, &ranks, ordered);
#undef ORDER
	uint32_t *const unused[] = {ranks.string, ranks.module,	 ranks.frame, ranks.context,
				    ranks.metric, ranks.profile, ranks.drop,  ranks.property};
	for (size_t i = 0; i < sizeof(unused) / sizeof(*unused); i++)
		free(unused[i]);
	return result ? SN_ERR_MEMORY : 0;
}

void sn_db_ordered_release(struct sn_db_ordered *ordered)
{
	free(ordered->string_at);
	free(ordered->modules);
	free(ordered->frames);
	free(ordered->contexts);
	free(ordered->metrics);
	free(ordered->profiles);
	free(ordered->drops);
	free(ordered->properties);
	const struct sn_db_numbers *numbers = &ordered->numbers;
	const uint32_t *const owned[] = {numbers->strings, numbers->contexts, numbers->metrics,
					 numbers->profiles, numbers->profile_at};
	for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++)
		free((void *)(uintptr_t)owned[i]);
}
