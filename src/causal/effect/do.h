/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would be expected of the target if a column were set to a value in all rows, all else coming about as it does: the total effect, with what
 * the graph of all rows says has to be held (effect/adjustment.h), in the target's own unit. For a column of the first tier the other columns of
 * that tier which lead to the target are held, since settings that are chosen together are not causes of each other.
 *
 * A category, or a number that enough rows have, is compared with all other rows (double_ml.h); any other number is a place on a curve (curve.h), which is not said to hold
 * beyond the values that were seen.
 */
#pragma once

#include "causal/causal.h"
#include "held.h"

struct sn_do {
	uint32_t column;
	const char *value; /* the user's, not owned */
	enum sn_do_status status;
	bool is_curve; /* of the change; else rows with that value were compared with others */
	/* Where it is found, else NAN: of the target, in its unit. */
	double mean, change, change_low, change_high;
	uint32_t *held; /* variables */
	uint32_t held_count;
};

/* "COLUMN=VALUE"; `text` must live as long. 0 or a negative enum sn_err: no such column, or it is not compared; no such category; no target, or
 * one that is no number. Release it in either case. */
int sn_causal_do(struct sn_do *asked, const struct sn_causal *causal, const struct sn_prior *prior,
		 const char *text, struct sn_error *error);
void sn_do_release(struct sn_do *asked);
