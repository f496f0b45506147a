/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user knows of a table's columns before any data is looked at: in which order they come about, and what does or does not cause what.
 * Columns are named by patterns as a shell has them.
 *
 * The columns of the first tier are set from outside (parameters that an experimenter chose, the configuration of a launch): nothing in the table
 * causes them, nor do they cause each other. Columns that no tier names come after all named ones, and the target after these.
 */
#pragma once

#include "knowledge.h"
#include "prepare.h"

struct sn_prior {
	const struct sn_causal_table *table;
	uint32_t target; /* a column, or UINT32_MAX */
	uint32_t
	    cluster; /* the column that tells which rows belong together (rows/clusters.h), or UINT32_MAX */
	bool are_stretches; /* those rows follow each other: launches */
	uint32_t identity;  /* a column that is more than a setting (prepare.h), or UINT32_MAX */
	uint16_t *tiers;    /* of each column; SN_PRIOR_UNNAMED: no tier has named it */
	uint16_t tier_count;
	struct sn_prior_pair {
		uint32_t from, to; /* columns */
		bool is_required;  /* else forbidden */
	} * pairs;
	size_t pair_count, pair_capacity;
};

#define SN_PRIOR_UNNAMED   UINT16_MAX
/* The identity of launches. */
#define SN_IDENTITY_COLUMN "kernel"

/* Nothing is known but the target's name, which may be NULL. Release it in any case. 0 or a negative enum sn_err: there is no such column. */
int sn_prior_init(struct sn_prior *prior, const struct sn_causal_table *table, const char *target,
		  struct sn_error *error);
void sn_prior_release(struct sn_prior *prior);

/* Rows with the same value of that column belong together. 0 or a negative enum sn_err: there is no such column, or it is the target. */
int sn_prior_set_cluster(struct sn_prior *prior, const char *name, struct sn_error *error);
/* "gridX,block*": the next tier's columns; a name is also taken as it is. 0 or a negative enum sn_err: a pattern fits no column, or one of an
 * earlier tier. */
int sn_prior_add_tier(struct sn_prior *prior, const char *text, struct sn_error *error);
/* "FROM->TO", of columns or patterns. 0 or a negative enum sn_err. */
int sn_prior_add_pair(struct sn_prior *prior, const char *text, bool is_required,
		      struct sn_error *error);
/* After the last tier was named: the numbers of unnamed columns' and the target's. */
void sn_prior_finish(struct sn_prior *prior);

/* All of that from texts; `target` may be NULL. Release it in any case. 0 or a negative enum sn_err. */
struct sn_prior_list {
	const char *const *items;
	size_t count;
};
struct sn_prior_texts {
	const char *target;
	struct sn_prior_list tiers, forbidden, required;
	const char *cluster; /* or NULL */
};
int sn_prior_read(struct sn_prior *prior, const struct sn_causal_table *table,
		  const struct sn_prior_texts *texts, struct sn_error *error);

/* Whether a column was set from outside: it is of the first tier that was named. */
bool sn_prior_is_set(const struct sn_prior *prior, uint32_t column);

/* The same of prepared variables: what is known of a column that was merged holds of the one that stands for it. Release it by
 * sn_prior_free_knowledge. 0 or a negative enum sn_err: what is required is forbidden, or goes round in a circle. */
int sn_prior_knowledge(const struct sn_prior *prior, const struct sn_prepared *prepared,
		       struct sn_knowledge *knowledge, struct sn_error *error);
void sn_prior_free_knowledge(struct sn_knowledge *knowledge);
