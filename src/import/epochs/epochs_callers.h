/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most samples of a store are counts of places, without their callers; some come with their call path. A count goes to the paths that lead to its function in the
 * same profile, in the proportion of their samples, so that a function has the time that was counted, and its callers what their share of the paths says. What no
 * path leads to stays below its image.
 */
#pragma once

#include "aggregate/unify/merge.h"
#include "aggregate/unify/resolve.h"

/* Of the merge's values the first `with_callers` are of call paths. 0 or SN_ERR_MEMORY. */
int sn_epochs_give_callers(struct sn_merge *merge, const struct sn_resolved *resolved,
			   size_t with_callers);
