/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing in each sample, and what to keep of that; see screen.h. */
#include "screen.h"

#include "base/pool.h"
#include "neighbours.h"
#include "causal/rows/row_sample.h"

#include <stdlib.h>
#include <string.h>

struct screening {
	const struct sn_prepared *prepared;
	const struct sn_discovery_options *options;
	size_t words;
	uint64_t *stays;  /* whoever is chosen in any case */
	uint64_t *chosen; /* of all rows and each sample */
};

static int screen_sample(void *context, unsigned worker, size_t number)
{
	struct screening *screening = context;
	const struct sn_discovery_options *options = screening->options;
	uint64_t *chosen = screening->chosen + number * screening->words;
	uint32_t *times = NULL;
	(void)worker;
	int result =
	    number ? sn_row_sample_times(&times, screening->prepared, options->seed, number) : 0;
	struct sn_neighbours neighbours = {screening->prepared, options->knowledge, options->target,
					   times};
	result = result ? result : sn_neighbours_choose(&neighbours, chosen);
	for (size_t word = 0; word < screening->words; word++)
		chosen[word] |= screening->stays[word];
	free(times);
	return result;
}

static void find_stays(struct screening *screening)
{
	const struct sn_discovery_options *options = screening->options;
	const struct sn_knowledge *knowledge = options->knowledge;
	uint32_t count = screening->prepared->count, set = 0;
	for (uint32_t variable = 0; variable < count; variable++)
		set += options->is_set && options->is_set[variable];
	for (uint32_t variable = 0; variable < count; variable++) {
		if (set <= SN_SCREEN_SET_MOST && options->is_set && options->is_set[variable])
			sn_bits_add(screening->stays, variable);
		if (!knowledge || !knowledge->required)
			continue;
		SN_BITS_EACH(knowledge->required + variable * screening->words, screening->words,
			     effect)
		{
			sn_bits_add(screening->stays, variable);
			sn_bits_add(screening->stays, (uint32_t)effect);
		}
	}
}

/* Bits of the variables that are left; all become a row of bits of those. */
static void renumber(struct screening *screening, uint64_t *kept, uint64_t *chosen)
{
	uint32_t samples = screening->options->samples, left = 0;
	size_t words;
	for (uint32_t variable = 0; variable < screening->prepared->count; variable++)
		left += sn_bits_has(kept, variable);
	words = sn_bits_words(left);
	left = 0;
	SN_BITS_EACH(kept, screening->words, variable)
	{
		for (size_t number = 0; number <= samples; number++)
			if (sn_bits_has(screening->chosen + number * screening->words,
					(uint32_t)variable))
				sn_bits_add(chosen + number * words, left);
		left++;
	}
}

static void find_kept(const struct screening *screening, uint64_t *kept)
{
	uint32_t samples = screening->options->samples;
	for (uint32_t variable = 0; variable < screening->prepared->count; variable++) {
		uint32_t count = 0;
		for (size_t number = 1; number <= samples; number++)
			count +=
			    sn_bits_has(screening->chosen + number * screening->words, variable);
		if (sn_bits_has(screening->chosen, variable) || count >= SN_DOUBTFUL * samples)
			sn_bits_add(kept, variable);
	}
}

int sn_screen(struct sn_prepared *prepared, const struct sn_discovery_options *options,
	      uint64_t **chosen)
{
	size_t words = sn_bits_words(prepared->count), all = (size_t)options->samples + 1;
	struct screening screening = {.prepared = prepared, .options = options, .words = words};
	uint64_t *kept = calloc(words + 1, sizeof(*kept));
	screening.stays = calloc(words + 1, sizeof(*screening.stays));
	screening.chosen = calloc(all * words + 1, sizeof(*screening.chosen));
	*chosen = calloc(all * words + 1, sizeof(**chosen));
	int result = kept && screening.stays && screening.chosen && *chosen ? 0 : SN_ERR_MEMORY;
	if (!result) {
		find_stays(&screening);
		result =
		    sn_pool_run(sn_pool_threads(options->threads), all, screen_sample, &screening);
	}
	if (!result) {
		find_kept(&screening, kept);
		renumber(&screening, kept, *chosen);
		result = sn_prepared_keep(prepared, kept);
	}
	free(kept);
	free(screening.stays);
	free(screening.chosen);
	return result;
}
