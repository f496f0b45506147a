/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes in tables of observations: what depends on what, by how much, and how sure that is. It is
 * what `sonde causal` prints; docs/format/causal.md describes each number, docs/design/causal.md
 * the method. Library: libsonde-analysis.so (pkg-config sonde-analysis); it loads libopenblas.so.0
 * when a table is first searched.
 *
 *	struct sonde_causes_options options = {.target = "duration_ns"};
 *	if (sonde_table_read("counters.csv", &table, &error) ||
 *	    sonde_causes_find(table, &options, &causes, &error))
 *		fail(error.text);
 *
 * Functions that can fail return 0 or a negative enum sonde_analysis_code, and store a text of one
 * line in `error`, which may be NULL. All texts that are given are copied. MT: functions that take
 * a const table or result may be called by several threads at once on it.
 */
#ifndef SONDE_ANALYSIS_H
#define SONDE_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sonde_analysis_code {
	SONDE_ANALYSIS_CANNOT_READ = -1, /* the system refused */
	SONDE_ANALYSIS_DAMAGED = -2,	 /* no table */
	SONDE_ANALYSIS_NO_MEMORY = -4,
	SONDE_ANALYSIS_MISTAKE = -5,   /* the caller's: no such column, nothing to compare */
	SONDE_ANALYSIS_CANNOT_DO = -7, /* a form of table that is not read, or no OpenBLAS */
};

struct sonde_analysis_error {
	char text[512]; /* ends with NUL; lower case, no full stop */
};

/* ---- tables ---- */

struct sonde_table;

/* A table of that many rows without columns; NULL without memory. Free it with sonde_table_free,
 * which ignores NULL. */
struct sonde_table *sonde_table_new(size_t rows);
/* Reads a file as `sonde causal` does: separated values, pages of Nsight Compute, counters of
 * rocprof. *table is set only on success. No column can be added to it. */
int sonde_table_read(const char *path, struct sonde_table **table,
		     struct sonde_analysis_error *error);
void sonde_table_free(struct sonde_table *table);

/* Adds a column, one value for each row, which is copied. NaN and infinite values are missing. */
int sonde_table_add_numbers(struct sonde_table *table, const char *name, const double *values,
			    struct sonde_analysis_error *error);
/* The same of categories by their names; NULL is missing. */
int sonde_table_add_categories(struct sonde_table *table, const char *name,
			       const char *const *values, struct sonde_analysis_error *error);

size_t sonde_table_row_count(const struct sonde_table *table);
uint32_t sonde_table_column_count(const struct sonde_table *table);
/* NULL for an invalid number. Owned by the table. */
const char *sonde_table_column_name(const struct sonde_table *table, uint32_t column);

/* ---- causes ---- */

struct sonde_texts {
	const char *const *items;
	size_t count;
};

/* All zeroes: a graph of all columns. */
struct sonde_causes_options {
	const char *target; /* the column to explain, or NULL */
	/* As the options --tier ("gridX,block*", the first is set from outside), --forbid and --require
	 * ("FROM->TO") of the command. */
	struct sonde_texts tiers, forbidden, required;
	uint32_t samples; /* of the rows, 20 to 10,000; 0: 100 */
	unsigned threads; /* 0: one for each processor. The result is the same with any number. */
	uint64_t seed;	  /* of the samples; 0: the command's */
	/* The column whose values tell which rows belong together, or NULL: these are not taken as
	 * independent, and the column is no cause. */
	const char *cluster;
};

/*
 * An effect of one standard deviation of the cause, in standard deviations of what it causes, of
 * ranks made normal: the median over samples of the rows, and their 2.5th and 97.5th percentile.
 * NaN: unknown, as for categories.
 */
struct sonde_effect {
	double value, low, high;
	double same_sign; /* part of the samples whose effect has the sign of `value` */
	double share;	  /* of the variance that this cause explains beyond the others, 0 to 1 */
	/* Of that, by an effect that turns: negative where it is most in the middle of the cause's
	 * range, positive where least. */
	double share_turning;
};

struct sonde_causal_edge {
	const char *from, *to; /* names of columns, owned by the table */
	/* In at least half of the samples with the edge; else the order of its ends says little. */
	bool is_directed;
	/* Parts of all samples: with the edge in any direction, with this one, with the other one;
	 * of rows of clusters, without those that give the effect the other sign. */
	double frequency, direction_frequency, reverse_frequency;
	struct sonde_effect effect; /* along the edge, the other direct causes held */
};

/* What the target depends on, over all ways. */
struct sonde_target_cause {
	const char *cause; /* name of a column, owned by the table */
	double frequency;  /* part of the samples that have a way to the target, as of an edge */
	struct sonde_effect effect;
	/* By double machine learning, for one standard deviation of the cause: in the target's unit,
	 * with the 95 % interval. NaN where the target is a category, the cause one of more than
	 * two levels, or it cannot be identified. */
	double change, change_low, change_high;
};

/* What was set from outside (the first tier) and is compared: its effect on the target is known,
 * whether or not the graph has a way. */
struct sonde_main_effect {
	const char *column;	    /* its name, owned by the table */
	double frequency;	    /* part of the samples that have a way to the target */
	struct sonde_effect effect; /* over all ways, in all samples */
};

struct sonde_causes;

/* Searches for causes. The table must live as long as the result, and get no further column.
 * *causes is set only on success; free it with sonde_causes_free, which ignores NULL. */
int sonde_causes_find(const struct sonde_table *table, const struct sonde_causes_options *options,
		      struct sonde_causes **causes, struct sonde_analysis_error *error);
void sonde_causes_free(struct sonde_causes *causes);

/* The edges that at least half of the samples have, by `to`, the more frequent first. */
uint32_t sonde_causes_edge_count(const struct sonde_causes *causes);
/* False, and all zeroes, for an invalid number. */
bool sonde_causes_edge(const struct sonde_causes *causes, uint32_t number,
		       struct sonde_causal_edge *edge);
/* The causes of the target, the largest share first; none without a target. */
uint32_t sonde_causes_target_count(const struct sonde_causes *causes);
bool sonde_causes_target(const struct sonde_causes *causes, uint32_t number,
			 struct sonde_target_cause *cause);
/* Columns of the first tier, the largest share first; none without a target. */
uint32_t sonde_causes_main_effect_count(const struct sonde_causes *causes);
bool sonde_causes_main_effect(const struct sonde_causes *causes, uint32_t number,
			      struct sonde_main_effect *effect);
/* All that was found, as `sonde causal --format json` prints it. Owned by the result. */
const char *sonde_causes_json(const struct sonde_causes *causes);

/* ---- what if ---- */

/* The target if a column were set in all rows, in the target's unit. */
struct sonde_expectation {
	/* "identified", or why it cannot be told, or that there is no effect: as "status" in
	 * docs/format/causal.md. Static. */
	const char *status;
	/* Its mean as it is, by how much it would change, and the 95 % interval of that; NaN unless
	 * identified. */
	double mean, change, change_low, change_high;
	/* Columns that were held: names, owned by the table; the array is the expectation's. */
	const char **held;
	uint32_t held_count;
};

/* `setting` is "COLUMN=VALUE". On success free it with sonde_expectation_release. Fails where there
 * is no such column or value, or no target that is a number. */
int sonde_causes_expect(const struct sonde_causes *causes, const char *setting,
			struct sonde_expectation *expectation, struct sonde_analysis_error *error);
void sonde_expectation_release(struct sonde_expectation *expectation);

#ifdef __cplusplus
}
#endif
#endif
