/* SPDX-License-Identifier: Apache-2.0 */
/* Sums copies by direction and node in one walk. */
#include "transfers.h"

#include "base/vec.h"
#include "timeline/devices/copies.h"
#include "timeline/node_sums.h"

#include <math.h>

struct walk {
	const struct sn_answers *answers;
	struct sn_transfers *transfers;
	struct sn_transfer_sum *nodes; /* by direction and node */
};

static unsigned size_class(double bytes)
{
	unsigned class = 0;
	for (double limit = 1024; bytes >= limit && class + 1 < SN_TRANSFER_SIZES; limit *= 4)
		class ++;
	return class;
}

static void add(struct sn_transfer_sum *sum, const struct sn_copy *copy)
{
	double time = (double)(copy->end_ns - copy->start_ns);
	sum->count++;
	sum->time_ns += time;
	if (isnan(copy->bytes))
		return;
	sum->bytes += copy->bytes;
	sum->sized_ns += time;
}

static void add_copy(void *data, const struct sn_copy *copy)
{
	struct walk *walk = data;
	const struct sn_node_map *nodes = &walk->answers->nodes;
	enum sn_copy_direction direction = sn_copy_direction(walk->answers->db, copy->context);
	walk->transfers->count++;
	add(walk->transfers->sums + direction, copy);
	if (!isnan(copy->bytes))
		add(&walk->transfers->by_size[direction][size_class(copy->bytes)], copy);
	add(walk->nodes + (size_t)direction * nodes->table.count + nodes->of_context[copy->context],
	    copy);
}

static int add_nodes(const struct walk *walk, enum sn_copy_direction direction)
{
	const struct sn_node_map *nodes = &walk->answers->nodes;
	struct sn_transfers *transfers = walk->transfers;
	const struct sn_transfer_sum *sums = walk->nodes + (size_t)direction * nodes->table.count;
	size_t count;
	struct sn_node_sum *sorted =
	    sn_node_sums_of_fields(nodes, &sums->time_ns, sizeof(*sums), &count);
	bool has_memory = sorted && !sn_vec_reserve(&transfers->nodes, &transfers->node_capacity,
						    transfers->node_count + count);
	for (size_t i = 0; has_memory && i < count; i++)
		transfers->nodes[transfers->node_count++] =
		    (struct sn_node_transfers){sorted[i].node, direction, sums[sorted[i].node]};
	free(sorted);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

int sn_transfers(const struct sn_answers *answers, struct sn_transfers *transfers,
		 struct sn_error *error)
{
	struct walk walk = {
	    .answers = answers,
	    .transfers = transfers,
	    .nodes = calloc((size_t)SN_COPY_DIRECTIONS * answers->nodes.table.count + 1,
			    sizeof(*walk.nodes)),
	};
	*transfers = (struct sn_transfers){0};
	int result = walk.nodes
			 ? sn_copies_walk(&answers->processes, SONDE_NONE, add_copy, &walk, error)
			 : sn_fail_memory(error);
	for (unsigned d = 0; d < SN_COPY_DIRECTIONS && !result; d++)
		if (add_nodes(&walk, d))
			result = sn_fail_memory(error);
	free(walk.nodes);
	return result;
}
