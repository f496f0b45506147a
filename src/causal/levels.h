/* SPDX-License-Identifier: Apache-2.0 */
/* Effects that need not rise or fall: a column's rows in groups, and how much of another column their means explain. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Groups of rows with one value each where there are at most so many values, else so many groups of about as many rows each. */
#define SN_LEVELS_VALUES 20
#define SN_LEVELS_GROUPS 10

/* Writes each row's group, 0 .. *count - 1, in the order of the values. 0 or SN_ERR_MEMORY. */
int sn_levels(const double *values, size_t rows, uint8_t *levels, uint32_t *count);

/*
 * How much the groups' means explain of a column beyond the lines of others that are held: as the regression on these alone leaves of it, and that on these and the groups.
 */
struct sn_levels_question {
	const uint8_t *levels; /* of each row */
	uint32_t level_count;
	size_t rows;
	const uint32_t *times; /* how often each row counts; NULL: once */
	double part; /* of the rows, that say something by themselves: below 1 of repeats */
	/* Dimensions, the last one to be explained, the others held: their numbers, values[dimension * rows + row], and correlations[dimensions x dimensions]. */
	const uint32_t *chosen;
	uint32_t count, dimensions;
	const double *values, *correlations;
	double *sums;	/* room for level_count x count */
	double *within; /* room for count x count */
};

/* A part of the column's variance, without what chance alone would put there, at least 0. With nothing held it is Kelley's epsilon squared (1935). */
double sn_levels_share(const struct sn_levels_question *question);
