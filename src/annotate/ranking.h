/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of all functions of an annotation together: those with the most samples, and those that were waited for longest.
 *
 * Source of the two lists: dcpitopcounts and dcpitopstalls of Anderson et al. (see frequency.h).
 */
#pragma once

#include "annotate.h"

enum sn_ranking { SN_RANKING_SAMPLES, SN_RANKING_STALLS };

struct sn_ranked_instruction {
	uint32_t function, instruction; /* of the annotation */
	double value; /* of the metric: of the samples there, or of the time beyond execution */
};

/* The caller frees `items`. */
struct sn_annotate_ranking {
	struct sn_ranked_instruction *items; /* the largest first, none of 0 */
	size_t count, capacity;
	double value; /* of all of them */
};

/* 0 or SN_ERR_MEMORY. */
int sn_annotate_rank(const struct sn_annotation *annotation, enum sn_ranking by,
		     struct sn_annotate_ranking *ranking);
