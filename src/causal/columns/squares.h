/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects that turn: a duration that is longest in the middle of a range does not rise or fall with the rank of what causes it. So a number has its
 * rank's square as a second dimension, without what the rank itself explains of it, wherever that says something of another column; where
 * all effects rise or fall none has, and nothing is lost to more dimensions.
 *
 * That is tested for each pair with the other's part that the rank does not explain, by a variance that need not be the same in all rows (White,
 * "A heteroskedasticity-consistent covariance matrix estimator", 1980), at 1 % for all pairs together (Bonferroni).
 */
#pragma once

#include "causal/prepare.h"

/* Adds these dimensions to numbers that have none yet, unless there would be more than `most`, or all are categories. 0 or SN_ERR_MEMORY. */
int sn_squares_add(struct sn_prepared *prepared, uint32_t most);
/* The same for those that say something of the target, however many: before it is decided which of thousands are compared with it. */
int sn_squares_add_of(struct sn_prepared *prepared, uint32_t target);
