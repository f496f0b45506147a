/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of causes before any data is looked at. */
#pragma once

#include "bits.h"

struct sn_knowledge {
	uint32_t count; /* variables */
	/* Of each variable: one of a later tier causes none of an earlier one. NULL: all are of one. */
	const uint16_t *tiers;
	/* A row of bits for each variable: what it does not cause, and what it does. NULL: nothing is said. */
	const uint64_t *forbidden, *required;
};

/* `knowledge` may be NULL: nothing is known. */
static inline bool sn_knowledge_requires(const struct sn_knowledge *knowledge, uint32_t from,
					 uint32_t to)
{
	return knowledge && knowledge->required &&
	       sn_bits_has(knowledge->required + from * sn_bits_words(knowledge->count), to);
}

static inline bool sn_knowledge_allows(const struct sn_knowledge *knowledge, uint32_t from,
				       uint32_t to)
{
	if (!knowledge)
		return true;
	if (knowledge->tiers && knowledge->tiers[from] > knowledge->tiers[to])
		return false;
	if (sn_knowledge_requires(knowledge, to, from))
		return false;
	return !knowledge->forbidden ||
	       !sn_bits_has(knowledge->forbidden + from * sn_bits_words(knowledge->count), to);
}
