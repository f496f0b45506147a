/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One place over all profiles (HPCToolkit's thread-centric view, section 7.1): the values of each
 * thread and stream there, how much they differ, and along which axis.
 *
 * The values of a context are contiguous in the database, by profile, and those of its descendants
 * follow: the cost of reading them does not depend on the rest of the database.
 */
#pragma once

#include "lib/db/ranks.h"
#include "place.h"
#include "view.h"

/* Statistics of a set of numbers, and the profiles of the extremes. */
struct sn_spread_summary {
	struct sonde_db_stat stat;  /* of the sums of the ranks (lib/db/ranks.h), or of profiles */
	double mean, deviation, cv; /* cv: deviation / mean; 0 if the mean is 0 */
	double imbalance;	    /* max / mean - 1 */
	uint32_t least, most;	    /* the profile, a rank's first; SONDE_NONE without any */
};

enum sn_spread_axis { SN_AXIS_NONE, SN_AXIS_HOST, SN_AXIS_RANK, SN_AXIS_PROCESS, SN_AXIS_THREAD };

/* The axis along which profiles differ: the coarsest that explains most of the variance. */
struct sn_spread_cause {
	enum sn_spread_axis axis;
	double explained; /* share of the variance that lies between the groups of the axis, less
			     what chance explains */
	uint32_t profile; /* one of the group with the greatest mean */
	double ratio;	  /* of that group's mean to the mean of all */
	uint32_t groups;
};

struct sn_spread {
	const struct sn_view *view;
	uint32_t count;	    /* profiles that are compared and have a value of the first metric */
	uint32_t *profiles; /* [i], ascending: by host, rank, process, thread */
	/* [i * columns + column], inclusive and exclusive both the requested value */
	struct sn_tree_value *values;
	struct sn_derived *derived;	   /* [i * formulas + formula] */
	struct sn_spread_summary *metrics; /* [shown metric], over those that have it */
	struct sonde_db_stat profile_set;  /* the first metric of the profiles */
	struct sn_db_ranks ranks;	   /* a profile of none is left out */
	struct sn_spread_cause cause;	   /* of the first metric */
	struct sn_arena arena;		   /* all of these */
};

/* Reads the place's values: inclusive unless the view sorts by exclusive values. */
int sn_spread_init(struct sn_spread *spread, const struct sn_view *view, struct sn_error *error);
void sn_spread_release(struct sn_spread *spread);

/* The value of the first metric that is plotted and compared. */
static inline double sn_spread_value(const struct sn_spread *spread, uint32_t i)
{
	return spread->values[(size_t)i * sn_view_columns(spread->view)].inclusive.sum;
}

/* The results as sentences; returns their number (at most SN_SPREAD_WORDS). */
enum { SN_SPREAD_WORDS = 4, SN_SPREAD_WORD_CHARS = 400 };
uint32_t sn_spread_words(const struct sn_spread *spread,
			 char words[SN_SPREAD_WORDS][SN_SPREAD_WORD_CHARS]);

int sn_spread_text(const struct sn_view *view, const struct sn_terminal *page,
		   struct sn_error *error);
int sn_spread_json(const struct sn_view *view, FILE *out, struct sn_error *error);
int sn_spread_csv(const struct sn_view *view, FILE *out, struct sn_error *error);
