/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel coordinates of any number of rows, as densities: rows are taken one after another, and
 * what is kept does not grow with them (docs/design/parallel-coordinates.md).
 *
 *	struct sn_parallel_axis axes[] = {{"start", "ns", SN_PARALLEL_LINEAR, begin, end}, ...};
 *	struct sn_parallel *parallel = sn_parallel_new(axes, count);
 *	for each row: sn_parallel_add(parallel, values);
 *	sn_parallel_json(parallel, names, &json);	(show/causal/parallel_json.h)
 *	sn_parallel_free(parallel);
 *
 * Two things are counted. For each two adjacent axes, a histogram in two dimensions with up to 64
 * bins an axis: it is the picture. And for all axes together, how many rows fall in each
 * combination of groups of bins, in at most SN_PARALLEL_CELLS combinations: it answers any brush on
 * any number of axes exactly, at the resolution of the groups. A group is one bin while the
 * combinations are few enough, else 2, 4, ... of them.
 *
 * Bins of numbers are 2^k wide and begin at a multiple of that, k being the least with which the
 * least and greatest number lie within 64 bins: so they can be merged exactly while the range grows,
 * and do not depend on the order of the rows. On a logarithmic axis the same is done with the bits
 * of the floating-point number, so bins divide octaves evenly, or hold several. Numbers below or
 * equal to 0 have a bin of their own there, and missing ones (not finite) on every axis.
 *
 * Of an axis that has few different numbers these are kept as well, so that it can be labelled by them.
 *
 * Groups, too, are independent of the order if each axis of numbers has a range that holds all rows.
 *
 * MT: one thread an object; join the objects of several threads by sn_parallel_merge.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum sn_parallel_scale { SN_PARALLEL_LINEAR, SN_PARALLEL_LOG, SN_PARALLEL_CATEGORY };

enum {
	SN_PARALLEL_AXES = 8,
	SN_PARALLEL_BINS = 64,
	SN_PARALLEL_CELLS = 65536,
	SN_PARALLEL_CATEGORIES = 254, /* that are counted apart */
	SN_PARALLEL_VALUES = 20,      /* different numbers of an axis that are kept as they are */
	SN_PARALLEL_SHOWN = 30,	      /* of those, the most frequent, that are shown apart */
};

struct sn_parallel_axis {
	const char *name; /* the caller's, while the object lives */
	const char *unit; /* of sn_number_format */
	enum sn_parallel_scale scale;
	/* Ends between which all rows are known to lie; NAN: none. */
	double low, high;
};

/* `count` is 2 to SN_PARALLEL_AXES. NULL without memory. */
struct sn_parallel *sn_parallel_new(const struct sn_parallel_axis *axes, unsigned count);
void sn_parallel_free(struct sn_parallel *parallel);

/* A value for each axis. A category is its number from 0; those from SN_PARALLEL_CATEGORIES on are
 * counted together, so the most frequent should have low numbers. Without memory nothing more is
 * counted, and sn_parallel_json fails. */
void sn_parallel_add(struct sn_parallel *parallel, const double *values);

/* Adds the rows of an object with the same axes and the same numbers of categories. 0 or
 * SN_ERR_MEMORY. */
int sn_parallel_merge(struct sn_parallel *into, const struct sn_parallel *from);

/* Names of the categories of an axis, by number. */
struct sn_parallel_names {
	const char *const *texts; /* NULL for an axis of numbers */
	uint32_t count;
};

/* What an object has counted as bytes, for another process of this build; and an empty object with the same axes that gets it. False where
 * bytes are missing or memory is. */
void sn_parallel_pack(const struct sn_parallel *parallel, struct sn_buffer *bytes);
bool sn_parallel_unpack(struct sn_parallel *parallel, struct sn_span bytes);
