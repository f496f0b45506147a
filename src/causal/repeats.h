/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeats: rows in which all columns that were set from outside are equal, so that what differs among them is chance, or what nobody has
 * recorded; no cause that was set can explain it.
 */
#pragma once

#include "prior.h"

/* The target in the rows of one configuration; deviations are those of the population. */
struct sn_repeated {
	uint32_t first_row; /* of the table, in which its settings are */
	size_t count;
	double mean, deviation, least, q50, q99, greatest;
};

struct sn_repeats {
	/* With more than one row; those first whose deviation is the largest part of their mean. */
	struct sn_repeated *items;
	size_t count;
	size_t configurations; /* also of one row */
	uint32_t *settings;    /* columns that were set from outside and have more than one value */
	uint32_t setting_count;
	double within; /* part of the target's variance that lies within configurations */
};

/* Of rows that have the target, if it is a number and columns were set from outside; else there are none. 0 or SN_ERR_MEMORY. */
int sn_repeats_find(struct sn_repeats *repeats, const struct sn_prior *prior);
void sn_repeats_release(struct sn_repeats *repeats);

/* Of each row of the table the number of its configuration, the caller's to free; NULL where nothing that varies was set from outside. 0 or SN_ERR_MEMORY. */
int sn_configurations_find(double **configurations, const struct sn_prior *prior);

/* The deviation as a part of the mean; NAN where that is 0. */
double sn_repeated_variation(const struct sn_repeated *repeated);
/* That below which a part of the repeated configurations lie; NAN where no mean differs from 0. */
double sn_repeats_variation(const struct sn_repeats *repeats, double part);
