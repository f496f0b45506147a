/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of tables of counters: rows that Nsight Compute, rocprof or anybody else wrote, with what each launch was, how long it took, and any number of
 * counters. They are read as tables for an analysis of causes are (causal/table.h), several files one below the other. What their launches are is known by
 * the columns' names (columns.c); as a database of events (trace.c) they have the statistics that launches of traces have.
 *
 * Where rows have no start time, that database has one launch after the other, in the order of rows, and nothing that is of time may be told of it.
 */
#pragma once

#include "causal/table.h"
#include "variability/variability.h"

struct sn_counted {
	struct sn_causal_table table;
	const char *const *paths; /* the caller's */
	size_t *first_rows;	  /* of each file, and behind the last one their number */
	size_t file_count;
	/* Columns; UINT32_MAX: there is none. */
	uint32_t kernel, device, start, duration, target;
	uint32_t sizes[SN_CONFIGURATION_SIZES];
	const char *target_name; /* the caller's, or the table's */
	const char *unit;	 /* of the durations: "ns"; "1": it is not known */
	/* Durations times this are whole numbers, if they have statistics at all: none is below 0. */
	double ticks;
	bool has_statistics;
	bool has_times;
	size_t
	    single_count; /* rows without the target, since their configuration has no other launch */
};

/* Whether a file is such a table: one of Nsight Compute, one of rocprof with counters, or separated values that no importer reads. Cheap. */
bool sn_counted_is_table(const char *path);

/* Reads the files. 0 or a negative enum sn_err: one cannot be read, or they are of different tools. `paths` live as long; release it in either case. */
int sn_counted_read(struct sn_counted *counted, const char *const *paths, size_t count,
		    struct sn_error *error);
/*
 * What is to be explained: a column's name, or one of launch_table.h that is a function of the duration alone, which then becomes a column in place of the
 * duration; NULL: SN_FEATURE_PERF_VARIATION. The duration of a table of no known tool is that column, if it is one of numbers. 0 or a negative enum
 * sn_err: there is no such column.
 */
int sn_counted_choose(struct sn_counted *counted, const char *target, struct sn_error *error);
/* The table with the rows that have the target, evenly some where there are more than `most`; without the duration, if the target is made of it. There is room
 * for two more columns. It is the caller's then, also where memory has failed. */
int sn_counted_take(struct sn_counted *counted, size_t most, struct sn_causal_table *table);
void sn_counted_release(struct sn_counted *counted);

/* Whether a column of that name says how launches were made, and is caused by nothing in the table. */
bool sn_counted_is_set_outside(const char *name);
/* The column of the kernels' names, or UINT32_MAX. */
uint32_t sn_counted_kernel(const struct sn_causal_table *table);

/* Writes the launches of one file as a database, if they have statistics. 0 or a negative enum sn_err. */
int sn_counted_write(const struct sn_counted *counted, size_t file, const char *output,
		     struct sn_error *error);

/* ---- parts of it ---- */

/* columns.c: fills in kernel, device, start and sizes; what the duration is, unless the target is it. */
void sn_counted_find_columns(struct sn_counted *counted);
uint32_t sn_counted_find_duration(const struct sn_causal_table *table);
/* A size of a row as it is told of traces; SN_SIZE_UNKNOWN. */
uint64_t sn_counted_size(const struct sn_counted *counted, enum sn_launch_size size, size_t row);
/* append.c: the rows of one table below those of another, columns by their names. 0 or a negative enum sn_err. */
int sn_counted_append(struct sn_causal_table *table, const struct sn_causal_table *more,
		      struct sn_error *error);
/* Adds a column of category `name`, without levels yet. NULL without memory. */
struct sn_causal_column *sn_counted_add_column(struct sn_causal_table *table, const char *name);
