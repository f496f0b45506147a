/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts any number of events by profile and time: in memory in runs, which are spilled to unnamed
 * files and merged profile by profile.
 *
 * Events that come nearly in order (as those of a thread do) cost a pass and a copy: a run is
 * sorted by merging the ascending stretches that are there already. Sorting is stable: equal events
 * stay in the order of arrival.
 *
 * Single-threaded, but for readers. sn_sorter_finish returns the first failure.
 */
#pragma once

#include "base/error.h"
#include "event.h"

struct sn_sorter;

/* See sn_trace_writer_new. */
struct sn_sorter *sn_sorter_new(size_t memory_bytes, const char *folder);
void sn_sorter_free(struct sn_sorter *sorter);

void sn_sorter_add(struct sn_sorter *sorter, const struct sn_event *event);
uint64_t sn_sorter_count(const struct sn_sorter *sorter);
/* Where spills go; lives as long as the sorter. */
const char *sn_sorter_folder(const struct sn_sorter *sorter);

/* Ends adding. 0 or the first failure, with its text. */
int sn_sorter_finish(struct sn_sorter *sorter, struct sn_error *error);

/* Starts reading one profile's events; any profile, in any order, each once. Events come by kind,
 * metric, start, and for intervals the later end first. 0 or a negative enum sn_err. */
int sn_sorter_begin(struct sn_sorter *sorter, uint32_t profile, struct sn_error *error);
/* The next event, valid until the next call. 1, 0 at the end, or a negative enum sn_err. */
int sn_sorter_next(struct sn_sorter *sorter, struct sn_event *event, struct sn_error *error);

/* The same for several threads, each with a reader of its own and profiles that no other reads. */
struct sn_sorter_reader;
/* After sn_sorter_finish; NULL without memory. */
struct sn_sorter_reader *sn_sorter_reader_new(struct sn_sorter *sorter);
void sn_sorter_reader_free(struct sn_sorter_reader *reader);
int sn_sorter_reader_begin(struct sn_sorter_reader *reader, uint32_t profile,
			   struct sn_error *error);
int sn_sorter_reader_next(struct sn_sorter_reader *reader, struct sn_event *event,
			  struct sn_error *error);
