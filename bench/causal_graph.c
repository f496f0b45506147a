/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of all rows of a table, as `sonde causal` has it before it samples rows, for bench/causal_networks.py: a line "A B 1" for A -> B, "A B 0" for
 * an edge without a direction; A and B are names of columns.
 *
 * Usage: bench-causal-graph TABLE
 */
#include "causal/causal.h"

#include <stdio.h>

static int print_graph(const struct sn_causal *causal)
{
	const struct sn_pdag *graph = &causal->found.graph;
	for (uint32_t a = 0; a < causal->prepared.count; a++)
		for (uint32_t b = 0; b < causal->prepared.count; b++) {
			bool is_directed = sn_pdag_is_directed(graph, a, b);
			if (is_directed || (a < b && sn_pdag_is_undirected(graph, a, b)))
				printf("%s %s %d\n",
				       causal->table->columns[causal->prepared.columns[a]].name,
				       causal->table->columns[causal->prepared.columns[b]].name,
				       is_directed);
		}
	return 0;
}

int main(int argc, char **argv)
{
	struct sn_discovery_options options = {.samples = 1, .threads = 1, .seed = SN_CAUSAL_SEED};
	struct sn_causal_table table = {0};
	struct sn_prior prior = {0};
	struct sn_causal causal = {0};
	struct sn_error error = {""};
	if (argc != 2)
		return 2;
	int result = sn_causal_table_read(&table, argv[1], &error);
	result = result ? result : sn_prior_init(&prior, &table, NULL, &error);
	if (!result)
		sn_prior_finish(&prior);
	result = result ? result : sn_causal(&causal, &prior, options, &error);
	result = result ? result : print_graph(&causal);
	if (result)
		fprintf(stderr, "bench-causal-graph: %s\n", error.text);
	sn_causal_release(&causal);
	sn_prior_release(&prior);
	sn_causal_table_release(&table);
	return result ? 1 : 0;
}
