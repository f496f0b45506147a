/* SPDX-License-Identifier: Apache-2.0 */
/* The effect of each cause on a target of numbers by double machine learning, in the target's own unit: beside that of ranks, which has no unit and is a
 * line. */
#pragma once

#include "held.h"

#include "base/peers/peers.h"

struct sn_adjusted_cause {
	enum sn_do_status status; /* what follows is NAN unless it is found */
	/* For one standard deviation of the cause, and the 95 % interval; NAN of a category of more than two levels. */
	double change, change_low, change_high;
	/* Of the target's variance: what the cause explains in any form beyond what is held. `p`: of so much if it explained nothing. */
	double share, share_low, share_high, p;
};

/* Nothing is known. */
extern const struct sn_adjusted_cause sn_not_adjusted;

/* Those of found.totals, with the same numbers, into *adjusted, from malloc; NULL without a target of numbers. Divided among peers, all of which
 * call with the same data. 0 or a negative enum sn_err, on which they have agreed. The same with any number of threads and peers. */
int sn_adjusted_find(struct sn_adjusted_cause **adjusted, const struct sn_causal *causal,
		     const struct sn_prior *prior, const struct sn_peers *peers, unsigned threads,
		     struct sn_error *error);
