/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planes of one profile, context or metric as bytes: the data of one entry of an index
 * (database.h).
 *
 * Positions in them are relative to their own beginning, so that any thread can encode them before
 * their place in the file is known.
 */
#pragma once

#include "base/buffer.h"
#include "base/spill.h"
#include "database.h"

#include <stddef.h>

struct sn_major {
	unsigned scopes; /* statistics of an element: 1, or SONDE_DB_SCOPES of a summary */
	struct sn_buffer entries, data;
	size_t entry_count;
	/* scratch of sn_major_set */
	uint32_t *ids;
	double *numbers;
	size_t *ends;
	size_t id_capacity, number_capacity, end_capacity;
};

/* A profile's value of a metric at a context, with the collector's numbers. */
struct sn_db_value {
	uint32_t profile, metric, context;
	struct sonde_db_stat stat;
};

/* Summaries have SONDE_DB_SCOPES statistics, values 1. */
void sn_major_init(struct sn_major *major, unsigned scopes);
void sn_major_release(struct sn_major *major);
/* Removes all planes, and keeps the memory. */
void sn_major_clear(struct sn_major *major);

size_t sn_major_entry_bytes(const struct sn_major *major);

/*
 * Adds the plane of a metric, which comes after those that are there. Of element i, `numbers` has
 * scopes * 5 doubles from numbers[i * scopes * 5], all finite. 0, SN_ERR_MEMORY, or
 * SN_ERR_ARGUMENT where all planes together exceed 16 GiB.
 */
int sn_major_add(struct sn_major *major, uint32_t metric, const uint32_t *ids,
		 const double *numbers, size_t count, double period);

/* Instead of the planes that are there, those of a profile's values, which come in any order; of
 * one metric they stay in it. Metrics are below metric_count. Returns as sn_major_add does. */
int sn_major_set(struct sn_major *major, const struct sn_db_value *values, size_t count,
		 size_t metric_count);

/* Appends entries, then data, in one piece, so that they are read at once. 0, SN_ERR_IO or
 * SN_ERR_MEMORY. MT: as sn_spill_append. */
int sn_major_spill(const struct sn_major *major, struct sn_spill *spill, uint64_t *offset,
		   struct sn_error *error);

/* Appends the planes of another one. 0 or SN_ERR_MEMORY. */
int sn_major_append(struct sn_major *major, const struct sn_major *planes);

/* What the index says of them; 0 where there are none. */
uint64_t sn_major_checksum(const struct sn_major *major);
