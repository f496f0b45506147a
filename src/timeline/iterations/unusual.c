/* SPDX-License-Identifier: Apache-2.0 */
/* Compares unusual iterations with a usual one, by node. */
#include "unusual.h"

#include "base/vec.h"
#include "timeline/node_sums.h"
#include "timeline/threads/thread_activity.h"

enum { EXPLAINED = 12, CAUSES = 5 };

/* Time within some iterations by node: exclusive time of threads, and time of devices. */
struct inside {
	const struct sn_answers *answers;
	const struct sn_iteration *items[EXPLAINED + 1]; /* the last is the usual one */
	size_t count;
	double *values; /* by iteration and node */
	uint32_t nodes;
};

static void add_inside(struct inside *inside, uint32_t context, uint64_t start_ns, uint64_t end_ns)
{
	for (size_t i = 0; i < inside->count; i++) {
		const struct sn_iteration *one = inside->items[i];
		inside->values[i * inside->nodes + inside->answers->nodes.of_context[context]] +=
		    (double)sn_interval_length_ns(
			sn_interval_clip(start_ns, end_ns, one->start_ns, one->end_ns));
	}
}

static int add_part(void *data, const struct sn_activity_part *part)
{
	add_inside(data, part->context, part->start_ns, part->end_ns);
	return 0;
}

static int add_operation(void *data, const struct sn_operation *one)
{
	add_inside(data, one->context, one->start_ns, one->end_ns);
	return 0;
}

static int collect(struct inside *inside, struct sn_error *error)
{
	const struct sn_answers *answers = inside->answers;
	int result = 0;
	const uint32_t *devices;
	size_t count = sn_processes_list(&answers->processes, &answers->processes.devices,
					 inside->items[0]->profile, &devices);
	for (size_t i = 0; i < count && !result; i++)
		result = sn_device_times_walk(&answers->times, answers->trace, devices[i],
					      SONDE_NONE, add_operation, inside, error);
	return result ? result
		      : sn_activity_walk(&answers->processes, inside->items[0]->profile,
					 SONDE_EVENTS_BRIEF, add_part, inside, error);
}

static int add_causes(const struct inside *inside, size_t number, struct sn_unusuals *unusuals)
{
	const double *usual = inside->values + (inside->count - 1) * inside->nodes;
	double *values = inside->values + number * inside->nodes;
	double length = sn_iteration_length_ns(inside->items[number]),
	       usual_length = sn_iteration_length_ns(inside->items[inside->count - 1]);
	double sign = length > usual_length ? 1 : -1;
	size_t count;
	for (uint32_t n = 0; n < inside->nodes; n++)
		values[n] = sign * (values[n] - usual[n]);
	struct sn_node_sum *sums = sn_node_sums(&inside->answers->nodes, values, &count);
	count = count < CAUSES ? count : CAUSES;
	bool has_memory =
	    sums && !sn_vec_reserve(&unusuals->items, &unusuals->capacity, unusuals->count + count);
	for (size_t i = 0; i < count && has_memory; i++)
		unusuals->items[unusuals->count++] =
		    (struct sn_unusual){inside->items[number]->number, length,
					length - usual_length, sign * sums[i].value, sums[i].node};
	free(sums);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

/* Explains the unusual iterations of one thread by the difference from the one nearest
 * to the median. */
static int explain(const struct sn_answers *answers, const struct sn_iteration *items, size_t count,
		   struct sn_unusuals *unusuals, struct sn_error *error)
{
	struct inside inside = {.answers = answers, .nodes = answers->nodes.table.count};
	for (size_t i = 0; i < count && inside.count < EXPLAINED; i++)
		if (items[i].is_unusual)
			inside.items[inside.count++] = items + i;
	if (!inside.count)
		return 0;
	inside.items[inside.count++] = items + sn_iterations_usual(items, count);
	inside.values = calloc(inside.count * inside.nodes + 1, sizeof(*inside.values));
	int result = inside.values ? collect(&inside, error) : sn_fail_memory(error);
	for (size_t i = 0; i + 1 < inside.count && !result; i++)
		if (add_causes(&inside, i, unusuals))
			result = sn_fail_memory(error);
	free(inside.values);
	return result;
}

int sn_unusuals(const struct sn_answers *answers, struct sn_unusuals *unusuals,
		struct sn_error *error)
{
	const struct sn_iterations *all = &answers->iterations;
	int result = 0;
	*unusuals = (struct sn_unusuals){0};
	for (size_t first = 0, next; first < all->count && !result; first = next) {
		next = sn_iterations_end_of_thread(all, first);
		result = explain(answers, all->items + first, next - first, unusuals, error);
	}
	return result;
}
