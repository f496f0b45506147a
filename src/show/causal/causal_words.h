/* SPDX-License-Identifier: Apache-2.0 */
/* What both the text and the JSON of a causal analysis call things. */
#pragma once

#include "causal/causal.h"
#include "shown_unit.h"

static inline const char *sn_causal_name(const struct sn_causal *causal, uint32_t variable)
{
	return causal->table->columns[causal->prepared.columns[variable]].name;
}

static inline const char *sn_causal_unit(const struct sn_causal *causal, uint32_t variable)
{
	return sn_causal_shown_unit(&causal->table->columns[causal->prepared.columns[variable]]);
}

/* 1 or -1; 0 where there is no effect, or its interval holds 0. */
static inline int sn_causal_sign(const struct sn_effect *effect)
{
	return effect->low > 0 ? 1 : effect->high < 0 ? -1 : 0;
}

/* What PC says of an edge. */
static inline const char *sn_causal_second(const struct sn_causal *causal,
					   const struct sn_causal_edge *edge)
{
	const struct sn_pdag *graph = &causal->second.graph;
	if (!sn_pdag_is_adjacent(graph, edge->from, edge->to))
		return "none";
	if (sn_pdag_is_directed(graph, edge->from, edge->to))
		return "directed";
	return sn_pdag_is_directed(graph, edge->to, edge->from) ? "reversed" : "undirected";
}
