/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a table to variables that can be compared: which columns say anything, which say the same, and what of each row is known.
 *
 * A column is left out where it is constant, has too few values, or has about as many categories as rows. Rows that lack a value of what is
 * left are left out; where these are too many, so are the columns with the most gaps. Numbers become the normal quantiles of their ranks,
 * ties the mean of theirs, so that neither units nor outliers count; squares may be added to these (columns/squares.h). Where two columns are one
 * (|correlation| above 0.999, or categories of other names), the target stands for both, else that of the earlier tier, else the first in the table.
 *
 * A table whose columns are all categories, or whole numbers of at most 20 values, is taken as categories, unless its rows are of clusters
 * (rows/clusters.h).
 */
#pragma once

#include "rows/strata.h"
#include "table.h"

enum sn_left_out {
	SN_LEFT_CONSTANT,
	SN_LEFT_SPARSE,	  /* too much is missing */
	SN_LEFT_DISTINCT, /* a category of more levels than a tenth of the rows, or than 50 */
	SN_LEFT_SAME,	  /* as another column */
	SN_LEFT_CLUSTER,  /* tells which rows belong together */
	SN_LEFT_IDENTITY, /* set from outside, and determined by the identity (see the options), of which there are few */
	SN_LEFT_SCREENED, /* says nothing of the target beyond what is kept (screen/screen.h) */
};

struct sn_left_column {
	uint32_t column;
	enum sn_left_out why;
	uint32_t same_as;   /* the column; of SN_LEFT_SAME alone */
	double correlation; /* of SN_LEFT_SAME: with it; NAN: of categories */
};

struct sn_prepared {
	size_t rows;	     /* of those that were kept */
	uint32_t *kept_rows; /* their numbers in the table */
	uint32_t count;	     /* variables */
	uint32_t candidates; /* variables before any was screened */
	uint32_t *columns;   /* of each variable, in ascending order */
	bool *is_ordered; /* of each variable: it is a number, and its first dimension the rank */
	bool is_discrete;
	/* Discrete, else NULL: of each variable its level in each distinct row, and the number of levels; and which of those each row is. */
	uint8_t **categories;
	uint32_t *levels;
	size_t distinct;
	uint32_t *distinct_of;
	/* Of each dimension its value in each row, with mean 0 and sum of squares 1; and of each variable its first dimension, behind
	 * the last one their number. */
	double *values;
	uint32_t *first;
	struct sn_clusters clusters;
	/* Rows of stretches may be repeats as well: then samples are drawn by turns of these. */
	struct sn_clusters repeats;
	uint32_t identity;	 /* a column: see the options */
	struct sn_strata strata; /* of all dimensions */
	struct sn_left_column *left;
	uint32_t left_count;
};

struct sn_prepare_options {
	uint32_t target; /* the column that is never left out; UINT32_MAX: there is none */
	uint32_t
	    cluster; /* the column whose values tell clusters, and which is no variable; UINT32_MAX: rows are independent */
	bool are_stretches; /* the clusters, if there are: rows are launches */
	const double *
	    configurations; /* of each row the number of its settings (repeats.h); NULL: there are none */
	uint32_t
	    identity; /* a column of text that is more than its settings, which nobody can tell from it where it is one of few: a kernel; UINT32_MAX: there is none */
	const uint16_t
	    *tiers; /* of each column, the first one set from outside; NULL: all are of one */
};

/* 0 or a negative enum sn_err: nothing is left, or the target says nothing. Release it in either case. */
int sn_prepare(struct sn_prepared *prepared, const struct sn_causal_table *table,
	       const struct sn_prepare_options *options, struct sn_error *error);
/* The variable of a column, or UINT32_MAX: it was left out. */
uint32_t sn_prepared_find(const struct sn_prepared *prepared, uint32_t column);
/* Makes the strata, which is to be asked for whenever dimensions have changed. 0 or SN_ERR_MEMORY. */
int sn_prepared_stratify(struct sn_prepared *prepared);
/* Leaves out the variables without a bit as screened ones. 0 or SN_ERR_MEMORY. */
int sn_prepared_keep(struct sn_prepared *prepared, const uint64_t *kept);
/* What the extended criterion (Chen and Chen 2008, with gamma 1) adds to the information criterion's penalty of an edge, since of more columns more are
 * alike by chance. */
double sn_prepared_penalty(const struct sn_prepared *prepared);
void sn_prepared_release(struct sn_prepared *prepared);
