/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as bytes, for the other processes of a job; see sample.h. */
#include "sample.h"

#include <stdlib.h>

struct packed_sample {
	uint64_t number;
	double score;
	uint32_t direct, totals;
};

/* Bytes of both rows of bits of all variables, which follow each other. */
static size_t graph_bytes(const struct sn_pdag *graph)
{
	return 2 * graph->words * graph->count * sizeof(*graph->out);
}

void sn_graph_samples_pack(const void *context, struct sn_buffer *bytes)
{
	const struct sn_discovering *discovering = context;
	for (uint64_t number = 0; number <= discovering->options->samples; number++) {
		const struct sn_graph_sample *sample = &discovering->samples[number];
		struct packed_sample packed = {number, sample->score, sample->direct_count,
					       sample->total_count};
		if (!sample->graph.out)
			continue;
		sn_buffer_put(bytes, &packed, sizeof(packed));
		sn_buffer_put(bytes, sample->graph.out, graph_bytes(&sample->graph));
		sn_buffer_put(bytes, sample->direct, packed.direct * sizeof(*sample->direct));
		sn_buffer_put(bytes, sample->totals, packed.totals * sizeof(*sample->totals));
	}
}

static int get_effects(struct sn_measured_effect **effects, uint32_t count, struct sn_span *bytes)
{
	*effects = malloc((count + 1) * sizeof(**effects));
	bool is_whole = *effects && sn_span_get(bytes, *effects, count * sizeof(**effects));
	return is_whole ? 0 : SN_ERR_MEMORY;
}

static int add_sample(struct sn_graph_sample *sample, uint32_t variables,
		      const struct packed_sample *packed, struct sn_span *bytes)
{
	int result = sn_pdag_init(&sample->graph, variables);
	if (!result && !sn_span_get(bytes, sample->graph.out, graph_bytes(&sample->graph)))
		result = SN_ERR_MEMORY; /* of the sender */
	result = result ? result : get_effects(&sample->direct, packed->direct, bytes);
	result = result ? result : get_effects(&sample->totals, packed->totals, bytes);
	if (result)
		return result;
	sample->score = packed->score;
	sample->direct_count = packed->direct;
	sample->total_count = packed->totals;
	return 0;
}

int sn_graph_samples_add(void *context, struct sn_span bytes)
{
	struct sn_discovering *discovering = context;
	struct packed_sample packed;
	int result = 0;
	while (!result && sn_span_get(&bytes, &packed, sizeof(packed)))
		result = add_sample(&discovering->samples[packed.number],
				    discovering->prepared->count, &packed, &bytes);
	return result || !bytes.count ? result : SN_ERR_MEMORY; /* of the sender */
}

void sn_graph_samples_clear(void *context)
{
	struct sn_discovering *discovering = context;
	for (size_t number = 0; number <= discovering->options->samples; number++)
		sn_graph_sample_release(&discovering->samples[number]);
}
