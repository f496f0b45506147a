/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns copies to the iterations of their process and sums them by direction and node. */
#include "iteration_copies.h"

#include "base/search.h"
#include "base/vec.h"
#include "timeline/devices/copies.h"
#include "timeline/node_sums.h"

#include <math.h>

struct sum {
	double count, bytes, time_ns;
	size_t iterations, last; /* iterations that copy; index + 1 of the last */
};

/* The iterations of one context and thread, with their copies. */
struct group {
	const struct sn_answers *answers;
	const struct sn_iteration *items;
	size_t count;
	double whole_ns;
	struct sum *sums; /* by direction and node */
};

/* The iteration at a time; SIZE_MAX if there is none. */
static size_t iteration_at(const struct group *group, uint64_t time_ns)
{
	size_t behind = sn_search(i, group->count, group->items[i].start_ns <= time_ns);
	return behind && time_ns < group->items[behind - 1].end_ns ? behind - 1 : SIZE_MAX;
}

static void add_copy(void *data, const struct sn_copy *copy)
{
	struct group *group = data;
	const struct sn_answers *answers = group->answers;
	size_t at = iteration_at(group, copy->start_ns);
	/* with launched_only, a device without launched operations does not count */
	if (at == SIZE_MAX ||
	    sn_processes_device(&answers->processes, &answers->times, copy->profile) == SONDE_NONE)
		return;
	struct sum *sum =
	    group->sums +
	    (size_t)sn_copy_direction(answers->db, copy->context) * answers->nodes.table.count +
	    answers->nodes.of_context[copy->context];
	sum->count++;
	sum->bytes += isnan(copy->bytes) ? 0 : copy->bytes;
	sum->time_ns += (double)(copy->end_ns - copy->start_ns);
	sum->iterations += sum->last != at + 1;
	sum->last = at + 1;
}

static int add_nodes(const struct group *group, enum sn_copy_direction direction,
		     struct sn_iteration_copies *copies)
{
	const struct sn_node_map *nodes = &group->answers->nodes;
	const struct sum *sums = group->sums + (size_t)direction * nodes->table.count;
	size_t count;
	struct sn_node_sum *sorted =
	    sn_node_sums_of_fields(nodes, &sums->time_ns, sizeof(*sums), &count);
	bool has_memory =
	    sorted && !sn_vec_reserve(&copies->items, &copies->capacity, copies->count + count);
	for (size_t i = 0; has_memory && i < count; i++) {
		const struct sum *sum = sums + sorted[i].node;
		copies->items[copies->count++] = (struct sn_iteration_copy){
		    .context = group->items->context,
		    .node = sorted[i].node,
		    .direction = direction,
		    .iterations = (double)sum->iterations,
		    .of = (double)group->count,
		    .count = sum->count,
		    .bytes = sum->bytes,
		    .time_ns = sum->time_ns,
		    .whole_ns = group->whole_ns,
		};
	}
	free(sorted);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

static int add_group(struct group *group, struct sn_iteration_copies *copies,
		     struct sn_error *error)
{
	const struct sn_answers *answers = group->answers;
	group->sums = calloc((size_t)SN_COPY_DIRECTIONS * answers->nodes.table.count + 1,
			     sizeof(*group->sums));
	if (!group->sums)
		return sn_fail_memory(error);
	for (size_t i = 0; i < group->count; i++)
		group->whole_ns += sn_iteration_length_ns(group->items + i);
	int result =
	    sn_copies_walk(&answers->processes, group->items->profile, add_copy, group, error);
	for (unsigned d = 0; d < SN_COPY_DIRECTIONS && !result; d++)
		if (add_nodes(group, d, copies))
			result = sn_fail_memory(error);
	free(group->sums);
	return result;
}

int sn_iteration_copies(const struct sn_answers *answers, struct sn_iteration_copies *copies,
			struct sn_error *error)
{
	const struct sn_iterations *all = &answers->iterations;
	int result = 0;
	*copies = (struct sn_iteration_copies){0};
	for (size_t first = 0, next; first < all->count && !result; first = next) {
		next = sn_iterations_end_of_thread(all, first);
		struct group group = {
		    .answers = answers, .items = all->items + first, .count = next - first};
		result = add_group(&group, copies, error);
	}
	return result;
}
