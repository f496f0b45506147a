/* SPDX-License-Identifier: Apache-2.0 */
/* What threads do from the begin of an iteration until its device starts. */
#include "iteration_starts.h"

#include "timeline/threads/thread_activity.h"
#include "iteration_work.h"
#include "base/vec.h"
#include "timeline/node_sums.h"

enum { MOST_NODES = 20 };

/* The iterations of one context in a device's process, and the time before the device starts. */
struct before {
	const struct sn_answers *answers;
	struct sn_intervals times; /* from each iteration's begin to the device's first operation */
	size_t count;
	uint64_t before_ns, whole_ns;
	double *values; /* by node */
	uint8_t *known; /* by context: a cache for sn_activity_does_something */
};

/* Adds an iteration, unless the device did nothing in it. */
static int add_iteration(struct before *before, uint64_t first, const struct sn_iteration *one)
{
	if (first == one->end_ns)
		return 0;
	before->count++;
	before->whole_ns += one->end_ns - one->start_ns;
	before->before_ns += first - one->start_ns;
	return first > one->start_ns ? sn_intervals_add(&before->times, one->start_ns, first) : 0;
}

/* Finds the time before the device's first operation in each iteration. */
static int find_before(struct before *before, size_t device, const struct sn_iteration *items,
		       size_t count, struct sn_error *error)
{
	struct sn_iteration_work *works = malloc((count + 1) * sizeof(*works));
	int result = works ? sn_iteration_work(before->answers, device, items, count, works, error)
			   : SN_ERR_MEMORY;
	for (size_t i = 0; i < count && !result; i++)
		result = add_iteration(before, works[i].first_ns, items + i);
	sn_intervals_settle(&before->times);
	free(works);
	return result;
}

static int add_part(void *data, const struct sn_activity_part *part)
{
	struct before *before = data;
	if (sn_activity_does_something(before->answers->db, before->known, part->context))
		before->values[before->answers->nodes.of_context[part->context]] +=
		    (double)sn_intervals_within(&before->times, part->start_ns, part->end_ns);
	return 0;
}

static int add_nodes(const struct before *before, size_t device, uint32_t context,
		     struct sn_iteration_starts *starts)
{
	size_t count;
	struct sn_node_sum *sums = sn_node_sums(&before->answers->nodes, before->values, &count);
	count = count < MOST_NODES ? count : MOST_NODES;
	bool has_memory =
	    sums && !sn_vec_reserve(&starts->items, &starts->capacity, starts->count + count);
	for (size_t i = 0; i < count && has_memory; i++)
		starts->items[starts->count++] = (struct sn_iteration_start){
		    .device = device,
		    .context = context,
		    .node = sums[i].node,
		    .count = (double)before->count,
		    .before_ns = (double)before->before_ns,
		    .whole_ns = (double)before->whole_ns,
		    .time_ns = sums[i].value,
		};
	free(sums);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

/* Adds one device with the iterations [first, next), which have one context and thread. */
static int add_device(const struct sn_answers *answers, size_t device, size_t first, size_t next,
		      struct sn_iteration_starts *starts, struct sn_error *error)
{
	const struct sn_iteration *items = answers->iterations.items;
	struct before before = {
	    .answers = answers,
	    .values = calloc(answers->nodes.table.count + 1ull, sizeof(double)),
	    .known = calloc(sonde_db_context_count(answers->db) + 1ull, 1),
	};
	int result = before.values && before.known ? 0 : SN_ERR_MEMORY;
	if (!result)
		result = find_before(&before, device, items + first, next - first, error);
	if (!result && before.count)
		result = sn_activity_walk(&answers->processes, items[first].profile,
					  SONDE_EVENTS_BRIEF, add_part, &before, error)
			     ?: add_nodes(&before, device, items[first].context, starts);
	sn_intervals_release(&before.times);
	free(before.values);
	free(before.known);
	return sn_fail_code(error, result);
}

int sn_iteration_starts(const struct sn_answers *answers, struct sn_iteration_starts *starts,
			struct sn_error *error)
{
	const struct sn_iterations *all = &answers->iterations;
	int result = 0;
	*starts = (struct sn_iteration_starts){0};
	for (size_t first = 0, next; first < all->count && !result; first = next) {
		const uint32_t *devices;
		size_t count = sn_processes_list(&answers->processes, &answers->processes.devices,
						 all->items[first].profile, &devices);
		next = sn_iterations_end_of_thread(all, first);
		for (size_t i = 0; i < count && !result; i++)
			result = add_device(answers, devices[i], first, next, starts, error);
	}
	return result;
}
