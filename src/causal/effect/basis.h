/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a regression is done on: of each column its value, what its value is above some of its quantiles (so a curve is drawn as a line with
 * bends), and of each pair of columns the product; of a category one indicator less than it has levels. What is more than a budget is left
 * out, products first, then bends.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sn_effect_column {
	const double *values; /* of each row: a number, or the number of a level; none is missing */
	uint32_t levels;      /* 0: numbers */
};

enum sn_feature_kind {
	SN_FEATURE_CONSTANT,
	SN_FEATURE_LINE,
	SN_FEATURE_BEND, /* and products */
};

struct sn_features {
	size_t rows;
	uint32_t count, room;
	double *columns; /* one after the other; lines and bends with mean 0 and variance 1 */
	enum sn_feature_kind *kinds;
	uint32_t *lines; /* the numbers of those that are lines of numeric columns */
	uint32_t line_count;
};

/*
 * With the constant alone, and room for what the columns may have and `more` other ones. 0 or a negative enum sn_err: SN_ERR_ARGUMENT where
 * there are over 1,000 lines and indicators. Release it in either case.
 */
int sn_features_init(struct sn_features *features, const struct sn_effect_column *columns,
		     uint32_t count, size_t rows, uint32_t more, struct sn_error *error);
void sn_features_release(struct sn_features *features);

/* Adds those of the columns; `order`: the row of each row. `scratch` has `rows` numbers. What is constant is left out. */
void sn_features_add_all(struct sn_features *features, const struct sn_effect_column *columns,
			 uint32_t count, const uint32_t *order, double *scratch);

/* A new one, to be filled, within the room. */
double *sn_features_add(struct sn_features *features, enum sn_feature_kind kind);
/* Those of one column, with up to that many bends: at most `bends` + 1, or `levels` - 1. */
void sn_features_add_column(struct sn_features *features, const struct sn_effect_column *column,
			    const uint32_t *order, uint32_t bends, double *scratch);
void sn_features_add_product(struct sn_features *features, const double *a, const double *b);
