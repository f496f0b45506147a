/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be held to tell the total effect of a variable on the target: what the graph of all rows says (effect/adjustment.h), and for a column of
 * the first tier the other columns of that tier which lead to the target, since settings that are chosen together are not causes of each other.
 */
#pragma once

#include "double_ml.h"

struct sn_causal;
struct sn_prior;

enum sn_do_status {
	SN_DO_FOUND,
	SN_DO_NO_EFFECT,    /* the graph has no way from the column to the target */
	SN_DO_UNDETERMINED, /* the direction of an edge at the column is not known */
	SN_DO_NO_OVERLAP,   /* what is held hardly ever leaves the column that value */
	SN_DO_DETERMINED,   /* what is held determines the column */
	SN_DO_FEW,	    /* rows with that value */
	SN_DO_BEYOND,	    /* no row has a value as small or as large */
	SN_DO_MANY,	    /* columns have to be held */
};
enum sn_do_status sn_do_status_of(enum sn_effect_status status);

struct sn_held {
	enum sn_do_status status; /* found, no effect or undetermined */
	uint32_t *variables;	  /* from malloc, the caller's */
	uint32_t count;
};
/* 0 or SN_ERR_MEMORY. */
int sn_held_find(struct sn_held *held, const struct sn_causal *causal, const struct sn_prior *prior,
		 uint32_t variable);

/* With the columns of the table for all rows that are compared. */
struct sn_held_question {
	struct sn_effect_question asked;
	double *values; /* of the cause, the target, then what is held */
	struct sn_effect_column *held;
};
/* 0 or SN_ERR_MEMORY; release it in either case. */
int sn_held_question_init(struct sn_held_question *question, const struct sn_causal *causal,
			  uint32_t variable, const struct sn_held *held);
void sn_held_question_release(struct sn_held_question *question);
